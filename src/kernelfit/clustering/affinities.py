"""Affinities as the estimators use them: of the training points, and of new points to them.

``fit(X)`` returns the symmetric affinity matrix, dense or CSR; ``cross(X)`` returns that of the
rows of X to the training points, where a common factor of a row is left open; ``advice`` says what
links more points.
"""

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from kernelfit.clustering.graphs import (
    bandwidth_gamma,
    diagnose_landmarks,
    local_scales,
    nearest_rows,
    neighbour_graph,
    reconstruction_gamma,
    self_tuning,
    symmetrised,
)
from kernelfit.clustering.self_representation import lasso_representation, matching_pursuit
from kernelfit.clustering.similarity import LowRank
from kernelfit.kernels.distances import squared_distances, sum_squared_differences
from kernelfit.kernels.standard import RBF, scale_gamma

_SELF_TUNING_NEIGHBOUR = 7  # whose distance is the local scale, as its authors propose
_LASSO_RATIO = 0.05
_TIE = 1e-9  # distances that differ by less, relative, may differ by rounding alone
_CHUNK_BYTES = 2**26  # of distances of points with ties


class RBFAffinity:
    """The Gaussian kernel, whole or by its Nystroem approximation on a few landmarks."""

    advice = "widen the kernel (a smaller gamma, or gamma='median') or standardise the data"
    complaint = None  # on the landmarks, where there are any

    def __init__(self, gamma, n_clusters, n_landmarks=None, rng=None):
        self.rule, self.n_clusters = gamma, n_clusters
        self.n_landmarks, self.rng = n_landmarks, rng

    def fit(self, X):
        """Return the affinity matrix of the rows of X."""
        self.X = X
        if self.rule == "scale":
            self.gamma = scale_gamma(X)
        elif self.rule == "reconstruction":
            self.gamma = reconstruction_gamma(X)
        elif isinstance(self.rule, str):
            self.gamma = bandwidth_gamma(X, self.rule)
        else:
            self.gamma = float(self.rule)
        if not np.isfinite(self.gamma):
            raise ValueError(
                "expected a finite gamma, got infinity: the points are too close to each other to "
                "square their distances, unless gamma itself was infinite"
            )
        kernel = RBF(self.gamma)
        if self.n_landmarks is None or self.n_landmarks >= len(X):
            return kernel(X)
        landmarks = X[np.sort(self.rng.choice(len(X), self.n_landmarks, replace=False))]
        values, vectors = np.linalg.eigh(kernel(landmarks))
        kept = values > 1e-10 * values[-1]
        C = kernel(X, landmarks)
        self.complaint = diagnose_landmarks(C, self.n_clusters)
        return LowRank(C @ (vectors[:, kept] / np.sqrt(values[kept])))

    def cross(self, X):
        """Return the affinities of the rows of X to the training points."""
        D = squared_distances(X, self.X)
        D -= D.min(axis=1, keepdims=True)  # a factor of the row, and far points do not underflow
        return RBF(self.gamma).from_geometry(D, out=D)


class SelfTuningAffinity:
    """Gaussian with a local scale for every point: its distance to the seventh neighbour."""

    advice = ""

    def __init__(self, n_jobs):
        self.n_jobs = n_jobs

    def fit(self, X):
        """Return the affinity matrix of the rows of X."""
        self.X = X
        k = min(_SELF_TUNING_NEIGHBOUR, len(X) - 1)
        if k == 0:
            return np.ones((1, 1))
        self.search = NearestNeighbors(n_neighbors=k, n_jobs=self.n_jobs).fit(X)
        self.scales = local_scales(self.search.kneighbors()[0])
        return self_tuning(squared_distances(X), self.scales, self.scales)

    def cross(self, X):
        """Return the affinities of the rows of X to the training points."""
        if len(self.X) == 1:
            return np.ones((len(X), 1))
        distances = self.search.kneighbors(X)[0]
        scales = np.maximum(distances[:, -1], self.scales.min())
        D = squared_distances(X, self.X)
        D -= D.min(axis=1, keepdims=True)
        return self_tuning(D, scales, self.scales)


class NeighbourAffinity:
    """The symmetrised graph of the nearest neighbours, every edge of weight one, CSR.

    Of points at the same distance those with the smaller index come first. The search by itself
    would take either, depending on the number of threads.
    """

    advice = "raise n_neighbors (beyond the number of copies of a point)"

    def __init__(self, n_neighbors, n_jobs):
        self.n_neighbors, self.n_jobs = n_neighbors, n_jobs

    def fit(self, X):
        """Return the affinity matrix of the rows of X."""
        self.X, self.n = X, len(X)
        if self.n == 1:
            return sparse.csr_array(np.ones((1, 1)))
        self.search = NearestNeighbors(n_jobs=self.n_jobs).fit(X)
        return symmetrised(self._graph(None))

    def cross(self, X):
        """Return the affinities of the rows of X to the training points."""
        if self.n == 1:
            return sparse.csr_array(np.ones((len(X), 1)))
        return self._graph(X)

    def _graph(self, X):
        """Return the directed graph from the rows of X, or from the training points but itself."""
        k = min(self.n_neighbors, self.n - (X is None))
        asked = min(k + 1, self.n - (X is None))  # one more, to see whether it is as near
        distances, indices = self.search.kneighbors(X, asked)
        if asked > k:
            tied = np.flatnonzero(distances[:, k - 1] >= (1.0 - _TIE) * distances[:, k])
            step = max(1, _CHUNK_BYTES // (8 * self.n))
            for rows in np.split(tied, range(step, len(tied), step)):
                indices[rows, :k] = self._ordered(X, rows, k)
        indices = indices[:, :k]
        return neighbour_graph(indices, np.ones(indices.shape), self.n)

    def _ordered(self, X, rows, k):
        """Return the neighbours of some rows by distances without rounding between equal points."""
        D = np.empty((self.n, len(rows)))
        points = (self.X if X is None else X)[rows]
        sum_squared_differences(self.X, np.ascontiguousarray(points.T), D)
        if X is None:
            D[rows, np.arange(len(rows))] = np.inf
        return nearest_rows(D, k)


class SelfRepresentationAffinity:
    """Absolute coefficients by which the training points represent a point, CSR."""

    def __init__(self, n_nonzero):
        self.n_nonzero = n_nonzero
        self.advice = "" if n_nonzero is None else "set n_nonzero=None (the lasso)"

    def fit(self, X):
        """Return the affinity matrix of the rows of X."""
        self.X = X
        if len(X) == 1:
            return sparse.csr_array(np.ones((1, 1)))
        K = symmetrised(self._code(X, exclude_self=True))
        if K.nnz == 0:
            raise ValueError(
                "expected points that represent each other, got data that are zero or orthogonal"
            )
        return K

    def cross(self, X):
        """Return the affinities of the rows of X to the training points."""
        return self._code(X, exclude_self=False)

    def _code(self, X, exclude_self):
        if self.n_nonzero is None:
            coefs = lasso_representation(X, self.X, _LASSO_RATIO, exclude_self=exclude_self)
            return sparse.csr_array(np.abs(coefs))
        indices, coefs = matching_pursuit(X, self.X, self.n_nonzero, exclude_self=exclude_self)
        return neighbour_graph(indices, np.abs(coefs), len(self.X))


class CallableAffinity:
    """A function ``k(X, Y)``."""

    advice = ""

    def __init__(self, function):
        self.function = function

    def fit(self, X):
        """Return the affinity matrix of the rows of X."""
        self.X = X
        K = self.cross(X)
        return K if sparse.issparse(K) else np.ascontiguousarray(K)

    def cross(self, X):
        """Return the affinities of the rows of X to the training points."""
        K = self.function(X, self.X)
        K = sparse.csr_array(K) if sparse.issparse(K) else np.asarray(K)
        if K.dtype.kind not in "biuf":
            raise ValueError(
                f"expected the affinity callable to return real numbers, got {K.dtype}"
            )
        K = K.astype(np.float64, copy=False)
        if K.shape != (len(X), len(self.X)):
            raise ValueError(
                f"expected the affinity callable to return an array of shape "
                f"{(len(X), len(self.X))}, got {K.shape}"
            )
        if not np.isfinite(K.sum()):
            raise ValueError("expected the affinity callable to return finite values of finite sum")
        return K


class PrecomputedAffinity:
    """The data are the affinities."""

    advice = ""

    def fit(self, X):
        """Return the affinity matrix of the rows of X."""
        return sparse.csr_array(X) if sparse.issparse(X) else X

    cross = fit
