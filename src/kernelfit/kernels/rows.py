"""Kernel rows on demand, for problems whose Gram matrix does not fit in memory."""

from collections.abc import Callable
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

Kernel = Callable[..., Array]

_MAX_TEMPORARY = 2**24  # bytes of one float64 array
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
        self.X = as_data(X)
        self.n: int = self.X.shape[0]
        self._diagonal = diagonal(kernel, self.X)
        self.dtype: np.dtype[Any] = _wide_enough(np.dtype(dtype), self._diagonal)
        self._evaluator = _evaluator(kernel, self.X, self.dtype)

    def diagonal(self) -> Array:
        """Return the diagonal of the Gram matrix in float64."""
        return self._diagonal

    def rows(self, idx: Array) -> Array:
        """Return k(X[idx], X), of shape (len(idx), n)."""
        out = self._values(idx, None)
        out[np.arange(len(idx)), idx] = self._diagonal[idx]
        return out

    def block(self, idx: Array) -> Array:
        """Return k(X[idx], X[idx]), of shape (len(idx), len(idx))."""
        out = self._values(idx, idx)
        np.fill_diagonal(out, self._diagonal[idx])
        return out

    def subset(self, indices: Array) -> "KernelRows":
        """Return the provider of the sub-problem on the rows ``X[indices]``."""
        return KernelRows(self.kernel, self.X[indices], self.dtype)

    def _values(self, idx: Array, columns: Array | None) -> Array:
        width = self.n if columns is None else len(columns)
        out = np.empty((len(idx), width), dtype=self.dtype)
        step = max(1, _MAX_TEMPORARY // (8 * max(width, 1)))
        for start in range(0, len(idx), step):
            part = slice(start, start + step)
            self._evaluator.fill(idx[part], columns, out[part])
        return out


class _Evaluator(Protocol):
    def fill(self, idx: Array, columns: Array | None, out: Array) -> None:
        """Write k(X[idx], X[columns]) into out; every column when `columns` is None."""


class _DenseProducts:
    """Kernels of the inner product."""

    def __init__(self, kernel: Linear | Polynomial, X: Array, dtype: np.dtype[Any]):
        self.kernel = kernel
        gamma = kernel.gamma if isinstance(kernel, Polynomial) else 1.0
        self.XT = X.T.astype(_wide_enough(dtype, squared_norms(X), gamma), order="C")

    def fill(self, idx: Array, columns: Array | None, out: Array) -> None:
        P = out if out.dtype == self.XT.dtype else np.empty(out.shape, dtype=self.XT.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(self.XT[:, idx].T, _take(self.XT, columns), out=P)
        self.kernel.from_geometry(P, out=P)
        if P is not out:
            out[...] = P


class _DenseDistances:
    """Kernels of the squared distance, in the cheapest arithmetic that is accurate enough.

    With g = gamma * max ||x||^2 for centred x and eps the machine epsilon, the exponent
    -gamma ||x - y||^2 has an error of about 4 eps g by the matrix product (two norms and twice
    the product, each of size up to g). From differences of the rounded x it is at most about
    eps * sqrt(g * gamma) * ||x - y||, that is eps * sqrt(g) where the kernel is not negligible.
    """

    def __init__(self, kernel: RBF, X: Array, dtype: np.dtype[Any]):
        centred = X - X.mean(axis=0)
        norms = squared_norms(centred)
        dtype = _wide_enough(dtype, norms, kernel.gamma)
        with np.errstate(over="ignore"):
            spread = abs(kernel.gamma) * norms.max(initial=0.0)
        eps = float(np.finfo(dtype).eps)
        if eps * np.sqrt(spread) > _EXPONENT_ERROR:
            dtype, eps = np.dtype(np.float64), float(np.finfo(np.float64).eps)
        self.kernel = kernel
        self.XT = pad_features(centred.T.astype(dtype, order="C"))
        with np.errstate(over="ignore"):
            self.norms = np.einsum("ij,ij->j", self.XT, self.XT, dtype=np.float64).astype(dtype)
        self.by_product = X.shape[1] > MAX_DIRECT_FEATURES and 4 * eps * spread <= _EXPONENT_ERROR

    def fill(self, idx: Array, columns: Array | None, out: Array) -> None:
        D = out if out.dtype == self.XT.dtype else np.empty(out.shape, dtype=self.XT.dtype)
        A = np.ascontiguousarray(self.XT[:, idx].T)
        if self.by_product:
            np.matmul(A, _take(self.XT, columns), out=D)
            expand_squares(D, self.norms[idx], _take(self.norms, columns))
        else:
            sum_squared_differences(A, _take(self.XT, columns), D)
        self.kernel.from_geometry(D, out=D)
        if D is not out:
            out[...] = D


class _Sparse:
    """Kernels of the inner product or of the squared distance on CSR data."""

    def __init__(self, kernel: Linear | Polynomial | RBF, X: Data):
        self.kernel = kernel
        self.X = X
        self.XT = X.T.tocsr()
        self.norms = squared_norms(X)

    def fill(self, idx: Array, columns: Array | None, out: Array) -> None:
        XT = self.XT if columns is None else self.X[columns].T.tocsr()
        S = (self.X[idx] @ XT).toarray()
        if isinstance(self.kernel, RBF):
            expand_squares(S, self.norms[idx], _take(self.norms, columns))
        out[...] = self.kernel.from_geometry(S, out=S)


class _Callable:
    """Any other kernel."""

    def __init__(self, kernel: Kernel, X: Data):
        self.kernel = kernel
        self.X = X

    def fill(self, idx: Array, columns: Array | None, out: Array) -> None:
        out[...] = self.kernel(self.X[idx], self.X if columns is None else self.X[columns])


def _evaluator(kernel: Kernel, X: Data, dtype: np.dtype[Any]) -> _Evaluator:
    if not isinstance(kernel, Linear | Polynomial | RBF):
        return _Callable(kernel, X)
    plain, X = kernel.with_one_width(X)
    if sparse.issparse(X):
        return _Sparse(plain, X)
    return (_DenseDistances if isinstance(plain, RBF) else _DenseProducts)(plain, X, dtype)


def _wide_enough(dtype: np.dtype[Any], *numbers: Array | float) -> np.dtype[Any]:
    """Return float64 where the largest of some numbers are beyond the range of float32."""
    low, high = _SINGLE_RANGE
    for values in numbers:
        largest = np.max(np.abs(values), initial=0.0)
        if largest and not low <= largest <= high:
            return np.dtype(np.float64)
    return dtype


def _take(array: Array, columns: Array | None) -> Array:
    """Return the columns asked for, C-contiguous and without a copy when all are."""
    return array if columns is None else np.ascontiguousarray(array[..., columns])
