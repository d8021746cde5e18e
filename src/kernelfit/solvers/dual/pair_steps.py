"""Sequential minimal optimisation on one block of variables.

Problem (a block of the dual, written as a minimisation):

    1/2 beta'K beta - p'beta + epsilon ||beta||_1,   lower <= beta <= upper,   (sum(beta) fixed)

Symbols: ``g`` is the gradient of the smooth part. Moving ``beta_i`` up gains at the rate
``up_i = -g_i - rise_i``, moving it down at the rate ``-down_i`` with ``down_i = -g_i - fall_i``,
where ``rise`` and ``fall`` hold the one-sided derivatives of ``epsilon |beta_i|``, and plus or
minus ``NEVER`` where the bound forbids the move. A point is optimal when ``max up <= min down``
(with the sum fixed), or ``max up <= 0 <= min down`` (without). Offsets instead of branches keep the
scans vectorised, and make classification (epsilon = 0) and regression one code.
"""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.extending import intrinsic

from kernelfit.solvers.result import FloatArray
from kernelfit.utils.jit import inner, jit

NEVER = 1e300
# Scans run chunk by chunk: the maximum of a chunk is a vector reduction, its position is sought
# in the best chunk only. Their indices have no sign: with one, numba allows for negative indices,
# which prevents vectors.
CHUNK = 64
# Curvatures are kept above this fraction of the largest diagonal entry.
_MIN_CURVATURE = 1e-12
FAST = {"reassoc", "nsz", "nnan", "contract", "arcp"}


def _fmax_intrinsic(typingctx: Any, a: Any, b: Any) -> Any:
    """Maximum without a case for nan: LLVM vectorises a reduction by it, but not one by ``max``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = args[0].type
        maxnum = builder.module.declare_intrinsic(
            "llvm.maxnum", [double], ir.FunctionType(double, [double, double])
        )
        return builder.call(maxnum, args, fastmath=("nnan", "nsz"))

    return types.float64(types.float64, types.float64), codegen


fmax: Any = max if getattr(config, "DISABLE_JIT", 0) else intrinsic(_fmax_intrinsic)


@inner()
def offsets(beta: float, lower: float, upper: float, epsilon: float) -> tuple[float, float]:
    """Return ``rise`` and ``fall`` of the module's head for one variable."""
    rise = NEVER
    fall = -NEVER
    if beta < upper:
        rise = epsilon if beta >= 0.0 else -epsilon
    if beta > lower:
        fall = epsilon if beta > 0.0 else -epsilon
    return rise, fall


@jit()
def one_sided_rates(
    g: FloatArray, beta: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float
) -> tuple[FloatArray, FloatArray, float, float, float]:
    """Return ``up`` and ``down`` of the module's head, of magnitude 1e300 where a bound forbids.

    With them the largest ``up``, the smallest ``down`` and the largest ``|g|``.
    """
    up = np.empty(g.size)
    down = np.empty(g.size)
    highest, lowest, size = -np.inf, np.inf, 0.0
    for i in range(g.size):
        rise, fall = offsets(beta[i], lower[i], upper[i], epsilon)
        up[i] = -g[i] - rise
        down[i] = -g[i] - fall
        highest, lowest = max(highest, up[i]), min(lowest, down[i])
        size = max(size, abs(g[i]))
    return up, down, highest, lowest, size


@inner(fastmath=FAST)
def _move_and_find_up(
    g: FloatArray, rise: FloatArray, row_i: FloatArray, row_j: FloatArray, step: float
) -> int:
    """Add ``step * (row_i - row_j)`` to the gradient and return the index of the largest ``up``."""
    best, best_chunk, n = -NEVER, 0, g.size
    for start in range(0, n, CHUNK):
        stop = start + CHUNK if start + CHUNK < n else n
        chunk_best = -NEVER
        for place in range(start, stop):
            k = np.uint64(place)  # an index without a sign: see CHUNK
            value = g[k] + step * (row_i[k] - row_j[k])
            g[k] = value
            chunk_best = fmax(chunk_best, -value - rise[k])
        if chunk_best > best:
            best, best_chunk = chunk_best, start
    for place in range(best_chunk, n):
        if -g[place] - rise[place] >= best:
            return place
    return best_chunk


@inner(fastmath=FAST)
def find_partner(
    g: FloatArray,
    fall: FloatArray,
    row: FloatArray,
    diagonal: FloatArray,
    up: float,
    diagonal_i: float,
    floor: float,
    gain: FloatArray,
) -> tuple[int, float]:
    """Return the partner of largest second-order gain, and the largest violation."""
    best, best_chunk, n, violation = 0.0, 0, g.size, 0.0
    for start in range(0, n, CHUNK):
        stop = start + CHUNK if start + CHUNK < n else n
        chunk_best = 0.0
        for place in range(start, stop):
            k = np.uint64(place)
            difference = fmax(up + g[k] + fall[k], 0.0)
            violation = fmax(violation, difference)
            value = difference * difference / fmax(diagonal_i + diagonal[k] - 2.0 * row[k], floor)
            gain[k] = value
            chunk_best = fmax(chunk_best, value)
        if chunk_best > best:
            best, best_chunk = chunk_best, start
    for place in range(best_chunk, n):
        if gain[place] >= best:
            return place, violation
    return best_chunk, violation


@inner()
def curvature_floor(diagonal: FloatArray) -> float:
    """Return the least curvature to reckon with."""
    floor = 1e-280
    for i in range(diagonal.size):
        floor = max(floor, _MIN_CURVATURE * abs(diagonal[i]))
    return floor


@jit()
def pair_steps(
    K: FloatArray,
    diagonal: FloatArray,
    g: FloatArray,
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    stop: float,
    max_steps: int,
) -> tuple[int, float, float]:
    """Take pair steps in place until the largest violation is at most ``stop``.

    The pair is that of the second-order rule: ``i`` of the largest ``up``, then ``j`` of the
    largest decrease along ``e_i - e_j``. A step ends at the minimum along the pair, at a bound, or
    at the kink ``beta = 0`` of the l1 term, whichever comes first.

    Returns
    -------
    steps : int
    violation : float
        ``max up - min down`` when it stopped, at least 0.
    curvature : float
        The lowest curvature met, relative to the diagonal entries, or 0: negative beyond
        rounding only where K is indefinite.
    """
    n = g.size
    rise, fall, gain = np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        rise[k], fall[k] = offsets(beta[k], lower[k], upper[k], epsilon)
    floor = curvature_floor(diagonal)
    kink = epsilon > 0.0
    lowest = 0.0
    steps = 0
    i, j, step = 0, 0, 0.0
    while True:
        i = _move_and_find_up(g, rise, K[i], K[j], step)
        up = -g[i] - rise[i]  # so low, if nothing may move up, that there is no violation
        j, violation = find_partner(g, fall, K[i], diagonal, up, diagonal[i], floor, gain)
        if violation <= stop or steps >= max_steps:
            return steps, violation, lowest
        curvature = diagonal[i] + diagonal[j] - 2.0 * K[i, j]
        size = abs(diagonal[i]) + abs(diagonal[j])
        lowest = min(lowest, curvature / max(size, 1e-300))
        step = (up + g[j] + fall[j]) / max(curvature, floor)
        b_i, b_j = beta[i], beta[j]
        end_i = 0.0 if kink & (b_i < 0.0) else upper[i]
        end_j = 0.0 if kink & (b_j > 0.0) else lower[j]
        room_i, room_j = end_i - b_i, b_j - end_j
        if (step >= room_i) & (room_i <= room_j):
            step = room_i
            b_i, b_j = end_i, max(b_j - step, end_j)
        elif step >= room_j:
            step = room_j
            b_i, b_j = min(b_i + step, end_i), end_j
        else:
            b_i, b_j = b_i + step, b_j - step
        beta[i], beta[j] = b_i, b_j
        rise[i], fall[i] = offsets(b_i, lower[i], upper[i], epsilon)
        rise[j], fall[j] = offsets(b_j, lower[j], upper[j], epsilon)
        steps += 1


@jit()
def single_steps(
    K: FloatArray,
    diagonal: FloatArray,
    g: FloatArray,
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    stop: float,
    max_steps: int,
) -> tuple[int, float, float]:
    """Take coordinate steps in place: :func:`pair_steps` without the sum constraint.

    Returns
    -------
    steps, violation, curvature
        As for :func:`pair_steps`, with the violation ``max(max up, -min down)``.
    """
    n = g.size
    floor = curvature_floor(diagonal)
    lowest = 0.0
    steps = 0
    while True:
        best, i, violation = 0.0, 0, 0.0
        for k in range(n):
            rise, fall = offsets(beta[k], lower[k], upper[k], epsilon)
            rate = max(-g[k] - rise, g[k] + fall)
            if rate > 0.0:
                violation = max(violation, rate)
                value = rate * rate / max(diagonal[k], floor)
                if value > best:
                    best, i = value, k
        if violation <= stop or steps >= max_steps:
            return steps, violation, lowest
        if diagonal[i] < 0.0:
            lowest = -1.0
        before = beta[i]
        rise, fall = offsets(before, lower[i], upper[i], epsilon)
        up, down = -g[i] - rise, -g[i] - fall
        if up > 0.0:
            end = 0.0 if epsilon > 0.0 and before < 0.0 else upper[i]
            beta[i] = min(before + up / max(diagonal[i], floor), end)
        else:
            end = 0.0 if epsilon > 0.0 and before > 0.0 else lower[i]
            beta[i] = max(before + down / max(diagonal[i], floor), end)
        change = beta[i] - before
        row = K[i]
        for k in range(n):
            g[k] += change * row[k]
        steps += 1
