"""Kernel k-means against k-means where the two agree."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from kernelfit.clustering.lloyd import kernel_kmeans, mean_distances, resolution, spread_start
from tests.reference.clustering import kmeans_objective


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


def test_weighted_linear_kernel_is_weighted_kmeans():
    rng = np.random.default_rng(4)
    X, counts = rng.standard_normal((60, 2)), rng.uniform(0.1, 5.0, 60) ** 2
    start = np.arange(len(X)) % 3
    means = np.array(
        [np.average(X[start == k], axis=0, weights=counts[start == k]) for k in range(3)]
    )
    expected = KMeans(3, init=means, n_init=1, algorithm="lloyd", tol=0).fit(X, None, counts)
    result = kernel_kmeans(X @ X.T, start, 3, 100, counts)
    np.testing.assert_array_equal(result.labels, expected.labels_)
    assert result.inertia == pytest.approx(expected.inertia_)
    np.testing.assert_allclose(result.mean_norms, (expected.cluster_centers_**2).sum(axis=1))
    assert np.any(result.labels != kernel_kmeans(X @ X.T, start, 3, 100).labels)


def test_inertia_never_rises():
    X = points(1)
    K = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    labels = np.random.default_rng(2).integers(0, 4, len(X))
    inertia = np.inf
    for _ in range(10):
        result = kernel_kmeans(K, labels, 4, 1)
        assert result.inertia <= inertia + 1e-12
        labels, inertia = result.labels, result.inertia


@pytest.mark.parametrize("max_iter", [0, 1, 2, 100])
def test_inertia_is_that_of_the_labels(max_iter):
    """Also where the labels have not settled."""
    X = points(1)
    result = kernel_kmeans(X @ X.T, np.arange(60) % 4, 4, max_iter)
    assert result.converged == (max_iter == 100)
    assert result.inertia == pytest.approx(kmeans_objective(X @ X.T, result.labels, np.ones(60)))
    means = np.array([X[result.labels == k].mean(axis=0) for k in range(4)])
    np.testing.assert_allclose(result.mean_norms, (means**2).sum(axis=1))


@pytest.mark.parametrize("n", [1, 5, 70])
def test_resolution_by_its_definition(n):
    K = np.random.default_rng(n).standard_normal((n, n))
    expected = 1e-12 * np.abs(K).max() + 2.0 * np.abs(K - K.T).max()
    assert resolution(K) == resolution(K.T) == pytest.approx(expected)


def test_empty_cluster_attracts_nothing():
    K = np.eye(4)
    distances, norms = mean_distances(K, np.array([0, 0, 2, 2]), 3, np.ones(4))
    assert np.all(np.isinf(distances[:, 1]))
    np.testing.assert_array_equal(np.isfinite(norms), [True, False, True])


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
    labels = spread_start(X @ X.T, 3, np.array([0.0, 0.5, 0.5]))
    assert labels[0] == labels[1] and len(set(labels)) == 3


def test_spread_start_of_equal_points():
    labels = spread_start(np.ones((4, 4)), 3, np.array([0.5, 0.2, 0.9]))
    assert labels.shape == (4,)


def test_points_that_count_several_times():
    """Labels, inertia and means are those of the points written out."""
    X = points(3)[:25]
    copies = 1 + np.arange(25) % 3
    place = np.repeat(range(25), copies)
    K = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    start = np.arange(25) % 4
    short = kernel_kmeans(K, start, 4, 100, copies.astype(float))
    long = kernel_kmeans(K[place][:, place], start[place], 4, 100)
    np.testing.assert_array_equal(short.labels[place], long.labels)
    assert short.inertia == pytest.approx(long.inertia, rel=1e-10)
    np.testing.assert_allclose(short.mean_norms, long.mean_norms, rtol=1e-10)
    assert short.converged and short.n_iter == long.n_iter


def test_draws_follow_the_counts():
    """The first of three points is drawn with probability proportional to its count."""
    X, counts = np.arange(3.0)[:, None], np.array([1.0, 7.0, 2.0])
    drawn = [
        list(spread_start(X @ X.T, 3, np.array([u, 0.5, 0.5]), counts)).index(0)
        for u in (0.0, 0.09, 0.11, 0.79, 0.81, 0.999)
    ]
    assert drawn == [0, 0, 1, 1, 2, 2]


def test_ties_do_not_move_points():
    """The second point is as far from both means, and stays where it is."""
    X = np.array([[-2.0], [0.0], [1.0]])
    result = kernel_kmeans(X @ X.T, np.array([1, 1, 0]), 2, 10)
    assert result.converged and result.n_iter == 1
    np.testing.assert_array_equal(result.labels, [1, 1, 0])


def test_a_local_optimum_certified():
    """No point has a nearer mean, and no mean but that of its points has less inertia."""
    X = np.random.default_rng(5).standard_normal((60, 3))
    counts = np.random.default_rng(6).integers(1, 4, 60).astype(float)
    K = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    start = spread_start(K, 4, np.random.default_rng(7).uniform(size=4), counts)
    result = kernel_kmeans(K, start, 4, 300, counts)
    assert result.converged
    distances = np.empty((60, 4))
    for k in range(4):
        w = np.where(result.labels == k, counts, 0.0)
        w /= w.sum()
        distances[:, k] = 1.0 - 2.0 * K @ w + w @ K @ w
    own = distances[np.arange(60), result.labels]
    assert (own <= distances.min(axis=1) + 1e-9).all()
    assert result.inertia == pytest.approx(counts @ own)
