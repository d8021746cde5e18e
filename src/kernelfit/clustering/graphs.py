"""Affinities: how alike two points are, as a non-negative symmetric matrix, dense or CSR.

Neighbour searches are left to the caller, who hands over indices and distances.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.sparse.csgraph import connected_components

from kernelfit.kernels.distances import Array, Data, squared_distances

_MIN_LOCAL_SCALE = 0.1  # of the median scale: repeated points are at distance zero
_NO_LINK = 1e-12  # of the largest similarity of both points: no eigensolver would see it


def bandwidth_gamma(X: Data, rule: str, max_rows: int = 2000) -> float:
    r"""Return gamma of the kernel :math:`\exp(-\gamma\|x-y\|^2)` by a rule on pairwise distances.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    rule : {"median", "variance"}
        Median of the distances, or their variance (as Yang and Li do), is the bandwidth tau, and
        :math:`\gamma = 1/(2\tau^2)`. The variance has the unit of a squared length: rescaled data
        get another kernel, down to the identity.
    max_rows : int, default=2000
        Distances are taken between this many rows at most, evenly spaced in X.

    Returns
    -------
    float
        1.0 when all the points are equal, infinite when they are too close to square a distance.
    """
    n = X.shape[0]
    if n > max_rows:
        X = X[np.linspace(0, n - 1, max_rows).astype(np.intp)]
    distances = np.sqrt(squared_distances(X)[np.triu_indices(X.shape[0], 1)])
    if distances.size == 0 or distances.max() == 0.0:
        return 1.0
    tau = float(np.median(distances) if rule == "median" else distances.var())
    if tau == 0.0:  # more than half of the pairs are equal, or all distances are
        tau = float(distances.mean())
    return 1.0 / (2.0 * tau**2) if tau**2 > 0.0 else np.inf


def reconstruction_gamma(X: Array, max_rows: int = 1000) -> float:
    r"""Return gamma by which the other points best reconstruct every point (SC-MS).

    The bandwidth minimises the sum over i of the distance of x_i to the average of the other
    points, weighted by :math:`\exp(-\gamma\|x_i-x_j\|^2)`: a search on a logarithmic grid around
    the median rule, then by golden section.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    max_rows : int, default=1000
        Only this many rows are used at most, evenly spaced in X.

    Returns
    -------
    float
    """
    n = X.shape[0]
    if n > max_rows:
        X = X[np.linspace(0, n - 1, max_rows).astype(np.intp)]
    D2 = squared_distances(X)
    np.fill_diagonal(D2, np.inf)  # a point does not reconstruct itself
    nearest = D2.min(axis=1, keepdims=True)
    if not np.isfinite(nearest).all() or D2[np.isfinite(D2)].max() == 0.0:
        return 1.0

    def error(log_gamma: float) -> float:
        W = np.exp(-np.exp(log_gamma) * (D2 - nearest))  # scaled by row: no row vanishes
        W /= W.sum(axis=1, keepdims=True)
        return float(np.linalg.norm(X - W @ X, axis=1).sum())

    grid = np.log(bandwidth_gamma(X, "median")) + np.linspace(-3.0, 7.0, 21)
    best = int(np.argmin([error(g) for g in grid]))
    bracket = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(error, bounds=bracket, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x))


def local_scales(neighbour_distances: Array) -> Array:
    """Return the distance of every point to its last given neighbour, kept away from zero."""
    scales = neighbour_distances[:, -1].astype(np.float64)
    positive = scales[scales > 0]
    floor = _MIN_LOCAL_SCALE * float(np.median(positive)) if positive.size else 1.0
    return np.maximum(scales, floor)


def self_tuning(D2: Array, x_scales: Array, y_scales: Array) -> Array:
    r"""Return the locally scaled kernel :math:`\exp(-\|x-y\|^2 / (s_x s_y))`, written over D2.

    Parameters
    ----------
    D2 : ndarray of shape (n, m)
        Squared distances.
    x_scales, y_scales : ndarray of shape (n,) and (m,)
        As `local_scales` returns them.

    Returns
    -------
    ndarray of shape (n, m)
    """
    D2 /= -x_scales[:, None]
    D2 /= y_scales
    return np.exp(D2, out=D2)


def neighbour_graph(indices: Array, values: Array, n_columns: int) -> sparse.csr_array:
    """Return the directed graph with ``values[i, r]`` on the edge from i to ``indices[i, r]``.

    Parameters
    ----------
    indices, values : ndarray of shape (n, k)
    n_columns : int

    Returns
    -------
    csr_array of shape (n, n_columns)
    """
    n, k = indices.shape
    index = np.int32 if n * k < 2**31 else np.int64  # scikit-learn reads 32-bit indices alone
    starts = np.arange(0, n * k + 1, k, dtype=index)
    data = np.ascontiguousarray(values, dtype=np.float64).ravel()
    return sparse.csr_array((data, indices.ravel().astype(index), starts), shape=(n, n_columns))


def symmetrised(graph: sparse.csr_array) -> sparse.csr_array:
    """Return the mean of a directed graph and its reverse, without stored zeros."""
    mean = sparse.csr_array(0.5 * (graph + graph.T))
    mean.eliminate_zeros()
    mean.sort_indices()
    return mean


@njit(cache=True)
def nearest_rows(D: Array, k: int) -> Array:
    """Return the rows of the k smallest entries of every column, of equal ones the first.

    Parameters
    ----------
    D : ndarray of shape (n, m)
    k : int
        At most n.

    Returns
    -------
    ndarray of shape (m, k)
        In ascending order of the entries.
    """
    n, m = D.shape
    rows = np.zeros((m, k), dtype=np.intp)
    lowest = np.full((m, k), np.inf)
    for i in range(n):
        for j in range(m):
            if D[i, j] < lowest[j, k - 1]:
                at = k - 1
                while at > 0 and D[i, j] < lowest[j, at - 1]:
                    lowest[j, at] = lowest[j, at - 1]
                    rows[j, at] = rows[j, at - 1]
                    at -= 1
                lowest[j, at] = D[i, j]
                rows[j, at] = i
    return rows


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
        links = sparse.csr_array(K).maximum(0.0)
        return int(connected_components(links, directed=False, return_labels=False))
    return int(_count_pieces(K, _NO_LINK * np.maximum(K.max(axis=1), 0.0)))


@njit(cache=True)
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


def lone_points(K: Array | sparse.csr_array) -> NDArray[np.bool_]:
    """Return which points have no positive similarity, not even to themselves."""
    if sparse.issparse(K):
        return np.asarray(sparse.csr_array(K).maximum(0.0).sum(axis=1) == 0.0)
    return np.asarray(K.max(axis=1) <= 0.0)


def with_own_pieces(K: Array | sparse.csr_array, n_clusters: int) -> Array | sparse.csr_array:
    """Return K where a point without any similarity is a piece of its own, like itself alone.

    Its similarity to itself is the mean degree of the others, so that its row of the embedding is
    of their size. Where there are more pieces than clusters, K itself is returned: the lone points
    have no embedding then, and leave the clusters to the others.

    Parameters
    ----------
    K : ndarray or csr_array of shape (n, n)
        Symmetric, with a positive entry.
    n_clusters : int

    Returns
    -------
    ndarray or csr_array of shape (n, n)
        K itself where it has no lone points.
    """
    lone = np.flatnonzero(lone_points(K))
    if lone.size == 0 or n_pieces(K) > n_clusters:
        return K
    if sparse.issparse(K):
        degree = float(sparse.csr_array(K).maximum(0.0).sum()) / (K.shape[0] - lone.size)
        missing = np.zeros(K.shape[0])
        missing[lone] = degree - K.diagonal()[lone]
        return sparse.csr_array(K + sparse.diags_array(missing))
    degree = sum(float(row[row > 0].sum()) for row in K) / (K.shape[0] - lone.size)
    K = K.copy()
    K[lone, lone] = degree
    return K


def diagnose(K: Array | sparse.csr_array, n_clusters: int, advice: str = "") -> str | None:
    """Return one sentence on an affinity that cannot show `n_clusters` clusters, or None.

    Parameters
    ----------
    K : ndarray or csr_array of shape (n, n)
        Symmetric.
    n_clusters : int
    advice : str, default=""
        What links more points, where there is something to set.

    Returns
    -------
    str or None
        Says that K is almost a diagonal matrix, in more components than clusters are wanted, or
        has fewer different rows.
    """
    n = K.shape[0]
    own = float(np.abs(K.diagonal()).sum())
    # Row by row: the absolute values of all of K would take as much memory again.
    total = float(abs(K).sum()) if sparse.issparse(K) else sum(float(abs(row).sum()) for row in K)
    advice = f"; {advice}" if advice else ""
    if n > 1 and total - own <= 1e-6 * own:
        return (
            "the affinity matrix is almost diagonal: every point is alike to itself alone" + advice
        )
    pieces = n_pieces(K)
    if pieces > n_clusters:
        n_lone = int(lone_points(K).sum())
        if pieces - n_lone <= n_clusters:
            return (
                f"{n_lone} of the {n} points have no similarity to any point, and {n_clusters} "
                "clusters are not enough for each of them and the others, so they are put into "
                f"arbitrary clusters{advice}"
            )
        return (
            f"the affinity graph is in {pieces} pieces, more than the {n_clusters} clusters "
            f"wanted, so some pieces share a cluster arbitrarily{advice}"
        )
    if sparse.issparse(K):
        return None
    marks = K @ np.cos(np.arange(n))  # equal for equal points
    n_distinct = 1 + int(np.sum(np.diff(np.sort(marks)) > 1e-12 * np.abs(marks).max()))
    return _too_few(n_distinct, n_clusters)


def diagnose_points(X: Array, n_clusters: int) -> str | None:
    """Return one sentence on points of which fewer than `n_clusters` differ, or None.

    A graph of neighbours shows no longer that its points are equal.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    n_clusters : int

    Returns
    -------
    str or None
    """
    distinct: set[bytes] = set()
    for row in X:
        distinct.add((row + 0.0).tobytes())  # -0.0 becomes 0.0
        if len(distinct) == n_clusters:
            return None
    return _too_few(len(distinct), n_clusters)


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


def _too_few(n_distinct: int, n_clusters: int) -> str | None:
    if n_distinct >= n_clusters:
        return None
    return (
        f"only {n_distinct} of the points can be told apart, fewer than the {n_clusters} clusters "
        "wanted: some clusters are arbitrary"
    )
