"""Affinities: how alike two points are, as a non-negative symmetric matrix, dense or CSR.

Neighbour searches are left to the caller, who hands over indices and distances.
"""

import numpy as np
from scipy import sparse

from kernelfit.kernels.distances import Array
from kernelfit.utils.jit import jit

_MIN_LOCAL_SCALE = 0.1  # of the median scale: the squares of small distances may vanish
_CHUNK_BYTES = 2**25  # of distances that are sorted at a time


def kth_distances(D2: Array, k: int) -> Array:
    """Return the distance of every row to the k-th of its points, the nearest being the first.

    Parameters
    ----------
    D2 : ndarray of shape (m, n)
        Squared distances.
    k : int
        From 1 to n.

    Returns
    -------
    ndarray of shape (m,)
    """
    step = max(1, _CHUNK_BYTES // (8 * D2.shape[1]))
    parts = [
        np.partition(D2[start : start + step], k - 1, axis=1)[:, k - 1]
        for start in range(0, len(D2), step)
    ]
    return np.asarray(np.sqrt(np.concatenate(parts)))


def local_scales(distances: Array) -> Array:
    """Return the distance of every point to a neighbour, kept away from zero."""
    positive = distances[distances > 0]
    floor = _MIN_LOCAL_SCALE * float(np.median(positive)) if positive.size else 1.0
    return np.maximum(distances, floor)


def self_tuning(D2: Array, x_scales: Array, y_scales: Array, *, relative: bool = False) -> Array:
    r"""Return the locally scaled kernel :math:`\exp(-\|x-y\|^2 / (s_x s_y))`, written over D2.

    Parameters
    ----------
    D2 : ndarray of shape (n, m)
        Squared distances.
    x_scales, y_scales : ndarray of shape (n,) and (m,)
        As `local_scales` returns them.
    relative : bool, default=False
        Whether every row is divided by its largest entry, so that no row vanishes.

    Returns
    -------
    ndarray of shape (n, m)
    """
    D2 /= x_scales[:, None]
    D2 /= y_scales
    if relative:
        D2 -= D2.min(axis=1, keepdims=True)
    return np.exp(np.negative(D2, out=D2), out=D2)


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


def symmetrised(graph: sparse.csr_array, maximum: bool = False) -> sparse.csr_array:
    """Return mean or maximum of a directed graph and its reverse, without stored zeros."""
    both = graph.maximum(graph.T) if maximum else 0.5 * (graph + graph.T)
    both = sparse.csr_array(both)
    both.eliminate_zeros()
    both.sort_indices()
    return both


@jit()
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
