r"""A width for every feature by which neighbours best reconstruct the points (SC-MS).

.. math:: \min_w \sum_i \Big\|x_i - \frac{\sum_j W_{ij} x_j}{\sum_j W_{ij}}\Big\|^2, \qquad
    W_{ij} = \exp\Big(-\sum_d w_d (x_{id} - x_{jd})^2\Big)

over the links of a symmetric graph of neighbours, w not negative.

References
----------
.. [1] M. Karasuyama, H. Mamitsuka. "Manifold-based similarity adaptation for label propagation".
   Advances in Neural Information Processing Systems 26 (2013).
"""

# mypy: allow-untyped-calls

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize

from kernelfit.clustering.affinities import NeighbourAffinity
from kernelfit.clustering.graphs import symmetrised
from kernelfit.kernels.distances import Array

_ROWS = 256  # points whose differences are held at a time
_MAX_ITER = 200


def learn_widths(X: Array, graph: sparse.csr_array) -> Array:
    """Return the width parameters w of the features, from equal ones on by a quasi-Newton method.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    graph : csr_array of shape (n, n)
        Symmetric, without links of points to themselves.

    Returns
    -------
    ndarray of shape (d,)
        At least as good as equal ones that make the median distance of linked points one.
    """
    means = np.concatenate([_squares(X, graph, rows).mean(axis=1) for rows in _parts(len(X))])
    typical = float(np.median(means)) * X.shape[1]
    if not typical > 0.0:
        return np.ones(X.shape[1])

    def error(w: Array) -> tuple[float, Array]:
        value, gradient = reconstruction_error(X, graph, w / typical)
        return value / scale, gradient / (typical * scale)

    scale = max(float(np.square(X - X.mean(axis=0)).sum()), np.finfo(float).tiny)
    start = np.ones(X.shape[1])
    found = minimize(
        error, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start),
        options={"maxiter": _MAX_ITER},
    )  # fmt: skip
    return np.asarray(found.x / typical)


def reconstruction_error(X: Array, graph: sparse.csr_array, w: Array) -> tuple[float, Array]:
    """Return the sum of squared errors of the reconstructions and its gradient in the widths.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    graph : csr_array of shape (n, n)
    w : ndarray of shape (d,)

    Returns
    -------
    value : float
    gradient : ndarray of shape (d,)
    """
    value, gradient = 0.0, np.zeros(len(w))
    for rows in _parts(len(X)):
        squares = _squares(X, graph, rows)
        starts = graph.indptr[rows.start : rows.stop + 1] - graph.indptr[rows.start]
        point = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        near = graph.indices[graph.indptr[rows.start] : graph.indptr[rows.stop]]
        exponent = -squares @ w
        exponent -= np.maximum.reduceat(exponent, starts[:-1])[point]  # so that no row vanishes
        P = np.exp(exponent)
        P /= np.add.reduceat(P, starts[:-1])[point]
        left = X[rows] - np.add.reduceat(P[:, None] * X[near], starts[:-1], axis=0)
        value += float(np.sum(left**2))
        pull = np.einsum("ed,ed->e", left[point], X[near])
        pull -= np.add.reduceat(P * pull, starts[:-1])[point]
        gradient += 2.0 * (P * pull) @ squares
    return value, gradient


def _parts(n: int) -> list[slice]:
    return [slice(first, min(first + _ROWS, n)) for first in range(0, n, _ROWS)]


def _squares(X: Array, graph: sparse.csr_array, rows: slice) -> Array:
    """Return the squared differences, feature by feature, along the links of some points."""
    near = graph.indices[graph.indptr[rows.start] : graph.indptr[rows.stop]]
    point = np.repeat(
        np.arange(rows.start, rows.stop), np.diff(graph.indptr[rows.start : rows.stop + 1])
    )
    return np.asarray((X[point] - X[near]) ** 2)


class AdaptiveWidthAffinity(NeighbourAffinity):
    """Gaussian weights on the graph of neighbours, with a learned width for every feature, CSR.

    A point is linked to its neighbours and to those whose neighbour it is. Widths are those of
    points in units of their largest value, whose squares neither vanish nor overflow.
    """

    def _weigh(self, links: sparse.csr_array) -> sparse.csr_array:
        self.graph = symmetrised(links)
        self.unit = float(np.abs(self.X).max()) or 1.0
        self.widths = learn_widths(self.X / self.unit, self.graph)
        return self._weights(self.X, self.graph)

    def cross(self, X: Array, relative: bool = False) -> Any:
        """Return the affinities of the rows of X to the training points."""
        graph = super().cross(X, relative)
        return graph if self.n == 1 else self._weights(X, graph, relative)

    def _weights(self, X: Array, graph: sparse.csr_array, relative: bool = False) -> Any:
        point = np.repeat(np.arange(len(X)), np.diff(graph.indptr))
        distances: NDArray[Any] = np.empty(graph.nnz)
        step = _ROWS * 64
        for first in range(0, graph.nnz, step):
            part = slice(first, first + step)
            moves = (X[point[part]] - self.X[graph.indices[part]]) / self.unit
            distances[part] = moves**2 @ self.widths
        if relative:
            distances -= np.minimum.reduceat(distances, graph.indptr[:-1])[point]
        weights = np.exp(-distances)
        return sparse.csr_array((weights, graph.indices, graph.indptr), shape=graph.shape)
