"""How the rows of a learned factor are shared out to points that were not trained on.

A factor Theta is known between training points only. For a new point x every rule takes an average
of its rows, ``Theta(x, .) = sum_j share_j(x) Theta[j]``, with the shares below. A training point of
weight m counts as m points.
"""

import numpy as np

from kernelfit.solvers.result import FloatArray


def knn_shares(distances: FloatArray, weight: FloatArray, n_neighbors: int) -> FloatArray:
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
    ndarray of shape (m, n)
        Rows sum to 1.
    """
    order = np.argsort(distances, axis=1, kind="stable")
    sorted_weight = weight[order]
    before = np.cumsum(sorted_weight, axis=1) - sorted_weight
    taken = np.clip(n_neighbors - before, 0.0, sorted_weight)
    shares = np.zeros(distances.shape)
    np.put_along_axis(shares, order, taken / taken.sum(axis=1, keepdims=True), axis=1)
    return shares


def reciprocal_neighbours(distances: FloatArray) -> FloatArray:
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
    ndarray of shape (m, n)
    """
    s = distances.argsort(axis=1, kind="stable").argsort(axis=1) + 1.0
    r = distances.argsort(axis=0, kind="stable").argsort(axis=0) + 1.0
    # Of equal products, the nearer training point.
    best = np.lexsort((s, r * s), axis=1)[:, 0]
    shares = np.zeros(distances.shape)
    shares[np.arange(len(distances)), best] = 1.0
    return shares


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
