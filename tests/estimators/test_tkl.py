"""The estimators that learn a kernel over positive matrices."""

import logging
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine, make_friedman1, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC, SVR

import kernelfit.learners.positive_matrix as learner
from kernelfit import (
    GPKClassifier,
    GPKRegressor,
    KernelSVC,
    TKLClassifier,
    TKLRegressor,
    load,
    save,
)
from kernelfit.families.psd.family import PositiveMatrixFamily
from kernelfit.families.psd.features import Monomials
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.inspection import audit


def moons(n=120):
    return make_moons(n, noise=0.25, random_state=0)


def friedman(n=100):
    return make_friedman1(n, 5, noise=0.5, random_state=0)


@pytest.mark.parametrize("basis", ["x", "xz"])
@pytest.mark.parametrize("solver", ["auto", "frank_wolfe", "apd", "hybrid"])
def test_bounds_follow_from_the_fitted_attributes(basis, solver):
    X, y = moons()
    model = TKLClassifier(C=2.0, basis=basis, solver=solver).fit(X, y)
    assert model.converged_ and 0 <= model.dual_gap_ <= 1e-3 * model.objective_
    K = model.kernel_(model.support_vectors_)
    signs = np.where(y == 1, 1.0, -1.0)
    hinge = np.maximum(1 - signs * model.decision_function(X), 0).sum()
    beta = model.dual_coef_[0]
    upper = 0.5 * beta @ K @ beta + 2.0 * hinge
    assert_allclose(upper, model.objective_ + model.dual_gap_, rtol=1e-9)
    assert_allclose(np.trace(model.P_), len(model.P_), rtol=1e-12)
    assert np.linalg.eigvalsh(model.P_)[0] >= -1e-12 * len(model.P_)
    assert_array_equal(model.history_[-1], [model.objective_, model.dual_gap_])
    assert len(model.history_) == model.n_iter_


def test_learned_kernel_works_in_other_machines():
    X, y = moons()
    model = TKLClassifier(C=2.0, tol=1e-8).fit(X, y)
    kernel = pickle.loads(pickle.dumps(model.kernel_))
    for other in (SVC(C=2.0, kernel=kernel, tol=1e-8), KernelSVC(C=2.0, kernel=kernel)):
        other.fit(X, y)
        values = other.decision_function(X)
        assert_allclose(values, model.decision_function(X), atol=2e-3)
    X, y = friedman()
    model = TKLRegressor(C=5.0, tol=1e-8).fit(X, y)
    other = SVR(C=5.0, kernel=model.kernel_, tol=1e-8).fit(X, y)
    assert_allclose(other.predict(X), model.predict(X), atol=2e-3)


def test_learning_beats_the_kernel_of_the_identity():
    X, y = friedman()
    model = TKLRegressor(C=5.0, tol=1e-6).fit(X, y)
    plain = pickle.loads(pickle.dumps(model.kernel_))
    object.__setattr__(plain, "U", np.eye(len(model.P_)))
    assert_allclose(plain.diag(X).mean(), 1.0, rtol=1e-12)
    svr = SVR(C=5.0, kernel=plain, tol=1e-6).fit(X, y)
    beta, f = svr.dual_coef_[0], svr.predict(X)
    value = 0.5 * beta @ plain(X[svr.support_]) @ beta
    value += 5.0 * np.maximum(abs(y - f) - 0.1, 0).sum()
    assert model.objective_ + model.dual_gap_ < value


@pytest.mark.parametrize("sharing", ["separate", "joint"])
def test_several_classes(sharing):
    X, y = load_wine(return_X_y=True)
    model = TKLClassifier(C=10.0, kernel_sharing=sharing).fit(X, y)
    assert np.all(model.converged_)
    assert model.score(X, y) >= 0.98
    values = model.decision_function(X)
    assert values.shape == (len(y), 3)
    assert_array_equal(model.predict(X), values.argmax(axis=1))
    n_P = 2 * (1 + X.shape[1])
    if sharing == "joint":
        assert model.P_.shape == (n_P, n_P) and not hasattr(model, "kernels_")
        assert isinstance(model.objective_, float) and isinstance(model.dual_gap_, float)
    else:
        assert model.P_.shape == (3, n_P, n_P) and not hasattr(model, "kernel_")
        assert len(model.kernels_) == 3
        assert model.objective_.shape == model.dual_gap_.shape == (3,)
        alone = TKLClassifier(C=10.0).fit(X, y == 1)
        assert_allclose(values[:, 1], alone.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("make", [TKLClassifier, GPKClassifier])
def test_weights_equal_repetition(make):
    X, y = moons(60)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weight))
    for class_weight in (None, "balanced"):
        weighted = make(class_weight=class_weight).fit(X, y, sample_weight=weight)
        repeated = make(class_weight=class_weight).fit(X[rows], y[rows])
        # The same kernel bit for bit; support vectors come in another order.
        assert_array_equal(weighted.P_, repeated.P_)
        values = repeated.decision_function(X)
        assert_allclose(weighted.decision_function(X), values, rtol=0, atol=1e-12)
        assert not np.isin(weighted.support_, np.flatnonzero(weight == 0)).any()
    X, y = friedman(60)
    weighted = TKLRegressor().fit(X, y, sample_weight=weight)
    repeated = TKLRegressor().fit(X[rows], y[rows])
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-12)


def test_raw_scale_is_the_plain_integral():
    X, y = moons(60)
    raw = TKLClassifier(1.0, delta=0.5, normalize=False).fit(X, y)
    scaled = TKLClassifier(delta=0.5).fit(X, y)
    assert raw.scale_ == (1 + 2 * 0.5) ** 2
    unit = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    # At P = I, k(x, x) is the integral of Z(x)'Z(x) = 1 + |x|^2.
    identity = (1 + (unit**2).sum(axis=1)) * raw.scale_
    assert_allclose(scaled.scale_ / raw.scale_, 1 / identity.mean(), rtol=1e-12)
    same = TKLClassifier(C=raw.scale_ / scaled.scale_, delta=0.5).fit(X, y)
    assert_allclose(same.objective_ * scaled.scale_ / raw.scale_, raw.objective_, rtol=2e-3)


def test_scale_and_order_of_features_do_not_matter():
    X, y = moons(80)
    model = TKLClassifier().fit(X, y)
    factors = np.array([2.0**500, 2.0**-500])
    other = TKLClassifier().fit(X * factors, y)
    assert_array_equal(other.decision_function(X * factors), model.decision_function(X))
    flipped = TKLClassifier(tol=1e-6).fit(X[:, ::-1], y).decision_function(X[:, ::-1])
    assert_allclose(flipped, TKLClassifier(tol=1e-6).fit(X, y).decision_function(X), atol=1e-2)


def test_constant_features_are_left_out():
    X, y = moons(80)
    padded = np.column_stack([np.zeros(80), X[:, 0], np.full(80, 7.0), X[:, 1]])
    model = TKLClassifier().fit(padded, y)
    assert_array_equal(model.constant_features_, [0, 2])
    plain = TKLClassifier().fit(X, y)
    assert_array_equal(model.decision_function(padded), plain.decision_function(X))
    padded[:, 0] = 1e9
    assert_array_equal(model.decision_function(padded), plain.decision_function(X))
    only = TKLClassifier().fit(np.ones((5, 2)), [0, 0, 1, 1, 1])
    assert_array_equal(only.predict(np.zeros((2, 2))), [1, 1])
    mean = TKLRegressor().fit(np.zeros((3, 1)), [1.0, 1.0, 1.0])
    assert_allclose(mean.predict([[5.0]]), 1.0)


def test_one_feature_few_rows_and_far_points():
    X = np.linspace(0, 1, 20)[:, None]
    model = TKLRegressor(C=100.0, epsilon=0.01).fit(X, X[:, 0] > 0.5)
    assert_allclose(model.predict([[-1e6]]), model.predict([[-model.delta]]))
    few = TKLClassifier(degree=2).fit(np.eye(4), [0, 1, 0, 1])  # n_P = 30 > m
    assert few.converged_
    assert np.isfinite(few.predict(np.full((1, 4), 1e300))).all()


@pytest.mark.parametrize(
    "model, message",
    [
        (TKLClassifier(degree=-1), "degree"),
        (TKLClassifier(delta=-0.1), "delta"),
        (TKLClassifier(C=0.0), "'C' parameter"),
        (TKLRegressor(epsilon=-1.0), "epsilon"),
        (TKLRegressor(delta=1e200, normalize=False), "expected a kernel scale between 0 and inf"),
        (TKLRegressor(basis="xz", delta=1e200), "expected delta <= 1e\\+30 for basis='xz', got 1e"),
        (TKLRegressor(3, degree=3, basis="xz", delta=1e21), "expected delta <= 1e\\+20 for basis"),
        (GPKClassifier(feature_map=object()), "feature_map"),
        (GPKClassifier(feature_map=Monomials), r"an object like Monomials\(\), got the class Mono"),
    ],
)
def test_bad_parameters(model, message):
    X, y = moons(20)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_") and name[0] != "_"]


def test_bad_data():
    X, y = moons(20)
    with pytest.raises(ValueError, match="one class"):
        TKLClassifier().fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="NaN"):
        TKLClassifier().fit(np.full((20, 2), np.nan), y)
    with pytest.raises(ValueError, match="sample_weight >= 0"):
        TKLClassifier().fit(X, y, sample_weight=-np.ones(20))
    with pytest.raises(ValueError, match="features"):
        TKLClassifier().fit(X, y).predict(X[:, :1])


def test_interrupted_fit_leaves_the_estimator_as_it_was(monkeypatch):
    X, y = moons(40)
    model = TKLClassifier().fit(X, y)
    before = dict(vars(model))

    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(learner, "solve_saddle", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:30], y[:30])
    assert vars(model) == before


def test_too_few_iterations_are_reported(caplog):
    X, y = friedman()
    with pytest.warns(ConvergenceWarning, match="raise max_iter=2 or tol"):
        TKLRegressor(tol=1e-9, max_iter=2).fit(X, y)
    with caplog.at_level(logging.INFO, "kernelfit"):
        TKLRegressor(verbose=1).fit(X, y)
        assert [message[:12] for message in caplog.messages] == ["problem 1/1:"]
        caplog.clear()
        model = TKLRegressor(verbose=2).fit(X, y)
    assert len(caplog.messages) == model.n_iter_ + 1
    assert caplog.messages[0].startswith("problem 1/1, round 1: objective ")


@pytest.mark.parametrize("solver", ["auto", "frank_wolfe", "apd", "hybrid"])
def test_rounding_ends_the_training_and_is_reported(solver):
    X, y = moons(60)
    with pytest.warns(ConvergenceWarning, match="rounding prevents more"):
        model = TKLClassifier(C=1e4, tol=1e-15, max_iter=5000, solver=solver).fit(X, y)
    assert model.n_iter_ < 3000 and not model.converged_
    assert model.dual_gap_ <= 1e-9 * model.objective_


@pytest.mark.parametrize("solver", ["auto", "frank_wolfe", "hybrid"])
def test_rounding_far_above_the_objective_ends_the_training(solver):
    """With a huge C rounding errors of the residuals alone exceed the tolerance."""
    X, y = moons(60)
    with pytest.warns(ConvergenceWarning, match="rounding prevents more, lower C or raise tol"):
        model = TKLClassifier(C=1e13, max_iter=300, solver=solver).fit(X, y)
    assert model.n_iter_ < 300 and not model.converged_
    assert model.dual_gap_ > 1e-6 * model.objective_


def test_advice_at_scales_far_off():
    X = np.random.default_rng(0).uniform(size=(20, 100))
    advice = "rounding prevents more, use normalize=True, lower C or raise tol"
    with pytest.warns(ConvergenceWarning, match=advice):
        TKLClassifier(normalize=False).fit(X, X[:, 0] > 0.5)
    with pytest.warns(ConvergenceWarning, match="problems: lower C or raise max_iter=3 or tol"):
        TKLRegressor(C=1e6, max_iter=3).fit(*friedman())
    with pytest.warns(ConvergenceWarning, match="problems: raise max_iter=3 or tol"):
        TKLRegressor(C=1e6, max_iter=3, solver="frank_wolfe").fit(*friedman())


def test_numbers_whose_products_overflow():
    X, y = moons(20)
    with pytest.raises(ValueError, match=r"expected targets up to 1e\+150, got 1e\+300"):
        TKLRegressor().fit(X, 1e300 * y)
    for model in (TKLRegressor(), TKLClassifier(), TKLClassifier(class_weight="balanced")):
        for size in (1e300, 1e308):
            with pytest.raises(
                ValueError, match=r"expected sample weights, and prod.* up to 1e\+150"
            ):
                model.fit(X, y, sample_weight=np.full(20, size))
    with pytest.raises(ValueError, match=r"up to 1e\+150, got 1e\+200"):
        TKLClassifier(C=1e200).fit(X, y)
    large = TKLRegressor().fit(X, 1e140 * y)
    assert large.converged_ and np.isfinite(large.predict(X)).all()


def test_rows_on_demand_beyond_the_range_of_float32():
    X, y = moons(20)
    # A scale of 4e40; single precision ends at 3e38.
    basis = TessellatedBasis(2, 1, 1e20, "x")
    family = PositiveMatrixFamily(basis, X, basis.volume, cache_bytes=1.0)
    gram = family.gram(1.0)
    assert gram.diagonal().max() > np.finfo(np.float32).max
    every, product = np.arange(20), np.zeros(20)
    gram.accumulate(every, y, product)
    assert_allclose(product, gram.rows(every) @ y)


UNINFORMATIVE = [
    (TKLClassifier(C=100.0, delta=0.1), [[0], [1]] * 4, [0, 0, 1, 1] * 2),
    (
        TKLClassifier(C=0.1, basis="xz", degree=2, delta=0.1),
        [[0, 1], [0, 1], [0, 0], [0, 0], [0, 1], [1, 1]],
        [1, 0, 1, 0, 1, 1],
    ),
    (
        TKLClassifier(C=0.1, basis="xz", degree=2, delta=0.0, normalize=False),
        [[0, 1], [1, 1], [0, 0], [0, 0]],
        [1, 1, 0, 1],
    ),
    (
        TKLRegressor(C=1.0, degree=2, delta=2.0, epsilon=0.0, fit_intercept=False),
        [[0], [1], [1], [1], [0], [1], [0], [0], [1], [1], [0]],
        [-1, 1, 0, -2, 0, 2, 2, 1, 1, -1, 0],
    ),
]


@pytest.mark.parametrize("solver", ["auto", "frank_wolfe", "apd", "hybrid"])
@pytest.mark.parametrize("model, X, y", UNINFORMATIVE)
def test_labels_that_say_nothing_about_the_kernel(model, X, y, solver):
    """Equal rows of balanced targets: D vanishes and its eigenvalues are rounding errors."""
    model = clone(model).set_params(solver=solver).fit(X, y)
    assert model.converged_ and model.dual_gap_ <= 1e-12 * model.objective_
    P = model.P_
    assert_allclose(np.trace(P), len(P), rtol=1e-12)
    assert np.linalg.eigvalsh(P)[0] >= -1e-12 * len(P)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_small_integer_data(seed):
    """Repeated rows, ties and few values: a valid P and a finite gap, whatever the solver."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(2, 25), rng.integers(1, 4)
    X = np.repeat(rng.integers(0, 3, (m, n)), rng.integers(1, 3), axis=0)
    y = rng.integers(-1, 2, len(X)) if rng.random() < 0.5 else np.arange(len(X)) % 2
    params = {
        "C": 10.0 ** rng.integers(-2, 4),
        "degree": int(rng.integers(0, 3)),
        "basis": str(rng.choice(["x", "xz"])),
        "delta": float(rng.choice([0.0, 0.1, 0.5, 2.0])),
        "solver": str(rng.choice(["auto", "frank_wolfe", "apd", "hybrid"])),
        "fit_intercept": bool(rng.integers(2)),
        "tol": 0.01,
    }
    models = [TKLRegressor(epsilon=float(rng.choice([0.0, 0.1])), **params)]
    if len(set(y)) > 1:
        models += [TKLClassifier(kernel_sharing=s, **params) for s in ("separate", "joint")]
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of Frank-Wolfe steps
            model.fit(X, y)
        P = np.atleast_3d(model.P_.T).T
        assert np.isfinite(model.dual_gap_).all() and np.min(model.dual_gap_) >= 0
        assert_allclose(np.trace(P, axis1=1, axis2=2), P.shape[1], rtol=1e-12)
        assert np.linalg.eigvalsh(P).min() >= -1e-12 * P.shape[1]


def test_user_feature_map():
    class Steps:
        def size(self, n_features):
            return 1 + 4 * n_features

        def features(self, X):
            steps = X[:, :, None] > [0.2, 0.4, 0.6, 0.8]
            return np.hstack([np.ones((len(X), 1)), steps.reshape(len(X), -1)])

    X, y = moons()
    model = GPKClassifier(C=10.0, feature_map=Steps()).fit(X, y)
    assert model.P_.shape == (9, 9) and model.converged_
    unit = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    Z = Steps().features(unit)
    svc = SVC(C=10.0, kernel="precomputed", tol=1e-4).fit(9 * model.scale_ * Z @ Z.T, y)
    assert np.mean(svc.predict(9 * model.scale_ * Z @ Z.T) == model.predict(X)) >= 0.98
    dual = abs(svc.dual_coef_).sum() - 0.5 * 9 * model.scale_ * np.sum(
        (svc.dual_coef_[0] @ Z[svc.support_]) ** 2
    )
    assert model.objective_ - 1e-6 * dual <= dual <= (model.objective_ + model.dual_gap_) * 1.001


class Wrong:
    """A feature map of 3 features that returns what it is given."""

    def __init__(self, features, size=3):
        self._features, self._size = features, size

    def size(self, n_features):
        return self._size

    def features(self, X):
        return self._features(X)


@pytest.mark.parametrize(
    "feature_map, message",
    [
        (Wrong(lambda X: X), r"numbers of shape \(20, 3\).* got float64 of shape \(20, 2\)"),
        (Wrong(lambda X: X[:, 0]), r"got float64 of shape \(20,\)"),
        (Wrong(lambda X: np.full((len(X), 3), "a")), "got <U1 of shape"),
        (Wrong(lambda X: np.full((len(X), 3), np.nan)), "finite numbers, got nan or infinity"),
        (Wrong(lambda X: np.zeros((len(X), 3))), "got zeros, or numbers too small to be squared"),
        (Wrong(lambda X: np.full((len(X), 3), 1e200)), "got numbers too large to be squared"),
        (Wrong(lambda X: X, size=2.5), r"size\(2\) to be a positive integer, got 2.5"),
    ],
)
def test_wrong_feature_maps(feature_map, message):
    X, y = moons(20)
    with pytest.raises(ValueError, match=message):
        GPKClassifier(feature_map=feature_map).fit(X, y)


def test_feature_maps_may_change_their_argument():
    def doubled(X):
        X *= 2.0
        return np.column_stack([X, X[:, 0] * X[:, 1]])

    X, y = moons(20)
    model = GPKClassifier(feature_map=Wrong(doubled)).fit(X, y)
    pure = GPKClassifier(feature_map=Wrong(lambda X: doubled(X.copy()))).fit(X, y)
    assert_array_equal(model.decision_function(X), pure.decision_function(X))


def test_many_features_need_no_square_matrix():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 90))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0.75
    for solver in ("auto", "frank_wolfe"):
        tracemalloc.start()
        model = GPKClassifier(solver=solver).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        n_P = model.kernel_.basis.size
        assert n_P == 4186 and model.converged_
        assert peak < 0.5 * 8 * n_P**2
        unit = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
        Z = PolynomialFeatures(2).fit_transform(unit)
        K = n_P * model.scale_ * Z @ Z.T
        svc = SVC(kernel="precomputed", tol=1e-5).fit(K, y)
        assert_allclose(model.decision_function(X), svc.decision_function(K), atol=0.02)


def test_a_basis_that_is_too_large_is_announced_or_refused():
    X = np.random.default_rng(0).uniform(size=(40, 100))
    y = X[:, 0] > 0.5
    for model, message in (
        (
            TKLClassifier(degree=30),
            r"got n_P = \d+ functions.* GiB: lower the degree or use fewer feat",
        ),
        (TKLClassifier(basis="xz", degree=2), "n_P = 40602 .* use basis='x'"),
        (GPKClassifier(degree=12), "n_P = \\d+ .* lower the degree"),
        (GPKClassifier(degree=3, solver="apd"), "lower the degree, or solver='auto'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    # The warning, an error here, comes before the features are computed.
    with pytest.raises(UserWarning, match="GPKClassifier will take long over n_P = 1373701 func"):
        GPKClassifier(degree=200).fit(X[:, :3], y)
    with pytest.warns(UserWarning, match="TKLClassifier will take long over n_P = 2162 functions"):
        TKLClassifier(degree=2, tol=0.5).fit(X[:, :45], y)


@pytest.mark.parametrize("basis", ["x", "xz"])
def test_ranks_do_not_depend_on_the_scale_of_a_feature(basis, tmp_path):
    Z = np.random.default_rng(0).standard_normal((80, 2))
    y = Z[:, 0] > Z[:, 1]
    model = TKLClassifier(1.0, basis=basis, scaling="ranks", tol=1e-8)
    one, other = (clone(model).fit(X, y) for X in (Z, np.exp(3 * Z)))
    assert_allclose(one.decision_function(Z), other.decision_function(np.exp(3 * Z)), atol=1e-4)
    assert audit(other, np.exp(3 * Z), y).confirmed
    again = load(save(other, tmp_path / "model"))
    new = np.exp(3 * np.random.default_rng(1).standard_normal((20, 2)))
    assert_array_equal(again.decision_function(new), other.decision_function(new))
    plain = TKLClassifier(basis=basis).fit(np.exp(3 * Z), y)
    assert plain.score(np.exp(3 * Z), y) < other.score(np.exp(3 * Z), y)


def test_the_time_of_many_moments_is_forecast():
    X = np.random.default_rng(0).uniform(size=(2000, 100))
    y = X[:, 0] > 0.5
    # The warning, an error here, comes before the training.
    message = (
        r"TKLClassifier will take about 41 seconds an iteration over n_P = 402 .* use basis='x'"
    )
    with pytest.raises(UserWarning, match=message):
        TKLClassifier(basis="xz").fit(X, y)
    assert TKLClassifier(basis="xz", tol=0.5).fit(X[:100], y[:100]).converged_
    assert TKLClassifier(tol=0.5).fit(X, y).converged_


def test_degree_3_in_x_and_z_learns_with_a_certificate():
    X = np.random.default_rng(0).uniform(size=(60, 2))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    model = TKLClassifier(10.0, basis="xz", degree=3).fit(X, y)
    assert model.converged_ and model.P_.shape == (70, 70)
    assert model.score(X, y) > 0.95
    assert_allclose(np.diag(model.kernel_(X)), model.kernel_.diag(X))


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_far_points_of_polynomials_are_finite(degree):
    X, y = friedman(40)
    model = GPKRegressor(degree=degree).fit(X, y)
    far = np.array([[1e155], [-1e155], [1e300], [np.finfo(float).max]]) * np.ones(5)
    assert np.isfinite(model.predict(far)).all()
    assert np.isfinite(model.kernel_(far)).all()
    tiny = GPKRegressor(degree=degree).fit(X * 1e-200, y)
    assert np.isfinite(tiny.predict(far)).all()


@pytest.mark.parametrize("make", [TKLClassifier, GPKClassifier])
def test_learned_kernel_wants_the_features_of_training(make):
    X, y = moons(30)
    kernel = make().fit(X, y).kernel_
    for wrong in (np.hstack([X, X]), X[:, :1], X[0]):
        with pytest.raises(ValueError, match="expected points of 2 features as in training, got"):
            kernel(wrong)
        with pytest.raises(ValueError, match="expected points of 2 features"):
            kernel(X, wrong)
    for value in (np.nan, np.inf):
        for points in ((np.full((1, 2), value),), (X, np.full((1, 2), value))):
            with pytest.raises(ValueError, match="expected points of finite numbers, got nan or"):
                kernel(*points)


def test_polynomial_regression():
    x = np.linspace(-1, 1, 60)[:, None]
    model = GPKRegressor(C=1000.0, degree=3, epsilon=1e-3).fit(x, x[:, 0] ** 3 - x[:, 0])
    assert_allclose(model.predict(x), x[:, 0] ** 3 - x[:, 0], atol=5e-3)


def test_probabilities_by_calibration():
    X, y = moons()
    model = CalibratedClassifierCV(TKLClassifier(), cv=3).fit(X, y)
    assert model.predict_proba(X).shape == (len(y), 2)
    assert model.score(X, y) > 0.85
