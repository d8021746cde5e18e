"""Affinity matrices: their products, and how repeated points count in them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]
Multiply = Callable[[Any, Array], Array]

_BLOCK = 256  # rows of a block: few enough for several threads, enough for a fast product
_SPARSE_BLOCK = 4096
_WORTH_THREADS = 2**22  # multiplications below which handing out blocks costs more than it gains


class LowRank:
    """The matrix ``Z Z'``, kept as its factor.

    Parameters
    ----------
    Z : ndarray of shape (n, r)
    """

    def __init__(self, Z: Array) -> None:
        self.Z = Z
        self.shape = (Z.shape[0], Z.shape[0])

    def __matmul__(self, V: Array) -> Array:
        """Return the product with a vector or a matrix."""
        return multiply(self, V)


class BlockProducts:
    """Products with affinity matrices that are the same bits for any number of threads.

    A matrix is multiplied in blocks of rows. The blocks are fixed, and the threads share them. For
    a dense one this needs a linear algebra library that is set to one thread, since its own threads
    change the order of sums. It is a context manager: its threads end with it.

    Parameters
    ----------
    n_threads : int
    """

    def __init__(self, n_threads: int) -> None:
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def __enter__(self) -> "BlockProducts":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def __call__(self, A: Any, V: Array) -> Array:
        """Return the product of an array, a sparse matrix or a `LowRank` with V."""
        if isinstance(A, LowRank):
            return self(A.Z, self(A.Z.T, V))
        n, dense = A.shape[0], isinstance(A, np.ndarray)
        n_terms = (A.size if dense else A.nnz) * (V.size // len(V))
        alone = self._pool is None or n_terms < _WORTH_THREADS
        if not dense and alone:
            return np.asarray(A @ V)
        out = np.empty((n, *V.shape[1:]))
        step = _BLOCK if dense else _SPARSE_BLOCK
        parts = [slice(first, min(first + step, n)) for first in range(0, n, step)]

        def fill(part: slice) -> None:
            if dense:
                np.matmul(A[part], V, out=out[part])
            else:
                out[part] = _rows(A, part) @ V

        if self._pool is None or alone:
            for part in parts:
                fill(part)
        else:
            list(self._pool.map(fill, parts))
        return out


def _rows(A: Any, part: slice) -> sparse.csr_array:
    """Return some rows of a CSR matrix, which share its memory."""
    starts = A.indptr[part.start : part.stop + 1]
    inside = slice(starts[0], starts[-1])
    entries = (A.data[inside], A.indices[inside], starts - starts[0])
    return sparse.csr_array(entries, shape=(part.stop - part.start, A.shape[1]))


multiply = BlockProducts(1)


class Operator:
    """A matrix with its way of multiplication, for algorithms that write ``A @ V``.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, m)
    multiply : callable
        ``multiply(A, V)``.
    """

    def __init__(self, A: Any, multiply: Multiply) -> None:
        self.A, self.multiply = A, multiply

    def __matmul__(self, V: Array) -> Array:
        return self.multiply(self.A, V)


def in_unit(counts: Array, largest: float) -> Array:
    """Return counts in units of a power of two near the largest, so that ratios keep every bit."""
    return np.asarray(np.ldexp(counts, 1 - np.frexp(largest)[1]))


def counted(K: Any, counts: Array) -> Any:
    """Return the affinity of points that count several times, ``counts_i counts_j K_ij``.

    Sums over its rows are those over the rows of the repeated points together. So degrees, cuts,
    volumes and the non-zero eigenvalues of the normalised matrix are those of repeated points.

    Parameters
    ----------
    K : ndarray, csr_array or LowRank of shape (n, n)
    counts : ndarray of shape (n,)
        Positive.

    Returns
    -------
    ndarray, csr_array or LowRank of shape (n, n)
        K itself where all counts are one.
    """
    if np.all(counts == 1.0):
        return K
    if isinstance(K, LowRank):
        return LowRank(counts[:, None] * K.Z)
    if sparse.issparse(K):
        rows = np.repeat(np.arange(K.shape[0]), np.diff(K.indptr))
        data = K.data * counts[rows] * counts[K.indices]
        return sparse.csr_array((data, K.indices, K.indptr), shape=K.shape)
    scaled = K * counts[:, None]
    scaled *= counts
    return scaled
