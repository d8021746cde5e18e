"""Pairwise products and distances, the quantities the standard kernels are functions of.

Data are dense arrays or scipy CSR matrices with one sample a row; results are dense float64.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from kernelfit.utils.jit import jit

Array = NDArray[Any]
Data = Any  # ndarray or scipy.sparse CSR

# Up to this many features, Gaussian rows by summed squared differences take 0.8 to 1.2 times as
# long as by the matrix product ||x||^2 + ||y||^2 - 2 x'y, and lose nothing to cancellation.
MAX_DIRECT_FEATURES = 32
_MAX_SQUARE = 1e300  # sums of some such numbers are finite
_ROUNDING = 32.0 * float(np.finfo(np.float64).eps)  # of a sum of squares, summed up in two orders
_CENTRE_ROWS, _MAX_MOVED = 128, 100.0  # rows of a median; its squared distance to the mean at most
_STRIP_BYTES, _STRIP_ROWS = 2**20, 256  # of a symmetric matrix computed at a time
_BLOCK_BYTES = 2**18  # of one array of rows, where several are worked on at a time
_COLUMN_BLOCK = 512  # columns per pass of the loop below: its operands stay in the L2 cache


def as_data(X: Data) -> Data:
    """Return X as a C-contiguous float64 array, or as a float64 CSR matrix when it is sparse."""
    if sparse.issparse(X):
        return X.tocsr().astype(np.float64, copy=False)
    return np.ascontiguousarray(X, dtype=np.float64)


def squared_norms(X: Data) -> Array:
    """Return the squared Euclidean norm of every row, infinity where it overflows."""
    with np.errstate(over="ignore"):
        if sparse.issparse(X):
            return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
        return np.asarray(np.einsum("ij,ij->i", X, X))


def products(X: Data, Y: Data | None = None) -> Array:
    """Return the inner products between the rows of X and those of Y.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    Y : array or CSR matrix of shape (m, d), default=None
        X itself when None.

    Returns
    -------
    ndarray of shape (n, m)
        Where sums overflow, infinity or nan.
    """
    X = as_data(X)
    Y = X if Y is None else as_data(Y)
    with np.errstate(over="ignore", invalid="ignore"):
        P = X @ Y.T
    return P.toarray() if sparse.issparse(P) else np.asarray(P)


def squared_distances(X: Data, Y: Data | None = None) -> Array:
    r"""Return the squared Euclidean distances between the rows of X and those of Y.

    Dense data with at most 32 features are summed difference by difference. Otherwise
    :math:`\|x\|^2 + \|y\|^2 - 2x'y` is used; dense data are centred at the mean of Y first, or at
    the median of some of its rows where outliers have moved the mean far away, since the rounding
    error is relative to the norms, which centring lessens, and not to the distance.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    Y : array or CSR matrix of shape (m, d), default=None
        X itself when None; the diagonal is then exactly zero.

    Returns
    -------
    ndarray of shape (n, m)
        Never negative.
    """
    if Y is not None:
        return SquaredDistances(Y)(X)
    X = as_data(X)
    D = np.empty((X.shape[0], X.shape[0]))
    for start, strip in SquaredDistances(X).lower_strips():
        write_symmetric(strip, start, D)
    return D


class SquaredDistances:
    """The squared distances of any points to fixed ones; see `squared_distances`.

    Parameters
    ----------
    Y : array or CSR matrix of shape (m, d)
    """

    def __init__(self, Y: Data) -> None:
        self._Y = as_data(Y)
        self._dense = not sparse.issparse(self._Y)
        self._direct = self._dense and self._Y.shape[1] <= MAX_DIRECT_FEATURES

    @cached_property
    def _transposed(self) -> Array:
        return pad_features(np.ascontiguousarray(self._Y.T))

    @cached_property
    def _centred(self) -> tuple[Array, Array, Array]:
        """The centre of Y, Y without it, and the squared norms of that."""
        centre = _centre(self._Y) if len(self._Y) else np.zeros(self._Y.shape[1])
        Y = self._Y - centre
        return centre, Y, squared_norms(Y)

    def __call__(self, X: Data) -> Array:
        """Return the squared distances of the rows of X, an array of shape (n, m)."""
        X = as_data(X)
        if X.shape[1] != self._Y.shape[1]:
            raise ValueError(f"expected {self._Y.shape[1]} features, got {X.shape[1]}")
        if self._direct and not sparse.issparse(X):
            D = np.empty((X.shape[0], self._Y.shape[0]))
            sum_squared_differences(_padded_rows(X), self._transposed, D)
            return D
        if self._dense and not sparse.issparse(X):
            centre, Y, norms = self._centred
            X = X - centre
            return _squares_by_products(X, Y, squared_norms(X), norms)
        return _squares_by_products(X, self._Y, squared_norms(X), squared_norms(self._Y))

    def lower_strips(self) -> Iterator[tuple[int, Array]]:
        """Yield rows of the matrix D of the distances of Y to itself, at least to the diagonal.

        They come as D[start:stop, :end] with their start, and so few at a time that they stay near
        the processor. The next ones may be written over them.
        """
        n = self._Y.shape[0]
        if not self._dense:
            D = self(self._Y)
            np.fill_diagonal(D, 0.0)
            yield 0, D
            return
        few = max(16, _STRIP_BYTES // (8 * max(n, 1)))
        step = few if self._direct else max(few, _STRIP_ROWS)
        memory = np.empty(min(step, n) * n)
        rows = _padded_rows(self._Y) if self._direct else self._Y
        for start in range(0, n, step):
            stop = min(start + step, n)
            D = memory[: (stop - start) * stop].reshape(stop - start, stop)
            if self._direct:
                sum_squared_differences(rows[start:stop], self._transposed, D)
            else:
                _, Y, norms = self._centred
                _squares_by_products(Y[start:stop], Y[:stop], norms[start:stop], norms[:stop], D)
                D[np.arange(stop - start), np.arange(start, stop)] = 0.0
            for first in range(0, stop - start, few):
                yield start + first, D[first : first + few]


def _centre(Y: Array) -> Array:
    """Return the mean, or the median of some rows where outliers have moved the mean far away.

    Rows lose the digits that the centre has more than they.
    """
    some = Y[:: max(1, len(Y) // _CENTRE_ROWS)]
    with np.errstate(over="ignore", invalid="ignore"):
        mean, median = Y.mean(axis=0), np.median(some, axis=0)
        if not (np.isfinite(mean).all() and np.isfinite(median).all()):
            return np.zeros(Y.shape[1])  # sums of such numbers overflow
        typical = np.median(squared_norms(some - median))
        moved = squared_norms((mean - median)[None])[0]
        return mean if moved <= _MAX_MOVED * typical else median


def _squares_by_products(
    X: Data, Y: Data, x_norms: Array, y_norms: Array, out: Array | None = None
) -> Array:
    """Return squared distances from inner products; out is for dense data."""
    largest = max(x_norms.max(initial=0.0), y_norms.max(initial=0.0))
    if largest > _MAX_SQUARE:
        # In units of the largest number nothing overflows before the last step.
        unit = max(np.abs(A).max() for A in (X, Y))
        X, Y = X / unit, Y / unit
        D = _squares_by_products(X, Y, squared_norms(X), squared_norms(Y), out)
        with np.errstate(over="ignore"):
            D *= unit
            D *= unit
        return D
    D = products(X, Y) if out is None else np.matmul(X, Y.T, out=out)
    expand_squares(D, x_norms, y_norms)
    return D


def euclidean_distances(X: Array, Y: Array | None = None) -> Array:
    """Return the Euclidean distances between the rows of X and those of Y, both dense."""
    # Summed difference by difference whatever the number of features: the root of the error of an
    # inner product would be large where points are close.
    X = as_data(X)
    other = X if Y is None else as_data(Y)
    D = np.empty((X.shape[0], other.shape[0]))
    sum_squared_differences(X, np.ascontiguousarray(other.T), D)
    return np.sqrt(D, out=D)


def manhattan_distances(X: Array, Y: Array | None = None) -> Array:
    """Return the l1 distances between the rows of X and those of Y, both dense."""
    return np.asarray(cdist(X, X if Y is None else Y, metric="cityblock"))


def expand_squares(P: Array, x_norms: Array, y_norms: Array) -> None:
    """Turn inner products into squared distances in place, zero within rounding of the norms."""
    _expand_squares(P, x_norms, y_norms, P.dtype.type(_ROUNDING))


@jit()
def _expand_squares(P: Array, x_norms: Array, y_norms: Array, rounding: Any) -> None:
    zero = rounding - rounding
    for i in range(P.shape[0]):
        norm, row = x_norms[i], P[i]
        for place in range(row.size):
            j = np.uint64(place)  # with a sign, the index would be tested for it
            norms = norm + y_norms[j]  # first: x and y exchanged give the same to the last bit
            square = norms - (row[j] + row[j])
            row[j] = zero if square <= rounding * norms else square


def _padded_rows(X: Array) -> Array:
    """Return the points with features of zeros added up to a multiple of four."""
    return np.ascontiguousarray(pad_features(X.T).T)


def pad_features(XT: Array) -> Array:
    """Return XT with rows of zeros added up to a multiple of four."""
    missing = -XT.shape[0] % 4
    return np.pad(XT, ((0, missing), (0, 0))) if missing else XT


def sum_squared_differences(A: Array, XT: Array, out: Array, first: int = 0) -> None:
    """Fill ``out[i, j]`` with the squared distance of row i of A to column first + j of XT.

    Every entry is summed over the features in one fixed order. So an entry does not depend on
    which rows are asked for together, equal points are at distance zero and have equal rows, and
    a square result is symmetric, all to the last bit.

    Parameters
    ----------
    A : ndarray of shape (m, d)
    XT : ndarray of shape (d, n)
        It need not be copied where d is a multiple of four; see :func:`pad_features`.
    out : ndarray of shape (m, n or less)
        All in C order and of one dtype.
    first : int, default=0
    """
    beyond = first + out.shape[1] > XT.shape[1]
    if A.shape[1] != XT.shape[0] or out.shape[0] != A.shape[0] or beyond:
        raise ValueError(
            f"expected points of as many features, got {A.shape[1]} and {XT.shape[0]}, and an "
            f"output of shape {(A.shape[0], XT.shape[1])} or a part of it, got {out.shape}"
        )
    if A.shape[1] % 4:
        A, XT = np.ascontiguousarray(pad_features(A.T).T), pad_features(XT)
    with np.errstate(over="ignore"):  # where nothing is compiled, numpy would tell of infinities
        _sum_squared_differences(A, XT, out, np.empty(out.shape[1], dtype=out.dtype), first)


@jit()
def _sum_squared_differences(A: Array, XT: Array, out: Array, spare: Array, offset: int) -> None:
    """Do the work on a number of features that is a multiple of four."""
    m, d = A.shape
    n = out.shape[1]
    for start in range(0, n, _COLUMN_BLOCK):
        stop = min(start + _COLUMN_BLOCK, n)
        for i in range(0, m, 2):  # two rows share each load of XT
            i2 = min(i + 1, m - 1)
            first = out[i]
            second = out[i2] if i2 > i else spare
            for place in range(start, stop):
                j = np.uint64(place)  # with a sign, the index would be tested for it
                first[j] = 0.0
                second[j] = 0.0
            for k in range(0, d, 4):
                a0, a1, a2, a3 = A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3]
                b0, b1, b2, b3 = A[i2, k], A[i2, k + 1], A[i2, k + 2], A[i2, k + 3]
                for place in range(start, stop):
                    j, c = np.uint64(place), np.uint64(place + offset)
                    x0, x1, x2, x3 = XT[k, c], XT[k + 1, c], XT[k + 2, c], XT[k + 3, c]
                    s0, s1, s2, s3 = x0 - a0, x1 - a1, x2 - a2, x3 - a3
                    t0, t1, t2, t3 = x0 - b0, x1 - b1, x2 - b2, x3 - b3
                    first[j] += (s0 * s0 + s1 * s1) + (s2 * s2 + s3 * s3)
                    second[j] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)


def write_symmetric(strip: Array, start: int, out: Array) -> None:
    """Write rows from start on, at least to the diagonal, and their mirror image to a matrix."""
    m, n = strip.shape
    out[start : start + m, :n] = strip
    out[:start, start : start + m] = strip[:, :start].T


def fill_in_blocks(fill: Callable[..., None], XT: Array, YT: Array | None) -> Array:
    """Return a matrix that is made of some rows at a time, so that these stay in cache.

    Parameters
    ----------
    fill : callable
        ``fill(XT, YT, out)`` writes the values between the columns of two arrays.
    XT : ndarray of shape (d, n)
    YT : ndarray of shape (d, m) or None
        None for XT itself: the matrix is symmetric, and half of it is made.

    Returns
    -------
    ndarray of shape (n, m)
    """
    n = XT.shape[1]
    m = n if YT is None else YT.shape[1]
    K = np.empty((n, m))
    step = max(1, _BLOCK_BYTES // (8 * max(1, m)))
    for start in range(0, n, step):
        stop = min(start + step, n)
        if YT is not None:
            fill(XT[:, start:stop], YT, K[start:stop])
            continue
        strip = np.empty((stop - start, stop))
        fill(XT[:, start:stop], XT[:, :stop], strip)
        write_symmetric(strip, start, K)
    return K
