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

from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.kernels.gram import Gram
from kernelfit.solvers.dual.device import solve_on_device
from kernelfit.solvers.dual.rounds import MAX_POLISH_VARIABLES
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.solvers.result import Callback, CertifiedResult, Ending, FloatArray, Status
from kernelfit.tasks.task import Task

Array = npt.NDArray[Any]

_MACHINE_ROUNDS = 1000
_SWEEPS = 5  # over machines that are coupled
_FEW = 8  # fewer support vectors than one in so many points: only the rows needed are computed
_POLISH_ROUNDS = 8
_ROUNDOFF = 4.0 * float(np.finfo(np.float64).eps)
# Rounding limits a gap below this fraction of the objective, or this multiple of its resolution,
# where this many steps do not reduce it by this fraction. A larger gap may rest for as long and
# fall again: APD does not descend steadily.
_STALL_GAP, _STALL_ROUNDING, _STALL_STEPS, _STALL_PROGRESS = 1e-6, 100.0, 50, 0.01


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
                solve: Any = solve_on_device if isinstance(gram, DeviceGram) else solve_dual
                beta[t] = solve(
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


@dataclass(frozen=True)
class Pair:
    """What a solver yields: dual solutions, the response to them and a theta."""

    beta: Array
    theta: Any
    response: Any


@dataclass(frozen=True)
class Assessment(Pair):
    """A pair with its certificate.

    Attributes
    ----------
    lower, gap : float
        The optimum lies between lower and upper = lower + gap.
    intercept : ndarray of shape (n_tasks,)
    resolution : float
        Rounding error of the gap at the least.
    """

    lower: float
    gap: float
    intercept: FloatArray
    resolution: float

    @property
    def upper(self) -> float:
        """The upper bound."""
        return self.lower + self.gap


def first_pair(
    problem: SaddleProblem,
    progress: "Progress",
    start: tuple[Array, Any] | None,
    choose: Callable[[Any], Any],
) -> Pair:
    """Return the pair to begin with.

    Without a start, the machines are trained with the family's ``initial`` kernel, and theta is
    chosen from the response. A start without energy says nothing about theta and is trained alike.

    Parameters
    ----------
    problem : SaddleProblem
    progress : Progress
    start : (beta, theta) or None
        A theta of None leaves it open.
    choose : callable
        From a response to a theta.

    Returns
    -------
    Pair
    """
    family: Any = problem.family
    beta, theta = (None, None) if start is None else start
    if beta is not None and theta is not None:
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
class SaddleResult(CertifiedResult):
    """Outcome of :func:`solve_saddle`.

    `x` holds the dual solutions, of shape (n_tasks, m); `objective` is the lower bound and
    ``objective + gap`` the upper bound on the optimum. The upper bound is the primal value at `x`
    with the kernel of `theta`, the lower bound that of `witness`.

    Attributes
    ----------
    theta : object
        The learned parameter of the family.
    response : Response
        To `x`.
    intercept : ndarray of shape (n_tasks,)
    witness : ndarray of shape (n_tasks, m)
        The dual solutions with the best lower bound; `x` itself where one pair has both bounds.
    """

    theta: Any
    response: Any
    intercept: FloatArray
    witness: FloatArray


class Progress:
    """The best bounds so far, the history and the stopping rule.

    Parameters
    ----------
    tol : float
        Relative gap to stop at.
    polish : bool, default=False
        Whether to go on for a few steps after that, as long as each at least halves the gap.
    callback : callable, default=None
        Called as ``callback(n_iter, objective, gap)`` for every assessment.

    Attributes
    ----------
    latest : Assessment
        Of the last pair.
    history : list of (float, float)
        The best lower bound and the gap after every step.
    """

    latest: Assessment
    # The pairs with the least upper bound, the largest lower bound and the least gap of their own.
    _lowest: Assessment
    _highest: Assessment
    _tightest: Assessment

    def __init__(self, tol: float, polish: bool = False, callback: Callback | None = None) -> None:
        self.tol, self._polish, self._callback = tol, polish, callback
        self.history: list[tuple[float, float]] = []
        self._met_at = 0  # the number of the step that met the tolerance
        self._may_polish = False

    def add(self, new: Assessment, n_free: int = 0) -> None:
        """Note an assessment; `n_free` is the number of free variables."""
        first = not self.history
        self.latest = new
        if first or new.upper < self._lowest.upper:
            self._lowest = new
        if first or new.lower > self._highest.lower:
            self._highest = new
        if first or new.gap < self._tightest.gap:
            self._tightest = new
        self.history.append((self.lower, self.gap))
        if self.converged and not self._met_at:
            self._met_at = len(self.history)
        since = len(self.history) - self._met_at if self._met_at else 0
        halved = since == 0 or self.gap <= 0.5 * self.history[-2][1]
        few = n_free <= MAX_POLISH_VARIABLES
        self._may_polish = self._polish and few and halved and since < _POLISH_ROUNDS
        if self._callback is not None:
            self._callback(len(self.history), self.lower, self.gap)

    @property
    def _apart(self) -> float:
        """The difference of the best bounds, which may be those of two pairs."""
        rounding = _ROUNDOFF * (abs(self._lowest.upper) + abs(self._highest.lower))
        return max(self._lowest.upper - self._highest.lower, rounding)

    @property
    def _alone(self) -> bool:
        """Whether a single pair proves enough, or as much as two."""
        single = self._tightest
        return single.gap <= max(self._apart, self.tol * abs(single.lower))

    @property
    def best(self) -> Assessment:
        """The pair of the upper bound."""
        return self._tightest if self._alone else self._lowest

    @property
    def lower(self) -> float:
        """The lower bound."""
        return (self._tightest if self._alone else self._highest).lower

    @property
    def gap(self) -> float:
        """The difference of the bounds, free of cancellation where they are those of one pair."""
        return self._tightest.gap if self._alone else self._apart

    @property
    def converged(self) -> bool:
        """Whether the gap is at most the tolerance times the objective; at 0, within rounding."""
        at_zero = self.gap <= self.best.resolution and not self.best.beta.any()
        return self.gap <= self.tol * abs(self.lower) or at_zero

    @property
    def stalled(self) -> bool:
        """Whether rounding prevents more."""
        if self.gap <= self.best.resolution:
            return True
        small = max(_STALL_GAP * abs(self.lower), _STALL_ROUNDING * self.best.resolution)
        if len(self.history) <= _STALL_STEPS or self.gap > small:
            return False
        return self.gap > (1.0 - _STALL_PROGRESS) * self.history[-1 - _STALL_STEPS][1]

    @property
    def finished(self) -> bool:
        """Whether the tolerance is met, and polished, or rounding prevents more."""
        return self.stalled or (self.converged and not self._may_polish)

    @property
    def relative_gap(self) -> float:
        """The gap as a fraction of the upper bound, at most 1."""
        upper = self.best.upper
        return min(self.gap / upper, 1.0) if upper > 0.0 else 1.0

    @property
    def machine_tol(self) -> float:
        """The relative gap that a machine should be trained to."""
        if not self.history:
            return min(1e-3, 0.1 * self.tol)
        return min(1e-3, max(0.1 * self.relative_gap, 0.01 * self.tol))

    @property
    def model_tol(self) -> float:
        """The relative gap that the solution of a local model should have."""
        return min(1e-3, max(0.01 * self.relative_gap, 1e-11))

    def result(self, status: Status, ending: Ending) -> SaddleResult:
        """Return the outcome."""
        best = self.best
        return SaddleResult(
            x=best.beta,
            objective=self.lower,
            gap=self.gap if status == "proved" else np.nan,
            n_iter=len(self.history),
            converged=self.converged,
            history=tuple(self.history),
            status=status,
            ending="tolerance" if self.converged else ending,
            theta=best.theta,
            response=best.response,
            intercept=best.intercept,
            witness=(best if self._alone else self._highest).beta,
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
        Where to start.
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
    solver.check(problem.family)
    progress = Progress(tol, polish, callback)
    ending: Ending = "rounding"
    for pair in solver.steps(problem, progress, start):
        n_free = sum(t.count_free(b) for t, b in zip(problem.tasks, pair.beta, strict=True))
        progress.add(assess(problem, pair), n_free)
        if progress.finished:
            break
        if len(progress.history) >= max_iter:
            ending = "max_iter"
            break
    return progress.result(status, ending)
