"""What all clusterings on an affinity share: data, weights, one atomic fit, and new points."""

import inspect
import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.clustering.adaptive_widths import AdaptiveWidthAffinity
from kernelfit.clustering.affinities import (
    CallableAffinity,
    NeighbourAffinity,
    PrecomputedAffinity,
    RBFAffinity,
    SelfRepresentationAffinity,
    SelfTuningAffinity,
)
from kernelfit.clustering.diagnosis import diagnose_scales
from kernelfit.clustering.matrices import BlockProducts, LowRank
from kernelfit.clustering.published_affinities import (
    DensityAffinity,
    ForestAffinity,
    SmoothRepresentationAffinity,
    SparseManifoldAffinity,
)
from kernelfit.clustering.rows import KnownRows, distinct_affinities, row_marks
from kernelfit.clustering.sparse_subspace import SparseSubspaceAffinity
from kernelfit.clustering.words import plural
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.distinct import distinct_points
from kernelfit.utils.progress import show_progress
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.threads import blas_threads, one_blas_thread
from kernelfit.utils.validation import check_kernel_matrix, check_sizes, check_weights

_CHUNK_BYTES = 2**26  # of affinities of new points computed at a time


class BaseClustering(ClusterMixin, BaseEstimator):
    """Base of the clusterings on an affinity.

    Equal rows of the data are one point with a weight. The distinct points are put into ascending
    order before anything is computed. So a point that is repeated and a point with a weight are the
    same to the last bit, the order of the rows does not matter, and equal rows share a cluster.
    Precomputed affinities stay in the order in which they are given, which does matter.
    All products of fit are sums of one order, whatever the number of threads.

    A subclass computes the clusters of the distinct points in ``_cluster`` and assigns new points
    in ``_assign``. Its fitted attributes whose names start with an underscore refer to distinct
    points.
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "affinity": [
            StrOptions(
                {
                    "rbf",
                    "self_tuning",
                    "nearest_neighbors",
                    "self_representation",
                    "density",
                    "sparse_manifold",
                    "smooth_representation",
                    "random_forest",
                    "ratio_forest",
                    "adaptive_widths",
                    "sparse_subspace",
                    "precomputed",
                }
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
    _apart = ""  # how far points are told apart
    _fewer_is_failure = True  # whether fewer clusters than asked for are not what the method found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = self._precomputed
        tags.input_tags.positive_only = self._precomputed and not self._negative_allowed
        return tags

    @property
    def _name(self):
        return type(self).__name__

    @property
    def _precomputed(self):
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    def fit(self, X, y=None, sample_weight=None):
        """Cluster the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, dense, of which a copy is kept; the affinity matrix, of shape
            (n_samples, n_samples), dense or sparse, for ``affinity="precomputed"``.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times every point counts: a weight of 2 equals a repeated row, a weight of 0 a
            row that is left out, which is then labelled like a new point. Ones when None.

        Returns
        -------
        self : object
            The fitted estimator. Where fit raises or is interrupted, it is left as it was.
        """
        self._validate_params()
        if isinstance(self.n_clusters, bool):
            raise ValueError(f"expected an integer n_clusters, got {self.n_clusters}")
        fitted = blank_copy(self)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        n_threads = blas_threads() if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        with one_blas_thread(), BlockProducts(n_threads) as multiply:
            complaints = fitted._fit(X, sample_weight, seed, multiply)
        for message, category in complaints:
            warnings.warn(message, category, stacklevel=2)
        self.__dict__ = fitted.__dict__
        return self

    def _fit(self, X, sample_weight, seed, multiply):
        """Fit in place and return the warnings, each with its category."""
        affinity = self._affinity = self._make_affinity(seed)
        X = self._check_data(X, affinity, reset=True)
        n = X.shape[0]
        if self.n_clusters > n:
            raise ValueError(
                f"expected n_clusters <= n_samples, got n_clusters={self.n_clusters} and "
                f"n_samples={n}"
            )
        weight = check_weights(sample_weight, n)
        if isinstance(affinity, PrecomputedAffinity):
            self._check_affinity(X)
            marks = row_marks(X)
            rows = distinct_affinities(X, weight, marks)
            known = marks[rows.first]
            self._check_size(len(rows.first))
            K = affinity.fit(X, rows.first if len(rows.first) < n else None)
        else:
            rows = distinct_points(X, weight)
            points = X[rows.first]
            known = row_marks(points)
            self._check_size(len(points))
            K = affinity.fit(points, rows.counts, multiply)
            if not isinstance(K, LowRank):
                self._check_affinity(K)
        if isinstance(affinity, RBFAffinity):
            self.gamma_ = affinity.gamma
        self._rows, self._known = rows, KnownRows(known)
        n_clusters = min(self.n_clusters, len(rows.first))
        complaints = self._cluster(K, n_clusters, seed, multiply)
        if affinity.by_distance:
            complaints.append((diagnose_scales(points, rows.counts), UserWarning))
        n_found = len(np.unique(self._labels))
        if n_found < self.n_clusters and (self._fewer_is_failure or n_found == len(rows.first)):
            why = ""
            if n_found == len(rows.first):
                why = f": there {'is' if n_found == 1 else 'are'} only "
                why += plural(n_found, "different point") + self._apart
            complaints.append(
                (
                    f"{self._name} found {plural(n_found, 'cluster')}, fewer than "
                    f"n_clusters={self.n_clusters}{why}",
                    ConvergenceWarning,
                )
            )
        self._publish(X)
        return [(message, category) for message, category in complaints if message is not None]

    def _check_size(self, n):
        """Raise MemoryError or warn where so many different points are too many."""

    def _publish(self, X):
        """Set the attributes that have a row for every row of the data."""
        self.labels_ = self._labels[self._rows.place]
        absent = np.flatnonzero(self._rows.place < 0)
        if absent.size:
            self.labels_[absent] = self._predict(X[absent])

    def predict(self, X):
        """Assign points to the clusters.

        A row that equals a training row gets the label that it has in `labels_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, dense; their affinities to the training points, dense or sparse, for
            ``affinity="precomputed"``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = self._check_data(X, self._affinity, reset=False)
        with one_blas_thread():
            return self._predict(X)

    def _predict(self, X):
        place = self._known.find(X)
        labels = self._labels[place]
        new = np.flatnonzero(place < 0)
        if new.size:
            labels[new] = self._by_chunks(X[new], self._assign)
        return labels

    @property
    def affinity_matrix_(self):
        """Affinity matrix of the training points, zero for those of weight zero.

        Most are computed anew on every access, as predict does not need them. For
        ``affinity="precomputed"`` there is no such attribute: it is the matrix given to fit.
        """
        check_is_fitted(self)
        with one_blas_thread():
            K = self._affinity.matrix()
        place = self._rows.place
        if isinstance(K, LowRank):
            return LowRank(np.where(place[:, None] >= 0, K.Z[place], 0.0))
        K = K[place][:, place]
        absent = np.flatnonzero(place < 0)
        if absent.size:
            present = (place >= 0).astype(float)
            if sparse.issparse(K):
                return sparse.csr_array(K * present[:, None] * present)
            K[absent] = 0.0
            K[:, absent] = 0.0
        return K

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
            order="C",
        )
        if sparse.issparse(X):
            X = sparse.csr_array(X)
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
        if reset and precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"expected a square affinity matrix, got shape {X.shape}")
        if not isinstance(affinity, CallableAffinity | PrecomputedAffinity):
            check_sizes(X)
        return X

    def _make_affinity(self, seed):
        """Return the affinity asked for; `seed` is for those that draw points."""
        match self.affinity:
            case "rbf":
                return self._with_options(RBFAffinity, self.gamma, self.n_clusters)
            case "self_tuning":
                return self._with_options(SelfTuningAffinity)
            case "nearest_neighbors":
                return self._with_options(NeighbourAffinity, self.n_neighbors, self.n_jobs)
            case "self_representation":
                return self._with_options(SelfRepresentationAffinity, self.n_nonzero)
            case "density":
                return self._with_options(DensityAffinity, self.gamma, self.n_clusters)
            case "sparse_manifold":
                return self._with_options(SparseManifoldAffinity, self.n_neighbors, self.n_jobs)
            case "smooth_representation":
                return self._with_options(SmoothRepresentationAffinity)
            case "random_forest":
                return self._with_options(ForestAffinity, "path", seed, self.n_jobs)
            case "ratio_forest":
                return self._with_options(ForestAffinity, "ratio", seed, self.n_jobs)
            case "adaptive_widths":
                return self._with_options(AdaptiveWidthAffinity, self.n_neighbors, self.n_jobs)
            case "sparse_subspace":
                return self._with_options(SparseSubspaceAffinity)
            case "precomputed":
                return self._with_options(PrecomputedAffinity)
        return self._with_options(CallableAffinity, self.affinity)

    def _with_options(self, affinity, *arguments):
        """Return an affinity with the options in `affinity_params`, its keyword arguments."""
        given = getattr(self, "affinity_params", None) or {}
        parameters = inspect.signature(affinity).parameters.values()
        known = sorted(one.name for one in parameters if one.kind is one.KEYWORD_ONLY)
        if not set(given) <= set(known):
            raise ValueError(
                f"expected affinity_params of {', '.join(known) or 'no options'} for "
                f"affinity={self.affinity!r}, got {', '.join(sorted(given))}"
            )
        return affinity(*arguments, **given)

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
        """Return what a function makes of the affinities of the rows of X, in pieces."""
        step = max(1, _CHUNK_BYTES // (8 * len(self._labels)))
        parts = []
        for first in range(0, X.shape[0], step):
            C = self._affinity.cross(X[first : first + step], relative=self._relative)
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

    def _reporter(self, form):
        """Return a function that logs its arguments in a form, or None where nothing is to be."""
        if not self.verbose:
            return None
        logger = show_progress()
        return lambda *arguments: logger.info(form, *arguments)
