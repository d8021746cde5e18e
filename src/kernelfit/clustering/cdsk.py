"""Clustering by discriminative similarity via unsupervised kernel classification."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse

from kernelfit.clustering.affinities import RBFAffinity
from kernelfit.clustering.alternation import cluster
from kernelfit.clustering.diagnosis import with_own_pieces
from kernelfit.clustering.literal import cluster_literal, sparse_weights
from kernelfit.clustering.matrices import LowRank, counted
from kernelfit.clustering.similarity import KernelSimilarity
from kernelfit.clustering.spectral import BaseCDS
from kernelfit.utils.sklearn_private import Interval, StrOptions

_LEAST_COUNT = 1e-100  # of the literal mode: products of two neither vanish nor overflow


class CDSKClustering(BaseCDS):
    r"""Spectral clustering that learns how much every point counts.

    You get clusters of any shape, as from spectral clustering, and a weight for every point: points
    that resemble their own cluster alone count more than those between clusters. The method is
    clustering by discriminative similarity via unsupervised kernel classification (CDSK) [1]_.
    `predict` follows `labels_` on the training points and extends the clusters to new ones.

    .. math:: \min_{b, A}\; \rho \sum_{k=1}^{c} \frac{\mathrm{cut}(A_k)}{\mathrm{vol}(A_k)}
        + \frac{-d'b + \mu\, b'\bar K b}{1'K1},
        \qquad W_{ij} = (b_i + b_j - \mu\, b_i b_j) K_{ij}

    over partitions A of the points into clusters and weights b of the points with mean one. K is
    the affinity and d = K1. Cut and volume are those of the similarity W, which comes from a
    bound on the error of a kernel classifier trained on the clusters. The objective itself is no
    bound; `labelling_bound` computes that one. Weights and partition are improved in turns, and the
    objective never rises. K-means on the spectral embedding of W proposes
    partitions, and the objective chooses among them. ``max_iter=0`` is normalised-cut spectral
    clustering.

    The fine print:

    * Distances see units. Standardise the features, unless they are in one unit; where a few of
      them make up nearly all of the distances, fit warns.
    * Equal rows are one point that counts several times, also in a graph of neighbours. So they
      share a cluster, and a sample weight of 2 is the same as a repeated row. The clusters do not
      depend on the order of the rows, but for ``affinity="precomputed"``, and the result is the
      same to the last bit for any number of threads.
    * Weights are between 0.1 and 1 / mu, but for ``mode="literal"``, where they may be zero.
    * Two departures of ``mode="literal"`` from the printed algorithm cannot be avoided. The step in
      the weights leaves out the constraint Y'DY = I of (12), with which it is not a quadratic
      programme. The sparse start, which is NP-hard, is a greedy one.
    * :math:`\bar K` is K where K is positive semidefinite. Otherwise it is
      (K + 2 sigma D) / (1 + 2 sigma) with D = diag(d), where -sigma is the smallest eigenvalue of
      :math:`D^{-1/2} K D^{-1/2}`, approximated to within 1e-3.
    * A point without any similarity counts as similar to itself alone and is a component of its
      own. Where there are more components than clusters, it goes to an arbitrary cluster, with a
      warning.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters c.
    affinity : str or callable, default="rbf"
        How alike two points are.

        * "rbf" is the Gaussian kernel.
        * "self_tuning" is the Gaussian kernel with a scale for every point, its distance to the
          seventh neighbour.
        * "nearest_neighbors" is the symmetrised graph of the nearest neighbours, a sparse matrix.
        * "self_representation" is the sparse graph of the coefficients by which the other points
          represent a point, for points in a union of subspaces.
        * "density" is the Gaussian kernel of twice the variance over the root of both points'
          densities: points are alike that are close for their surroundings (SC-NS [2]_).
        * "sparse_manifold" is the sparse graph of the few neighbours that span a plane through a
          point, for points on several manifolds (SMCE [3]_). With more neighbours, 50 say, it
          chooses among more.
        * "smooth_representation" is "self_representation" with ``n_nonzero=None``, where points
          that represent each other are represented alike (Laplacian regularised l1-graph [4]_).
        * "random_forest" is the share of the way to their leaves that two points go together in
          trees that tell the data from noise, whatever the units of the features (RAG [5]_).
        * "ratio_forest" is the share of the tests on either way that both points answer alike
          (RatioRF [6]_).
        * "adaptive_widths" is the graph of the nearest neighbours with Gaussian weights and a width
          for every feature, those by which neighbours best reconstruct a point: SC-MS as in its
          source [9]_.
        * "sparse_subspace" is the sparse graph of the affine combinations by which other points
          represent a point up to errors of single features (SSC [10]_).
        * "precomputed" takes the affinity matrix, dense or sparse, in place of the points.
        * A callable ``k(X, Y)`` returns a dense or sparse matrix.
    gamma : {"median", "variance", "scale", "reconstruction"} or float, default="median"
        Of the kernel :math:`\exp(-\gamma\|x-y\|^2)` of ``affinity="rbf"`` and "density".

        * "median" and "variance" are 1/(2 tau^2), where tau is the median of the distances between
          the distinct points, or their variance; where that is zero, their mean.
        * "scale" is 1/(n_features * X.var()).
        * "reconstruction" is the one gamma by which the other points best reconstruct every point:
          SC-MS as [1]_ prints it, which also speaks of a width for every feature;
          ``affinity="adaptive_widths"`` has these.

        All are 1 where all points are equal. Of many points, 2000 (median, variance) or 1000
        (reconstruction) are used.
    n_neighbors : int, default=10
        Number of neighbours of ``affinity="nearest_neighbors"``, "sparse_manifold" and
        "adaptive_widths".
    n_nonzero : int or None, default=5
        Number of points that represent a point in ``affinity="self_representation"``, found by
        orthogonal matching pursuit. None takes the representation of the lasso instead.
    affinity_params : dict or None, default=None
        Options of the affinity, by name; without it those here.

        * "self_representation" with ``n_nonzero=None``: `ratio` = 0.05 is the penalty of a point as
          a share of its largest correlation with another one, `penalty` that of points of unit
          length, instead; with `errors` the errors of single features are atoms, as in the
          l1-graph's source [8]_.
        * "sparse_manifold": `sparsity` = 10, lambda; `mass` = 1, the share of the weights of a
          point that is kept; `symmetry`, by the "mean" of both directions or their "max".
        * "smooth_representation": `ratio` = 0.05, `smoothness` = 0.1, `n_rounds` = 2.
        * "random_forest": `n_trees` = 100; `node_weights`, "equal" or by "size", where the fewer
          points a node has, the more it counts. "ratio_forest": `n_trees`.
        * "sparse_subspace": `ratio` = 20, by which errors cost more than the least at which no
          point is represented by nothing; `affine` = True, combinations of sum one; `errors` =
          True, of single features.
    n_landmarks : int or None, default=None
        Number of random points for the Nystroem approximation of the Gaussian kernel, which needs
        n_samples x n_landmarks numbers. None takes the whole kernel matrix. Other affinities than
        "rbf" refuse it.
    mu : float in (0, 1) or "entropy", default=0.5
        Strength of the quadratic term. The larger mu, the more even the weights, whose upper bound
        is 1 / mu. At 1/2 uniform weights minimise the second part of the objective. For
        ``mode="literal"`` it is the paper's lambda, in (0, 2]; mu is lambda / n. "entropy" is the
        rule of [1]_: the value of a grid at which a tenth of the points has the embedding of the
        least softmax entropy. It selects the scale of the embedding more than its confidence. The
        paper prints the grid as "[0.05, 05]" in steps of 0.05, which is read here as 0.05 to 0.5;
        0.05 to 5 is as likely, and would go beyond its own limit lambda <= 2.
    rho : float, default=1.0
        Weight of the cut. ``mode="literal"`` has none.
    mode : {"balanced", "relaxed", "literal"}, default="balanced"
        "balanced" is the objective above. "relaxed" replaces the cut by the sum of the c smallest
        eigenvalues of the normalised Laplacian. "literal" is Algorithm 1 of [1]_ as printed, with
        `mu` as its lambda, for comparison: it puts all weight on a few points as soon as the
        degrees exceed a handful.
    alpha_init : {"uniform", "sparse"}, default="uniform"
        Weights to start from. "sparse", for ``mode="literal"``, are few weights by which the points
        represent each other, with the paper's penalty of 0.1 on each. Where only affinities are
        given, the points are those of their feature space.
    max_iter : int, default=20
        Bound on the number of rounds. With 0 the initial weights stay, and of the `n_init`
        partitions by k-means that of the least inertia is taken, as in spectral clustering; the
        objective is only reported. Otherwise the objective chooses among them from the start, so
        that ``history_[0]`` may be lower than the objective of ``max_iter=0``.
    tol : float, default=1e-4
        Stop when a round lowers the objective by less than this, relative.
    assign_labels : {"kmeans", "cluster_qr"}, default="kmeans"
        How clusters are found in the embedding: by k-means, or by a pivoted QR factorisation of its
        rows before they are scaled, where nothing is random [7]_.
    normalize_rows : bool, default=True
        Whether the rows of the embedding are scaled to unit length before. With
        ``mode="literal"`` they are not, as Algorithm 1 of [1]_ clusters them as they are. With
        False and ``max_iter=0`` the result is that of scikit-learn's `SpectralClustering` on
        affinities with a zero diagonal. It ignores the diagonal, which counts here as the
        similarity of a point to itself.
    assign_new : {"embedding", "similarity"}, default="embedding"
        How `predict` assigns points. "embedding" gives training points their own label and new
        points that of the nearest centre in the embedding, which is close to what a fit on all
        points would give them. "similarity" gives every point the cluster with the largest sum of
        weighted affinities, the classifier of [1]_, which favours large clusters where the affinity
        is wide.
    n_init : int, default=10
        Number of starts of k-means, each of which proposes a partition.
    random_state : int, RandomState instance or None, default=None
        Of k-means, landmarks, forests and the start of the eigensolver.
    n_jobs : int or None, default=None
        Number of threads for products with a dense affinity matrix and for the neighbour search.
        None takes as many for the products as the linear algebra library is set to, and one for
        the search. The result does not depend on it.
    verbose : int, default=0
        Whether every round is logged.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every point.
    weights_ : ndarray of shape (n_samples,)
        Weights b, with mean one when every point counts as often as its sample weight says; 0
        for points of sample weight 0.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Spectral embedding of W, D^-1/2 times the eigenvectors of D^-1/2 W D^-1/2. For
        ``mode="literal"`` D are the degrees of (8), so that it is the Y of (11).
    eigenvalues_ : ndarray of shape (n_clusters,)
        Eigenvalues of D^-1/2 W D^-1/2, descending.
    affinity_matrix_ : ndarray, csr_array or LowRank of shape (n_samples, n_samples)
        Affinity K, not kept but computed anew on every access for most affinities. For
        ``affinity="precomputed"`` there is no such attribute: K is the matrix given to fit.
    objective_ : float
        Objective at the end.
    history_ : ndarray of shape (n_iter_ + 1,)
        Objective of the best first partition under the initial weights, and after every round.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the objective settled; True where no round was asked for.
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
    .. [2] Y. Yang, F. Liang, S. Yan, Z. Wang, T. S. Huang. "On a theory of nonparametric pairwise
       similarity for clustering: connecting clustering to classification". Advances in Neural
       Information Processing Systems 27 (2014).
    .. [3] E. Elhamifar, R. Vidal. "Sparse manifold clustering and embedding". Advances in Neural
       Information Processing Systems 24 (2011).
    .. [4] Y. Yang, Z. Wang, J. Yang, J. Wang, S. Chang, T. S. Huang. "Data clustering by Laplacian
       regularized l1-graph". AAAI Conference on Artificial Intelligence (2014).
    .. [5] X. Zhu, C. C. Loy, S. Gong. "Constructing robust affinity graphs for spectral
       clustering". IEEE Conference on Computer Vision and Pattern Recognition (2014).
    .. [6] M. Bicego, F. Cicalese, A. Mensi. "RatioRF: a novel measure for random forest clustering
       based on the Tversky's ratio model". IEEE Transactions on Knowledge and Data Engineering
       (2021).
    .. [7] A. Damle, V. Minden, L. Ying. "Simple, direct and efficient multi-way spectral
       clustering". Information and Inference 8 (2019). https://doi.org/10.1093/imaiai/iay008
    .. [8] S. Yan, H. Wang. "Semi-supervised learning by sparse representation". SIAM International
       Conference on Data Mining (2009).
    .. [9] M. Karasuyama, H. Mamitsuka. "Manifold-based similarity adaptation for label
       propagation". Advances in Neural Information Processing Systems 26 (2013).
    .. [10] E. Elhamifar, R. Vidal. "Sparse subspace clustering: algorithm, theory, and
       applications". IEEE Transactions on Pattern Analysis and Machine Intelligence 35 (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import CDSKClustering
    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.2], [5.1]])
    >>> model = CDSKClustering(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] == model.labels_[2] != model.labels_[3])
    True
    >>> model.predict([[0.3]]) == model.labels_[0]
    array([ True])
    """

    _parameter_constraints: ClassVar[dict] = {
        **BaseCDS._parameter_constraints,
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "mode": [StrOptions({"balanced", "relaxed", "literal"})],
        "alpha_init": [StrOptions({"uniform", "sparse"})],
        "mu": [Interval(Real, 0, 2, closed="right"), StrOptions({"entropy"})],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        affinity="rbf",
        gamma="median",
        n_neighbors=10,
        n_nonzero=5,
        affinity_params=None,
        n_landmarks=None,
        mu=0.5,
        rho=1.0,
        mode="balanced",
        alpha_init="uniform",
        max_iter=20,
        tol=1e-4,
        assign_labels="kmeans",
        normalize_rows=True,
        assign_new="embedding",
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
        self.affinity_params = affinity_params
        self.n_landmarks = n_landmarks
        self.mu = mu
        self.rho = rho
        self.mode = mode
        self.alpha_init = alpha_init
        self.max_iter = max_iter
        self.tol = tol
        self.assign_labels = assign_labels
        self.normalize_rows = normalize_rows
        self.assign_new = assign_new
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _make_affinity(self, seed):
        self._check_mode()
        if self.n_landmarks is None:
            return super()._make_affinity(seed)
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
        return RBFAffinity(self.gamma, self.n_clusters, self.n_landmarks, seed)

    def _check_mode(self):
        """Raise ValueError for parameters that the mode does not have."""
        literal = self.mode == "literal"
        if not (literal or isinstance(self.mu, str) or self.mu < 1):
            raise ValueError(f"expected mu < 1 for mode={self.mode!r}, got mu={self.mu}")
        if not literal and self.alpha_init == "sparse":
            raise ValueError(
                f"expected alpha_init='uniform' for mode={self.mode!r}, in which no weight is "
                "zero, got 'sparse'"
            )
        if literal and self.n_landmarks is not None:
            raise ValueError(
                f"expected n_landmarks=None for mode='literal', got {self.n_landmarks}"
            )

    def _scales_rows(self):
        return self.normalize_rows and self.mode != "literal"

    def _in_unit(self, counts):
        if self.mode != "literal":
            return super()._in_unit(counts)
        if not _LEAST_COUNT <= counts.max() <= 1.0 / _LEAST_COUNT:
            raise ValueError(
                f"expected the largest sample weight between {_LEAST_COUNT:.0e} and "
                f"{1.0 / _LEAST_COUNT:.0e} for mode='literal', whose objective has its unit, got "
                f"{counts.max():.3g}"
            )
        return counts

    def _alternate(self, K, n_clusters, propose, block, multiply):
        counts = self._rows.counts
        total = counts.sum()
        alpha = np.full(len(counts), 1.0 / total)
        if self.alpha_init == "sparse":
            points = getattr(self._affinity, "X", None)
            if points is not None:
                G = points @ points.T
            else:
                G = K.toarray() if sparse.issparse(K) else K
            alpha = sparse_weights(G, counts)
        K = counted(K, counts)
        if not isinstance(K, LowRank):
            K = with_own_pieces(K, n_clusters, counts)
        options = {
            "counts": counts,
            "max_iter": self.max_iter,
            "callback": self._reporter("round %d: objective %.6g"),
        }
        if self.mode != "literal":
            return cluster(
                KernelSimilarity(K, self.mu_, multiply),
                n_clusters,
                propose,
                np.ones(len(counts)),
                block,
                relaxed=self.mode == "relaxed",
                rho=self.rho,
                tol=self.tol,
                **options,
            ), None
        result = cluster_literal(
            K,
            n_clusters,
            propose,
            alpha,
            block,
            lambda_=self.mu_,
            multiply=multiply,
            **options,
        )
        bearing = int(_n_bearing(counts * result.weights))
        if self.max_iter == 0 or bearing > max(4, n_clusters):
            return result, None
        return result, (
            f"the weights collapsed onto {bearing} of {len(self._rows.place)} points, as "
            "mode='literal' is prone to; mode='balanced' does not"
        )

    def _mean_one_mu(self):
        return self.mu_ / self._rows.counts.sum() if self.mode == "literal" else self.mu_


def _n_bearing(weights):
    """Return how many of the points bear 99% of the weight."""
    return np.searchsorted(np.cumsum(np.sort(weights)[::-1]), 0.99 * weights.sum()) + 1
