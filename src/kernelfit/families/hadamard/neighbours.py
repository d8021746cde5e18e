"""How the rows of a learned factor are shared out to points that were not trained on.

A factor Theta is known between training points only. For a new point x every rule takes an average
of its rows, ``Theta(x, .) = sum_j share_j(x) Theta[j]``, with the shares below. A training point of
weight m counts as m points.
"""

from typing import Any

import numpy as np
from scipy import sparse

from kernelfit.families.hadamard.base import FloatArray


def knn_shares(distances: FloatArray, weight: FloatArray, n_neighbors: int) -> Any:
    """Return equal shares of the nearest training points.

    Parameters
    ----------
    distances : ndarray of shape (m, n)
        From new points to training points.
    weight : ndarray of shape (n,)
    n_neighbors : int
        Of several points at the same distance, those that come first.

    Returns
    -------
    csr_array of shape (m, n)
        Rows sum to 1.
    """
    # So many points suffice, whichever they are.
    enough = int(np.searchsorted(np.cumsum(np.sort(weight)), n_neighbors))
    enough = min(enough, len(weight) - 1)
    farthest = np.partition(distances, enough, axis=1)[:, enough]
    rows, columns = np.nonzero(distances <= farthest[:, None])
    nearest_first = np.lexsort((distances[rows, columns], rows))
    columns = columns[nearest_first]
    counts = weight[columns]
    before = np.cumsum(counts) - counts
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    taken = np.clip(n_neighbors - (before - before[starts][rows]), 0.0, counts)
    taken /= np.bincount(rows, taken)[rows]
    shares = sparse.csr_array((taken, (rows, columns)), shape=distances.shape)
    shares.eliminate_zeros()
    return shares


def reciprocal_neighbours(distances: FloatArray) -> Any:
    """Return the whole share of the reciprocal nearest neighbour, the rule of the DANK paper.

    It maximises ``1 / (r s)``, where the new point is the r-th nearest of all new points to the
    training point, and that is the s-th nearest of all training points to the new one. So the
    shares of one point depend on the others.

    Parameters
    ----------
    distances : ndarray of shape (m, n)
        From new points to training points.

    Returns
    -------
    csr_array of shape (m, n)
    """
    s, r = _ranks(distances), _ranks(distances.T).T
    # Of equal products, the nearer training point: s is at most n.
    best = np.argmin(r * s + s / (distances.shape[1] + 1.0), axis=1)
    rows = np.arange(len(distances))
    return sparse.csr_array((np.ones(len(rows)), (rows, best)), shape=distances.shape)


def _ranks(values: FloatArray) -> FloatArray:
    """Return the places, from 1, that the entries of each row have when sorted."""
    ranks = np.empty(values.shape)
    order = np.argsort(values, axis=1, kind="stable")
    np.put_along_axis(ranks, order, np.arange(1.0, values.shape[1] + 1.0)[None], axis=1)
    return ranks


def smooth_shares(kernel: FloatArray, weight: FloatArray) -> FloatArray:
    """Return shares in proportion to a positive kernel: kernel regression of the factor's rows.

    A point to which the kernel of every training point has vanished has none.

    Parameters
    ----------
    kernel : ndarray of shape (m, n)
        Between new points and training points, >= 0.
    weight : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (m, n)
        Rows sum to 1 or are zero.
    """
    shares = kernel * weight
    total = shares.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(shares, total, out=np.zeros(shares.shape), where=total > 0.0))
