"""Responses of the two families against dense eigenvalue problems on expanded copies."""

import numpy as np
import pytest

from kernelfit.families.hadamard.dank import AdaptiveFamily
from kernelfit.families.hadamard.kernel import LearnedFactor
from kernelfit.families.hadamard.knpl import PairwiseFamily
from kernelfit.kernels.gram import DenseGram, RowGram
from tests.reference import dank

CASES = [("dank", 0.0), ("dank", 0.01), ("dank", 0.5), ("knpl", 0.0)]


def family(gram, method, eta, tau, weight):
    gram = DenseGram(gram) if isinstance(gram, np.ndarray) else gram
    if method == "knpl":
        return PairwiseFamily(gram, weight, eta)
    return AdaptiveFamily(gram, weight, eta, tau=tau)


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
    got = family(K, method, eta, tau, w).respond_to(beta)
    theta, energy = dank.weighted_response(K, beta, w, eta, tau, method)
    assert np.allclose(got.matrix(K), theta, rtol=0, atol=1e-12 * np.abs(theta).max())
    assert np.isclose(got.energy, energy, rtol=1e-12, atol=1e-12 * eta * w.sum() ** 2)
    assert np.allclose(got.values, (theta * K) @ beta, rtol=0, atol=1e-12 * w.sum())
    assert np.allclose(got.diagonal(np.diag(K)), np.diag(theta), rtol=0, atol=1e-12 * w.sum())
    some = np.array([3, 0, 7])
    assert np.allclose(got.rows(some, K[some]), theta[some], rtol=0, atol=1e-12 * w.sum())
    support = np.flatnonzero(beta)
    small = np.zeros((len(support) + 1, len(support) + 1))
    small[:-1, :-1] = K[np.ix_(support, support)]
    index = np.append(support, np.flatnonzero(beta == 0.0)[:1]).astype(int)
    compact = got.compact().matrix(small)[: len(index), : len(index)]
    assert np.allclose(compact, theta[np.ix_(index, index)], rtol=0, atol=1e-12 * w.sum())


@pytest.mark.parametrize("zeros", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(("method", "tau"), CASES)
def test_learned_factor_is_the_whole_factor(method, tau, zeros):
    """Its rank does not hang on rounding: no eigenvalue is near the limit."""
    K, beta = setting(zeros=zeros)
    n, support = len(beta), np.flatnonzero(beta)
    response = family(K, method, 0.3, tau, np.ones(n)).respond_to(beta)
    theta = dank.response(K, beta, 0.3, tau, method)
    factor = LearnedFactor(response.compact(), support, n, 1.0)
    block = K[np.ix_(support, support)]
    assert factor.eta == 0.3
    assert np.allclose(factor.matrix(block), theta, rtol=0, atol=1e-12 * n)
    values = np.linalg.eigvalsh(theta)
    above = np.count_nonzero(values > 1e-8 * values[-1])
    assert above == np.count_nonzero(values > 1e-12 * values[-1])
    assert factor.rank(block) == above


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("method", "tau"), CASES)
def test_curvature_bounds_the_hessian(method, tau, seed):
    K, beta = setting(seed=seed, zeros=0.0)
    n = len(beta)
    w = np.random.default_rng(seed).uniform(0.5, 2.0, n)
    member = family(K, method, 0.7, tau, w)
    response = member.respond_to(beta)
    ridge = response.ridge(member.source)
    rough, bound = response.curvature_rows(np.arange(n), K, ridge), response.curvature(K, ridge)
    assert np.allclose(response.curvature_diagonal(np.diag(K), ridge), np.diag(rough))
    h = 1e-6
    hessian = np.array(
        [
            member.respond_to(beta + h * e).values - member.respond_to(beta - h * e).values
            for e in np.eye(n)
        ]
    ) / (2 * h)
    assert np.linalg.eigvalsh(bound - (hessian + hessian.T) / 2).min() > -1e-6
    assert np.linalg.eigvalsh(rough - bound).min() > -1e-9
    if tau == 0.0:
        assert np.allclose(bound, hessian, atol=1e-6)
    # No more than the groups of eigenvectors below the threshold allow.
    assert np.linalg.eigvalsh(1.25 * (hessian + hessian.T) / 2 - bound).min() > -1e-6


@pytest.mark.parametrize("form", ["tight", "dense", "rows"])
def test_damping_is_on_the_diagonal_of_every_model(form):
    K, beta = setting(n=30, zeros=0.0)
    gram = DenseGram(K)
    if form == "rows":
        gram = RowGram(lambda idx: K[idx], np.diag(K), 8 * 30 * 5, np.float64)
    member = family(gram, "dank", 2.0, 0.1, np.ones(30))
    response = member.respond_to(beta)
    everything = np.arange(30)

    def model(damping):
        space = np.empty((30, 30)) if form == "dense" else None
        Q = member.curvature(response, form == "tight", damping, space)
        assert np.allclose(Q.diagonal(), np.diag(Q.rows(everything)), rtol=1e-12)
        return Q.rows(everything).copy()

    damping = np.arange(30.0)
    assert np.allclose(model(damping) - model(0.0 * damping), np.diag(damping), atol=1e-10)


@pytest.mark.parametrize(("method", "tau"), CASES)
def test_infinite_eta_leaves_the_kernel(method, tau):
    K, beta = setting()
    w = np.ones(len(beta))
    got = family(K, method, np.inf, tau, w).respond_to(beta)
    scale = 1 - tau / 2 / len(beta)
    assert np.allclose(got.matrix(K), scale, rtol=1e-14)
    assert np.allclose(got.values, scale * K @ beta, rtol=1e-13)
    assert np.isclose(got.energy, scale * 0.5 * beta @ K @ beta, rtol=1e-13)


@pytest.mark.parametrize(("method", "tau"), CASES)
def test_rows_on_demand_give_the_same(method, tau):
    K, beta = setting(n=40)
    rows = RowGram(lambda idx: K[idx], np.diag(K), 8 * 40 * 5, np.float64)
    one, other = (
        family(gram, method, 0.7, tau, np.ones(40)).respond_to(beta) for gram in (rows, K)
    )
    assert np.allclose(one.values, other.values, rtol=1e-13, atol=1e-13)
    assert np.isclose(one.energy, other.energy, rtol=1e-12)


@pytest.mark.parametrize(("method", "tau"), CASES)
def test_neutral_decision_is_that_of_the_kernel_without_adaptation(method, tau):
    K, beta = setting()
    member = family(K, method, 0.7, tau, np.full(len(beta), 2.0))
    neutral = member.respond_to(np.zeros(len(beta))).matrix(K)
    expected = (neutral * K) @ beta
    assert np.allclose(member.neutral_decision(member.respond_to(beta)), expected, rtol=1e-12)


def test_what_needs_the_whole_matrix_says_so():
    K, beta = setting()
    rows = RowGram(lambda idx: K[idx], np.diag(K), 8 * 15 * 5, np.float64)
    member = family(rows, "dank", 0.7, 0.0, np.ones(15))
    with pytest.raises(ValueError, match="expected a kernel matrix in memory"):
        member.gram(member.respond_to(beta))
