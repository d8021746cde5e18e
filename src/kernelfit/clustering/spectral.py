"""What the clusterings by discriminative similarity share: embedding, proposals, new points."""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kernelfit.clustering.alternation import pivoted_labels
from kernelfit.clustering.base import BaseClustering
from kernelfit.clustering.diagnosis import diagnose
from kernelfit.clustering.matrices import LowRank, in_unit, multiply
from kernelfit.clustering.ties import first_least, first_least_columns
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.threads import one_blas_thread, one_openmp_thread

_ENTROPY_GRID = np.arange(1, 11) * 0.05  # reads the paper's "[0.05, 05]" as 0.05 to 0.5
_LEAST_SCALE = 1e-150  # of affinities: products of two must neither vanish nor overflow
_LEAST_COUNT = 1e-20  # relative to the largest: the embedding is exact to that
_ZERO = 1e-10  # eigenvalues of a normalised similarity below it are rounding


class BaseCDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseClustering):
    """Base of `CDSKClustering` and `CDSClustering`, which differ in the similarity."""

    _parameter_constraints: ClassVar[dict] = {
        **BaseClustering._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_nonzero": [Interval(Integral, 1, None, closed="left"), None],
        "affinity_params": [dict, None],
        "mu": [Interval(Real, 0, 1, closed="neither"), StrOptions({"entropy"})],
        "rho": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "assign_labels": [StrOptions({"kmeans", "cluster_qr"})],
        "assign_new": [StrOptions({"embedding", "similarity"})],
        "normalize_rows": ["boolean"],
    }
    _relative = True  # a factor of a row of affinities changes neither embedding nor votes

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

    def _publish(self, X):
        super()._publish(X)
        place = self._rows.place
        self.weights_ = np.where(place >= 0, self._weights[place], 0.0)
        self.embedding_ = self._embedding[place]
        absent = np.flatnonzero(place < 0)
        if absent.size:
            self.embedding_[absent] = self._by_chunks(X[absent], self._extend)

    def _cluster(self, K, n_clusters, seed, multiply):
        counts = self._in_unit(self._rows.counts)
        # Points that count still less have no say, but an embedding.
        counts = np.maximum(counts, _LEAST_COUNT * counts.max())
        self._rows = replace(self._rows, counts=counts)
        self.mu_ = self._entropy_mu(K, seed) if self.mu == "entropy" else float(self.mu)
        n = K.shape[0]
        guards = max(5, n_clusters // 4)
        block = np.random.default_rng(seed).standard_normal((n, min(n, n_clusters + guards)))
        propose = self._proposer(n_clusters, seed)
        result, complaint = self._alternate(K, n_clusters, propose, block, multiply)
        complaints = [(self._complaint(K), UserWarning), (complaint, UserWarning)]
        if not result.converged:
            complaints.append(
                (
                    f"{self._name} stopped after max_iter={self.max_iter} rounds before "
                    "the objective settled: raise max_iter or tol",
                    ConvergenceWarning,
                )
            )
        missing = self.n_clusters - n_clusters
        self._labels = result.labels
        self._weights = result.weights
        self._embedding = np.pad(result.embedding, ((0, 0), (0, missing)))
        self.eigenvalues_ = np.pad(result.eigenvalues, (0, missing))
        self.objective_ = result.objective
        self.history_ = np.array(result.history)
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        # What prediction needs is kept apart from the parameters, which may be set anew.
        self._quadratic = self._mean_one_mu()
        self._unit_rows = self._scales_rows()
        self._by_similarity = self.assign_new == "similarity"
        members = np.eye(self.n_clusters)[self._labels] * counts[:, None]
        sizes = members.sum(axis=0)
        self._largest = int(sizes.argmax())
        places = self._place(self._extend(K, multiply))
        self._centres = members.T @ places / np.where(sizes > 0, sizes, 1.0)[:, None]
        squares = np.einsum("ij,ij->i", self._centres, self._centres)
        self._centre_norms = np.where(sizes > 0, squares, np.inf)
        return complaints

    def _in_unit(self, counts):
        """Return counts whose products neither vanish nor overflow: only their ratios matter."""
        return in_unit(counts, counts.max())

    def _complaint(self, K):
        """Return one sentence on affinities that cannot show the clusters, or None."""
        if isinstance(K, LowRank):
            return self._affinity.complaint
        if K.shape[0] <= self.n_clusters:
            return None
        return diagnose(K, self.n_clusters, self._affinity.advice, self._rows.sizes)

    def _proposer(self, n_clusters, seed):
        """Return the function from an embedding to partitions, that of the least inertia first."""
        counts = self._rows.counts

        def propose(embedding):
            places = _unit(embedding) if self._scales_rows() else embedding
            if self.assign_labels == "cluster_qr":
                return [pivoted_labels(embedding, places)]
            # Sums of several threads differ by rounding, which decides between equal partitions.
            with one_openmp_thread(), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the fit tells, and once
                found = [
                    KMeans(n_clusters, n_init=1, random_state=start).fit(places, None, counts)
                    for start in range(seed, seed + self.n_init)
                ]
            best = first_least([means.inertia_ for means in found])
            found.insert(0, found.pop(best))
            return [means.labels_.astype(np.intp) for means in found]

        return propose

    def _entropy_mu(self, K, seed):
        """Return the mu whose embedding of a tenth of the points has the least softmax entropy."""
        n = K.shape[0]
        size = min(n, max(n // 10, 2 * self.n_clusters))
        rows = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
        sample = K[rows][:, rows] if self._precomputed else self._affinity.X[rows]

        def entropy(mu):
            trial = clone(self).set_params(mu=mu, random_state=seed, verbose=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Y = trial.fit(sample, None, self._rows.counts[rows]).embedding_
            logits = Y - Y.max(axis=1, keepdims=True)
            log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
            return -np.sum(np.exp(log_p) * log_p) / len(Y)

        return float(_ENTROPY_GRID[first_least([entropy(mu) for mu in _ENTROPY_GRID])])

    def predict(self, X):
        """Assign points to the clusters.

        With ``assign_new="embedding"`` a row that equals a training row gets the label that it has
        in `labels_`, and a new point goes to the cluster with the nearest centre in the embedding.
        A point without similarity to any training point goes to the largest cluster.

        With ``assign_new="similarity"`` every point, also a training point, goes to the cluster k
        with the largest sum of weights_[i] K(x, x_i) over its points i, the classifier of the
        paper. The sum favours large clusters where the affinity is wide: on the standardised breast
        cancer data it gives 19% of the training points another label than `labels_`.

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

    def _predict(self, X):
        return self._by_chunks(X, self._assign) if self._by_similarity else super()._predict(X)

    def transform(self, X):
        """Return the spectral embedding of new points, by its Nystroem extension.

        A new point has weight one. Its embedding is the average of those of the training points,
        weighted by their similarity to it, over the eigenvalues. It is zero for a point without
        similarity to any training point. To a Gaussian affinity there is none such: a far point is
        embedded like the training points nearest to it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, dense; their affinities to the training points, dense or sparse, for
            ``affinity="precomputed"``.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        X = self._check_data(X, self._affinity, reset=False)
        with one_blas_thread():
            return self._by_chunks(X, self._extend)

    def fit_transform(self, X, y=None, sample_weight=None):
        """Cluster the data and return `transform` of it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, dense; the affinity matrix, dense or sparse, for ``affinity="precomputed"``.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times every point counts.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_clusters)
        """
        return self.fit(X, y, sample_weight).transform(X)

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def _extend(self, C, multiply=multiply):
        """Return the embedding of points of weight one from their affinities."""
        weights = self._rows.counts * (1.0 + self._weights - self._quadratic * self._weights)
        if self._negative_allowed:
            C = C.maximum(0.0) if sparse.issparse(C) else np.maximum(C, 0.0)
        sums = multiply(C, np.column_stack((weights, weights[:, None] * self._embedding)))
        totals = np.where(sums[:, 0] > 0, sums[:, 0], 1.0)
        solid = np.abs(self.eigenvalues_) > _ZERO
        inverse = np.where(solid, 1.0 / np.where(solid, self.eigenvalues_, 1.0), 0.0)
        return sums[:, 1:] / totals[:, None] * inverse

    def _place(self, embedding):
        """Return embeddings as their distances are measured."""
        return _unit(embedding) if self._unit_rows else embedding

    def _assign(self, C):
        """Return the clusters of new points from their affinities."""
        if self._by_similarity:
            members = np.eye(len(self._centres))[self._labels]
            votes = multiply(C, (self._rows.counts * self._weights)[:, None] * members)
            return first_least_columns(-votes, np.abs(votes).max(axis=1, keepdims=True))
        places = self._place(self._extend(C))
        distances = self._centre_norms - 2.0 * places @ self._centres.T
        scale = self._centre_norms[np.isfinite(self._centre_norms)].max()
        labels = first_least_columns(distances, scale)
        labels[~places.any(axis=1)] = self._largest
        return labels

    def _mean_one_mu(self):
        return self.mu_

    def _scales_rows(self):
        """Return whether rows of the embedding have unit length before they are clustered."""
        return self.normalize_rows


def _unit(embedding):
    """Return rows scaled to length one, but for zero rows."""
    norms = np.linalg.norm(embedding, axis=1, keepdims=True)
    return embedding / np.where(norms > 0, norms, 1.0)
