"""Pair steps on many blocks of variables at a time, each block in a program of its own on a GPU.

What a step does is written in :mod:`kernelfit.solvers.dual.pair_steps`, which solves the blocks one
after the other where the device is the CPU. Kernel values are in float32, all the rest in float64.
"""

# mypy: disable-error-code="no-untyped-def, name-defined"
# Functions that triton compiles have no types but those it finds.

from functools import cache
from typing import Any

import numpy as np

from kernelfit.solvers.dual.pair_steps import pair_steps, single_steps
from kernelfit.utils.torch_device import Tensor, load_torch, load_triton

_MIN_CURVATURE = 1e-12  # as a fraction of the largest diagonal entry


def solve_blocks(
    K: Tensor,
    diagonal: Tensor,
    g: Tensor,
    beta: Tensor,
    lower: Tensor,
    upper: Tensor,
    *,
    epsilon: float,
    fixed_sum: bool,
    reduction: float,
    floor: float,
    max_steps: int,
) -> tuple[Tensor, float]:
    """Take steps on every block until its violation is down to a fraction of what it was.

    Parameters
    ----------
    K : tensor of shape (m, b, b)
        The matrices of the blocks, in float32, without the ridge.
    diagonal, g, beta, lower, upper : tensor of shape (m, b)
        In float64; the diagonal with the ridge.
    epsilon : float
    fixed_sum : bool
        Whether the sum of each block stays as it is.
    reduction, floor : float
        A block ends when its violation is at most `reduction` of that at its start, or `floor`.
    max_steps : int

    Returns
    -------
    beta : tensor of shape (m, b)
    curvature : float
        The lowest curvature met, relative to the diagonal entries, or 0.
    """
    torch, _ = load_torch(str(K.device))
    if K.device.type == "cuda":
        return _on_gpu(
            torch, K, diagonal, g, beta, lower, upper,
            epsilon, fixed_sum, reduction, floor, max_steps,
        )  # fmt: skip
    steps = pair_steps if fixed_sum else single_steps
    out, lowest = beta.clone(), 0.0
    for block in range(len(K)):
        matrix = K[block].numpy().astype(np.float64)
        np.fill_diagonal(matrix, diagonal[block].numpy())
        arrays = [array[block].numpy() for array in (diagonal, g, out, lower, upper)]
        arrays[1] = arrays[1].copy()
        *_, violation, _ = steps(matrix, *arrays, epsilon, np.inf, 0)
        stop = max(reduction * violation, floor)
        *_, curvature = steps(matrix, *arrays, epsilon, stop, max_steps)
        lowest = min(lowest, curvature)
    return out, lowest


def _on_gpu(
    torch: Any,
    K: Tensor,
    diagonal: Tensor,
    g: Tensor,
    beta: Tensor,
    lower: Tensor,
    upper: Tensor,
    epsilon: float,
    fixed_sum: bool,
    reduction: float,
    floor: float,
    max_steps: int,
) -> tuple[Tensor, float]:
    m, b = beta.shape
    out = beta.clone().contiguous()
    lowest = torch.zeros(m, dtype=torch.float64, device=K.device)
    least = max(1e-280, _MIN_CURVATURE * float(diagonal.abs().max()))
    pair, single = _kernels()
    (pair if fixed_sum else single)[(m,)](
        K.contiguous(), diagonal.contiguous(), g.contiguous(), out,
        lower.contiguous(), upper.contiguous(), lowest,
        torch.tensor([epsilon, reduction, floor, least], dtype=torch.float64, device=K.device),
        max_steps, B=b, num_warps=min(32, max(4, b // 128)),
    )  # fmt: skip
    return out, float(lowest.min())


@cache
def _kernels() -> tuple[Any, Any]:
    triton, tl = load_triton()

    @triton.jit
    def pair(K, diagonal, g, beta, lower, upper, lowest, numbers, max_steps, B: tl.constexpr):
        block = tl.program_id(0).to(tl.int64)
        k = tl.arange(0, B)
        K += block * B * B
        diagonal += block * B
        beta += block * B
        lower += block * B
        upper += block * B
        epsilon = tl.load(numbers)
        reduction = tl.load(numbers + 1)
        stop = tl.load(numbers + 2)
        least = tl.load(numbers + 3)
        G = tl.load(g + block * B + k)
        D = tl.load(diagonal + k)
        x = tl.load(beta + k)
        low = tl.load(lower + k)
        high = tl.load(upper + k)
        worst = epsilon * 0.0
        violation = worst + 1e300
        steps = 0
        while (steps < max_steps) & (violation > stop):
            up = tl.where(x < high, -G - tl.where(x >= 0.0, epsilon, -epsilon), -1e300)
            down = tl.where(x > low, -G - tl.where(x > 0.0, epsilon, -epsilon), 1e300)
            best, i = tl.max(up, axis=0, return_indices=True)
            violation = best - tl.min(down, axis=0)
            if steps == 0:
                stop = tl.maximum(stop, reduction * violation)
            if violation > stop:
                row_i = tl.load(K + i * B + k).to(tl.float64)
                D_i = tl.load(diagonal + i)
                difference = tl.maximum(best - down, 0.0)
                curvatures = tl.maximum(D_i + D - 2.0 * row_i, least)
                gain, j = tl.max(difference * difference / curvatures, axis=0, return_indices=True)
                row_j = tl.load(K + j * B + k).to(tl.float64)
                D_j = tl.load(diagonal + j)
                curvature = D_i + D_j - 2.0 * tl.load(K + i * B + j).to(tl.float64)
                worst = tl.minimum(worst, curvature / (tl.abs(D_i) + tl.abs(D_j) + 1e-300))
                curvature = tl.maximum(curvature, least)
                x_i = tl.load(beta + i)
                x_j = tl.load(beta + j)
                end_i = tl.where((epsilon > 0.0) & (x_i < 0.0), 0.0, tl.load(upper + i))
                end_j = tl.where((epsilon > 0.0) & (x_j > 0.0), 0.0, tl.load(lower + j))
                room_i = end_i - x_i
                room_j = x_j - end_j
                # The difference of the pair, from its gain.
                step = tl.sqrt(gain / curvature)
                step = tl.minimum(step, tl.minimum(room_i, room_j))
                x_i = tl.where(step >= room_i, end_i, x_i + step)
                x_j = tl.where(step >= room_j, end_j, x_j - step)
                # The diagonal carries a ridge that K does not.
                row_i = tl.where(k == i, D_i, row_i)
                row_j = tl.where(k == j, D_j, row_j)
                G += step * (row_i - row_j)
                x = tl.where(k == i, x_i, tl.where(k == j, x_j, x))
                tl.store(beta + i, x_i)
                tl.store(beta + j, x_j)
                tl.debug_barrier()
            steps += 1
        tl.store(lowest + block, worst)

    @triton.jit
    def single(K, diagonal, g, beta, lower, upper, lowest, numbers, max_steps, B: tl.constexpr):
        block = tl.program_id(0).to(tl.int64)
        k = tl.arange(0, B)
        K += block * B * B
        diagonal += block * B
        beta += block * B
        lower += block * B
        upper += block * B
        epsilon = tl.load(numbers)
        reduction = tl.load(numbers + 1)
        stop = tl.load(numbers + 2)
        least = tl.load(numbers + 3)
        G = tl.load(g + block * B + k)
        D = tl.load(diagonal + k)
        x = tl.load(beta + k)
        low = tl.load(lower + k)
        high = tl.load(upper + k)
        violation = epsilon * 0.0 + 1e300
        steps = 0
        while (steps < max_steps) & (violation > stop):
            up = tl.where(x < high, -G - tl.where(x >= 0.0, epsilon, -epsilon), -1e300)
            down = tl.where(x > low, -G - tl.where(x > 0.0, epsilon, -epsilon), 1e300)
            rate = tl.maximum(tl.maximum(up, -down), 0.0)
            violation = tl.max(rate, axis=0)
            if steps == 0:
                stop = tl.maximum(stop, reduction * violation)
            if violation > stop:
                gain, i = tl.max(rate * rate / tl.maximum(D, least), axis=0, return_indices=True)
                row_i = tl.load(K + i * B + k).to(tl.float64)
                D_i = tl.load(diagonal + i)
                upward = tl.sum(tl.where((k == i) & (up > 0.0), 1, 0), axis=0) > 0
                x_i = tl.load(beta + i)
                size = tl.sqrt(gain / tl.maximum(D_i, least))
                end = tl.where(upward, tl.load(upper + i), tl.load(lower + i))
                crosses = (epsilon > 0.0) & (tl.where(upward, -x_i, x_i) > 0.0)
                end = tl.where(crosses, 0.0, end)
                room = tl.abs(end - x_i)
                moved = tl.where(upward, x_i + size, x_i - size)
                moved = tl.where(size >= room, end, moved)
                row_i = tl.where(k == i, D_i, row_i)
                G += (moved - x_i) * row_i
                x = tl.where(k == i, moved, x)
                tl.store(beta + i, moved)
                tl.debug_barrier()
            steps += 1
        tl.store(lowest + block, tl.where(tl.min(D, axis=0) < 0.0, -1.0, 0.0))

    return pair, single
