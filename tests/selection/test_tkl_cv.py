"""Tessellated kernels with their parameters chosen by cross-validation."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_friedman1, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

from kernelfit import (
    DANKClassifierCV,
    KernelSVC,
    KernelSVCCV,
    TKLClassifier,
    TKLClassifierCV,
    TKLRegressor,
    TKLRegressorCV,
)


def test_search_scores_are_those_of_grid_search():
    X, y = load_iris(return_X_y=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    grid = {"C": [0.1, 10.0], "delta": [0.1, 1.0]}
    search = TKLClassifierCV(Cs=[10.0, 0.1], deltas=[0.1, 1.0], cv=folds, search_tol=1e-6).fit(X, y)
    reference = GridSearchCV(TKLClassifier(tol=1e-6), grid, cv=folds).fit(X, y)
    expected = {
        tuple(sorted(params.items())): score
        for params, score in zip(
            reference.cv_results_["params"], reference.cv_results_["mean_test_score"], strict=True
        )
    }
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        assert_allclose(score, expected[tuple(sorted(params.items()))], atol=0.007)
    assert set(search.cv_results_) == set(reference.cv_results_)
    assert np.all(search.cv_results_["mean_score_time"] > 0)
    best = search.best_params_
    direct = TKLClassifier(**best).fit(X, y)
    assert_array_equal(search.decision_function(X), direct.decision_function(X))


def skewed(m=120):
    Z = np.random.default_rng(0).standard_normal((m, 2))
    return np.exp(2.0 * Z), np.sin(2.0 * Z[:, 0]) + Z[:, 1]


def test_degrees_and_scalings_are_searched_as_by_grid_search():
    X, y = skewed()
    axes = {"degree": [0, 2], "delta": [0.5, 1.0], "scaling": ["range", "ranks"]}
    options = {"epsilon": 0.1, "tol": 1e-6}
    reference = GridSearchCV(TKLRegressor(10.0, **options), axes, cv=KFold(3)).fit(X, y)
    grids = {f"{name}s": values for name, values in axes.items()}
    search = TKLRegressorCV(**grids, Cs=[10.0], epsilons=[0.1], cv=KFold(3), search_tol=1e-6)
    search.fit(X, y)
    expected = zip(
        reference.cv_results_["params"], reference.cv_results_["mean_test_score"], strict=True
    )
    expected = {tuple(params.items()): score for params, score in expected}
    assert len(search.cv_results_["params"]) == 8
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        key = tuple((name, params[name]) for name in axes)
        assert_allclose(score, expected[key], atol=1e-3)
    best = search.best_params_
    assert best["scaling"] == "ranks"
    assert {name: best[name] for name in axes} == reference.best_params_
    assert set(search.cv_results_["param_scaling"]) == {"range", "ranks"}


def test_the_default_search_tries_ranks_and_cheap_degrees():
    X, y = skewed(60)
    for width, degrees in ((2, {1, 2}), (7, {1})):
        wide = np.hstack([X, np.random.default_rng(1).uniform(size=(60, width - 2))])
        params = TKLRegressorCV(Cs=[1.0], cv=2).fit(wide, y).cv_results_["params"]
        kernels = {(p["degree"], p["delta"], p["scaling"]) for p in params}
        assert {(1, delta, "range") for delta in (0.1, 0.5, 2.0)} | {(1, 0.5, "ranks")} <= kernels
        assert {degree for degree, _, _ in kernels} == degrees
        assert len(kernels) == len(params) == (6 if width == 2 else 4)


@pytest.mark.parametrize("scalings", [["rank"], []])
def test_unknown_scalings_are_refused(scalings):
    X, y = skewed(20)
    with pytest.raises(ValueError, match=r"expected scalings among 'range', 'ranks', got \["):
        TKLRegressorCV(scalings=scalings).fit(X, y)


@pytest.mark.parametrize("solver", ["auto", "frank_wolfe", "apd", "hybrid"])
def test_search_on_constant_features(solver):
    """The kernel is constant and D zero; every C must be trained for all that."""
    X, y = np.ones((41, 2)), np.arange(41) % 3 == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        search = TKLClassifierCV(solver=solver).fit(X, y)
    assert_allclose(search.best_score_, np.mean(~y), atol=0.02)
    model = TKLClassifier(0.1, solver=solver, warm_start=True).fit(X, y)
    model.set_params(C=10.0).fit(X, y)
    assert model.converged_
    assert_allclose(model.objective_, TKLClassifier(10.0).fit(X, y).objective_, rtol=1e-6)


def test_regression_search_and_scoring():
    X, y = make_friedman1(100, 5, noise=0.5, random_state=0)
    options = {"Cs": [1.0, 100.0], "deltas": [0.5], "epsilons": [0.0, 0.5], "cv": KFold(3)}
    search = TKLRegressorCV(**options, search_tol=1e-5).fit(X, y)
    reference = GridSearchCV(
        TKLRegressor(tol=1e-5), {"C": [1.0, 100.0], "delta": [0.5], "epsilon": [0.0, 0.5]},
        cv=KFold(3),
    ).fit(X, y)  # fmt: skip
    assert_allclose(search.best_score_, reference.best_score_, atol=2e-3)
    assert search.best_params_ == reference.best_params_
    assert_allclose(search.predict(X), reference.predict(X), atol=0.05 * y.std())
    options["search_tol"] = 1e-5
    scored = TKLRegressorCV(**options, scoring="neg_mean_absolute_error").fit(X, y)
    best = TKLRegressor(**scored.best_params_, tol=1e-5)
    errors = [
        np.abs(best.fit(X[train], y[train]).predict(X[test]) - y[test]).mean()
        for train, test in KFold(3).split(X)
    ]
    assert_allclose(scored.best_score_, -np.mean(errors), rtol=2e-3)
    with pytest.warns(ConvergenceWarning, match="solutions in the search"):
        TKLRegressorCV(**{**options, "search_tol": 1e-12}, tol=0.5, max_iter=5).fit(X, y)


@pytest.mark.parametrize(
    "search, message",
    [
        (TKLClassifierCV(deltas=[-1.0]), "expected deltas to be a list of numbers >= 0"),
        (TKLRegressorCV(epsilons=[]), "expected epsilons to be a list of numbers >= 0"),
        (TKLRegressorCV(epsilons=["a"]), r"expected epsilons to be .* numbers >= 0, got \['a'\]"),
        (TKLRegressorCV(Cs=[0.0]), "expected Cs to be a list of positive numbers"),
        (TKLRegressorCV(Cs=["a"]), r"expected Cs to be a list of positive numbers, got \['a'\]"),
    ],
)
def test_bad_grids(search, message):
    X, y = make_moons(20, random_state=0)
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)
    assert not [name for name in vars(search) if name.endswith("_")]


@pytest.mark.parametrize("dtype", [None, object])
def test_targets_that_are_strings(dtype):
    X, y = make_moons(20, random_state=0)
    with pytest.raises(ValueError, match=r"expected targets that are numbers: .* 'b'"):
        TKLRegressorCV().fit(X, np.array(["a", "b"], dtype=dtype)[[1] * 20])
    digits = np.array(["0", "1"], dtype=dtype)[y]
    options = {"Cs": [1.0], "deltas": [0.5]}
    expected = TKLRegressorCV(**options).fit(X, y)
    assert TKLRegressorCV(**options).fit(X, digits).best_score_ == expected.best_score_


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("make", [TKLClassifierCV, KernelSVCCV])
def test_a_class_of_one_member_names_the_fold(make):
    X, y = make_moons(20, random_state=0)[0], np.eye(20)[7]
    with pytest.raises(ValueError, match="part of fold 2: expected at least two classes, got one"):
        make(cv=2).fit(X, y)


@pytest.mark.parametrize(
    "model", [TKLClassifier(), TKLClassifierCV(), KernelSVC(), KernelSVCCV(), DANKClassifierCV()]
)
def test_none_is_no_label(model):
    X = make_moons(20, random_state=0)[0]
    y = np.array(["a", "b"] * 9 + ["a", None], dtype=object)
    with pytest.raises(ValueError, match="expected a class label for every row, got None"):
        model.fit(X, y)


def test_verbose_reports_folds_and_the_final_training(caplog):
    X, y = make_moons(20, random_state=0)
    with caplog.at_level("INFO", logger="kernelfit"):
        TKLClassifierCV(Cs=[1.0, 2.0], deltas=[0.5], cv=3, verbose=1).fit(X, y)
    starts = [message.partition(" candidates")[0] for message in caplog.messages[:3]]
    assert starts == [f"fold {k}/3: 2" for k in (1, 2, 3)]
    assert [message[:12] for message in caplog.messages[3:]] == ["problem 1/1:"]
