import pickle

import numpy as np
import pytest
from scipy import sparse

from kernelfit.kernels.additive import Additive
from kernelfit.kernels.gram import RowGram
from kernelfit.kernels.radial import RBF, Exponential, Laplacian, Matern, RationalQuadratic
from kernelfit.kernels.standard import (
    KERNEL_NAMES,
    SPARSE_NAMES,
    Polynomial,
    gamma_of_name,
    kernel_from_name,
)
from tests.reference import kernels as reference

CASES = [
    pytest.param(Exponential(0.6), lambda X, Y: reference.exponential(X, Y, 0.6), id="exp"),
    pytest.param(Matern(0.6), lambda X, Y: reference.matern(X, Y, 0.6, 1.5), id="matern32"),
    pytest.param(Matern(0.6, 2.5), lambda X, Y: reference.matern(X, Y, 0.6, 2.5), id="matern52"),
    pytest.param(
        RationalQuadratic(0.6, 1.7),
        lambda X, Y: reference.rational_quadratic(X, Y, 0.6, 1.7),
        id="rational",
    ),
    *(
        pytest.param(
            Additive(0.6, order),
            lambda X, Y, order=order: reference.additive(X, Y, 0.6, order),
            id=f"additive{order}",
        )
        for order in (1, 2, 3, 9)
    ),
]
KERNELS = [case.values[0] for case in CASES]
ONE_WIDTH = [
    RBF(0.7), Laplacian(0.7), Exponential(0.7), Matern(0.7), Matern(0.7, 2.5),
    RationalQuadratic(0.7, 2.0), Additive(0.7), Polynomial(3, 0.7, 0.5),
]  # fmt: skip


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(13, 5))


@pytest.fixture
def Y():
    return np.random.default_rng(1).normal(size=(7, 5))


@pytest.mark.parametrize(("kernel", "naive"), CASES)
def test_gram_matches_loops(kernel, naive, X, Y):
    np.testing.assert_allclose(kernel(X, Y), naive(X, Y), rtol=1e-12)
    np.testing.assert_allclose(kernel(X), naive(X, X), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gram_is_symmetric_psd_with_the_stated_diagonal(kernel, X):
    assert kernel.psd
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.linalg.norm(K)
    np.testing.assert_array_equal(kernel.diag(X), np.diagonal(K))
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy == kernel and hash(copy) == hash(kernel)


@pytest.mark.parametrize("kernel", ONE_WIDTH)
def test_one_width_a_feature(kernel, X, Y):
    """Equal widths are one width, and features of width 0 do not count."""
    one = type(kernel)(**{**vars(kernel), "gamma": (0.7,) * 5})
    np.testing.assert_allclose(one(X, Y), kernel(X, Y), rtol=1e-12)
    some = np.array([0.7, 0.0, 0.2, 0.0, 1.5])
    several = type(kernel)(**{**vars(kernel), "gamma": some})
    assert several.gamma == tuple(some) and hash(several) == hash(
        pickle.loads(pickle.dumps(several))
    )
    stretched = X * some**kernel.power, Y * some**kernel.power
    plain = type(kernel)(**{**vars(kernel), "gamma": 1.0})
    np.testing.assert_allclose(several(X, Y), plain(*stretched), rtol=1e-12)
    np.testing.assert_allclose(several(X), several(X, X), rtol=1e-12)
    np.testing.assert_allclose(several.diag(X), np.diagonal(several(X)), rtol=1e-12)
    assert several.psd
    assert not type(kernel)(**{**vars(kernel), "gamma": (0.7, -0.1, 1.0, 1.0, 1.0)}).psd
    with pytest.raises(ValueError, match="expected 5 features, as gamma has, got 3"):
        several(X[:, :3])
    rows = RowGram.from_kernel(several, X, 1e6, np.float64)
    np.testing.assert_allclose(rows.rows(np.arange(4)), several(X)[:4], rtol=1e-12)


def test_the_same_formula_with_widths(X, Y):
    gamma = np.array([0.7, 0.1, 0.2, 0.4, 1.5])
    exponential, matern = Exponential(gamma)(X, Y), Matern(gamma, 2.5)(X, Y)
    np.testing.assert_allclose(exponential, reference.exponential(X, Y, gamma), rtol=1e-12)
    np.testing.assert_allclose(matern, reference.matern(X, Y, gamma, 2.5), rtol=1e-12)
    np.testing.assert_allclose(Additive(gamma)(X, Y), reference.additive(X, Y, gamma), rtol=1e-12)


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_names_and_sparse_data(name, X, Y):
    kernel = kernel_from_name(name, gamma=0.7, degree=2, coef0=1.0)
    assert kernel.takes_sparse == (name in SPARSE_NAMES)
    if kernel.takes_sparse:
        X, Y = X * (X > 0), Y * (Y > 0)
        csr = sparse.csr_array
        np.testing.assert_allclose(kernel(csr(X), csr(Y)), kernel(X, Y), rtol=1e-7)


def test_gamma_of_name_gives_equal_spread(X):
    """Whatever the unit of the features, each kernel with its own gamma is the same."""
    for name in ("rbf", "exponential", "matern32", "matern52", "rational_quadratic", "additive"):
        kernels = [
            kernel_from_name(name, gamma=gamma_of_name(name, 0.3 / unit**2, 5))(X * unit)
            for unit in (1.0, 100.0)
        ]
        np.testing.assert_allclose(*kernels, rtol=1e-10)
    assert gamma_of_name("additive", 0.2, 5) == 1.0
    assert gamma_of_name("laplacian", 0.2, 5) == 0.2


def test_limits(X, Y):
    np.testing.assert_allclose(RationalQuadratic(0.3, 1e8)(X, Y), RBF(0.3)(X, Y), rtol=1e-5)
    np.testing.assert_allclose(Additive(0.3)(X[:, :1], Y[:, :1]), RBF(0.3)(X[:, :1], Y[:, :1]))
    far = np.array([[1e200], [-1e200]])
    for kernel in (Exponential(1.0), Matern(1.0), Matern(1.0, 2.5), RationalQuadratic(1.0)):
        np.testing.assert_array_equal(kernel(far), np.eye(2))
    narrow = (Matern(1e308), Matern(1e308, 2.5), RationalQuadratic(1e308, 0.1), RBF(1e308))
    for kernel in (*narrow, Laplacian(1e308), Exponential(1e308)):
        np.testing.assert_array_equal(kernel(np.array([[0.0], [1.0]])).round(9), np.eye(2))


def test_exponential_of_close_points_with_many_features():
    """A difference of 1e-7 is seen among 200 features of size 1."""
    X = np.random.default_rng(0).normal(size=(1, 200))
    Y = X.copy()
    Y[0, 0] += 1e-7
    assert Exponential(1.0)(X, Y)[0, 0] == pytest.approx(1.0 - 1e-7, abs=1e-12)
    assert Exponential(1.0)(X, X.copy())[0, 0] == 1.0


def test_complaints():
    with pytest.raises(ValueError, match=r"expected order 1\.5 or 2\.5, got 0\.5"):
        Matern(1.0, 0.5)
    with pytest.raises(ValueError, match="expected alpha > 0, got 0"):
        RationalQuadratic(1.0, 0)
    with pytest.raises(ValueError, match="expected order to be an integer from 1 on, got 0"):
        Additive(1.0, 0)
