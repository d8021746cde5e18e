"""The Gram matrix of a fit on a device: float32 to take steps with, float64 to certify.

It is stored where that fits into the memory at hand, and computed when needed otherwise. Where
float32 is too rough for steps, they are taken in float64, too (`DeviceGram.widen`). Rows are in an
order of the matrix's own (`DeviceGram.order`), in which neighbours are close to each other.
"""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.base import diagonal
from kernelfit.kernels.device import Values, device_kernel, is_shift_invariant, locality_order
from kernelfit.kernels.device_tiles import MAX_FEATURES, GaussianTiles, boxes, far_apart
from kernelfit.kernels.radial import RBF
from kernelfit.utils.torch_device import Tensor, load_torch, planned_bytes

_MAX_ENTRIES = 2**26  # of kernel values in one temporary array
_ROW_TILE, _COLUMN_TILE = 2048, 256  # of exact products, which skip tiles that are far apart


class DeviceGram:
    """A symmetric Gram matrix on a device; made by `on_device` or `matrix_on_device`.

    `index` is an integer tensor of shape (m, b): m blocks of b rows each.

    Parameters
    ----------
    source : object
        With the members n, device, order, diagonal, tiled, single (whether float32 will do),
        values(rows, columns, dtype) and product(beta); where `squares` is asked for, squared().
    budget : float
        Bytes that may be planned with.

    Attributes
    ----------
    n : int
    device : torch.device
    order : ndarray of int of shape (n,)
        The rows of the data, in the order of the matrix.
    stored : tensor of shape (n, n) or None
        The matrix where `prepare` put it into memory.
    single : bool
        Whether blocks and products are in float32.
    """

    dtype = np.dtype(np.float32)  # of the values that steps are taken with

    def __init__(self, source: Any, budget: float) -> None:
        self.torch, self.device = load_torch(str(source.device))
        self.source, self.budget = source, budget
        self.n: int = source.n
        self.order: NDArray[np.intp] = source.order
        self.stored: Tensor | None = None
        self.single: bool = source.single
        self._tiles: GaussianTiles | None = None

    def squares(self) -> "DeviceGram":
        """Return the matrix of squared entries, as this one is now, in what memory is left."""
        other = DeviceGram(self.source.squared(), self.budget)
        other.single = self.single
        return other

    def prepare(self) -> None:
        """Store the matrix where it fits, for blocks and products; else make ready to compute."""
        if self.stored is not None or self._tiles is not None:
            return
        needed = self._itemsize * self.n**2
        if needed <= 0.5 * self.budget:
            self.stored = self._store()
            self.budget -= needed
        elif self.source.tiled and self.single:
            self._tiles = GaussianTiles(self.source.X32, self.source.gamma)

    @property
    def _dtype(self) -> Any:
        return self.torch.float32 if self.single else self.torch.float64

    @property
    def _itemsize(self) -> float:
        return 4.0 if self.single else 8.0

    def widen(self) -> bool:
        """Take float64 for blocks and products from now on; return whether that is a change."""
        if not self.single:
            return False
        if self.stored is not None:
            self.budget += self._itemsize * self.n**2
        self.stored, self._tiles, self.single = None, None, False
        self.prepare()
        return True

    def _store(self) -> Tensor:
        return self._matrix(self._dtype)

    def _matrix(self, dtype: Any) -> Tensor:
        K = self.torch.empty((self.n, self.n), dtype=dtype, device=self.device)
        step = max(1, _MAX_ENTRIES // self.n)
        for start in range(0, self.n, step):
            part = slice(start, start + step)
            K[part] = self.source.values(part, slice(None), dtype)
        K.diagonal().copy_(self.diagonal())
        return K

    def exact_matrix(self) -> Tensor:
        """Return the whole of K in float64, where the device has room for it and a factor."""
        needed = 16.0 * self.n**2
        if needed > self.budget:
            raise MemoryError(
                f"expected {needed / 2**30:.3g} GiB of memory on {self.device} for the kernel "
                f"matrix of {self.n} rows and its factor, got {self.budget / 2**30:.3g}"
            )
        return self._matrix(self.torch.float64)

    def diagonal(self) -> Tensor:
        """Return the diagonal in float64."""
        return self.torch.as_tensor(self.source.diagonal, device=self.device)

    def blocks(self, index: Tensor) -> Tensor:
        """Return K on each block, of shape (m, b, b)."""
        if self.stored is not None:
            return self.stored[index[:, :, None], index[:, None, :]]
        return self.source.values(index, index, self._dtype)

    def products(self, index: Tensor, coef: Tensor) -> Tensor:
        """Return ``K[:, index[j]] @ coef[j]`` for every block j, of shape (m, n)."""
        coef = coef.to(self._dtype)
        if self._tiles is not None:
            return self._tiles.products(index, coef)
        out = self.torch.zeros((len(index), self.n), dtype=coef.dtype, device=self.device)
        for columns, factor, row in zip(index, coef, out, strict=True):
            used = factor != 0.0
            columns, factor = columns[used], factor[used]
            if self.stored is not None:
                row.copy_(factor @ self.stored[columns])
                continue
            step = max(1, _MAX_ENTRIES // max(1, len(columns)))
            for start in range(0, self.n, step):
                part = slice(start, start + step)
                row[part] = self.source.values(part, columns, self._dtype) @ factor
        return out

    def decision(self, beta: Tensor) -> Tensor:
        """Return ``K beta`` in float64, from exact values."""
        return self.source.product(beta)

    def block(self, idx: NDArray[np.intp]) -> NDArray[Any]:
        """Return K on some rows, exact, as a float64 array."""
        index = self.torch.as_tensor(idx, device=self.device)
        block: NDArray[Any] = self.exact_block(index).cpu().numpy()
        return block

    def exact_block(self, index: Tensor) -> Tensor:
        """Return K on some rows in float64."""
        K = self.source.values(index, index, self.torch.float64)
        K.diagonal().copy_(self.diagonal()[index])
        return K

    def has_room(self, rows: int) -> bool:
        """Return whether an exact block of so many rows fits, with some of its kind."""
        return 5 * 8.0 * rows**2 <= self.budget

    def plan_blocks(self, size: int, most: int) -> int:
        """Return how many blocks of so many variables a round may have, or say what is missing."""
        # Matrices with temporaries, and products.
        block = self._itemsize * (3.0 * size**2 + 2.0 * self.n)
        count = int(min(most, -(-self.n // size), self.budget / (block + 8.0 * size * most)))
        if count < 1:
            raise MemoryError(
                f"expected {(block + 8.0 * size) / 2**30:.2g} GiB of memory on {self.device} to "
                f"train on {self.n} rows, got {self.budget / 2**30:.2g}"
            )
        return count


class _KernelSource:
    """Kernel values of the rows of X in locality order."""

    single = True

    def __init__(self, kernel: Any, X: NDArray[Any], device: str) -> None:
        self.torch, self.device = load_torch(device)
        self.n, d = X.shape
        X = np.require(X, requirements="W")  # torch warns of arrays that it must not write to
        points = self.torch.as_tensor(X, dtype=self.torch.float64, device=self.device)
        if is_shift_invariant(kernel):
            points = points - points.mean(dim=0)
        self.order = locality_order(points)
        self.X = points[self.torch.as_tensor(self.order, device=self.device)]
        self.X32 = self.X.to(self.torch.float32)
        self.diagonal = diagonal(kernel, X)[self.order]
        self._values: Values = device_kernel(kernel, d)
        # Of a kernel that vanishes far away.
        self.gamma: Any = kernel.gamma if isinstance(kernel, RBF) else None
        self._local = isinstance(self.gamma, float)
        self.tiled = self._local and d <= MAX_FEATURES and self.device.type == "cuda"

    def squared(self) -> "_KernelSource":
        """Return the source of squared values; the square of a Gaussian is one of half the width.

        Distances and order remain, so nothing is computed again.
        """
        other, values = copy(self), self._values
        other.diagonal = self.diagonal**2
        if self._local:
            other.gamma = 2.0 * self.gamma
            other._values = device_kernel(RBF(other.gamma), self.X.shape[1])
        else:
            other._values = lambda A, B: values(A, B).square_()
        return other

    def values(self, rows: Any, columns: Any, dtype: Any) -> Tensor:
        X = self.X32 if dtype == self.torch.float32 else self.X
        return self._values(X[rows], X[columns])

    def product(self, beta: Tensor) -> Tensor:
        torch = self.torch
        out = torch.zeros(self.n, dtype=torch.float64, device=self.device)
        support = beta.nonzero()[:, 0]
        if not len(support):
            return out
        points, coef = self.X[support], beta[support]
        tile_of = torch.arange(len(support), device=self.device) // _COLUMN_TILE
        lows, highs = boxes(torch, points, _COLUMN_TILE)
        for start in range(0, self.n, _ROW_TILE):
            rows = self.X[start : start + _ROW_TILE]
            near, weight = points, coef
            if self._local:
                far = far_apart(torch, rows.amin(0), rows.amax(0), lows, highs, self.gamma)
                close = ~far[tile_of]
                near, weight = points[close], coef[close]
            step = max(1, _MAX_ENTRIES // len(rows))
            for first in range(0, len(near), step):
                part = slice(first, first + step)
                out[start : start + _ROW_TILE] += self._values(rows, near[part]) @ weight[part]
        return out


class _MatrixSource:
    """A kernel matrix that was given."""

    tiled, single = False, True

    def __init__(self, K: NDArray[Any], device: str) -> None:
        self.torch, self.device = load_torch(device)
        self.n = len(K)
        self.order = np.arange(self.n)
        self.K = K
        self.diagonal = K.diagonal().astype(np.float64)

    def squared(self) -> "_MatrixSource":
        """Return the source of squared values."""
        return _MatrixSource(self.K.astype(np.float64) ** 2, str(self.device))

    def values(self, rows: Any, columns: Any, dtype: Any) -> Tensor:
        rows, columns = (
            part.cpu().numpy() if isinstance(part, self.torch.Tensor) else part
            for part in (rows, columns)
        )
        if isinstance(rows, slice):
            part = self.K[rows][:, columns]
        else:
            part = self.K[rows[..., :, None], columns[..., None, :]]
        part = np.require(part, requirements="W")
        return self.torch.as_tensor(part, dtype=dtype, device=self.device)

    def product(self, beta: Tensor) -> Tensor:
        weight = beta.cpu().numpy()
        support = np.flatnonzero(weight)
        f = np.zeros(self.n)
        step = max(1, _MAX_ENTRIES // (8 * self.n))
        for start in range(0, len(support), step):
            part = support[start : start + step]
            f += weight[part] @ self.K[part]
        return self.torch.as_tensor(f, device=self.device)


def on_device(kernel: Any, X: NDArray[Any], device: str, host_bytes: float) -> DeviceGram:
    """Return the Gram matrix of a kernel on the rows of X.

    Parameters
    ----------
    kernel : KernelFunction
        See `device_kernel`.
    X : ndarray of shape (n, d)
    device : str
    host_bytes : float
        Memory to plan with where the device has none of its own.

    Returns
    -------
    DeviceGram
    """
    source = _KernelSource(kernel, X, device)
    return DeviceGram(source, planned_bytes(source.device, host_bytes))


def matrix_on_device(K: NDArray[Any], device: str, host_bytes: float) -> DeviceGram:
    """Return a Gram matrix that was given; `on_device` says the rest."""
    source = _MatrixSource(K, device)
    return DeviceGram(source, planned_bytes(source.device, host_bytes))
