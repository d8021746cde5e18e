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
# Up to this order of P all directions are used from the start, otherwise this many.
ALL_DIRECTIONS, FIRST_DIRECTIONS = 64, 12
# Eigenvalues of P below this fraction of its trace are left out of its factor.
_RANK_TOL = 1e-12
# Rounding limits a gap below this fraction of the objective, or this multiple of its resolution,
# where this many steps do not reduce it by this fraction. A larger gap may rest for as long and
# fall again: APD does not descend steadily.
_STALL_GAP, _STALL_ROUNDING, _STALL_STEPS, _STALL_PROGRESS = 1e-6, 100.0, 50, 0.01
R = TypeVar("R", bound="Response")


class SymmetricMatrix(Protocol):
    """A symmetric matrix; see `kernelfit.linalg.symmetric`."""

    @property
    def entries(self) -> Array:
        """The matrix as an array, which may be large."""

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues."""

    def restrict(self, V: Array) -> Array:
        """Return V'AV."""

    def leading(self, k: int) -> tuple[Array, Array]:
        """Return up to k leading eigenvalues, descending, and their eigenvectors.

        The first value is an upper bound on the largest eigenvalue.
        """


class Response(Protocol):
    """The matrices W_i, linear in beta, with (K_P beta)_i = <W_i, P>, for every task."""

    def form(self, weight: Array) -> SymmetricMatrix:
        """Return the sum over tasks and points of weight_i W_i, of order n."""

    def decision(self, U: Array | float) -> Array:
        """Return <W_i, U U'> of shape (n_tasks, m); a number is that multiple of the identity."""

    def contract(self, left: Array, right: Array) -> Array:
        """Return left'W_i right, of shape (n_tasks, m, a, b)."""

    def mix(self: R, other: R, t: float) -> R:
        """Return the response to (1 - t) beta + t other_beta."""


class SaddleProblem(Protocol):
    """A family of kernels joined to one or more machines."""

    size: int

    def train(
        self,
        U: Array | float,
        start: Array | None,
        tol: float,
        *,
        update: Array | None = None,
        shift: Array | None = None,
    ) -> FloatArray:
        """Return the dual solutions for the kernel matrix K of the factor U.

        A number U is that multiple of the identity.

        With `update`, L of shape (n_tasks, m, j), and `shift`, c of shape (n_tasks, m), they
        maximise kappa(b) + c'b - 1/2 b'K b - 1/2 ||L'(b - start)||^2, where L'(b - start) is
        summed over the tasks; in the last case approximately, unless there is one task.
        """

    def respond(self, beta: Array) -> Response:
        """Return the response to dual solutions."""

    def kappa(self, beta: Array) -> float:
        """Return the part of the dual objective without kernel."""

    def machine_gap(self, beta: Array, decision: Array) -> tuple[float, FloatArray, float]:
        """Return the duality gap of the machines given K beta, best intercepts and resolution.

        A gap below its resolution is rounding error.
        """


@dataclass(frozen=True)
class SaddleResult(SolverResult):
    """Outcome of a saddle-point solver.

    `x` holds the dual solutions, of shape (n_tasks, m); `objective` is the lower bound and
    ``objective + gap`` the upper bound on the optimum. The upper bound is the primal value at `x`
    with the kernel of `factor`, the lower bound that of `witness`.

    Attributes
    ----------
    factor : ndarray of shape (n, rank)
        P = factor @ factor.T.
    intercept : ndarray of shape (n_tasks,)
    witness : ndarray of shape (n_tasks, m)
        The dual solutions with the best lower bound.
    """

    factor: FloatArray
    intercept: FloatArray
    witness: FloatArray


@dataclass(frozen=True)
class Assessment:
    """A pair (beta, P) with its certificate.

    Attributes
    ----------
    beta : ndarray of shape (n_tasks, m)
    U : ndarray of shape (n, rank)
    D : SymmetricMatrix
        Of order n.
    lower, gap : float
        The optimum lies between lower and upper = lower + gap.
    intercept : ndarray of shape (n_tasks,)
    resolution : float
        Rounding error of the gap at the least.
    """

    beta: Array
    U: Array
    D: SymmetricMatrix
    lower: float
    gap: float
    intercept: FloatArray
    resolution: float

    @property
    def upper(self) -> float:
        """The upper bound."""
        return self.lower + self.gap


def assess(problem: SaddleProblem, beta: Array, U: Array, response: Response) -> Assessment:
    r"""Return the certificate of a pair.

    The upper bound is the primal value of the machines at beta with the kernel of P, the lower one
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
    D = response.form(beta)
    top = max(float(D.leading(1)[0][0]), 0.0)
    machine_gap, intercept, resolution = problem.machine_gap(beta, response.decision(U))
    kernel_gap = 0.5 * (problem.size * top - float(np.trace(D.restrict(U))))
    lower = problem.kappa(beta) - 0.5 * problem.size * top
    gap = machine_gap + max(kernel_gap, 0.0)
    return Assessment(beta, U, D, lower, gap, intercept, resolution)


class Progress:
    """The best bounds so far, the history and the stopping rule.

    Parameters
    ----------
    tol : float
        Relative gap to stop at.
    callback : callable or None
        Called as ``callback(n_iter, objective, gap)`` for every assessment.
    first : Assessment
    """

    def __init__(self, tol: float, callback: Callback | None, first: Assessment) -> None:
        self._tol, self._callback = tol, callback
        self._lowest = self._highest = first  # the pairs of the best upper and lower bounds
        self.history: list[tuple[float, float]] = []
        self.add(first)

    @property
    def lower(self) -> float:
        """The best lower bound."""
        return self._highest.lower

    @property
    def gap(self) -> float:
        """The difference of the best bounds."""
        if self._lowest is self._highest:
            return self._lowest.gap  # free of cancellation
        return max(self._lowest.upper - self._highest.lower, 0.0)

    def add(self, assessment: Assessment) -> bool:
        """Note an assessment and return whether to stop."""
        if assessment.upper < self._lowest.upper:
            self._lowest = assessment
        if assessment.lower > self._highest.lower:
            self._highest = assessment
        if assessment.gap < self.gap:  # a single pair that is better than the two up to rounding
            self._lowest = self._highest = assessment
        self.history.append((self.lower, self.gap))
        if self._callback is not None:
            self._callback(len(self.history), self.lower, self.gap)
        return self.finished

    @property
    def converged(self) -> bool:
        """Whether the gap is at most the tolerance times the objective."""
        return self.gap <= self._tol * abs(self.lower)

    @property
    def finished(self) -> bool:
        """Whether the tolerance is met or rounding prevents more."""
        small = max(_STALL_GAP * abs(self.lower), _STALL_ROUNDING * self._lowest.resolution)
        if len(self.history) <= _STALL_STEPS or self.gap > small:
            return self.converged
        before = self.history[-1 - _STALL_STEPS][1]
        return self.converged or self.gap > (1.0 - _STALL_PROGRESS) * before

    @property
    def relative_gap(self) -> float:
        """The gap as a fraction of the upper bound, at most 1."""
        upper = self._lowest.upper
        return min(self.gap / upper, 1.0) if upper > 0.0 else 1.0

    def result(self) -> SaddleResult:
        """Return the outcome."""
        return SaddleResult(
            x=self._lowest.beta,
            objective=self.lower,
            gap=self.gap,
            n_iter=len(self.history),
            converged=self.converged,
            history=tuple(self.history),
            factor=self._lowest.U,
            intercept=self._lowest.intercept,
            witness=self._highest.beta,
        )


def initial_pair(
    problem: SaddleProblem, start: tuple[Array, Array] | None, tol: float
) -> tuple[Array, Response, Array]:
    """Return dual solutions, the response to them and a factor of a first P.

    Without a start these are the dual solutions for the kernel of n I, and D scaled to trace n. As
    n I is above every feasible P, they give a lower bound, often close to the optimum; where D has
    rank one they are optimal. Of a large D only the leading eigenvectors are used. A start where D
    vanishes says nothing about P and is trained alike.

    Parameters
    ----------
    problem : SaddleProblem
    start : (beta, U) or None
    tol : float
        Relative gap of the machines.

    Returns
    -------
    beta : ndarray of shape (n_tasks, m)
    response : Response
    U : ndarray of shape (n, rank)
    """
    n = problem.size
    if start is not None:
        beta, U = start
        response = problem.respond(beta)
        if response.form(beta).trace > 0.0:
            return beta, response, U
    beta = problem.train(np.sqrt(n), None, tol)
    response = problem.respond(beta)
    count = n if n <= ALL_DIRECTIONS else FIRST_DIRECTIONS
    values, vectors = response.form(beta).leading(count)
    if values[0] <= 0.0:
        values, vectors = np.ones(count), np.eye(n, count)
    return beta, response, factor(values, vectors)


def factor(values: Array, vectors: Array) -> FloatArray:
    """Return U with U U' proportional to a matrix of given eigenpairs, and of trace n.

    Eigenvalues that are zero up to rounding are left out. Of a matrix that vanishes, all are
    rounding errors of either sign: the positive ones give a valid U.

    Parameters
    ----------
    values : ndarray of shape (k,)
        At least one of them positive.
    vectors : ndarray of shape (n, k)

    Returns
    -------
    ndarray of shape (n, rank)
    """
    kept = values > _RANK_TOL * np.maximum(values, 0.0).sum()
    U = vectors[:, kept] * np.sqrt(values[kept])
    return np.asarray(U * np.sqrt(len(vectors) / np.sum(U * U)))


def project_simplex(v: FloatArray, total: float) -> FloatArray:
    """Project onto the numbers >= 0 with a given sum.

    Parameters
    ----------
    v : ndarray of shape (n,)
    total : float
        Positive.

    Returns
    -------
    ndarray of shape (n,)
        ``max(v - shift, 0)`` for the shift that gives the sum.
    """
    ordered = np.sort(v)[::-1]
    shifts = (np.cumsum(ordered) - total) / np.arange(1, v.size + 1)
    return np.asarray(np.maximum(v - shifts[np.flatnonzero(ordered > shifts)[-1]], 0.0))
