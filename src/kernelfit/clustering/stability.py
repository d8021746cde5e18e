"""Partitions of a sample by spectral clustering, and whether subsamples show the same clusters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh

from kernelfit.clustering.agreement import adjusted_rand
from kernelfit.clustering.alternation import pivoted_labels
from kernelfit.clustering.diagnosis import with_own_pieces
from kernelfit.clustering.matrices import counted

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

_LLOYD_STEPS = 30


@dataclass(frozen=True)
class Partitions:
    """Partitions of a sample into several numbers of clusters.

    Attributes
    ----------
    labels : tuple of ndarray of shape (n,)
        One a number of clusters.
    eigenvalues : ndarray of shape (m,)
        Leading eigenvalues of the normalised affinity, descending, one more than clusters.
    """

    labels: tuple[Labels, ...]
    eigenvalues: Array


def partitions(K: Any, counts: Array, numbers: Sequence[int]) -> Partitions:
    """Cluster the points of an affinity, for several numbers of clusters. Nothing is random.

    The points are embedded once, by the leading eigenvectors of the normalised affinity. For each
    number of clusters a pivoted QR factorisation of as many of them proposes a partition, from
    which Lloyd's iteration descends.

    Parameters
    ----------
    K : ndarray or csr_array of shape (n, n)
        Symmetric, not negative.
    counts : ndarray of shape (n,)
        How many times every point counts.
    numbers : sequence of int
        At most n.

    Returns
    -------
    Partitions
    """
    n, most = K.shape[0], max(numbers)
    K = with_own_pieces(counted(K, counts), most, counts)
    N = K.toarray() if sparse.issparse(K) else np.array(K)
    degrees = N.sum(axis=1)
    root = np.where(degrees > 0, 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0)), 0.0)
    N *= root[:, None]
    N *= root
    values, vectors = _leading(N, min(most + 1, n))
    vectors = vectors / np.sqrt(counts)[:, None]  # the entries of repeated points
    labels = tuple(_partition(vectors[:, :k], counts) for k in numbers)
    return Partitions(labels, values)


def _leading(N: Array, m: int) -> tuple[Array, Array]:
    """Return the m leading eigenpairs, in descending order."""
    n = len(N)
    try:
        values, vectors = eigh(N, subset_by_index=(n - m, n - 1))
    except np.linalg.LinAlgError:  # the fast method gives up on some matrices of equal blocks
        values, vectors = np.linalg.eigh(N)
    return values[: -m - 1 : -1], vectors[:, : -m - 1 : -1]


def _partition(vectors: Array, counts: Array) -> Labels:
    """Return the clusters of the rows, as many as there are columns.

    The pivots are the rows themselves, which differ in length, so that rounding decides between
    none of them; distances are those of rows of unit length.
    """
    k = vectors.shape[1]
    labels = pivoted_labels(vectors)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    places = vectors / np.where(norms > 0, norms, 1.0)
    for _ in range(_LLOYD_STEPS):
        members = np.zeros((len(labels), k))
        members[np.arange(len(labels)), labels] = counts
        sizes = members.sum(axis=0)
        centres = members.T @ places / np.where(sizes > 0, sizes, 1.0)[:, None]
        norms = np.where(sizes > 0, np.einsum("ij,ij->i", centres, centres), np.inf)
        new = np.argmin(norms - 2.0 * places @ centres.T, axis=1)
        if np.array_equal(new, labels):
            break
        labels = new
    return labels


def stabilities(
    affinity: Callable[[Array, Array], Any],
    points: Array,
    counts: Array,
    whole: Partitions,
    numbers: Sequence[int],
    draws: Sequence[Labels],
) -> Array:
    """Return how far the partitions of subsamples agree with that of all points.

    Parameters
    ----------
    affinity : callable
        ``affinity(points, counts)`` is the affinity matrix of some points.
    points : ndarray of shape (n, d)
    counts : ndarray of shape (n,)
    whole : Partitions
        Of all points, into `numbers` of clusters.
    numbers : sequence of int
    draws : sequence of ndarray
        The rows of every subsample.

    Returns
    -------
    ndarray of shape (n_draws, n_numbers)
        Adjusted Rand indices on the subsamples.
    """
    out = np.empty((len(draws), len(numbers)))
    for b, rows in enumerate(draws):
        part = partitions(affinity(points[rows], counts[rows]), counts[rows], numbers)
        for j, (all_labels, labels) in enumerate(zip(whole.labels, part.labels, strict=True)):
            out[b, j] = adjusted_rand(all_labels[rows], labels, counts[rows])
    return out
