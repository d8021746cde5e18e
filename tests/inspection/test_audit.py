"""Every certificate can be recomputed from public attributes, and the audit can say no."""

import copy

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import kernelfit
from kernelfit.inspection import audit

CLASSIFIERS = [
    kernelfit.KernelSVC(10.0),
    kernelfit.KernelSVC(multi_class="ovr", class_weight="balanced", fit_intercept=False),
    kernelfit.KernelSVC(kernel="poly", cache_size=0.01),
    kernelfit.KernelSVC(kernel="linear", C=0.1),
    kernelfit.DANKClassifier(10.0, tau=0.0),
    kernelfit.DANKClassifier(10.0, tau=0.1, out_of_sample="knn"),
    kernelfit.DANKClassifier(10.0, tau=0.01, partition=3, random_state=0),
    kernelfit.KNPLClassifier(10.0),
    kernelfit.TKLClassifier(10.0),
    kernelfit.TKLClassifier(10.0, delta=0.0, solver="hybrid", tol=1e-2),
    kernelfit.TKLClassifier(10.0, solver="frank_wolfe", tol=2e-2),
    kernelfit.TKLClassifier(kernel_sharing="joint"),
    kernelfit.GPKClassifier(degree=2),
]
REGRESSORS = [
    kernelfit.KernelSVR(),
    kernelfit.KernelSVR(epsilon=0.0, C=10.0),
    kernelfit.DANKRegressor(tau=0.01, out_of_sample="smooth"),
    kernelfit.KNPLRegressor(eta="0.1*auto"),
    kernelfit.TKLRegressor(10.0),
    kernelfit.TKLRegressor(basis="xz", tol=1e-2),
    kernelfit.TKLRegressor(10.0, solver="apd", tol=1e-2),
    kernelfit.GPKRegressor(),
]


def audits(model, *data):
    found = audit(model, *data)
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_classifiers_are_confirmed(model, weighted):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float) if weighted else None
    model = copy.deepcopy(model).fit(X, y, sample_weight=weight)
    for found in audits(model, X, y, weight):
        assert found.confirmed, found
        assert found.lower == pytest.approx(found.claimed_objective, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_regressors_are_confirmed(model, weighted):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:120, :4], (y[:120] - 150.0) / 75.0
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    model = copy.deepcopy(model).fit(X, y, sample_weight=weight)
    for found in audits(model, X, y, weight):
        assert found.confirmed, found
        assert found.lower == pytest.approx(found.claimed_objective, rel=1e-9)


@pytest.mark.parametrize("combine", ["concatenate", "nearest"])
def test_blocks_that_are_no_optimum_are_confirmed_as_such(combine):
    X, y = load_diabetes(return_X_y=True)
    model = kernelfit.DANKRegressor(100.0, partition=4, combine=combine, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    found = audit(model, X, y)
    assert found.confirmed
    assert found.gap > 0.01 * found.lower


def test_given_kernels_and_searches_are_confirmed():
    X, y = load_iris(return_X_y=True)
    K = X @ X.T
    given = kernelfit.KernelSVC(kernel="precomputed").fit(K, y)
    assert all(a.confirmed for a in audits(given, K, y))
    search = kernelfit.KernelSVCCV([0.1, 1.0], [1.0, 10.0]).fit(X, y)
    assert all(a.confirmed for a in audits(search, X, y))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_false_certificates_are_refused(model):
    X, y = make_classification(80, 4, n_informative=3, n_redundant=0, random_state=0)
    model = copy.deepcopy(model).fit(X, y)
    assert audit(model, X, y).confirmed

    better = copy.deepcopy(model)  # claims a smaller gap than it has
    better.dual_coef_ = 0.9 * model.dual_coef_
    better.witness_coef_ = better.dual_coef_
    assert not audit(better, X, y).confirmed

    outside = copy.deepcopy(model)  # larger coefficients than the costs allow
    outside.dual_coef_ = 3.0 * model.dual_coef_
    assert not audit(outside, X, y).confirmed

    unbalanced = copy.deepcopy(model)  # a sum that is not zero
    unbalanced.dual_coef_ = np.maximum(model.dual_coef_, 0.0)
    assert not audit(unbalanced, X, y).confirmed


def test_decision_values_of_a_bank_may_cancel_out():
    X = np.random.default_rng(0).standard_normal((200, 3))
    y = X[:, 0] * X[:, 1] > 0
    K = rbf_kernel(X, gamma=0.01).astype(np.float32)
    model = kernelfit.MKLClassifier(C=1e6, kernels="precomputed").fit(K, y)
    assert audit(model, K, y).confirmed


def test_bad_input_is_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="expected a kernel machine"):
        audit(object(), X, y)
    model = kernelfit.KernelSVC().fit(X, y)
    with pytest.raises(ValueError, match="expected the training data of shape"):
        audit(model, X[:10], y[:10])


def test_logdet_metric_is_audited():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.ones(150)])
    metric = kernelfit.KernelMetric("logdet", random_state=0).fit(X, y)
    found = audit(metric, X, y)
    assert found.confirmed
    assert found.upper == pytest.approx(metric.objective_)
    metric.multipliers_ = metric.multipliers_ * 0.9
    assert not audit(metric, X, y).confirmed
    with pytest.raises(ValueError, match="has a certificate"):
        audit(kernelfit.KernelMetric().fit(X, y), X, y)


@pytest.mark.parametrize(
    "model",
    [
        kernelfit.KernelSVC(),
        kernelfit.DANKClassifier(tau=0.1),
        kernelfit.KNPLClassifier(),
        kernelfit.TKLClassifier(),
        kernelfit.TKLClassifier(solver="frank_wolfe", tol=1e-2),
        kernelfit.TKLClassifier(solver="apd", tol=1e-2),
        kernelfit.GPKClassifier(),
        kernelfit.MKLClassifier(),
    ],
    ids=repr,
)
def test_a_start_outside_the_box_is_moved_into_it(model):
    """A solution for a larger cost does not fit into the box of a smaller one."""
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    model = copy.deepcopy(model).set_params(C=10.0, warm_start=True).fit(X, y)
    model.set_params(C=0.1).fit(X, y)
    assert audit(model, X, y).confirmed


def test_what_cannot_be_the_training_targets_is_refused():
    X, y = load_iris(return_X_y=True)
    model = kernelfit.KernelSVC().fit(X, y)
    for wrong, got in ((y[:10], "got 10"), (None, "got None"), (y + 5, "among .*, got 5")):
        with pytest.raises(ValueError, match=got):
            audit(model, X, wrong)
    with pytest.raises(ValueError, match="got nan or infinity"):
        audit(kernelfit.KernelSVR().fit(X, y), X, np.full(len(y), np.nan))
