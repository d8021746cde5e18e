"""The duality gap of the SVM problem, and the intercept that makes it smallest.

Symbols: ``g = K beta - p`` is the gradient of the smooth part of the (minimised) dual,
``r = -g - b`` the residual ``p - K beta - b`` for an intercept ``b``. The primal loss of a point is
``max over t in [lower, upper] of t r - epsilon |t|``, so that

    gap = sum_i  loss_i(r_i) - (beta_i r_i - epsilon |beta_i|)        when sum(beta) = 0,

a sum of terms that are each >= 0, written below so that nothing cancels, however small the gap.
"""

import numpy as np
from numba import njit

from kernelfit.solvers.result import FloatArray

_ROUNDOFF = 4.0 * float(np.finfo(np.float64).eps)


@njit(cache=True)
def optimal_intercept(g: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float) -> float:
    """Minimise the primal objective over the intercept.

    The objective is convex and piecewise linear in ``b``: it falls at the rate ``sum(upper)`` for
    very small ``b`` and every breakpoint adds its weight to the slope. Where a whole interval is
    optimal its midpoint is returned.

    Returns
    -------
    intercept : float
    """
    n = g.size
    points = np.empty(2 * n)
    weights = np.empty(2 * n)
    count = 0
    fall = 0.0
    for i in range(n):
        if upper[i] > 0.0:
            points[count] = -g[i] - epsilon
            weights[count] = upper[i]
            fall += upper[i]
            count += 1
        if lower[i] < 0.0:
            points[count] = -g[i] + epsilon
            weights[count] = -lower[i]
            count += 1
    order = np.argsort(points[:count])
    tie = _ROUNDOFF * count  # sums of weights that differ by less than this fraction are equal
    slope = 0.0
    intercept = 0.0
    for k in range(count):
        intercept = points[order[k]]
        slope += weights[order[k]]
        if slope >= fall * (1.0 - tie):
            if slope <= fall * (1.0 + tie) and k + 1 < count:
                intercept = 0.5 * (intercept + points[order[k + 1]])
            break
    return intercept


@njit(cache=True, nogil=True)
def duality_gap(
    g: FloatArray,
    p: FloatArray,
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    fit_intercept: bool,
) -> tuple[float, float, float, float]:
    """Return the duality gap, the dual objective, the optimal intercept and the gap's resolution.

    A gap below its resolution is the rounding error of the residuals.

    Returns
    -------
    gap, objective, intercept, resolution : float
    """
    intercept = optimal_intercept(g, lower, upper, epsilon) if fit_intercept else 0.0
    gap = 0.0
    objective = 0.0
    scale = 0.0
    for i in range(g.size):
        r, b, size = -g[i] - intercept, beta[i], abs(beta[i])
        if r > epsilon:
            gap += (upper[i] - b) * (r - epsilon) + epsilon * (size - b)
        elif r < -epsilon:
            gap += (b - lower[i]) * (-r - epsilon) + epsilon * (size + b)
        else:
            gap += epsilon * size - b * r
        bound = max(upper[i], -lower[i])
        scale += bound * (abs(p[i]) + abs(g[i]) + abs(intercept) + epsilon)
        # p'beta - 1/2 beta'K beta with K beta = g + p
        objective += 0.5 * b * (p[i] - g[i]) - epsilon * size
    return gap, objective, intercept, _ROUNDOFF * scale
