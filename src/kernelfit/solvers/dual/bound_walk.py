"""A walk to the minimum over the free variables of a block, from one bound to the next.

Newton's move on ``m`` variables is followed to the first bound; the variable that meets it stays
there, and the move of the others comes next. The Cholesky factor without one row and column follows
from the one with it by m^2 operations (Givens rotations), and the slope after a part t of the move
from that before, ``(1 - t) rate - t ridge move``: the ridge is in the factor, but not in K.

Compiled as a whole, as a bound costs little more than the call of a function; and only where a walk
is needed, which is rare.
"""

import math

import numpy as np

from kernelfit.solvers.result import FloatArray
from kernelfit.utils.jit import inner, jit

# Before a bound is met that many were, at a minimum, or where numbers are not finite.
STOPPED, ENDED, FAILED = 0, 1, 2


@jit(fastmath={"reassoc", "nsz"})  # sums in any order
def walk_to_bounds(
    U: FloatArray,
    rate: FloatArray,
    ridge: FloatArray,
    least: FloatArray,
    most: FloatArray,
    fit_intercept: bool,
    max_bounds: int,
) -> tuple[FloatArray, int]:
    """Return how far the variables move, and how the walk ended.

    Parameters
    ----------
    U : ndarray of shape (m, m)
        Upper Cholesky factor of the matrix with its ridge, in C order; overwritten.
    rate : ndarray of shape (m,)
        The slope; overwritten.
    ridge : ndarray of shape (m,)
        What the diagonal has more than K; overwritten.
    least, most : ndarray of shape (m,)
        How far each variable may go.
    fit_intercept : bool
        Whether moves sum to zero.
    max_bounds : int
        The largest number of bounds to meet.

    Returns
    -------
    moved : ndarray of shape (m,)
    status : int
    """
    m = rate.size
    moved = np.zeros(m)
    active = np.arange(m)  # the variables that have met no bound
    move, ones = np.empty(m), np.empty(m)
    for _ in range(max_bounds):
        # A constant in the slope has no effect on moves that sum to zero but rounding.
        mean = _total(rate, m) / m if fit_intercept else 0.0
        for i in range(m):
            rate[i] -= mean
            move[i] = -rate[i]
            ones[i] = 1.0
        _solve(U, m, move, ones)
        if fit_intercept:
            weight = _total(ones, m)
            multiplier = _total(move, m) / weight
            for i in range(m):
                move[i] -= ones[i] * multiplier
            # Where K is nearly singular the sum is met only roughly: restore it.
            rest = _total(move, m) / m
            for i in range(m):
                move[i] -= rest
            if not weight > 0.0:
                return moved, FAILED
        if not math.isfinite(_total(move, m)):
            return moved, FAILED
        part, first = 1.0, -1  # of the move up to the first bound
        for i in range(m):
            k = active[i]
            room = (least[k] if move[i] < 0.0 else most[k]) - moved[k]
            if abs(move[i]) * part > abs(room):
                part, first = room / move[i], i
        for i in range(m):
            step = part * move[i]
            moved[active[i]] += step
            rate[i] = (1.0 - part) * rate[i] - ridge[i] * step
        if first < 0:
            return moved, ENDED
        end = active[first]
        moved[end] = least[end] if move[first] < 0.0 else most[end]
        for i in range(m - 1, -1, -1):
            k = active[i]
            if moved[k] <= least[k] or moved[k] >= most[k]:
                moved[k] = min(max(moved[k], least[k]), most[k])
                m -= 1
                _drop(U, m, i)
                for c in range(i, m):
                    active[c], rate[c], ridge[c] = active[c + 1], rate[c + 1], ridge[c + 1]
        if m <= fit_intercept:
            return moved, ENDED
    return moved, STOPPED


@inner(forceinline=True)
def _total(values: FloatArray, m: int) -> float:
    total = 0.0
    for i in range(m):
        total += values[i]
    return total


@inner(forceinline=True)
def _solve(U: FloatArray, m: int, x: FloatArray, y: FloatArray) -> None:
    """Replace x and y by the solutions of ``U'U z = x`` and ``U'U z = y``."""
    for k in range(m):
        x[k] /= U[k, k]
        y[k] /= U[k, k]
        for i in range(k + 1, m):
            x[i] -= U[k, i] * x[k]
            y[i] -= U[k, i] * y[k]
    for k in range(m - 1, -1, -1):
        a, b = 0.0, 0.0
        for i in range(k + 1, m):
            a += U[k, i] * x[i]
            b += U[k, i] * y[i]
        x[k] = (x[k] - a) / U[k, k]
        y[k] = (y[k] - b) / U[k, k]


@inner(forceinline=True)
def _drop(U: FloatArray, m: int, j: int) -> None:
    """Take the j-th variable out of the factor of m + 1, in place."""
    for k in range(j):
        for c in range(j, m):
            U[k, c] = U[k, c + 1]
    # Without its j-th column U has an entry below the diagonal in each later one. A rotation of
    # the rows k and k + 1 makes it vanish.
    for k in range(j, m):
        a, b = U[k, k + 1], U[k + 1, k + 1]
        size = math.sqrt(a * a + b * b)
        a, b = a / size, b / size
        for c in range(k, m):
            upper, lower = U[k, c + 1], U[k + 1, c + 1]
            U[k, c] = a * upper + b * lower
            U[k + 1, c + 1] = a * lower - b * upper
