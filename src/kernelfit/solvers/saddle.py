r"""What the saddle-point solvers over positive semidefinite matrices share.

.. math::

    \min_{P \succeq 0,\, \operatorname{tr} P = n_P}\; \max_\beta\;
    \kappa(\beta) - \tfrac12 \langle D(\beta), P \rangle

summed over the tasks that share P, with beta in a box and a plane for every task. D is a quadratic
form in beta with values that are positive semidefinite matrices. A solver sees the problem through
`SaddleProblem` alone and returns a `SaddleResult` with the certificate of `assess`.

Symbols: ``n`` = n_P, the order and the trace of P; ``U`` a factor, P = U U'; ``beta`` of shape
(n_tasks, m).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from kernelfit.solvers.result import FloatArray, SolverResult

Array = npt.NDArray[Any]
Callback = Callable[[int, float, float], Any]
# Eigenvalues of P below this fraction of its trace are left out of its factor.
_RANK_TOL = 1e-12
R = TypeVar("R", bound="Response")


class Response(Protocol):
    """The matrices W_i, linear in beta, with (K_P beta)_i = <W_i, P>, for every task."""

    def matrix(self, weight: Array) -> Array:
        """Return the sum over tasks and points of weight_i W_i, of shape (n, n)."""

    def contract(self, left: Array, right: Array) -> Array:
        """Return left'W_i right, of shape (n_tasks, m, a, b)."""

    def mix(self: R, other: R, t: float) -> R:
        """Return the response to (1 - t) beta + t other_beta."""


class SaddleProblem(Protocol):
    """A family of kernels joined to one or more machines."""

    size: int

    def train(
        self,
        U: Array,
        start: Array | None,
        tol: float,
        *,
        update: Array | None = None,
        ridge: float = 0.0,
    ) -> FloatArray:
        """Return the dual solutions for the kernel matrix K of the factor U.

        With `update`, L of shape (n_tasks, m, j), and `ridge`, they maximise
        kappa(b) - 1/2 b'K b - 1/2 ||L'(b - start)||^2 - 1/2 ridge ||b - start||^2.
        """

    def respond(self, beta: Array) -> Response:
        """Return the response to dual solutions."""

    def kappa(self, beta: Array) -> float:
        """Return the part of the dual objective without kernel."""

    def machine_gap(self, beta: Array, decision: Array) -> tuple[float, FloatArray]:
        """Return the duality gap of the machines given K beta, and their best intercepts."""


@dataclass(frozen=True)
class SaddleResult(SolverResult):
    """Outcome of a saddle-point solver.

    `x` holds the dual solutions, of shape (n_tasks, m); `objective` is the lower bound and
    ``objective + gap`` the upper bound on the optimum, both at the returned pair.

    Attributes
    ----------
    factor : ndarray of shape (n, rank)
        P = factor @ factor.T.
    intercept : ndarray of shape (n_tasks,)
    """

    factor: FloatArray
    intercept: FloatArray


@dataclass(frozen=True)
class Assessment:
    """A pair (beta, P) with its certificate.

    Attributes
    ----------
    beta : ndarray of shape (n_tasks, m)
    U : ndarray of shape (n, rank)
    D : ndarray of shape (n, n)
    lower, gap : float
        The optimum lies between lower and lower + gap.
    intercept : ndarray of shape (n_tasks,)
    """

    beta: Array
    U: Array
    D: Array
    lower: float
    gap: float
    intercept: FloatArray


def assess(problem: SaddleProblem, beta: Array, U: Array, response: Response) -> Assessment:
    r"""Return the certificate of a pair.

    The upper bound is the primal value of the machines at beta with the kernel of P, the lower bound
    is :math:`\kappa(\beta) - \frac12 n \lambda_{\max}(D(\beta))`. Their difference is a sum of two
    terms that are never negative: the machines' gap and that of P.

    Parameters
    ----------
    problem : SaddleProblem
    beta : ndarray of shape (n_tasks, m)
    U : ndarray of shape (n, rank)
    response : Response
        To beta.

    Returns
    -------
    Assessment
    """
    D = response.matrix(beta)
    top = max(float(np.linalg.eigvalsh(D)[-1]), 0.0)
    decision = np.einsum("tirr->ti", response.contract(U, U))
    machine_gap, intercept = problem.machine_gap(beta, decision)
    kernel_gap = 0.5 * (problem.size * top - float(np.einsum("ir,ij,jr->", U, D, U)))
    lower = problem.kappa(beta) - 0.5 * problem.size * top
    return Assessment(beta, U, D, lower, machine_gap + max(kernel_gap, 0.0), intercept)


class Progress:
    """The best pair so far, the history and the stopping rule.

    Parameters
    ----------
    tol : float
        Relative gap to stop at.
    callback : callable or None
        Called as ``callback(n_iter, objective, gap)`` for every assessment.
    """

    def __init__(self, tol: float, callback: Callback | None) -> None:
        self._tol, self._callback = tol, callback
        self.best: Assessment | None = None
        self.history: list[tuple[float, float]] = []

    def add(self, assessment: Assessment) -> bool:
        """Note an assessment and return whether the tolerance is met."""
        if self.best is None or assessment.gap < self.best.gap:
            self.best = assessment
        self.history.append((self.best.lower, self.best.gap))
        if self._callback is not None:
            self._callback(len(self.history), self.best.lower, self.best.gap)
        return self.converged

    @property
    def converged(self) -> bool:
        """Whether the best gap is at most the tolerance times the objective."""
        return self.best is not None and self.best.gap <= self._tol * abs(self.best.lower)

    @property
    def relative_gap(self) -> float:
        """The best gap as a fraction of the upper bound, at most 1."""
        if self.best is None:
            return 1.0
        upper = self.best.lower + self.best.gap
        return min(self.best.gap / upper, 1.0) if upper > 0.0 else 1.0

    def result(self) -> SaddleResult:
        """Return the outcome."""
        best = self.best
        if best is None:
            raise ValueError("expected at least one assessment, got none")
        return SaddleResult(
            x=best.beta,
            objective=best.lower,
            gap=best.gap,
            n_iter=len(self.history),
            converged=self.converged,
            history=tuple(self.history),
            factor=best.U,
            intercept=best.intercept,
        )


def starting_point(problem: SaddleProblem, tol: float) -> tuple[FloatArray, Response, Array]:
    """Return dual solutions for the kernel of n I, the response to them and a first P.

    n I is above every feasible P, so these solutions give a lower bound that is often close to the
    optimum; where D has rank one they are optimal. P is D scaled to trace n.

    Parameters
    ----------
    problem : SaddleProblem
    tol : float
        Relative gap of the machines.

    Returns
    -------
    beta : ndarray of shape (n_tasks, m)
    response : Response
    P : ndarray of shape (n, n)
    """
    n = problem.size
    beta = problem.train(np.sqrt(n) * np.eye(n), None, tol)
    response = problem.respond(beta)
    D = response.matrix(beta)
    trace = float(np.trace(D))
    return beta, response, n * D / trace if trace > 0.0 else np.eye(n)


def factor(P: Array) -> FloatArray:
    """Return U with P = U U', without the eigenvalues that are zero up to rounding.

    Parameters
    ----------
    P : ndarray of shape (n, n)
        Positive semidefinite, of trace n.

    Returns
    -------
    ndarray of shape (n, rank)
    """
    values, vectors = np.linalg.eigh(P)
    kept = values > _RANK_TOL * values.sum()
    U = vectors[:, kept] * np.sqrt(values[kept])
    return np.asarray(U * np.sqrt(len(P) / np.sum(U * U)))


def project_simplex(v: FloatArray, total: float) -> tuple[FloatArray, float]:
    """Project onto the numbers >= 0 with a given sum.

    Parameters
    ----------
    v : ndarray of shape (n,)
    total : float
        Positive.

    Returns
    -------
    projection : ndarray of shape (n,)
    shift : float
        The projection is ``max(v - shift, 0)``.
    """
    ordered = np.sort(v)[::-1]
    shifts = (np.cumsum(ordered) - total) / np.arange(1, v.size + 1)
    shift = float(shifts[np.flatnonzero(ordered > shifts)[-1]])
    return np.maximum(v - shift, 0.0), shift
