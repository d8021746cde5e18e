"""The certified SVM dual solver: one problem for classification and regression.

    max over beta   p'beta - epsilon ||beta||_1 - 1/2 beta'K beta
    s.t.            lower <= beta <= upper,   sum(beta) = 0 (with an intercept)

Symbols: ``beta`` is the signed dual variable (``y_i alpha_i`` in classification),
``g = K beta - p`` the gradient of the smooth part of the minimised problem. The box contains 0.

Each round improves a block of variables, all free ones and the worst violators, and then evaluates
the duality gap. The block's part of K is gathered into a contiguous array, on which pair steps
(:mod:`kernelfit.solvers.pair_steps`) and Newton steps (:mod:`kernelfit.solvers.newton_steps`)
alternate; the rows of the variables that changed then update the whole gradient. Variables outside
the blocks cost nothing, which is what shrinking achieves elsewhere.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelfit.solvers.certificate import duality_gap
from kernelfit.solvers.gram import DenseGram, RowGram
from kernelfit.solvers.newton_steps import BLOCKED, newton_step
from kernelfit.solvers.pair_steps import one_sided_rates, pair_steps, single_steps
from kernelfit.solvers.projections import project_box_plane
from kernelfit.solvers.result import FloatArray, SvmDualResult
from kernelfit.utils.threads import threads_for

Gram = DenseGram | RowGram
Callback = Callable[[int, float, float], Any]

# Blocks hold at least this many variables, and at most four times as many.
_BLOCK = 1024
# A block is solved until its violation is this fraction of the violation at the round's start.
_REDUCTION = 0.1
# Pair steps that cost about as much as a factorisation of f variables: f^3 / _FLOPS_PER_STEP.
_FLOPS_PER_STEP = 5e4
_MAX_NEWTON_VARIABLES = 2048
# Newton's ridge as a fraction of the trace. A matrix that fails at the last one is indefinite
# beyond the rounding of its entries, as is one with a relative curvature below minus the last one.
_RIDGES = {np.dtype(np.float64): (1e-13, 1e-9), np.dtype(np.float32): (1e-13, 1e-6)}
# A blocked Newton step on f variables is repeated about _NEWTON_REPEATS / f times, and after a few
# alternations on a block ever more often: where K has low rank, bounds are met one by one.
_NEWTON_REPEATS = 400
_PATIENT_ALTERNATIONS = 6
_MAX_ALTERNATIONS = 50
_POLISH_ROUNDS = 3
_MAX_POLISH_VARIABLES = 512
# Rounds without progress after which rounding is taken to prevent it.
_PATIENCE = 100
_PSD_SAMPLE = 300


def solve_svm_dual(
    K: npt.NDArray[Any] | Gram,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    epsilon: float = 0.0,
    fit_intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int = 1000,
    warm_start: FloatArray | None = None,
    assume_psd: bool = False,
    polish: bool = False,
    callback: Callback | None = None,
) -> SvmDualResult:
    r"""Solve the SVM dual to a relative duality gap.

    .. math::

        \max_\beta\; p^\top\beta - \epsilon\|\beta\|_1 - \tfrac12 \beta^\top K \beta
        \quad\text{s.t.}\quad l \le \beta \le u,\; \mathbf 1^\top\beta = 0

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram source
        The symmetric positive semidefinite kernel matrix (float64 or float32), or
        an object of :mod:`kernelfit.solvers.gram` that gives its rows on demand.
    p : ndarray of shape (n,)
        The linear term: labels in {-1, 1}, or targets.
    lower, upper : ndarray of shape (n,)
        The box, ``lower <= 0 <= upper``.
    epsilon : float, default=0.0
        Half the width of the insensitive tube; 0 in classification.
    fit_intercept : bool, default=True
        Whether the model has an intercept, which gives the constraint ``sum(beta) = 0``.
    tol : float, default=1e-3
        Stop when the duality gap is at most ``tol`` times the objective. Where rounding errors keep
        it above, stop without convergence.
    max_iter : int, default=1000
        Largest number of rounds.
    warm_start : ndarray of shape (n,), optional
        Start from the feasible point closest to this one.
    assume_psd : bool, default=False
        Whether K is known to be positive semidefinite, as for the usual kernels; it is tested
        otherwise (see Notes).
    polish : bool, default=False
        Once ``tol`` is met, go on for up to three rounds towards the exact solution, which Newton
        steps reach as soon as the set of free variables is right and of moderate size.
    callback : callable, optional
        Called as ``callback(n_iter, objective, gap)`` at the end of every round.

    Returns
    -------
    SvmDualResult
        Solution and certificate. Where negative curvature shows that K is indefinite the
        result is a stationary point, ``certified`` is False and ``gap`` is nan.

    Notes
    -----
    The gap proves optimality for a positive semidefinite K. Unless that is assumed, up to 300
    evenly spaced rows and columns of K (all, if there are no more) must have a Cholesky factor.
    Negative curvature on a pair or a free set that the solver meets is always noticed; a larger
    matrix whose negative part escapes all of these is taken for positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.solvers.svm_dual import solve_svm_dual
    >>> y = np.array([-1.0, 1.0])
    >>> result = solve_svm_dual(np.eye(2), y, np.minimum(9 * y, 0), np.maximum(9 * y, 0))
    >>> result.x, result.objective, result.gap
    (array([-1.,  1.]), 1.0, 0.0)
    """
    gram = DenseGram(K) if isinstance(K, np.ndarray) else K
    p = np.ascontiguousarray(p, dtype=np.float64)
    lower = np.ascontiguousarray(lower, dtype=np.float64)
    upper = np.ascontiguousarray(upper, dtype=np.float64)
    n = p.size
    # With sum(beta) = 0 a constant in p only moves the intercept: without it nothing cancels.
    shift = 0.5 * (p.min() + p.max()) if fit_intercept else 0.0
    p = p - shift
    beta = np.zeros(n) if warm_start is None else _feasible(warm_start, lower, upper, fit_intercept)
    decision, g = np.zeros(n), -p
    support = np.flatnonzero(beta)
    if support.size:
        gram.accumulate(support, beta[support], g)
    block = _BlockSolver(gram, lower, upper, epsilon, fit_intercept)
    block.convex &= assume_psd or _sample_is_psd(gram)
    history: list[tuple[float, float]] = []
    fresh = support.size == 0  # whether g was computed from beta in one go, from exact rows
    converged = stalled = False
    rounds, polish_rounds = 0, _POLISH_ROUNDS if polish else 0
    recompute = n <= _BLOCK
    while True:
        if recompute and not fresh:
            # The updates of g were rounded, as were cached rows.
            if fit_intercept:
                _restore_sum(beta, lower, upper)
            decision = gram.exact_decision(beta)
            g = decision - p
            fresh = True
        gap, objective, intercept, resolution = duality_gap(
            g, p, beta, lower, upper, epsilon, fit_intercept
        )
        # An optimum of 0 is met to rounding.
        met = gap <= tol * abs(objective) or (gap <= resolution and not beta.any())
        done = met and (polish_rounds == 0 or block.count_free(beta) > _MAX_POLISH_VARIABLES)
        stop = done or gap <= resolution or stalled or rounds == max_iter
        if (stop or (met and not converged)) and not fresh:
            recompute = True  # and judge again
            continue
        recompute = n <= _BLOCK
        converged = met
        if rounds > 0 or stop:
            history.append((objective, gap))
            if callback is not None:
                callback(len(history), objective, gap)
        if stop:
            break
        polish_rounds -= converged
        wanted = 0.0 if converged else 0.3 * tol * abs(objective) / gap
        stalled = not block.improve(beta, g, wanted, polish=converged)
        stalled |= _stands_still(history)
        rounds += 1
        fresh = False
    convex = block.convex
    return SvmDualResult(
        x=beta,
        objective=objective,
        gap=gap if convex else np.nan,
        n_iter=len(history),
        converged=bool(converged),
        history=tuple(history),
        intercept=float(intercept + shift),
        decision=decision,
        certified=convex,
    )


def solve_svc_dual(
    K: npt.NDArray[Any] | Gram, y: FloatArray, C: float | FloatArray, **options: Any
) -> SvmDualResult:
    """Solve the classification dual: ``p = y``, box between 0 and ``y_i C_i``.

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram source
        The kernel matrix.
    y : ndarray of shape (n,)
        Labels -1 and 1.
    C : float or ndarray of shape (n,)
        Upper bound of each point's coefficient, >= 0.
    **options
        Passed to :func:`solve_svm_dual`.

    Returns
    -------
    SvmDualResult
    """
    bound = y * C
    return solve_svm_dual(K, y, np.minimum(bound, 0.0), np.maximum(bound, 0.0), **options)


def solve_svr_dual(
    K: npt.NDArray[Any] | Gram,
    y: FloatArray,
    C: float | FloatArray,
    epsilon: float,
    **options: Any,
) -> SvmDualResult:
    """Solve the regression dual: ``p = y``, box between ``-C_i`` and ``C_i``.

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram source
        The kernel matrix.
    y : ndarray of shape (n,)
        Targets.
    C : float or ndarray of shape (n,)
        Bound on the magnitude of each point's coefficient, >= 0.
    epsilon : float
        Half the width of the insensitive tube.
    **options
        Passed to :func:`solve_svm_dual`.

    Returns
    -------
    SvmDualResult
    """
    bound = np.broadcast_to(np.asarray(C, dtype=np.float64), np.shape(y))
    return solve_svm_dual(K, y, -bound, bound, epsilon=epsilon, **options)


def _stands_still(history: list[tuple[float, float]]) -> bool:
    """Return whether many rounds have changed nothing but rounding errors."""
    if len(history) <= _PATIENCE:
        return False
    (before, gap_before), (objective, gap) = history[-_PATIENCE - 1], history[-1]
    return objective - before <= 1e-12 * abs(objective) and gap >= 0.9 * gap_before


def _feasible(
    start: FloatArray, lower: FloatArray, upper: FloatArray, fit_intercept: bool
) -> FloatArray:
    """Return the feasible point closest to the start."""
    start = np.asarray(start, dtype=np.float64)
    if not fit_intercept:
        return np.clip(start, lower, upper)
    in_box = np.all((lower <= start) & (start <= upper))
    if in_box and abs(start.sum()) <= 1e-14 * np.abs(start).sum():
        return start.copy()
    return project_box_plane(start, lower, upper)


def _is_free(
    beta: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float
) -> npt.NDArray[np.bool_]:
    """Return which variables are neither at a bound nor at the kink of the l1 term."""
    inside: npt.NDArray[np.bool_] = (beta > lower) & (beta < upper)
    return inside & (beta != 0.0) if epsilon > 0.0 else inside


def _restore_sum(beta: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    """Take the rounding error of many steps out of the sum, at the variable with most room."""
    # |beta|: in regression a variable at 0 must stay there.
    room = np.minimum(np.minimum(upper - beta, beta - lower), np.abs(beta))
    roomiest = int(np.argmax(room))
    error = beta.sum()
    if abs(error) < room[roomiest]:
        beta[roomiest] -= error


def _sample_is_psd(gram: Gram) -> bool:
    """Test a principal submatrix: K is indefinite if any of them is."""
    index = np.linspace(0, gram.n - 1, min(gram.n, _PSD_SAMPLE)).astype(np.intp)
    sample = gram.block(index)
    ridge = _RIDGES[gram.dtype][-1] * abs(np.trace(sample))
    sample[np.diag_indices_from(sample)] += ridge + np.finfo(float).tiny
    with threads_for(len(index)):
        try:
            np.linalg.cholesky(sample)
        except np.linalg.LinAlgError:
            return False
    return True


class _BlockSolver:
    """The rounds of :func:`solve_svm_dual`: choose a block and improve it in place."""

    def __init__(
        self,
        gram: Gram,
        lower: FloatArray,
        upper: FloatArray,
        epsilon: float,
        fit_intercept: bool,
    ) -> None:
        self.gram, self.lower, self.upper = gram, lower, upper
        self.epsilon, self.fit_intercept = epsilon, fit_intercept
        self.diagonal = gram.diagonal()
        self.convex = bool(np.all(self.diagonal >= 0.0))
        self.steps = pair_steps if fit_intercept else single_steps
        self.ridges = _RIDGES[gram.dtype]

    def count_free(self, beta: FloatArray) -> int:
        """Return the number of free variables."""
        return int(np.count_nonzero(_is_free(beta, self.lower, self.upper, self.epsilon)))

    def _note(self, curvature: float) -> None:
        """Remember that K is indefinite where a curvature is negative beyond rounding."""
        self.convex &= curvature >= -self.ridges[-1]

    def improve(self, beta: FloatArray, g: FloatArray, wanted: float, polish: bool) -> bool:
        """Improve one block; ``wanted`` is the reduction of the violation that would suffice.

        Returns False when nothing could be changed.
        """
        up, down = one_sided_rates(g, beta, self.lower, self.upper, self.epsilon)
        highest, lowest = (up.max(), down.min()) if self.fit_intercept else (0.0, 0.0)
        violation = highest - lowest if self.fit_intercept else max(up.max(), -down.min())
        n = beta.size
        matrix = self.gram.matrix
        if matrix is not None and n <= _BLOCK:
            # One block holds everything: no coordination between blocks to wait for.
            target = violation * min(max(wanted, 1e-4), _REDUCTION)
            return self._solve(matrix, None, beta, g, target, polish)
        if matrix is not None and not beta.any():
            # From zero, most variables settle at a bound within a few steps each: reading rows of
            # the whole matrix is then cheaper than gathering blocks.
            curvature = self.steps(
                matrix,
                self.diagonal,
                g,
                beta,
                self.lower,
                self.upper,
                self.epsilon,
                1e-2 * violation,
                n,
            )[2]
            self._note(curvature)
            return bool(beta.any())
        index = self._choose(beta, up, down, highest, lowest)
        target = violation * max(wanted, _REDUCTION)
        return self._solve(self.gram.block(index), index, beta, g, target, polish)

    def _choose(
        self, beta: FloatArray, up: FloatArray, down: FloatArray, highest: float, lowest: float
    ) -> npt.NDArray[np.intp]:
        """Return the sorted indices of the free variables and the worst violators of both kinds."""
        free = _is_free(beta, self.lower, self.upper, self.epsilon)
        n_free = int(np.count_nonzero(free))
        size = min(max(_BLOCK, n_free + n_free // 4), 4 * _BLOCK)
        chosen = np.zeros(beta.size, dtype=bool)
        if n_free <= size - size // 5:
            chosen[free] = True
        room = (size - int(np.count_nonzero(chosen))) // 2
        for score in (np.where(up > lowest, up, -np.inf), np.where(down < highest, -down, -np.inf)):
            score[chosen] = -np.inf
            candidates = np.flatnonzero(score > -np.inf)
            if candidates.size > room:
                worst = score[candidates]
                if worst.min() == worst.max():  # as at beta = 0: take them evenly
                    pick = np.linspace(0, candidates.size - 1, room).astype(np.intp)
                else:
                    pick = np.argpartition(-worst, room)[:room]
                candidates = candidates[pick]
            chosen[candidates] = True
        return np.flatnonzero(chosen)

    def _solve(
        self,
        K: npt.NDArray[Any],
        index: npt.NDArray[np.intp] | None,
        beta: FloatArray,
        g: FloatArray,
        target: float,
        polish: bool,
    ) -> bool:
        """Alternate pair and Newton steps on a block until its violation is down to the target."""
        part: Any = slice(None) if index is None else index
        sub_beta, sub_g = beta[part].copy(), g[part].copy()
        lower, upper, diagonal = self.lower[part], self.upper[part], self.diagonal[part]
        for alternation in range(_MAX_ALTERNATIONS):
            n_free = int(np.count_nonzero(_is_free(sub_beta, lower, upper, self.epsilon)))
            if 0 < n_free <= _MAX_NEWTON_VARIABLES and (alternation > 0 or polish):
                self._newton(K, sub_g, sub_beta, lower, upper, n_free, alternation)
            budget = sub_beta.size + int(min(n_free, _MAX_NEWTON_VARIABLES) ** 3 / _FLOPS_PER_STEP)
            _, violation, curvature = self.steps(
                K, diagonal, sub_g, sub_beta, lower, upper, self.epsilon, target, budget
            )
            self._note(curvature)
            if violation <= target:
                break
        changed = np.flatnonzero(sub_beta != beta[part])
        if index is None:
            g[:] = sub_g
        elif changed.size:
            rows = index[changed]
            self.gram.accumulate(rows, sub_beta[changed] - beta[rows], g)
        beta[part] = sub_beta
        return bool(changed.size)

    def _newton(
        self,
        K: npt.NDArray[Any],
        g: FloatArray,
        beta: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        n_free: int,
        alternation: int,
    ) -> None:
        """Take Newton steps, noting when the free part of K is indefinite."""
        doublings = max(alternation - _PATIENT_ALTERNATIONS, 0)
        repeats = min(n_free, (1 + _NEWTON_REPEATS // n_free) << doublings)
        problem = (K, g, beta, lower, upper, self.epsilon, self.fit_intercept)
        with threads_for(n_free):
            for ridge in self.ridges:
                try:
                    status = newton_step(*problem, ridge, False)
                    for _ in range(repeats):
                        if status != BLOCKED:
                            break
                        status = newton_step(*problem, ridge, True)
                    return
                except np.linalg.LinAlgError:
                    continue
        self.convex = False
