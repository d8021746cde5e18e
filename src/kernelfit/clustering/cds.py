"""Clustering by discriminative similarity."""

import warnings
from numbers import Integral
from typing import ClassVar

import numpy as np
from scipy import sparse

from kernelfit.clustering.affinities import RBFAffinity
from kernelfit.clustering.alternation import cluster, cluster_literal, sparse_weights
from kernelfit.clustering.base import BaseCDS
from kernelfit.clustering.graphs import with_own_pieces
from kernelfit.clustering.similarity import GeneralSimilarity, KernelSimilarity, LowRank
from kernelfit.utils.sklearn_private import Interval, StrOptions


class CDSKClustering(BaseCDS):
    r"""Clustering by discriminative similarity via unsupervised kernel classification.

    .. math:: \min_{b, A}\; \rho \sum_{k=1}^{c} \frac{\mathrm{cut}(A_k)}{\mathrm{vol}(A_k)}
        + \frac{-d'b + \mu\, b'\bar K b}{1'K1},
        \qquad W_{ij} = (b_i + b_j - \mu\, b_i b_j) K_{ij}

    over partitions A of the points into clusters and weights b of the points with mean one; cut and
    volume are those of the similarity W, d = K1, and :math:`\bar K` is the affinity K, made
    positive semidefinite where it is not. The objective is a bound on the error of the classifier
    that `predict` uses, if it were trained on the clusters [1]_. Weights and partition are improved
    in turns and the objective never rises; k-means on the spectral embedding proposes partitions,
    the objective chooses among them. ``max_iter=0`` is normalised-cut spectral clustering.

    Weights are at least 0.1, so that every point counts, and at most 1 / mu, but for "literal"
    mode. With D = diag(d) and sigma = max(0, -l) for the smallest eigenvalue l of
    :math:`D^{-1/2} K D^{-1/2}`, :math:`\bar K` is (K + 2 sigma D) / (1 + 2 sigma), which is K where
    that is positive semidefinite. A point without any similarity counts as similar to itself alone,
    so it is a component of its own; where there are more components than clusters, it goes to an
    arbitrary cluster, with a warning.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters c.
    affinity : {"rbf", "self_tuning", "nearest_neighbors", "self_representation", \
            "precomputed"} or callable, default="rbf"
        "rbf" is the Gaussian kernel. "self_tuning" scales it locally, by the distances to the
        seventh neighbours. "nearest_neighbors" is the symmetrised graph of the nearest neighbours,
        a sparse matrix. "self_representation" is the sparse graph of the coefficients by which the
        other points represent a point, for points in a union of subspaces. A callable
        ``k(X, Y)`` returns a dense or sparse matrix.
    gamma : {"median", "variance", "scale", "reconstruction"} or float, default="median"
        Of the kernel :math:`\exp(-\gamma\|x-y\|^2)`. With tau the median of the pairwise distances
        or their variance, gamma is 1/(2 tau^2), where their mean takes the place of a tau of zero;
        "scale" is 1/(n_features * X.var()); "reconstruction" is the one by which the other points
        best reconstruct every point (SC-MS). All are 1 where all points are equal. Of many points,
        2000 (median, variance) or 1000 (reconstruction) are used, evenly spaced in X.
    n_neighbors : int, default=10
        Of ``affinity="nearest_neighbors"``.
    n_nonzero : int or None, default=5
        Number of points that represent a point, found by orthogonal matching pursuit; with None,
        the representation is that of the lasso. Of ``affinity="self_representation"``.
    n_landmarks : int or None, default=None
        Number of random points for the Nystroem approximation of the Gaussian kernel, which needs
        n_samples x n_landmarks numbers; None is the whole kernel matrix. Of ``affinity="rbf"``,
        refused with others.
    mu : float in (0, 1) or "entropy", default=0.5
        Strength of the quadratic term; at 1/2 uniform weights minimise the second part of the
        objective. W grows with the weights up to 1 / mu, their upper bound, which leaves weights of
        mean one no room from mu = 1 on. "entropy" takes the value from 0.05 to 0.5 at which a
        tenth of the points has the embedding of the least softmax entropy, the rule of [1]_, which
        selects the scale of the embedding more than its confidence.
    rho : float, default=1.0
        Weight of the cut.
    mode : {"balanced", "relaxed", "literal"}, default="balanced"
        "balanced" is the objective above. "relaxed" replaces the cut by the sum of the c smallest
        eigenvalues of the normalised Laplacian. "literal" is Algorithm 1 of [1]_ as printed, where
        `mu` is its lambda and `rho` is not used: it puts all weight on a few points as soon as the
        degrees exceed a handful.
    alpha_init : {"uniform", "sparse"}, default="uniform"
        Weights to start from; "sparse" are those by which the points represent each other, moved
        within the bounds of the weights.
    max_iter : int, default=20
        Bound on the number of rounds. 0 is spectral clustering with the initial weights: of the
        `n_init` partitions by k-means that of the least inertia is taken, and the objective is
        only reported. Otherwise the objective chooses among them from the start, so that
        ``history_[0]`` may be lower than the objective of ``max_iter=0``.
    tol : float, default=1e-4
        Stop when a round lowers the objective by less than this, relative.
    assign_labels : {"kmeans", "cluster_qr"}, default="kmeans"
        From the embedding to the clusters: k-means, or a pivoted QR factorisation, where nothing
        is random.
    normalize_rows : bool, default=True
        Whether the rows of the embedding are scaled to unit length before. False with
        ``max_iter=0`` is scikit-learn's `SpectralClustering` on affinities with zero diagonal; it
        ignores the diagonal, which counts here as similarity of a point to itself.
    n_init : int, default=10
        Number of starts of k-means, each of which proposes a partition.
    random_state : int, RandomState instance or None, default=None
        Of k-means, landmarks and the start of the eigensolver.
    n_jobs : int or None, default=None
        Number of processors for the neighbour search; the result does not depend on it.
    verbose : int, default=0
        Whether every round is logged.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every point.
    weights_ : ndarray of shape (n_samples,)
        Weights b.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Spectral embedding of W, D^-1/2 times the eigenvectors of D^-1/2 W D^-1/2.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Eigenvalues of D^-1/2 W D^-1/2, descending.
    affinity_matrix_ : ndarray, csr_array or LowRank of shape (n_samples, n_samples)
        Affinity K; for ``affinity="precomputed"`` it may share the memory of the matrix given.
    objective_ : float
        Objective at the end.
    history_ : ndarray of shape (n_iter_ + 1,)
        Objective of the best first partition under the initial weights, and after every round.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the objective settled.
    mu_ : float
        The mu used.
    gamma_ : float
        The gamma used, for ``affinity="rbf"``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has them.

    References
    ----------
    .. [1] Y. Yang, P. Li. "Discriminative Similarity for Data Clustering". International
       Conference on Learning Representations (2022). https://arxiv.org/abs/2109.08675

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import CDSKClustering
    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.2], [5.1]])
    >>> model = CDSKClustering(n_clusters=2, random_state=0).fit(X)
    >>> model.labels_[0] == model.labels_[1] == model.labels_[2] != model.labels_[3]
    np.True_
    >>> model.predict([[0.3]]) == model.labels_[0]
    array([ True])
    """

    _parameter_constraints: ClassVar[dict] = {
        **BaseCDS._parameter_constraints,
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "mode": [StrOptions({"balanced", "relaxed", "literal"})],
        "alpha_init": [StrOptions({"uniform", "sparse"})],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        affinity="rbf",
        gamma="median",
        n_neighbors=10,
        n_nonzero=5,
        n_landmarks=None,
        mu=0.5,
        rho=1.0,
        mode="balanced",
        alpha_init="uniform",
        max_iter=20,
        tol=1e-4,
        assign_labels="kmeans",
        normalize_rows=True,
        n_init=10,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.n_nonzero = n_nonzero
        self.n_landmarks = n_landmarks
        self.mu = mu
        self.rho = rho
        self.mode = mode
        self.alpha_init = alpha_init
        self.max_iter = max_iter
        self.tol = tol
        self.assign_labels = assign_labels
        self.normalize_rows = normalize_rows
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _make_affinity(self, rng):
        if self.n_landmarks is None:
            return super()._make_affinity(rng)
        if self.affinity != "rbf":
            raise ValueError(
                f"expected n_landmarks=None for affinity={self.affinity!r}, got "
                f"n_landmarks={self.n_landmarks}: landmarks are for the Gaussian kernel"
            )
        if self.n_landmarks < self.n_clusters:
            raise ValueError(
                f"expected n_landmarks >= n_clusters, got n_landmarks={self.n_landmarks} and "
                f"n_clusters={self.n_clusters}"
            )
        return RBFAffinity(self.gamma, self.n_clusters, self.n_landmarks, rng)

    def _cluster(self, K, block, seed):
        n = K.shape[0]
        if not isinstance(K, LowRank):
            K = with_own_pieces(K, self.n_clusters)
        weights = np.ones(n)
        if self.alpha_init == "sparse" or self.mode == "literal":
            if isinstance(K, LowRank):
                raise ValueError(
                    "expected n_landmarks=None for mode='literal' and alpha_init='sparse', got "
                    f"n_landmarks={self.n_landmarks}"
                )
            if self.alpha_init == "sparse":
                weights = n * sparse_weights(K.toarray() if sparse.issparse(K) else K)
        propose = self._proposer(seed)
        if self.mode != "literal":
            similarity = KernelSimilarity(K, self.mu_)
            return cluster(
                similarity,
                self.n_clusters,
                propose,
                weights,
                block,
                relaxed=self.mode == "relaxed",
                rho=self.rho,
                tol=self.tol,
                **self._options(),
            )
        result = cluster_literal(
            K, self.n_clusters, propose, weights / n, block, lambda_=self.mu_, **self._options()
        )
        bearing = int(np.searchsorted(np.cumsum(np.sort(result.weights)[::-1]), 0.99 * n)) + 1
        if self.max_iter and bearing <= max(4, self.n_clusters):
            warnings.warn(
                f"the weights collapsed onto {bearing} of {n} points, as mode='literal' is prone "
                "to; mode='balanced' does not",
                UserWarning,
                stacklevel=4,
            )
        return result

    def _mean_one_mu(self):
        return self.mu_ / len(self.labels_) if self.mode == "literal" else self.mu_


class CDSClustering(BaseCDS):
    r"""Clustering by discriminative similarity for a general, possibly indefinite similarity.

    .. math:: \min_{b, A}\; \rho \sum_{k=1}^{c} \frac{\mathrm{cut}(A_k)}{\mathrm{vol}(A_k)}
        + \frac{-d'b + \mu\, b'|S| b}{1'|S|1},
        \qquad W_{ij} = \max\{(b_i + b_j) S_{ij} - \mu\, b_i b_j M_{ij}, 0\}

    over partitions A and weights b of mean one, where the matrix :math:`|S|` has the absolute
    eigenvalues of S: equations (6) and (7) of [1]_ on one scale, where M is :math:`|S|`, but at
    most S where S is positive, so that similar points keep a similarity. S may have negative
    entries and eigenvalues. All matrices are dense. Weights are at least 0.1. A point without any
    positive similarity counts as similar to itself alone, so it is a component of its own; where
    there are more components than clusters, it goes to an arbitrary cluster, with a warning.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    affinity : {"rbf", "self_tuning", "nearest_neighbors", "self_representation", \
            "precomputed"} or callable, default="rbf"
        The similarity S, as for `CDSKClustering`, of any sign.
    gamma : {"median", "variance", "scale", "reconstruction"} or float, default="median"
        Of ``affinity="rbf"``, as for `CDSKClustering`.
    n_neighbors : int, default=10
        Of ``affinity="nearest_neighbors"``.
    n_nonzero : int or None, default=5
        Of ``affinity="self_representation"``.
    mu : float in (0, 1) or "entropy", default=0.5
        Strength of the quadratic term. Weights are at most 1 / mu, so that those of mean one could
        not move from mu = 1 on.
    rho : float, default=1.0
        Weight of the cut.
    max_iter : int, default=20
        Bound on the number of rounds. 0 is spectral clustering with uniform weights: of the
        `n_init` partitions by k-means that of the least inertia is taken, and the objective is
        only reported. Otherwise the objective chooses among them from the start, so that
        ``history_[0]`` may be lower than the objective of ``max_iter=0``.
    tol : float, default=1e-4
        Stop when a round lowers the objective by less than this, relative.
    assign_labels : {"kmeans", "cluster_qr"}, default="kmeans"
        From the embedding to the clusters.
    normalize_rows : bool, default=True
        Whether the rows of the embedding are scaled to unit length before.
    n_init : int, default=10
        Number of starts of k-means, each of which proposes a partition.
    random_state : int, RandomState instance or None, default=None
        Of k-means and the start of the eigensolver.
    n_jobs : int or None, default=None
        Number of processors for the neighbour search; the result does not depend on it.
    verbose : int, default=0
        Whether every round is logged.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every point.
    weights_ : ndarray of shape (n_samples,)
        Weights b.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Spectral embedding of W.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Eigenvalues of D^-1/2 W D^-1/2, descending.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples)
        Similarity S; for ``affinity="precomputed"`` it may share the memory of the matrix given.
    objective_ : float
        Objective at the end.
    history_ : ndarray of shape (n_iter_ + 1,)
        Objective of the best first partition under the initial weights, and after every round.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the objective settled.
    mu_ : float
        The mu used.
    gamma_ : float
        The gamma used, for ``affinity="rbf"``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has them.

    References
    ----------
    .. [1] Y. Yang, P. Li. "Discriminative Similarity for Data Clustering". International
       Conference on Learning Representations (2022). https://arxiv.org/abs/2109.08675

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import CDSClustering
    >>> X = np.array([[1.0, 0.1], [1.0, 0.0], [0.0, 1.0], [-0.1, 1.0]])
    >>> model = CDSClustering(2, affinity=lambda X, Y: X @ Y.T, random_state=0).fit(X)
    >>> model.labels_[0] == model.labels_[1] != model.labels_[2]
    np.True_
    """

    _negative_allowed = True

    def __init__(
        self,
        n_clusters=8,
        *,
        affinity="rbf",
        gamma="median",
        n_neighbors=10,
        n_nonzero=5,
        mu=0.5,
        rho=1.0,
        max_iter=20,
        tol=1e-4,
        assign_labels="kmeans",
        normalize_rows=True,
        n_init=10,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.n_nonzero = n_nonzero
        self.mu = mu
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.assign_labels = assign_labels
        self.normalize_rows = normalize_rows
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _cluster(self, K, block, seed):
        K = K.toarray() if sparse.issparse(K) else K
        self.affinity_matrix_ = K
        return cluster(
            GeneralSimilarity(with_own_pieces(K, self.n_clusters), self.mu_),
            self.n_clusters,
            self._proposer(seed),
            np.ones(len(K)),
            block,
            rho=self.rho,
            tol=self.tol,
            **self._options(),
        )
