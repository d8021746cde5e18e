"""Pairwise products and distances, the quantities the standard kernels are functions of.

Data are dense arrays or scipy CSR matrices with one sample a row; results are dense float64.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from kernelfit.utils.jit import jit

Array = NDArray[Any]
Data = Any  # ndarray or scipy.sparse CSR

# Up to this many features, Gaussian rows by summed squared differences take 0.9 to 1.2 times as
# long as by the matrix product ||x||^2 + ||y||^2 - 2 x'y, and lose nothing to cancellation.
MAX_DIRECT_FEATURES = 64
_MAX_SQUARE = 1e300  # sums of some such numbers are finite
_ROUNDING = 32.0 * float(np.finfo(np.float64).eps)  # of a sum of squares, summed up in two orders
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

    Dense data with at most 64 features are summed difference by difference. Otherwise
    :math:`\|x\|^2 + \|y\|^2 - 2x'y` is used; dense data are centred at the mean of X first, since
    its rounding error is relative to the norms, which centring lessens, and not to the distance.

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
    X = as_data(X)
    other = X if Y is None else as_data(Y)
    dense = not (sparse.issparse(X) or sparse.issparse(other))
    if dense and X.shape[1] <= MAX_DIRECT_FEATURES:
        D = np.empty((X.shape[0], other.shape[0]))
        sum_squared_differences(X, np.ascontiguousarray(other.T), D)
        return D
    if dense:
        centre = X.mean(axis=0)
        X = X - centre
        other = X if Y is None else other - centre
    norms, other_norms = squared_norms(X), squared_norms(other)
    largest = max(norms.max(initial=0.0), other_norms.max(initial=0.0))
    if largest > _MAX_SQUARE:
        # In units of the largest number nothing overflows before the last step.
        unit = max(np.abs(A).max() for A in (X, other))
        D = squared_distances(X / unit, None if Y is None else other / unit)
        with np.errstate(over="ignore"):
            D *= unit
            D *= unit
        return D
    D = products(X, other)
    expand_squares(D, norms, other_norms)
    if Y is None:
        np.fill_diagonal(D, 0.0)
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
    for row, norm in zip(P, x_norms, strict=True):
        norms = norm + y_norms  # first: x and y exchanged give the same to the last bit
        row *= -2.0
        row += norms
        norms *= _ROUNDING
        np.copyto(row, 0.0, where=row <= norms)


def pad_features(XT: Array) -> Array:
    """Return XT with rows of zeros added up to a multiple of four."""
    missing = -XT.shape[0] % 4
    return np.pad(XT, ((0, missing), (0, 0))) if missing else XT


def sum_squared_differences(A: Array, XT: Array, out: Array) -> None:
    """Fill ``out[i, j]`` with the squared distance of row i of A to column j of XT.

    Every entry is summed over the features in one fixed order. So an entry does not depend on
    which rows are asked for together, equal points are at distance zero and have equal rows, and
    a square result is symmetric, all to the last bit.

    Parameters
    ----------
    A : ndarray of shape (m, d)
    XT : ndarray of shape (d, n)
        It need not be copied where d is a multiple of four; see :func:`pad_features`.
    out : ndarray of shape (m, n)
        All in C order and of one dtype.
    """
    if A.shape[1] != XT.shape[0] or out.shape != (A.shape[0], XT.shape[1]):
        raise ValueError(
            f"expected points of as many features, got {A.shape[1]} and {XT.shape[0]}, and an "
            f"output of shape {(A.shape[0], XT.shape[1])}, got {out.shape}"
        )
    if A.shape[1] % 4:
        A, XT = np.ascontiguousarray(pad_features(A.T).T), pad_features(XT)
    _sum_squared_differences(A, XT, out, np.empty(out.shape[1], dtype=out.dtype))


@jit()
def _sum_squared_differences(A: Array, XT: Array, out: Array, spare: Array) -> None:
    """Do the work on a number of features that is a multiple of four."""
    m, d = A.shape
    n = XT.shape[1]
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
                    j = np.uint64(place)
                    x0, x1, x2, x3 = XT[k, j], XT[k + 1, j], XT[k + 2, j], XT[k + 3, j]
                    s0, s1, s2, s3 = x0 - a0, x1 - a1, x2 - a2, x3 - a3
                    t0, t1, t2, t3 = x0 - b0, x1 - b1, x2 - b2, x3 - b3
                    first[j] += (s0 * s0 + s1 * s1) + (s2 * s2 + s3 * s3)
                    second[j] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
