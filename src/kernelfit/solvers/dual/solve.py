"""The certified solver of the dual of one task.

    max over beta   p'beta - epsilon ||beta||_1 - 1/2 beta'(K + diag(ridge)) beta
    s.t.            lower <= beta <= upper,   sum(beta) = total (with an intercept)

Symbols: ``beta`` is the signed dual variable (``y_i alpha_i`` in classification), ``g = (K +
diag(ridge)) beta - p`` the gradient of the smooth part of the minimised problem.

Each round improves a block of variables (:mod:`kernelfit.solvers.dual.blocks`) and then evaluates
the duality gap.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelfit.kernels.gram import DenseGram, Gram, exact_decision
from kernelfit.solvers.dual.blocks import ROUNDOFF, WHOLE, DualState, alternate, whole_reduction
from kernelfit.solvers.dual.newton_steps import BLOCKED, newton_step
from kernelfit.solvers.dual.pair_steps import pair_steps, single_steps
from kernelfit.solvers.dual.rounds import MAX_POLISH_VARIABLES, run_rounds
from kernelfit.solvers.dual.small_round import MOST_POINTS, renew, small_round
from kernelfit.solvers.dual.subsample import subsample_start
from kernelfit.solvers.result import Callback, DualResult, FloatArray
from kernelfit.tasks.task import Certificate, Task
from kernelfit.utils.threads import threads_for

# A blocked Newton step on f variables is repeated about _NEWTON_REPEATS / f times, and after a few
# alternations on a block ever more often: where K has low rank, bounds are met one by one.
_NEWTON_REPEATS = 1600
_PATIENT_ALTERNATIONS = 6
_ROUGH = 1e-2  # relative gap of the subsample that the rounds start from


def is_plain(K: npt.NDArray[Any] | None) -> bool:
    """Return whether a matrix is what one compiled function is for."""
    return K is not None and K.dtype == np.float64 and K.flags.carray


def solve_dual(
    K: npt.NDArray[Any] | Gram,
    task: Task,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: FloatArray | None = None,
    assume_psd: bool = False,
    polish: bool = False,
    callback: Callback | None = None,
) -> DualResult:
    r"""Solve the dual of one task to a relative duality gap.

    .. math::

        \max_\beta\; p^\top\beta - \epsilon\|\beta\|_1 - \tfrac12 \beta^\top
        (K + \operatorname{diag} r) \beta
        \quad\text{s.t.}\quad l \le \beta \le u,\; \mathbf 1^\top\beta = \text{total}

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram
        The symmetric positive semidefinite kernel matrix (float64 or float32), or
        an object of :mod:`kernelfit.kernels.gram` that gives its rows on demand.
    task : Task
    tol : float, default=1e-3
        Stop when the duality gap is at most ``tol`` times the objective. Where rounding errors keep
        it above, stop without convergence.
    max_iter : int, default=1000
        Largest number of passes: as many rounds as take every variable once, a block at a time.
    start : ndarray of shape (n,), optional
        Start from the feasible point closest to this one, unless a large problem is better started
        from zero.
    assume_psd : bool, default=False
        Whether K is known to be positive semidefinite, as for the usual kernels; it is tested
        otherwise (see Notes).
    polish : bool, default=False
        Once ``tol`` is met, go on for up to three rounds towards the exact solution, which Newton
        steps reach as soon as the set of free variables is right and of moderate size; not where
        rows of a large problem are computed on demand: each round takes many in double precision.
    callback : callable, optional
        Called as ``callback(n_iter, objective, gap)`` at the end of every round.

    Returns
    -------
    DualResult
        Solution and certificate. Where negative curvature shows that K is indefinite the
        ``status`` is "stationary" and ``gap`` is nan.

    Notes
    -----
    The gap proves optimality for a positive semidefinite K. Unless that is assumed, up to 300
    evenly spaced rows and columns of K (all, if there are no more) must have a Cholesky factor.
    Negative curvature on a pair or a free set that the solver meets is always noticed; a larger
    matrix whose negative part escapes all of these is taken for positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.solvers.dual.solve import solve_dual
    >>> from kernelfit.tasks.losses import hinge
    >>> result = solve_dual(np.eye(2), hinge([-1.0, 1.0], C=9.0))
    >>> result.x, result.objective, result.gap
    (array([-1.,  1.]), 1.0, 0.0)
    """
    gram = DenseGram(K) if isinstance(K, np.ndarray) else K
    task, shift = task.centred()
    polish = polish and (gram.whole is not None or task.n <= WHOLE)

    def solve_roughly(part: npt.NDArray[Any], small: Task) -> DualResult:
        return solve_dual(part, small, tol=_ROUGH, max_iter=max_iter, assume_psd=assume_psd)

    def start_from(beta: FloatArray | None) -> _QuadraticState:
        if beta is None and gram.whole is None and gram.order is None:
            beta = subsample_start(gram, task, solve_roughly)
        return _QuadraticState(gram, task, task.start(beta), assume_psd, polish)

    state = start_from(start)
    if start is not None and state.is_worse_than_zero():
        state = start_from(None)
    result = run_rounds(state, tol=tol, max_iter=max_iter, polish=polish, callback=callback)
    return replace(result, intercept=result.intercept + shift) if shift else result


class _QuadraticState(DualState):
    """A point of the quadratic dual with its gradient ``g``."""

    def __init__(
        self, gram: Gram, task: Task, beta: FloatArray, psd: bool, polish: bool = False
    ) -> None:
        super().__init__(gram, task, beta, psd)
        self.polish = polish
        plain = task.ridge is None and task.has_intercept and not polish
        self.small = plain and task.n <= MOST_POINTS and is_plain(gram.whole)
        self.steps = pair_steps if task.has_intercept else single_steps
        self.decision = np.zeros(task.n)
        self.g = -task.p
        if task.n > WHOLE and not self.exact:  # a smaller one is computed exactly at once
            support = np.flatnonzero(beta)
            gram.accumulate(support, beta[support], self.g)
            self._add_ridge(slice(None), beta)

    def is_worse_than_zero(self) -> bool:
        """Return whether a large problem is better started from zero.

        So are solutions of blocks side by side where points of all blocks are similar.
        """
        task, beta = self.task, self.beta
        if task.n <= WHOLE or self.exact or task.total:  # zero may not be feasible
            return False
        return bool(task.kappa(beta) < 0.5 * float(beta @ (self.g + task.p)))

    def _add_ridge(self, rows: Any, change: FloatArray) -> None:
        if self.task.ridge is not None:
            self.g[rows] += self.task.ridge[rows] * change

    def improve(self, wanted: float, polish: bool) -> bool:
        """Improve one block; see `DualState`."""
        if not self.small:
            return super().improve(wanted, polish)
        task, K = self.task, self.gram.whole
        enough, changed, curvature = small_round(
            K, self.diagonal, task.p, task.lower, task.upper, task.epsilon, task.total,
            self.beta, self.g, self.decision, whole_reduction(wanted), ROUNDOFF,
        )  # fmt: skip
        self.exact = True
        self.note_curvature(curvature)
        # Where that was not enough, Newton steps come first.
        return bool(changed) if enough else super().improve(wanted, True)

    def refresh(self) -> None:
        """Take the rounding errors of many steps out of beta and its gradient."""
        if self.small and not self.exact:
            task = self.task
            state = self.beta, self.g, self.decision
            renew(self.gram.whole, task.p, task.lower, task.upper, task.total, *state)
            self.exact = True
        super().refresh()

    def gradient(self) -> FloatArray:
        """Return ``g``."""
        return self.g

    def exact_decision(self) -> FloatArray:
        """Return ``K beta``."""
        return self.decision

    def recompute(self) -> None:
        """Compute ``g`` from beta and exact rows."""
        self.decision = exact_decision(self.gram, self.beta)
        self.g = self.decision - self.task.p
        self._add_ridge(slice(None), self.beta)

    def certificate(self) -> Certificate:
        """Return the certificate of beta."""
        ridge = self.task.ridge
        g = self.g if ridge is None else self.g - ridge * self.beta
        return self.task.certificate_at(self.beta, g)

    def sweep(self, K: npt.NDArray[Any], target: float) -> None:
        """Take pair steps on the whole of K, at most one a variable."""
        task = self.task
        bounds = task.lower, task.upper, task.epsilon
        *_, curvature = self.steps(K, self.diagonal, self.g, self.beta, *bounds, target, task.n)
        self.note_curvature(curvature)

    def solve_block(self, K: npt.NDArray[Any], index: Any, target: float, polish: bool) -> bool:
        """Improve a block until its violation is down to the target."""
        part: Any = slice(None) if index is None else index
        task = self.task if index is None else self.task.take(index)
        diagonal = self.diagonal[part]
        beta, g = self.beta[part].copy(), self.g[part].copy()

        def newton(n_free: int, alternation: int) -> None:
            self._newton(K, task, beta, g, n_free, alternation)

        def steps(budget: int) -> bool:
            bounds = task.lower, task.upper, task.epsilon
            _, violation, curvature = self.steps(K, diagonal, g, beta, *bounds, target, budget)
            self.note_curvature(curvature)
            return bool(violation <= target)

        alternate(newton, steps, task, beta, polish)
        if index is None and self.polish and not polish:
            # Nothing waits for other blocks: the exact solution may be one Newton step away.
            n_free = task.count_free(beta)
            if 0 < n_free <= MAX_POLISH_VARIABLES:
                newton(n_free, 0)
                steps(task.n)
        changed = (beta != self.beta[part]).nonzero()[0]
        if index is None:
            self.g = g
        elif changed.size:
            rows = index[changed]
            change = beta[changed] - self.beta[rows]
            self.gram.accumulate(rows, change, self.g)
            self._add_ridge(rows, change)
        self.beta[part] = beta
        return bool(changed.size)

    def _newton(
        self,
        K: npt.NDArray[Any],
        task: Task,
        beta: FloatArray,
        g: FloatArray,
        n_free: int,
        alternation: int,
    ) -> None:
        """Take Newton steps, noting when the free part of K is indefinite."""
        doublings = max(alternation - _PATIENT_ALTERNATIONS, 0)
        repeats = min(n_free, (1 + _NEWTON_REPEATS // n_free) << doublings)
        problem = (K, g, beta, task.lower, task.upper, task.epsilon, task.has_intercept)
        with threads_for(n_free):
            for ridge, by_trace in zip(self.ridges, (False, True), strict=True):
                try:
                    if newton_step(*problem, ridge, by_trace, 0) == BLOCKED:
                        newton_step(*problem, ridge, by_trace, repeats)
                    return
                except np.linalg.LinAlgError:
                    continue
        self.convex = False
