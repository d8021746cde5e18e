"""DANK's response where it is computed by other means: near the threshold, large, huge eta."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelfit.families.hadamard.dank import AdaptiveFamily, _least_count
from kernelfit.kernels.gram import DenseGram
from tests.reference import dank


def setting(n=15, seed=0, zeros=0.4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    beta = rng.standard_normal(n) * (rng.uniform(size=n) > zeros)
    return K, beta


def family(K, eta, tau):
    return AdaptiveFamily(DenseGram(K), np.ones(len(K)), eta, tau=tau)


@pytest.mark.parametrize("factor", [0.999, 1.001])
@pytest.mark.parametrize("n_rest", [0, 5])
def test_curvature_at_an_eigenvalue_near_the_threshold(factor, n_rest):
    """The divided differences are smallest, and a bound of 1 on them loosest, just above it."""
    K, beta = setting(n=30, zeros=0.0)
    beta[:n_rest] = 0.0
    values = np.linalg.eigvalsh(1.0 + dank.gamma_matrix(K, beta, 0.7))[::-1]
    member = family(K, 0.7, 2.0 * factor * values[4])
    h = 1e-6
    sides = np.vstack((np.eye(30), -np.eye(30)))
    moved = np.array([member.respond_to(beta + h * e).values for e in sides])
    hessian = (moved[:30] - moved[30:]) / (2 * h)
    hessian = (hessian + hessian.T) / 2
    response = member.respond_to(beta)
    bound = response.curvature(K, response.ridge(member.source))
    assert np.linalg.eigvalsh(bound - hessian).min() > -1e-5
    assert np.linalg.eigvalsh(1.25 * hessian - bound).min() > -1e-5


def test_energy_does_not_cancel():
    """At eta N^2 = 10^13 the energy of a small beta keeps its digits: it nears 1/2 beta'K beta."""
    K, beta = setting(n=100, zeros=0.5)
    beta *= 1e-3
    response = family(K, 1e9, 0.01).respond_to(beta)
    assert np.isclose(response.energy, 0.5 * (1 - 0.005 / 100) * beta @ K @ beta, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "flat"])
def test_lanczos_finds_what_the_dense_solver_finds(monkeypatch, kernel):
    K, beta = setting(n=600, zeros=0.0)
    beta *= 0.25
    if kernel == "flat":  # above the threshold only the first and a few large coefficients
        K, beta = np.eye(600) + 1e-6 * K, np.where(np.arange(600) % 120 == 0, 6.0, 0.1)
    member = family(K, 200.0, 0.01)
    with monkeypatch.context() as context:
        context.setattr(np.linalg, "eigh", None)  # it must do without
        lanczos = member.respond_to(beta)
    monkeypatch.setattr("kernelfit.families.hadamard.dank._MAX_DENSE_ORDER", 1000)
    dense = member.respond_to(beta)
    assert 2 < dense.eigenvalues.size < 75
    assert np.isclose(dense.energy, lanczos.energy, rtol=1e-10)
    assert np.allclose(dense.matrix(K), lanczos.matrix(K), atol=1e-8)


def test_an_eigenvector_that_lanczos_missed_is_found(monkeypatch):
    """A process that returns one eigenvector of each eigenvalue, as it would in exact numbers."""

    def eigsh(M, k, **_):
        values, vectors = np.linalg.eigh(M)
        values, first = np.unique(values.round(12), return_index=True)
        return values[-k:], vectors[:, first[-k:]]

    K, beta = np.eye(600), np.where(np.arange(600) % 120 == 0, 3.0, 0.1)
    monkeypatch.setattr("kernelfit.families.hadamard.dank.eigsh", eigsh)
    response = family(K, 50.0, 0.01).respond_to(beta)
    theta, energy = dank.weighted_response(K, beta, np.ones(600), 50.0, 0.01, "dank")
    assert np.isclose(response.energy, energy, rtol=1e-8)
    assert np.allclose(response.matrix(K), theta, atol=1e-10)


@given(st.integers(0, 10**6), st.floats(0.0, 6.0), st.floats(0.01, 3.0))
def test_count_of_large_eigenvalues_is_not_overestimated(seed, decay, limit):
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    values = np.exp(-decay * rng.uniform(size=12))
    count = _least_count((vectors * values) @ vectors.T, limit)
    assert 0.0 <= count <= np.count_nonzero(values > limit) + 1e-9


def test_flat_spectrum_is_known_without_iterations(monkeypatch):
    """All eigenvalues are above the threshold: Lanczos iterations would be in vain."""
    monkeypatch.setattr("kernelfit.families.hadamard.dank.eigsh", None)
    response = family(np.eye(600), 1.0, 0.01).respond_to(np.ones(600))
    assert response.eigenvalues.size == 600


def test_rank_bound():
    """``rank F <= 1 + ||beta||^2 / (2 eta tau)`` for a kernel with unit diagonal."""
    for seed in range(5):
        K, beta = setting(n=30, seed=seed)
        response = family(K, float(beta @ beta), 0.05).respond_to(beta)
        assert 1 < response.eigenvalues.size <= 1 + 1 / (2 * 0.05)
        assert np.linalg.matrix_rank(response.matrix(K), tol=1e-9) == response.eigenvalues.size
