"""Affinities as the estimators use them: of the training points, and of new points to them.

``fit(X, counts, multiply)`` returns the symmetric affinity matrix of distinct points, dense, CSR or
`LowRank`. ``matrix()`` returns it again: a sparse one is kept, a dense one is computed anew.
``cross(X)`` returns the affinities of the rows of X to the training points. With ``relative=True``
every row may be divided by a factor of its own, so that far points do not underflow. ``advice``
says what links more points, and ``by_distance`` whether the affinity is made of distances.
"""

from numbers import Real

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from kernelfit.clustering.bandwidth import bandwidth_gamma, reconstruction_gamma
from kernelfit.clustering.diagnosis import diagnose_landmarks
from kernelfit.clustering.graphs import (
    kth_distances,
    local_scales,
    nearest_rows,
    neighbour_graph,
    self_tuning,
    symmetrised,
)
from kernelfit.clustering.lasso import lasso_representation
from kernelfit.clustering.matrices import LowRank
from kernelfit.clustering.neighbours import bounded_search
from kernelfit.clustering.self_representation import matching_pursuit
from kernelfit.kernels.distances import squared_distances, sum_squared_differences
from kernelfit.kernels.standard import RBF, scale_gamma

_SELF_TUNING_NEIGHBOUR = 7  # whose distance is the local scale, as its authors propose
_LASSO_RATIO = 0.05
_TIE = 1e-9  # distances that differ by less, relative, may differ by rounding alone
_CHUNK_BYTES = 2**26  # of distances of points with ties


def check_option(name, value, low, high):
    """Raise ValueError unless an option of an affinity is a number between two others."""
    if not (isinstance(value, Real) and low < value < high):
        raise ValueError(
            f"expected {name} in affinity_params between {low} and {high}, got {value!r}"
        )


class RBFAffinity:
    """The Gaussian kernel, whole or by its Nystroem approximation on a few landmarks."""

    advice = "widen the kernel (a smaller gamma, or gamma='median') or standardise the data"
    by_distance = True
    complaint = None  # on the landmarks, where there are any

    def __init__(self, gamma, n_clusters, n_landmarks=None, seed=None):
        self.rule, self.n_clusters = gamma, n_clusters
        self.n_landmarks, self.seed = n_landmarks, seed

    def fit(self, X, counts, multiply):
        """Return the affinity matrix of the rows of X."""
        self.X = X
        if self.rule == "scale":
            self.gamma = scale_gamma(X, counts)
        elif self.rule == "reconstruction":
            self.gamma = reconstruction_gamma(X)
        elif isinstance(self.rule, str):
            self.gamma = bandwidth_gamma(X, self.rule)
        else:
            self.gamma = float(self.rule)
        if not np.isfinite(self.gamma):
            if not isinstance(self.rule, str):
                raise ValueError(f"expected a finite gamma, got {self.gamma}")
            raise ValueError(
                "expected features of moderate scale, got points that are too close to each other "
                "to square their distances"
            )
        self.landmarks = None
        if self.n_landmarks is None or self.n_landmarks >= len(X):
            return self.matrix()
        rng = np.random.default_rng(self.seed)
        self.landmarks = X[np.sort(rng.choice(len(X), self.n_landmarks, replace=False))]
        C = RBF(self.gamma)(X, self.landmarks)
        self.complaint = diagnose_landmarks(C, self.n_clusters)
        return self._approximation(C, multiply)

    def matrix(self):
        """Return the affinity matrix of the training points."""
        kernel = RBF(self.gamma)
        if self.landmarks is None:
            return kernel(self.X)
        return self._approximation(kernel(self.X, self.landmarks), np.matmul)

    def _approximation(self, C, multiply):
        values, vectors = np.linalg.eigh(RBF(self.gamma)(self.landmarks))
        kept = values > 1e-10 * values[-1]
        return LowRank(multiply(C, vectors[:, kept] / np.sqrt(values[kept])))

    def cross(self, X, relative=False):
        """Return the affinities of the rows of X to the training points."""
        D = squared_distances(X, self.X)
        if relative:
            D -= D.min(axis=1, keepdims=True)
        return RBF(self.gamma).from_geometry(D, out=D)


class SelfTuningAffinity:
    """Gaussian with a local scale for every point: its distance to the seventh neighbour."""

    advice = ""
    by_distance = True

    def fit(self, X, counts, multiply):
        """Return the affinity matrix of the rows of X."""
        self.X = X
        self.k = min(_SELF_TUNING_NEIGHBOUR, len(X) - 1)
        return self.matrix()

    def matrix(self):
        """Return the affinity matrix of the training points."""
        if self.k == 0:
            return np.ones((1, 1))
        D = squared_distances(self.X)
        self.scales = local_scales(kth_distances(D, self.k + 1))  # the first is the point itself
        return self_tuning(D, self.scales, self.scales)

    def cross(self, X, relative=False):
        """Return the affinities of the rows of X to the training points."""
        if self.k == 0:
            return np.ones((len(X), 1))
        D = squared_distances(X, self.X)
        scales = np.maximum(kth_distances(D, self.k), self.scales.min())
        return self_tuning(D, scales, self.scales, relative=relative)


class NeighbourAffinity:
    """The symmetrised graph of the nearest neighbours, every edge of weight one, CSR.

    Of points at the same distance those with the smaller index come first. The search by itself
    would take either, depending on the number of threads.
    """

    advice = "raise n_neighbors"
    by_distance = True

    def __init__(self, n_neighbors, n_jobs):
        self.n_neighbors, self.n_jobs = n_neighbors, n_jobs

    def fit(self, X, counts, multiply):
        """Return the affinity matrix of the rows of X."""
        self.X, self.n = X, len(X)
        if self.n > 1:
            self.bounded = bounded_search(X, self.n_neighbors)
            if self.bounded is None:
                self.search = NearestNeighbors(n_jobs=self.n_jobs).fit(X)
        return self.matrix()

    def _weigh(self, links):
        """Return the affinities from the directed graph."""
        return symmetrised(links)

    def matrix(self):
        """Return the affinity matrix of the training points; predict does without."""
        if self.n == 1:
            return sparse.csr_array(np.ones((1, 1)))
        return self._weigh(self._graph(None))

    def cross(self, X, relative=False):
        """Return the affinities of the rows of X to the training points."""
        if self.n == 1:
            return sparse.csr_array(np.ones((len(X), 1)))
        return self._graph(X)

    def _graph(self, X):
        """Return the directed graph from the rows of X, or from the training points but itself."""
        k = min(self.n_neighbors, self.n - (X is None))
        if self.bounded is not None:
            indices = self.bounded.search(X, k, effective_n_jobs(self.n_jobs))
        else:
            indices = self._by_distances(X, k)
        # In ascending order: the order of the search would be that of the sums.
        indices = np.sort(indices, axis=1)
        return neighbour_graph(indices, np.ones(indices.shape), self.n)

    def _by_distances(self, X, k):
        """Return the nearest points by scikit-learn's search, ties in the order of the points."""
        asked = min(k + 1, self.n - (X is None))  # one more, to see whether it is as near
        distances, indices = self.search.kneighbors(X, asked)
        if asked > k:
            tied = np.flatnonzero(distances[:, k - 1] >= (1.0 - _TIE) * distances[:, k])
            step = max(1, _CHUNK_BYTES // (8 * self.n))
            for rows in np.split(tied, range(step, len(tied), step)):
                indices[rows, :k] = self._ordered(X, rows, k)
        return indices[:, :k]

    def _ordered(self, X, rows, k):
        """Return the neighbours of some rows by distances without rounding between equal points."""
        D = np.empty((self.n, len(rows)))
        points = (self.X if X is None else X)[rows]
        sum_squared_differences(self.X, np.ascontiguousarray(points.T), D)
        if X is None:
            D[rows, np.arange(len(rows))] = np.inf
        return nearest_rows(D, k)


class SelfRepresentationAffinity:
    """Absolute coefficients by which the training points represent a point, CSR.

    Those of the lasso are the l1-graph, with ``errors`` that with its atoms for errors; `penalty`
    takes the place of `ratio`.
    """

    by_distance = False

    def __init__(self, n_nonzero, *, ratio=None, penalty=None, errors=False):
        if n_nonzero is not None and (ratio, penalty, errors) != (None, None, False):
            raise ValueError(
                "expected n_nonzero=None for options of the lasso in affinity_params, got "
                f"n_nonzero={n_nonzero}"
            )
        ratio = _LASSO_RATIO if ratio is None else ratio
        check_option("ratio", ratio, 0.0, 1.0)
        if penalty is not None:
            check_option("penalty", penalty, 0.0, np.inf)
        self.n_nonzero = n_nonzero
        self.lasso = {"ratio": ratio, "penalty": penalty, "errors": bool(errors)}
        self.advice = "" if n_nonzero is None else "set n_nonzero=None (the lasso)"

    def fit(self, X, counts, multiply):
        """Return the affinity matrix of the rows of X."""
        self.X = X
        if len(X) == 1:
            self.graph = sparse.csr_array(np.ones((1, 1)))
            return self.graph
        self.graph = symmetrised(self._code(X, exclude_self=True, multiply=multiply))
        if self.graph.nnz == 0:
            raise ValueError(
                "expected points that represent each other, got data that are zero or orthogonal"
            )
        return self.graph

    def matrix(self):
        """Return the affinity matrix of the training points."""
        return self.graph

    def cross(self, X, relative=False):
        """Return the affinities of the rows of X to the training points."""
        return self._code(X, exclude_self=False)

    def _code(self, X, exclude_self, **options):
        if self.n_nonzero is None:
            coefs = lasso_representation(X, self.X, exclude_self=exclude_self, **self.lasso)
            return sparse.csr_array(np.abs(coefs))
        options["exclude_self"] = exclude_self
        indices, coefs = matching_pursuit(X, self.X, self.n_nonzero, **options)
        return neighbour_graph(indices, np.abs(coefs), len(self.X))


class CallableAffinity:
    """A function ``k(X, Y)``."""

    advice = ""
    by_distance = False

    def __init__(self, function):
        self.function = function

    def fit(self, X, counts, multiply):
        """Return the affinity matrix of the rows of X."""
        self.X = X
        return self.matrix()

    def matrix(self):
        """Return the affinity matrix of the training points."""
        K = self.cross(self.X)
        return K if sparse.issparse(K) else np.ascontiguousarray(K)

    def cross(self, X, relative=False):
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
    """The data are the affinities; of equal columns one stands for all."""

    advice = ""
    by_distance = False

    def fit(self, K, columns):
        """Return the affinity matrix of some of the points, all when `columns` is None."""
        self.columns = columns
        return K if columns is None else K[columns][:, columns]

    def matrix(self):
        """Refuse: the matrix that was given is not kept."""
        raise AttributeError(
            "affinity_matrix_ is not kept for affinity='precomputed': it is the matrix given to fit"
        )

    def cross(self, X, relative=False):
        """Return the affinities to the training points."""
        return X if self.columns is None else X[:, self.columns]
