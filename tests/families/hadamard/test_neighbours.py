"""Shares of training points, against loops."""

import numpy as np

from kernelfit.families.hadamard.neighbours import knn_shares, reciprocal_neighbours, smooth_shares


def distances(m=7, n=11, seed=0):
    return np.random.default_rng(seed).uniform(size=(m, n))


def test_knn_shares():
    D = distances()
    shares = knn_shares(D, np.ones(11), 3).toarray()
    for row, share in zip(D, shares, strict=True):
        nearest = sorted(range(11), key=lambda j: row[j])[:3]
        assert set(np.flatnonzero(share)) == set(nearest)
        assert np.allclose(share[nearest], 1 / 3)
    assert np.allclose(knn_shares(D, np.ones(11), 50).toarray(), 1 / 11)


def test_of_equal_distances_the_first_count():
    shares = knn_shares(np.array([[2.0, 1.0, 2.0, 2.0, 0.0]]), np.ones(5), 3).toarray()
    assert np.allclose(shares, [[1 / 3, 1 / 3, 0.0, 0.0, 1 / 3]])
    tied = reciprocal_neighbours(np.array([[3.0, 2.0], [1.0, 4.0]])).toarray()
    assert np.array_equal(tied, [[0.0, 1.0], [1.0, 0.0]])  # 2 * 2 and 1 * 1, 1 * 1 and 2 * 2
    tied = reciprocal_neighbours(np.array([[2.0, 3.0], [1.0, 4.0]])).toarray()
    assert np.array_equal(tied, [[1.0, 0.0], [1.0, 0.0]])  # 2 * 1 and 1 * 2: the nearer


def test_knn_counts_weights_as_copies():
    D = distances()
    weight = np.random.default_rng(1).integers(1, 4, 11)
    index = np.repeat(np.arange(11), weight)
    expanded = knn_shares(D[:, index], np.ones(len(index)), 5).toarray()
    expected = np.stack([expanded[:, index == j].sum(axis=1) for j in range(11)], axis=1)
    assert np.allclose(knn_shares(D, weight.astype(float), 5).toarray(), expected)


def test_light_points_are_taken_until_they_are_enough():
    D = distances()
    shares = knn_shares(D, np.full(11, 0.25), 2).toarray()
    expected = knn_shares(D, np.ones(11), 8).toarray()
    assert np.allclose(shares, expected)


def test_reciprocal_neighbours():
    D = distances()
    shares = reciprocal_neighbours(D).toarray()
    for j in range(7):
        scores = [1 / ((1 + sum(D[:, i] < D[j, i])) * (1 + sum(D[j] < D[j, i]))) for i in range(11)]
        (best,) = np.flatnonzero(shares[j])
        assert scores[best] == max(scores)


def test_smooth_shares():
    K = distances()
    K[2] = 0.0
    weight = np.random.default_rng(1).uniform(size=11)
    shares = smooth_shares(K, weight)
    assert np.allclose(shares[0], K[0] * weight / (K[0] @ weight))
    assert not shares[2].any()
