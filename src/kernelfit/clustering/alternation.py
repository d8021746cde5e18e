"""Clustering by discriminative similarity: weights and partition in turns.

References
----------
.. [1] Y. Yang, P. Li. "Discriminative Similarity for Data Clustering". International Conference on
   Learning Representations (2022). https://arxiv.org/abs/2109.08675
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from kernelfit.clustering.projected_gradient import project_mean, projected_gradient
from kernelfit.clustering.similarity import GeneralSimilarity, KernelSimilarity
from kernelfit.clustering.ties import ROUNDING, first_least
from kernelfit.linalg.eigen import EigenResult, leading_eigenpairs

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Propose = Callable[[Array], list[Labels]]

MIN_WEIGHT = 0.1  # of the mean: keeps every degree positive
_EIGEN_TOL = 1e-5  # an error of its square in the eigenvalues
_INNER_STEPS = 10  # of projected gradient for one partition
_INNER_TOL = 1e-4


@dataclass(frozen=True)
class ClusteringResult:
    """Outcome of a clustering.

    Attributes
    ----------
    weights : ndarray of shape (n,)
        Mean one, every point counted as often as it counts.
    labels : ndarray of shape (n,)
    embedding : ndarray of shape (n, c)
        Y = D^-1/2 U for the leading eigenvectors U of the normalised similarity: Y'DY = I.
    eigenvalues : ndarray of shape (c,)
        Of the normalised similarity, descending.
    objective : float
    history : tuple of float
        Objective at the start and after every round.
    n_iter : int
        Number of rounds.
    converged : bool
        Whether the objective has settled; True when no round was asked for.
    """

    weights: Array
    labels: Labels
    embedding: Array
    eigenvalues: Array
    objective: float
    history: tuple[float, ...]
    n_iter: int
    converged: bool


def cluster(
    similarity: KernelSimilarity | GeneralSimilarity,
    n_clusters: int,
    propose: Propose,
    weights: Array,
    block: Array,
    *,
    counts: Array | None = None,
    relaxed: bool = False,
    rho: float = 1.0,
    max_iter: int = 20,
    tol: float = 1e-4,
    callback: Callable[[int, float], object] | None = None,
) -> ClusteringResult:
    r"""Minimise the balanced objective over weights and partition.

    .. math:: \rho \sum_k \mathrm{cut}(A_k) / \mathrm{vol}(A_k) + \mathrm{penalty}(b)

    is equation (9') of [1]_ with its two parts on one scale; an empty cluster counts one, like a
    cluster cut off entirely. A round descends in the weights b for the partition at hand, embeds
    the points anew and takes the best of the partitions proposed for the embedding if it has a
    lower objective. Where none has, the search is over. The objective never rises.

    With ``relaxed=True`` the sum of the `n_clusters` smallest eigenvalues takes the place of the
    cut, equation (9''). The eigenvectors then take the place of the partition. They are optimal for
    their weights, so this objective never rises either. But where no gap follows the last
    eigenvalue wanted, such weights cut off small groups of points instead of clusters.

    Parameters
    ----------
    similarity : KernelSimilarity or GeneralSimilarity
    n_clusters : int
    propose : callable
        ``propose(embedding) -> list of labels`` in ``range(n_clusters)``, the one to take without
        regard to the objective first.
    weights : ndarray of shape (n,)
        The start. It is projected onto the feasible weights: those of mean one within the bounds.
    block : ndarray of shape (n, m)
        Random start of the eigensolver, m >= n_clusters.
    counts : ndarray of shape (n,), default=None
        How many times every point counts in the similarity; once when None.
    relaxed : bool, default=False
    rho : float, default=1.0
    max_iter : int, default=20
        Bound on the number of rounds. With 0 the weights stay and the first partition proposed is
        taken: normalised-cut spectral clustering for uniform ones.
    tol : float, default=1e-4
        Stop when a round lowers the objective by less than this, relative.
    callback : callable, default=None
        ``callback(round, objective)``.

    Returns
    -------
    ClusteringResult
    """
    copies = np.ones(similarity.n) if counts is None else counts
    upper = _max_weight(similarity.mu)

    def project(v: Array) -> Array:
        return project_mean(v, copies, MIN_WEIGHT, upper, 1.0)

    def best(embedding: Array, b: Array) -> tuple[Any, Labels, float]:
        """Return the objective of the best partition, its labels and its value at b."""
        proposals = propose(embedding)
        if relaxed or max_iter == 0:
            proposals = proposals[:1]
        Zs = [embedding] if relaxed else [_indicators(labels) for labels in proposals]
        cuts: Any = similarity.cuts(Zs)
        empty = [rho * (n_clusters - Z.shape[1]) for Z in Zs]
        values = np.add(similarity.values(cuts, b, rho), empty)
        at = first_least(values)

        def value_and_gradient(b: Array) -> tuple[float, Array]:
            value, gradient = cuts[at](b, rho)
            return value + empty[at], gradient

        return value_and_gradient, proposals[at], float(values[at])

    b = project(weights)
    eigen, embedding = embed(similarity, b, n_clusters, block)
    current, labels, objective = best(embedding, b)
    history = [objective]
    converged = max_iter == 0
    while not converged and len(history) <= max_iter:
        step = projected_gradient(
            current, project, b, counts=copies, tol=_INNER_TOL, max_iter=_INNER_STEPS
        )
        b, objective = step.x, step.objective
        eigen, embedding = embed(similarity, b, n_clusters, eigen.vectors)
        new, new_labels, new_objective = best(embedding, b)
        # The same partition under other labels differs by rounding, and is no gain.
        better = new_objective < objective - ROUNDING * abs(objective)
        if better or relaxed:
            labels = new_labels
        if better:
            objective, current = new_objective, new
        settled = history[-1] - objective <= tol * max(abs(objective), 1e-12)
        converged = settled or not better
        history.append(objective)
        if callback is not None:
            callback(len(history) - 1, objective)
    return ClusteringResult(
        b, labels, embedding, eigen.values[:n_clusters], objective, tuple(history),
        len(history) - 1, bool(converged),
    )  # fmt: skip


def embed(
    similarity: KernelSimilarity | GeneralSimilarity, b: Array, k: int, block: Array
) -> tuple[EigenResult, Array]:
    """Return the leading eigenpairs of the normalised similarity and D^-1/2 times the vectors.

    Parameters
    ----------
    similarity : KernelSimilarity or GeneralSimilarity
    b : ndarray of shape (n,)
        Weights.
    k : int
        Number of pairs wanted.
    block : ndarray of shape (n, m)
        Start of the eigensolver, m >= k.

    Returns
    -------
    eigen : EigenResult
        Of all m pairs.
    embedding : ndarray of shape (n, k)
    """
    N, scale = similarity.normalised(b)
    eigen = leading_eigenpairs(N, k, block, tol=_EIGEN_TOL)
    return eigen, eigen.vectors[:, :k] * scale[:, None]


def pivoted_labels(V: Array, places: Array | None = None) -> Labels:
    """Return the partition whose indicators are closest to a rotation of the rows.

    A pivoted QR factorisation of V picks one well separated row a cluster; the polar factor of
    these rows turns the places so that every row is largest in the column of its cluster. Nothing
    is random. The rows of V must differ in length: of rows of one length, rounding picks the first.

    Parameters
    ----------
    V : ndarray of shape (n, c)
    places : ndarray of shape (n, c), default=None
        The rows of V, each at a length of its own; V when None.

    Returns
    -------
    ndarray of shape (n,)

    References
    ----------
    .. [1] A. Damle, V. Minden, L. Ying. "Simple, direct and efficient multi-way spectral
       clustering". Information and Inference 8 (2019). https://doi.org/10.1093/imaiai/iay008
    """
    places = V if places is None else places
    pivots = qr(V.T, mode="r", pivoting=True)[1][: V.shape[1]]
    left, _, right = np.linalg.svd(places[pivots].T)
    labels: Labels = np.abs(places @ (left @ right)).argmax(axis=1)
    return labels


def _indicators(labels: Labels) -> Array:
    """Return one indicator column for every cluster that has members."""
    present, codes = np.unique(labels, return_inverse=True)
    return np.eye(len(present))[codes]


def _max_weight(mu: float) -> float:
    """Return the largest weight at which W(b) still grows with b; unbounded weights have none."""
    return max(1.0 / mu, 1.0) if mu > 0 else 1e3
