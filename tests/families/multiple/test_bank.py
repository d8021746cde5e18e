"""The Gram matrices of many kernels, whole or as factors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from kernelfit.families.multiple import bank as bank_module
from kernelfit.families.multiple.bank import Source, from_matrix, is_indefinite, make_bank
from kernelfit.families.multiple.by_rows import FactoredGram, MatrixRows
from kernelfit.families.multiple.kernels import BankKernel
from kernelfit.kernels.standard import RBF, Laplacian, Polynomial
from kernelfit.solvers.dual import blocks

EPS = np.finfo(float).eps


def matrices(n, seed, kinds):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    kernels = (RBF(5.0), Polynomial(2, 1.0, 1.0), BankKernel(RBF(0.3), (0,)), RBF(0.01))
    return [kernels[kind](X) for kind in kinds], rng


@given(st.integers(8, 60), st.integers(0, 99), st.lists(st.integers(0, 3), min_size=1, max_size=6))
@settings(max_examples=30)
def test_products_are_those_of_the_matrices(n, seed, kinds):
    K, rng = matrices(n, seed, kinds)
    bank = make_bank(n, map(from_matrix, K), np.inf)
    assert bank.size == len(K)
    for m, exact in enumerate(K):
        assert_allclose(
            bank.select(m).combine(np.ones(1)), exact, rtol=0, atol=100 * EPS * abs(exact).max()
        )
    weights = rng.uniform(size=len(K)) * rng.integers(0, 2, len(K))
    total = sum(w * k for w, k in zip(weights, K, strict=True))
    scale = 1000 * EPS * abs(np.sum(K, axis=0)).max()
    assert_allclose(bank.combine(weights), total, rtol=0, atol=scale)
    assert_allclose(bank.diagonals(), [k.diagonal() for k in K], rtol=0, atol=scale)
    squares = sum((3.0 * k) @ (3.0 * k) for k in K)
    assert_allclose(bank.sum_of_squares(3.0), squares, rtol=0, atol=1e-9 * squares.max())
    beta, other = rng.standard_normal((2, 2, n))
    beta[0, rng.uniform(size=n) < 0.8] = 0.0  # few rows are read
    found, found_other = bank.respond(beta), bank.respond(other)
    tolerance = {"rtol": 0, "atol": n**2 * scale}
    chosen = np.arange(0, len(K), 2)
    assert_allclose(found.values(chosen), [[K[m] @ b for m in chosen] for b in beta], **tolerance)
    assert_allclose(found.sums(weights), beta @ total, **tolerance)
    assert_allclose(found.forms(), [sum(b @ k @ b for b in beta) for k in K], **tolerance)
    cross = [sum(b @ k @ c for b, c in zip(beta, other, strict=True)) for k in K]
    assert_allclose(found.forms(found_other), cross, **tolerance)
    mixed = found.mix(found_other, 0.3)
    assert_allclose(mixed.sums(weights), (0.7 * beta + 0.3 * other) @ total, **tolerance)
    assert_allclose(mixed.beta, 0.7 * beta + 0.3 * other, rtol=1e-12)


def test_the_product_with_a_zero_matrix_is_zero():
    K = [np.zeros((5, 5)), np.eye(5), np.zeros((5, 5))]
    for dense in (slice(None), slice(0, 3, 2)):  # with and without a matrix kept whole
        bank = make_bank(5, map(from_matrix, K[dense]), np.inf)
        found = bank.respond(np.ones((1, 5))).values(np.arange(bank.size))
        assert_allclose(found, [[k @ np.ones(5) for k in K[dense]]])


def test_a_kernel_of_one_feature_is_a_small_factor():
    X = np.random.default_rng(0).standard_normal((400, 1))
    K = RBF(0.5)(X)
    bank = make_bank(400, [from_matrix(K)], 8 * 400 * 100)
    assert not bank.dense and len(bank.factors) < 40
    assert_allclose(bank.select(0).combine(np.ones(1)), K, rtol=0, atol=100 * EPS)


def test_entries_computed_when_needed_are_those_of_the_matrices():
    rng = np.random.default_rng(0)
    n = 300
    X = rng.standard_normal((n, 3))
    kernels = [(RBF(2.0), X), (RBF(0.1), X[:, :1]), (Laplacian(0.5), X), (RBF(300.0), X)]
    sources = []
    for kernel, seen in kernels:
        by_rows = MatrixRows(kernel, seen, 2.0)
        sources.append(Source(by_rows.diagonal(), by_rows.column, by_rows.whole, by_rows=by_rows))
    K = np.array([2.0 * kernel(seen) for kernel, seen in kernels])
    bank = make_bank(n, sources, 3 * 8 * n**2)
    assert len(bank.on_demand) == 3 and 0 < len(bank.factors) < 40
    assert bank.cache_bytes == 3 * 8 * n**2 - bank.factors.nbytes
    assert_allclose(bank.diagonals(), [k.diagonal() for k in K], rtol=1e-12)
    beta = rng.standard_normal((2, n))
    beta[:, rng.uniform(size=n) < 0.5] = 0.0
    found = bank.respond(beta)
    assert_allclose(found.forms(), np.einsum("ti,mij,tj->m", beta, K, beta), rtol=1e-11)
    assert_allclose(found.values(np.arange(4)), np.einsum("mij,tj->tmi", K, beta), atol=1e-11)
    rows, columns = slice(10, 30), slice(50, 90)
    assert_allclose(bank.tiles(rows, columns), K[[0, 2, 3], rows, columns], atol=1e-13)
    # Signed weights, one of them too small to count in float32, and a part of low rank.
    L = rng.standard_normal((3, n))
    idx = rng.permutation(n)[:150]
    for weights in ([0.5, -0.3, 1e-12, 0.7], [0.0, 0.4, 0.0, 0.0]):
        weights = np.array(weights)
        gram = FactoredGram(bank.gram(weights), L, np.array([1.0, 0.0, 2.0]))
        total = np.tensordot(weights, K, 1) + np.outer(L[0], L[0]) + 2.0 * np.outer(L[2], L[2])
        assert gram.whole is None and gram.dtype == np.float32
        assert_allclose(gram.diagonal(), total.diagonal(), rtol=1e-12)
        exact = {"rtol": 0, "atol": 1e-11}
        assert_allclose(gram.rows(idx), total[idx], **exact)
        assert_allclose(gram.block(idx, exact=True), total[np.ix_(idx, idx)], **exact)
        assert_allclose(gram.block(idx), total[np.ix_(idx, idx)], rtol=0, atol=1e-5)
        coef = rng.standard_normal(len(idx))
        for some in (idx, idx[:20]):
            part = coef[: len(some)]
            assert_allclose(gram.product(some, part), total[:, some] @ part, **exact)
            squared = total[:, some] ** 2 @ part
            assert_allclose(gram.product(some, part, power=2), squared, rtol=0, atol=1e-10)
            out, out_squares = np.ones((2, n))
            gram.accumulate(some, part, out)
            assert_allclose(out, 1.0 + total[:, some] @ part, rtol=0, atol=1e-4)
            gram.accumulate_squares(some, part, part, out, out_squares)
            assert_allclose(out_squares, 1.0 + squared, rtol=0, atol=1e-10)
    for m, k in enumerate(K):
        inner = bank.select(m, idx)
        assert (inner.size, inner.n) == (1, len(idx))
        block = inner.gram(np.ones(1)).block(np.arange(len(idx)), exact=True)
        assert_allclose(block, k[np.ix_(idx, idx)], rtol=0, atol=1e-12)


def test_the_largest_factors_that_need_too_much_are_computed_when_needed():
    n = 200
    X = np.random.default_rng(0).standard_normal((n, 4))
    kernels = [MatrixRows(RBF(gamma), X[:, :1]) for gamma in (0.01, 0.5, 0.1, 0.02)]
    kernels.append(MatrixRows(RBF(5.0), X))
    sources = [Source(k.diagonal(), k.column, k.whole, by_rows=k) for k in kernels]
    whole = make_bank(n, sources, np.inf)
    ranks = np.bincount(whole.owners)
    assert list(whole.dense_places) == [4] and ranks.argmax() == 1
    assert make_bank(n, sources[:4], whole.factors.nbytes).in_memory
    rest = whole.factors.nbytes - 8 * n * ranks[1]
    bank = make_bank(n, sources, 2.0 * rest)
    assert list(bank.dense_places) == [1, 4] and len(bank.on_demand) == 2
    assert set(bank.owners) == {0, 2, 3} and bank.factors.nbytes == rest
    with pytest.raises(ValueError, match="matrices, all in memory for a test, take at most"):
        make_bank(n, sources, 2.0 * rest, "a test")


def test_matrices_that_take_too_much_are_refused():
    K = RBF(100.0)(np.random.default_rng(0).standard_normal((50, 3)))
    make_bank(50, [from_matrix(K)] * 2, 2 * 8 * 50**2)
    with pytest.raises(ValueError, match="for 3 of them on 50 rows"):
        make_bank(50, [from_matrix(K)] * 3, 2 * 8 * 50**2)


def test_negative_eigenvalues_beyond_rounding_are_found():
    X = np.random.default_rng(0).standard_normal((60, 3))
    K = RBF(0.01)(X)
    assert not is_indefinite(K)
    assert not is_indefinite(Polynomial(1, 1.0, 0.0)(X))
    assert is_indefinite(K - 1e-3 * np.eye(60))
    assert is_indefinite(-K)


def test_rounding_is_that_of_the_dtype_and_the_dual_core():
    X = np.random.default_rng(0).standard_normal((60, 3))
    K = RBF(0.001)(X).astype(np.float32)
    assert not is_indefinite(K) and is_indefinite(K.astype(np.float64))
    assert is_indefinite(K - np.float32(1e-3) * np.eye(60, dtype=np.float32))
    fractions = {dtype: ridges[-1] for dtype, ridges in blocks._RIDGES.items()}
    assert fractions == bank_module._ROUNDING


@pytest.mark.parametrize("noise", [1e-12, 1e-11])
def test_noise_is_not_amplified_by_a_factor(noise):
    rng = np.random.default_rng(0)
    E = noise * rng.standard_normal((100, 100))
    K = RBF(0.05)(rng.standard_normal((100, 1))) + E + E.T
    assert not is_indefinite(K)
    bank = make_bank(100, [from_matrix(K)], np.inf)
    assert_allclose(bank.select(0).combine(np.ones(1)), K, rtol=0, atol=10 * EPS)
    rounded = from_matrix(np.ones((8, 8)), np.dtype(np.float32))
    joined = bank.joined(make_bank(8, [rounded], np.inf), [])
    assert (bank.dtype, joined.dtype) == (np.float64, np.float32)
