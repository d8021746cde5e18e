"""KernelKMeans as an estimator."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from kernelfit import KernelKMeans


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, centers=4, n_features=5, cluster_std=0.8, random_state=1)


def test_kernel_kmeans(blobs):
    X, y = blobs
    model = KernelKMeans(4, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) >= 0.95
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        KernelKMeans(8, max_iter=1, n_init=1, random_state=0).fit(X)


def test_kernel_kmeans_of_repeated_points():
    X = np.repeat([[0.0, 1.0], [9.0, 0.0]], 15, axis=0)
    with pytest.warns(ConvergenceWarning, match="found 2 clusters, fewer than n_clusters=4"):
        model = KernelKMeans(4, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_kernel_kmeans_of_negative_squared_distances_is_kmeans(form, blobs):
    """A conditionally positive definite kernel: distances are as those of the linear kernel."""
    X, _ = blobs
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    model = KernelKMeans(4, affinity="precomputed", random_state=0).fit(form(-0.5 * D))
    expected = KernelKMeans(4, affinity=lambda X, Y: X @ Y.T, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, expected.labels_) == 1.0
    assert model.inertia_ == pytest.approx(expected.inertia_)
    np.testing.assert_array_equal(model.predict(-0.5 * D), model.labels_)


def test_kernel_kmeans_of_repeated_points_under_negative_squared_distances():
    X = np.repeat([[0.1, 1.7], [9.3, 0.2]], 15, axis=0)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    with pytest.warns(ConvergenceWarning, match="found 2 clusters, fewer than n_clusters=4"):
        KernelKMeans(4, affinity="precomputed", random_state=0).fit(-D)


def test_kernel_kmeans_tells_of_negative_inertia():
    K = 1.0 - np.eye(12)
    with pytest.warns(UserWarning, match="the kernel is not positive semidefinite.* inertia_ is -"):
        KernelKMeans(1, affinity="precomputed", random_state=0).fit(K)


@pytest.mark.parametrize("affinity", ["rbf", "precomputed", "callable"])
def test_new_points_go_to_the_nearest_mean(affinity, blobs):
    """Distances in feature space by their definition, for points near and far."""
    X, _ = blobs
    new = np.random.default_rng(0).uniform(X.min(), X.max(), (200, X.shape[1]))

    def kernel(A, B):
        return np.exp(-0.02 * ((A[:, None] - B) ** 2).sum(axis=2))

    given = {"rbf": "rbf", "precomputed": "precomputed", "callable": kernel}[affinity]
    model = KernelKMeans(4, affinity=given, gamma=0.02, random_state=0)
    precomputed = affinity == "precomputed"
    found = model.fit(kernel(X, X) if precomputed else X).predict(
        kernel(new, X) if precomputed else new
    )
    K, C = kernel(X, X), kernel(new, X)
    distances = []
    for k in range(4):
        inside = model.labels_ == k
        distances.append(1.0 - 2.0 * C[:, inside].mean(axis=1) + K[np.ix_(inside, inside)].mean())
    np.testing.assert_array_equal(found, np.argmin(distances, axis=0))


def test_verbose_logs_every_start(blobs, caplog):
    with caplog.at_level("INFO", logger="kernelfit"):
        model = KernelKMeans(4, n_init=3, verbose=1, random_state=0).fit(blobs[0])
    assert caplog.text.count("inertia") == 3
    assert f"inertia {model.inertia_:.6g} after {model.n_iter_} iterations" in caplog.text
