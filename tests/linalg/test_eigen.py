"""The block eigensolver, against dense decompositions, with repeated eigenvalues."""

import numpy as np
import pytest
from scipy import sparse

from kernelfit.linalg.eigen import leading_eigenpairs, smallest_ritz


def symmetric(values, seed):
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values),) * 2))[0]
    return (Q * values) @ Q.T


def ring_graphs(n_rings, size):
    """Disjoint rings as a normalised CSR matrix: the eigenvalue 1 repeats n_rings times."""
    ring = sparse.csr_array(0.5 * (np.roll(np.eye(size), 1, 0) + np.roll(np.eye(size), -1, 0)))
    return sparse.block_diag([ring] * n_rings, format="csr")


@pytest.mark.parametrize("n", [40, 500])
def test_matches_dense_decomposition(n):
    rng = np.random.default_rng(n)
    A = symmetric(rng.uniform(-1, 1, n), 1)
    result = leading_eigenpairs(A, 6, rng.standard_normal((n, 10)))
    expected = np.linalg.eigvalsh(A)[::-1][:6]
    assert result.converged
    np.testing.assert_allclose(result.values[:6], expected, atol=1e-12)
    residual = A @ result.vectors - result.vectors * result.values
    assert np.linalg.norm(residual[:, :6], axis=0).max() <= 1e-8
    np.testing.assert_allclose(result.vectors.T @ result.vectors, np.eye(10), atol=1e-12)


@pytest.mark.parametrize("n_rings", [3, 8, 30])
def test_finds_repeated_eigenvalues(n_rings):
    """One eigenvector for every component, and every other eigenvalue of a ring is double."""
    size = 61
    A = ring_graphs(n_rings, size)
    start = np.random.default_rng(0).standard_normal((A.shape[0], n_rings + 6))
    result = leading_eigenpairs(A, n_rings + 2, start)
    assert result.converged
    np.testing.assert_allclose(result.values[:n_rings], 1.0, atol=1e-12)
    second = np.cos(2 * np.pi / size)
    np.testing.assert_allclose(result.values[n_rings : n_rings + 2], second, atol=1e-12)
    # The leading vectors are constant on every ring.
    rings = result.vectors[:, :n_rings].reshape(n_rings, size, n_rings)
    assert rings.std(axis=1).max() <= 1e-7


def test_ritz_values_never_fall_below_the_start():
    rng = np.random.default_rng(2)
    A = symmetric(np.linspace(-1, 1, 400) ** 3, 3)
    start = np.linalg.qr(rng.standard_normal((400, 8)))[0]
    total = np.trace(start.T @ A @ start)
    for _ in range(6):
        result = leading_eigenpairs(A, 5, start, max_iter=1)
        assert result.values.sum() >= total - 1e-12
        start, total = result.vectors, result.values.sum()


def test_warm_start_needs_no_work():
    A = symmetric(np.linspace(-1, 1, 400), 4)
    first = leading_eigenpairs(A, 5, np.random.default_rng(5).standard_normal((400, 9)))
    again = leading_eigenpairs(A, 5, first.vectors)
    assert first.n_iter > 0 and again.n_iter == 0


def test_stops_at_max_iter_and_says_so():
    A = symmetric(np.linspace(-1, 1, 400), 4)
    start = np.random.default_rng(6).standard_normal((400, 9))
    result = leading_eigenpairs(A, 5, start, tol=1e-14, max_iter=1)
    assert result.n_iter == 1 and not result.converged and result.residual > 1e-14


def test_start_in_a_part_of_the_range_of_a_singular_matrix():
    """From there Lanczos steps see neither the rest of the range nor the eigenvalue 0."""
    Q = np.linalg.qr(np.random.default_rng(8).standard_normal((400, 4)))[0]
    values = np.array([1.0, 0.1, 0.01, 1e-6])
    start = (Q[:, :3] * values[:3]) @ Q[:16, :3].T
    result = leading_eigenpairs((Q * values) @ Q.T, 12, start)
    assert result.converged and result.n_iter <= 3
    np.testing.assert_allclose(result.values[:4], values, atol=1e-14)


def test_zero_matrix():
    start = np.random.default_rng(7).standard_normal((400, 5))
    result = leading_eigenpairs(np.zeros((400, 400)), 3, start)
    np.testing.assert_array_equal(result.values, 0.0)


@pytest.mark.parametrize("values", [np.linspace(-0.7, 1, 300), np.linspace(0, 1, 300) ** 4])
def test_smallest_ritz_to_a_tolerance(values):
    A = symmetric(values, 8)
    v = np.random.default_rng(0).standard_normal(300)
    assert abs(smallest_ritz(A, v, tol=1e-4, max_iter=300)[0] - values[0]) <= 1e-4


@pytest.mark.parametrize("values", [np.linspace(-0.7, 1, 300), np.linspace(0, 1, 300) ** 4])
def test_smallest_ritz_brackets_the_smallest_eigenvalue(values):
    for seed in range(5):
        v = np.random.default_rng(seed).standard_normal(300)
        value, residual = smallest_ritz(symmetric(values, 8), v)
        assert value - residual <= values[0] <= value + 1e-12
        assert value <= values[0] + 0.1
