"""Affinities against their definitions."""

import numpy as np
import pytest
from scipy import sparse

from kernelfit.clustering.graphs import (
    kth_distances,
    local_scales,
    nearest_rows,
    neighbour_graph,
    self_tuning,
    symmetrised,
)
from kernelfit.kernels.distances import squared_distances


def points(n=30, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def test_self_tuning():
    X = points(12)
    D = np.sqrt(squared_distances(X))
    scales = local_scales(kth_distances(D**2, 4))
    np.testing.assert_allclose(scales, np.sort(D, axis=1)[:, 3], rtol=1e-12)
    K = self_tuning(D**2, scales, scales)
    assert K[2, 7] == pytest.approx(np.exp(-(D[2, 7] ** 2) / (scales[2] * scales[7])))
    relative = self_tuning(D[:, 5:] ** 2, scales, scales[5:], relative=True)
    largest = K[:, 5:].max(axis=1, keepdims=True)
    np.testing.assert_allclose(relative, K[:, 5:] / largest, rtol=1e-12)


def test_distances_of_far_points_have_relative_affinities():
    far = self_tuning(np.array([[1e6, 4e6, 2e6]]), np.ones(1), np.ones(3), relative=True)
    np.testing.assert_array_equal(far, [[1.0, 0.0, 0.0]])


def test_local_scales_are_positive():
    scales = local_scales(np.array([0.0, 2.0, 4.0]))
    assert scales[0] > 0
    np.testing.assert_array_equal(scales[1:], [2.0, 4.0])
    assert local_scales(np.zeros(3)).min() > 0


def test_neighbour_graph():
    graph = neighbour_graph(
        np.array([[1, 2], [0, 2], [1, 0]]), np.array([[1, 2], [3, 4], [5, 6]]), 3
    )
    expected = np.array([[0, 1, 2], [3, 0, 4], [6, 5, 0]])
    np.testing.assert_array_equal(graph.toarray(), expected)
    mean = symmetrised(graph)
    assert sparse.issparse(mean)
    np.testing.assert_array_equal(mean.toarray(), 0.5 * (expected + expected.T))


def test_nearest_rows_take_the_first_of_equal_entries():
    D = np.random.default_rng(0).integers(0, 4, (50, 7)).astype(float)
    expected = np.argsort(D, axis=0, kind="stable")[:9].T
    np.testing.assert_array_equal(nearest_rows(D, 9), expected)
