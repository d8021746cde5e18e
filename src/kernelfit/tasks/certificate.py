"""The duality gap of a task, and the intercept that makes it smallest.

Symbols: ``g = K beta - p`` is the gradient of the smooth part of the (minimised) dual without its
ridge, ``t = -g - b`` the residual ``p - K beta - b`` for an intercept ``b``. The primal loss of a
point is the conjugate of its term in the dual,

    loss(t) = max over s in [lower, upper] of  s t - epsilon |s| - 1/2 ridge s^2,

so that, when sum(beta) is the total that the task asks for,

    gap = sum_i  loss_i(t_i) - (beta_i t_i - epsilon |beta_i| - 1/2 ridge_i beta_i^2),

a sum of terms that are each >= 0, written below so that nothing cancels, however small the gap.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from kernelfit.utils.jit import jit

FloatArray = npt.NDArray[np.float64]

_ROUNDOFF = 4.0 * float(np.finfo(np.float64).eps)
_MAX_ROOT_STEPS = 200


def optimal_intercept(
    g: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float, total: float = 0.0
) -> float:
    """Minimise the primal objective over the intercept, for a task without ridge.

    The objective is convex and piecewise linear in ``b``: it falls at the rate ``sum(upper) -
    total`` for very small ``b``, and every breakpoint adds its weight to the slope. Where a whole
    interval is optimal its midpoint is returned.

    Parameters
    ----------
    g : ndarray of shape (n,)
        The gradient ``K beta - p``.
    lower, upper : ndarray of shape (n,)
        The box.
    epsilon : float
        Half the width of the tube.
    total : float, default=0.0
        The required sum of beta.

    Returns
    -------
    intercept : float
    """
    points, weights = np.empty(2 * g.size), np.empty(2 * g.size)
    count, fall = _breakpoints(g, lower, upper, epsilon, points, weights)
    order = points[:count].argsort()
    return float(_first_rise(points, weights, order, fall - total))


@jit()
def _breakpoints(
    g: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    points: FloatArray,
    weights: FloatArray,
) -> tuple[int, float]:
    """Write where the slope in the intercept rises, and by how much.

    Returns the number of these places, and sum(upper).
    """
    count = 0
    fall = 0.0
    for i in range(g.size):
        if upper[i] > 0.0:
            points[count] = -g[i] - epsilon
            weights[count] = upper[i]
            fall += upper[i]
            count += 1
        if lower[i] < 0.0:
            points[count] = -g[i] + epsilon
            weights[count] = -lower[i]
            count += 1
    return count, fall


@jit()
def _first_rise(
    points: FloatArray, weights: FloatArray, order: npt.NDArray[np.intp], fall: float
) -> float:
    """Return the place where the slope, the sum of the weights so far, makes up for the fall."""
    count = order.size
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


@jit()
def duality_gap(
    g: FloatArray,
    p: FloatArray,
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    intercept: float,
) -> tuple[float, float, float]:
    """Return the duality gap, the dual objective and the gap's resolution, without ridge.

    A gap below its resolution is the rounding error of the residuals.

    Returns
    -------
    gap, objective, resolution : float
    """
    gap = 0.0
    objective = 0.0
    scale = 0.0
    for i in range(g.size):
        t, b, size = -g[i] - intercept, beta[i], abs(beta[i])
        if t > epsilon:
            gap += (upper[i] - b) * (t - epsilon) + epsilon * (size - b)
        elif t < -epsilon:
            gap += (b - lower[i]) * (-t - epsilon) + epsilon * (size + b)
        else:
            gap += epsilon * size - b * t
        bound = max(upper[i], -lower[i])
        scale += bound * (abs(p[i]) + abs(g[i]) + abs(intercept) + epsilon)
        # p'beta - 1/2 beta'K beta with K beta = g + p
        objective += 0.5 * b * (p[i] - g[i]) - epsilon * size
    return gap, objective, _ROUNDOFF * scale


def best_dual(t: FloatArray, task: Any) -> FloatArray:
    """Return the s that attains each point's loss at the residual t; see the module's head."""
    ridge = task.ridge
    excess = np.sign(t) * np.maximum(np.abs(t) - task.epsilon, 0.0)
    bound = np.where(excess > 0.0, task.upper, np.where(excess < 0.0, task.lower, 0.0))
    if ridge is None:
        return bound
    free = np.divide(excess, ridge, out=bound.copy(), where=ridge > 0.0)
    return np.asarray(np.clip(free, task.lower, task.upper))


def ridged_intercept(g: FloatArray, task: Any) -> float:
    """Minimise the primal objective over the intercept, for a task with a ridge.

    The sum of `best_dual` falls with the intercept and is piecewise linear: its root is found by
    Newton steps inside a bracket that shrinks.

    Parameters
    ----------
    g : ndarray of shape (n,)
    task : Task

    Returns
    -------
    intercept : float
    """

    def surplus(b: float) -> tuple[float, float]:
        t = -g - b
        s = best_dual(t, task)
        moving = (s > task.lower) & (s < task.upper) & (s != 0.0) & (task.ridge > 0.0)
        return float(s.sum()) - task.total, float(np.sum(1.0 / task.ridge[moving]))

    low, high = float((-g).min()) - task.epsilon, float((-g).max()) + task.epsilon
    width = max(high - low, 1.0)
    while surplus(low)[0] < 0.0 and np.isfinite(width):
        low, width = low - width, 2.0 * width
    while surplus(high)[0] > 0.0 and np.isfinite(width):
        high, width = high + width, 2.0 * width
    b = 0.5 * (low + high)
    for _ in range(_MAX_ROOT_STEPS):
        value, rate = surplus(b)
        low, high = (b, high) if value > 0.0 else (low, b)
        if value == 0.0 or high - low <= _ROUNDOFF * max(abs(low), abs(high)):
            break
        step = b + value / rate if rate > 0.0 else low
        b = step if low < step < high else 0.5 * (low + high)
    return float(b)


def ridged_gap(
    g: FloatArray, beta: FloatArray, task: Any, intercept: float
) -> tuple[float, float, float]:
    """Return what `duality_gap` does, for a task with a ridge.

    Parameters
    ----------
    g : ndarray of shape (n,)
        The gradient ``K beta - p``.
    beta : ndarray of shape (n,)
    task : Task
    intercept : float

    Returns
    -------
    gap, objective, resolution : float
    """
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite are refused
        t = -g - intercept
        s = best_dual(t, task)
        mean = 0.5 * (s + beta)
        terms = (s - beta) * (t - task.ridge * mean) - task.epsilon * (np.abs(s) - np.abs(beta))
        dual = 0.5 * beta @ (task.p - g - task.ridge * beta) - task.epsilon * np.abs(beta).sum()
        size = np.maximum(np.abs(s), np.abs(beta))
        scale = size @ (np.abs(task.p) + np.abs(g) + abs(intercept) + task.epsilon)
        gap = np.maximum(terms, 0.0).sum()
    return float(gap), float(dual), _ROUNDOFF * float(scale)
