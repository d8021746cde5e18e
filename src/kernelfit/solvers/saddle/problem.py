r"""Kernel learning as one saddle-point problem: protocols, certificate and the one driver.

.. math::

    \min_\theta\; R(\theta) + \sum_t \max_{\beta_t}\; \kappa_t(\beta_t)
    - \tfrac12 \beta_t^\top K_\theta\, \beta_t

over one task, or several that share a kernel. A family says what theta and :math:`K_\theta` are and
how it responds to beta; with its energy

.. math:: E(\beta) = \max_\theta\; \tfrac12 \sum_t \beta_t^\top K_\theta\, \beta_t - R(\theta)

every feasible pair (beta, theta) brackets the optimum:

    lower  =  kappa(beta) - E(beta)
    gap    =  the tasks' duality gaps at (beta, K_theta beta)  +  excess
    excess =  E(beta) + R(theta) - 1/2 beta'K_theta beta,      0 where theta is the response

A solver is a generator of pairs. :func:`solve_saddle` certifies each of them and decides when to
stop. Symbols: ``beta`` has the shape (n_tasks, m).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import getattr_static
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kernelfit.kernels.gram import Gram
from kernelfit.solvers.dual.device import solver_for
from kernelfit.solvers.result import Callback, FloatArray, Status
from kernelfit.solvers.saddle.progress import Assessment, Pair, Progress, SaddleResult
from kernelfit.tasks.task import Task

Array = npt.NDArray[Any]

_MACHINE_ROUNDS = 1000
_SWEEPS = 5  # over machines that are coupled
_FEW = 8  # fewer support vectors than one in so many points: only the rows needed are computed


class Response(Protocol):
    """How a family responds to dual solutions beta."""

    @property
    def theta(self) -> Any:
        """The best response, which attains the energy."""

    @property
    def energy(self) -> float:
        """E(beta), convex in beta."""

    def decision(self, theta: Any) -> Array:
        """Return K_theta beta, of shape (n_tasks, m)."""

    def excess(self, theta: Any) -> float:
        """Return E(beta) + R(theta) - 1/2 beta'K_theta beta, never negative."""


class Family(Protocol):
    """A family of kernels on the training points.

    What more a solver needs of it, the solver names: see `SaddleSolver`.
    """

    def respond(self, beta: Array) -> Response:
        """Return the response to dual solutions."""

    def gram(self, theta: Any, update: Array | None = None, few: bool = False) -> Gram:
        """Return K_theta, plus L L' for an update L; by rows if few of them will be needed."""

    def penalty(self, theta: Any) -> float:
        """Return R(theta), whose least value is 0."""

    def kernel(self, theta: Any) -> Callable[..., Array]:
        """Return the kernel as a picklable callable ``k(X, Y)`` for new points."""


@dataclass(frozen=True)
class SaddleProblem:
    """A family joined to the tasks that share its kernel."""

    family: Family
    tasks: tuple[Task, ...]

    def __post_init__(self) -> None:
        """Complain of what are no tasks on the same points."""
        tasks: Any = self.tasks
        if not isinstance(tasks, tuple) or not tasks:
            raise ValueError(f"expected a tuple of one task or more, got {tasks!r}")
        sizes = sorted({task.n for task in tasks})
        if len(sizes) > 1:
            raise ValueError(f"expected tasks on the same points, got {sizes} points")

    def kappa(self, beta: Array) -> float:
        """Return the part of the objective without kernel."""
        return sum(task.kappa(b) for task, b in zip(self.tasks, beta, strict=True))

    def project(self, beta: Array) -> FloatArray:
        """Return the feasible dual solutions closest to given ones, as those of other costs."""
        return np.stack([task.project(b) for task, b in zip(self.tasks, beta, strict=True)])

    def train(
        self,
        theta: Any,
        start: Array | None,
        tol: float,
        *,
        update: Array | None = None,
        shift: Array | None = None,
    ) -> FloatArray:
        """Return the dual solutions for the kernel of theta.

        With `update`, L of shape (n_tasks, m, j), and `shift`, c of shape (n_tasks, m), they
        maximise kappa(b) + c'b - 1/2 b'K b - 1/2 ||L'(b - start)||^2, where L'(b - start) is
        summed over the tasks; in the last case approximately, unless there is one task.
        """
        m = self.tasks[0].n
        centre = np.zeros((len(self.tasks), m)) if start is None else start
        beta = centre.copy()
        sweeps = 1 if update is None or len(beta) == 1 else _SWEEPS
        # The sum over the tasks of L'(b - start), by which an update couples the machines.
        moved = np.zeros(0 if update is None else update.shape[-1])
        for _ in range(sweeps):
            for t, task in enumerate(self.tasks):
                L = None if update is None else update[t]
                p = task.p if shift is None else task.p + shift[t]
                if L is not None:
                    moved -= L.T @ (beta[t] - centre[t])
                    p = p + L @ (L.T @ centre[t] - moved)
                few = start is not None and bool(_FEW * np.count_nonzero(beta[t]) < m)
                gram = self.family.gram(theta, L, few)
                beta[t] = solver_for(gram)(
                    gram,
                    task.with_linear(p),
                    tol=tol,
                    max_iter=_MACHINE_ROUNDS,
                    start=None if start is None else beta[t],
                    assume_psd=True,
                ).x
                if L is not None:
                    moved += L.T @ (beta[t] - centre[t])
        return beta


def first_pair(
    problem: SaddleProblem,
    progress: Progress,
    start: tuple[Array | None, Any] | None,
    choose: Callable[[Any], Any],
) -> Pair:
    """Return the pair to begin with.

    Without a start, the machines are trained with the family's ``initial`` kernel, and theta is
    chosen from the response. A start without energy says nothing about theta and is trained alike.
    To a theta alone the machines are trained.

    Parameters
    ----------
    problem : SaddleProblem
    progress : Progress
    start : (beta, theta) or None
        One of the two may be None, which leaves it open.
    choose : callable
        From a response to a theta.

    Returns
    -------
    Pair
    """
    family: Any = problem.family
    beta, theta = (None, None) if start is None else start
    if theta is not None:
        if beta is None:
            beta = problem.train(theta, None, progress.machine_tol)
        beta = problem.project(beta)
        response = family.respond(beta)
        if response.energy > 0.0:
            return Pair(beta, theta, response)
    beta = problem.train(family.initial, beta, progress.machine_tol)
    response = family.respond(beta)
    return Pair(beta, choose(response), response)


def first_machines(
    problem: SaddleProblem, start: tuple[Array, Any] | None, tol: float
) -> tuple[Array, Any]:
    """Return the start, or without one the family's ``initial`` theta and its machines.

    Parameters
    ----------
    problem : SaddleProblem
    start : (beta, theta) or None
    tol : float
        Relative gap of the machines.

    Returns
    -------
    beta : ndarray of shape (n_tasks, m)
    theta : object
    """
    if start is not None:
        return start
    family: Any = problem.family
    theta = family.initial
    return problem.train(theta, None, tol), theta


def assess(problem: SaddleProblem, pair: Pair) -> Assessment:
    """Return the certificate of a pair; see the module's head.

    Parameters
    ----------
    problem : SaddleProblem
    pair : Pair

    Returns
    -------
    Assessment
    """
    beta, theta, response = pair.beta, pair.theta, pair.response
    decision = response.decision(theta)
    found = [
        task.certificate(b, f) for task, b, f in zip(problem.tasks, beta, decision, strict=True)
    ]
    return Assessment(
        beta,
        theta,
        response,
        lower=problem.kappa(beta) - response.energy,
        gap=sum(c.gap for c in found) + max(response.excess(theta), 0.0),
        intercept=np.array([c.intercept for c in found]),
        resolution=sum(c.resolution for c in found),
    )


@dataclass(frozen=True)
class SaddleSolver:
    """A solver: its generator and what it needs of a family beside the protocol.

    Attributes
    ----------
    name : str
    steps : callable
        ``steps(problem, progress, start)`` yields pairs. When it goes on after a pair,
        ``progress.latest`` is the assessment of that.
    needs : tuple of str
        Names of members of the family.
    """

    name: str
    steps: Callable[[SaddleProblem, Progress, Any], Iterator[Pair]]
    needs: tuple[str, ...]

    def check(self, family: Any) -> None:
        """Raise ValueError where the family lacks what the solver needs."""
        # Statically: an attribute may be dear to compute.
        nothing = object()
        missing = [n for n in self.needs if getattr_static(family, n, nothing) is nothing]
        if missing:
            raise ValueError(
                f"expected a family with {' and '.join(missing)} for solver {self.name!r}, "
                f"got {type(family).__name__}"
            )


def solve_saddle(
    problem: SaddleProblem,
    solver: SaddleSolver,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: Any = None,
    polish: bool = False,
    status: Status = "proved",
    callback: Callback | None = None,
) -> SaddleResult:
    """Run a solver until its certificate meets the tolerance.

    Parameters
    ----------
    problem : SaddleProblem
    solver : SaddleSolver
    tol : float, default=1e-3
        Stop when the gap is at most this fraction of the objective.
    max_iter : int, default=1000
        Largest number of pairs.
    start : (beta, theta), default=None
        Where to start; Frank-Wolfe, the fully corrective method, APD and the hybrid take either
        alone, with None for the other.
    polish : bool, default=False
        Whether to go on for a few steps once the tolerance is met.
    status : str, default="proved"
        What a gap means: other than "proved" where the kernel is indefinite or the family is not
        convex.
    callback : callable, default=None
        Called as ``callback(n_iter, objective, gap)`` after every pair.

    Returns
    -------
    SaddleResult
    """
    if not isinstance(solver, SaddleSolver):
        raise TypeError(f"expected a SaddleSolver, such as FRANK_WOLFE, got {solver!r}")
    if not tol > 0.0:
        raise ValueError(f"expected a positive tol, got {tol!r}")
    solver.check(problem.family)
    progress = Progress(tol, polish, callback)
    for pair in solver.steps(problem, progress, start):
        n_free = sum(t.count_free(b) for t, b in zip(problem.tasks, pair.beta, strict=True))
        progress.add(pair if isinstance(pair, Assessment) else assess(problem, pair), n_free)
        if progress.finished:
            break
        if len(progress.history) >= max_iter:
            progress.ending = "max_iter"
            break
    return progress.result(status)
