"""The clustering loops: monotone objectives, limits."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from kernelfit.clustering.alternation import MIN_WEIGHT, cluster, pivoted_labels
from kernelfit.clustering.matrices import counted
from kernelfit.clustering.similarity import GeneralSimilarity, KernelSimilarity
from tests.reference import clustering as reference

C = 3


def blobs(n=45, seed=0, spread=0.6):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % C
    centres = 3.0 * np.eye(C)
    return centres[labels] + spread * rng.standard_normal((n, C)), labels


def gaussian(X, gamma=0.3):
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))


def block(n, m=6):
    return np.random.default_rng(9).standard_normal((n, m))


def propose(Y):
    return [KMeans(C, n_init=1, random_state=seed).fit(Y).labels_ for seed in range(3)]


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def test_no_rounds_is_spectral_clustering():
    X, y = blobs()
    K, n = gaussian(X), len(X)
    similarity = KernelSimilarity(K, 0.5)
    result = cluster(similarity, C, propose, np.ones(n), block(n), max_iter=0)
    np.testing.assert_array_equal(result.weights, 1.0)
    total = np.sum(1 - result.eigenvalues)
    assert total == pytest.approx(reference.eigenvalue_sum(K, C), abs=1e-10)
    D = 1.5 * K.sum(axis=1)
    Y = result.embedding
    np.testing.assert_allclose(Y.T @ (D[:, None] * Y), np.eye(C), atol=1e-8)
    assert result.converged and result.n_iter == 0 and len(result.history) == 1
    assert same_partition(result.labels, y)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("rho", [0.1, 1.0])
@pytest.mark.parametrize("sparse_graph", [False, True])
def test_objective_never_rises_and_is_what_it_says(relaxed, rho, sparse_graph):
    X, _ = blobs(spread=1.2)
    K, n, mu = gaussian(X), len(X), 0.5
    if sparse_graph:
        K = np.where(np.quantile(K, 0.7) < K, K, 0.0) * (1 - np.eye(n))
        K += 0.01 * (np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1))
    form = sparse.csr_array(K) if sparse_graph else K
    similarity = KernelSimilarity(form, mu)
    result = cluster(
        similarity, C, propose, np.ones(n), block(n), relaxed=relaxed, rho=rho, max_iter=30
    )
    history = np.array(result.history)
    assert result.n_iter >= 1 and np.all(np.diff(history) <= 1e-9 * np.abs(history[1:]))
    b = result.weights
    assert b.mean() == pytest.approx(1.0)
    assert b.min() >= MIN_WEIGHT and b.max() <= 1 / mu
    W = reference.similarity(K, b, mu)
    cut = reference.eigenvalue_sum(W, C) if relaxed else reference.normalised_cut(W, result.labels)
    lazy = (K + 2 * similarity.sigma * np.diag(K.sum(axis=1))) / (1 + 2 * similarity.sigma)
    penalty = (-K.sum(axis=1) @ b + mu * b @ lazy @ b) / K.sum()
    assert result.objective == pytest.approx(rho * cut + penalty, rel=1e-8)


def test_objective_chooses_among_proposals():
    X, y = blobs()
    K, n = gaussian(X), len(X)
    similarity = KernelSimilarity(K, 0.5)
    wrong = np.roll(y, 1) * (np.arange(n) < 20)
    first = cluster(similarity, C, lambda Y: [wrong, y], np.ones(n), block(n), max_iter=0)
    np.testing.assert_array_equal(first.labels, wrong)
    best = cluster(similarity, C, lambda Y: [wrong, y], np.ones(n), block(n))
    np.testing.assert_array_equal(best.labels, y)


def test_empty_clusters_are_no_gain():
    """The cut of a single cluster is zero, but three were asked for."""
    X, y = blobs()
    similarity = KernelSimilarity(gaussian(X), 0.5)
    whole = np.zeros(len(X), dtype=np.intp)
    result = cluster(
        similarity, C, lambda Y: [whole, np.minimum(y, 1), y], np.ones(len(X)), block(len(X))
    )
    np.testing.assert_array_equal(result.labels, y)
    alone = cluster(similarity, C, lambda Y: [whole], np.ones(len(X)), block(len(X)), max_iter=0)
    assert alone.objective == pytest.approx(C - 1 + 0.5 - 1.0)  # cut 0, two empty, and penalty


def test_general_similarity_descends():
    rng = np.random.default_rng(3)
    X, y = blobs()
    S = X @ X.T + 0.1 * (lambda A: A + A.T)(rng.standard_normal((len(X), len(X))))
    result = cluster(GeneralSimilarity(S, 0.5), C, propose, np.ones(len(X)), block(len(X)))
    assert np.all(np.diff(result.history) <= 1e-12)
    assert same_partition(result.labels, y)


def test_rounds_are_reported():
    X, _ = blobs()
    n, seen = len(X), []
    similarity = KernelSimilarity(gaussian(X), 0.5)
    result = cluster(
        similarity, C, propose, np.ones(n), block(n), callback=lambda *args: seen.append(args)
    )
    assert seen == list(enumerate(result.history))[1:]


def test_pivoted_labels_recover_rotated_indicators():
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 4, 50)
    V = np.eye(4)[labels] / np.sqrt(np.bincount(labels))[labels][:, None]
    rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    V = V @ rotation + 1e-3 * rng.standard_normal(V.shape)
    assert same_partition(pivoted_labels(V), labels)


@pytest.mark.parametrize("relaxed", [False, True])
def test_points_that_count_several_times(relaxed):
    """The descent is that of the points written out, for the same proposals."""
    X, y = blobs(spread=1.2)
    n = len(X)
    copies = 1 + np.arange(n) % 3
    place, counts = np.repeat(range(n), copies), copies.astype(float)
    K = gaussian(X)
    options = {"relaxed": relaxed, "max_iter": 4, "tol": 0.0}
    short = cluster(
        KernelSimilarity(counted(K, counts), 0.5), C, lambda Y: [y], np.ones(n), block(n),
        counts=counts, **options,
    )  # fmt: skip
    m = len(place)
    long = cluster(
        KernelSimilarity(K[place][:, place], 0.5), C, lambda Y: [y[place]], np.ones(m), block(m),
        **options,
    )  # fmt: skip
    assert short.n_iter == long.n_iter >= 1
    np.testing.assert_allclose(short.history, long.history, rtol=1e-7)
    np.testing.assert_allclose(short.weights[place], long.weights, atol=1e-4)
    np.testing.assert_allclose(short.eigenvalues, long.eigenvalues, atol=1e-6)
    assert counts @ short.weights == pytest.approx(m)
