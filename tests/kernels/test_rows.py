import pickle
from threading import get_ident

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from kernelfit.kernels.rows import KernelRows, spread_columns
from kernelfit.kernels.standard import RBF, Laplacian, Linear, Polynomial
from tests.reference import kernels as reference


def cosine(X, Y):
    """Serve as the kernel of a user who knows nothing of rows and diagonals."""
    X, Y = np.asarray(X), np.asarray(Y)
    return (X @ Y.T) / np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Y, axis=1))


KERNELS = [
    Linear(),
    Polynomial(degree=3, gamma=0.3, coef0=0.5),
    RBF(gamma=0.2),
    Laplacian(gamma=0.4),
    cosine,
]
TOLERANCE = {np.float64: 1e-12, np.float32: 1e-6}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def data(rng, d, n=30):
    """Return n points in d dimensions of unit size, whatever d is."""
    return rng.normal(size=(n, d)) * np.sqrt(5 / d)


def assert_close(actual, expected, dtype):
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE[dtype] * scale)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [5, 90])
def test_rows_and_blocks_match_the_gram(kernel, dtype, d, rng):
    X = data(rng, d)
    K = kernel(X, X)
    idx = np.array([7, 0, 29, 12, 3])
    source = KernelRows(kernel, X, dtype)
    assert source.n == 30
    assert source.rows(idx).dtype == source.block(idx).dtype == dtype
    assert_close(source.rows(idx), K[idx], dtype)
    assert_close(source.block(idx), K[np.ix_(idx, idx)], dtype)
    np.testing.assert_allclose(source.diagonal(), np.diagonal(K), rtol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS[:3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("to", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_equals_dense(kernel, dtype, to, rng):
    X = data(rng, 6)
    X *= X > 0
    X[4] = 0
    idx = np.array([4, 9, 2])
    dense, other = KernelRows(kernel, X, dtype), KernelRows(kernel, to(X), dtype)
    assert_close(other.rows(idx), dense.rows(idx), dtype)
    assert_close(other.block(idx), dense.block(idx), dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_chunks_are_joined(dtype, rng, monkeypatch):
    monkeypatch.setattr("kernelfit.kernels.rows.TILE_ROWS", 4)
    monkeypatch.setattr("kernelfit.kernels.rows.TILE_COLUMNS", 7)
    coef = rng.normal(size=20)
    for d, size in ((5, 2**20), (5, 0), (40, 2**20), (40, 0)):  # by differences and products
        monkeypatch.setattr("kernelfit.kernels.rows._MAX_COPY", size)
        X = data(rng, d)
        for kernel in KERNELS:
            source = KernelRows(kernel, X, dtype)
            assert_close(source.rows(np.arange(30)), kernel(X, X), dtype)
            expected = kernel(X, X[5:25]) @ coef
            error = 30 * np.finfo(dtype).eps * np.abs(kernel(X, X[5:25])).max()
            product = source.product(np.arange(5, 25), coef)
            np.testing.assert_allclose(product, expected, atol=20 * error, rtol=1e-12)


def test_threads_treat_overflow_as_the_caller_does(monkeypatch):
    monkeypatch.setattr("kernelfit.kernels.rows._THREAD_ENTRIES", 8)
    monkeypatch.setattr("kernelfit.kernels.rows.blas_threads", lambda: 2)
    large, threads = np.array([1e200]), set()

    def work(columns):
        threads.add(get_ident())
        np.square(large)

    with np.errstate(over="ignore"):
        spread_columns(work, 20, 20, 4)
    assert get_ident() not in threads
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        spread_columns(work, 20, 20, 4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_threads_change_no_bit(kernel, rng, monkeypatch):
    monkeypatch.setattr("kernelfit.kernels.rows.TILE_ROWS", 4)
    monkeypatch.setattr("kernelfit.kernels.rows.TILE_COLUMNS", 7)
    monkeypatch.setattr("kernelfit.kernels.rows._THREAD_ENTRIES", 8)
    source, idx = KernelRows(kernel, data(rng, 40)), np.array([3, 0, 29, 8, 15])
    found, threads = [], set()
    computed = source.evaluator.tiles
    source.evaluator.tiles = lambda *args: (threads.add(get_ident()), computed(*args))[1]
    for n_threads in (1, 2, 3):
        monkeypatch.setattr("kernelfit.kernels.rows.blas_threads", lambda n=n_threads: n)
        found.append((source.rows(idx), source.product(idx, np.arange(1.0, 6.0))))
    for rows, product in found[1:]:
        np.testing.assert_array_equal(rows, found[0][0])
        np.testing.assert_array_equal(product, found[0][1])
    assert (len(threads) > 1) == isinstance(kernel, Linear | Polynomial | RBF)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("kernel", "d", "to"),
    [
        (RBF(0.2), 5, np.asarray),
        (RBF(0.2), 11, np.asarray),
        (RBF(0.2), 5, sparse.csr_array),
        (Linear(), 5, sparse.csr_array),
        (Laplacian(0.2), 5, np.asarray),
    ],
)
def test_entries_are_the_same_to_the_last_bit(kernel, d, to, dtype, rng):
    X = data(rng, d, n=530)
    X[265:] = X[:265]
    source = KernelRows(kernel, to(X), dtype)
    K = source.rows(np.arange(530))
    np.testing.assert_array_equal(K, K.T)
    if to is np.asarray:
        np.testing.assert_array_equal(K[265:], K[:265])
    assert_close(K[265:], K[:265], dtype)
    idx = np.array([515, 3, 250])
    np.testing.assert_array_equal(source.rows(idx), K[idx])
    np.testing.assert_array_equal(source.block(idx), K[np.ix_(idx, idx)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [5, 90])
def test_rbf_survives_a_far_origin(dtype, d, rng):
    X = data(rng, d) + 1e6
    expected = reference.rbf(X[:4], X, gamma=0.2)
    rows = KernelRows(RBF(0.2), X, dtype).rows(np.arange(4))
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-6 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("d", [5, 90])
@pytest.mark.parametrize("distance", [0.0, 1.0, 10.0, 1e2, 1e4, 1e6])
def test_float32_rbf_between_distant_clusters(d, distance, rng):
    X = data(rng, d)
    X[15:] += distance
    expected = reference.rbf(X[:4], X, gamma=0.2)
    rows = KernelRows(RBF(0.2), X, np.float32).rows(np.arange(4))
    np.testing.assert_allclose(rows, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_pickling(kernel, rng):
    source = KernelRows(kernel, data(rng, 5), np.float32)
    copy = pickle.loads(pickle.dumps(source))
    idx = np.array([1, 8])
    np.testing.assert_array_equal(copy.rows(idx), source.rows(idx))


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("power", [-160, -100, -40, 40, 100, 160])
def test_single_precision_keeps_its_range(power, to, rng):
    """Numbers that float32 cannot hold are computed, and kept if need be, in float64."""
    unit = 2.0**power  # of the data; its square is beyond float32
    X = data(rng, 5)
    for plain, scaled, factor in (
        (Linear(), Linear(), unit**2),
        (Polynomial(2, 0.3, 0.0), Polynomial(2, 0.3, 0.0), unit**4),
        (Polynomial(3, 0.3, 0.5), Polynomial(3, 0.3 / unit**2, 0.5), 1.0),
        (RBF(0.2), RBF(0.2 / unit**2), 1.0),
    ):
        if not 1e-300 < factor < 1e300:
            continue
        rows = KernelRows(scaled, to(unit * X), np.float32).rows(np.arange(8))
        assert_close(rows / factor, plain(X, X)[:8], np.float32)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("outlier", [1e6, 1e12, 1e20, 1e100])
@pytest.mark.parametrize("d", [3, 40])
def test_an_outlier_changes_no_other_row(d, outlier, dtype, rng):
    """Its share of the mean would take the digits of all others."""
    X = rng.normal(size=(60, d))
    X[0, 0] = outlier
    source, idx = KernelRows(RBF(1.0 / d), X, dtype), np.arange(60)
    expected = np.exp(-cdist(X, X, "sqeuclidean") / d)
    tol = 2e-6 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(source.rows(idx), expected, atol=tol)
    np.testing.assert_allclose(source.block(idx), expected, atol=tol)
    np.testing.assert_allclose(
        source.product(idx, np.ones(60)), expected.sum(axis=1), atol=60 * tol
    )


@pytest.mark.parametrize("outlier", [1e6, 1e12, 1e100])
@pytest.mark.parametrize("d", [3, 40])
def test_an_outlier_changes_no_other_value_of_a_kernel(d, outlier, rng):
    X, Z = rng.normal(size=(90, d)), rng.normal(size=(20, d))
    X[7, 0] = outlier
    kernel = RBF(1.0 / d)
    np.testing.assert_allclose(kernel(X), np.exp(-cdist(X, X, "sqeuclidean") / d), atol=1e-12)
    np.testing.assert_allclose(kernel(Z, X), np.exp(-cdist(Z, X, "sqeuclidean") / d), atol=1e-12)
