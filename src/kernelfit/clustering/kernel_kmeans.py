"""Kernel k-means."""

import warnings
from numbers import Integral
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kernelfit.clustering.base import BaseAffinityClustering
from kernelfit.clustering.lloyd import kernel_kmeans, spread_start
from kernelfit.utils.sklearn_private import Interval, StrOptions

_ROUNDING = 1e-9  # of the kernel's entries, in the mean squared distance to the cluster means


class KernelKMeans(BaseAffinityClustering):
    r"""K-means in the feature space of a kernel.

    .. math:: \min_A \sum_{k=1}^{c} \sum_{i \in A_k} \|\phi(x_i) - m_k\|^2, \qquad
        m_k = \frac{1}{|A_k|} \sum_{j \in A_k} \phi(x_j)

    over partitions A of the points, by Lloyd's iteration from several k-means++ starts. Inner
    products enter by distances alone, so a conditionally positive semidefinite kernel like
    :math:`-\|x-y\|^2` serves as well.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    affinity : {"rbf", "self_tuning", "precomputed"} or callable, default="rbf"
        The kernel, as for `CDSKClustering`, of any sign.
    gamma : {"median", "variance", "scale", "reconstruction"} or float, default="median"
        Of ``affinity="rbf"``, as for `CDSKClustering`.
    max_iter : int, default=300
        Bound on the number of iterations of one start.
    n_init : int, default=10
        Number of starts.
    random_state : int, RandomState instance or None, default=None
        Of the starts.
    n_jobs : int or None, default=None
        Number of processors for the neighbour search of "self_tuning".
    verbose : int, default=0
        Not used.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every point.
    inertia_ : float
        The objective.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples)
        Kernel matrix; for ``affinity="precomputed"`` it may share the memory of the matrix given.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether its labels settled.
    gamma_ : float
        The gamma used, for ``affinity="rbf"``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelKMeans
    >>> X = np.array([[0.0], [0.2], [5.0], [5.2]])
    >>> labels = KernelKMeans(n_clusters=2, random_state=0).fit_predict(X)
    >>> labels[0] == labels[1] != labels[2]
    np.True_
    """

    _parameter_constraints: ClassVar[dict] = {
        **BaseAffinityClustering._parameter_constraints,
        "affinity": [StrOptions({"rbf", "self_tuning", "precomputed"}), callable],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }
    _negative_allowed = True

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

    def _fit(self, X, K, rng):
        K = K.toarray() if sparse.issparse(K) else K
        c = self.n_clusters
        results = []
        for _ in range(self.n_init):
            start = spread_start(K, c, rng.randint(len(K)), rng.uniform(size=c - 1))
            results.append(kernel_kmeans(K, start, c, self.max_iter))
        best = min(results, key=lambda result: result.inertia)
        if not best.converged:
            warnings.warn(
                f"KernelKMeans stopped after max_iter={self.max_iter} iterations before the "
                "labels settled: raise max_iter",
                ConvergenceWarning,
                stacklevel=3,
            )
        if best.inertia < -_ROUNDING * len(K) * max(K.max(), -K.min()):
            warnings.warn(
                f"the kernel is not positive semidefinite, conditionally either: inertia_ is "
                f"{best.inertia:.3g}, and Lloyd's iteration need not lower it",
                UserWarning,
                stacklevel=3,
            )
        n_found = len(np.unique(best.labels))
        if n_found < c:
            warnings.warn(
                f"KernelKMeans found {n_found} clusters, fewer than n_clusters={c}: the kernel "
                "tells no more points apart",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.affinity_matrix_ = K
        self.labels_ = best.labels
        self.inertia_ = best.inertia
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        self._mean_norms = best.mean_norms

    def _predict_chunk(self, C):
        indicators = np.eye(len(self._mean_norms))[self.labels_]
        sizes = indicators.sum(axis=0)
        products = np.asarray(C @ (indicators / np.maximum(sizes, 1.0)))
        return np.where(sizes > 0, self._mean_norms - 2.0 * products, np.inf).argmin(axis=1)
