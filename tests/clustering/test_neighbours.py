"""Nearest neighbours by bounds against all distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kernelfit import CDSKClustering
from kernelfit.clustering import neighbours
from kernelfit.clustering.neighbours import BoundedSearch, bounded_search


def images(n=300, d=64, rank=6, seed=0):
    """Points near a few directions, as images are."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + 0.1 * rng.normal(size=(n, d))


def brute(X, Y, k, own=False):
    D = cdist(X, Y, "sqeuclidean")
    if own:
        np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("k", [1, 7, 299])
def test_all_neighbours_are_found(k, scale):
    X = scale * images()
    search = BoundedSearch(X)
    np.testing.assert_array_equal(search.search(None, k, 1), brute(X, X, k, own=True))
    new = scale * images(50, seed=1)
    np.testing.assert_array_equal(search.search(new, k, 1), brute(new, X, k))


def test_equally_near_points_come_in_order():
    X = np.random.default_rng(0).integers(0, 2, (250, 64)).astype(float)
    X[200:] = X[:50]  # and some are equal
    np.testing.assert_array_equal(BoundedSearch(X).search(None, 20, 1), brute(X, X, 20, own=True))


@pytest.mark.parametrize("far", [1e3, 1e8])
def test_an_outlier_hides_nothing(far):
    """Single precision sees nothing of the others beside it, so that all are looked at."""
    X = images()
    X[17] = far
    np.testing.assert_array_equal(BoundedSearch(X).search(None, 5, 1), brute(X, X, 5, own=True))


def test_points_without_any_spread():
    np.testing.assert_array_equal(
        BoundedSearch(np.ones((9, 64))).search(None, 2, 1)[:3], [[1, 2], [0, 2], [0, 1]]
    )


def test_few_pairs_are_looked_at():
    X = images(2000, rank=4)
    search = BoundedSearch(X)
    assert search.pays(10)
    _, looked = search._search(X[:50], np.arange(50), 10)
    assert 50 * 10 <= looked < 0.02 * 50 * len(X)


def test_threads_find_the_same(monkeypatch):
    monkeypatch.setattr(neighbours, "_BLOCK_BYTES", 4 * 300 * 7)
    X = images()
    search = BoundedSearch(X)
    np.testing.assert_array_equal(search.search(None, 9, 3), brute(X, X, 9, own=True))


def test_it_is_used_where_it_pays(monkeypatch):
    noise = np.random.default_rng(0).normal(size=(600, 64))
    assert bounded_search(images(600), 5) is None  # few points
    monkeypatch.setattr(neighbours, "_MIN_POINTS", 500)
    assert bounded_search(images(600, rank=2), 5) is not None
    assert bounded_search(noise, 5) is None
    assert bounded_search(images(600)[:, :40], 5) is None


def test_the_graph_is_the_same(monkeypatch):
    X = images(600, rank=2)
    options = {"affinity": "nearest_neighbors", "max_iter": 0, "n_init": 1, "random_state": 0}
    plain = CDSKClustering(3, **options).fit(X)
    monkeypatch.setattr(neighbours, "_MIN_POINTS", 500)
    bounded = CDSKClustering(3, **options).fit(X)
    assert bounded._affinity.bounded is not None
    assert (plain.affinity_matrix_ != bounded.affinity_matrix_).nnz == 0
    new = images(40, rank=2, seed=3)
    np.testing.assert_array_equal(plain.predict(new), bounded.predict(new))
