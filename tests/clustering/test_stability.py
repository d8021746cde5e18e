"""Agreement of partitions, partitions of a sample, and their stability."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelfit import CDSKClustering
from kernelfit.clustering.agreement import adjusted_rand
from kernelfit.clustering.stability import partitions, stabilities
from kernelfit.kernels.standard import RBF


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 3)), min_size=2, max_size=20
    )
)
def test_adjusted_rand_against_all_pairs(points):
    """And it is scikit-learn's where every point is repeated very often."""
    first, second, counts = np.array(points).T
    p = counts / counts.sum()
    pairs = np.outer(p, p)
    same_first, same_second = first[:, None] == first, second[:, None] == second
    both, a, b = (pairs[same].sum() for same in (same_first & same_second, same_first, same_second))
    found = adjusted_rand(first, second, counts.astype(float))
    assert adjusted_rand(first, second, 1e-200 * counts) == pytest.approx(found, abs=1e-9)
    if a == b == 1.0:
        assert found == 1.0
    else:
        expected = (both - a * b) / (0.5 * (a + b) - a * b)
        assert found == pytest.approx(expected, abs=1e-9)
        often = [np.repeat(labels, 200 * counts) for labels in (first, second)]
        assert found == pytest.approx(adjusted_rand_score(*often), abs=0.1)


def blobs(n=120, centers=4):
    return make_blobs(n, centers=centers, cluster_std=0.5, n_features=3, random_state=3)


def gaussian(X, counts):
    return RBF(0.5)(X)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_partitions_are_those_of_spectral_clustering(form):
    X, y = blobs()
    K = RBF(0.5)(X)
    found = partitions(form(K), np.ones(len(X)), [2, 3, 4])
    for k, labels in zip([2, 3, 4], found.labels, strict=True):
        assert len(np.unique(labels)) == k
    assert adjusted_rand_score(found.labels[2], y) == 1.0
    model = CDSKClustering(4, gamma=0.5, max_iter=0, random_state=0).fit(X)
    np.testing.assert_allclose(found.eigenvalues[:4], model.eigenvalues_, atol=1e-8)
    assert len(found.eigenvalues) == 5


def test_a_count_is_a_repeated_point():
    X, _ = make_blobs(40, centers=3, cluster_std=2.5, random_state=0)
    counts = np.random.default_rng(0).integers(1, 4, 40)
    weighted = partitions(RBF(0.1)(X), counts.astype(float), [3])
    repeated = partitions(RBF(0.1)(np.repeat(X, counts, axis=0)), np.ones(counts.sum()), [3])
    np.testing.assert_allclose(weighted.eigenvalues, repeated.eigenvalues, atol=1e-10)
    spread = np.repeat(weighted.labels[0], counts)
    assert adjusted_rand_score(spread, repeated.labels[0]) == 1.0


def test_as_many_clusters_as_points():
    found = partitions(np.eye(4), np.ones(4), [4])
    assert len(np.unique(found.labels[0])) == 4


def test_a_failure_of_the_fast_eigensolver_is_made_up_for(monkeypatch):
    X, _ = blobs()
    expected = partitions(gaussian(X, None), np.ones(len(X)), [4])

    def fail(*arguments, **options):
        raise np.linalg.LinAlgError("Internal Error.")

    monkeypatch.setattr("kernelfit.clustering.stability.eigh", fail)
    found = partitions(gaussian(X, None), np.ones(len(X)), [4])
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, atol=1e-10)
    assert adjusted_rand_score(found.labels[0], expected.labels[0]) == 1.0


def test_true_clusters_are_found_again_and_others_are_not():
    X, _ = blobs()
    counts = np.ones(len(X))
    rng = np.random.default_rng(0)
    draws = [np.sort(rng.choice(len(X), 90, replace=False)) for _ in range(6)]
    numbers = [4, 9]
    whole = partitions(gaussian(X, counts), counts, numbers)
    found = stabilities(gaussian, X, counts, whole, numbers, draws)
    assert found.shape == (6, 2)
    np.testing.assert_array_equal(found[:, 0], 1.0)
    assert found[:, 1].mean() < 0.95
