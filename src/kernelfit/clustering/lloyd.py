"""Kernel k-means: Lloyd's iteration in the feature space of a kernel."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

_SAME = 1e-12  # squared distances below it, relative to the entries of K, are rounding


@dataclass(frozen=True)
class KernelKMeansResult:
    """Outcome of kernel k-means.

    Attributes
    ----------
    labels : ndarray of shape (n,)
    inertia : float
        Sum of the squared distances to the cluster means in feature space.
    mean_norms : ndarray of shape (c,)
        Squared norms of the cluster means.
    n_iter : int
    converged : bool
        Whether the labels settled.
    """

    labels: Labels
    inertia: float
    mean_norms: Array
    n_iter: int
    converged: bool


def kernel_kmeans(K: Array, labels: Labels, n_clusters: int, max_iter: int) -> KernelKMeansResult:
    """Run Lloyd's iteration from a given partition.

    A cluster that has lost its points gets the point farthest from its mean. For positive
    semidefinite K, conditionally at least, the inertia never rises, and a cluster ends empty only
    where fewer points differ than there are clusters.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    labels : ndarray of shape (n,)
        The start; the labels of the result are in ``range(n_clusters)`` too.
    n_clusters : int
    max_iter : int

    Returns
    -------
    KernelKMeansResult
    """
    diagonal = np.diag(K)
    same = _SAME * max(float(K.max()), -float(K.min()))  # the largest squared norm, if it is one
    rows = np.arange(len(K))
    n_iter, converged = 0, False
    while not converged and n_iter < max_iter:
        distances = mean_distances(K, labels, n_clusters)[0]
        new = distances.argmin(axis=1)
        _fill_empty(new, diagonal + distances[rows, new], n_clusters, same)
        converged = bool(np.array_equal(new, labels))
        labels = new
        n_iter += 1
    distances, norms = mean_distances(K, labels, n_clusters)
    inertia = float(np.sum(diagonal + distances[rows, labels]))
    return KernelKMeansResult(labels, inertia, norms, n_iter, converged)


def _fill_empty(labels: Labels, distances: Array, n_clusters: int, same: float) -> None:
    """Give every empty cluster the farthest point of those that do not coincide with their mean."""
    sizes = np.bincount(labels, minlength=n_clusters)
    farthest = iter(np.argsort(-distances, kind="stable"))
    for empty in np.flatnonzero(sizes == 0):
        point = next((i for i in farthest if sizes[labels[i]] > 1), None)
        if point is None or distances[point] <= same:
            return
        sizes[labels[point]] -= 1
        labels[point] = empty


def mean_distances(K: Array, labels: Labels, n_clusters: int) -> tuple[Array, Array]:
    """Return squared distances of all points to the cluster means, less K_ii.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    labels : ndarray of shape (n,)
    n_clusters : int

    Returns
    -------
    distances : ndarray of shape (n, n_clusters)
        Infinite for an empty cluster.
    norms : ndarray of shape (n_clusters,)
        Squared norms of the means.
    """
    indicators = np.zeros((len(K), n_clusters))
    indicators[np.arange(len(K)), labels] = 1.0
    sizes = indicators.sum(axis=0)
    means = indicators / np.maximum(sizes, 1.0)
    products = K @ means
    norms = np.einsum("ij,ij->j", means, products)
    distances = norms - 2.0 * products
    distances[:, sizes == 0] = np.inf
    return distances, norms


def spread_start(K: Array, n_clusters: int, first: int, uniform: Array) -> Labels:
    """Return a partition around points drawn far from each other (k-means++).

    Parameters
    ----------
    K : ndarray of shape (n, n)
    n_clusters : int
    first : int
        The first point.
    uniform : ndarray of shape (n_clusters - 1,)
        Uniform random numbers; each draws a point with probability proportional to its squared
        distance to the nearest point drawn.

    Returns
    -------
    ndarray of shape (n,)
    """
    diagonal = np.diag(K)
    nearest = diagonal + diagonal[first] - 2.0 * K[first]
    labels = np.zeros(len(K), dtype=np.intp)
    for label, u in enumerate(uniform, start=1):
        mass = np.cumsum(np.maximum(nearest, 0.0))
        point = min(int(np.searchsorted(mass, u * mass[-1], side="right")), len(K) - 1)
        distances = diagonal + diagonal[point] - 2.0 * K[point]
        closer = distances < nearest
        labels[closer] = label
        nearest = np.where(closer, distances, nearest)
    return labels
