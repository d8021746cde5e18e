"""Affinities: how alike two points are, as a non-negative symmetric matrix, dense or CSR.

Neighbour searches are left to the caller, who hands over indices and distances.
"""

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.sparse.csgraph import connected_components

from kernelfit.kernels.distances import Array, Data, squared_distances

_MIN_LOCAL_SCALE = 0.1  # of the median scale: repeated points are at distance zero


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
        1.0 when all the points are equal.
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
    return 1.0 / (2.0 * tau**2)


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


def diagnose(K: Array | sparse.csr_array, n_clusters: int) -> str | None:
    """Return one sentence on an affinity that cannot show `n_clusters` clusters, or None.

    Parameters
    ----------
    K : ndarray or csr_array of shape (n, n)
        Symmetric, non-negative.
    n_clusters : int

    Returns
    -------
    str or None
        Says that K is almost a diagonal matrix, in more components than clusters are wanted, or
        has fewer different rows.
    """
    n = K.shape[0]
    total, own = float(abs(K).sum()), float(abs(K.diagonal()).sum())
    if n > 1 and total - own <= 1e-6 * own:
        return (
            "the affinity matrix is almost diagonal: every point is alike to itself alone; "
            "widen the kernel (a smaller gamma, or gamma='median') or standardise the data"
        )
    if sparse.issparse(K):
        n_components = connected_components(K, directed=False, return_labels=False)
        if n_components > n_clusters:
            return (
                f"the affinity graph is in {n_components} pieces, more than the {n_clusters} "
                "clusters wanted, so some pieces share a cluster arbitrarily; "
                "raise n_neighbors or n_nonzero"
            )
        return None
    marks = K @ np.cos(np.arange(n))  # equal for equal points
    n_distinct = 1 + int(np.sum(np.diff(np.sort(marks)) > 1e-12 * np.abs(marks).max()))
    if n_distinct < n_clusters:
        return (
            f"the affinity matrix tells apart only {n_distinct} of the points, fewer than the "
            f"{n_clusters} clusters wanted: some clusters are arbitrary"
        )
    return None
