import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier

from kernelfit import KernelRidgeClassifier, KernelRidgeRegressor, path
from kernelfit.inspection import audit
from kernelfit.kernels.standard import RBF
from tests.reference import ridge as reference
from tests.reference.losses import cvxpy_dual, cvxpy_primal, loss_problem


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 3.0, rng.uniform(0.2, 3.0, size=40)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_regression_solves_the_linear_system(data, fit_intercept):
    X, y, weight = data
    C = 2.5
    model = KernelRidgeRegressor(C, gamma=0.3, fit_intercept=fit_intercept)
    model.fit(X, y, sample_weight=weight)
    coef, intercept = reference.solve(
        RBF(0.3)(X), y[:, None], 0.5 / C, weight, fit_intercept=fit_intercept
    )
    full = np.zeros(40)
    full[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(full, coef[:, 0], atol=1e-10)
    np.testing.assert_allclose(model.intercept_, intercept, atol=1e-10)
    assert model.status_ == "proved" and model.converged_
    assert audit(model, X, y, weight).confirmed


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_bounds_meet_at_the_optimum_of_cvxpy(data, fit_intercept):
    X, y, weight = data
    K = RBF(0.3)(X)
    model = KernelRidgeRegressor(1.7, gamma=0.3, fit_intercept=fit_intercept)
    model.fit(X, y, sample_weight=weight)
    dual = cvxpy_dual(loss_problem("squared", K, y, 1.7 * weight, fit_intercept))
    primal = cvxpy_primal("squared", K, y, 1.7 * weight, fit_intercept)
    assert model.objective_ == pytest.approx(dual, rel=1e-8)
    assert model.objective_ + model.dual_gap_ == pytest.approx(primal, rel=1e-8)


def test_regression_agrees_with_sklearn(data):
    X, y, weight = data
    ours = KernelRidgeRegressor(2.0, gamma=0.3, fit_intercept=False).fit(X, y, weight)
    theirs = KernelRidge(alpha=0.25, kernel="rbf", gamma=0.3).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_classification_agrees_with_linear_ridge():
    X, y = load_iris(return_X_y=True)
    for n_classes in (2, 3):
        rows = y < n_classes
        ours = KernelRidgeClassifier(0.7, kernel="linear").fit(X[rows], y[rows])
        theirs = RidgeClassifier(alpha=0.5 / 0.7).fit(X[rows], y[rows])
        values = theirs.decision_function(X[rows])
        np.testing.assert_allclose(ours.decision_function(X[rows]), values, atol=1e-9)
        np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), atol=1e-9)
        np.testing.assert_array_equal(ours.predict(X[rows]), theirs.predict(X[rows]))
        assert audit(ours, X[rows], y[rows]).confirmed


def test_several_targets(data):
    X, y, weight = data
    Y = np.column_stack([y, X[:, 0] ** 2])
    joint = KernelRidgeRegressor().fit(X, Y, weight)
    assert joint.predict(X).shape == (40, 2) and joint.intercept_.shape == (2,)
    total = 0.0
    for k in range(2):
        alone = KernelRidgeRegressor().fit(X, Y[:, k], weight)
        np.testing.assert_allclose(joint.predict(X)[:, k], alone.predict(X), rtol=1e-10)
        total += alone.objective_
    assert joint.objective_ == pytest.approx(total, rel=1e-10)
    assert audit(joint, X, Y, weight).confirmed
    one_column = KernelRidgeRegressor().fit(X, Y[:, :1], weight)
    assert one_column.predict(X).shape == (40, 1)


@pytest.mark.parametrize("cls", [KernelRidgeRegressor, KernelRidgeClassifier])
def test_weights_are_copies_and_zero_weights_absent(data, cls):
    X, y, _ = data
    y = y if cls is KernelRidgeRegressor else (y > 3.0).astype(int)
    counts = np.arange(40) % 3
    copies = np.repeat(np.arange(40), counts)
    weighted = cls(gamma=0.3).fit(X, y, sample_weight=counts)
    repeated = cls(gamma=0.3).fit(X[copies], y[copies])
    function = "predict" if cls is KernelRidgeRegressor else "decision_function"
    expected = getattr(repeated, function)(X)
    np.testing.assert_allclose(getattr(weighted, function)(X), expected, atol=1e-10)


def test_class_weights(data):
    X, y, _ = data
    labels = np.where(y > 3.3, "b", "a")
    by_class = KernelRidgeClassifier(class_weight={"a": 1.0, "b": 3.0}).fit(X, labels)
    weight = np.where(labels == "b", 3.0, 1.0)
    by_row = KernelRidgeClassifier(gamma=by_class.gamma_).fit(X, labels, sample_weight=weight)
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X))
    assert audit(by_class, X, labels).confirmed


def test_path_is_the_machine_of_each_cost(data):
    X, y, weight = data
    Cs = [10.0, 0.1, 1000.0]
    machines = path(KernelRidgeRegressor(), X, y, Cs, sample_weight=weight)
    for C, machine in zip(Cs, machines, strict=True):
        alone = KernelRidgeRegressor(C).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(machine.predict(X), alone.predict(X), rtol=1e-8)
        assert audit(machine, X, y, weight).confirmed


def test_kinds_of_data(data):
    X, y, _ = data
    dense = KernelRidgeRegressor(gamma=0.3).fit(X, y)
    values = dense.predict(X)
    on_csr = KernelRidgeRegressor(gamma=0.3).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(on_csr.predict(sparse.csr_array(X)), values, rtol=1e-8)
    K = RBF(0.3)(X)
    given = KernelRidgeRegressor(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(given.predict(K), values, rtol=1e-8)
    single = KernelRidgeRegressor(kernel="precomputed").fit(K.astype(np.float32), y)
    np.testing.assert_allclose(single.predict(K), values, rtol=1e-4)
    by_callable = KernelRidgeRegressor(kernel=RBF(0.3)).fit(X, y)
    np.testing.assert_allclose(by_callable.predict(X), values, rtol=1e-8)
    copy = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(copy.predict(X), values)
    assert clone(dense).get_params() == dense.get_params()


def test_huge_and_tiny_costs_keep_their_proof(data):
    X, y, weight = data
    for C in (1e-8, 1e8):
        model = KernelRidgeRegressor(C).fit(X, y, sample_weight=weight)
        assert model.converged_ and audit(model, X, y, weight).confirmed
    constant = KernelRidgeRegressor().fit(X, np.full(40, 5.0))
    np.testing.assert_allclose(constant.predict(X), 5.0)
    assert constant.converged_ and constant.objective_ == pytest.approx(0.0, abs=1e-12)


def test_complaints(data):
    X, y, _ = data
    with pytest.raises(ValueError, match=r"expected cache_size >= 0\.0122, the memory"):
        KernelRidgeRegressor(cache_size=1e-3).fit(X, y)
    K = np.random.default_rng(0).normal(size=(40, 40))
    with pytest.warns(UserWarning, match="indefinite kernel matrix"):
        model = KernelRidgeRegressor(kernel="precomputed").fit(K + K.T, y)
    assert np.isnan(model.dual_gap_) and model.status_ == "stationary"
    with pytest.raises(ValueError, match="at least two classes"):
        KernelRidgeClassifier().fit(X, np.zeros(40))


def test_the_advice_names_no_parameter_that_is_not_there():
    rng = np.random.default_rng(0)
    model = KernelRidgeRegressor(C=1e10, kernel="poly")
    with pytest.warns(ConvergenceWarning, match=r"scale the data$"):
        model.fit(1e8 + rng.standard_normal((30, 2)), rng.standard_normal(30))
