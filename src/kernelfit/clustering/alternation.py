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
from scipy import sparse
from scipy.linalg import qr

from kernelfit.clustering.projected_gradient import projected_gradient
from kernelfit.clustering.similarity import GeneralSimilarity, KernelSimilarity
from kernelfit.clustering.simplex_qp import solve_simplex_qp
from kernelfit.linalg.eigen import EigenResult, leading_eigenpairs
from kernelfit.solvers.projections import project_box_plane

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
        Mean one.
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
    lower objective. Where none has, the search is over: the objective never rises.

    With ``relaxed=True`` the sum of the `n_clusters` smallest eigenvalues takes the place of the
    cut, equation (9''): the partition becomes the eigenvectors, which are optimal for their
    weights, and the objective never rises either. But where no gap follows the last eigenvalue
    wanted, weights learned so cut off small groups of points instead of clusters.

    Parameters
    ----------
    similarity : KernelSimilarity or GeneralSimilarity
    n_clusters : int
    propose : callable
        ``propose(embedding) -> list of labels`` in ``range(n_clusters)``, the one to take without
        regard to the objective first.
    weights : ndarray of shape (n,)
        The start; its projection onto the box of the weights, with mean one, is taken.
    block : ndarray of shape (n, m)
        Random start of the eigensolver, m >= n_clusters.
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
    n = similarity.n
    lower, upper = np.full(n, MIN_WEIGHT), np.full(n, _max_weight(similarity.mu))

    def project(v: Array) -> Array:
        return project_box_plane(v, lower, upper, float(n))

    def best(embedding: Array, b: Array) -> tuple[Any, Labels, float]:
        """Return the objective of the best partition, its labels and its value at b."""
        proposals = propose(embedding)
        if relaxed or max_iter == 0:
            proposals = proposals[:1]
        Zs = [embedding] if relaxed else [_indicators(labels) for labels in proposals]
        cuts: Any = similarity.cuts(Zs)
        empty = [rho * (n_clusters - Z.shape[1]) for Z in Zs]
        values = np.add(similarity.values(cuts, b, rho), empty)
        at = int(np.argmin(values))

        def value_and_gradient(b: Array) -> tuple[float, Array]:
            value, gradient = cuts[at](b, rho)
            return value + empty[at], gradient

        return value_and_gradient, proposals[at], float(values[at])

    b = project(weights)
    eigen, embedding = _embed(similarity, b, n_clusters, block)
    current, labels, objective = best(embedding, b)
    history = [objective]
    converged = max_iter == 0
    while not converged and len(history) <= max_iter:
        step = projected_gradient(current, project, b, tol=_INNER_TOL, max_iter=_INNER_STEPS)
        b, objective = step.x, step.objective
        eigen, embedding = _embed(similarity, b, n_clusters, eigen.vectors)
        new, new_labels, new_objective = best(embedding, b)
        better = new_objective < objective
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


def cluster_literal(
    K: Any,
    n_clusters: int,
    propose: Propose,
    alpha: Array,
    block: Array,
    *,
    lambda_: float = 0.5,
    max_iter: int = 20,
    callback: Callable[[int, float], object] | None = None,
) -> ClusteringResult:
    """Run Algorithm 1 of [1]_ as printed, for comparison.

    Its objective need not fall: the step in alpha leaves out the constraint that ties it to the
    embedding.

    Parameters
    ----------
    K : ndarray or csr_array of shape (n, n)
    n_clusters : int
    propose : callable
        ``propose(embedding) -> list of labels``, of which the first is taken.
    alpha : ndarray of shape (n,)
        The start, in the simplex.
    block : ndarray of shape (n, m)
        Random start of the eigensolver.
    lambda_ : float, default=0.5
    max_iter : int, default=20
    callback : callable, default=None
        ``callback(round, objective)``.

    Returns
    -------
    ClusteringResult
        ``history`` holds Q of (9'') and ``weights`` is n times alpha.
    """
    n = K.shape[0]
    similarity = KernelSimilarity(K, lambda_ / n)

    def total(eigen: EigenResult) -> float:
        penalty = float(alpha @ (lambda_ * (K @ alpha) - similarity.d))
        return float(np.sum(1.0 - eigen.values[:n_clusters])) + penalty

    eigen, Y = _embed(similarity, n * alpha, n_clusters, block)
    history = [total(eigen)]
    settled = max_iter == 0
    while not settled and len(history) <= max_iter:
        # The similarity (8) is 2/n times ours, so its embedding is longer.
        P, q = literal_step(K, np.sqrt(0.5 * n) * Y, lambda_)
        previous = alpha
        if sparse.issparse(K):
            alpha = _sparse_step(P, q, alpha)
        else:
            alpha = solve_simplex_qp(P, q, alpha).x
        eigen, Y = _embed(similarity, n * alpha, n_clusters, eigen.vectors)
        history.append(total(eigen))
        settled = float(np.abs(alpha - previous).max()) <= 1e-8
        if callback is not None:
            callback(len(history) - 1, history[-1])
    return ClusteringResult(
        n * alpha, propose(Y)[0], Y, eigen.values[:n_clusters], history[-1], tuple(history),
        len(history) - 1, settled,
    )  # fmt: skip


def literal_step(K: Any, Y: Array, lambda_: float, w: float = 1.0) -> tuple[Any, Array]:
    r"""Return P and q of Algorithm 1's step in alpha, :math:`q'\alpha + \tfrac12\alpha'P\alpha`.

    With B_ij = ||Y_i - Y_j||^2 and M = K o B, Tr(Y'LY) = 2 (M1)'alpha - lambda alpha'M alpha.

    Parameters
    ----------
    K : ndarray or csr_array of shape (n, n)
    Y : ndarray of shape (n, c)
    lambda_ : float
    w : float, default=1.0
        Factor of the trace: 1 in (12), 1/2 in (10).

    Returns
    -------
    P : ndarray or csr_array of shape (n, n)
        2 lambda (K - w M).
    q : ndarray of shape (n,)
        2 w M1 - K1.
    """
    squares = np.einsum("ij,ij->i", Y, Y)
    ones = np.ones(K.shape[0])
    if sparse.issparse(K):
        i = np.repeat(np.arange(K.shape[0]), np.diff(K.indptr))
        B = np.sum((Y[i] - Y[K.indices]) ** 2, axis=1)
        M = sparse.csr_array((K.data * B, K.indices, K.indptr), shape=K.shape)
    else:
        M = K * np.maximum(np.add.outer(squares, squares) - 2.0 * Y @ Y.T, 0.0)
    return 2.0 * lambda_ * (K - w * M), 2.0 * w * (M @ ones) - K @ ones


def sparse_weights(G: Array) -> Array:
    """Return weights by which the points represent each other, the paper's sparse start.

    They minimise the sum over i of ||x_i - sum over j != i of alpha_j x_j||^2 in the feature space
    of the Gram matrix G. The simplex makes them sparse without a further penalty.

    Parameters
    ----------
    G : ndarray of shape (n, n)

    Returns
    -------
    ndarray of shape (n,)
        In the simplex.
    """
    n = len(G)
    diagonal = np.diag(G)
    P = 2.0 * ((n - 2) * G + np.diag(diagonal))
    q = 2.0 * (diagonal - G.sum(axis=1))
    return solve_simplex_qp(P, q, np.full(n, 1.0 / n)).x


def pivoted_labels(V: Array) -> Labels:
    """Return the partition whose indicators are closest to a rotation of V.

    A pivoted QR factorisation picks one well separated row a cluster; the polar factor of these
    rows turns V so that every row is largest in the column of its cluster. Nothing is random.

    Parameters
    ----------
    V : ndarray of shape (n, c)

    Returns
    -------
    ndarray of shape (n,)

    References
    ----------
    .. [1] A. Damle, V. Minden, L. Ying. "Simple, direct and efficient multi-way spectral
       clustering". Information and Inference 8 (2019). https://doi.org/10.1093/imaiai/iay008
    """
    pivots = qr(V.T, mode="r", pivoting=True)[1][: V.shape[1]]
    left, _, right = np.linalg.svd(V[pivots].T)
    labels: Labels = np.abs(V @ (left @ right)).argmax(axis=1)
    return labels


def _sparse_step(P: Any, q: Array, alpha: Array) -> Array:
    zeros, ones = np.zeros(len(q)), np.ones(len(q))

    def value_and_gradient(x: Array) -> tuple[float, Array]:
        Px = P @ x
        return float(q @ x + 0.5 * x @ Px), q + Px

    def project(v: Array) -> Array:
        return project_box_plane(v, zeros, ones, 1.0)

    return projected_gradient(value_and_gradient, project, alpha, max_iter=500).x


def _embed(
    similarity: KernelSimilarity | GeneralSimilarity, b: Array, k: int, block: Array
) -> tuple[EigenResult, Array]:
    """Return the leading eigenpairs of the normalised similarity and D^-1/2 times the vectors."""
    N, scale = similarity.normalised(b)
    eigen = leading_eigenpairs(N, k, block, tol=_EIGEN_TOL)
    return eigen, eigen.vectors[:, :k] * scale[:, None]


def _indicators(labels: Labels) -> Array:
    """Return one indicator column for every cluster that has members."""
    present, codes = np.unique(labels, return_inverse=True)
    return np.eye(len(present))[codes]


def _max_weight(mu: float) -> float:
    """Return the largest weight at which W(b) still grows with b; unbounded weights have none."""
    return max(1.0 / mu, 1.0) if mu > 0 else 1e3
