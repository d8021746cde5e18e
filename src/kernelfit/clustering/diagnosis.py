"""What is wrong with an affinity or with the data, in one sentence."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelfit.kernels.distances import Array
from kernelfit.utils.jit import jit

_NO_LINK = 1e-12  # of the largest similarity of both points: no eigensolver would see it
_NEARLY_ALL = 0.99  # of the squared distances
_FEW = 0.1  # of the features
_CHUNK_BYTES = 2**19  # of features looked at at a time: they stay in the cache


def n_pieces(K: Array | sparse.csr_array) -> int:
    """Return the number of connected components of an affinity.

    Parameters
    ----------
    K : ndarray or csr_array of shape (n, n)
        Symmetric. Two points are linked by a positive entry that is not negligible.

    Returns
    -------
    int
    """
    if sparse.issparse(K):
        return int(connected_components(_positive(K), directed=False, return_labels=False))
    return int(_count_pieces(K, _NO_LINK * np.maximum(K.max(axis=1), 0.0)))


@jit()
def _count_pieces(K: Array, negligible: Array) -> int:
    """Walk from point to point along the entries that count for one of the two."""
    n = K.shape[0]
    left = np.arange(n)  # the points not yet reached come first
    n_left, n_found = n, 0
    stack = np.empty(n, dtype=np.intp)
    while n_left:
        n_found += 1
        n_left -= 1
        stack[0] = left[n_left]
        height = 1
        while height:
            height -= 1
            i = stack[height]
            kept = 0
            for at in range(n_left):
                j = left[at]
                if K[i, j] > min(negligible[i], negligible[j]):
                    stack[height] = j
                    height += 1
                else:
                    left[kept] = j
                    kept += 1
            n_left = kept
    return n_found


def _positive(K: sparse.csr_array) -> sparse.csr_array:
    """Return the positive entries of K: a stored zero would count as a link."""
    kept = sparse.csr_array(K, copy=True)
    kept.sum_duplicates()
    kept.data = np.maximum(kept.data, 0.0)
    kept.eliminate_zeros()
    return kept


def lone_points(K: Array | sparse.csr_array) -> NDArray[np.bool_]:
    """Return which points have no positive similarity, not even to themselves."""
    if sparse.issparse(K):
        return np.asarray(_positive(K).sum(axis=1) == 0.0)
    return np.asarray(K.max(axis=1) <= 0.0)


def with_own_pieces(
    K: Array | sparse.csr_array, n_clusters: int, counts: Array
) -> Array | sparse.csr_array:
    """Return K where a point without any similarity is a piece of its own, like itself alone.

    Its similarity to itself is the mean degree of the others, so that its row of the embedding is
    of their size. Where there are more pieces than clusters, K itself is returned: the lone points
    have no embedding then, and leave the clusters to the others.

    Parameters
    ----------
    K : ndarray or csr_array of shape (n, n)
        Symmetric, with a positive entry; as `counted` returns it.
    n_clusters : int
    counts : ndarray of shape (n,)
        How many times every point counts in K.

    Returns
    -------
    ndarray or csr_array of shape (n, n)
        K itself where it has no lone points.
    """
    lone = np.flatnonzero(lone_points(K))
    if lone.size == 0 or n_pieces(K) > n_clusters:
        return K
    others = counts.sum() - counts[lone].sum()
    if sparse.issparse(K):
        degree = float(_positive(K).sum()) / others
        missing = np.zeros(K.shape[0])
        missing[lone] = counts[lone] * degree - K.diagonal()[lone]
        return sparse.csr_array(K + sparse.diags_array(missing))
    degree = sum(float(row[row > 0].sum()) for row in K) / others
    K = K.copy()
    K[lone, lone] = counts[lone] * degree
    return K


def diagnose(
    K: Array | sparse.csr_array,
    n_clusters: int,
    advice: str = "",
    sizes: NDArray[np.intp] | None = None,
) -> str | None:
    """Return one sentence on an affinity that cannot show `n_clusters` clusters, or None.

    Parameters
    ----------
    K : ndarray or csr_array of shape (n, n)
        Symmetric.
    n_clusters : int
    advice : str, default=""
        What links more points, where there is something to set.
    sizes : ndarray of shape (n,), default=None
        How many rows of the data every point stands for; one when None.

    Returns
    -------
    str or None
        Says that K is almost a diagonal matrix, in more components than clusters are wanted, or
        has fewer different rows.
    """
    n = K.shape[0]
    sizes = np.ones(n, dtype=np.intp) if sizes is None else sizes
    mass = sizes.astype(np.float64)
    own = float(np.abs(K.diagonal()) @ mass)
    if sparse.issparse(K):
        sums = abs(K) @ mass
    else:  # row by row: the absolute values of all of K would take as much memory again
        sums = np.array([abs(row) @ mass for row in K])
    total = float(mass @ sums)
    advice = f"; {advice}" if advice else ""
    if n > 1 and total - own <= 1e-6 * own:
        return (
            "the affinity matrix is almost diagonal: every point is alike to itself alone" + advice
        )
    pieces = n_pieces(K)
    if pieces > n_clusters:
        lone = lone_points(K)
        if pieces - int(lone.sum()) <= n_clusters:
            return (
                f"{sizes[lone].sum()} of the {sizes.sum()} points have no similarity to any "
                f"point, and {n_clusters} clusters are not enough for them and the others, so they "
                f"are put into arbitrary clusters{advice}"
            )
        return (
            f"the affinity graph is in {pieces} pieces, more than the {n_clusters} clusters "
            f"wanted, so some pieces share a cluster arbitrarily{advice}"
        )
    if sparse.issparse(K):
        return None
    marks = K @ np.cos(np.arange(n))  # equal for equal points
    n_distinct = 1 + int(np.sum(np.diff(np.sort(marks)) > 1e-12 * np.abs(marks).max()))
    if n_distinct >= min(n_clusters, n):
        return None
    return (
        f"the affinity tells only {n_distinct} of the points apart, fewer than the {n_clusters} "
        "clusters wanted: some clusters are arbitrary"
    )


def diagnose_scales(X: Array, counts: Array) -> str | None:
    """Return one sentence where a few features make up nearly all of the distances, or None.

    The share of a feature in the squared distances is that of its variance. A tenth of the
    features, or a single one of fewer than twenty, that has 99 % of it leaves the others without
    a say: their units are too small. Pixels, counts and other features in one unit stay far from
    that.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    counts : ndarray of shape (n,)
        How many times every point counts.

    Returns
    -------
    str or None
    """
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    scale = max(float(largest.max()), np.finfo(float).tiny)  # squares do not overflow
    mean = counts @ X / (scale * counts.sum())
    variances = np.zeros(X.shape[1])
    step = max(1, _CHUNK_BYTES // (8 * X.shape[1]))
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        variances += counts[part] @ (X[part] / scale - mean) ** 2 / counts.sum()
    rounding = 4.0 * np.finfo(float).eps * largest / scale
    variances = variances[variances > rounding**2]  # of features that are not constant
    d = len(variances)
    if d < 2:
        return None
    shares = np.cumsum(np.sort(variances)[::-1]) / variances.sum()
    few = max(1, int(_FEW * d))
    if shares[few - 1] < _NEARLY_ALL:
        return None
    n_large = int(np.argmax(shares >= _NEARLY_ALL)) + 1
    which = "one feature makes" if n_large == 1 else f"{n_large} features make"
    return (
        f"{which} up {shares[n_large - 1]:.1%} of the squared distances, so the other "
        f"{d - n_large} hardly count: standardise the features, unless they are in one unit"
    )


def diagnose_landmarks(C: Array, n_clusters: int) -> str | None:
    """Return one sentence on landmarks that cannot show `n_clusters` clusters, or None.

    Parameters
    ----------
    C : ndarray of shape (n, m)
        Affinities of the points to the landmarks, at most one.
    n_clusters : int

    Returns
    -------
    str or None
    """
    n_unlike = int(np.sum(C.max(axis=1) <= _NO_LINK))
    if n_unlike:
        return (
            f"{n_unlike} of the {len(C)} points are unlike every landmark, so their clusters are "
            "arbitrary; raise n_landmarks or widen the kernel (a smaller gamma)"
        )
    # Landmarks are alike through the points.
    return diagnose(C.T @ C, n_clusters, "raise n_landmarks or widen the kernel (a smaller gamma)")
