"""Tessellated kernels against numerical integration of their definition."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata

from kernelfit.families.psd.family import (
    PositiveMatrixFamily,
    PositiveMatrixKernel,
    RankScaling,
    UnitScaling,
    mean_one_scale,
    symmetric_gram,
)
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.families.psd.volume_gram import VolumeGram
from kernelfit.kernels.tessellated import fill_polynomial
from tests.reference.tessellated import product_table

CASES = [("x", d, n) for d in (0, 1, 2, 3) for n in (1, 2)]
CASES += [("xz", d, n) for d in (0, 1, 2, 3) for n in (1, 2)]
CASES += [("xz", 4, 1)]


def points(n, m=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.2, 1.2, (m, n))
    X[3] = X[1]  # equal points
    X[4, 0] = X[0, 0]  # and an equal coordinate
    return X


def without_volumes(basis, X, scale):
    """Return a family whose memory holds a Gram matrix, but no volumes besides."""
    return PositiveMatrixFamily(basis, X, scale, cache_bytes=12.0 * len(X) ** 2)


def response_matrix(family, beta):
    return family.respond_to(beta).form(beta).entries


def random_factor(basis, rank=3, seed=1):
    return np.random.default_rng(seed).standard_normal((basis.size, rank))


@pytest.mark.parametrize("variables, degree, n", CASES)
def test_kernel_is_the_integral_of_the_definition(variables, degree, n):
    X, delta = points(n), 0.3
    G = product_table(X, degree, variables, delta)
    basis = TessellatedBasis(n, degree, delta, variables)
    assert basis.size == G.shape[-1]
    U = random_factor(basis)
    expected = 1.7 * np.einsum("ijab,ab->ij", G, U @ U.T)
    for family in (PositiveMatrixFamily(basis, X, 1.7), without_volumes(basis, X, 1.7)):
        K = family.gram(U).whole
        assert_allclose(K, expected, rtol=0, atol=1e-13 * abs(expected).max())
    assert_allclose(basis.identity_diagonal(X), np.einsum("iiaa->i", G), rtol=1e-13)
    identity, expected = PositiveMatrixFamily(basis, X, 1.7).gram(2.0).whole, np.einsum("ijaa", G)
    assert_allclose(identity, 6.8 * expected, rtol=0, atol=1e-12 * abs(expected).max())


@pytest.mark.parametrize("variables, degree, n", CASES)
def test_responses_are_the_integrals_of_the_definition(variables, degree, n):
    X, delta = points(n), 0.3
    G = product_table(X, degree, variables, delta)
    basis = TessellatedBasis(n, degree, delta, variables)
    family = PositiveMatrixFamily(basis, X, 1.7)
    rng = np.random.default_rng(2)
    beta, weight = rng.standard_normal((2, len(X)))
    beta[2] = 0.0
    D = 1.7 * np.einsum("i,j,ijab->ab", beta, beta, G)
    scale = abs(D).max()
    assert_allclose(response_matrix(family, beta), D, rtol=0, atol=1e-12 * scale)
    W = 1.7 * np.einsum("j,ijab->iab", beta, G)
    W = 0.5 * (W + W.transpose(0, 2, 1))
    response = family.respond_to(beta)
    expected = np.einsum("i,iab->ab", weight, W)
    assert_allclose(response.form(weight).entries, expected, rtol=0, atol=1e-12 * scale)
    left, right = rng.standard_normal((basis.size, 2)), rng.standard_normal((basis.size, 3))
    expected = np.einsum("iab,ak,bl->ikl", W, left, right)
    atol = 1e-12 * abs(expected).max()
    assert_allclose(response.contract(left, right), expected, rtol=0, atol=atol)
    for U, P in ((left, left @ left.T), (1.5, 2.25 * np.eye(basis.size))):
        expected = np.einsum("iab,ab->i", W, P)
        assert_allclose(response.decision(U), expected, rtol=0, atol=1e-12 * abs(expected).max())
    mixed = response.mix(family.respond_to(weight), 0.3)
    expected = family.respond_to(0.7 * beta + 0.3 * weight).form(beta).entries
    assert_allclose(mixed.form(beta).entries, expected, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("variables, degree", [("x", 0), ("x", 2), ("xz", 0)])
def test_kept_volumes_change_nothing(variables, degree):
    rng = np.random.default_rng(4)
    X, L = points(3, m=300), rng.standard_normal((300, 2))
    basis = TessellatedBasis(3, degree, 0.3, variables)
    plain, fast = without_volumes(basis, X, 1.7), PositiveMatrixFamily(basis, X, 1.7)
    assert plain.volumes is None
    assert_array_equal(fast.volumes, fast.volumes.T)
    U = random_factor(basis)
    K = plain.gram(U).whole + L @ L.T
    gram = VolumeGram(fast.functions(U), fast.volumes, L)
    tight = {"rtol": 0, "atol": 1e-13 * abs(K).max()}
    idx = rng.permutation(300)[:70]
    assert_allclose(gram.fill(np.empty_like(K)), K, **tight)
    assert_allclose(gram.rows(idx), K[idx], **tight)
    assert_allclose(gram.block(idx), K[np.ix_(idx, idx)], **tight)
    assert_allclose(gram.diagonal, np.diagonal(K), **tight)
    assert_allclose(fast.gram(U, L).whole, K, **tight)
    assert_allclose(plain.gram(U, L).whole, K, **tight)
    for count in (20, 200):
        beta = np.zeros(300)
        beta[rng.permutation(300)[:count]] = rng.standard_normal(count)
        for name in ("Z", "both", "first", "second", "total"):
            expected = getattr(plain.respond_to(beta), name)
            found = getattr(fast.respond_to(beta), name)
            assert_allclose(found, expected, rtol=0, atol=1e-13 * abs(expected).max())
    other = PositiveMatrixFamily(TessellatedBasis(3, 1, 0.3, "xz"), X, 1.0)
    assert other.volumes is None


@pytest.mark.parametrize("variables, degree", [("x", 0), ("x", 2), ("xz", 1), ("xz", 2), ("xz", 3)])
def test_all_evaluations_agree_bit_for_bit(variables, degree):
    rng = np.random.default_rng(3)
    X = 10.0 * rng.standard_normal((600, 3))  # more than one tile and one block of rows
    scaling = UnitScaling.fit(X)
    basis = TessellatedBasis(3, degree, 0.5, variables)
    U = random_factor(basis)
    kernel = PositiveMatrixKernel(basis, U, 0.8, scaling)
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert_array_equal(kernel(X, X), K)
    assert_array_equal(kernel(X[17:30], X[100:]), K[17:30, 100:])
    assert_array_equal(kernel.diag(X), np.diag(K))
    family = without_volumes(basis, scaling(X), 0.8)
    assert_array_equal(family.gram(U).whole, K)
    functions, single = family.functions(U), np.empty(K.shape, np.float32)
    assert_array_equal(symmetric_gram(basis, functions, single), K.astype(np.float32))
    rows = PositiveMatrixFamily(basis, scaling(X), 0.8, cache_bytes=1e3).gram(U)
    idx = rng.permutation(600)[:50]
    assert rows.whole is None
    assert_array_equal(rows.rows(idx), K[idx])
    assert_array_equal(rows.block(idx), K[np.ix_(idx, idx)])
    assert_array_equal(rows.diagonal(), np.diag(K))


@pytest.mark.parametrize("variables, degree", [("x", 1), ("x", 2), ("xz", 1), ("xz", 2)])
def test_gram_is_psd_to_rounding(variables, degree):
    X = np.random.default_rng(4).uniform(size=(80, 4))
    basis = TessellatedBasis(4, degree, 0.1, variables)
    family = PositiveMatrixFamily(basis, X, 1.0)
    values = np.linalg.eigvalsh(family.gram(random_factor(basis, 1)).whole)
    assert values[0] >= -1e-13 * values[-1]
    values = np.linalg.eigvalsh(response_matrix(family, X[:, 0] - 0.5))
    assert values[0] >= -1e-12 * values[-1]


@pytest.mark.parametrize("delta", [0.0, 0.5, 1e6])
def test_hundred_features_neither_overflow_nor_vanish(delta):
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(40, 100))
    basis = TessellatedBasis(100, 1, delta, "x")
    family = PositiveMatrixFamily(basis, X, mean_one_scale(basis, X, np.ones(40)))
    K = family.gram(np.eye(basis.size)).whole
    assert np.isfinite(K).all()
    assert_allclose(np.diag(K).mean(), 1.0, rtol=1e-12)
    beta = rng.standard_normal(40)
    D = response_matrix(family, beta)
    assert_allclose(np.trace(D), beta @ K @ beta, rtol=1e-9)


@pytest.mark.parametrize("degree, n", [(1, 1), (1, 6), (2, 1), (2, 4)])
def test_the_general_loop_agrees_with_those_of_degree_1_and_2(degree, n):
    X = points(n, m=40)
    basis = TessellatedBasis(n, degree, 0.3, "xz")
    functions = basis.functions(X, random_factor(basis))
    expected, found = np.empty((2, 40, 40))
    basis.fill(functions, functions, 0, expected)
    above = random_factor(basis)[: basis.size // 2] - random_factor(basis)[basis.size // 2 :]
    G = np.zeros((40, 3, len(basis._z_powers)))
    for (delta, gamma), row in zip(basis._monomials, above, strict=True):
        G[:, :, gamma] += basis.points(X).Z[:, delta, None] * row
    XT, tailsT, _, HT, FT = functions.columns
    fill_polynomial(
        functions.X, functions.tails, G, functions.H, functions.F,
        XT, tailsT, np.ascontiguousarray(np.moveaxis(G, 0, -1)), HT, FT,
        basis._legendre_steps, degree, basis.upper, 0, found,
    )  # fmt: skip
    assert_allclose(found, expected, rtol=0, atol=1e-14 * abs(expected).max())


def test_scale_counts_rows_by_weight():
    X = np.random.default_rng(6).uniform(size=(4, 2))
    basis = TessellatedBasis(2, 1, 0.5, "x")
    weighted = mean_one_scale(basis, X, np.array([2.0, 1.0, 0.0, 1.0]))
    repeated = mean_one_scale(basis, X[[0, 0, 1, 3]], np.ones(4))
    assert_allclose(weighted, repeated, rtol=1e-15)


def test_points_outside_the_box_are_moved_to_it():
    basis = TessellatedBasis(1, 1, 0.5, "x")
    kernel = PositiveMatrixKernel(
        basis, random_factor(basis), 1.0, UnitScaling.fit(np.array([[0.0], [1.0]]))
    )
    inside, outside = np.array([[-0.5], [1.5]]), np.array([[-70.0], [1e300]])
    assert_array_equal(kernel(inside), kernel(outside))


def test_scaling_of_huge_tiny_and_constant_features():
    X = np.array([[-1.7e308, 3.0, 0.0, 1e-310], [1.7e308, 3.0, 5e-324, 3e-310]])
    scaling = UnitScaling.fit(X)
    assert_array_equal(scaling.kept, [0, 2, 3])
    assert_allclose(scaling(X), [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])


def test_ranks_are_mean_ranks():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [np.exp(3.0 * rng.standard_normal(50)), rng.integers(0, 4, 50), np.ones(50)]
    )
    scaling = RankScaling.fit(X)
    assert_array_equal(scaling.kept, [0, 1])
    expected = (rankdata(X[:, :2], axis=0) - 1.0) / 49.0
    assert_allclose(scaling(X), expected, rtol=0, atol=1e-12)
    beyond = scaling(np.array([[-1.0, -1.0, 1.0], [1e9, 9.0, 1.0]]))
    assert_array_equal(beyond, [[0.0, 0.0], [1.0, 1.0]])
    many = np.sort(rng.standard_normal((5000, 1)) ** 3, axis=0)
    assert np.all(np.diff(RankScaling.fit(many)(many)[:, 0]) >= 0.0)
    assert_allclose(RankScaling.fit(many)(many)[:, 0], np.arange(5000) / 4999, rtol=0, atol=1e-3)
    huge = np.array([[-1.7e308, 5e-324], [0.0, 1e-310], [1.7e308, 3e-310]])
    assert_allclose(RankScaling.fit(huge)(huge)[:, 0], [0.0, 0.5, 1.0])
    assert np.isfinite(RankScaling.fit(huge)(huge)).all()
    with pytest.raises(ValueError, match="expected quantiles of 2 features, got shape"):
        replace(scaling, knots=scaling.knots[:, :1])


def test_parts_of_a_kernel_fit_together():
    basis, scaling = TessellatedBasis(2, 1, 0.5, "xz"), UnitScaling.fit(np.eye(2))
    U = random_factor(basis)
    for wrong in (U[:-1], np.vstack([U, U]), U[:, 0]):
        with pytest.raises(ValueError, match="factor of"):
            PositiveMatrixKernel(basis, wrong, 1.0, scaling)
    with pytest.raises(ValueError, match="expected 2 features"):
        PositiveMatrixKernel(basis, U, 1.0, UnitScaling.fit(np.eye(3)))
