import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import OneClassSVM

from kernelfit import KernelOneClass
from kernelfit.inspection import audit
from kernelfit.kernels.standard import RBF
from tests.reference.losses import LossProblem, cvxpy_dual


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(120, 2)), rng.uniform(0.2, 3.0, size=120)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_objective_is_that_of_libsvm(data, nu, kernel):
    X = data[0] + 3.0  # away from the origin, which the linear kernel separates from
    ours = KernelOneClass(nu, kernel=kernel, gamma=0.5, degree=2, tol=1e-9).fit(X)
    theirs = OneClassSVM(nu=nu, kernel=kernel, gamma=0.5, degree=2, tol=1e-12).fit(X)
    scale = nu * len(X)  # LIBSVM's coefficients sum to nu n
    alpha = theirs.dual_coef_[0] / scale
    K = ours.kernel_(theirs.support_vectors_)
    assert -ours.objective_ == pytest.approx(0.5 * alpha @ K @ alpha, rel=1e-6)
    assert ours.converged_ and ours.dual_coef_.sum() == pytest.approx(1.0)
    assert audit(ours, X).confirmed
    # The threshold need not be unique.
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X) / scale, rtol=1e-6)


def test_all_outside(data):
    """With nu = 1 every coefficient is at its bound."""
    X, weight = data
    model = KernelOneClass(1.0).fit(X, sample_weight=weight)
    np.testing.assert_allclose(model.dual_coef_[0], weight / weight.sum(), rtol=1e-12)
    assert audit(model, X, sample_weight=weight).confirmed


def test_bounds_meet_at_the_optimum_of_cvxpy(data):
    X, weight = data
    model = KernelOneClass(0.2, gamma=0.5).fit(X, sample_weight=weight)
    zero = np.zeros(len(X))
    upper = weight / (0.2 * weight.sum())
    dual = cvxpy_dual(LossProblem(RBF(0.5)(X), zero, zero, upper, 0.0, None, 1.0))
    assert model.objective_ == pytest.approx(dual, rel=1e-8)
    assert model.dual_gap_ <= 1e-6 * abs(model.objective_)
    assert audit(model, X, sample_weight=weight).confirmed


@pytest.mark.parametrize("nu", [0.05, 0.3])
def test_nu_bounds_the_share_outside(data, nu):
    X, weight = data
    model = KernelOneClass(nu, tol=1e-9).fit(X, sample_weight=weight)
    outside = weight[model.decision_function(X) < -1e-7].sum()
    assert outside <= nu * weight.sum() <= weight[model.support_].sum() + 1e-9


def test_weights_are_copies(data):
    X, _ = data
    counts = np.arange(120) % 3
    copies = np.repeat(np.arange(120), counts)
    weighted = KernelOneClass(0.2, gamma=0.5).fit(X, sample_weight=counts)
    repeated = KernelOneClass(0.2, gamma=0.5).fit(X[copies])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )


def test_outliers(data):
    X, _ = data
    model = KernelOneClass(0.1).fit(X)
    np.testing.assert_array_equal(model.predict([[0.0, 0.0], [9.0, 9.0]]), [1, -1])
    np.testing.assert_array_equal(
        model.predict(X), np.where(model.decision_function(X) >= 0.0, 1, -1)
    )
    np.testing.assert_allclose(
        model.score_samples(X) - model.offset_, model.decision_function(X), atol=1e-15
    )
    np.testing.assert_array_equal(KernelOneClass(0.1).fit_predict(X), model.predict(X))


def test_points_around_the_origin(data):
    """A linear kernel cannot separate them from it: the optimum is 0, and said to be found."""
    X, _ = data
    for kernel, points in (("linear", X), ("precomputed", X @ X.T)):
        model = KernelOneClass(0.5, kernel=kernel).fit(points)
        assert model.converged_ and abs(model.objective_) < 1e-12
        assert audit(model, points).confirmed


def test_the_boundary_is_inside(data):
    """Support vectors with free coefficients are on it."""
    X, _ = data
    model = KernelOneClass(0.2).fit(X)
    free = (model.dual_coef_[0] > 1e-9) & (model.dual_coef_[0] < 1.0 / 24 - 1e-9)
    assert free.any() and (model.predict(X[model.support_[free]]) == 1).all()


def test_kinds_of_data(data):
    X, _ = data
    dense = KernelOneClass(0.2, gamma=0.5).fit(X)
    values = dense.decision_function(X)
    K = RBF(0.5)(X)
    given = KernelOneClass(0.2, kernel="precomputed").fit(K)
    np.testing.assert_allclose(given.decision_function(K), values, atol=1e-8)
    on_csr = KernelOneClass(0.2, gamma=0.5).fit(sparse.csr_array(X))
    np.testing.assert_allclose(on_csr.decision_function(sparse.csr_array(X)), values, atol=1e-7)
    on_demand = KernelOneClass(0.2, gamma=0.5, cache_size=1e-3).fit(X)
    np.testing.assert_allclose(on_demand.decision_function(X), values, atol=1e-5)
    warm = KernelOneClass(0.2, gamma=0.5, warm_start=True).fit(X).fit(X)
    np.testing.assert_allclose(warm.decision_function(X), values, atol=1e-7)
    copy = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(copy.decision_function(X), values)
