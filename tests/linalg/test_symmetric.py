"""Restrictions and leading eigenpairs of dense and low-rank matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.linalg.symmetric import DenseMatrix, LowRankMatrix, project_simplex, spectral_factor


def with_spectrum(values, seed=0):
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values),) * 2))[0]
    A = (Q * values) @ Q.T
    return 0.5 * (A + A.T)


@pytest.mark.parametrize("n", [20, 400])
@pytest.mark.parametrize("multiplicity", [1, 2, 12])
def test_leading_eigenpairs_of_a_dense_matrix(n, multiplicity):
    spectrum = np.geomspace(1e-8, 1.0, n)
    spectrum[n - multiplicity :] = 1.0
    matrix = DenseMatrix(with_spectrum(spectrum))
    values, vectors = matrix.leading(3)
    assert_allclose(values, np.sort(spectrum)[:-4:-1], rtol=1e-7)
    assert 0.0 <= values[0] - np.linalg.eigvalsh(matrix.entries)[-1] + 1e-14 <= 1e-9 * matrix.trace
    assert_allclose(matrix.entries @ vectors, vectors * values, rtol=0, atol=1e-6)
    assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-10)


def test_an_eigenvector_that_the_iteration_cannot_see_is_in_the_bound():
    # The iteration starts in the first block, which the top eigenvalue, of the second, never meets.
    n = 350
    A = np.zeros((n, n))
    A[:20, :20] = 5.0 * np.eye(20)
    A[20:, 20:] = np.ones((n - 20, n - 20)) / 10.0
    assert A[:20, :20].max() < np.linalg.eigvalsh(A)[-1]
    values, vectors = DenseMatrix(A).leading(2)
    assert_allclose(values[0], (n - 20) / 10.0, rtol=1e-12)
    assert_allclose(A @ vectors[:, 0], values[0] * vectors[:, 0], atol=1e-10)


def test_low_rank_matrices_equal_their_entries():
    rng = np.random.default_rng(1)
    B, C, V = (
        rng.standard_normal((50, 2)),
        rng.standard_normal((50, 1)),
        rng.standard_normal((50, 4)),
    )
    matrix = LowRankMatrix(B, B) + LowRankMatrix(C, C)
    A = B @ B.T + C @ C.T
    assert_allclose(matrix.entries, A, rtol=1e-13)
    assert_allclose(matrix.trace, np.trace(A))
    assert_allclose(matrix.restrict(V), V.T @ A @ V)
    values, vectors = matrix.leading(10)
    assert_allclose(values, np.linalg.eigvalsh(A)[:-4:-1])
    assert_allclose(A @ vectors, vectors * values, atol=1e-12)
    mixed = LowRankMatrix(B[:, :1], C)
    assert_allclose(mixed.restrict(V), V.T @ mixed.entries @ V)
    assert_allclose(mixed.entries, 0.5 * (B[:, :1] @ C.T + C @ B[:, :1].T))
    zero = LowRankMatrix(np.zeros((50, 1)), np.zeros((50, 1)))
    assert zero.leading(1)[0][0] == 0.0


@pytest.mark.parametrize("size", [1.0, 1e-310, 1e300])
def test_the_factor_of_a_spectrum_of_any_size(size):
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.standard_normal((5, 3)))[0]
    U = spectral_factor(size * np.array([-0.5, 0.25, 1.0]), vectors)
    P = (vectors[:, 1:] * np.array([0.25, 1.0])) @ vectors[:, 1:].T
    assert_allclose(U @ U.T, 5.0 / 1.25 * P, atol=1e-12)


def test_the_simplex_is_reached_from_numbers_that_hide_its_size():
    projected = project_simplex(np.array([1e300, -1e300, 1e300]), 3.0)
    assert_allclose(projected, [1.5, 0.0, 1.5])
    assert_allclose(project_simplex(np.array([0.9, 0.2, -5.0]), 1.0), [0.85, 0.15, 0.0])
