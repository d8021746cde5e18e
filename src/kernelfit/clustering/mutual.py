"""Neighbours that agree: links of one side alone are weak."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelfit.clustering.affinities import NeighbourAffinity

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_WEAK = 0.02  # of a mutual link: enough to keep the graph in one piece, too little to lead a cut
_CHUNK_BYTES = 2**25  # of differences at a time


class MutualAffinity(NeighbourAffinity):
    """The graph of the nearest neighbours where a mutual link counts one and another a fiftieth.

    A point at the rim of a cluster names neighbours across the gap, who name nearer ones of their
    own. So every point chooses among its neighbours by their choice.

    Parameters
    ----------
    n_neighbors : int
    n_jobs : int or None
    """

    def _weigh(self, links: Any) -> Any:
        rows = np.repeat(np.arange(self.n), np.diff(links.indptr))
        lengths = edge_lengths(self.X, self.X, rows, links.indices)
        # Squared distances of the training points to their last neighbours.
        self.radii = np.asarray(lengths.reshape(self.n, -1).max(axis=1))
        graph = super()._weigh(links)  # one for a mutual link, a half for another
        graph.data = np.where(graph.data == 1.0, 1.0, _WEAK)
        return graph

    def cross(self, X: Array, relative: bool = False) -> Any:
        """Return the affinities of the rows of X to the training points.

        A link is mutual where the new point is as near as the last neighbour of the other.
        """
        C = super().cross(X, relative)
        if self.n > 1:
            rows = np.repeat(np.arange(len(X)), np.diff(C.indptr))
            near = edge_lengths(X, self.X, rows, C.indices) <= self.radii[C.indices]
            C = sparse.csr_array((np.where(near, 1.0, _WEAK), C.indices, C.indptr), shape=C.shape)
        return C


def edge_lengths(X: Array, Y: Array, rows: Index, columns: Index) -> Array:
    """Return the squared distances of some rows of X to some of Y, pair by pair.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    Y : ndarray of shape (m, d)
    rows, columns : ndarray of shape (p,)

    Returns
    -------
    ndarray of shape (p,)
    """
    out = np.empty(len(rows))
    step = max(1, _CHUNK_BYTES // (8 * X.shape[1]))
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        difference = X[rows[part]] - Y[columns[part]]
        out[part] = np.einsum("ij,ij->i", difference, difference)
    return out
