"""DANK and KNPL as estimators: training, new points, partition, input."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from kernelfit import (
    DANKClassifier,
    DANKRegressor,
    KernelSVC,
    KernelSVR,
    KNPLClassifier,
    KNPLRegressor,
)
from kernelfit.families.hadamard.neighbours import knn_shares, reciprocal_neighbours, smooth_shares

X, y = make_moons(80, noise=0.3, random_state=0)
X_new = make_moons(40, noise=0.3, random_state=1)[0]
target = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1]
CLASSIFIERS = [DANKClassifier, KNPLClassifier]
REGRESSORS = [DANKRegressor, KNPLRegressor]


def full_beta(model):
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    return beta


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("tau", [0.0, 0.05])
def test_nearest_point_of_a_training_point_is_itself(estimator, tau):
    """On the training points the rules by neighbours give the machine with the learned kernel."""
    options = {"tau": tau} if "DANK" in estimator.__name__ else {}
    labels = y if estimator in CLASSIFIERS else target
    model = estimator(C=10.0, gamma=2.0, out_of_sample="nearest", eta="0.1*auto", **options)
    model.fit(X, labels)
    K = rbf_kernel(X, gamma=2.0)
    f = (model.adaptive_matrix_ * K) @ full_beta(model) + model.intercept_[0]
    values = model.decision_function(X) if estimator in CLASSIFIERS else model.predict(X)
    assert np.allclose(values, f, atol=1e-10)
    values = np.abs(np.linalg.eigvalsh(model.adaptive_matrix_))
    least, most = ((values > c * 1e-10 * values.max()).sum() for c in (1.01, 0.99))
    assert least <= model.rank_ <= most
    # The machine of the learned kernel, trained by itself, is the same.
    plain = KernelSVC if estimator in CLASSIFIERS else KernelSVR
    again = plain(C=10.0, kernel="precomputed").fit(model.adaptive_matrix_ * K, labels)
    again_f = (model.adaptive_matrix_ * K) @ full_beta(again) + again.intercept_[0]
    assert np.allclose(f, again_f, atol=1e-4)


@pytest.mark.parametrize("rule", ["knn", "nearest", "reciprocal", "smooth"])
def test_rules(rule):
    options = {"gamma": 2.0, "eta": "0.1*auto", "tau": 0.01, "n_neighbors": 3}
    model = DANKClassifier(C=10.0, out_of_sample=rule, **options).fit(X, y)
    D = ((X_new[:, None] - X) ** 2).sum(axis=2)
    K = rbf_kernel(X_new, X, gamma=2.0)
    shares = {
        "knn": knn_shares(D, np.ones(len(X)), 3),
        "nearest": knn_shares(D, np.ones(len(X)), 1),
        "reciprocal": reciprocal_neighbours(D),
        "smooth": smooth_shares(K, np.ones(len(X))),
    }[rule]
    F = shares @ model.adaptive_matrix_
    expected = (F * K) @ full_beta(model) + model.intercept_[0]
    assert np.allclose(model.decision_function(X_new), expected, atol=1e-10)


def test_neutral_is_the_kernel_with_its_own_intercept():
    model = DANKClassifier(C=10.0, gamma=2.0, eta="0.1*auto", tau=0.01).fit(X, y)
    K = (1.0 - 0.01 / 160.0) * rbf_kernel(X, gamma=2.0)
    f = K @ full_beta(model)
    assert np.allclose(model.decision_function(X) - f, model.intercept_[0], atol=1e-12)
    sign = np.where(y == 1, 1.0, -1.0)

    def loss(b):
        return np.maximum(0.0, 1.0 - sign * (f + b)).sum()

    best = min(loss(b) for b in sign - f)
    assert loss(model.intercept_[0]) <= best + 1e-9


@pytest.mark.parametrize("rule", ["neutral", "knn", "nearest", "smooth", "hyper"])
@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS)
def test_learned_kernel_predicts(estimator, rule):
    """The kernel itself, with the support vectors as points like others, gives the predictions."""
    labels = y if estimator in CLASSIFIERS else target
    options = {"tau": 0.01} if "DANK" in estimator.__name__ else {}
    model = estimator(C=10.0, eta="0.1*auto", out_of_sample=rule, **options).fit(X, labels)
    kernel = pickle.loads(pickle.dumps(model.kernel_))
    values = kernel(X_new, model.support_vectors_) @ model.dual_coef_[0] + model.intercept_
    method = "decision_function" if estimator in CLASSIFIERS else "predict"
    assert np.allclose(values, getattr(model, method)(X_new), atol=1e-10)
    if rule == "neutral":
        factor = 1.0 - 0.01 / 160.0 if options else 1.0
        expected = factor * rbf_kernel(X_new, X, gamma=model.gamma_)
        assert np.allclose(kernel(X_new, X), expected, atol=1e-12)
    elif rule != "hyper":  # which fits the learned matrix on training points as well
        theta = kernel(X, X) / rbf_kernel(X, gamma=model.gamma_)
        assert np.allclose(theta, model.adaptive_matrix_, atol=1e-7)
    machine = (SVC if estimator in CLASSIFIERS else SVR)(C=10.0, kernel=kernel)
    plain = (KernelSVC if estimator in CLASSIFIERS else KernelSVR)(C=10.0, kernel=kernel)
    by_libsvm = getattr(machine.set_params(tol=1e-6).fit(X, labels), method)(X_new)
    assert np.allclose(by_libsvm, getattr(plain.fit(X, labels), method)(X_new), atol=2e-3)


@pytest.mark.filterwarnings("ignore:.*not an optimum of the whole")
def test_learned_kernels_as_initial_kernels():
    """A kernel that has been learned is one like any other."""
    learned = DANKClassifier(C=10.0, eta="0.1*auto", out_of_sample="knn").fit(X, y).kernel_
    K, K_new = learned(X), learned(X_new, X)
    blocks = {"partition": 2, "combine": "nearest", "random_state": 0}
    for options in ({}, {"tau": 0.01}, {"tau": 0.01, "out_of_sample": "nearest"}, blocks):
        model = DANKClassifier(kernel=learned, **options).fit(X, y)
        values = model.kernel_(X_new, X) @ full_beta(model) + model.intercept_
        assert np.allclose(model.decision_function(X_new), values, atol=1e-10)
        if "out_of_sample" not in options and options is not blocks:
            given = DANKClassifier(kernel="precomputed", **options).fit(K, y)
            assert np.allclose(given.decision_function(K_new), values, atol=1e-6)


def test_several_learned_kernels():
    data, labels = load_iris(return_X_y=True)
    for rule in ("neutral", "nearest"):
        model = DANKClassifier(multi_class="ovr", tau=0.01, out_of_sample=rule).fit(data, labels)
        assert not hasattr(model, "kernel_") and len(model.kernels_) == 3
        for k, kernel in enumerate(model.kernels_):
            values = kernel(data, model.support_vectors_) @ model.dual_coef_[k]
            expected = model.decision_function(data)[:, k] - model.intercept_[k]
            assert np.allclose(values, expected, atol=1e-10)
    model = DANKClassifier(tau=0.0).fit(data, labels)
    assert not hasattr(model, "kernels_")
    assert np.allclose(model.kernel_(data), rbf_kernel(data, gamma=model.gamma_), atol=1e-12)


@pytest.mark.parametrize("rule", ["neutral", "knn", "nearest", "smooth", "hyper"])
def test_rows_are_predicted_independently(rule):
    model = DANKClassifier(out_of_sample=rule, tau=0.01).fit(X, y)
    one_by_one = np.concatenate([model.decision_function(row[None]) for row in X_new])
    assert np.allclose(model.decision_function(X_new), one_by_one, atol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "plain", "labels"),
    [(DANKClassifier, KernelSVC, y), (DANKRegressor, KernelSVR, target)],
)
def test_infinite_eta_is_the_plain_machine(estimator, plain, labels):
    model = estimator(C=3.0, eta=np.inf, tau=0.0).fit(X, labels)
    machine = plain(C=3.0).fit(X, labels)
    assert np.isclose(model.objective_, machine.objective_, rtol=1e-12)
    assert np.allclose(model.predict(X_new), machine.predict(X_new), atol=1e-8)
    assert np.allclose(model.intercept_, machine.intercept_, atol=1e-8)


@pytest.mark.parametrize("tau", [20.0, 400.0])
def test_infinite_eta_with_a_nuclear_norm_scales_the_kernel(tau):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    scale = max(1.0 - tau / (2.0 * weight.sum()), 0.0)
    model = DANKRegressor(C=3.0, eta=np.inf, tau=tau).fit(X, target, sample_weight=weight)
    K = scale * rbf_kernel(X, gamma=model.gamma_)
    machine = KernelSVR(C=3.0, kernel="precomputed").fit(K, target, sample_weight=weight)
    assert np.allclose(model.adaptive_matrix_, scale)
    assert np.isclose(model.objective_, machine.objective_, rtol=1e-6)


@pytest.mark.parametrize("eta", ["auto", "0.05*auto", 3.0])
@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS)
def test_weights_are_copies(estimator, eta):
    labels = y if estimator in CLASSIFIERS else target
    repeats = np.random.default_rng(0).integers(0, 4, len(X))
    index = np.repeat(np.arange(len(X)), repeats)
    order = np.random.default_rng(1).permutation(len(index))
    options = {"tau": 0.01} if "DANK" in estimator.__name__ else {}
    for rule in ("neutral", "knn"):
        model = estimator(C=2.0, eta=eta, out_of_sample=rule, **options)
        method = "decision_function" if estimator in CLASSIFIERS else "predict"
        values = getattr(model.fit(X, labels, sample_weight=repeats), method)(X_new)
        repeated = getattr(model.fit(X[index[order]], labels[index[order]]), method)(X_new)
        assert np.allclose(values, repeated, rtol=1e-7, atol=1e-7)


def test_multiclass():
    data, labels = load_iris(return_X_y=True)
    for multi_class in ("ovo", "ovr"):
        for rule in ("neutral", "nearest"):
            model = DANKClassifier(multi_class=multi_class, out_of_sample=rule, tau=0.01)
            model.fit(data, labels)
            assert model.score(data, labels) > 0.95
            assert len(model.adaptive_matrix_) == len(model.eta_) == len(model.rank_) == 3
            assert np.all(model.dual_gap_ <= 1e-6 * model.objective_)
    values = model.decision_function(data)
    pick = model.adaptive_matrix_[1] * rbf_kernel(data, gamma=model.gamma_)
    beta = np.zeros(len(data))
    beta[model.support_] = model.dual_coef_[1]
    # iris has repeated rows, which answer for each other
    assert np.allclose(values[:, 1], pick @ beta + model.intercept_[1], atol=1e-8)


def test_precomputed():
    gamma = 2.0
    model = DANKClassifier(gamma=gamma, tau=0.01).fit(X, y)
    given = DANKClassifier(kernel="precomputed", tau=0.01).fit(rbf_kernel(X, gamma=gamma), y)
    values = given.decision_function(rbf_kernel(X_new, X, gamma=gamma))
    assert np.allclose(values, model.decision_function(X_new), atol=1e-9)
    assert np.allclose(given.adaptive_matrix_, model.adaptive_matrix_, atol=1e-9)
    assert given.rank_ == model.rank_


@pytest.mark.parametrize(("estimator", "labels"), [(DANKClassifier, y), (DANKRegressor, target)])
@pytest.mark.parametrize("noise", [0.0, 1e-13])
def test_identity_kernel_matrix(estimator, labels, noise):
    """All eigenvalues of the factor but one are (nearly) equal."""
    K = np.eye(30) + noise * rbf_kernel(X[:30])
    model = estimator(kernel="precomputed", tau=0.01).fit(K, labels[:30])
    assert model.converged_ and model.dual_gap_ <= 1e-6 * model.objective_
    model = estimator(kernel="linear").fit(np.eye(30), np.arange(30) % 2)
    assert model.converged_ and np.ptp(np.abs(model.dual_coef_)) < 1e-6


def test_rows_on_demand():
    model = DANKClassifier(tau=0.0, tol=1e-5).fit(X, y)
    small = DANKClassifier(tau=0.0, tol=1e-5, cache_size=1e-3).fit(X, y)
    assert np.allclose(model.decision_function(X_new), small.decision_function(X_new), atol=1e-2)
    assert np.isclose(model.objective_, small.objective_, rtol=1e-5)


@pytest.mark.parametrize(
    "model", [DANKClassifier(tau=1.0), DANKClassifier(tau=0.0), KNPLClassifier()], ids=repr
)
def test_certificate_does_not_depend_on_where_rows_are(model):
    """Cached rows and kernel matrices in float32 leave no rounding in objective and gap."""
    model.set_params(C=50.0, gamma=1.0, eta=10.0)
    bounds = []
    for cache_size in (200.0, 1e-2):
        model.set_params(cache_size=cache_size).fit(X, y)
        bounds.append((model.objective_, model.dual_gap_))
    assert abs(bounds[0][0] - bounds[1][0]) <= bounds[0][1] + bounds[1][1] + 1e-11
    K = rbf_kernel(X, gamma=1.0).astype(np.float32)
    K[np.diag_indices_from(K)] += 1e-4  # psd, also as an array of float64
    single = clone(model).set_params(kernel="precomputed").fit(K, y)
    double = clone(single).fit(K.astype(np.float64), y)
    limit = single.dual_gap_ + double.dual_gap_ + 1e-11
    assert abs(single.objective_ - double.objective_) <= limit


@pytest.mark.parametrize("tau", [40.0, 160.0, 1000.0])
def test_neutral_factor_is_that_without_adaptation(tau):
    """A large tau takes part of the kernel, or all of it, on new points as on training points."""
    weight = np.arange(len(X)) % 3 / 1.0
    factor = max(0.0, 1.0 - tau / (2.0 * weight.sum()))
    K, K_new = factor * rbf_kernel(X, gamma=2.0), factor * rbf_kernel(X_new, X, gamma=2.0)
    options = {"C": 5.0, "gamma": 2.0, "tau": tau, "eta": np.inf}
    plain = KernelSVC(C=5.0, kernel="precomputed").fit(K, y, sample_weight=weight)
    model = DANKClassifier(**options).fit(X, y, sample_weight=weight)
    assert np.allclose(
        model.decision_function(X_new), plain.decision_function(K_new), rtol=0, atol=1e-5
    )
    plain = KernelSVR(C=5.0, kernel="precomputed").fit(K, target, sample_weight=weight)
    model = DANKRegressor(**options).fit(X, target, sample_weight=weight)
    assert np.allclose(model.predict(X_new), plain.predict(K_new), rtol=0, atol=1e-5)
    far = np.full((1, 2), 1e3)  # resembles no training point
    model.set_params(out_of_sample="smooth", kernel="laplacian").fit(X, target, weight)
    assert np.isclose(model.predict(far)[0], model.intercept_[0])


def test_large_tau_does_not_spoil_predictions():
    for tau in (80.0, 140.0, 160.0):
        model = DANKRegressor(C=100.0, gamma=2.0, tau=tau, epsilon=0.01).fit(X, target)
        assert model.score(X, target) > -0.5


def test_plain_alternation_warns():
    for solver in ("alternating", "admm"):
        with pytest.warns(ConvergenceWarning, match="need not converge, take solver='newton'"):
            model = KNPLClassifier(C=100.0, eta="0.01*auto", solver=solver, max_iter=4)
            model.fit(X, y)
        assert not model.converged_ and model.dual_gap_ > 0


@pytest.mark.parametrize("solver", ["alternating", "admm"])
@pytest.mark.parametrize("eta", [0.05, 0.8])
def test_plain_alternation_names_its_cycle_at_a_small_eta(solver, eta):
    with pytest.warns(ConvergenceWarning, match="back and forth between two solutions"):
        model = KNPLClassifier(C=10.0, eta=eta, solver=solver).fit(X, y)
    best = KNPLClassifier(C=10.0, eta=eta).fit(X, y)
    assert model.objective_ <= best.objective_ + best.dual_gap_
    assert best.objective_ <= model.objective_ + model.dual_gap_
    assert 0.0 < model.dual_gap_ < np.inf and np.all(np.isfinite(model.predict(X)))


@pytest.mark.parametrize("eta", [np.inf, "1e6*auto"])
def test_single_precision_rows_are_not_taken_for_indefinite(eta):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DANKClassifier(kernel="linear", eta=eta, tau=0.0, cache_size=0.1).fit(X, y)
    assert 0 <= model.dual_gap_ <= 1e-6 * model.objective_


@pytest.mark.parametrize("tau", [0.0, 0.01])
@pytest.mark.parametrize("eta", [1e-308, 1e-300, 1e-100])
def test_too_small_eta(eta, tau):
    """No solution worse than beta = 0, and no warning beside the sentence."""
    model = DANKClassifier(eta=eta, tau=tau)
    with pytest.raises(ValueError, match=f"expected a larger eta, got one of {eta:.1e}"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=f"expected a larger eta, got one of {eta:.1e}"):
        model.set_params(partition=2, combine="concatenate", random_state=0).fit(X, y)
    if eta < 1e-200:
        with pytest.raises(ValueError, match=f"expected a larger eta, got one of {eta:.1e}"):
            KNPLRegressor(eta=eta).fit(X, target)


def test_small_eta_is_named_where_rounding_prevents_convergence():
    with pytest.warns(ConvergenceWarning, match="raise tol or a small eta"):
        model = KNPLClassifier(eta=1e-40).fit(X, y)
    assert model.objective_ > 0.0


def test_pickle_and_refit():
    model = DANKClassifier(out_of_sample="knn", tau=0.01).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copied.decision_function(X_new), model.decision_function(X_new))
    assert np.array_equal(copied.adaptive_matrix_, model.adaptive_matrix_)
    model.set_params(out_of_sample="neutral", kernel="linear").fit(X, y)
    assert np.isfinite(model.decision_function(X_new)).all()


def test_predictions_follow_the_parameters_of_the_fit():
    model = DANKClassifier(tau=0.01).fit(X, y)
    values = model.decision_function(X_new)
    model.set_params(out_of_sample="knn", partition=3, combine="nearest")
    assert np.array_equal(model.decision_function(X_new), values)


def test_warm_start():
    model = DANKClassifier(tau=0.0, warm_start=True).fit(X, y)
    first = model.decision_function(X_new)
    model.fit(X, y)
    assert model.n_iter_ <= 4
    assert np.allclose(model.decision_function(X_new), first, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 0.0}, "eta"),
        ({"eta": -1.0}, "eta"),
        ({"eta": "large"}, "expected eta to be a positive number, 'auto' or a multiple"),
        ({"eta": "-1*auto"}, "expected eta to be a positive number, 'auto' or a multiple"),
        ({"eta": "2auto"}, "expected eta to be a positive number, 'auto' or a multiple"),
        ({"eta": "*auto"}, "expected eta to be a positive number, 'auto' or a multiple"),
        ({"eta": "auto*2"}, "expected eta to be a positive number, 'auto' or a multiple"),
        ({"eta": True}, "expected eta to be a positive number, .* got True"),
        ({"tau": -0.1}, "tau"),
        ({"out_of_sample": "smooth", "kernel": "linear"}, "whose values are positive"),
        ({"out_of_sample": "hyper", "kernel": "laplacian"}, "expected kernel 'rbf'"),
        ({"partition": 100}, "at most 80 blocks, the number of rows of positive weight, got 100"),
        ({"solver": "quartic", "tau": 0.01}, "expected tau=0 for solver='quartic'"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        DANKClassifier(**options).fit(X, y)


def test_bad_parameters_of_precomputed_kernels():
    K = rbf_kernel(X)
    with pytest.raises(ValueError, match="expected out_of_sample='neutral' for a precomputed"):
        DANKClassifier(kernel="precomputed", out_of_sample="nearest").fit(K, y)
    with pytest.raises(ValueError, match="expected data to partition, got a precomputed"):
        DANKClassifier(kernel="precomputed", partition=2).fit(K, y)


@pytest.mark.parametrize("machine", [DANKClassifier, KNPLClassifier])
@pytest.mark.parametrize("C", [1e-71, 1e71])
def test_costs_whose_fourth_powers_are_no_numbers(machine, C):
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    with pytest.raises(ValueError, match=r"expected .*products of C and the"):
        machine(C).fit(X, y)


@pytest.mark.parametrize("estimator", [DANKRegressor, KNPLRegressor])
def test_coefficients_whose_fourth_powers_vanish_are_refused(estimator):
    X = np.random.default_rng(0).standard_normal((20, 2))
    y, model = np.sin(2 * X[:, 0]), estimator(C=10.0, loss="squared")
    one, small = model.fit(X, y).objective_, clone(model).fit(X, 1e-60 * y).objective_
    np.testing.assert_allclose(1e120 * small, one, rtol=1e-9)
    with pytest.raises(ValueError, match=r"at least 1e-70 in size, got .*: scale the data"):
        model.fit(X, 1e-90 * y)


@pytest.mark.parametrize("estimator", [DANKRegressor, KNPLRegressor])
def test_targets_whose_fourth_powers_overflow_are_refused(estimator):
    X = np.random.default_rng(0).standard_normal((20, 2))
    y, model = np.sign(X[:, 0]), estimator(C=10.0, loss="squared", eta="1e-6*auto")
    assert np.isfinite(model.fit(X, 1e70 * y).objective_)
    with pytest.raises(ValueError, match=r"expected targets up to 1e\+70, got 1e\+137"):
        model.fit(X, 1e137 * y)
