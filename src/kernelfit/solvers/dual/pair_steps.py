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
from numba import config, njit, types
from numba.extending import intrinsic

from kernelfit.solvers.result import FloatArray

NEVER = 1e300
# Scans run chunk by chunk: the maximum of a chunk is a vector reduction, its position is sought
# in the best chunk only.
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


@njit(cache=True)
def rise_offset(beta: float, upper: float, epsilon: float) -> float:
    """Return ``rise`` of the module's head for one variable."""
    if beta >= upper:
        return NEVER
    return epsilon if beta >= 0.0 else -epsilon


@njit(cache=True)
def fall_offset(beta: float, lower: float, epsilon: float) -> float:
    """Return ``fall`` of the module's head for one variable."""
    if beta <= lower:
        return -NEVER
    return epsilon if beta > 0.0 else -epsilon


@njit(cache=True)
def one_sided_rates(
    g: FloatArray, beta: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    """Return ``up`` and ``down`` of the module's head, of magnitude 1e300 where a bound forbids."""
    up = np.empty(g.size)
    down = np.empty(g.size)
    for i in range(g.size):
        up[i] = -g[i] - rise_offset(beta[i], upper[i], epsilon)
        down[i] = -g[i] - fall_offset(beta[i], lower[i], epsilon)
    return up, down


@njit(cache=True, fastmath=FAST)
def _move_and_find_up(
    g: FloatArray, rise: FloatArray, row_i: FloatArray, row_j: FloatArray, step: float
) -> int:
    """Add ``step * (row_i - row_j)`` to the gradient and return the index of the largest ``up``."""
    best, best_chunk, n = -NEVER, 0, g.size
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        grad, offset = g[start:stop], rise[start:stop]
        a, b = row_i[start:stop], row_j[start:stop]
        chunk_best = -NEVER
        for k in range(stop - start):
            value = grad[k] + step * (a[k] - b[k])
            grad[k] = value
            chunk_best = fmax(chunk_best, -value - offset[k])
        if chunk_best > best:
            best, best_chunk = chunk_best, start
    for k in range(best_chunk, min(best_chunk + CHUNK, n)):
        if -g[k] - rise[k] >= best:
            return k
    return best_chunk


@njit(cache=True, fastmath=FAST)
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
        stop = min(start + CHUNK, n)
        grad, offset, gains = g[start:stop], fall[start:stop], gain[start:stop]
        k_i, diag = row[start:stop], diagonal[start:stop]
        chunk_best = 0.0
        for k in range(stop - start):
            difference = fmax(up + grad[k] + offset[k], 0.0)
            violation = fmax(violation, difference)
            value = difference * difference / fmax(diagonal_i + diag[k] - 2.0 * k_i[k], floor)
            gains[k] = value
            chunk_best = fmax(chunk_best, value)
        if chunk_best > best:
            best, best_chunk = chunk_best, start
    for k in range(best_chunk, min(best_chunk + CHUNK, n)):
        if gain[k] >= best:
            return k, violation
    return best_chunk, violation


@njit(cache=True)
def curvature_floor(diagonal: FloatArray) -> float:
    """Return the least curvature to reckon with."""
    largest = 0.0
    for i in range(diagonal.size):
        largest = max(largest, abs(diagonal[i]))
    return max(_MIN_CURVATURE * largest, 1e-280)


@njit(cache=True, nogil=True)
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
        rise[k] = rise_offset(beta[k], upper[k], epsilon)
        fall[k] = fall_offset(beta[k], lower[k], epsilon)
    floor = curvature_floor(diagonal)
    lowest = 0.0
    steps = 0
    i = _move_and_find_up(g, rise, K[0], K[0], 0.0)
    while True:
        up = -g[i] - rise[i]
        if up < -0.5 * NEVER:  # nothing may move up
            return steps, 0.0, lowest
        j, violation = find_partner(g, fall, K[i], diagonal, up, diagonal[i], floor, gain)
        if violation <= stop or steps >= max_steps:
            return steps, violation, lowest
        curvature = diagonal[i] + diagonal[j] - 2.0 * K[i, j]
        if curvature < 0.0:
            size = abs(diagonal[i]) + abs(diagonal[j])
            lowest = min(lowest, curvature / size if size > 0.0 else -1.0)
        step = (up + g[j] + fall[j]) / max(curvature, floor)
        end_i = 0.0 if epsilon > 0.0 and beta[i] < 0.0 else upper[i]
        end_j = 0.0 if epsilon > 0.0 and beta[j] > 0.0 else lower[j]
        room_i, room_j = end_i - beta[i], beta[j] - end_j
        if step >= room_i and room_i <= room_j:
            step = room_i
            beta[i] = end_i
            beta[j] = max(beta[j] - step, end_j)
        elif step >= room_j:
            step = room_j
            beta[j] = end_j
            beta[i] = min(beta[i] + step, end_i)
        else:
            beta[i] += step
            beta[j] -= step
        rise[i] = rise_offset(beta[i], upper[i], epsilon)
        fall[i] = fall_offset(beta[i], lower[i], epsilon)
        rise[j] = rise_offset(beta[j], upper[j], epsilon)
        fall[j] = fall_offset(beta[j], lower[j], epsilon)
        i = _move_and_find_up(g, rise, K[i], K[j], step)
        steps += 1


@njit(cache=True, nogil=True)
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
            up = -g[k] - rise_offset(beta[k], upper[k], epsilon)
            down = -g[k] - fall_offset(beta[k], lower[k], epsilon)
            rate = max(up, -down)
            if rate > 0.0:
                violation = max(violation, rate)
                value = rate * rate / max(diagonal[k], floor)
                if value > best:
                    best, i = value, k
        if violation <= stop or steps >= max_steps:
            return steps, violation, lowest
        if diagonal[i] < 0.0:
            lowest = -1.0
        up = -g[i] - rise_offset(beta[i], upper[i], epsilon)
        before = beta[i]
        if up > 0.0:
            end = 0.0 if epsilon > 0.0 and before < 0.0 else upper[i]
            beta[i] = min(before + up / max(diagonal[i], floor), end)
        else:
            down = -g[i] - fall_offset(before, lower[i], epsilon)
            end = 0.0 if epsilon > 0.0 and before > 0.0 else lower[i]
            beta[i] = max(before + down / max(diagonal[i], floor), end)
        change = beta[i] - before
        row = K[i]
        for k in range(n):
            g[k] += change * row[k]
        steps += 1
