"""The algorithm as printed: its step and its start against their definitions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from kernelfit.clustering.literal import cluster_literal, literal_step, sparse_weights
from kernelfit.clustering.matrices import counted
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


@pytest.mark.parametrize("w", [0.5, 1.0])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_literal_step_is_the_definition(w, form):
    rng = np.random.default_rng(1)
    X, _ = blobs(12)
    K, Y, alpha = gaussian(X), rng.standard_normal((12, C)), rng.dirichlet(np.ones(12))
    P, q = literal_step(form(K), Y, 0.7, w)
    value = q @ alpha + 0.5 * alpha @ (P @ alpha)
    expected = reference.literal_objective(K, Y, alpha, 0.7, w)
    assert value == pytest.approx(expected, rel=1e-10)


def test_half_trace_with_unit_rows_is_convex():
    """With w = 1/2 and unit rows the quadratic part is K o YY', positive semidefinite."""
    X, _ = blobs(12)
    Y = np.random.default_rng(2).standard_normal((12, C))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    P = literal_step(gaussian(X), Y, 1.0, 0.5)[0]
    np.testing.assert_allclose(P, 2 * gaussian(X) * (Y @ Y.T), atol=1e-12)
    assert np.linalg.eigvalsh(P)[0] >= -1e-10


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_literal_mode_collapses(form):
    """As printed, the weights end on a few points once degrees exceed a handful."""
    X, _ = blobs(90)
    K, n = form(gaussian(X, 0.05)), 90
    result = cluster_literal(K, C, propose, np.full(n, 1 / n), block(n))
    assert result.weights.sum() == pytest.approx(n)
    assert np.sum(result.weights > 1e-3 * n) <= 4


@pytest.mark.parametrize("lambda_", [0.5, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_rounds_are_those_of_the_printed_algorithm(lambda_, seed):
    """Weights of (12), and an embedding of Y'DY = I and of the least trace (11) for them."""
    n, c = 9, 2
    K = gaussian(np.random.default_rng(seed).standard_normal((n, 3)), 5.0)
    for rounds, alpha in enumerate(reference.algorithm_1(K, c, lambda_, np.full(n, 1 / n), 4)):
        result = cluster_literal(
            K, c, lambda Y: [np.zeros(n, dtype=int)], np.full(n, 1 / n), block(n, n),
            lambda_=lambda_, max_iter=rounds,
        )  # fmt: skip
        np.testing.assert_allclose(result.weights / n, alpha, atol=1e-6)
        S = 2.0 * reference.similarity(K, alpha, lambda_)
        Y, least = result.embedding, reference.literal_embedding(K, c, lambda_, alpha)
        np.testing.assert_allclose(Y.T @ (S.sum(axis=1)[:, None] * Y), np.eye(c), atol=1e-6)
        trace, expected = (np.sum(Z * (reference.laplacian(S) @ Z)) for Z in (Y, least))
        assert trace == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("penalty", [0.1, 0.5, 2.0])
def test_sparse_weights_are_near_the_exact_minimum(penalty):
    """Of error and number of weights together, over all supports: within one penalty."""
    excess = []
    for seed in range(12):
        X = np.random.default_rng(seed).standard_normal((8, 3))

        def objective(alpha, X=X):
            return reference.reconstruction_error(alpha, X) + penalty * np.sum(alpha > 1e-9)

        P, q = reference.quadratic(
            lambda a, X=X: reference.reconstruction_error(a, X) - np.sum(X**2), 8
        )
        least = min(objective(x) for x, _ in reference.simplex_points(P, q))
        alpha = sparse_weights(X @ X.T, penalty=penalty)
        assert alpha.sum() == pytest.approx(1.0) and alpha.min() >= 0
        excess.append(objective(alpha) - least)
    assert -1e-9 <= min(excess) and max(excess) <= penalty
    assert np.sum(np.array(excess) < 1e-6) >= 6


def test_sparse_weights_of_one_point_and_of_no_length():
    np.testing.assert_array_equal(sparse_weights(np.ones((1, 1))), [1.0])
    np.testing.assert_array_equal(sparse_weights(np.zeros((3, 3))), [1.0, 0.0, 0.0])


def test_sparse_weights_of_repeated_points():
    """Copies share a weight, which is one to the penalty: the error is that of the points."""
    X, _ = blobs(8)
    copies = np.array([1, 3, 1, 2, 1, 1, 4, 2])
    alpha = sparse_weights(X @ X.T, copies.astype(float))
    repeated, each = np.repeat(X, copies, axis=0), np.repeat(alpha, copies)
    assert each.sum() == pytest.approx(1.0)
    # Unequal weights of the copies would count each on its own, and cannot be better.
    for other in np.eye(8)[alpha == 0]:
        moved = 0.9 * alpha + 0.1 * other / copies
        error = reference.reconstruction_error(np.repeat(moved, copies), repeated)
        assert error + 0.1 >= reference.reconstruction_error(each, repeated)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_literal_objective_of_repeated_points(form):
    """The start and the collapse are those of the points written out."""
    X, _ = blobs(30)
    copies = 1 + np.arange(30) % 3
    K, n = gaussian(X, 0.05), copies.sum()
    place = np.repeat(range(30), copies)
    counts = copies.astype(float)
    options = {"max_iter": 5}
    weighted = cluster_literal(
        form(counted(K, counts)), C, propose, np.full(30, 1 / n), block(30), counts=counts,
        **options,
    )  # fmt: skip
    whole = cluster_literal(
        form(K[place][:, place]), C, propose, np.full(n, 1 / n), block(n), **options
    )
    assert weighted.history[0] == pytest.approx(whole.history[0], rel=1e-10)
    assert counts @ weighted.weights == pytest.approx(n)
    assert weighted.history[-1] == pytest.approx(whole.history[-1], rel=1e-6)
