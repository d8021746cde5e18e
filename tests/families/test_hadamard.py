"""Responses of the two families against dense eigenvalue problems on expanded copies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelfit.families.adaptive import AdaptiveFamily, _least_count
from kernelfit.families.hadamard import products
from kernelfit.families.pairwise import PairwiseFamily
from kernelfit.solvers.gram import DenseGram, RowGram
from tests.reference import dank

CASES = [("dank", 0.0), ("dank", 0.01), ("dank", 0.5), ("knpl", 0.0)]


def family(method, eta, tau, weight):
    if method == "knpl":
        return PairwiseFamily(eta, weight)
    return AdaptiveFamily(eta, weight, tau)


def setting(n=15, seed=0, zeros=0.4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    beta = rng.standard_normal(n) * (rng.uniform(size=n) > zeros)
    return K, beta


@pytest.mark.parametrize("zeros", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("weight", [None, "whole"])
@pytest.mark.parametrize("eta", [0.3, 8.0])
@pytest.mark.parametrize(("method", "tau"), CASES)
def test_structured_equals_dense(method, tau, eta, weight, zeros):
    K, beta = setting(zeros=zeros)
    n = len(beta)
    w = np.ones(n) if weight is None else np.random.default_rng(1).integers(1, 4, n).astype(float)
    got = family(method, eta, tau, w).respond(DenseGram(K), beta)
    theta, energy = dank.weighted_response(K, beta, w, eta, tau, method)
    assert np.allclose(got.matrix(K), theta, rtol=0, atol=1e-12 * np.abs(theta).max())
    assert np.isclose(got.energy, energy, rtol=1e-12, atol=1e-12 * eta * w.sum() ** 2)
    assert np.allclose(got.decision, (theta * K) @ beta, rtol=0, atol=1e-12 * w.sum())
    assert np.allclose(got.diagonal(np.diag(K)), np.diag(theta), rtol=0, atol=1e-12 * w.sum())
    some = np.array([3, 0, 7])
    assert np.allclose(got.rows(some, K[some]), theta[some], rtol=0, atol=1e-12 * w.sum())
    support = np.flatnonzero(beta)
    small = np.zeros((len(support) + 1, len(support) + 1))
    small[:-1, :-1] = K[np.ix_(support, support)]
    index = np.append(support, np.flatnonzero(beta == 0.0)[:1]).astype(int)
    compact = got.compact().matrix(small)[: len(index), : len(index)]
    assert np.allclose(compact, theta[np.ix_(index, index)], rtol=0, atol=1e-12 * w.sum())
    expanded = dank.copies(w)
    values = np.linalg.eigvalsh(theta[np.ix_(expanded, expanded)])[::-1]
    spectrum = got.spectrum(DenseGram(K))
    assert np.allclose(spectrum, values[: len(spectrum)], rtol=0, atol=1e-11 * w.sum())
    assert np.all(values[len(spectrum) :] < 1e-11 * w.sum())
    assert got.rank(DenseGram(K)) == np.linalg.matrix_rank(theta, tol=1e-11, hermitian=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("method", "tau"), CASES)
def test_decision_is_the_gradient_of_the_energy(method, tau, seed):
    K, beta = setting(seed=seed, zeros=0.0)
    w = np.random.default_rng(seed).uniform(0.5, 2.0, len(beta))
    member = family(method, 0.7, tau, w)
    gram = DenseGram(K)
    direction = np.random.default_rng(5).standard_normal(len(beta))
    h = 1e-5
    forward, backward = (member.respond(gram, beta + s * h * direction).energy for s in (1, -1))
    slope = member.respond(gram, beta).decision @ direction
    assert np.isclose((forward - backward) / (2 * h), slope, rtol=1e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("method", "tau"), CASES)
def test_curvature_bounds_the_hessian(method, tau, seed):
    K, beta = setting(seed=seed, zeros=0.0)
    n = len(beta)
    w = np.random.default_rng(seed).uniform(0.5, 2.0, n)
    member = family(method, 0.7, tau, w)
    gram = DenseGram(K)
    response = member.respond(gram, beta)
    ridge = response.ridge(gram)
    rough, bound = response.curvature_rows(np.arange(n), K, ridge), response.curvature(K, ridge)
    assert np.allclose(response.curvature_diagonal(np.diag(K), ridge), np.diag(rough))
    h = 1e-6
    hessian = np.array(
        [
            member.respond(gram, beta + h * e).decision
            - member.respond(gram, beta - h * e).decision
            for e in np.eye(n)
        ]
    ) / (2 * h)
    assert np.linalg.eigvalsh(bound - (hessian + hessian.T) / 2).min() > -1e-6
    assert np.linalg.eigvalsh(rough - bound).min() > -1e-9
    if tau == 0.0:
        assert np.allclose(bound, hessian, atol=1e-6)
    # No more than the groups of eigenvectors below the threshold allow.
    assert np.linalg.eigvalsh(1.25 * (hessian + hessian.T) / 2 - bound).min() > -1e-6


@pytest.mark.parametrize("factor", [0.999, 1.001])
@pytest.mark.parametrize("n_rest", [0, 5])
def test_curvature_at_an_eigenvalue_near_the_threshold(factor, n_rest):
    """The divided differences are smallest, and a bound of 1 on them loosest, just above it."""
    K, beta = setting(n=30, zeros=0.0)
    beta[:n_rest] = 0.0
    values = np.linalg.eigvalsh(1.0 + dank.gamma_matrix(K, beta, 0.7))[::-1]
    member = AdaptiveFamily(0.7, np.ones(30), 2.0 * factor * values[4])
    gram = DenseGram(K)
    h = 1e-6
    sides = np.vstack((np.eye(30), -np.eye(30)))
    moved = np.array([member.respond(gram, beta + h * e).decision for e in sides])
    hessian = (moved[:30] - moved[30:]) / (2 * h)
    hessian = (hessian + hessian.T) / 2
    response = member.respond(gram, beta)
    bound = response.curvature(K, response.ridge(gram))
    assert np.linalg.eigvalsh(bound - hessian).min() > -1e-5
    assert np.linalg.eigvalsh(1.25 * hessian - bound).min() > -1e-5


@pytest.mark.parametrize("power", [1, 2])
def test_products_with_cached_rows_in_any_order(power):
    """A full cache of which every row is asked for, stored in another order."""
    K, _ = setting(n=8)
    gram = RowGram(lambda idx: K[idx], np.diag(K), 8 * 8 * 4, np.float64)
    gram.rows(np.array([6, 2, 4, 1]))
    idx, coef = np.array([1, 2, 4, 6]), np.arange(4.0)
    assert np.allclose(products(gram, idx, coef, power), (K[:, idx] ** power) @ coef, rtol=1e-14)


def test_energy_does_not_cancel():
    """At eta N^2 = 10^13 the energy of a small beta keeps its digits: it nears 1/2 beta'K beta."""
    K, beta = setting(n=100, zeros=0.5)
    beta *= 1e-3
    response = AdaptiveFamily(1e9, np.ones(100), 0.01).respond(DenseGram(K), beta)
    assert np.isclose(response.energy, 0.5 * (1 - 0.005 / 100) * beta @ K @ beta, rtol=1e-9)


@pytest.mark.parametrize(("method", "tau"), CASES)
def test_infinite_eta_leaves_the_kernel(method, tau):
    K, beta = setting()
    w = np.ones(len(beta))
    got = family(method, np.inf, tau, w).respond(DenseGram(K), beta)
    scale = 1 - tau / 2 / len(beta)
    assert np.allclose(got.matrix(K), scale, rtol=1e-14)
    assert np.allclose(got.decision, scale * K @ beta, rtol=1e-13)
    assert np.isclose(got.energy, scale * 0.5 * beta @ K @ beta, rtol=1e-13)


@pytest.mark.parametrize("eta", [0.05, 2.0])
def test_closed_form_equals_admm(eta):
    K, beta = setting(n=10)
    admm = dank.pairwise_matrix_admm(K, beta, eta)
    got = PairwiseFamily(eta, np.ones(10)).respond(DenseGram(K), beta).matrix(K)
    assert np.abs(got - admm).max() < 1e-8


@pytest.mark.parametrize("kernel", ["rbf", "flat"])
def test_lanczos_finds_what_the_dense_solver_finds(monkeypatch, kernel):
    K, beta = setting(n=600, zeros=0.0)
    beta *= 0.25
    if kernel == "flat":  # above the threshold only the first and a few large coefficients
        K, beta = np.eye(600) + 1e-6 * K, np.where(np.arange(600) % 120 == 0, 6.0, 0.1)
    member = AdaptiveFamily(200.0, np.ones(600), 0.01)
    with monkeypatch.context() as context:
        context.setattr(np.linalg, "eigh", None)  # it must do without
        lanczos = member.respond(DenseGram(K), beta)
    monkeypatch.setattr("kernelfit.families.adaptive._MAX_DENSE_ORDER", 1000)
    dense = member.respond(DenseGram(K), beta)
    assert 2 < dense.rank(DenseGram(K)) < 75
    assert np.isclose(dense.energy, lanczos.energy, rtol=1e-10)
    assert np.allclose(dense.matrix(K), lanczos.matrix(K), atol=1e-8)


def test_an_eigenvector_that_lanczos_missed_is_found(monkeypatch):
    """A process that returns one eigenvector of each eigenvalue, as it would in exact numbers."""

    def eigsh(M, k, **_):
        values, vectors = np.linalg.eigh(M)
        values, first = np.unique(values.round(12), return_index=True)
        return values[-k:], vectors[:, first[-k:]]

    K, beta = np.eye(600), np.where(np.arange(600) % 120 == 0, 3.0, 0.1)
    member = AdaptiveFamily(50.0, np.ones(600), 0.01)
    monkeypatch.setattr("kernelfit.families.adaptive.eigsh", eigsh)
    response = member.respond(DenseGram(K), beta)
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
    member = AdaptiveFamily(1.0, np.ones(600), 0.01)
    monkeypatch.setattr("kernelfit.families.adaptive.eigsh", None)
    assert member.respond(DenseGram(np.eye(600)), np.ones(600)).eigenvalues.size == 600


@pytest.mark.parametrize(("method", "tau"), CASES)
def test_rows_on_demand_give_the_same(method, tau):
    K, beta = setting(n=40)
    gram = RowGram(lambda idx: K[idx], np.diag(K), 8 * 40 * 5, np.float64)
    member = family(method, 0.7, tau, np.ones(40))
    one, other = member.respond(gram, beta), member.respond(DenseGram(K), beta)
    assert np.allclose(one.decision, other.decision, rtol=1e-13, atol=1e-13)
    assert np.isclose(one.energy, other.energy, rtol=1e-12)


def test_rank_bound():
    """``rank F <= 1 + ||beta||^2 / (2 eta tau)`` for a kernel with unit diagonal."""
    for seed in range(5):
        K, beta = setting(n=30, seed=seed)
        response = AdaptiveFamily(float(beta @ beta), np.ones(30), 0.05).respond(DenseGram(K), beta)
        assert response.rank(DenseGram(K)) <= 1 + 1 / (2 * 0.05)
