"""A Newton step on the free variables of one block.

Pair steps find out quickly which variables end at a bound, but are slow to settle the ``f`` free
ones when K is ill-conditioned. On those the dual is an equality-constrained quadratic: one Cholesky
factorisation, f^3 / 3 operations, solves it. Variables that the solution would carry past a bound
(or past the kink at 0) are put there and the rest is solved again, until all fit. The step goes to
the minimum on the segment towards that point, or on the plain Newton direction up to the first
bound, whichever is lower: it never increases the objective. Where bounds keep cutting steps short,
a walk meets them one by one (:mod:`kernelfit.solvers.dual.bound_walk`).

Symbols are those of :mod:`kernelfit.solvers.dual.pair_steps`; ``move`` is the displacement of the
free variables, ``K_free`` the part of K that belongs to them.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dpotrs

from kernelfit.linalg.indexed import add_rows, gather
from kernelfit.solvers.dual.bound_walk import ENDED, FAILED, walk_to_bounds
from kernelfit.solvers.result import FloatArray

BoolArray = npt.NDArray[np.bool_]
_MAX_PASSES = 30
# Up to this many variables the call of LAPACK counts that is fastest to make. It keeps the
# interpreter's lock, which other threads would notice with more.
_FEW = 512
NO_STEP, STEP, BLOCKED = 0, 1, 2
_sum: Any = np.add.reduce  # as the method, with less overhead


def _factorise(A: FloatArray) -> FloatArray:
    """Return the lower Cholesky factor in Fortran order; what is above it is not zero."""
    if len(A) > _FEW:
        return np.asfortranarray(np.linalg.cholesky(A))
    factor, info = dpotrf(A.T, lower=1, clean=0)
    if info != 0:
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    lower: FloatArray = factor
    return lower


def _minimise(
    factor: FloatArray, rhs: FloatArray, fixed_sum: float, fit_intercept: bool
) -> FloatArray:
    """Return the solution of ``A x = rhs``, with ``sum(x) = -fixed_sum`` where that is asked."""
    sides = np.empty((1 + fit_intercept, rhs.size))
    sides[0] = rhs
    sides[1:] = 1.0
    solved = dpotrs(factor, sides.T, lower=1, overwrite_b=1)[0].T
    target: FloatArray = solved[0]
    total = _sum(target)
    if fit_intercept:
        weights = solved[1]  # of the multiplier of sum(x)
        weight = _sum(weights)
        if not weight > 0.0:
            raise np.linalg.LinAlgError("Matrix is too large")
        target -= weights * ((total + fixed_sum) / weight)
        # Where K is nearly singular the sum is met only roughly: restore it.
        total = _sum(target)
        target -= (total + fixed_sum) / rhs.size
    if not math.isfinite(total):
        raise np.linalg.LinAlgError("Matrix is not finite")
    return target


def _fit_into_bounds(
    A: FloatArray,
    slope: FloatArray,
    least: FloatArray,
    most: FloatArray,
    first_move: FloatArray,
    fit_intercept: bool,
) -> tuple[FloatArray, BoolArray]:
    """Fix all that would leave their range at its end, minimise over the rest, and so on.

    Returns the displacement, zero where it cannot meet the sum, and which variables are fixed.
    """
    move = np.minimum(np.maximum(first_move, least), most)
    fixed = (first_move <= least) | (first_move >= most)
    for _ in range(_MAX_PASSES - 1):
        inside = (~fixed).nonzero()[0]
        if not inside.size:
            break
        part = np.empty((inside.size, inside.size))
        gather(A, inside, inside, part)
        at_end = move * fixed
        rhs = -(slope + A @ at_end)[inside]
        target = _minimise(_factorise(part), rhs, _sum(at_end), fit_intercept)
        low, high = least[inside], most[inside]
        move[inside] = np.minimum(np.maximum(target, low), high)
        leaves = (target <= low) | (target >= high)
        if not leaves.any():
            break
        fixed[inside[leaves]] = True
    if fit_intercept and abs(_sum(move)) > 1e-9 * _sum(np.abs(move)):
        move[:] = 0.0
    return move, fixed


def _line_search(
    A: FloatArray, ridge: FloatArray | float, slope: FloatArray, move: FloatArray
) -> tuple[float, float]:
    """Return the decrease at the best length in [0, 1], and that length."""
    rate = float(slope @ move)
    if not rate < 0.0:
        return 0.0, 0.0
    curvature = float(move @ (A @ move - ridge * move))
    length = min(1.0, -rate / curvature) if curvature > 0.0 else 1.0
    return -length * (rate + 0.5 * length * curvature), length


def _leap(
    A: FloatArray,
    ridge: FloatArray | float,
    slope: FloatArray,
    least: FloatArray,
    most: FloatArray,
    fit_intercept: bool,
) -> tuple[float, float, FloatArray, npt.NDArray[np.intp], int]:
    """Return the gain, the length and the move of a step past many bounds, or to the first one.

    Also which variables it takes to a bound, and the status.
    """
    move = _minimise(_factorise(A), -slope, 0.0, fit_intercept)
    outside = ((move < least) | (move > most)).nonzero()[0]
    if not outside.size:
        return *_line_search(A, ridge, slope, move), move, outside, STEP
    past = move[outside]
    rooms = np.where(past < 0.0, least[outside], most[outside]) / past
    first = int(rooms.argmin())
    many, fixed = _fit_into_bounds(A, slope, least, most, move, fit_intercept)
    # Shortened before it meets K: where K is nearly singular the full step is huge.
    move = move * rooms[first]
    gain, length = _line_search(A, ridge, slope, move)
    many_gain, many_length = _line_search(A, ridge, slope, many)
    if not many_gain > gain:
        return gain, length, move, outside[first : first + 1], BLOCKED
    status = STEP if many_length == 1.0 else BLOCKED
    return many_gain, many_length, many, fixed.nonzero()[0], status


def _walk(
    A: FloatArray,
    ridge: FloatArray | float,
    slope: FloatArray,
    least: FloatArray,
    most: FloatArray,
    fit_intercept: bool,
    max_bounds: int,
) -> tuple[float, float, FloatArray, int]:
    """Return the gain, the length and the move of steps to one bound after the other.

    Also the status.
    """
    U, shift = _factorise(A).T, np.broadcast_to(ridge, slope.shape).copy()
    move, end = walk_to_bounds(U, slope.copy(), shift, least, most, fit_intercept, max_bounds)
    if end == FAILED:
        raise np.linalg.LinAlgError("Matrix is not finite")
    gain, length = _line_search(A, ridge, slope, move)
    return gain, length, move, STEP if end == ENDED and length == 1.0 else BLOCKED


def newton_step(
    K: FloatArray,
    g: FloatArray,
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    fit_intercept: bool,
    ridge: float,
    by_trace: bool,
    walk: int,
) -> int:
    """Take one step in place.

    A walk meets one bound after the other. One of as many bounds as there are free variables
    reaches the minimum over them, however ill-conditioned K is; without, a step may meet many
    bounds at once, which is faster where it goes well.

    Raises ``numpy.linalg.LinAlgError``, with nothing changed, when K on the free variables plus
    the ridge on its diagonal is not positive definite.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    g, beta : ndarray of shape (n,)
        The gradient and the variables, changed in place.
    lower, upper, epsilon, fit_intercept
        The task.
    ridge : float
        As a fraction of the diagonal; of the trace where that is zero.
    by_trace : bool
        Whether it is a fraction of the trace everywhere.
    walk : int
        The largest number of bounds that a walk meets; 0 for a step without.

    Returns
    -------
    status : int
        ``NO_STEP`` where no decrease was found, ``BLOCKED`` where bounds cut the step short and
        another one may go further, ``STEP`` otherwise.
    """
    with np.errstate(all="ignore"):
        return _step(K, g, beta, lower, upper, epsilon, fit_intercept, ridge, by_trace, walk)


def _step(
    K: FloatArray,
    g: FloatArray,
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    fit_intercept: bool,
    ridge: float,
    by_trace: bool,
    walk: int,
) -> int:
    inside = (lower < beta) & (beta < upper)
    if epsilon > 0.0:
        inside &= beta != 0.0
    free = inside.nonzero()[0]
    f = free.size
    A = np.empty((f, f))  # K on the free variables, with the ridge
    gather(K, free, free, A)
    diagonal = A.reshape(-1)[:: f + 1]
    trace = _sum(diagonal)
    if trace <= 0.0:  # nothing is free, or K vanishes there
        return NO_STEP
    # Relative to each variable's own diagonal large ones do not slow the small ones down; relative
    # to the trace it covers the rounding of a matrix that was made elsewhere.
    shift = ridge * (trace if by_trace else np.where(diagonal > 0.0, diagonal, trace))
    diagonal += shift
    start, slope, low, high = beta[free], g[free], lower[free], upper[free]
    if epsilon > 0.0:
        positive = start > 0.0
        slope += np.where(positive, epsilon, -epsilon)
        low[positive] = 0.0
        high[~positive] = 0.0
    if fit_intercept:
        # Moves sum to zero, so a constant in the slope has no effect but rounding.
        slope -= _sum(slope) / f
    least, most = low - start, high - start

    if walk:
        gain, length, move, status = _walk(A, shift, slope, least, most, fit_intercept, walk)
        fixed = ((move == least) | (move == most)).nonzero()[0]
    else:
        gain, length, move, fixed, status = _leap(A, shift, slope, least, most, fit_intercept)
    if not gain > 0.0:
        return NO_STEP
    if length < 1.0:
        move *= length
    end = np.minimum(np.maximum(start + move, low), high)
    if length == 1.0 and fixed.size:
        end[fixed] = np.where(move[fixed] < 0.0, low[fixed], high[fixed])
    beta[free] = end
    change = np.zeros(g.size)  # summed up alone, so that a small one is not rounded to g
    add_rows(K, free, move, change)
    g += change
    return status
