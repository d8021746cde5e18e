import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from kernelfit.kernels.additive import Additive
from kernelfit.kernels.distances import (
    euclidean_distances,
    manhattan_distances,
    products,
    squared_distances,
    sum_squared_differences,
)
from kernelfit.kernels.radial import RBF
from kernelfit.kernels.spline import Spline

# Both sides of the switch from differences to matrix products, and lengths that leave a remainder
# in every unrolled loop.
N_FEATURES = [1, 2, 3, 4, 7, 32, 33, 90]


def naive(X, Y, distance):
    return np.array([[distance(x - y) for y in Y] for x in X])


def square(difference):
    return np.sum(difference**2)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("d", N_FEATURES)
@pytest.mark.parametrize("to_X", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("to_Y", [np.asarray, sparse.csr_array])
def test_squared_distances_match_loops(rng, d, to_X, to_Y):
    X, Y = rng.normal(size=(5, d)), rng.normal(size=(6, d))
    D = squared_distances(to_X(X), to_Y(Y))
    assert type(D) is np.ndarray and D.dtype == np.float64
    np.testing.assert_allclose(D, naive(X, Y, square), rtol=1e-12)


@pytest.mark.parametrize("d", N_FEATURES)
@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array])
def test_squared_distances_of_one_set(rng, d, to):
    X = rng.normal(size=(9, d))
    X[5] = X[2]
    D = squared_distances(to(X))
    np.testing.assert_allclose(D, naive(X, X, square), rtol=1e-12, atol=1e-13 * d)
    assert np.all(np.diagonal(D) == 0)
    assert np.all(D >= 0)
    np.testing.assert_array_equal(D, D.T)


@pytest.mark.parametrize("d", N_FEATURES)
def test_squared_distances_survive_a_far_origin(rng, d):
    X, Y = rng.normal(size=(8, d)) + 1e6, rng.normal(size=(5, d)) + 1e6
    np.testing.assert_allclose(squared_distances(X, Y), naive(X, Y, square), rtol=1e-9)
    np.testing.assert_allclose(squared_distances(X), naive(X, X, square), rtol=1e-9)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 511, 512, 513, 1030])
def test_squared_distances_across_column_blocks(rng, m, n):
    X, Y = rng.normal(size=(m, 5)), rng.normal(size=(n, 5))
    np.testing.assert_allclose(squared_distances(X, Y), naive(X, Y, square), rtol=1e-12)


@pytest.mark.parametrize("shape", [(0, 3), (4, 0)])
def test_squared_distances_of_nothing(shape):
    np.testing.assert_array_equal(squared_distances(np.zeros(shape)), np.zeros((shape[0],) * 2))


def test_input_is_left_alone(rng):
    for d in (3, 80):
        X = rng.normal(size=(6, d))
        before = X.copy()
        X.setflags(write=False)
        squared_distances(X)
        squared_distances(np.asfortranarray(X), X)
        np.testing.assert_array_equal(X, before)


def test_other_types_are_converted():
    expected = [[0.0, 2.0], [2.0, 0.0]]
    np.testing.assert_array_equal(squared_distances([[0, 1], [1, 0]]), expected)
    X = np.array([[0, 1], [1, 0]])
    np.testing.assert_array_equal(squared_distances(X.astype(np.float32)), expected)
    np.testing.assert_array_equal(squared_distances(sparse.coo_array(X)), expected)
    np.testing.assert_array_equal(products(sparse.csc_matrix(X)), np.eye(2))


@pytest.mark.parametrize("to_X", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("to_Y", [np.asarray, sparse.csr_array])
def test_products_match_loops(rng, to_X, to_Y):
    X, Y = rng.normal(size=(5, 4)), rng.normal(size=(6, 4))
    expected = np.array([[sum(x * y) for y in Y] for x in X])
    P = products(to_X(X), to_Y(Y))
    assert type(P) is np.ndarray
    np.testing.assert_allclose(P, expected, rtol=1e-12)


def test_manhattan_distances_match_loops(rng):
    X, Y = rng.normal(size=(5, 4)), rng.normal(size=(6, 4))
    expected = naive(X, Y, lambda difference: np.sum(np.abs(difference)))
    np.testing.assert_allclose(manhattan_distances(X, Y), expected, rtol=1e-12)
    np.testing.assert_array_equal(manhattan_distances(X), manhattan_distances(X, X))


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array])
def test_squared_distances_where_squares_overflow(to):
    """With more than 32 features, or sparse, they are found from inner products."""
    X = np.random.default_rng(0).normal(size=(6, 70))
    huge = squared_distances(to(X * 1e160))
    np.testing.assert_array_equal(huge, np.where(np.eye(6), 0.0, np.inf))
    moderate = squared_distances(to(X))
    near = squared_distances(to(X * 1e152), to(X[:2] * 1e152))
    np.testing.assert_allclose(near, moderate[:, :2] * 1e304, rtol=1e-12, atol=1e291)
    sums = squared_distances(to(np.full((40, 70), 1e307) * np.sign(X[0])))
    np.testing.assert_array_equal(sums, 0.0)
    for scale in (1e153, 1e307):  # of which squares and sums are near the largest number
        huge = squared_distances(to(np.vstack([X * scale] * 7)))
        np.testing.assert_array_equal(huge == 0.0, np.tile(np.eye(6), (7, 7)))


def test_equal_sparse_points_are_at_distance_zero():
    """Norms and inner products are summed in two orders, of which a huge gamma makes much."""
    X = sparse.random(30, 200, density=0.3, random_state=0, format="csr")
    D = squared_distances(X, X.copy())
    assert not D.diagonal().any()
    assert np.all(D[~np.eye(30, dtype=bool)] > 0.0)
    np.testing.assert_array_equal(RBF(1e92)(X, X.copy()).diagonal(), 1.0)


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("n", [1, 15, 16, 17, 300])
def test_halves_of_a_symmetric_matrix_are_joined(rng, d, n, monkeypatch):
    monkeypatch.setattr("kernelfit.kernels.distances._STRIP_BYTES", 0)
    monkeypatch.setattr("kernelfit.kernels.distances._STRIP_ROWS", 40)
    X = rng.normal(size=(n, d))
    K = RBF(0.1)(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K.diagonal(), 1.0)
    np.testing.assert_allclose(K, RBF(0.1)(X, X.copy()), rtol=1e-12)
    np.testing.assert_allclose(squared_distances(X), squared_distances(X, X.copy()), atol=1e-12)


@pytest.mark.parametrize("d", [2, 4, 90])
def test_different_numbers_of_features_are_refused(rng, d):
    X, Y = rng.normal(size=(3, d)), rng.normal(size=(5, d + 1))
    with pytest.raises(ValueError):
        squared_distances(X, Y)
    with pytest.raises(ValueError):
        squared_distances(Y, X)
    with pytest.raises(ValueError, match="features"):
        euclidean_distances(X, Y)


def test_outputs_of_another_shape_are_refused(rng):
    A, XT = rng.normal(size=(3, 4)), rng.normal(size=(4, 5))
    with pytest.raises(ValueError, match="shape"):
        sum_squared_differences(A, XT, np.empty((3, 6)))


@pytest.mark.parametrize("kernel", [Additive(0.7), Spline(2.0)])
@pytest.mark.parametrize("n", [1, 37, 400])
def test_half_of_a_symmetric_matrix_is_made(kernel, n):
    X = np.random.default_rng(n).random((n, 3))
    assert_allclose(kernel(X), kernel(X, X.copy()), rtol=1e-13)
