import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from kernelfit import KernelSVC, KernelSVCCV, KernelSVR
from kernelfit.inspection import audit
from kernelfit.kernels.additive import Additive
from kernelfit.kernels.base import Product, Scaled, Sum, is_psd
from kernelfit.kernels.radial import RBF, Exponential
from kernelfit.kernels.standard import KERNEL_NAMES, Linear, Polynomial


def minus(X, Y):
    """A kernel of the user; not positive."""
    return -(X @ Y.T)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 4))


@pytest.fixture
def y(X):
    return (X[:, 0] * X[:, 1] > 0).astype(int)


def test_algebra_is_that_of_the_matrices(X):
    a, b, c = RBF(0.3), Linear(), Polynomial(2, 0.5, 1.0)
    Y = X[:5]
    for k, values in [
        (a + b, lambda P, Q: a(P, Q) + b(P, Q)),
        (a * b + 2.0 * c, lambda P, Q: a(P, Q) * b(P, Q) + 2.0 * c(P, Q)),
        ((a + b) * c * 3, lambda P, Q: 3 * (a(P, Q) + b(P, Q)) * c(P, Q)),
        (a + minus, lambda P, Q: a(P, Q) - P @ Q.T),
        (minus * a, lambda P, Q: -(P @ Q.T) * a(P, Q)),
        (minus + a, lambda P, Q: a(P, Q) - P @ Q.T),
    ]:
        np.testing.assert_allclose(k(X, Y), values(X, Y), rtol=1e-12)
        np.testing.assert_allclose(k(X), values(X, X), rtol=1e-12)
        np.testing.assert_allclose(k.diag(X), np.diagonal(values(X, X)), rtol=1e-12)
        copy = pickle.loads(pickle.dumps(k))
        assert copy == k and hash(copy) == hash(k)
    assert a + b + c == Sum((a, b, c)) == a + (b + c)
    assert a * b * c == Product((a, b, c))
    assert 2 * a == a * 2.0 == Scaled(2.0, a)
    for wrong in (lambda: a + 1.0, lambda: a * "b", lambda: "b" * a, lambda: None + a):
        with pytest.raises(TypeError):
            wrong()


def test_psd_is_claimed_where_it_follows(X):
    assert (RBF(0.3) + Linear() * Additive(1.0)).psd and (0.0 * RBF(0.3)).psd
    for k in (RBF(0.3) + minus, RBF(0.3) * minus, -1.0 * RBF(0.3), RBF(-0.3) + Linear()):
        assert not k.psd
    assert not is_psd(minus) and is_psd(Linear())


@pytest.mark.parametrize("k", [0.5 * RBF(0.3) + Linear() * Exponential(0.5), RBF(0.3)])
def test_machines_and_searches_take_composed_kernels(k, X, y):
    ours = KernelSVC(C=2.0, kernel=k).fit(X, y)
    theirs = SVC(C=2.0, kernel=k, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-4, atol=1e-6
    )
    assert audit(ours, X, y).confirmed
    by_callable = KernelSVCCV(Cs=[0.1, 1.0, 10.0], kernel=k, cv=3).fit(X, y)
    by_matrix = KernelSVCCV(Cs=[0.1, 1.0, 10.0], kernel="precomputed", cv=3).fit(k(X), y)
    for name in ("mean_test_score", "split0_test_score"):
        np.testing.assert_array_equal(by_callable.cv_results_[name], by_matrix.cv_results_[name])
    np.testing.assert_allclose(
        by_callable.decision_function(X), by_matrix.decision_function(k(X)), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("name", KERNEL_NAMES[4:])
def test_machines_and_searches_know_the_names(name, X, y):
    machine = KernelSVC(kernel=name).fit(X, y)
    assert machine.kernel_(X[:3]).shape == (3, 3)
    assert audit(machine, X, y).confirmed
    by_callable = KernelSVC(kernel=machine.kernel_).fit(X, y)
    np.testing.assert_allclose(machine.decision_function(X), by_callable.decision_function(X))
    scaled = KernelSVC(kernel=name).fit(7.0 * X, y)
    np.testing.assert_allclose(
        machine.decision_function(X), scaled.decision_function(7.0 * X), atol=1e-6
    )
    search = KernelSVCCV(Cs=[1.0], kernel=name, cv=2).fit(X, y)
    assert audit(search, X, y).confirmed
    params = search.best_params_
    again = KernelSVC(kernel=name, **params).fit(X, y)
    np.testing.assert_allclose(search.decision_function(X), again.decision_function(X), atol=1e-6)


def test_one_gamma_a_feature(X):
    gamma = np.array([1.0, 0.0, 0.3, 0.1])
    y = X[:, 0] ** 2
    machine = KernelSVR(gamma=gamma.tolist()).fit(X, y)
    np.testing.assert_array_equal(machine.gamma_, gamma)
    plain = KernelSVR(gamma=1.0).fit(X * np.sqrt(gamma), y)
    np.testing.assert_allclose(machine.predict(X), plain.predict(X * np.sqrt(gamma)), rtol=1e-6)
    assert audit(machine, X, y).confirmed
    on_demand = KernelSVR(gamma=gamma, cache_size=1e-3).fit(X, y)
    np.testing.assert_allclose(on_demand.predict(X), machine.predict(X), atol=1e-5)
    for wrong in ([1.0, 2.0], [1.0, -1.0, 1.0, 1.0], [0.0] * 4, [[1.0] * 4], [np.nan] * 4):
        with pytest.raises(ValueError, match="expected gamma to be a number or 4 numbers >= 0"):
            KernelSVR(gamma=wrong).fit(X, y)


@pytest.mark.parametrize("name", [name for name in KERNEL_NAMES if name not in ("linear", "poly")])
@pytest.mark.parametrize("rows_at_a_time", [False, True])
def test_widths_that_overflow_with_the_features_are_refused(name, rows_at_a_time, X, y):
    options = {"cache_size": 1e-3} if rows_at_a_time else {}
    machine = KernelSVC(kernel=name, gamma=[1e-308, 1e308, 1e-308, 1e-308], **options)
    message = "^expected gamma and features of moderate size, got overflow .* in feature 1$"
    with pytest.raises(ValueError, match=message):
        machine.fit(1e160 * X, y)
    fine = machine.set_params(gamma=[1e308, 1e-308, 0.0, 0.0]).fit(1e-300 * X, y)
    assert fine.status_ == "proved" and audit(fine, 1e-300 * X, y).confirmed
    far = X.copy()
    far[0, 0] = 1e160
    with pytest.raises(ValueError, match=r"got overflow of their product in feature 0"):
        fine.predict(far)
    sparse_kernel = RBF((1e308, 1.0))
    with pytest.raises(ValueError, match=r"got overflow of their product in feature 0"):
        sparse_kernel(sparse.csr_array([[1e160, 0.0], [0.0, 1.0]]))
