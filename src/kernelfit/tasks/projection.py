"""Euclidean projections onto the feasible sets of the dual problems."""

import numpy as np

from kernelfit.tasks.certificate import FloatArray


def project_box_plane(
    v: FloatArray, lower: FloatArray, upper: FloatArray, total: float = 0.0
) -> FloatArray:
    """Project onto the part of a box that lies in the plane of a given sum.

    The projection is ``clip(v - shift, lower, upper)``, where ``shift`` is the root of the
    non-increasing, piecewise linear function ``sum(clip(v - shift, lower, upper)) - total``. Its
    breakpoints are sorted and the root is found on its linear piece: exact, in O(n log n).

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
    lower, upper = _bounded(v, lower, upper, total)
    leaves_upper, meets_lower = v - upper, v - lower
    breakpoints = np.concatenate((leaves_upper, meets_lower))
    order = np.argsort(breakpoints)
    knots = breakpoints[order]
    # A coordinate moves (slope -1) between its two breakpoints.
    slopes = np.cumsum(np.where(order < v.size, -1.0, 1.0))
    values = upper.sum() + np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(knots))))
    k = int(np.searchsorted(-values, -total))  # first knot at which the sum is down to total
    if k == 0:
        return upper.copy()
    if k == knots.size:
        return lower.copy()
    middle = 0.5 * (knots[k - 1] + knots[k])
    moving = (leaves_upper < middle) & (middle < meets_lower)
    fixed_sum = upper[leaves_upper >= middle].sum() + lower[meets_lower <= middle].sum()
    shift = (v[moving].sum() + fixed_sum - total) / moving.sum() if moving.any() else middle
    projection: FloatArray = np.clip(v - shift, lower, upper)
    return projection


def _bounded(
    v: FloatArray, lower: FloatArray, upper: FloatArray, total: float
) -> tuple[FloatArray, FloatArray]:
    """Return a finite box that contains the projection.

    No coordinate moves farther than the sum has to change, the finite bounds included.
    """
    if np.isfinite(lower).all() and np.isfinite(upper).all():
        return lower, upper
    finite = [np.abs(bound[np.isfinite(bound)]).sum() for bound in (lower, upper)]
    reach = 2.0 * (float(np.abs(v).sum()) + abs(total) + sum(finite)) + 1.0
    return np.maximum(lower, -reach), np.minimum(upper, reach)
