"""The Euclidean projection onto a box cut by a plane, by bisection, and its optimality conditions.

The projection of v onto ``{lower <= x <= upper, sum(x) = total}`` is
``x = clip(v - t, lower, upper)`` for a multiplier t of the plane, and ``sum(clip(v - t))`` does not
increase with t.
"""

import math

import numpy as np


def project_box_plane(v, lower, upper, total=0.0):
    """Bisect the multiplier until its two ends are neighbouring floats."""
    # At the left end every coordinate is at its upper bound, at the right end at its lower bound.
    left, right = float(np.min(v - upper)), float(np.max(v - lower))
    while True:
        t = left + (right - left) / 2
        if t in (left, right):
            return np.clip(v - t, lower, upper)
        if math.fsum(np.clip(v - t, lower, upper)) > total:
            left = t
        else:
            right = t


def project_anywhere(v, lower, upper, total):
    """The same for a box that may be unbounded: the range of the multiplier is doubled first."""
    left, right = -1.0, 1.0
    while math.fsum(np.clip(v - left, lower, upper)) < total and math.isfinite(left):
        left *= 2
    while math.fsum(np.clip(v - right, lower, upper)) > total and math.isfinite(right):
        right *= 2
    reach = 2 * (max(-left, right) + np.max(abs(v)))
    return project_box_plane(v, np.maximum(lower, -reach), np.minimum(upper, reach), total)


def projection_kkt_violation(x, v, lower, upper):
    """How far a feasible x is from admitting one multiplier t for all coordinates.

    A coordinate that could grow needs ``v_i - x_i <= t``, one that could shrink ``v_i - x_i >= t``.
    """
    t_at_least = [v[i] - x[i] for i in range(len(v)) if x[i] < upper[i]]
    t_at_most = [v[i] - x[i] for i in range(len(v)) if x[i] > lower[i]]
    if not t_at_least or not t_at_most:
        return 0.0
    return max(0.0, max(t_at_least) - min(t_at_most))
