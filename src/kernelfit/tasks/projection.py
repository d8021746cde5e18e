"""Euclidean projections onto the feasible sets of the dual problems."""

import numpy as np
from numpy.typing import NDArray

from kernelfit.tasks.certificate import FloatArray
from kernelfit.utils.jit import jit

_MENDS = 3  # of a sum, each of which rounds to what is added


def project_box_plane(
    v: FloatArray, lower: FloatArray, upper: FloatArray, total: float = 0.0
) -> FloatArray:
    """Project onto the part of a box that lies in the plane of a given sum.

    The projection is ``clip(v - shift, lower, upper)``, where ``shift`` is the root of the
    non-increasing, piecewise linear function ``sum(clip(v - shift, lower, upper)) - total``. Its
    breakpoints are sorted, the piece with the root is found by bisection, and the root on it by
    its formula: exact, in O(n log n).

    Parameters
    ----------
    v : ndarray of shape (n,)
        The point to project.
    lower, upper : ndarray of shape (n,)
        The box, ``lower <= upper``; it may be unbounded.
    total : float, default=0.0
        The required sum, between ``lower.sum()`` and ``upper.sum()``.

    Returns
    -------
    ndarray of shape (n,)
        The closest feasible point.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.tasks.projection import project_box_plane
    >>> project_box_plane(np.array([3.0, 0.5]), np.array([0.0, -1.0]), np.array([1.0, 0.0]))
    array([ 1., -1.])
    """
    leaves_upper, meets_lower = v - upper, v - lower
    breakpoints = np.concatenate((leaves_upper, meets_lower))
    knots = np.sort(breakpoints[np.isfinite(breakpoints)])
    # Each sum is taken afresh: a running one would round to the size of the largest bound.
    low, high = -1, knots.size  # the sum is above the total at the one, not above at the other
    while high - low > 1:
        k = (low + high) // 2
        above = np.minimum(np.maximum(v - knots[k], lower), upper).sum() > total
        low, high = (k, high) if above else (low, k)
    left = knots[low] if low >= 0 else -np.inf
    right = knots[high] if high < knots.size else np.inf
    at_upper, at_lower = leaves_upper >= right, meets_lower <= left
    moving = ~(at_upper | at_lower)
    projection: FloatArray = np.where(at_upper, upper, lower)
    if moving.any():
        fixed_sum = upper[at_upper].sum() + lower[at_lower].sum()
        shift = (v[moving].sum() + fixed_sum - total) / moving.sum()
        projection = np.clip(v - shift, lower, upper)
    for _ in range(_MENDS):
        if is_feasible(projection, lower, upper, total):
            break
        # v is so far beyond the box that v - shift rounds. Those that move make up for it, then
        # the nearest to the root.
        root = left if np.isfinite(left) else right
        nearest = np.argsort(np.where(moving, -1.0, abs(v - root)), kind="stable")
        add_to_sum(projection, lower, upper, total - float(projection.sum()), nearest)
    return projection


def add_to_sum(
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    missing: float,
    order: NDArray[np.intp],
) -> None:
    """Add to the sum of a point of a box, in place, as far as there is room.

    Parameters
    ----------
    beta, lower, upper : ndarray of shape (n,)
    missing : float
        What to add to the sum.
    order : ndarray of int of shape (n,)
        Which variables to change first.
    """
    room = (upper - beta if missing > 0.0 else beta - lower)[order]
    room = np.minimum(room, abs(missing))  # which may be infinite
    before = np.cumsum(room) - room
    beta[order] += np.sign(missing) * np.clip(abs(missing) - before, 0.0, room)
    np.clip(beta, lower, upper, out=beta)


@jit()
def is_feasible(v: FloatArray, lower: FloatArray, upper: FloatArray, total: float) -> bool:
    """Return whether a point lies in the box, and in the plane up to rounding."""
    error, lost, size = -total, 0.0, 0.0
    for i in range(v.size):
        if not lower[i] <= v[i] <= upper[i]:
            return False
        # Kahan's sum: rounding does not grow with the number of points.
        term = v[i] - lost
        moved = error + term
        lost = (moved - error) - term
        error = moved
        size += abs(v[i])
    return abs(error) <= 1e-14 * size
