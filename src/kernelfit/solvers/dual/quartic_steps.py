"""Pair, single and Newton steps for the quartic dual on one block of variables.

Problem (a block of the dual of :mod:`kernelfit.solvers.dual.quartic`, as a minimisation):

    1/2 b'K b + rate/4 q'(K o K)q - p'b + epsilon ||b||_1,   lower <= b <= upper,   (sum(b) fixed)

Symbols: ``q = b^2 / weight``, ``v = K b - p``, ``s = (K o K) q`` and ``c = rate b / weight``, so
that the gradient of the smooth part is ``g = v + c s``. Along any line the objective is a convex
polynomial of degree four, which is minimised exactly. The rest is as in
:mod:`kernelfit.solvers.dual.pair_steps`; the Hessian is ``K + 2 (c c' / rate) o K o K +
diag(rate s / weight)``.
"""

import numpy as np

from kernelfit.solvers.dual.pair_steps import (
    CHUNK,
    FAST,
    NEVER,
    curvature_floor,
    find_partner,
    fmax,
    offsets,
)
from kernelfit.solvers.result import FloatArray
from kernelfit.utils.jit import inner, jit

_MAX_ROOT_STEPS = 60


@jit()
def minimise_quartic(a1: float, a2: float, a3: float, a4: float, room: float) -> float:
    """Minimise the convex ``a1 t + a2 t^2 + a3 t^3 + a4 t^4`` over ``0 <= t <= room``.

    Newton's method on the derivative, kept inside an interval of changing sign by bisection.
    """
    if a1 >= 0.0:
        return 0.0
    if a1 + room * (2.0 * a2 + room * (3.0 * a3 + room * 4.0 * a4)) <= 0.0:
        return room
    low, high = 0.0, room
    t = -a1 / (2.0 * a2) if a2 > 0.0 else 0.5 * room
    for _ in range(_MAX_ROOT_STEPS):
        if not low < t < high:
            t = 0.5 * (low + high)
        slope = a1 + t * (2.0 * a2 + t * (3.0 * a3 + t * 4.0 * a4))
        if slope < 0.0:
            low = t
        else:
            high = t
        curvature = 2.0 * a2 + t * (6.0 * a3 + t * 12.0 * a4)
        step = slope / curvature if curvature > 0.0 else 0.0
        t -= step
        if abs(step) <= 1e-15 * abs(t) or high - low <= 1e-15 * high:
            break
    return min(max(t, low), high)


@inner()
def hessian_diagonal(
    diagonal: FloatArray, s: FloatArray, b: FloatArray, weight: FloatArray, rate: float
) -> FloatArray:
    """Return the diagonal of the Hessian."""
    out = np.empty(b.size)
    for k in range(b.size):
        c = b[k] / weight[k]
        out[k] = diagonal[k] + rate * s[k] / weight[k] + 2.0 * rate * (c * diagonal[k]) ** 2
    return out


@inner(fastmath=FAST)
def _move_and_find_up(
    g: FloatArray,
    v: FloatArray,
    s: FloatArray,
    c: FloatArray,
    rise: FloatArray,
    row_i: FloatArray,
    row_j: FloatArray,
    step: float,
    dq_i: float,
    dq_j: float,
) -> int:
    """Update ``v``, ``s`` and ``g`` for a pair step and return the index of the largest ``up``."""
    best, best_chunk, n = -NEVER, 0, g.size
    for start in range(0, n, CHUNK):
        stop = start + CHUNK if start + CHUNK < n else n
        chunk_best = -NEVER
        for place in range(start, stop):
            k = np.uint64(place)
            a, b = row_i[k], row_j[k]
            linear = v[k] + step * (a - b)
            v[k] = linear
            square = s[k] + (dq_i * a * a + dq_j * b * b)
            s[k] = square
            value = linear + c[k] * square
            g[k] = value
            chunk_best = fmax(chunk_best, -value - rise[k])
        if chunk_best > best:
            best, best_chunk = chunk_best, start
    for place in range(best_chunk, n):
        if -g[place] - rise[place] >= best:
            return place
    return best_chunk


@jit()
def quartic_pair_steps(
    K: FloatArray,
    diagonal: FloatArray,
    v: FloatArray,
    s: FloatArray,
    b: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    weight: FloatArray,
    rate: float,
    epsilon: float,
    stop: float,
    max_steps: int,
) -> float:
    """Take pair steps in place until the largest violation is at most ``stop``.

    The partner is chosen by the curvature at the start, which the ridge changes little.

    Returns
    -------
    violation : float
        ``max up - min down`` when it stopped, at least 0.
    """
    n = b.size
    rise, fall, gain = np.empty(n), np.empty(n), np.empty(n)
    c, g = np.empty(n), np.empty(n)
    for k in range(n):
        rise[k], fall[k] = offsets(b[k], lower[k], upper[k], epsilon)
        c[k] = rate * b[k] / weight[k]
    hessian = hessian_diagonal(diagonal, s, b, weight, rate)
    floor = curvature_floor(hessian)
    steps = 0
    i = _move_and_find_up(g, v, s, c, rise, K[0], K[0], 0.0, 0.0, 0.0)
    while True:
        up = -g[i] - rise[i]
        if up < -0.5 * NEVER:  # nothing may move up
            return 0.0
        j, violation = find_partner(g, fall, K[i], hessian, up, hessian[i], floor, gain)
        if violation <= stop or steps >= max_steps:
            return float(violation)
        end_i = 0.0 if epsilon > 0.0 and b[i] < 0.0 else upper[i]
        end_j = 0.0 if epsilon > 0.0 and b[j] > 0.0 else lower[j]
        room_i, room_j = end_i - b[i], b[j] - end_j
        # With t the step, q_i changes by f1 t + f2 t^2 and q_j by h1 t + h2 t^2.
        f1, f2 = 2.0 * b[i] / weight[i], 1.0 / weight[i]
        h1, h2 = -2.0 * b[j] / weight[j], 1.0 / weight[j]
        k_ij = K[i, j]
        d_i, d_j, d_ij = diagonal[i] ** 2, diagonal[j] ** 2, k_ij * k_ij
        quarter = 0.25 * rate
        a2 = 0.5 * max(diagonal[i] + diagonal[j] - 2.0 * k_ij, 0.0) + quarter * (
            2.0 * (s[i] * f2 + s[j] * h2) + d_i * f1 * f1 + d_j * h1 * h1 + 2.0 * d_ij * f1 * h1
        )
        a3 = 2.0 * quarter * (d_i * f1 * f2 + d_j * h1 * h2 + d_ij * (f1 * h2 + f2 * h1))
        a4 = quarter * (d_i * f2 * f2 + d_j * h2 * h2 + 2.0 * d_ij * f2 * h2)
        step = minimise_quartic(
            -(up + g[j] + fall[j]), max(a2, 0.5 * floor), a3, a4, min(room_i, room_j)
        )
        if step >= room_i and room_i <= room_j:
            b[i] = end_i
            b[j] = max(b[j] - step, end_j)
        elif step >= room_j:
            b[j] = end_j
            b[i] = min(b[i] + step, end_i)
        else:
            b[i] += step
            b[j] -= step
        for k in (i, j):
            rise[k], fall[k] = offsets(b[k], lower[k], upper[k], epsilon)
            c[k] = rate * b[k] / weight[k]
        dq_i, dq_j = step * (f1 + f2 * step), step * (h1 + h2 * step)
        i = _move_and_find_up(g, v, s, c, rise, K[i], K[j], step, dq_i, dq_j)
        steps += 1


@jit()
def quartic_single_steps(
    K: FloatArray,
    diagonal: FloatArray,
    v: FloatArray,
    s: FloatArray,
    b: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    weight: FloatArray,
    rate: float,
    epsilon: float,
    stop: float,
    max_steps: int,
) -> float:
    """Take coordinate steps in place: :func:`quartic_pair_steps` without the sum constraint.

    Returns
    -------
    violation : float
        ``max(max up, -min down)`` when it stopped, at least 0.
    """
    n = b.size
    hessian = hessian_diagonal(diagonal, s, b, weight, rate)
    floor = curvature_floor(hessian)
    steps = 0
    while True:
        best, i, violation, rate_i = 0.0, 0, 0.0, 0.0
        for k in range(n):
            g = v[k] + rate * b[k] / weight[k] * s[k]
            rise, fall = offsets(b[k], lower[k], upper[k], epsilon)
            up, down = -g - rise, -g - fall
            gain_rate = max(up, -down)
            if gain_rate > 0.0:
                violation = max(violation, gain_rate)
                value = gain_rate * gain_rate / max(hessian[k], floor)
                if value > best:
                    best, i, rate_i = value, k, up if up > 0.0 else down
        if violation <= stop or steps >= max_steps:
            return violation
        sign = 1.0 if rate_i > 0.0 else -1.0
        before = b[i]
        if sign > 0.0:
            end = 0.0 if epsilon > 0.0 and before < 0.0 else upper[i]
        else:
            end = 0.0 if epsilon > 0.0 and before > 0.0 else lower[i]
        f1, f2 = 2.0 * sign * before / weight[i], 1.0 / weight[i]
        d_i, quarter = diagonal[i] ** 2, 0.25 * rate
        a2 = 0.5 * diagonal[i] + quarter * (2.0 * s[i] * f2 + d_i * f1 * f1)
        a3, a4 = 2.0 * quarter * d_i * f1 * f2, quarter * d_i * f2 * f2
        room = sign * (end - before)
        step = minimise_quartic(-abs(rate_i), max(a2, 0.5 * floor), a3, a4, room)
        b[i] = end if step >= room else before + sign * step
        dq = (b[i] * b[i] - before * before) / weight[i]
        change = b[i] - before
        row = K[i]
        for k in range(n):
            v[k] += change * row[k]
            s[k] += dq * row[k] * row[k]
        steps += 1


@jit(fastmath={"reassoc", "nsz", "contract"})
def quartic_hessian(
    K: FloatArray, s: FloatArray, b: FloatArray, weight: FloatArray, rate: float
) -> FloatArray:
    """Return the Hessian on the block."""
    n = b.size
    out = np.empty((n, n))
    for i in range(n):
        row, target = K[i], out[i]
        factor = 2.0 * rate * b[i] / weight[i]
        for j in range(n):
            target[j] = row[j] * (1.0 + factor * (b[j] / weight[j]) * row[j])
        target[i] += rate * s[i] / weight[i]
    return out


@jit(fastmath={"reassoc", "nsz", "contract"})
def move_along(
    K: FloatArray,
    v: FloatArray,
    s: FloatArray,
    b: FloatArray,
    target: FloatArray,
    weight: FloatArray,
    rate: float,
    epsilon: float,
) -> float:
    """Go to the minimum on the segment from ``b`` to ``target``, in place; return the fraction.

    No variable may change its sign on the way.
    """
    n = b.size
    linear, first, second = np.zeros(n), np.zeros(n), np.zeros(n)  # K d, (K o K) q', (K o K) q''/2
    a1 = 0.0
    for i in range(n):
        d = target[i] - b[i]
        if d != 0.0:
            q1, q2 = 2.0 * b[i] * d / weight[i], d * d / weight[i]
            a1 += d * (v[i] + rate * b[i] / weight[i] * s[i])
            a1 += epsilon * (abs(target[i]) - abs(b[i]))
            row = K[i]
            for k in range(n):
                square = row[k] * row[k]
                linear[k] += d * row[k]
                first[k] += q1 * square
                second[k] += q2 * square
    a2, a3, a4 = 0.0, 0.0, 0.0
    for i in range(n):
        d = target[i] - b[i]
        q1, q2 = 2.0 * b[i] * d / weight[i], d * d / weight[i]
        a2 += 0.5 * d * linear[i] + rate * (0.5 * s[i] * q2 + 0.25 * q1 * first[i])
        a3 += 0.5 * rate * q1 * second[i]
        a4 += 0.25 * rate * q2 * second[i]
    length = minimise_quartic(a1, a2, a3, a4, 1.0)
    for i in range(n):
        b[i] = target[i] if length == 1.0 else b[i] + length * (target[i] - b[i])
        v[i] += length * linear[i]
        s[i] += length * (first[i] + length * second[i])
    return float(length)
