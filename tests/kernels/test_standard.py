import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from kernelfit.kernels.standard import (
    KERNEL_NAMES,
    RBF,
    Laplacian,
    Linear,
    Polynomial,
    kernel_from_name,
    scale_gamma,
)
from tests.reference import kernels as reference

# kernel, the same by loops, the same by scikit-learn
CASES = [
    pytest.param(Linear(), reference.linear, ("linear", {}), id="linear"),
    pytest.param(
        Polynomial(degree=3, gamma=0.3, coef0=0.5),
        lambda X, Y: reference.polynomial(X, Y, degree=3, gamma=0.3, coef0=0.5),
        ("polynomial", {"degree": 3, "gamma": 0.3, "coef0": 0.5}),
        id="polynomial",
    ),
    pytest.param(
        RBF(gamma=0.7),
        lambda X, Y: reference.rbf(X, Y, gamma=0.7),
        ("rbf", {"gamma": 0.7}),
        id="rbf",
    ),
    pytest.param(
        Laplacian(gamma=0.4),
        lambda X, Y: reference.laplacian(X, Y, gamma=0.4),
        ("laplacian", {"gamma": 0.4}),
        id="laplacian",
    ),
]
KERNELS = [Linear(), Polynomial(degree=3, gamma=0.3, coef0=0.5), RBF(gamma=0.7), Laplacian(0.4)]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(12, 5))


@pytest.fixture
def Y():
    return np.random.default_rng(1).normal(size=(7, 5))


@pytest.mark.parametrize(("kernel", "naive", "_"), CASES)
def test_gram_matches_loops(kernel, naive, _, X, Y):
    np.testing.assert_allclose(kernel(X, Y), naive(X, Y), rtol=1e-12)
    np.testing.assert_allclose(kernel(X), naive(X, X), rtol=1e-12)


@pytest.mark.parametrize(("kernel", "_", "sklearns"), CASES)
def test_gram_matches_sklearn(kernel, _, sklearns, X, Y):
    name, parameters = sklearns
    expected = pairwise_kernels(X, Y, metric=name, **parameters)
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gram_is_symmetric_psd_with_the_stated_diagonal(kernel, X):
    assert kernel.psd
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.linalg.norm(K)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(K), rtol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS[:3])
@pytest.mark.parametrize("to", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_equals_dense(kernel, to, X, Y):
    X, Y = X * (X > 0), Y * (Y > 0)
    np.testing.assert_allclose(kernel(to(X), to(Y)), kernel(X, Y), rtol=1e-12)
    np.testing.assert_allclose(kernel(to(X)), kernel(X), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(to(X)), kernel.diag(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_pickle_compare_and_serve_svc(kernel, X):
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy == kernel and hash(copy) == hash(kernel)
    y = np.arange(len(X)) % 2
    by_callable = SVC(kernel=kernel).fit(X, y).decision_function(X)
    by_gram = SVC(kernel="precomputed").fit(kernel(X), y).decision_function(kernel(X))
    np.testing.assert_allclose(by_callable, by_gram)


@pytest.mark.parametrize(
    "kernel",
    [
        Polynomial(degree=2.5, gamma=1.0, coef0=1.0),
        Polynomial(degree=3, gamma=-1.0, coef0=1.0),
        Polynomial(degree=2, gamma=1.0, coef0=-0.5),
        Polynomial(degree=-1, gamma=1.0, coef0=1.0),
        RBF(gamma=-0.1),
        Laplacian(gamma=-0.1),
    ],
)
def test_psd_is_not_claimed(kernel):
    assert not kernel.psd


def test_one_distance_matrix_serves_every_gamma(X, Y):
    D = np.array([[np.sum((x - y) ** 2) for y in Y] for x in X])
    before = D.copy()
    for gamma in (0.1, 1.0, 10.0):
        K = RBF(gamma).from_geometry(D)
        np.testing.assert_allclose(K, RBF(gamma)(X, Y), rtol=1e-12)
        np.testing.assert_array_equal(D, before)
    in_place = RBF(gamma).from_geometry(D, out=D)
    assert in_place is D
    np.testing.assert_array_equal(D, K)
    single = RBF(gamma).from_geometry(before.astype(np.float32))
    assert single.dtype == np.float32


def test_rbf_survives_a_far_origin(X):
    far = X + 1e6
    np.testing.assert_allclose(RBF(0.7)(far), reference.rbf(far, far, gamma=0.7), atol=1e-12)


def test_kernel_from_name():
    parameters = {"gamma": 0.5, "degree": 2, "coef0": 1.0}
    assert kernel_from_name("linear", **parameters) == Linear()
    assert kernel_from_name("poly", **parameters) == Polynomial(degree=2, gamma=0.5, coef0=1.0)
    assert kernel_from_name("polynomial", **parameters) == kernel_from_name("poly", **parameters)
    assert kernel_from_name("rbf", **parameters) == RBF(0.5)
    assert kernel_from_name("laplacian", **parameters) == Laplacian(0.5)
    with pytest.raises(ValueError, match=r"expected kernel 'linear'.*got 'sigmoid'"):
        kernel_from_name("sigmoid", **parameters)


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_scale_gamma_matches_sklearn(to, X):
    X = X * (X > 0)
    expected = 1 / (X.shape[1] * X.var())
    assert scale_gamma(to(X)) == pytest.approx(expected, rel=1e-12)
    assert scale_gamma(to(X + 1e4)) == pytest.approx(expected, rel=1e-8)


@given(
    seed=st.integers(0, 2**32 - 1),
    counts=st.lists(st.integers(0, 3), min_size=2, max_size=8).filter(any),
    in_csr=st.booleans(),
)
def test_scale_gamma_weights_count_rows(seed, counts, in_csr):
    X = np.random.default_rng(seed).normal(size=(len(counts), 3)).round(1)
    to = sparse.csr_array if in_csr else np.asarray
    weighted = scale_gamma(to(X), np.array(counts, dtype=float))
    repeated = scale_gamma(to(np.repeat(X, counts, axis=0)))
    assert weighted == pytest.approx(repeated, rel=1e-10)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e8])
def test_scale_gamma_of_constant_data(value):
    X = np.full((7, 3), value)
    assert scale_gamma(X) == 1.0
    assert scale_gamma(X, np.linspace(0.1, 1.7, 7)) == 1.0
    outlier = np.vstack([X, np.ones((1, 3))])
    assert scale_gamma(outlier, np.r_[np.linspace(0.1, 1.7, 7), 0.0]) == 1.0


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array])
def test_scale_gamma_at_any_scale(to):
    X = np.random.default_rng(0).normal(size=(9, 3))
    weight = np.r_[np.linspace(0.1, 1.7, 8), 0.0]
    expected = scale_gamma(to(X), weight)
    for power in (-500, 500):
        factor = 2.0**power
        assert scale_gamma(to(X * factor), weight) == expected / factor / factor
        assert scale_gamma(to(X), weight * factor) == expected
    X[-1] *= 1e200  # of weight zero
    assert scale_gamma(to(X), weight) == expected
    # Constant data would give 1.
    assert scale_gamma(to(X * 1e-200), weight) == np.inf
    assert scale_gamma(to(X[:8] * 1e200), weight[:8]) == 0.0


def test_huge_numbers_give_limits_without_warning():
    X = np.array([[1e160], [-2e160], [1e160]])
    np.testing.assert_array_equal(RBF(gamma=1e-200)(X), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(Linear()(X)[0], [np.inf, -np.inf, np.inf])
    np.testing.assert_array_equal(Polynomial(2, 1e-100, 0.0)(X / 1e10)[0], [np.inf] * 3)


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("name", sorted(set(KERNEL_NAMES) - {"additive"}))
@pytest.mark.parametrize("widths", [False, True])
def test_prepared_points_give_the_same_values(name, d, widths):
    if widths and name == "linear":
        pytest.skip("has no gamma")
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, d)), rng.normal(size=(7, d))
    gamma = rng.uniform(0.01, 0.1, d) if widths else 0.05
    kernel = kernel_from_name(name, gamma=None if name == "linear" else gamma)
    np.testing.assert_allclose(kernel.against(Y)(X), kernel(X, Y), rtol=1e-13)
