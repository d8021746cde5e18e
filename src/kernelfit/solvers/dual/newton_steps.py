"""A Newton step on the free variables of one block.

Pair steps find out quickly which variables end at a bound, but are slow to settle the ``f`` free
ones when K is ill-conditioned. On those the dual is an equality-constrained quadratic: one Cholesky
factorisation, f^3 / 3 operations, solves it. Variables that the solution would carry past a bound
(or past the kink at 0) are put there and the rest is solved again, until all fit. The step goes to
the minimum on the segment towards that point, or on the plain Newton direction up to the first
bound, whichever is lower: it never increases the objective.

Symbols are those of :mod:`kernelfit.solvers.dual.pair_steps`; ``move`` is the displacement of the
free variables.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from kernelfit.solvers.result import FloatArray

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_MAX_PASSES = 30
NO_STEP, STEP, BLOCKED = 0, 1, 2


@njit(cache=True, fastmath={"reassoc", "nsz", "contract"})
def _solve_factored(factor: FloatArray, rhs: FloatArray) -> FloatArray:
    """Solve ``factor @ factor.T @ x = rhs`` for a lower triangular factor, row by row."""
    x = rhs.copy()
    for i in range(x.size):
        row = factor[i]
        total = x[i]
        for k in range(i):
            total -= row[k] * x[k]
        x[i] = total / row[i]
    for i in range(x.size - 1, -1, -1):
        row = factor[i]
        x[i] /= row[i]
        value = x[i]
        for k in range(i):
            x[k] -= row[k] * value
    return x


@njit(cache=True, fastmath={"reassoc", "nsz", "contract"})
def _minimise(
    K: FloatArray,
    free: IntArray,
    inside: IntArray,
    slope: FloatArray,
    fixed: BoolArray,
    move: FloatArray,
    fit_intercept: bool,
    ridge: float,
) -> FloatArray:
    """Return the best displacement of the variables ``inside``, given that of the fixed ones."""
    count = inside.size
    sub = np.empty((count, count))
    for a in range(count):
        row, out = K[free[inside[a]]], sub[a]
        for b in range(count):
            out[b] = row[free[inside[b]]]
        out[a] += ridge
    factor = np.ascontiguousarray(np.linalg.cholesky(sub))
    rhs = np.empty(count)
    for a in range(count):
        rhs[a] = -slope[inside[a]]
    fixed_sum = 0.0
    for c in range(free.size):
        if fixed[c]:
            fixed_sum += move[c]
            row = K[free[c]]
            for a in range(count):
                rhs[a] -= row[free[inside[a]]] * move[c]
    target = _solve_factored(factor, rhs)
    if fit_intercept:  # the multiplier of sum(move) = 0
        weights = _solve_factored(factor, np.ones(count))
        multiplier = (target.sum() + fixed_sum) / weights.sum()
        for a in range(count):
            target[a] -= multiplier * weights[a]
        # Where K is nearly singular the sum is met only roughly: restore it.
        shift = (target.sum() + fixed_sum) / count
        for a in range(count):
            target[a] -= shift
    return target


@njit(cache=True, fastmath={"reassoc", "nsz", "contract"})
def _fit_into_bounds(
    K: FloatArray,
    free: IntArray,
    slope: FloatArray,
    least: FloatArray,
    most: FloatArray,
    first_move: FloatArray,
    fit_intercept: bool,
    ridge: float,
) -> tuple[FloatArray, BoolArray]:
    """Fix all that would leave their range at its end, minimise over the rest, and so on.

    Returns the displacement, zero where it cannot meet the sum, and which variables are fixed.
    """
    f = free.size
    move = np.zeros(f)
    fixed = np.zeros(f, np.bool_)
    inside = np.arange(f)
    count = f
    target = first_move
    for _ in range(_MAX_PASSES):
        still = 0
        for a in range(count):
            c = inside[a]
            if target[a] <= least[c]:
                move[c] = least[c]
                fixed[c] = True
            elif target[a] >= most[c]:
                move[c] = most[c]
                fixed[c] = True
            else:
                move[c] = target[a]
                inside[still] = c
                still += 1
        if still == count or still == 0:
            break
        count = still
        target = _minimise(K, free, inside[:count], slope, fixed, move, fit_intercept, ridge)
    if fit_intercept and abs(move.sum()) > 1e-9 * np.abs(move).sum():
        move[:] = 0.0
    return move, fixed


@njit(cache=True, fastmath={"reassoc", "nsz", "contract"})
def _line_search(
    K: FloatArray, free: IntArray, slope: FloatArray, move: FloatArray
) -> tuple[float, float, FloatArray]:
    """Return the decrease at the best length in [0, 1], that length, and ``K @ move``."""
    change = np.zeros(K.shape[0])
    for a in range(free.size):
        row, value = K[free[a]], move[a]
        if value != 0.0:
            for k in range(change.size):
                change[k] += value * row[k]
    rate, curvature = 0.0, 0.0
    for a in range(free.size):
        rate += slope[a] * move[a]
        curvature += move[a] * change[free[a]]
    if rate >= 0.0:
        return 0.0, 0.0, change
    length = min(1.0, -rate / curvature) if curvature > 0.0 else 1.0
    return -length * (rate + 0.5 * length * curvature), length, change


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def newton_step(
    K: FloatArray,
    g: FloatArray,
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    fit_intercept: bool,
    ridge: float,
    first_bound_only: bool,
) -> int:
    """Take one step in place.

    With ``first_bound_only`` the step ends at the first bound in its way. As many steps as there
    are free variables then reach the minimum over them, however ill-conditioned K is; without, a
    step may meet many bounds at once, which is faster where it goes well.

    Raises ``numpy.linalg.LinAlgError``, with nothing changed, when K on the free variables plus
    ``ridge * trace`` on its diagonal is not positive definite.

    Returns
    -------
    status : int
        ``NO_STEP`` where no decrease was found, ``BLOCKED`` where bounds cut the step short and
        another one may go further, ``STEP`` otherwise.
    """
    n = g.size
    free = np.empty(n, np.int64)
    f = 0
    trace = 0.0
    for i in range(n):
        if lower[i] < beta[i] < upper[i] and (epsilon == 0.0 or beta[i] != 0.0):
            free[f] = i
            f += 1
            trace += K[i, i]
    if trace <= 0.0:  # nothing is free, or K vanishes there
        return NO_STEP
    free = free[:f]
    slope, least, most = np.empty(f), np.empty(f), np.empty(f)
    for a in range(f):
        i = free[a]
        least[a], most[a], slope[a] = lower[i] - beta[i], upper[i] - beta[i], g[i]
        if epsilon > 0.0 and beta[i] > 0.0:
            least[a] = -beta[i]
            slope[a] += epsilon
        elif epsilon > 0.0:
            most[a] = -beta[i]
            slope[a] -= epsilon

    if fit_intercept:
        # Moves sum to zero, so a constant in the slope has no effect but rounding.
        slope -= slope.mean()

    fixed = np.zeros(f, np.bool_)
    move = np.zeros(f)
    move = _minimise(K, free, np.arange(f), slope, fixed, move, fit_intercept, ridge * trace)
    room, first = 1.0, -1
    for a in range(f):
        if move[a] < 0.0 and least[a] > room * move[a]:
            room, first = least[a] / move[a], a
        elif move[a] > 0.0 and most[a] < room * move[a]:
            room, first = most[a] / move[a], a
    status = STEP
    if first < 0:
        gain, length, change = _line_search(K, free, slope, move)
    else:
        status = BLOCKED
        many = np.zeros(f)
        if not first_bound_only:
            many, many_fixed = _fit_into_bounds(
                K, free, slope, least, most, move, fit_intercept, ridge * trace
            )
        # Shortened before it meets K: where K is nearly singular the full step is huge.
        move *= room
        fixed[first] = True
        gain, length, change = _line_search(K, free, slope, move)
        if not first_bound_only:
            many_gain, many_length, many_change = _line_search(K, free, slope, many)
            if many_gain > gain:
                gain, length, change = many_gain, many_length, many_change
                move, fixed = many, many_fixed
                status = STEP if length == 1.0 else BLOCKED
    if gain <= 0.0:
        return NO_STEP
    for a in range(f):
        i = free[a]
        low = 0.0 if epsilon > 0.0 and beta[i] > 0.0 else lower[i]
        high = 0.0 if epsilon > 0.0 and beta[i] < 0.0 else upper[i]
        if fixed[a] and length == 1.0:
            beta[i] = low if move[a] < 0.0 else high
        else:
            beta[i] = min(max(beta[i] + length * move[a], low), high)
    for k in range(n):
        g[k] += length * change[k]
    return status
