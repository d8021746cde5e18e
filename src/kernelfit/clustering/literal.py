"""Clustering by discriminative similarity as printed, for comparison.

Two departures cannot be avoided. Equation (12) keeps Y'DY = I, which depends on alpha: with it the
step in alpha is not a quadratic programme, so it is left out. The sparse start minimises over the
number of nonzero weights, which is NP-hard: a greedy search takes its place.

References
----------
.. [1] Y. Yang, P. Li. "Discriminative Similarity for Data Clustering". International Conference on
   Learning Representations (2022). https://arxiv.org/abs/2109.08675
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from kernelfit.clustering.alternation import Array, ClusteringResult, Propose, embed
from kernelfit.clustering.matrices import Multiply, counted, multiply
from kernelfit.clustering.projected_gradient import project_mean, projected_gradient
from kernelfit.clustering.similarity import KernelSimilarity
from kernelfit.clustering.simplex_qp import solve_simplex_qp
from kernelfit.clustering.ties import first_least
from kernelfit.linalg.eigen import EigenResult


def cluster_literal(
    K: Any,
    n_clusters: int,
    propose: Propose,
    alpha: Array,
    block: Array,
    *,
    counts: Array | None = None,
    lambda_: float = 0.5,
    max_iter: int = 20,
    callback: Callable[[int, float], object] | None = None,
    multiply: Multiply = multiply,
) -> ClusteringResult:
    """Run Algorithm 1 of [1]_ as printed, for comparison.

    Its objective need not fall: the step in alpha leaves out the constraint that ties it to the
    embedding. The labels are those of ``max_iter + 1`` rounds of the printed loop, whose last
    embedding is that of the weights of the round before.

    Parameters
    ----------
    K : ndarray or csr_array of shape (n, n)
        As `counted` returns it, where points count several times.
    n_clusters : int
    propose : callable
        ``propose(embedding) -> list of labels``, of which the first is taken.
    alpha : ndarray of shape (n,)
        The start; together with `counts`, in the simplex.
    block : ndarray of shape (n, m)
        Random start of the eigensolver.
    counts : ndarray of shape (n,), default=None
        How many times every point counts; once when None.
    lambda_ : float, default=0.5
        In (0, 2], where the similarity is not negative.
    max_iter : int, default=20
    callback : callable, default=None
        ``callback(round, objective)``.
    multiply : callable
        ``multiply(K, V)``, the product of K with a vector or a matrix.

    Returns
    -------
    ClusteringResult
        ``history`` holds Q of (9''), ``weights`` is n times alpha, n the sum of the counts, and
        ``embedding`` has Y'DY = I for the degrees D of the similarity (8).
    """
    counts = np.ones(K.shape[0]) if counts is None else counts
    n = float(counts.sum())
    similarity = KernelSimilarity(K, lambda_ / n, multiply)

    def embedded(block: Array) -> tuple[EigenResult, Array]:
        # The similarity (8) is 2/n times W(n alpha), so its embedding is longer.
        eigen, Y = embed(similarity, n * alpha, n_clusters, block)
        return eigen, np.sqrt(0.5 * n) * Y

    def total(eigen: EigenResult) -> float:
        penalty = float(alpha @ (lambda_ * multiply(K, alpha) - similarity.d))
        return float(np.sum(1.0 - eigen.values[:n_clusters])) + penalty

    eigen, Y = embedded(block)
    history = [total(eigen)]
    settled = max_iter == 0
    while not settled and len(history) <= max_iter:
        P, q = literal_step(K, Y, lambda_)
        # The variable of the step is what all copies of a point have together.
        P, q, start = counted(P, 1.0 / counts), q / counts, counts * alpha
        found = _sparse_step(P, q, start) if sparse.issparse(K) else solve_simplex_qp(P, q, start).x
        previous, alpha = alpha, found / counts
        eigen, Y = embedded(eigen.vectors)
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


def sparse_weights(G: Array, counts: Array | None = None, penalty: float = 0.1) -> Array:
    r"""Return few weights by which the points represent each other, the paper's sparse start.

    .. math:: \min_\alpha \sum_i \Big\|x_i - \sum_{j \ne i} \alpha_j x_j\Big\|^2
        + \tau \|\alpha\|_0

    over the simplex, by a greedy search: the point joins by which the error falls most along the
    segment towards it, and all weights are solved again, as long as that lowers the objective. The
    penalty is absolute, so that larger points get more weights.

    Parameters
    ----------
    G : ndarray of shape (n, n)
        Products of the points.
    counts : ndarray of shape (n,), default=None
        How many times every point counts; once when None. Copies are one weight.
    penalty : float, default=0.1
        Tau.

    Returns
    -------
    ndarray of shape (n,)
        Of a single copy of every point; together with `counts`, in the simplex.
    """
    counts = np.ones(len(G)) if counts is None else counts
    n = float(counts.sum())
    diagonal = np.diag(G)
    P = 2.0 * ((n - 2.0) * G + np.diag(diagonal / counts))
    q = 2.0 * (diagonal - G @ counts)
    x, support = np.zeros(len(G)), [first_least(q + 0.5 * np.diag(P))]
    x[support] = 1.0
    value = float(q @ x + 0.5 * x @ (P @ x))
    while len(support) < len(G):
        Px = P @ x
        slope = np.minimum(Px + q - x @ (Px + q), 0.0)
        curvature = np.diag(P) - 2.0 * Px + x @ Px
        size = np.where(slope > -curvature, -slope / np.where(curvature > 0, curvature, 1.0), 1.0)
        change = size * slope + 0.5 * size**2 * curvature
        change[support] = 0.0
        trial = [*support, first_least(change)]
        found = solve_simplex_qp(P[np.ix_(trial, trial)], q[trial], x[trial])
        kept = found.x > 0.0
        if found.objective + penalty * (kept.sum() - len(support)) >= value:
            break
        x[trial], value = found.x, found.objective
        support = [i for i, stays in zip(trial, kept, strict=True) if stays]
    return np.asarray(x / counts)


def _sparse_step(P: Any, q: Array, start: Array) -> Array:
    n = len(q)

    def value_and_gradient(x: Array) -> tuple[float, Array]:
        Px = P @ x
        return float(q @ x + 0.5 * x @ Px), q + Px

    def project(v: Array) -> Array:
        return project_mean(v, np.ones(n), 0.0, 1.0, 1.0 / n)

    return projected_gradient(value_and_gradient, project, start, max_iter=500).x
