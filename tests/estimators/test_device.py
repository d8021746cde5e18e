"""Machines on a device: the same models as on the CPU, audited, and clear words otherwise."""

import pickle
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelfit import (
    DANKClassifier,
    DANKClassifierCV,
    DANKRegressor,
    DANKRegressorCV,
    KernelMetric,
    KernelOneClass,
    KernelQuantileRegressor,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeRegressor,
    KernelRidgeRegressorCV,
    KernelSVC,
    KernelSVCCV,
    KernelSVR,
    KernelSVRCV,
    TKLClassifier,
    TKLClassifierCV,
    TKLRegressor,
    TKLRegressorCV,
)
from kernelfit.inspection import audit
from kernelfit.kernels.standard import RBF
from kernelfit.utils.torch_device import load_triton
from tests.reference.devices import devices

MACHINES = [
    DANKClassifier,
    DANKClassifierCV,
    DANKRegressor,
    DANKRegressorCV,
    KernelMetric,
    KernelSVC,
    KernelSVR,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    TKLClassifier,
    TKLClassifierCV,
    TKLRegressor,
    TKLRegressorCV,
]


def regression(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 3))
    return X, np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n) + 7.0


def confirmed(model, *data):
    found = audit(model, *data)
    return all(part.confirmed for part in (found if isinstance(found, list) else [found]))


@pytest.mark.parametrize("make", MACHINES)
def test_without_torch_one_sentence(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    X, y = load_iris(return_X_y=True)
    model = make(device="cuda")
    with pytest.raises(ImportError, match='device="cuda" needs torch: pip install'):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("make", MACHINES)
def test_without_a_gpu_one_sentence(make, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(RuntimeError, match='device="cuda" needs a GPU that torch can use'):
        make(device="cuda").fit(X, y)


def test_without_triton_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(ImportError, match='device="cuda" needs triton'):
        load_triton()


@pytest.mark.parametrize("name", ["gpu", "cpu:x", "mps", "meta"])
def test_a_device_that_is_none(name):
    pytest.importorskip("torch")
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match='expected device None, "cpu" or "cuda", got'):
        KernelSVC(device=name).fit(X, y)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("C", [1e-6, 1e-4])
def test_costs_at_which_no_variable_is_free(C, device):
    X, y = load_breast_cancer(return_X_y=True)
    there, here = (KernelSVC(C=C, device=d).fit(scale(X), y) for d in (device, None))
    assert there.converged_ and confirmed(there, scale(X), y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-6)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize(
    "options", [{}, {"multi_class": "ovr", "kernel": "poly", "coef0": 1.0}, {"kernel": "additive"}]
)
def test_classifier_is_that_of_the_cpu(options, device):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    options = {"C": 2.0, "class_weight": "balanced", "tol": 1e-7, **options}
    there = KernelSVC(device=device, n_jobs=2, **options).fit(X, y, weight)
    here = KernelSVC(**options).fit(X, y, weight)
    assert np.all(there.converged_)
    slack = there.dual_gap_ + here.dual_gap_
    assert np.all(np.abs(there.objective_ - here.objective_) <= slack + 1e-10 * here.objective_)
    assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-2)
    assert_array_equal(there.predict(X), here.predict(X))
    assert confirmed(there, X, y, weight)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("loss", ["tube", "squared_tube"])
def test_regressor_is_that_of_the_cpu(loss, device):
    X, y = regression()
    options = {"C": 5.0, "epsilon": 0.05, "loss": loss, "tol": 1e-8, "gamma": [0.5, 0.3, 0.1]}
    there = KernelSVR(device=device, **options).fit(X, y)
    here = KernelSVR(**options).fit(X, y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-7)
    assert_allclose(there.predict(X), here.predict(X), atol=1e-3)
    assert confirmed(there, X, y)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("eta", ["auto", "0.001*auto"])
@pytest.mark.parametrize("rule", ["neutral", "nearest"])
def test_dank_is_that_of_the_cpu(rule, eta, device):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    options = {"C": 2.0, "eta": eta, "out_of_sample": rule, "tol": 1e-7}
    there = DANKClassifier(device=device, **options).fit(X, y, weight)
    here = DANKClassifier(**options).fit(X, y, weight)
    assert_allclose(there.eta_, here.eta_, rtol=1e-4)
    # The plain machines, whose norm eta is in units of, are equal to their gaps alone.
    assert_allclose(there.objective_, here.objective_, rtol=1e-5)
    assert_array_equal(there.predict(X), here.predict(X))
    assert confirmed(there, X, y, weight)
    there = pickle.loads(pickle.dumps(there)).set_params(device=None)
    assert_array_equal(there.predict(X), here.predict(X))


@pytest.mark.parametrize("device", devices())
def test_dank_regression_is_that_of_the_cpu(device):
    X, y = regression()
    options = {"C": 5.0, "epsilon": 0.05, "eta": 10.0, "gamma": 0.3, "tol": 1e-8}
    there = DANKRegressor(device=device, **options).fit(X, y)
    here = DANKRegressor(**options).fit(X, y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-7)
    assert_allclose(there.predict(X), here.predict(X), atol=1e-3)
    assert confirmed(there, X, y)


@pytest.mark.parametrize(
    "options", [{"tau": 0.01}, {"solver": "newton"}, {"partition": 2}, {"loss": "squared_hinge"}]
)
def test_what_dank_leaves_to_the_processor(options):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(
        ValueError, match=f"expected {next(iter(options))}=.* for device='cpu', got"
    ):
        DANKClassifier(device="cpu", **options).fit(X, y)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("make", [KernelSVC, KernelSVR])
def test_a_weight_is_a_number_of_rows(make, device):
    X, y = regression(100)
    y = y > 7.0 if make is KernelSVC else y
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    options = {"C": 3.0, "gamma": 0.5, "tol": 1e-9, "device": device}
    weighted = make(**options).fit(X, y, weight)
    repeated = make(**options).fit(X[rows], y[rows])
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-8)
    assert_allclose(weighted._decision_values(X[:20]), repeated._decision_values(X[:20]), atol=1e-3)


@pytest.mark.parametrize("device", devices())
def test_a_given_matrix_and_a_kernel_object(device):
    X, y = regression()
    kernel = 0.5 * RBF(0.5) + RBF(0.05)
    options = {"C": 5.0, "tol": 1e-7, "device": device}
    by_object = KernelSVR(kernel=kernel, **options).fit(X, y)
    by_matrix = KernelSVR(kernel="precomputed", **options).fit(kernel(X), y)
    assert_allclose(by_object.objective_, by_matrix.objective_, rtol=1e-6)
    assert_allclose(by_object.predict(X), by_matrix.predict(kernel(X)), atol=1e-3)
    assert confirmed(by_object, X, y)
    assert confirmed(by_matrix, kernel(X), y)


@pytest.mark.parametrize("device", devices())
def test_warm_start_and_pickle(device):
    X, y = regression()
    model = KernelSVR(C=5.0, device=device, warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_ == 1
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    assert clone(model).device == device
    # What was trained there predicts here.
    assert_allclose(again.set_params(device=None).predict(X), model.predict(X), atol=1e-9)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_is_that_of_the_cpu(fit_intercept, device):
    X, y = regression()
    Y = np.column_stack([y, -2.0 * y + X[:, 0]])
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    options = {"C": 20.0, "gamma": 0.4, "fit_intercept": fit_intercept}
    there = KernelRidgeRegressor(device=device, **options).fit(X, Y, weight)
    here = KernelRidgeRegressor(**options).fit(X, Y, weight)
    assert_allclose(there.dual_coef_, here.dual_coef_, atol=1e-7 * np.abs(here.dual_coef_).max())
    assert_allclose(there.intercept_, here.intercept_, atol=1e-9)
    assert_allclose(there.predict(X), here.predict(X), atol=1e-8)
    assert there.converged_
    assert confirmed(there, X, Y, weight)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("make", [KernelRidgeRegressorCV, KernelRidgeClassifierCV])
def test_ridge_search_is_that_of_the_cpu(make, cv, device):
    X, y = regression()
    y = np.digitize(y, [6.5, 7.5]) if make is KernelRidgeClassifierCV else y
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    options = {"gammas": [0.1, 1.0], "Cs": [0.1, 10.0, 1e4], "cv": cv}
    there = make(device=device, **options).fit(X, y, sample_weight=weight)
    here = make(**options).fit(X, y, sample_weight=weight)
    assert there.best_params_ == here.best_params_
    scores = "mean_test_score"
    assert_allclose(there.cv_results_[scores], here.cv_results_[scores], rtol=1e-7)
    assert_allclose(there.best_estimator_.dual_gap_, 0.0, atol=1e-9)
    assert_array_equal(np.round(there.predict(X), 6), np.round(here.predict(X), 6))


@pytest.mark.parametrize("device", devices())
def test_ridge_classifier_is_that_of_the_cpu(device):
    X, y = load_iris(return_X_y=True)
    there = KernelRidgeClassifier(C=3.0, device=device).fit(X, y)
    here = KernelRidgeClassifier(C=3.0).fit(X, y)
    assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("device", devices())
def test_ridge_of_an_indefinite_matrix(device):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 40))
    y = rng.standard_normal(40)
    models = [KernelRidgeRegressor(kernel="precomputed", device=place) for place in (device, None)]
    for model in models:
        with pytest.warns(UserWarning, match="indefinite"):
            model.fit(A + A.T, y)
    assert_allclose(models[0].dual_coef_, models[1].dual_coef_, atol=1e-8)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_search_is_that_of_the_cpu(kernel, device):
    X, y = load_iris(return_X_y=True)
    X = X if kernel == "rbf" else RBF(0.3)(X)
    gammas = [0.1, 1.0] if kernel == "rbf" else None
    options = {"Cs": [0.5, 5.0], "gammas": gammas, "kernel": kernel, "cv": 3, "search_tol": 1e-7}
    there = KernelSVCCV(device=device, n_jobs=2, **options).fit(X, y)
    here = KernelSVCCV(**options).fit(X, y)
    assert there.best_params_ == here.best_params_
    assert there.best_estimator_.device == device
    assert_allclose(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
    assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("device", devices())
def test_search_in_regression_is_that_of_the_cpu(device):
    X, y = regression(90)
    options = {"Cs": [1.0, 10.0], "gammas": [0.2, 1.0], "epsilons": [0.1, 0.3], "cv": 3}
    there = KernelSVRCV(device=device, search_tol=1e-7, **options).fit(X, y)
    here = KernelSVRCV(search_tol=1e-7, **options).fit(X, y)
    assert there.best_params_ == here.best_params_
    assert_allclose(
        there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], atol=1e-5
    )
    assert_allclose(there.predict(X), here.predict(X), atol=1e-3)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_dank_search_is_that_of_the_cpu(kernel, device):
    X, y = load_iris(return_X_y=True)
    X = X if kernel == "rbf" else RBF(0.3)(X)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    gammas = [0.1, 1.0] if kernel == "rbf" else None
    options = {"Cs": [0.5, 5.0], "gammas": gammas, "kernel": kernel, "cv": 3, "search_tol": 1e-7}
    there = DANKClassifierCV(device=device, n_jobs=2, **options).fit(X, y, weight)
    here = DANKClassifierCV(**options).fit(X, y, weight)
    assert there.best_params_ == here.best_params_
    assert there.best_estimator_.device == device
    assert_allclose(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
    assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-3)
    assert confirmed(there.best_estimator_, X, y, weight)


@pytest.mark.parametrize("device", devices())
def test_dank_search_in_regression_is_that_of_the_cpu(device):
    X, y = regression(90)
    options = {"Cs": [1.0, 10.0], "gammas": [0.2, 1.0], "epsilons": [0.1], "cv": 3}
    options |= {"etas": [np.inf, 0.1, 0.001], "search_tol": 1e-7}
    there = DANKRegressorCV(device=device, **options).fit(X, y)
    here = DANKRegressorCV(**options).fit(X, y)
    assert there.best_params_ == here.best_params_
    scores = "mean_test_score"
    assert_allclose(there.cv_results_[scores], here.cv_results_[scores], atol=1e-5)
    assert_allclose(there.predict(X), here.predict(X), atol=1e-3)


@pytest.mark.parametrize("options", [{"tau": 0.01}, {"loss": "squared_hinge"}])
def test_what_a_dank_search_leaves_to_the_processor(options):
    X, y = load_iris(return_X_y=True)
    message = f"expected {next(iter(options))}=.* for device='cpu', got"
    with pytest.raises(ValueError, match=message):
        DANKClassifierCV(device="cpu", Cs=[1.0], gammas=[1.0], **options).fit(X, y)


@pytest.mark.parametrize("device", devices())
def test_tessellated_search_is_that_of_the_cpu(device):
    X, y = load_iris(return_X_y=True)
    options = {"Cs": [0.5, 5.0], "deltas": [0.5], "cv": 2, "search_tol": 1e-5, "tol": 1e-5}
    options["kernel_sharing"] = "joint"
    there = TKLClassifierCV(device=device, n_jobs=2, **options).fit(X, y)
    here = TKLClassifierCV(**options).fit(X, y)
    assert there.best_params_ == here.best_params_
    assert there.best_estimator_.device == device
    assert_allclose(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
    assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-2)
    assert confirmed(there.best_estimator_, X, y)


@pytest.mark.parametrize("device", devices())
def test_tessellated_search_in_regression_is_that_of_the_cpu(device):
    X, y = regression(90)
    options = {"Cs": [1.0, 10.0], "deltas": [0.5], "cv": 3, "search_tol": 1e-6, "tol": 1e-6}
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    there = TKLRegressorCV(device=device, **options).fit(X, y, weight)
    here = TKLRegressorCV(**options).fit(X, y, weight)
    assert there.best_params_ == here.best_params_
    scores = "mean_test_score"
    assert_allclose(there.cv_results_[scores], here.cv_results_[scores], atol=1e-3)
    assert_allclose(there.predict(X), here.predict(X), atol=1e-2)
    with pytest.raises(ValueError, match=f"expected basis='x' for device='{device}', got 'xz'"):
        TKLRegressorCV(device=device, basis="xz").fit(X, y)


@pytest.mark.parametrize("device", devices())
def test_quantiles_are_those_of_the_cpu(device):
    X, y = regression()
    options = {"quantile": [0.1, 0.8], "C": 2.0, "tol": 1e-8}
    there = KernelQuantileRegressor(device=device, **options).fit(X, y)
    here = KernelQuantileRegressor(**options).fit(X, y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-7)
    assert_allclose(there.predict(X), here.predict(X), atol=1e-3)
    assert confirmed(there, X, y)


@pytest.mark.parametrize("device", devices())
def test_one_class_is_that_of_the_cpu(device):
    X, _ = regression()
    there = KernelOneClass(nu=0.2, tol=1e-8, device=device).fit(X)
    here = KernelOneClass(nu=0.2, tol=1e-8).fit(X)
    assert_allclose(there.objective_, here.objective_, rtol=1e-7)
    assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-3)
    assert confirmed(there, X, None)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("options", [{}, {"degree": 2, "solver": "frank_wolfe", "tol": 1e-2}])
def test_tessellated_regressor_is_that_of_the_cpu(options, device):
    X, y = regression()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    options = {"C": 5.0, "tol": 1e-5, **options}
    there = TKLRegressor(device=device, **options).fit(X, y, weight)
    here = TKLRegressor(**options).fit(X, y, weight)
    assert there.converged_
    assert abs(there.objective_ - here.objective_) <= there.dual_gap_ + here.dual_gap_
    assert_allclose(there.predict(X), here.predict(X), atol=0.05 if "solver" in options else 1e-2)
    assert confirmed(there, X, y, weight)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("sharing", ["joint", "separate"])
def test_tessellated_classifier_is_that_of_the_cpu(sharing, device):
    X, y = load_iris(return_X_y=True)
    options = {"C": 2.0, "tol": 1e-5, "kernel_sharing": sharing}
    there = TKLClassifier(device=device, n_jobs=2, **options).fit(X, y)
    here = TKLClassifier(**options).fit(X, y)
    assert np.all(there.converged_)
    slack = there.dual_gap_ + here.dual_gap_
    assert np.all(np.abs(there.objective_ - here.objective_) <= slack)
    assert_array_equal(there.predict(X), here.predict(X))
    assert confirmed(there, X, y)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("kernel", ["rbf", "exponential"])
@pytest.mark.parametrize(
    "options", [{}, {"method": "agop"}, {"method": "agop", "diagonal": False}], ids=str
)
def test_metric_is_that_of_the_cpu(options, kernel, device):
    X, y = regression()
    X = np.column_stack([X, np.ones(len(X)), np.random.default_rng(1).standard_normal(len(X))])
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    for targets in (y, y > 7.0):
        there, here = (
            KernelMetric(kernel=kernel, device=place, random_state=0, **options)
            .fit(X, targets, weight)
            for place in (device, None)
        )  # fmt: skip
        assert_allclose(there.error_, here.error_, rtol=1e-5)
        assert_allclose(there.feature_importances_, here.feature_importances_, atol=1e-4)
        # Squared distances: the sign and the order of the rows of a full map are open.
        M, N = (one.components_.T @ one.components_ for one in (there, here))
        assert_allclose(M, N, atol=1e-4 * np.abs(N).max())
    again = pickle.loads(pickle.dumps(there)).set_params(device=None)
    assert_array_equal(again.transform(X), there.transform(X))


@pytest.mark.parametrize("method", ["nw", "logdet"])
def test_metrics_that_no_device_learns(method):
    X, y = load_iris(return_X_y=True)
    message = f"expected method='loo' or 'agop' for device='cpu', got '{method}'"
    with pytest.raises(ValueError, match=message):
        KernelMetric(method, device="cpu").fit(X, y)


def test_tessellations_that_no_device_has():
    pytest.importorskip("torch")
    X, y = regression(30)
    with pytest.raises(ValueError, match="expected basis='x' for device='cpu', got 'xz'"):
        TKLRegressor(device="cpu", basis="xz").fit(X, y)


def test_memory_that_is_not_there():
    pytest.importorskip("torch")
    X, y = regression()
    with pytest.raises(MemoryError, match="GiB of memory on cpu"):
        KernelSVR(device="cpu", cache_size=0.01).fit(X, y)
    with pytest.raises(MemoryError, match="GiB of memory on cpu"):
        KernelRidgeRegressor(device="cpu", cache_size=0.01).fit(X, y)


def test_what_no_device_takes():
    pytest.importorskip("torch")
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="expected dense X for device='cpu', got a sparse matrix"):
        KernelSVC(device="cpu").fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="expected a standard kernel"):
        KernelSVC(device="cpu", kernel=lambda A, B: A @ B.T).fit(X, y)


if find_spec("torch"):

    @parametrize_with_checks(
        [
            KernelSVC(device="cpu"),
            KernelSVR(device="cpu"),
            DANKClassifier(device="cpu"),
            KernelMetric(device="cpu"),
            KernelRidgeRegressor(device="cpu"),
            TKLRegressor(device="cpu"),
        ]
    )
    def test_estimator_checks(estimator, check):
        check(estimator)
