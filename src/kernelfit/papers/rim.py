"""Regularised information maximisation as an estimator."""

from numbers import Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kernelfit.clustering.feature_space import BaseFeatureSpaceClustering
from kernelfit.clustering.matrices import multiply
from kernelfit.clustering.ties import first_least_columns
from kernelfit.papers.information import (
    kernel_factor,
    maximise_information,
    probabilities,
)
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.threads import one_blas_thread

_CONFIDENCE = 2.0  # of a point in its own cluster against all others together, to begin with


class RIMClustering(BaseFeatureSpaceClustering):
    r"""Clusters of about equal size that a kernel classifier tells with confidence.

    You get clusters and, from `predict_proba`, how sure the classifier is of the cluster of a
    point. The method is regularised information maximisation (RIM) [1]_ with a kernel.

    .. math:: \max_{a, b}\; H\Big(\frac1n \sum_i p_i\Big) - \frac1n \sum_i H(p_i)
        - \lambda \sum_k a_k' K a_k, \qquad p_{ik} \propto \exp\Big(\sum_j K_{ij} a_{jk} + b_k\Big)

    over kernel logistic classifiers into c clusters. The entropy H of the mean favours clusters of
    equal size, that of the points confidence; together they are the mutual information of points
    and clusters. A point goes to the cluster of the largest probability. The start is the best of
    several kernel k-means, and the objective only rises from there, to a local maximum.

    The fine print:

    * Distances see units. Standardise the features, unless they are in one unit; where a few of
      them make up nearly all of the distances, fit warns.
    * Equal rows are one point that counts several times. So they share a cluster, and a sample
      weight of 2 is the same as a repeated row. The clusters do not depend on the order of the
      rows, but for ``affinity="precomputed"``, and the result is the same to the last bit for any
      number of threads.
    * Clusters may stay empty: then fewer of them serve the objective better.
    * All eigenvalues of the kernel matrix are computed, so it is for a few thousand points.
      Negative ones are left out.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters c, at most.
    affinity : {"rbf", "self_tuning", "precomputed"} or callable, default="rbf"
        The kernel, as for `CDSKClustering`, of any sign.
    gamma : {"median", "variance", "scale", "reconstruction"} or float, default="median"
        Of ``affinity="rbf"``, as for `CDSKClustering`.
    penalty : float or "auto", default="auto"
        Lambda: the larger, the smoother the borders and the more equal the probabilities. The
        source leaves it to the user. "auto" is 1 / (2 n), a standard normal prior of the classifier
        as in logistic regression with C = 1. For many small clusters it is too large, and leaves
        some of them empty; 1e-4 does better on digits.
    max_iter : int, default=1000
        Bound on the number of iterations.
    tol : float, default=1e-5
        Largest slope of the objective at the end.
    n_init : int, default=10
        Number of starts of kernel k-means, of which the best one is taken.
    random_state : int, RandomState instance or None, default=None
        Of the starts.
    n_jobs : int or None, default=None
        Number of threads for products with the kernel matrix; None takes as many as the linear
        algebra library is set to. The result does not depend on it.
    verbose : int, default=0
        Whether the end is logged.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every point.
    objective_ : float
        The objective.
    penalty_ : float
        The penalty used.
    information_ : float
        Mutual information of points and clusters, in nats, at most log c.
    history_ : ndarray of shape (n_iter_ + 1,)
        Objective of the start and after every iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the slope is small enough, or the objective rises no more.
    affinity_matrix_ : ndarray of shape (n_samples, n_samples)
        Kernel matrix, not kept but computed anew on every access. For ``affinity="precomputed"``
        there is no such attribute: it is the matrix given to fit.
    gamma_ : float
        The gamma used, for ``affinity="rbf"``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has them.

    References
    ----------
    .. [1] R. Gomes, A. Krause, P. Perona. "Discriminative clustering by regularized information
       maximization". Advances in Neural Information Processing Systems 23 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import RIMClustering
    >>> X = np.append(np.linspace(0, 1, 30), np.linspace(5, 6, 30))[:, None]
    >>> model = RIMClustering(n_clusters=2, random_state=0).fit(X)
    >>> np.unique(model.labels_[:30]).size, np.unique(model.labels_[30:]).size
    (1, 1)
    >>> bool(model.predict_proba([[0.1]]).max() > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **BaseFeatureSpaceClustering._parameter_constraints,
        "penalty": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }
    _fewer_is_failure = False

    def __init__(
        self,
        n_clusters=8,
        *,
        affinity="rbf",
        gamma="median",
        penalty="auto",
        max_iter=1000,
        tol=1e-5,
        n_init=10,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.gamma = gamma
        self.penalty = penalty
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _cluster(self, K, n_clusters, seed, multiply):
        K = K.toarray() if sparse.issparse(K) else K
        counts = self._rows.counts
        rng = np.random.default_rng(seed)
        F, back = kernel_factor(K)
        if not F.shape[1]:
            raise ValueError("expected a kernel with a positive eigenvalue, got none")
        best = self._best_means(K, n_clusters, rng, multiply)
        self.penalty_ = 0.5 / counts.sum() if self.penalty == "auto" else float(self.penalty)
        result = maximise_information(
            F,
            counts / counts.sum(),
            (_CONFIDENCE + np.log(n_clusters)) * np.eye(n_clusters)[best.labels],
            self.penalty_,
            max_iter=self.max_iter,
            tol=self.tol,
            multiply=multiply,
        )
        report = self._reporter("objective %.6g after %d iterations")
        if report is not None:
            report(result.objective, result.n_iter)
        missing = self.n_clusters - n_clusters
        self._coef = np.pad(multiply(back, result.coef), ((0, 0), (0, missing)))
        self._intercept = np.append(result.intercept, np.full(missing, -np.inf))
        self._labels = self._choose(multiply(F, result.coef) + result.intercept)
        self.objective_ = result.objective
        self.information_ = result.information
        self.history_ = np.array(result.history)
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        if result.converged:
            return []
        return [
            (
                f"RIMClustering stopped after {result.n_iter} iterations before the objective "
                "settled: raise max_iter or tol",
                ConvergenceWarning,
            )
        ]

    def predict_proba(self, X):
        """Return the probabilities of the clusters.

        Where a large `penalty` leaves all of them equal up to rounding, `labels_` and `predict`
        still tell the clusters by the exponents, which differ.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, dense; their affinities to the training points, dense or sparse, for
            ``affinity="precomputed"``.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        X = self._check_data(X, self._affinity, reset=False)
        with one_blas_thread():
            return self._by_chunks(X, lambda C: probabilities(self._decide(C)))

    def _decide(self, C):
        return multiply(C, self._coef) + self._intercept

    def _assign(self, C):
        """Return the clusters of new points from their kernel values."""
        return self._choose(self._decide(C))

    def _choose(self, decision):
        finite = np.where(np.isfinite(decision), np.abs(decision), 0.0)
        return first_least_columns(-decision, finite.max(axis=1, keepdims=True))
