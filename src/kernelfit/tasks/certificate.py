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

from kernelfit.utils.jit import inner, jit

FloatArray = npt.NDArray[np.float64]

_ROUNDOFF = 4.0 * float(np.finfo(np.float64).eps)
_MAX_ROOT_STEPS = 200


@inner()
def optimal_intercept(
    g: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float, total: float
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
    total : float
        The required sum of beta.

    Returns
    -------
    intercept : float
    """
    points, weights = np.empty(2 * g.size), np.empty(2 * g.size)
    count = 0
    fall = -total
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
    rise: float = _first_rise(points[:count], weights[:count], fall)
    return rise


@inner()
def _first_rise(points: FloatArray, weights: FloatArray, fall: float) -> float:
    """Return where the slope, the weights of all points up to there, makes up for the fall.

    Quickselect: only the side of a pivot that has the answer is looked at again. Pivots are drawn,
    as there is an order of the points for which those at fixed places are the worst. Both arrays
    are reordered.
    """
    first, last = 0, points.size  # the answer is in between
    tie = _ROUNDOFF * points.size  # sums of weights that differ by less than this are equal
    before = 0.0  # the weights of all points below
    above = np.nan  # the least point above, if there is one
    answer = 0.0
    draw = 1
    while first < last:
        size = last - first
        draw = (draw * 16807) % 2147483647  # of Lehmer's generator
        low, mid = points[first + draw % size], points[first + size // 2]
        draw = (draw * 16807) % 2147483647
        high = points[first + draw % size]
        pivot = max(min(low, mid), min(max(low, mid), high))
        equal, k, greater = first, first, last
        smaller_weight, equal_weight = 0.0, 0.0
        while k < greater:  # three parts: below the pivot, equal to it, above
            point, weight = points[k], weights[k]
            if point < pivot:
                points[k], weights[k] = points[equal], weights[equal]
                points[equal], weights[equal] = point, weight
                smaller_weight += weight
                equal += 1
                k += 1
            elif point > pivot:
                greater -= 1
                points[k], weights[k] = points[greater], weights[greater]
                points[greater], weights[greater] = point, weight
            else:
                equal_weight += weight
                k += 1
        answer = pivot
        if equal > first and before + smaller_weight >= fall * (1.0 - tie):
            last, above = equal, pivot
            continue
        before += smaller_weight + equal_weight
        if before >= fall * (1.0 - tie):
            for place in range(greater, last):
                if not points[place] >= above:
                    above = points[place]
            if before <= fall * (1.0 + tie) and above > pivot:
                answer = 0.5 * (pivot + above)
            break
        first = greater
    return answer


@jit()
def certify(
    g: FloatArray,
    p: FloatArray,
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    total: float,
) -> tuple[float, float, float, float]:
    """Return the certificate of a task without ridge.

    Parameters
    ----------
    g : ndarray of shape (n,)
        The gradient ``K beta - p``.
    p, beta, lower, upper : ndarray of shape (n,)
    epsilon : float
    total : float
        nan without an intercept.

    Returns
    -------
    gap, objective, intercept, resolution : float
        A gap below its resolution is the rounding error of the residuals.
    """
    intercept = 0.0
    if not np.isnan(total):
        intercept = optimal_intercept(g, lower, upper, epsilon, total)
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
    return float(gap), float(objective), float(intercept), _ROUNDOFF * float(scale)


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
    """Return the duality gap, the dual objective and the gap's resolution, with a ridge.

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
