"""Kernel rows on demand, for problems whose Gram matrix does not fit in memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from kernelfit.kernels.base import diagonal
from kernelfit.kernels.distances import (
    MAX_DIRECT_FEATURES,
    Array,
    Data,
    as_data,
    expand_squares,
    pad_features,
    squared_norms,
    sum_squared_differences,
)
from kernelfit.kernels.standard import RBF, Linear, Polynomial
from kernelfit.linalg.indexed import add_rows
from kernelfit.utils.threads import blas_threads, one_blas_thread

Kernel = Callable[..., Array]

# Rows and columns computed at a time: few enough for the second cache of a processor, and enough of
# them to make matrix products worth while.
TILE_ROWS, TILE_COLUMNS = 128, 1024
_THREAD_ENTRIES = 2**19  # at least, for a thread of its own
_MAX_COPY = 2**28  # bytes up to which transposed copies of the data are kept
_EXPONENT_ERROR = 1e-6  # rounding error that the exponent of a Gaussian kernel may have
_SINGLE_RANGE = 1e-30, 1e30  # of the largest numbers that are computed or kept in float32


class KernelRows:
    r"""The rows of the Gram matrix of a kernel on fixed data, computed when asked for.

    Parameters
    ----------
    kernel : callable
        Linear, polynomial and Gaussian kernels are evaluated from prepared data; any other
        callable ``k(X, Y) -> Gram`` is called as it is.
    X : array or CSR matrix of shape (n, d)
    dtype : {float64, float32}, default=float64
        Of the rows; float64 in any case where the diagonal is beyond the range of float32. Dense
        float32 rows are computed in float32, except where data or gamma are beyond its range, and
        those of a Gaussian kernel so narrow, :math:`\gamma \max_i \|x_i - \bar x\|^2 > 70`, that
        errors could exceed 1e-6: they, and all sparse ones, are computed in float64 and rounded.
    """

    def __init__(self, kernel: Kernel, X: Data, dtype: DTypeLike = np.float64) -> None:
        self.kernel = kernel
        X = as_data(X)
        self.n: int = X.shape[0]
        self._diagonal = diagonal(kernel, X)
        self.dtype: np.dtype[Any] = wide_enough(np.dtype(dtype), self._diagonal)
        self.evaluator = _evaluator(kernel, X, self.dtype)

    def unrounded(self) -> "KernelRows | None":
        """Return the provider of float64 rows where they are computed in it, else None."""
        if self.dtype == np.float64:
            return self
        if isinstance(self.evaluator, _Dense) and self.evaluator.points.dtype != np.float64:
            return None
        out = copy(self)
        out.dtype = np.dtype(np.float64)
        return out

    def diagonal(self) -> Array:
        """Return the diagonal of the Gram matrix in float64."""
        return self._diagonal

    def rows(self, idx: Array) -> Array:
        """Return k(X[idx], X), of shape (len(idx), n)."""
        out = self.values(idx, None)
        out[np.arange(len(idx)), idx] = self._diagonal[idx]
        return out

    def block(self, idx: Array) -> Array:
        """Return k(X[idx], X[idx]), of shape (len(idx), len(idx))."""
        out = self.values(idx, idx)
        np.fill_diagonal(out, self._diagonal[idx])
        return out

    def product(self, idx: Array, coef: Array) -> Array:
        """Return k(X, X[idx]) @ coef in float64, without keeping the kernel values."""
        out = np.zeros((self.n, *coef.shape[1:]))

        def add(columns: range) -> None:
            for start in range(0, len(idx), TILE_ROWS):
                part = slice(start, start + TILE_ROWS)
                places = np.arange(len(idx[part]))
                for first, tile in self.evaluator.tiles(idx[part], None, columns):
                    target = out[first : first + tile.shape[1]]
                    tile = tile.astype(self.dtype, copy=False)
                    if coef.ndim > 1:
                        target += tile.T @ coef[part]
                    else:
                        add_rows(tile, places, coef[part], target)

        self._spread(add, len(idx), self.n)
        return out

    def values(self, idx: Array, columns: Array | None) -> Array:
        """Return k(X[idx], X[columns]), of all columns when None; no entry is on the diagonal."""
        width = self.n if columns is None else len(columns)
        out = np.empty((len(idx), width), dtype=self.dtype)

        def write(wanted: range) -> None:
            for start in range(0, len(idx), TILE_ROWS):
                part = slice(start, start + TILE_ROWS)
                for first, tile in self.evaluator.tiles(idx[part], columns, wanted):
                    out[part, first : first + tile.shape[1]] = tile

        self._spread(write, len(idx), width)
        return out

    def _spread(self, work: Callable[[range], None], n_rows: int, n_columns: int) -> None:
        if isinstance(self.evaluator, _Dense):
            spread_columns(work, n_rows, n_columns, TILE_COLUMNS)
        else:
            work(range(n_columns))


def spread_columns(work: Callable[[range], None], n_rows: int, n_columns: int, width: int) -> None:
    """Do work on columns, in as many threads as linear algebra may use where there is enough.

    Threads take whole tiles, and a tile is the same whatever thread computes it.

    Parameters
    ----------
    work : callable
        ``work(columns)`` does that of a range of columns.
    n_rows, n_columns : int
        The entries that are computed.
    width : int
        Columns of a tile.
    """
    n_threads = min(n_rows * n_columns // _THREAD_ENTRIES, n_columns // width)
    n_threads = min(n_threads, blas_threads()) if n_threads > 1 else 1
    with one_blas_thread():
        if n_threads == 1:
            work(range(n_columns))
            return
        step = -(-n_columns // (n_threads * width)) * width
        parts = [range(n_columns)[first : first + step] for first in range(0, n_columns, step)]
        handling = np.geterr()  # a thread has its own

        def run(part: range) -> None:
            with np.errstate(**handling):
                work(part)

        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(run, parts))


class _Evaluator(Protocol):
    def tiles(
        self, idx: Array, columns: Array | None, wanted: range
    ) -> Iterator[tuple[int, Array]]:
        """Yield k(X[idx], X[columns]) in tiles of columns, each with its first column.

        Every column when `columns` is None; of these, those whose numbers are wanted. The next
        tile may be written over the last one.
        """


class _Points:
    """Dense points, one a column, in the precision to be computed in.

    A copy is kept in this form unless it is large, as that of data on disk may be: parts are then
    copied as they are read.
    """

    def __init__(self, X: Any, centre: Array | float, dtype: np.dtype[Any]) -> None:
        self._X, self._centre, self._n, self.dtype = X, centre, len(X), dtype
        self.whole: Array | None = None
        if fits_as_copy(X, dtype):
            self.whole, self._X = self._copy(slice(0, len(X))), None

    def _copy(self, places: Any) -> Array:
        part = (self._X[places] - self._centre).T
        return pad_features(part.astype(self.dtype, order="C"))

    def columns(self, places: Any) -> Array:
        """Return some points, one a column, C-contiguous; `places` is a slice or an array."""
        if self.whole is None:
            return self._copy(places)
        return np.ascontiguousarray(self.whole[:, places])

    def norms(self) -> Array:
        """Return the squared norms, summed in float64 and rounded."""
        out = np.empty(self._n, dtype=self.dtype)
        with np.errstate(over="ignore"):
            for first in range(0, len(out), TILE_COLUMNS):
                part = self.columns(slice(first, first + TILE_COLUMNS))
                out[first : first + TILE_COLUMNS] = np.einsum(
                    "ij,ij->j", part, part, dtype=np.float64
                )
        return out


def fits_as_copy(X: Array, dtype: np.dtype[Any]) -> bool:
    """Return whether data are small enough for a copy of them."""
    return X.size * dtype.itemsize <= _MAX_COPY


class _Dense(ABC):
    """Kernels of a geometry of dense data, tile by tile, in cache."""

    kernel: Any
    points: _Points

    def tiles(
        self, idx: Array, columns: Array | None, wanted: range
    ) -> Iterator[tuple[int, Array]]:
        """Yield tiles; see `_Evaluator`."""
        A = np.ascontiguousarray(self.points.columns(idx).T)
        whole = self.points.whole if columns is None else self.points.columns(columns)
        memory = np.empty(len(idx) * min(len(wanted), TILE_COLUMNS), dtype=self.points.dtype)
        for first in wanted[::TILE_COLUMNS]:
            width = min(TILE_COLUMNS, wanted.stop - first)
            tile = memory[: len(idx) * width].reshape(len(idx), width)
            places = slice(first, first + width)
            XT, start = (self.points.columns(places), 0) if whole is None else (whole, first)
            self.measure(A, XT, start, idx, places if columns is None else columns[places], tile)
            yield first, self.kernel.from_geometry(tile, out=tile)

    @abstractmethod
    def measure(self, A: Array, XT: Array, start: int, idx: Array, places: Any, out: Array) -> None:
        """Write the geometry between the rows of A and the columns of XT from start on.

        These are the points idx and places.
        """


class _DenseProducts(_Dense):
    """Kernels of the inner product."""

    def __init__(self, kernel: Linear | Polynomial, X: Array, dtype: np.dtype[Any]):
        self.kernel = kernel
        gamma = kernel.gamma if isinstance(kernel, Polynomial) else 1.0
        self.points = _Points(X, 0.0, wide_enough(dtype, squared_norms(X), gamma))

    def measure(self, A: Array, XT: Array, start: int, idx: Array, places: Any, out: Array) -> None:
        """Write inner products."""
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(A, XT[:, start : start + out.shape[1]], out=out)


class _DenseDistances(_Dense):
    """Kernels of the squared distance, in the cheapest arithmetic that is accurate enough.

    With g = gamma * max ||x||^2 for centred x and eps the machine epsilon, the exponent
    -gamma ||x - y||^2 has an error of about 4 eps g by the matrix product (two norms and twice
    the product, each of size up to g). From differences of the rounded x it is at most about
    eps * sqrt(g * gamma) * ||x - y||, that is eps * sqrt(g) where the kernel is not negligible.
    """

    def __init__(self, kernel: RBF, X: Array, dtype: np.dtype[Any]):
        with np.errstate(over="ignore", invalid="ignore"):
            centre = X.mean(axis=0)  # where that overflows, none is needed
        norms = _Points(X, centre, np.dtype(np.float64)).norms()
        dtype = wide_enough(dtype, norms, kernel.gamma)
        with np.errstate(over="ignore"):
            spread = abs(kernel.gamma) * norms.max(initial=0.0)
        eps = float(np.finfo(dtype).eps)
        if eps * np.sqrt(spread) > _EXPONENT_ERROR:
            dtype, eps = np.dtype(np.float64), float(np.finfo(np.float64).eps)
        self.kernel = kernel
        self.by_product = X.shape[1] > MAX_DIRECT_FEATURES and 4 * eps * spread <= _EXPONENT_ERROR
        # Differences need no centre in float64, and one that an outlier has moved far away would
        # take the digits of all other points.
        needs_centre = self.by_product or dtype == np.float32
        self.points = _Points(X, centre if needs_centre else 0.0, dtype)
        self.norms = self.points.norms() if self.by_product else np.empty(0)

    def measure(self, A: Array, XT: Array, start: int, idx: Array, places: Any, out: Array) -> None:
        """Write squared distances."""
        if self.by_product:
            np.matmul(A, XT[:, start : start + out.shape[1]], out=out)
            expand_squares(out, self.norms[idx], self.norms[places])
        else:
            sum_squared_differences(A, XT, out, start)


class _Sparse:
    """Kernels of the inner product or of the squared distance on CSR data."""

    def __init__(self, kernel: Linear | Polynomial | RBF, X: Data):
        self.kernel = kernel
        self.X = X
        self.XT = X.T.tocsr()
        self.norms = squared_norms(X)

    def tiles(
        self, idx: Array, columns: Array | None, wanted: range
    ) -> Iterator[tuple[int, Array]]:
        """Yield one tile, of all columns."""
        XT = self.XT if columns is None else self.X[columns].T.tocsr()
        S = (self.X[idx] @ XT).toarray()
        if isinstance(self.kernel, RBF):
            expand_squares(S, self.norms[idx], _take(self.norms, columns))
        yield 0, self.kernel.from_geometry(S, out=S)


class _Callable:
    """Any other kernel."""

    def __init__(self, kernel: Kernel, X: Data):
        self.kernel = kernel
        self.X = X

    def tiles(
        self, idx: Array, columns: Array | None, wanted: range
    ) -> Iterator[tuple[int, Array]]:
        """Yield one tile, of all columns."""
        yield 0, self.kernel(self.X[idx], self.X if columns is None else self.X[columns])


def _evaluator(kernel: Kernel, X: Data, dtype: np.dtype[Any]) -> _Evaluator:
    if not isinstance(kernel, Linear | Polynomial | RBF):
        return _Callable(kernel, X)
    plain, X = kernel.with_one_width(X)
    if sparse.issparse(X):
        return _Sparse(plain, X)
    return (_DenseDistances if isinstance(plain, RBF) else _DenseProducts)(plain, X, dtype)


def wide_enough(dtype: np.dtype[Any], *numbers: Array | float) -> np.dtype[Any]:
    """Return the dtype, or float64 where the largest of some numbers are beyond float32's range."""
    low, high = _SINGLE_RANGE
    for values in numbers:
        largest = np.max(np.abs(values), initial=0.0)
        if largest and not low <= largest <= high:
            return np.dtype(np.float64)
    return dtype


def _take(array: Array, columns: Array | None) -> Array:
    """Return the columns asked for, C-contiguous and without a copy when all are."""
    return array if columns is None else np.ascontiguousarray(array[..., columns])
