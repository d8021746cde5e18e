"""Kernel k-means against k-means where the two agree."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from kernelfit.clustering.lloyd import kernel_kmeans, mean_distances, spread_start


def points(seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((60, 2)) + 4.0 * rng.integers(0, 3, (60, 1))


def test_linear_kernel_is_kmeans():
    X = points()
    centres = X[:3]
    start = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    result = kernel_kmeans(X @ X.T, start, 3, 100)
    means = np.array([X[start == k].mean(axis=0) for k in range(3)])
    expected = KMeans(3, init=means, n_init=1, algorithm="lloyd", tol=0).fit(X)
    np.testing.assert_array_equal(result.labels, expected.labels_)
    assert result.inertia == pytest.approx(expected.inertia_)
    np.testing.assert_allclose(result.mean_norms, (expected.cluster_centers_**2).sum(axis=1))
    assert result.converged


def test_inertia_never_rises():
    X = points(1)
    K = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    labels = np.random.default_rng(2).integers(0, 4, len(X))
    inertia = np.inf
    for _ in range(10):
        result = kernel_kmeans(K, labels, 4, 1)
        assert result.inertia <= inertia + 1e-12
        labels, inertia = result.labels, result.inertia


def test_empty_cluster_attracts_nothing():
    K = np.eye(4)
    distances, norms = mean_distances(K, np.array([0, 0, 2, 2]), 3)
    assert np.all(np.isinf(distances[:, 1])) and np.isfinite(norms).all()


def test_lost_clusters_get_far_points():
    """All points start in one cluster of three; the inertia still falls."""
    X = points()
    labels, inertia = np.zeros(len(X), dtype=np.intp), np.inf
    for _ in range(8):
        result = kernel_kmeans(X @ X.T, labels, 3, 1)
        assert len(set(result.labels)) == 3
        assert result.inertia <= inertia + 1e-12
        labels, inertia = result.labels, result.inertia


def test_equal_points_leave_clusters_empty():
    result = kernel_kmeans(np.ones((6, 6)), np.zeros(6, dtype=np.intp), 3, 10)
    assert len(set(result.labels)) == 1 and result.converged


def test_spread_start_takes_far_points():
    X = np.array([[0.0], [0.1], [10.0], [10.1], [20.0]])
    labels = spread_start(X @ X.T, 3, 0, np.array([0.5, 0.5]))
    assert labels[0] == labels[1] and len(set(labels)) == 3


def test_spread_start_of_equal_points():
    labels = spread_start(np.ones((4, 4)), 3, 0, np.array([0.2, 0.9]))
    assert labels.shape == (4,)
