"""Kernel k-means."""

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kernelfit.clustering.feature_space import BaseFeatureSpaceClustering
from kernelfit.clustering.lloyd import cluster_means
from kernelfit.clustering.matrices import multiply
from kernelfit.clustering.ties import first_least_columns

_ROUNDING = 1e-9  # of the kernel's entries, in the mean squared distance to the cluster means


class KernelKMeans(BaseFeatureSpaceClustering):
    r"""K-means in the feature space of a kernel.

    You get clusters around means, like those of k-means, but in the geometry of a kernel, so their
    borders need not be straight. `predict` follows `labels_` on the training points and takes the
    nearest mean for new ones.

    .. math:: \min_A \sum_{k=1}^{c} \sum_{i \in A_k} \|\phi(x_i) - m_k\|^2, \qquad
        m_k = \frac{1}{|A_k|} \sum_{j \in A_k} \phi(x_j)

    over partitions A of the points, by Lloyd's iteration from several k-means++ starts, and from
    where it settles by moves of single points (Hartigan's method) [1]_ [2]_. At the end no move of
    one point to another cluster lowers the objective by more than rounding.

    The fine print:

    * Distances see units. Standardise the features, unless they are in one unit; where a few of
      them make up nearly all of the distances, fit warns.
    * Equal rows are one point that counts several times. So they share a cluster, and a sample
      weight of 2 is the same as a repeated row. They move together; moving a part of them would
      not do better. The clusters do not depend on the order of the rows, but for
      ``affinity="precomputed"``, and the result is the same to the last bit for any number of
      threads.
    * Only distances in feature space matter, so a conditionally positive semidefinite kernel like
      :math:`-\|x-y\|^2` serves as well.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters c.
    affinity : {"rbf", "self_tuning", "precomputed"} or callable, default="rbf"
        The kernel, as for `CDSKClustering`, of any sign.
    gamma : {"median", "variance", "scale", "reconstruction"} or float, default="median"
        Of ``affinity="rbf"``, as for `CDSKClustering`.
    max_iter : int, default=300
        Bound on the number of iterations of one start: rounds of Lloyd's iteration and sweeps of
        single moves over the points.
    n_init : int, default=10
        Number of starts, of which that with the least inertia is taken.
    random_state : int, RandomState instance or None, default=None
        Of the starts.
    n_jobs : int or None, default=None
        Number of threads for products with the kernel matrix; None takes as many as the linear
        algebra library is set to. The result does not depend on it.
    verbose : int, default=0
        Whether every start is logged.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every point.
    inertia_ : float
        The objective: the sum of the squared distances to the cluster means.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples)
        Kernel matrix, not kept but computed anew on every access. For ``affinity="precomputed"``
        there is no such attribute: it is the matrix given to fit.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether its labels settled: no single move was left.
    gamma_ : float
        The gamma used, for ``affinity="rbf"``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has them.

    References
    ----------
    .. [1] J. A. Hartigan, M. A. Wong. "Algorithm AS 136: a k-means clustering algorithm". Journal
       of the Royal Statistical Society C 28 (1979).
    .. [2] M. Telgarsky, A. Vattani. "Hartigan's method: k-means clustering without Voronoi".
       Artificial Intelligence and Statistics (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelKMeans
    >>> X = np.array([[0.0], [0.2], [5.0], [5.2]])
    >>> labels = KernelKMeans(n_clusters=2, random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """

    def __init__(
        self,
        n_clusters=8,
        *,
        affinity="rbf",
        gamma="median",
        max_iter=300,
        n_init=10,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.gamma = gamma
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _cluster(self, K, n_clusters, seed, multiply):
        K = K.toarray() if sparse.issparse(K) else K
        counts = self._rows.counts
        report = self._reporter("start %d: inertia %.6g after %d iterations")
        rng = np.random.default_rng(seed)
        best = self._best_means(K, n_clusters, rng, multiply, self.max_iter, report)
        self._labels = best.labels
        self._mean_norms = best.mean_norms
        self.inertia_ = best.inertia
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        complaints = []
        if not best.converged:
            complaints.append(
                (
                    f"KernelKMeans stopped after max_iter={self.max_iter} iterations before the "
                    "labels settled: raise max_iter",
                    ConvergenceWarning,
                )
            )
        if best.inertia < -_ROUNDING * counts.sum() * max(K.max(), -K.min()):
            complaints.append(
                (
                    "the kernel is not positive semidefinite, not even conditionally: inertia_ is "
                    f"{best.inertia:.3g}, which is no sum of squared distances",
                    UserWarning,
                )
            )
        return complaints

    def _assign(self, C):
        """Return the clusters of new points from their kernel values."""
        norms = self._mean_norms
        products = multiply(C, cluster_means(self._labels, len(norms), self._rows.counts))
        terms = np.abs(products).max(axis=1, keepdims=True)
        scale = terms + np.abs(norms[np.isfinite(norms)]).max()
        return first_least_columns(norms - 2.0 * products, scale)
