"""Products that do not depend on the number of threads, and repeated points in a matrix."""

import numpy as np
import pytest
from scipy import sparse

from kernelfit.clustering import matrices
from kernelfit.clustering.matrices import BlockProducts, LowRank, Operator, counted


@pytest.mark.parametrize("columns", [None, 1, 7, 40])
def test_block_products(columns):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((1111, 900))
    V = rng.standard_normal(900 if columns is None else (900, columns))
    expected = np.einsum("ij,j...->i...", A, V)
    found = []
    for n_threads in (1, 2, 5):
        with BlockProducts(n_threads) as multiply:
            found.append(multiply(A, V))
            np.testing.assert_allclose(multiply(sparse.csr_array(A), V), expected, atol=1e-10)
            np.testing.assert_allclose(Operator(A, multiply) @ V, expected, atol=1e-10)
            W = rng.standard_normal((1111, *V.shape[1:]))
            low = LowRank(A)
            np.testing.assert_allclose(multiply(low, W), A @ (A.T @ W), rtol=1e-9, atol=1e-8)
            np.testing.assert_allclose(low @ W, A @ (A.T @ W), rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(found[0], expected, atol=1e-10)


@pytest.mark.parametrize("columns", [None, 3])
def test_blocks_of_a_sparse_matrix(columns, monkeypatch):
    monkeypatch.setattr(matrices, "_WORTH_THREADS", 0)
    monkeypatch.setattr(matrices, "_SPARSE_BLOCK", 7)
    rng = np.random.default_rng(0)
    A = sparse.csr_array(np.where(rng.random((50, 30)) < 0.1, rng.random((50, 30)), 0.0))
    V = rng.standard_normal(30 if columns is None else (30, columns))
    with BlockProducts(3) as multiply:
        np.testing.assert_array_equal(multiply(A, V), A @ V)
        np.testing.assert_array_equal(Operator(A, multiply) @ V, A @ V)


@pytest.mark.parametrize("form", ["dense", "sparse", "low rank"])
def test_counted_matrix_has_the_sums_of_repeated_points(form):
    rng = np.random.default_rng(1)
    Z = rng.uniform(size=(6, 2))
    copies = np.array([1, 2, 1, 3, 1, 2])
    place = np.repeat(range(6), copies)
    K = {"dense": Z @ Z.T, "sparse": sparse.csr_array(Z @ Z.T), "low rank": LowRank(Z)}[form]
    found = counted(K, copies.astype(float)) @ np.eye(6)
    whole = (Z @ Z.T)[place][:, place]
    for i in range(6):
        for j in range(6):
            expected = whole[np.ix_(place == i, place == j)].sum()
            assert found[i, j] == pytest.approx(expected, rel=1e-12)
    assert counted(K, np.ones(6)) is K
