"""What the clusterings on an affinity share: data, affinity, embedding and new points."""

import copy
import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.clustering.affinities import (
    CallableAffinity,
    NeighbourAffinity,
    PrecomputedAffinity,
    RBFAffinity,
    SelfRepresentationAffinity,
    SelfTuningAffinity,
)
from kernelfit.clustering.alternation import pivoted_labels
from kernelfit.clustering.graphs import diagnose, diagnose_points
from kernelfit.clustering.similarity import LowRank
from kernelfit.utils.progress import show_progress
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.threads import one_openmp_thread
from kernelfit.utils.validation import check_kernel_matrix

_CHUNK_BYTES = 2**26  # of affinities of new points computed at a time
_ENTROPY_GRID = np.arange(1, 11) * 0.05
_LEAST_SCALE = 1e-150  # of affinities: products of two must neither vanish nor overflow
_ZERO = 1e-10  # eigenvalues of a normalised similarity below it are rounding


class BaseAffinityClustering(ClusterMixin, BaseEstimator):
    """Base of the clusterings on an affinity: data, affinity and chunks of new points."""

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "affinity": [
            StrOptions(
                {"rbf", "self_tuning", "nearest_neighbors", "self_representation", "precomputed"}
            ),
            callable,
        ],
        "gamma": [
            StrOptions({"median", "variance", "scale", "reconstruction"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [
            None,
            Interval(Integral, None, -1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "verbose": ["verbose"],
    }
    _negative_allowed = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = self._precomputed
        tags.input_tags.positive_only = self._precomputed and not self._negative_allowed
        return tags

    @property
    def _precomputed(self):
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    def fit(self, X, y=None):
        """Cluster the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, dense, of which a copy is kept; the affinity matrix, of shape
            (n_samples, n_samples), dense or sparse, for ``affinity="precomputed"``.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator. Where fit raises or is interrupted, it is left as it was.
        """
        self._validate_params()
        if isinstance(self.n_clusters, bool):
            raise ValueError(f"expected an integer n_clusters, got {self.n_clusters}")
        # All work is done on a copy, and the last step is a single assignment.
        fitted = copy.copy(self)
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(fitted, name)
        rng = check_random_state(self.random_state)
        fitted._affinity = self._make_affinity(rng)
        X = fitted._check_data(X, fitted._affinity, reset=True)
        if self.n_clusters > X.shape[0]:
            raise ValueError(
                f"expected n_clusters <= n_samples, got n_clusters={self.n_clusters} and "
                f"n_samples={X.shape[0]}"
            )
        K = fitted._affinity.fit(X)
        if not isinstance(K, LowRank):
            self._check_affinity(K)
        fitted.affinity_matrix_ = K
        if isinstance(fitted._affinity, RBFAffinity):
            fitted.gamma_ = fitted._affinity.gamma
        fitted._fit(X, K, rng)
        self.__dict__ = fitted.__dict__
        return self

    def predict(self, X):
        """Assign new points to the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, dense; their affinities to the training points, dense or sparse, for
            ``affinity="precomputed"``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._by_chunks(X, self._predict_chunk)

    def _check_data(self, X, affinity, reset):
        precomputed = isinstance(affinity, PrecomputedAffinity)
        if sparse.issparse(X) and not precomputed:
            raise TypeError(
                "expected dense X, got a sparse matrix, which is accepted for "
                "affinity='precomputed' alone"
            )
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if precomputed else False,
            dtype=np.float64,
            copy=reset and not precomputed,  # predict refers to the training points
        )
        if reset and precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"expected a square affinity matrix, got shape {X.shape}")
        if not isinstance(affinity, CallableAffinity | PrecomputedAffinity):
            largest = max(X.max(), -X.min())
            limit = np.sqrt(np.finfo(np.float64).max / (4.0 * X.shape[1]))
            if largest > limit:
                raise ValueError(
                    f"expected values of at most {limit:.1g} in size, so that squared distances "
                    f"are finite, got {largest:.3g}"
                )
        return X

    def _make_affinity(self, rng):
        """Return the affinity asked for; `rng` is for those that draw points."""
        match self.affinity:
            case "rbf":
                return RBFAffinity(self.gamma, self.n_clusters)
            case "self_tuning":
                return SelfTuningAffinity(self.n_jobs)
            case "nearest_neighbors":
                return NeighbourAffinity(self.n_neighbors, self.n_jobs)
            case "self_representation":
                return SelfRepresentationAffinity(self.n_nonzero)
            case "precomputed":
                return PrecomputedAffinity()
        return CallableAffinity(self.affinity)

    def _check_affinity(self, K):
        """Raise ValueError unless K is symmetric and finite, and an affinity where it has to be."""
        if sparse.issparse(K):
            asymmetry = abs(K - K.T)
            if asymmetry.nnz and asymmetry.max() > 1e-8 * abs(K).max():
                raise ValueError(
                    "expected the affinity matrix to be symmetric, got entries that differ from "
                    f"their mirror image by {asymmetry.max():.3g}"
                )
        else:
            check_kernel_matrix(np.ascontiguousarray(K), "the affinity matrix")

    def _by_chunks(self, X, function):
        check_is_fitted(self)
        X = self._check_data(X, self._affinity, reset=False)
        step = max(1, _CHUNK_BYTES // (8 * len(self.labels_)))
        parts = []
        for first in range(0, X.shape[0], step):
            C = self._affinity.cross(X[first : first + step])
            self._check_signs(C)
            parts.append(function(C))
        return np.concatenate(parts)

    def _check_signs(self, K):
        if self._negative_allowed:
            return
        least = K.min()
        if least < 0:
            raise ValueError(  # scikit-learn's checks look for the first words
                f"Negative values in data: expected non-negative affinities, got {least:.3g}; "
                "CDSClustering takes similarities of any sign"
            )


def _inertia(means):
    return means.inertia_


class BaseCDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseAffinityClustering):
    """Base of `CDSKClustering` and `CDSClustering`, which differ in the similarity."""

    _parameter_constraints: ClassVar[dict] = {
        **BaseAffinityClustering._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_nonzero": [Interval(Integral, 1, None, closed="left"), None],
        "mu": [Interval(Real, 0, 1, closed="neither"), StrOptions({"entropy"})],
        "rho": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "assign_labels": [StrOptions({"kmeans", "cluster_qr"})],
        "normalize_rows": ["boolean"],
    }

    def _check_affinity(self, K):
        super()._check_affinity(K)
        self._check_signs(K)
        largest = K.max()
        if not largest > 0:
            raise ValueError("expected an affinity matrix with positive entries, got none")
        if not _LEAST_SCALE <= largest <= 1.0 / _LEAST_SCALE:
            raise ValueError(
                f"expected the largest affinity between {_LEAST_SCALE:.0e} and "
                f"{1.0 / _LEAST_SCALE:.0e}, so that degrees have inverses, got {largest:.3g}"
            )

    def _fit(self, X, K, rng):
        seed = rng.randint(np.iinfo(np.int32).max)
        self.mu_ = self._entropy_mu(X, seed) if self.mu == "entropy" else float(self.mu)
        n, c = K.shape[0], self.n_clusters
        complaint = self._complaint(X, K)
        if complaint is not None:
            warnings.warn(complaint, UserWarning, stacklevel=3)
        guards = max(5, c // 4)
        block = np.random.default_rng(seed).standard_normal((n, min(n, c + guards)))
        result = self._cluster(K, block, seed)
        if not result.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} rounds before the "
                "objective settled: raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        n_found = len(np.unique(result.labels))
        if n_found < c:
            warnings.warn(
                f"{type(self).__name__} found {n_found} clusters, fewer than n_clusters={c}",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.labels_ = result.labels
        self.weights_ = result.weights
        self.embedding_ = result.embedding
        self.eigenvalues_ = result.eigenvalues
        self.objective_ = result.objective
        self.history_ = np.array(result.history)
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self._quadratic = self._mean_one_mu()

    def predict(self, X):
        """Assign new points to the clusters by the similarity classifier of the method.

        The cluster k with the largest sum of weights_[i] K(x, x_i) over its points i is taken:
        a sum, so that large clusters win where the affinity is wide, also on training points
        with another label in `labels_` (19% of them on the standardised breast cancer data, with
        the defaults). To follow `labels_` instead (0.4% differ), take the nearest centre in the
        embedding, ``NearestCentroid().fit(T(X), model.labels_).predict(T(X_new))`` with
        scikit-learn's `NearestCentroid` and ``T = lambda X: normalize(model.transform(X))``. A
        point without similarity to any training point goes to cluster 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, dense; their affinities to the training points, dense or sparse, for
            ``affinity="precomputed"``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return super().predict(X)

    def _complaint(self, X, K):
        """Return one sentence on data or affinities that cannot show the clusters, or None."""
        complaint = None if self._precomputed else diagnose_points(X, self.n_clusters)
        if complaint is None and isinstance(K, LowRank):
            return self._affinity.complaint
        return complaint or diagnose(K, self.n_clusters, self._affinity.advice)

    def _proposer(self, seed):
        """Return the function from an embedding to partitions, that of the least inertia first."""

        def propose(embedding):
            if self.normalize_rows:
                norms = np.linalg.norm(embedding, axis=1, keepdims=True)
                embedding = embedding / np.where(norms > 0, norms, 1.0)
            if self.assign_labels == "cluster_qr":
                return [pivoted_labels(embedding)]
            # Sums of several threads differ by rounding, which decides between equal partitions.
            with one_openmp_thread(), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the fit tells, and once
                found = [
                    KMeans(self.n_clusters, n_init=1, random_state=start).fit(embedding)
                    for start in range(seed, seed + self.n_init)
                ]
            return [means.labels_.astype(np.intp) for means in sorted(found, key=_inertia)]

        return propose

    def _options(self):
        """Return the bound on the rounds and what to call after each."""
        callback = None
        if self.verbose:
            logger = show_progress()

            def callback(n_iter, objective):
                logger.info("round %d: objective %.6g", n_iter, objective)

        return {"max_iter": self.max_iter, "callback": callback}

    def _entropy_mu(self, X, seed):
        """Return the mu whose embedding of a tenth of the points has the least softmax entropy."""
        n = X.shape[0]
        size = min(n, max(n // 10, 2 * self.n_clusters))
        rows = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
        sample = X[rows][:, rows] if self._precomputed else X[rows]

        def entropy(mu):
            trial = clone(self).set_params(mu=mu, random_state=seed, verbose=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Y = trial.fit(sample).embedding_
            logits = Y - Y.max(axis=1, keepdims=True)
            log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
            return -np.sum(np.exp(log_p) * log_p) / len(Y)

        return float(min(_ENTROPY_GRID, key=entropy))

    def transform(self, X):
        """Return the spectral embedding of new points, by its Nystroem extension.

        A new point has weight one; its embedding is the average of those of the training points,
        weighted by their similarity to it, over the eigenvalues; zero for a point without
        similarity to any training point.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, dense; their affinities to the training points, dense or sparse, for
            ``affinity="precomputed"``.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_clusters)
        """
        return self._by_chunks(X, self._transform_chunk)

    def fit_transform(self, X, y=None):
        """Cluster the data and return `transform` of it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, dense; the affinity matrix, dense or sparse, for ``affinity="precomputed"``.
        y : None
            Ignored.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_clusters)
        """
        return self.fit(X).transform(X)

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def _transform_chunk(self, C):
        weights = 1.0 + self.weights_ - self._quadratic * self.weights_
        C = C.maximum(0.0) if sparse.issparse(C) else np.maximum(C, 0.0)
        totals = C @ weights
        totals = np.where(totals > 0, totals, 1.0)
        solid = np.abs(self.eigenvalues_) > _ZERO
        inverse = np.where(solid, 1.0 / np.where(solid, self.eigenvalues_, 1.0), 0.0)
        return (C @ (weights[:, None] * self.embedding_)) / totals[:, None] * inverse

    def _mean_one_mu(self):
        return self.mu_

    def _predict_chunk(self, C):
        indicators = np.eye(self.embedding_.shape[1])[self.labels_]
        return np.asarray(C @ (self.weights_[:, None] * indicators)).argmax(axis=1)
