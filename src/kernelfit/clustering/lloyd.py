"""Kernel k-means: Lloyd's iteration in the feature space of a kernel."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelfit.clustering.matrices import Multiply, multiply
from kernelfit.utils.jit import jit

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

_SAME = 1e-12  # squared distances that differ by less, relative to the entries of K, are equal
_TILE = 32


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


def kernel_kmeans(
    K: Array,
    labels: Labels,
    n_clusters: int,
    max_iter: int,
    counts: Array | None = None,
    multiply: Multiply = multiply,
    same: float | None = None,
) -> KernelKMeansResult:
    """Run Lloyd's iteration from a given partition.

    A point keeps its cluster unless another mean is nearer by more than rounding. A cluster that
    has lost its points gets the point farthest from its mean. Every round lowers the inertia where
    K is positive semidefinite, or conditionally so; a cluster then ends empty only where fewer
    points differ than there are clusters. Other K can send the points round in circles: the
    iteration ends before the first round that does not lower the inertia.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    labels : ndarray of shape (n,)
        The start; the labels of the result are in ``range(n_clusters)`` too.
    n_clusters : int
    max_iter : int
    counts : ndarray of shape (n,), default=None
        How many times every point counts; once when None.
    multiply : callable
        ``multiply(K, V)``, the product of K with a matrix.
    same : float, default=None
        Squared distances that differ by less are equal; `resolution` of K when None.

    Returns
    -------
    KernelKMeansResult
    """
    counts = np.ones(len(K)) if counts is None else counts
    diagonal = np.diag(K)
    same = resolution(K) if same is None else same
    rows = np.arange(len(K))
    n_iter, converged, least, former = 0, False, np.inf, labels
    while not converged and n_iter < max_iter:
        distances, norms = mean_distances(K, labels, n_clusters, counts, multiply)
        inertia = float(counts @ (diagonal + distances[rows, labels]))
        if not inertia < least:
            labels = former
            break
        least, former = inertia, labels
        new = distances.argmin(axis=1)
        stays = distances[rows, labels] <= distances[rows, new] + same
        new = np.where(stays, labels, new)
        _fill_empty(new, diagonal + distances[rows, new], n_clusters, same)
        converged = bool(np.array_equal(new, labels))
        labels = new
        n_iter += 1
    if not converged:  # else the distances are those of the labels
        distances, norms = mean_distances(K, labels, n_clusters, counts, multiply)
    inertia = float(counts @ (diagonal + distances[rows, labels]))
    return KernelKMeansResult(labels, inertia, norms, n_iter, converged)


def resolution(K: Array) -> float:
    """Return up to which difference squared distances in feature space are equal.

    It is above their rounding, and above what they owe to entries of K that differ from their
    mirror image: with less, points could go back and forth for ever.

    Parameters
    ----------
    K : ndarray of shape (n, n)

    Returns
    -------
    float
    """
    largest, asymmetry = _sizes(np.ascontiguousarray(K))
    return float(_SAME * largest + 2.0 * asymmetry)


@jit()
def _sizes(K: Array) -> tuple[float, float]:
    """Return the largest absolute value of an entry, and of the difference to its mirror image."""
    n, largest, asymmetry = len(K), 0.0, 0.0
    for top in range(0, n, _TILE):  # tiles, as K is read along its columns too
        for left in range(top, n, _TILE):
            for i in range(top, min(top + _TILE, n)):
                for j in range(max(left, i), min(left + _TILE, n)):
                    largest = max(largest, abs(K[i, j]), abs(K[j, i]))
                    asymmetry = max(asymmetry, abs(K[i, j] - K[j, i]))
    return largest, asymmetry


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


def cluster_means(labels: Labels, n_clusters: int, counts: Array) -> Array:
    """Return the coefficients of the cluster means in the points, zero for an empty cluster."""
    means = np.zeros((len(labels), n_clusters))
    means[np.arange(len(labels)), labels] = counts
    sizes = means.sum(axis=0)
    return np.asarray(means / np.where(sizes > 0, sizes, 1.0))


def mean_distances(
    K: Array, labels: Labels, n_clusters: int, counts: Array, multiply: Multiply = multiply
) -> tuple[Array, Array]:
    """Return squared distances of all points to the cluster means, less K_ii.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    labels : ndarray of shape (n,)
    n_clusters : int
    counts : ndarray of shape (n,)
    multiply : callable

    Returns
    -------
    distances : ndarray of shape (n, n_clusters)
        Infinite for an empty cluster.
    norms : ndarray of shape (n_clusters,)
        Squared norms of the means; infinite for an empty cluster.
    """
    products, norms = mean_products(K, labels, n_clusters, counts, multiply)
    norms[np.bincount(labels, minlength=n_clusters) == 0] = np.inf
    return norms - 2.0 * products, norms


def mean_products(
    K: Array, labels: Labels, n_clusters: int, counts: Array, multiply: Multiply = multiply
) -> tuple[Array, Array]:
    """Return the scalar products of all points with the cluster means, and the means' own.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    labels : ndarray of shape (n,)
    n_clusters : int
    counts : ndarray of shape (n,)
    multiply : callable

    Returns
    -------
    products : ndarray of shape (n, n_clusters)
    norms : ndarray of shape (n_clusters,)
        Squared norms of the means. The mean of an empty cluster is zero.
    """
    means = cluster_means(labels, n_clusters, counts)
    products = multiply(K, means)
    return products, np.einsum("ij,ij->j", means, products)


def spread_start(K: Array, n_clusters: int, uniform: Array, counts: Array | None = None) -> Labels:
    """Return a partition around points drawn far from each other (k-means++).

    Parameters
    ----------
    K : ndarray of shape (n, n)
    n_clusters : int
    uniform : ndarray of shape (n_clusters,)
        Uniform random numbers. The first draws any point; each other one draws a point with
        probability proportional to its squared distance to the nearest point drawn.
    counts : ndarray of shape (n,), default=None
        How many times every point counts; once when None.

    Returns
    -------
    ndarray of shape (n,)
    """
    counts = np.ones(len(K)) if counts is None else counts
    diagonal = np.diag(K)
    nearest = np.full(len(K), np.inf)
    labels = np.zeros(len(K), dtype=np.intp)
    mass = np.cumsum(counts)
    for label, u in enumerate(uniform):
        point = min(int(np.searchsorted(mass, u * mass[-1], side="right")), len(K) - 1)
        distances = diagonal + diagonal[point] - 2.0 * K[point]
        closer = distances < nearest
        labels[closer] = label
        nearest = np.where(closer, distances, nearest)
        mass = np.cumsum(counts * np.maximum(nearest, 0.0))
    return labels
