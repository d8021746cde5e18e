"""Mutual neighbours against their definition."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kernelfit.clustering.mutual import MutualAffinity, edge_lengths


def naive(X, k):
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    A = np.zeros(D.shape, bool)
    A[np.arange(len(X))[:, None], np.argsort(D, axis=1, kind="stable")[:, :k]] = True
    return A, np.sort(D, axis=1)[:, k - 1]


@pytest.mark.parametrize("k", [1, 4, 39])
def test_mutual_links_count_one_and_others_a_fiftieth(k):
    X = np.random.default_rng(0).normal(size=(40, 3))
    A, radii = naive(X, k)
    affinity = MutualAffinity(k, None)
    K = affinity.fit(X, np.ones(40), np.matmul)
    np.testing.assert_array_equal(K.toarray(), np.where(A & A.T, 1.0, np.where(A | A.T, 0.02, 0.0)))
    np.testing.assert_array_equal(affinity.matrix().toarray(), K.toarray())
    new = np.random.default_rng(1).normal(size=(15, 3))
    D = cdist(new, X)
    nearest = np.argsort(D, axis=1)[:, :k]
    expected = np.zeros(D.shape)
    for i, row in enumerate(nearest):
        expected[i, row] = np.where(D[i, row] <= radii[row], 1.0, 0.02)
    np.testing.assert_array_equal(affinity.cross(new).toarray(), expected)


def test_a_point_alone():
    affinity = MutualAffinity(5, None)
    assert affinity.fit(np.ones((1, 2)), np.ones(1), np.matmul).toarray() == 1.0
    np.testing.assert_array_equal(affinity.cross(np.zeros((3, 2))).toarray(), np.ones((3, 1)))


def test_edge_lengths(monkeypatch):
    monkeypatch.setattr("kernelfit.clustering.mutual._CHUNK_BYTES", 100)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(9, 4)), rng.normal(size=(7, 4))
    rows, columns = rng.integers(0, 9, 50), rng.integers(0, 7, 50)
    expected = cdist(X, Y, "sqeuclidean")[rows, columns]
    np.testing.assert_allclose(edge_lengths(X, Y, rows, columns), expected, rtol=1e-12)
