"""The kernel matrix of the training rows, for all problems of a machine."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.base import KernelFunction
from kernelfit.kernels.device_gram import DeviceGram, matrix_on_device, on_device
from kernelfit.kernels.gram import DenseGram, Gram, RowGram
from kernelfit.kernels.rows import Kernel

Indices = NDArray[np.intp]


class TrainingGram:
    """The Gram matrix of the training rows, all of them or the rows of one problem.

    It is held in float64 where it takes at most `dense_bytes`; otherwise rows are computed on
    demand and cached in float32, in as much as `cache_bytes`. The cache of a part does not depend
    on how many are in use at a time, and so neither do the results.

    Parameters
    ----------
    kernel : callable or None
        None for a precomputed matrix.
    X : array or CSR matrix of shape (n, d)
    cache_bytes : float
    dense_bytes : float, default=None
        `cache_bytes` when None.
    matrix : ndarray of shape (n, n), default=None
        The matrix where it is known already.

    Attributes
    ----------
    dense : bool
        Whether the whole matrix is in memory. If not, problems on all rows share one cache of
        rows and must not run at the same time.
    """

    def __init__(
        self,
        kernel: Kernel | None,
        X: Any,
        cache_bytes: float,
        *,
        dense_bytes: float | None = None,
        matrix: NDArray[Any] | None = None,
    ) -> None:
        self._kernel, self._X = kernel, X
        self._cache_bytes = cache_bytes
        self._dense_bytes = cache_bytes if dense_bytes is None else dense_bytes
        self._whole: Gram | None = None
        if matrix is not None:
            self._whole = DenseGram(matrix)
        elif fits(X.shape[0], self._dense_bytes):
            self._whole = self._evaluate(X)
        self.dense = self._whole is not None

    def part(self, rows: Indices | slice) -> Gram:
        """Return K on the rows of one problem; a slice stands for all rows."""
        if self._whole is not None and self.dense and not isinstance(rows, slice):
            return DenseGram(self._whole.block(rows))
        if not isinstance(rows, slice):
            return self._evaluate(self._X[rows])
        if self._whole is None:
            self._whole = self._evaluate(self._X)
        return self._whole

    def blocks(self, rows: Indices | slice) -> "Blocks | Gram":
        """Return what gives blocks of K on the rows of one problem, and is few bytes to send."""
        return self.part(rows) if self._kernel is None else Blocks(self._kernel, self._X[rows])

    def _evaluate(self, X: Any) -> Gram:
        kernel = self._kernel
        if kernel is None:
            raise ValueError("expected a kernel or a matrix, got neither")
        if not fits(X.shape[0], self._dense_bytes):
            return RowGram.from_kernel(kernel, X, self._cache_bytes)
        return DenseGram(_matrix(kernel, X))


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of a Gram matrix, each computed from the points.

    Attributes
    ----------
    kernel : callable
    X : array or CSR matrix of shape (n, d)
    """

    kernel: Kernel
    X: Any

    def block(self, idx: Indices, exact: bool = True) -> NDArray[Any]:
        """Return K[idx][:, idx] as a C-contiguous float64 array of its own."""
        return np.ascontiguousarray(_matrix(self.kernel, self.X[idx]), dtype=np.float64)


def _matrix(kernel: Kernel, X: Any) -> NDArray[Any]:
    # A kernel of ours called with one argument knows that its matrix is symmetric.
    return kernel(X) if isinstance(kernel, KernelFunction) else kernel(X, X)


def fits(n: int, dense_bytes: float) -> bool:
    """Return whether a float64 matrix of n rows and columns takes at most `dense_bytes`."""
    return 8.0 * n * n <= dense_bytes


class DeviceTraining:
    """The Gram matrix of the training rows on a device; otherwise as `TrainingGram`.

    Parameters
    ----------
    kernel : KernelFunction or None
        None for a precomputed matrix.
    X : ndarray of shape (n, d)
        The points, or the precomputed matrix.
    device : str
    cache_bytes : float
        Memory to plan with where the device has none of its own.
    """

    dense = False  # problems on all rows share one matrix on the device

    def __init__(self, kernel: Any, X: NDArray[Any], device: str, cache_bytes: float) -> None:
        self._kernel, self._X = kernel, X
        self._device, self._cache_bytes = device, cache_bytes
        self._whole: DeviceGram | None = None

    def part(self, rows: Indices | slice) -> DeviceGram:
        """Return K on the rows of one problem; a slice stands for all rows."""
        if not isinstance(rows, slice):
            return self._evaluate(self._X[rows] if self._kernel else self._X[np.ix_(rows, rows)])
        if self._whole is None:
            self._whole = self._evaluate(self._X)
        return self._whole

    def _evaluate(self, X: NDArray[Any]) -> DeviceGram:
        if self._kernel is None:
            return matrix_on_device(X, self._device, self._cache_bytes)
        return on_device(self._kernel, X, self._device, self._cache_bytes)
