import tracemalloc
from collections import OrderedDict

import numpy as np
import pytest
from scipy import sparse

from kernelfit.kernels.gram import DenseGram, RowGram, exact_decision
from kernelfit.kernels.standard import RBF

N = 40


@pytest.fixture
def K():
    A = np.random.default_rng(0).normal(size=(N, N))
    return A @ A.T


class Source:
    """Rows of K, with a record of what was asked for."""

    def __init__(self, K):
        self.K = K
        self.calls = []

    def __call__(self, idx):
        self.calls.append(list(idx))
        return self.K[idx]


def row_gram(K, n_rows=None, dtype=np.float64, **options):
    """Return a gram with room for n_rows rows and its source."""
    source = Source(K)
    room = (len(K) if n_rows is None else n_rows) * len(K) * np.dtype(dtype).itemsize
    return RowGram(source, np.diagonal(K), room, dtype, **options), source


def read_only(array):
    array = array.copy()
    array.setflags(write=False)
    return array


GRAMS = {
    "dense": DenseGram,
    "dense32": lambda K: DenseGram(K.astype(np.float32)),
    "fortran": lambda K: DenseGram(np.asfortranarray(K)),
    "strided": lambda K: DenseGram(np.repeat(np.repeat(K, 2, 0), 2, 1)[::2, ::2]),
    "read-only": lambda K: DenseGram(read_only(K)),
    "rows": lambda K: row_gram(K)[0],
    "rows32": lambda K: row_gram(K, dtype=np.float32)[0],
    "rows, little room": lambda K: row_gram(K, 7)[0],
    "rows, none": lambda K: row_gram(K, 0)[0],
    "rows and blocks": lambda K: row_gram(K, compute_block=lambda i: K[np.ix_(i, i)])[0],
}


@pytest.mark.parametrize("name", GRAMS)
def test_members_match_the_matrix(name, K):
    gram = GRAMS[name](K)
    assert gram.n == N
    assert gram.dtype == (np.float32 if "32" in name else np.float64)
    tight = {"rtol": 1e-13, "atol": 1e-11}
    tolerance = {"rtol": 1e-6, "atol": 1e-4} if "32" in name else tight
    # What is exact goes past a cache in float32, but K itself may be in float32.
    exact = tolerance if name == "dense32" else tight
    assert (gram.whole is None) == name.startswith("rows")
    if gram.whole is not None:
        assert gram.whole.dtype == gram.dtype and gram.whole.flags.c_contiguous
        np.testing.assert_allclose(gram.whole, K, **exact)
    assert gram.diagonal().dtype == np.float64
    np.testing.assert_allclose(gram.diagonal(), np.diagonal(K), **exact)
    rng = np.random.default_rng(1)
    for size in (0, 1, 2, 3, 4, 5, 9, N, 6):  # remainders of four, and more than there is room for
        idx = rng.permutation(N)[:size]
        rows = gram.rows(idx)
        assert rows.dtype == (np.float32 if name == "dense32" else np.float64)
        np.testing.assert_allclose(rows, K[idx], **exact)
        for asked, limits in ((False, tolerance), (True, exact)):
            block = gram.block(idx, exact=asked)
            assert block.dtype == np.float64 and block.flags.c_contiguous
            np.testing.assert_allclose(block, K[np.ix_(idx, idx)], **limits)
        coef = rng.normal(size=size)
        out = rng.normal(size=N)
        expected = out + coef @ K[idx]
        gram.accumulate(idx, coef, out)
        np.testing.assert_allclose(out, expected, **tolerance)
        beta = np.zeros(N)
        beta[idx] = coef
        np.testing.assert_allclose(exact_decision(gram, beta), K @ beta, **exact)


@pytest.mark.parametrize("name", GRAMS)
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("columns", [(), (1,), (3,)])
def test_products(name, power, columns, K):
    """One vector or several, some rows or all in order, entries as they are or squared."""
    gram = GRAMS[name](K)
    rng = np.random.default_rng(1)
    for idx in (np.arange(N), rng.permutation(N), rng.permutation(N)[:5], np.arange(0)):
        coef = rng.normal(size=(len(idx), *columns))
        expected = K[:, idx] ** power @ coef
        product = gram.product(idx, coef, power)
        assert product.dtype == np.float64 and product.shape == expected.shape
        sizes = np.abs(K[:, idx]) ** power @ np.abs(coef)
        rounding = 1e-6 if name == "dense32" else 1e-14
        assert np.all(np.abs(product - expected) <= rounding * sizes)


@pytest.mark.parametrize("name", GRAMS)
@pytest.mark.parametrize("exact", [False, True])
def test_accumulation_with_squares(name, exact, K):
    gram = GRAMS[name](K)
    rng = np.random.default_rng(1)
    for size in (0, 1, 2, 5, N):
        idx = rng.permutation(N)[:size]
        coef, squares = rng.normal(size=(2, size))
        out, out_squares = rng.normal(size=(2, N))
        expected, expected_squares = out + coef @ K[idx], out_squares + squares @ K[idx] ** 2
        gram.accumulate_squares(idx, coef, squares, out, out_squares, exact)
        rounded = "32" in name and not (exact and name == "rows32")
        rounding = 1e-6 if rounded else 1e-14
        sizes = 1.0 + np.abs(coef) @ np.abs(K[idx])
        assert np.all(np.abs(out - expected) <= rounding * sizes)
        sizes = 1.0 + np.abs(squares) @ K[idx] ** 2
        assert np.all(np.abs(out_squares - expected_squares) <= rounding * sizes)


@pytest.mark.parametrize("name", GRAMS)
def test_results_are_copies(name, K):
    gram = GRAMS[name](K)
    idx = np.array([3, 1])
    before = gram.rows(idx)
    gram.rows(idx)[:] = 0
    gram.block(idx)[:] = 0
    gram.diagonal()[:] = 0
    np.testing.assert_array_equal(gram.rows(idx), before)
    assert np.all(gram.diagonal() > 0)


def test_dense_matrix_is_not_copied(K):
    for A in (K, np.asfortranarray(K), K.astype(np.float32)):
        gram = DenseGram(A)
        A[0, 1] = A[1, 0] = 77
        assert gram.rows(np.array([0]))[0, 1] == 77 and np.shares_memory(gram.whole, A)


def test_other_types_of_numbers_become_float64():
    K = np.array([[2, 1], [1, 3]])
    gram = DenseGram(K)
    assert gram.dtype == gram.whole.dtype == np.float64
    np.testing.assert_array_equal(gram.whole, K)


def test_accumulation_of_float32_rows_is_in_float64(K):
    K32 = K.astype(np.float32)
    idx = np.arange(N)
    coef = np.random.default_rng(1).normal(size=N) * 1e6
    expected = coef @ K32.astype(np.float64)
    for gram in (DenseGram(K32), row_gram(K, dtype=np.float32)[0]):
        for _ in range(2):  # the first and the cached use see the same rounded rows
            out = np.zeros(N)
            gram.accumulate(idx, coef, out)
            np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-6)


def test_hits_are_not_computed_again(K):
    gram, source = row_gram(K, 10)
    gram.rows(np.array([1, 2, 3]))
    gram.accumulate(np.array([3, 4, 1, 5]), np.ones(4), np.zeros(N))
    gram.block(np.array([5, 4]))
    gram.rows(np.array([1, 2, 3, 4, 5]))
    assert source.calls == [[1, 2, 3], [4, 5]]


def test_least_recently_used_rows_give_way():
    n, n_rows = 30, 6
    K = np.arange(n * n, dtype=float).reshape(n, n)
    K += K.T
    gram, source = row_gram(K, n_rows)
    model = OrderedDict()
    rng = np.random.default_rng(0)
    for i in rng.integers(0, 12, size=400):
        expected = [] if i in model else [[i]]
        model[i] = None
        model.move_to_end(i)
        if len(model) > n_rows:
            model.popitem(last=False)
        source.calls.clear()
        np.testing.assert_array_equal(gram.rows(np.array([i])), K[[i]])
        assert source.calls == expected


def test_batches_stay_correct_while_rows_are_evicted(K):
    rng = np.random.default_rng(0)
    gram, source = row_gram(K, 9)
    for _ in range(300):
        idx = rng.permutation(N)[: rng.integers(0, 15)]
        source.calls.clear()
        np.testing.assert_array_equal(gram.rows(idx), K[idx])
        assert len(source.calls) <= 1
        if len(idx) <= 9:  # all of them fit, so all of them are there now
            source.calls.clear()
            gram.rows(idx[::-1])
            assert source.calls == []


def test_rows_in_use_are_not_evicted(K):
    gram, source = row_gram(K, 4)
    gram.rows(np.array([0, 1, 2, 3]))
    gram.rows(np.array([0, 1, 8, 9, 10]))  # only two slots may be taken
    source.calls.clear()
    gram.rows(np.array([0, 1, 8, 9]))
    assert source.calls == []


def test_many_rows_are_computed_in_chunks(K, monkeypatch):
    monkeypatch.setattr("kernelfit.kernels.gram._MAX_TEMPORARY", 8 * N * 7)
    monkeypatch.setattr("kernelfit.kernels.gram._MIN_STEP", 1)
    gram, source = row_gram(K, 12)
    idx = np.arange(20)
    np.testing.assert_array_equal(gram.rows(idx), K[idx])
    assert [len(call) for call in source.calls] == [7, 7, 6]
    np.testing.assert_allclose(exact_decision(gram, np.ones(N)), K.sum(axis=0), rtol=1e-12)


def test_more_rows_than_the_cache_keeps_leave_it_as_it_is(K):
    products = []

    def compute_product(idx, coef):
        products.append(list(idx))
        return K[:, idx] @ coef

    gram, source = row_gram(K, 5, compute_product=compute_product)
    out, coef = np.zeros(N), np.arange(1.0, 9.0)
    gram.accumulate(np.array([2, 7, 1]), coef[:3], out)  # kept
    source.calls.clear()
    idx = np.array([2, 3, 4, 5, 6, 7, 8, 9])
    gram.accumulate(idx, coef, out)
    assert products == [[3, 4, 5, 6, 8, 9]] and source.calls == []
    np.testing.assert_allclose(out, K[[2, 7, 1]].T @ coef[:3] + K[idx].T @ coef, rtol=1e-12)
    gram.accumulate(np.array([2, 7, 1, 3]), coef[:4], out)
    assert len(products) == 1 and [list(call) for call in source.calls] == [[3]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_is_bounded(dtype):
    n, room = 2000, 400_000
    row = np.ones((1, n), dtype=dtype)

    def compute_rows(idx):
        return np.broadcast_to(row, (len(idx), n))

    tracemalloc.start()
    gram, out = RowGram(compute_rows, np.ones(n), room, dtype), np.zeros(n)
    for start in range(0, n, 10):
        gram.rows(np.arange(start, start + 10))
        gram.accumulate(np.arange(start, start + 10), np.ones(10), out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    batch, bookkeeping = 10 * 8 * n, 100_000  # exact rows are in float64
    assert peak <= room + 3 * batch + bookkeeping  # computed, copied and returned


def test_exact_decision_bypasses_float32(K):
    rounded, exact = Source(K.astype(np.float32)), Source(K)
    gram = RowGram(rounded, np.diagonal(K), 1e6, exact_rows=exact)
    beta = np.zeros(N)
    beta[[3, 8]] = 1.0, -1.0
    gram.accumulate(np.arange(N), np.ones(N), np.zeros(N))
    assert rounded.calls == [list(range(N))] and exact.calls == []
    rounded.calls.clear()
    np.testing.assert_array_equal(exact_decision(gram, beta), K[3] - K[8])
    assert rounded.calls == [] and exact.calls == [[3, 8]]
    idx = np.array([3, 8, 1])
    np.testing.assert_array_equal(gram.block(idx, exact=True), K[np.ix_(idx, idx)])
    np.testing.assert_array_equal(gram.rows(idx), K[idx])
    assert rounded.calls == []


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_from_kernel(to, dtype):
    X = np.random.default_rng(0).normal(size=(N, 3))
    K = RBF(0.5)(X)
    gram = RowGram.from_kernel(RBF(0.5), to(X), 1e6, dtype)
    tolerance = 1e-6 if dtype == np.float32 else 1e-13
    idx = np.array([5, 0, 17])
    np.testing.assert_allclose(gram.rows(idx), K[idx], atol=1e-13)
    np.testing.assert_allclose(gram.block(idx), K[np.ix_(idx, idx)], atol=tolerance)
    np.testing.assert_allclose(gram.block(idx, exact=True), K[np.ix_(idx, idx)], atol=1e-13)
    np.testing.assert_array_equal(gram.diagonal(), np.ones(N))
    beta = np.random.default_rng(1).normal(size=N)
    np.testing.assert_allclose(exact_decision(gram, beta), K @ beta, atol=1e-12)
    out = np.zeros(N)
    gram.accumulate(np.arange(N), beta, out)
    np.testing.assert_allclose(out, K @ beta, atol=N * tolerance)


def test_rows_of_a_kernel_in_float64_are_computed_once():
    """They are exact already, so that exact rows come from the cache, too."""
    evaluated = []

    def kernel(X, Y):
        evaluated.append(len(X))
        return np.asarray(X) @ np.asarray(Y).T

    X = np.random.default_rng(0).normal(size=(N, 3))
    gram = RowGram.from_kernel(kernel, X, 1e6, np.float64)
    gram.rows(np.arange(N))
    evaluated.clear()
    np.testing.assert_allclose(exact_decision(gram, np.ones(N)), (X @ X.T).sum(axis=0), rtol=1e-12)
    assert evaluated == []


@pytest.mark.parametrize(
    "idx",
    [[], [3], [0, 1, 2], [2, 3, 7, 8, 9], [9, 8, 7], [5, 0, 1], [0, 2, 4, 6, 8, 10, 11]],
)
def test_blocks_of_runs_and_of_single_rows(K, idx):
    idx = np.array(idx, dtype=np.intp)
    block = DenseGram(K).block(idx)
    np.testing.assert_array_equal(block, K[np.ix_(idx, idx)])
    assert block.flags.c_contiguous and not np.shares_memory(block, K)
