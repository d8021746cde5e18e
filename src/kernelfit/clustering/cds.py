"""Clustering by discriminative similarity, of similarities of any sign."""

import warnings

import numpy as np
from scipy import sparse

from kernelfit.clustering.alternation import cluster
from kernelfit.clustering.diagnosis import with_own_pieces
from kernelfit.clustering.matrices import counted
from kernelfit.clustering.similarity import GeneralSimilarity
from kernelfit.clustering.spectral import BaseCDS
from kernelfit.utils.memory import available_memory

_MATRICES = 8  # n x n matrices in memory at the peak
_SECONDS = 6e-10  # of a fit, over n^3
_LONG = 60.0


class CDSClustering(BaseCDS):
    r"""Spectral clustering with learned weights for similarities of any sign.

    You get what `CDSKClustering` gives, for a similarity that may have negative entries and
    negative eigenvalues. The method is clustering by discriminative similarity (CDS) [1]_. All
    matrices are dense, and all eigenvalues of the similarity are computed, so it is for a few
    thousand points: 4,000 take 40 s and 1 GiB, 20,000 would take 80 minutes and 24 GiB. `fit` warns
    of more than a minute, and refuses what does not fit into the memory available.

    .. math:: \min_{b, A}\; \rho \sum_{k=1}^{c} \frac{\mathrm{cut}(A_k)}{\mathrm{vol}(A_k)}
        + \frac{-d'b + \mu\, b'|S| b}{1'|S|1},
        \qquad W_{ij} = \max\{(b_i + b_j) S_{ij} - \mu\, b_i b_j M_{ij}, 0\}

    over partitions A and weights b of mean one: equations (6) and (7) of [1]_ on one scale. The
    matrix :math:`|S|` has the absolute eigenvalues of S. M is :math:`|S|`, but at most S where S is
    positive, so that similar points keep a similarity.

    The fine print is that of `CDSKClustering`. Weights are between 0.1 and 1 / mu. A point without
    any positive similarity counts as similar to itself alone.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters c.
    affinity : str or callable, default="rbf"
        The similarity S, as for `CDSKClustering`, of any sign.
    gamma : {"median", "variance", "scale", "reconstruction"} or float, default="median"
        Of ``affinity="rbf"``, as for `CDSKClustering`.
    n_neighbors : int, default=10
        Number of neighbours of ``affinity="nearest_neighbors"``, "sparse_manifold" and
        "adaptive_widths".
    n_nonzero : int or None, default=5
        Number of points that represent a point in ``affinity="self_representation"``; None takes
        the representation of the lasso.
    affinity_params : dict or None, default=None
        Options of the affinity, as for `CDSKClustering`.
    mu : float in (0, 1) or "entropy", default=0.5
        Strength of the quadratic term. The larger mu, the more even the weights, whose upper bound
        is 1 / mu. "entropy" is the rule of [1]_, as for `CDSKClustering`.
    rho : float, default=1.0
        Weight of the cut.
    max_iter : int, default=20
        Bound on the number of rounds. With 0 the weights stay uniform, and of the `n_init`
        partitions by k-means that of the least inertia is taken, as in spectral clustering; the
        objective is only reported. Otherwise the objective chooses among them from the start, so
        that ``history_[0]`` may be lower than the objective of ``max_iter=0``.
    tol : float, default=1e-4
        Stop when a round lowers the objective by less than this, relative.
    assign_labels : {"kmeans", "cluster_qr"}, default="kmeans"
        How clusters are found in the embedding: by k-means, or by a pivoted QR factorisation of its
        rows before they are scaled, where nothing is random [2]_.
    normalize_rows : bool, default=True
        Whether the rows of the embedding are scaled to unit length before.
    assign_new : {"embedding", "similarity"}, default="embedding"
        How `predict` assigns points. "embedding" gives training points their own label and new
        points that of the nearest centre in the embedding. "similarity" gives every point the
        cluster with the largest sum of weighted similarities, the classifier of [1]_.
    n_init : int, default=10
        Number of starts of k-means, each of which proposes a partition.
    random_state : int, RandomState instance or None, default=None
        Of k-means, forests and the start of the eigensolver.
    n_jobs : int or None, default=None
        Number of threads for products with a dense matrix and for the neighbour search, as for
        `CDSKClustering`. The result does not depend on it.
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
        Spectral embedding of W, D^-1/2 times the eigenvectors of D^-1/2 W D^-1/2.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Eigenvalues of D^-1/2 W D^-1/2, descending.
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples)
        Similarity S. A dense one is not kept but computed anew on every access. For
        ``affinity="precomputed"`` there is no such attribute: S is the matrix given to fit.
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
    .. [2] A. Damle, V. Minden, L. Ying. "Simple, direct and efficient multi-way spectral
       clustering". Information and Inference 8 (2019). https://doi.org/10.1093/imaiai/iay008

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import CDSClustering
    >>> X = np.array([[1.0, 0.1], [1.0, 0.0], [0.0, 1.0], [-0.1, 1.0]])
    >>> model = CDSClustering(2, affinity=lambda X, Y: X @ Y.T, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
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
        affinity_params=None,
        mu=0.5,
        rho=1.0,
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
        self.mu = mu
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.assign_labels = assign_labels
        self.normalize_rows = normalize_rows
        self.assign_new = assign_new
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_size(self, n):
        size, room = _MATRICES * 8.0 * n**2, available_memory()
        if size > room:
            raise MemoryError(
                f"expected points whose similarities fit into the {room / 2**30:.1f} GiB of memory "
                f"available, got {n} different ones, which take about {size / 2**30:.1f} GiB: take "
                "a sample, or CDSKClustering with a sparse affinity or landmarks"
            )
        if _SECONDS * n**3 > _LONG:
            warnings.warn(
                f"CDSClustering of {n} different points will take about "
                f"{_SECONDS * n**3 / 60.0:.0f} minutes and {size / 2**30:.1f} GiB",
                UserWarning,
                stacklevel=4,
            )

    def _alternate(self, K, n_clusters, propose, block, multiply):
        counts = self._rows.counts
        S = counted(K.toarray() if sparse.issparse(K) else K, counts)
        result = cluster(
            GeneralSimilarity(with_own_pieces(S, n_clusters, counts), self.mu_, counts, multiply),
            n_clusters,
            propose,
            np.ones(len(counts)),
            block,
            counts=counts,
            rho=self.rho,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=self._reporter("round %d: objective %.6g"),
        )
        return result, None
