"""Monotone spectral projected gradient for a smooth function on a convex set."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernelfit.clustering.result import DescentResult

Array = NDArray[np.float64]

_SUFFICIENT_DECREASE = 1e-4
_MAX_HALVINGS = 40


def projected_gradient(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    project: Callable[[Array], Array],
    x: Array,
    *,
    counts: Array | float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> DescentResult:
    """Minimise a smooth function, convex or not, over a convex set.

    The step along the projected direction ``project(x - t g) - x`` has the Barzilai-Borwein length
    t and is halved until the function decreases sufficiently, so no iterate is worse than the one
    before it, and the result is never worse than the start.

    Parameters
    ----------
    value_and_gradient : callable
        ``value_and_gradient(x) -> (value, gradient)``.
    project : callable
        Projection onto the set, the closest point in the norm ``sum(counts * x**2)``.
    x : ndarray of shape (n,)
        A feasible start.
    counts : ndarray of shape (n,) or float, default=1.0
        For how many equal variables each one stands: the steps are those of the problem in which
        all of them are written out.
    tol : float, default=1e-6
        Stop when the largest entry of ``project(x - t g) - x``, t chosen to make the largest
        entry of ``t g`` one, is at most `tol`.
    max_iter : int, default=100
        Bound on the number of steps.

    Returns
    -------
    DescentResult
        ``converged`` also when rounding allows no further decrease.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.clustering.projected_gradient import projected_gradient
    >>> centre = np.array([2.0, 0.5])
    >>> def distance(x):
    ...     return float((x - centre) @ (x - centre)), 2 * (x - centre)
    >>> projected_gradient(distance, lambda x: x.clip(0, 1), np.zeros(2)).x
    array([1. , 0.5])
    """
    value, g = value_and_gradient(x)
    history = [value]
    step = 0.0
    converged = False
    n_iter = 0
    while n_iter < max_iter:
        each = g / counts  # of every single one of the equal variables
        unit = 1.0 / max(float(np.abs(each).max()), np.finfo(float).tiny)
        if float(np.abs(project(x - unit * each) - x).max()) <= tol:
            converged = True
            break
        target = project(x - (step if step > 0 else unit) * each)
        direction = target - x
        slope = float(g @ direction)
        t = 1.0
        for _ in range(_MAX_HALVINGS):
            new_x = target if t == 1.0 else x + t * direction  # a sum may round past a bound
            new_value, new_g = value_and_gradient(new_x)
            if new_value <= value + _SUFFICIENT_DECREASE * t * slope:
                break
            t *= 0.5
        else:
            converged = True  # the slope is lost in the rounding of the values
            break
        n_iter += 1
        moved, bent = new_x - x, new_g - g
        curvature = float(moved @ bent)
        step = float(moved @ (counts * moved)) / curvature if curvature > 0 else 10.0 * step
        x, value, g = new_x, new_value, new_g
        history.append(value)
    return DescentResult(x, value, n_iter, converged, tuple(history))


def project_mean(v: Array, counts: Array, lower: float, upper: float, mean: float) -> Array:
    """Project onto the points of a cube that have a given mean, each counted several times.

    The closest point in the norm ``sum(counts * x**2)`` is ``clip(v - shift, lower, upper)``. Its
    mean falls with the shift and is linear between the places where an entry reaches a bound;
    these are sorted and the shift is found on its linear piece: exact, in O(n log n).

    Parameters
    ----------
    v : ndarray of shape (n,)
        The point to project.
    counts : ndarray of shape (n,)
        Positive.
    lower, upper : float
        Bounds on every entry.
    mean : float
        Between the bounds.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.clustering.projected_gradient import project_mean
    >>> project_mean(np.array([3.0, 0.0]), np.ones(2), 0.0, 1.5, 1.0)
    array([1.5, 0.5])
    """
    knots = np.concatenate((v - upper, v - lower))  # an entry leaves upper, meets lower
    order = np.argsort(knots)
    knots = knots[order]
    slopes = np.cumsum(np.concatenate((-counts, counts))[order])
    total = counts.sum()
    falls = np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(knots))))
    k = int(np.searchsorted(-falls, (upper - mean) * total))  # first knot with so low a mean
    if k == 0:
        return np.full_like(v, upper)
    if k == knots.size:
        return np.full_like(v, lower)
    middle = 0.5 * (knots[k - 1] + knots[k])
    high, low = v - upper >= middle, v - lower <= middle
    moving = ~(high | low)
    if not moving.any():
        return np.asarray(np.clip(v - middle, lower, upper))
    bound = upper * counts[high].sum() + lower * counts[low].sum()
    mass = counts[moving]
    shift = (mass @ v[moving] + bound - mean * total) / mass.sum()
    return np.asarray(np.clip(v - shift, lower, upper))
