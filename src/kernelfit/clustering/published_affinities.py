"""Affinities of published clusterings, as the estimators use them; see `affinities`."""

import numpy as np
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier

from kernelfit.clustering.affinities import (
    NeighbourAffinity,
    RBFAffinity,
    SelfRepresentationAffinity,
    check_option,
)
from kernelfit.clustering.graphs import neighbour_graph, symmetrised
from kernelfit.clustering.matrices import multiply
from kernelfit.clustering.smooth_representation import represent_smoothly, smooth_representation
from kernelfit.clustering.sparse_manifold import manifold_weights
from kernelfit.clustering.ties import ROUNDING
from kernelfit.kernels.distances import squared_distances
from kernelfit.kernels.forest import Forest, PathKernel, RatioKernel
from kernelfit.kernels.standard import RBF


class DensityAffinity(RBFAffinity):
    r"""Points are alike that are close for the density about them (SC-NS).

    .. math:: W_{ij} = \frac{K_{\sqrt2 h}(x_i - x_j)}{\sqrt{\hat f(x_i)\, \hat f(x_j)}}, \qquad
        \hat f(x) = \sum_j K_h(x - x_j)

    for the Gaussian kernel of width h, :math:`\gamma = 1 / (2h^2)`. The sum of W over pairs from
    different clusters bounds the error of the plug-in classifier by kernel densities that is
    trained on the clusters [1]_. Constant factors of W do not matter and are left out.

    The density includes the point itself, so that it never vanishes.

    References
    ----------
    .. [1] Y. Yang, F. Liang, S. Yan, Z. Wang, T. S. Huang. "On a theory of nonparametric pairwise
       similarity for clustering: connecting clustering to classification". Advances in Neural
       Information Processing Systems 27 (2014).
    """

    def fit(self, X, counts, multiply):
        """Return the affinity matrix of the rows of X."""
        self.counts = counts / counts.mean()
        return super().fit(X, counts, multiply)

    def matrix(self):
        """Return the affinity matrix of the training points."""
        D = squared_distances(self.X)
        self.roots = np.sqrt(multiply(RBF(self.gamma).from_geometry(D), self.counts))
        W = RBF(0.5 * self.gamma).from_geometry(D, out=D)
        W /= self.roots[:, None]
        W /= self.roots
        return 0.5 * (W + W.T)

    def cross(self, X, relative=False):
        """Return the affinities of the rows of X to the training points."""
        D = squared_distances(X, self.X)
        if relative:  # the density of the row is a factor of it
            D -= D.min(axis=1, keepdims=True)
            roots = np.ones(len(X))
        else:
            roots = np.sqrt(multiply(RBF(self.gamma).from_geometry(D), self.counts))
        W = RBF(0.5 * self.gamma).from_geometry(D, out=D)
        W /= np.where(roots > 0, roots, 1.0)[:, None]
        W /= self.roots
        return W


class SparseManifoldAffinity(NeighbourAffinity):
    r"""Weights of the few neighbours that span a plane through the point (SMCE) [1]_.

    They are found among the nearest neighbours by `manifold_weights`.

    Options: `sparsity`, lambda; `mass`, the share of the weights of a point that is kept, the
    largest first; and `symmetry`, by the "mean" of both directions or by their "max". The source
    has lambda = 10 and leaves the others open. Its authors' code keeps 0.95 and takes the "max".

    References
    ----------
    .. [1] E. Elhamifar, R. Vidal. "Sparse manifold clustering and embedding". Advances in Neural
       Information Processing Systems 24 (2011).
    """

    def __init__(self, n_neighbors, n_jobs, *, sparsity=10.0, mass=1.0, symmetry="mean"):
        super().__init__(n_neighbors, n_jobs)
        check_option("sparsity", sparsity, 0.0, np.inf)
        check_option("mass", mass, 0.0, 1.0 + 1e-12)
        if symmetry not in ("mean", "max"):
            raise ValueError(
                f"expected symmetry in affinity_params 'mean' or 'max', got {symmetry!r}"
            )
        self.sparsity, self.mass, self.symmetry = sparsity, mass, symmetry

    def _weigh(self, links):
        return symmetrised(links, self.symmetry == "max")

    def _graph(self, X):
        graph = super()._graph(X)
        points = self.X if X is None else X
        indices = graph.indices.reshape(len(points), -1)
        weights = np.empty(indices.shape)
        for i, near in enumerate(indices):
            weights[i] = manifold_weights(points[i], self.X[near], self.sparsity)
        if self.mass < 1.0:
            order = np.argsort(-weights, axis=1, kind="stable")
            largest = np.take_along_axis(weights, order, axis=1)
            before = np.cumsum(largest, axis=1) - largest
            largest[before >= self.mass - ROUNDING] = 0.0
            np.put_along_axis(weights, order, largest, axis=1)
        return neighbour_graph(indices, weights, self.n)


class SmoothRepresentationAffinity(SelfRepresentationAffinity):
    r"""Absolute coefficients by which points represent each other, alike for neighbours, CSR.

    They are those of `smooth_representation` [1]_: the neighbours are those of the l1-graph itself.

    The source leaves open how the first graph is made, which is here the l1-graph without
    smoothness. Options: `ratio`, as for "self_representation"; `smoothness`, gamma; and `n_rounds`,
    the number of graphs.

    References
    ----------
    .. [1] Y. Yang, Z. Wang, J. Yang, J. Wang, S. Chang, T. S. Huang. "Data clustering by Laplacian
       regularized l1-graph". AAAI Conference on Artificial Intelligence (2014).
    """

    def __init__(self, *, ratio=0.05, smoothness=0.1, n_rounds=2):
        super().__init__(None, ratio=ratio)
        check_option("smoothness", smoothness, 0.0, np.inf)
        check_option("n_rounds", n_rounds, 0, np.inf)
        self.ratio, self.smoothness, self.n_rounds = ratio, smoothness, int(n_rounds)
        self.codes, self.scale = sparse.csr_array((1, 1)), 1.0  # of a single point, not fitted

    def _code(self, X, exclude_self, **options):
        if exclude_self:
            self.codes, self.scale = smooth_representation(
                X, self.ratio, self.smoothness, self.n_rounds
            )
            return abs(self.codes)
        known = self.codes, self.scale, self.ratio, self.smoothness
        return abs(represent_smoothly(X, self.X, *known))


class ForestAffinity:
    """What two points share in a forest that tells the data from noise.

    The noise has the features of the data, each drawn for itself, so that the trees learn how the
    features depend on each other. Of `rule` "path" the affinity is the share of the way from the
    root that two points go together (RAG [1]_); of "ratio", the share of the tests on either way
    that both answer alike (RatioRF [2]_).

    Trees split ranks, so that neither units nor monotone functions of a feature matter. They are
    fully grown on bootstrap samples; the number of noise points is that of the distinct points.

    Options: `n_trees`; and for "path" `node_weights`, which are "equal" or "size", one over the
    number of points of a node. With "size" what a point shares with few others counts most, the
    adaptive weights of [1]_.

    References
    ----------
    .. [1] X. Zhu, C. C. Loy, S. Gong. "Constructing robust affinity graphs for spectral
       clustering". IEEE Conference on Computer Vision and Pattern Recognition (2014).
    .. [2] M. Bicego, F. Cicalese, A. Mensi. "RatioRF: a novel measure for random forest clustering
       based on the Tversky's ratio model". IEEE Transactions on Knowledge and Data Engineering
       (2021).
    """

    advice = ""
    by_distance = False

    def __init__(self, rule, seed, n_jobs, *, n_trees=100, node_weights="equal"):
        check_option("n_trees", n_trees, 0, np.inf)
        if node_weights not in (("equal", "size") if rule == "path" else ("equal",)):
            raise ValueError(
                "expected node_weights in affinity_params 'equal', or 'size' for 'random_forest', "
                f"got {node_weights!r}"
            )
        self.rule, self.seed, self.n_jobs = rule, seed, n_jobs
        self.n_trees, self.node_weights = int(n_trees), node_weights

    def fit(self, X, counts, multiply):
        """Return the affinity matrix of the rows of X."""
        self.values = [np.unique(column) for column in X.T]
        self.ranks = self._rank(X)
        n = len(X)
        rng = np.random.default_rng(self.seed)
        share = counts / counts.sum()
        noise = [column[rng.choice(n, n, p=share)] for column in self.ranks.T]
        rows = np.concatenate((self.ranks, np.column_stack(noise)))
        weights = np.concatenate((share, np.full(n, 1.0 / n)))
        forest = RandomForestClassifier(self.n_trees, random_state=self.seed, n_jobs=self.n_jobs)
        forest.fit(rows, np.repeat((1, 0), n), weights)
        trees = [tree.tree_ for tree in forest.estimators_]
        tests = [(t.feature, t.threshold, t.children_left, t.children_right) for t in trees]
        joined = Forest.join(tests)
        sizes = np.concatenate([tree.weighted_n_node_samples for tree in trees])
        by_size = 1.0 / sizes if self.node_weights == "size" else None
        self.kernel = RatioKernel(joined) if self.rule == "ratio" else PathKernel(joined, by_size)
        return self.matrix()

    def matrix(self):
        """Return the affinity matrix of the training points."""
        return self.kernel(self.ranks)

    def cross(self, X, relative=False):
        """Return the affinities of the rows of X to the training points."""
        return self.kernel(self._rank(X), self.ranks)

    def _rank(self, X):
        """Return the place of every value among those of the training points, linear between."""
        pairs = zip(X.T, self.values, strict=True)
        return np.column_stack(
            [np.interp(x, values, np.arange(len(values))) for x, values in pairs]
        )
