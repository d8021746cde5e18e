"""Gram matrices of a bank that do not fit in memory: entries are computed when needed."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.gram import Gram, RowGram
from kernelfit.kernels.rows import KernelRows, wide_enough

Array = NDArray[Any]

_STEP = 256  # rows computed at a time
# Parts of a sum below this fraction of its entries are left out where float32 will do.
_NEGLIGIBLE = 1e-9


class MatrixRows:
    """A multiple of the Gram matrix of a kernel, whose entries are computed when needed.

    Parameters
    ----------
    kernel : KernelFunction
        Positive semidefinite.
    X : ndarray of shape (n, d)
    scale : float, default=1.0
    """

    def __init__(self, kernel: Callable[..., Array], X: Array, scale: float = 1.0) -> None:
        self.kernel, self.X, self.scale = kernel, X, scale

    @cached_property
    def exact(self) -> KernelRows:
        """The rows of the kernel in float64."""
        return KernelRows(self.kernel, self.X)

    @cached_property
    def rounded(self) -> KernelRows:
        """The rows of the kernel in float32, where they are in its range."""
        return KernelRows(self.kernel, self.X, np.float32)

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return self.scale * self.exact.diagonal()

    def column(self, i: int) -> Array:
        """Return a column."""
        return np.asarray(self.scale * self.exact.rows(np.array([i]))[0])

    def whole(self) -> Array:
        """Return the matrix."""
        return np.asarray(self.scale * self.kernel(self.X), dtype=np.float64)

    def product(self, idx: Array, coef: Array) -> Array:
        """Return K[:, idx] @ coef."""
        return self.scale * self.exact.product(idx, coef)

    def between(self, rows: slice, columns: slice) -> Array:
        """Return K[rows, columns]."""
        places = np.arange(len(self.X))
        if rows == columns:
            return self.scale * self.exact.block(places[rows])
        return self.scale * self.exact.values(places[rows], places[columns])

    def take(self, rows: Any) -> "MatrixRows":
        """Return the matrix on some of the points."""
        return MatrixRows(self.kernel, self.X[rows], self.scale)

    def times(self, factor: float) -> "MatrixRows":
        """Return a multiple of the matrix."""
        return MatrixRows(self.kernel, self.X, factor * self.scale)


def sum_by_rows(parts: Sequence[tuple[float, MatrixRows]], n: int, cache_bytes: float) -> RowGram:
    """Return a weighted sum of matrices, by rows; what certificates read is in float64.

    Parameters
    ----------
    parts : sequence of (float, MatrixRows)
        Weights and matrices.
    n : int
        Number of points.
    cache_bytes : float
        Memory for the latest rows.

    Returns
    -------
    RowGram
    """
    diagonals = np.reshape([weight * part.diagonal() for weight, part in parts], (-1, n))
    diagonal = diagonals.sum(axis=0)
    dtype = wide_enough(np.dtype(np.float32), diagonals, diagonal)
    largest = np.abs(diagonals).max(axis=1)
    large = largest > _NEGLIGIBLE * largest.max(initial=0.0)

    def total(compute: Callable[[KernelRows], Array], shape: Any, exact: bool) -> Array:
        out = np.zeros(shape, dtype=np.float64 if exact else dtype)
        for counts, (weight, part) in zip(large, parts, strict=True):
            if exact or counts:
                source = part.exact if exact or dtype == np.float64 else part.rounded
                out += out.dtype.type(weight * part.scale) * compute(source)
        return out

    def rows(idx: Array, exact: bool = False) -> Array:
        return total(lambda source: source.rows(idx), (len(idx), n), exact)

    def block(idx: Array, exact: bool = False) -> Array:
        return total(lambda source: source.block(idx), (len(idx), len(idx)), exact)

    def product(idx: Array, coef: Array) -> Array:
        return total(lambda source: source.product(idx, coef), n, True)

    return RowGram(
        rows,
        diagonal,
        cache_bytes if parts else 0.0,
        dtype,
        compute_block=block,
        exact_rows=lambda idx: rows(idx, exact=True),
        exact_block=lambda idx: block(idx, exact=True),
        exact_product=product,
        compute_product=product,
    )


class FactoredGram:
    """A Gram matrix read by rows plus one of low rank, ``K + F' diag(w) F``.

    Parameters
    ----------
    gram : Gram
        K.
    F : ndarray of shape (r, n)
    weights : ndarray of shape (r,)
        w.
    """

    whole = None
    order = None

    def __init__(self, gram: Gram, F: Array, weights: Array) -> None:
        used = np.flatnonzero(weights)
        if 2 * len(used) < len(F):  # zeros cost less than a copy of most of it
            F, weights = F[used], weights[used]
        self.gram, self.F, self.weights = gram, F, weights
        self.n, self.dtype = gram.n, gram.dtype
        size = np.abs(weights) * np.maximum(F.max(axis=1), -F.min(axis=1)) ** 2
        self._large = np.flatnonzero(size > _NEGLIGIBLE * self.diagonal().max())

    def diagonal(self) -> Array:
        """Return the diagonal in float64."""
        own = np.einsum("r,ri,ri->i", self.weights, self.F, self.F)
        return np.asarray(self.gram.diagonal() + own)

    def rows(self, idx: Array) -> Array:
        """Return the exact K[idx]."""
        left = self.weights[:, None] * self.F[:, idx]
        return np.asarray(self.gram.rows(idx) + left.T @ self.F)

    def block(self, idx: Array, exact: bool = False) -> Array:
        """Return K[idx][:, idx] as a C-contiguous float64 array of its own."""
        used = np.arange(len(self.F)) if exact else self._large
        F = self.F[np.ix_(used, idx)]
        out = self.gram.block(idx, exact)
        out += (self.weights[used, None] * F).T @ F
        return out

    def product(self, idx: Array, coef: Array, power: int = 1) -> Array:
        """Return the exact K[:, idx] @ coef, or with the entries of K squared for ``power=2``."""
        if power == 1:
            return np.asarray(self.gram.product(idx, coef) + self._low_rank(idx, coef))
        out, nothing = np.zeros((2, self.n))
        self.accumulate_squares(idx, np.zeros_like(coef), coef, nothing, out, exact=True)
        return out

    def accumulate(self, idx: Array, coef: Array, out: Array) -> None:
        """Add K[idx].T @ coef to the float64 array `out`."""
        self.gram.accumulate(idx, coef, out)
        out += self._low_rank(idx, coef)

    def _low_rank(self, idx: Array, coef: Array) -> Array:
        """Return the product of the part of low rank with the coefficients of some rows."""
        spread = np.zeros(self.n)  # zeros cost less than a copy of F
        spread[idx] = coef
        return np.asarray((self.weights * (self.F @ spread)) @ self.F)

    def accumulate_squares(
        self,
        idx: Array,
        coef: Array,
        squares: Array,
        out: Array,
        out_squares: Array,
        exact: bool = False,
    ) -> None:
        """Accumulate, and add (K o K)[idx].T @ squares to `out_squares`."""
        for first in range(0, len(idx), _STEP):
            part = slice(first, first + _STEP)
            K = self.rows(idx[part])
            out += coef[part] @ K
            out_squares += squares[part] @ K**2
