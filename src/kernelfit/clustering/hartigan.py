"""Kernel k-means: single moves from where Lloyd's iteration ends (Hartigan's method).

Let a point count w times, and let m be the count of a cluster and d the distance of the point to
its mean. Without the point the mean is d m / (m - w) away, and the cluster's part of the inertia is
less by

    w (m - w) / m (d m / (m - w))^2  =  w m / (m - w) d^2.

Likewise a point that joins a cluster adds w m / (m + w) d^2, with m and d from before. So a point
leaves its cluster already where another mean is a little farther: Lloyd's iteration, which compares
the distances themselves, moves all points at a time and cannot see that the means come along.
"""

import numpy as np
from numpy.typing import NDArray

from kernelfit.clustering.lloyd import KernelKMeansResult, mean_products, resolution
from kernelfit.clustering.matrices import Multiply, multiply
from kernelfit.utils.jit import inner, jit

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

_SMALL_REST = 0.01  # of the count of a cluster: its products are summed anew, not updated


def move_single_points(
    K: Array,
    start: KernelKMeansResult,
    max_iter: int,
    counts: Array | None = None,
    multiply: Multiply = multiply,
    same: float | None = None,
) -> KernelKMeansResult:
    """Move single points between clusters until no move lowers the inertia [1]_ [2]_.

    The points are visited in their order, in sweeps, and each one moves where it lowers the inertia
    most, if by more than rounding. No cluster loses its last point. The inertia never rises.
    Rounding is that of squared distances: it hides the gain of a point that makes up all but a
    millionth of the count of its cluster.

    A point that counts several times moves as a whole. That is all there is to try: the change of
    the inertia is concave in how many of its copies move, and zero for none, so where all of them
    gain nothing, a part gains nothing. The same holds for a vanishing part: no point of the result
    is nearer to another mean, and Lloyd's iteration has nothing left to do. Both take squared
    distances that are not negative, as in a kernel that is positive semidefinite, or conditionally
    so; the changes themselves are exact for any symmetric K.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    start : KernelKMeansResult
        The partition to improve.
    max_iter : int
        Bound on the number of iterations, those of the start and sweeps together.
    counts : ndarray of shape (n,), default=None
        How many times every point counts; once when None.
    multiply : callable
        ``multiply(K, V)``, the product of K with a matrix.
    same : float, default=None
        Squared distances that differ by less are equal; `resolution` of K when None.

    Returns
    -------
    KernelKMeansResult
        Converged if no move is left.

    References
    ----------
    .. [1] J. A. Hartigan, M. A. Wong. "Algorithm AS 136: a k-means clustering algorithm". Journal
       of the Royal Statistical Society C 28 (1979).
    .. [2] M. Telgarsky, A. Vattani. "Hartigan's method: k-means clustering without Voronoi".
       Artificial Intelligence and Statistics (2010).
    """
    counts = np.ones(len(K)) if counts is None else counts
    same = resolution(K) if same is None else same
    K = np.ascontiguousarray(K)  # moves read rows
    labels, n_clusters = start.labels.copy(), len(start.mean_norms)
    products, norms = mean_products(K, labels, n_clusters, counts, multiply)
    n_iter, converged = start.n_iter, False
    while not converged and n_iter < max_iter:
        n_sweeps, n_moves = _sweep(K, products, norms, labels, counts, same, max_iter - n_iter)
        n_iter += n_sweeps
        converged = n_moves == 0
        if not converged:
            # Moves leave rounding in the products: those made anew have the last word.
            products, norms = mean_products(K, labels, n_clusters, counts, multiply)
    own = products[np.arange(len(K)), labels]
    inertia = float(counts @ (np.diag(K) + (norms[labels] - 2.0 * own)))
    norms[np.bincount(labels, minlength=n_clusters) == 0] = np.inf
    return KernelKMeansResult(labels, inertia, norms, n_iter, converged)


@jit()
def _sweep(
    K: Array,
    products: Array,
    norms: Array,
    labels: Labels,
    counts: Array,
    same: float,
    max_sweeps: int,
) -> tuple[int, int]:
    """Sweep over the points until none moves; return the numbers of sweeps and of moves.

    Products, norms and labels are changed in place, each move in O(n).
    """
    n, n_clusters = products.shape
    masses = np.zeros(n_clusters)
    for i in range(n):
        masses[labels[i]] += counts[i]
    n_sweeps, n_moves, before = 0, 0, -1
    while n_sweeps < max_sweeps and n_moves != before:
        before = n_moves
        n_sweeps += 1
        for i in range(n):
            a, w = labels[i], counts[i]
            left = (masses[a] - w) / masses[a]
            if left <= 0.0:  # alone, or with others that are nothing to rounding
                continue
            # Rounding of the distances counts as often as they do: that of the gain here, that of
            # the costs, of which no factor is above w, in the comparisons. So of equal clusters
            # the first is taken.
            own = K[i, i] - 2.0 * products[i, a] + norms[a]
            least, best = w / left * (own - same), a
            for b in range(n_clusters):
                if b == a:
                    continue
                cost = 0.0  # of a point alone
                if masses[b] > 0.0:
                    distance = K[i, i] - 2.0 * products[i, b] + norms[b]
                    cost = w / (1.0 + w / masses[b]) * distance
                if cost < least - w * same:
                    least, best = cost, b
            if best == a:
                continue
            labels[i] = best
            n_moves += 1
            # Sums over what is there, as differences would lose the digits of small clusters.
            for k in (a, best):
                masses[k] = 0.0
                for j in range(n):
                    masses[k] += counts[j] if labels[j] == k else 0.0
            leaving, joining = w / masses[a], w / masses[best]
            for j in range(n):
                products[j, a] += leaving * (products[j, a] - K[i, j])
                products[j, best] += joining * (K[i, j] - products[j, best])
            if left < _SMALL_REST:
                _sum_products(K, products, labels, counts, masses[a], a)
            for k in (a, best):
                norms[k] = 0.0
                for j in range(n):
                    norms[k] += counts[j] / masses[k] * products[j, k] if labels[j] == k else 0.0
    return n_sweeps, n_moves


@inner()
def _sum_products(
    K: Array, products: Array, labels: Labels, counts: Array, mass: float, cluster: int
) -> None:
    """Set the products of all points with the mean of a cluster."""
    products[:, cluster] = 0.0
    for i in range(len(labels)):
        if labels[i] == cluster:
            share = counts[i] / mass
            for j in range(len(labels)):
                products[j, cluster] += share * K[i, j]
