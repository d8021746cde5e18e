"""A Newton step on the free variables of one block.

Pair steps find out quickly which variables end at a bound, but are slow to settle the ``f`` free
ones when K is ill-conditioned. On those the dual is an equality-constrained quadratic: one Cholesky
factorisation, f^3 / 3 operations, solves it. Variables that the solution would carry past a bound
(or past the kink at 0) are put there and the rest is solved again, until all fit. The step goes to
the minimum on the segment towards that point, or on the plain Newton direction up to the first
bound, whichever is lower: it never increases the objective.

Symbols are those of :mod:`kernelfit.solvers.pair_steps`; ``move`` is the displacement of the free
variables.
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
    trace = 0.0
    for a in range(count):
        row, out = K[free[inside[a]]], sub[a]
        for b in range(count):
            out[b] = row[free[inside[b]]]
        trace += out[a]
    for a in range(count):
        sub[a, a] += ridge * trace
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
) -> int:
    """Take one step in place.

    Raises ``numpy.linalg.LinAlgError``, with nothing changed, when K on the free variables plus
    ``ridge * trace`` on its diagonal is not positive definite.

    Returns
    -------
    status : int
        ``NO_STEP`` where no decrease was found, ``BLOCKED`` where the step ended at the first
        bound in its way and another one may go further, ``STEP`` otherwise.
    """
    n = g.size
    free = np.empty(n, np.int64)
    f = 0
    for i in range(n):
        if lower[i] < beta[i] < upper[i] and (epsilon == 0.0 or beta[i] != 0.0):
            free[f] = i
            f += 1
    if f == 0:
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

    move = np.zeros(f)
    inside = np.arange(f)  # positions in `free` that are not yet fixed at an end of their range
    fixed = np.zeros(f, np.bool_)
    count = f
    direction = move  # of the first pass, in which nothing is fixed
    for pass_number in range(_MAX_PASSES):
        if count == 0:
            break
        target = _minimise(K, free, inside[:count], slope, fixed, move, fit_intercept, ridge)
        if pass_number == 0:
            direction = target
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
        if still == count:
            break
        count = still
    met = not fit_intercept or abs(move.sum()) <= 1e-9 * np.abs(move).sum()
    gain, length, change = _line_search(K, free, slope, move)
    if not met:  # every variable was fixed before the sum was met
        gain = 0.0
    status = STEP
    if fixed.any():
        # Many bounds at once may be a bad guess: compare with the plain step to the first bound.
        room, first = 1.0, 0
        for a in range(f):
            if direction[a] < 0.0 and least[a] > room * direction[a]:
                room, first = least[a] / direction[a], a
            elif direction[a] > 0.0 and most[a] < room * direction[a]:
                room, first = most[a] / direction[a], a
        # Shortened before it meets K: where K is nearly singular the full step is huge.
        direction *= room
        plain_gain, plain_length, plain_change = _line_search(K, free, slope, direction)
        if plain_gain > gain:
            gain, length, change, move = plain_gain, plain_length, plain_change, direction
            fixed[:] = False
            fixed[first] = True
            status = BLOCKED
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
