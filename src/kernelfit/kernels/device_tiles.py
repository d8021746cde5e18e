r"""Products with the matrix of a Gaussian kernel, tile by tile in one GPU kernel, never stored.

A tile holds the values of 128 rows against 64 columns. Tiles whose bounding boxes are so far apart
that :math:`\exp(-\gamma d^2) < 10^{-19}` are skipped: with rows in locality order and a narrow
kernel these are most of them.
"""

# mypy: disable-error-code="no-untyped-def, name-defined"
# Functions that triton compiles have no types but those it finds.

from functools import cache
from typing import Any

from kernelfit.utils.torch_device import Tensor, load_torch, load_triton

MAX_FEATURES = 128
_ROWS, _COLUMNS = 128, 64
_NEGLIGIBLE = 44.0  # exp(-44) is below the rounding of float64 beside 1


def boxes(torch: Any, X: Tensor, tile: int) -> tuple[Tensor, Tensor]:
    """Return the least and the largest of every feature in each tile of so many rows."""
    missing = -len(X) % tile
    if missing:
        X = torch.cat([X, X[-1:].expand(missing, -1)])
    parts = X.reshape(-1, tile, X.shape[1])
    return parts.amin(dim=1), parts.amax(dim=1)


def far_apart(
    torch: Any, low: Tensor, high: Tensor, lows: Tensor, highs: Tensor, gamma: float
) -> Tensor:
    """Return which boxes are so far from one box that all kernel values between are negligible."""
    gaps = torch.maximum(lows - high, low - highs).clamp_min_(0.0)
    return gaps.square_().sum(dim=1) * gamma > _NEGLIGIBLE


class GaussianTiles:
    """Products with the Gaussian kernel matrix of the rows of X.

    Parameters
    ----------
    X : tensor of shape (n, d)
        float32 on a GPU, d up to `MAX_FEATURES`.
    gamma : float
    """

    def __init__(self, X: Tensor, gamma: float) -> None:
        self.torch, _ = load_torch(str(X.device))
        self.n, d = X.shape
        self.gamma = gamma
        width = max(16, 1 << (d - 1).bit_length())  # as matrix units want it
        self.X = self.torch.nn.functional.pad(X, (0, width - d)).contiguous()
        self.norms = self.X.square().sum(dim=1)
        self.low, self.high = (box.contiguous() for box in boxes(self.torch, self.X, _ROWS))

    def products(self, index: Tensor, coef: Tensor) -> Tensor:
        """Return ``K[:, index[j]] @ coef[j]`` for every block j, of shape (m, n)."""
        torch = self.torch
        m, b = index.shape
        # What takes part comes first, in its order, so that the loop over columns ends early.
        used = coef != 0.0
        first = torch.argsort((~used).to(torch.int8), dim=1, stable=True)
        counts = used.sum(dim=1).to(torch.int32)
        b = max(_COLUMNS, -(-int(counts.max()) // _COLUMNS) * _COLUMNS)
        if b > first.shape[1]:
            first = torch.nn.functional.pad(first, (0, b - first.shape[1]))
        first = first[:, :b]
        index, coef = index.gather(1, first), coef.gather(1, first)
        past = torch.arange(b, device=index.device) >= counts[:, None]
        coef = coef.masked_fill(past, 0.0)
        # Columns past the end repeat the last one, so that boxes do not grow.
        last = index.gather(1, (counts.long() - 1).clamp_min(0)[:, None])
        index = torch.where(past, last, index)
        columns = self.X[index].contiguous()
        low, high = boxes(torch, columns.reshape(m * b, -1), _COLUMNS)
        out = torch.empty((m, self.n), dtype=torch.float32, device=index.device)
        width = self.X.shape[1]
        _tile_kernel()[(-(-self.n // _ROWS), m)](
            self.X, self.norms, self.low, self.high,
            columns, self.norms[index].contiguous(), coef.contiguous(),
            low.contiguous(), high.contiguous(), counts, out,
            self.n, b, self.gamma * 1.4426950408889634, _NEGLIGIBLE * 1.4426950408889634,
            D=width, ROWS=_ROWS, COLUMNS=_COLUMNS, num_warps=8,
        )  # fmt: skip
        return out


@cache
def _tile_kernel() -> Any:
    triton, tl = load_triton()

    @triton.jit
    def gaussian_tiles(
        X, norms, low, high, C, c_norms, coef, c_low, c_high, counts, out,
        n, b, gamma, negligible,
        D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        tile = tl.program_id(0)
        block = tl.program_id(1).to(tl.int64)
        feature = tl.arange(0, D)
        rows = tile * ROWS + tl.arange(0, ROWS)
        inside = rows < n
        x = tl.load(X + rows[:, None] * D + feature[None, :], mask=inside[:, None], other=0.0)
        x_norm = tl.load(norms + rows, mask=inside, other=0.0)
        x_low = tl.load(low + tile * D + feature)
        x_high = tl.load(high + tile * D + feature)
        total = tl.zeros((ROWS,), dtype=tl.float32)
        count = tl.load(counts + block)
        start = 0
        while start < count:
            box = ((block * b + start) // COLUMNS) * D + feature
            gap = tl.maximum(tl.load(c_low + box) - x_high, x_low - tl.load(c_high + box))
            gap = tl.maximum(gap, 0.0)
            if tl.sum(gap * gap) * gamma <= negligible:
                columns = block * b + start + tl.arange(0, COLUMNS)
                c = tl.load(C + columns[:, None] * D + feature[None, :])
                dots = tl.dot(x, tl.trans(c), input_precision="tf32x3")
                distance = x_norm[:, None] + tl.load(c_norms + columns)[None, :] - 2.0 * dots
                values = tl.exp2(-gamma * tl.maximum(distance, 0.0))
                total += tl.sum(values * tl.load(coef + columns)[None, :], axis=1)
            start += COLUMNS
        tl.store(out + block * n + rows, total, mask=inside)

    return gaussian_tiles
