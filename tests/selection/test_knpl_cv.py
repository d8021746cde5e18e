"""KNPL with its parameters chosen by cross-validation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import minmax_scale

from kernelfit import KernelSVCCV, KNPLClassifier, KNPLClassifierCV, KNPLRegressor, KNPLRegressorCV

GAMMAS, CS = [0.1, 2.0], [0.5, 10.0]


def wine():
    X, y = load_wine(return_X_y=True)
    return minmax_scale(X)[::2], y[::2]


def sine():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    return X, np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(60)


def split_scores(search):
    return np.array([search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)])


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_scores_are_those_of_grid_search(multi_class):
    X, y = wine()
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    options = {"multi_class": multi_class, "class_weight": "balanced"}
    ours = KNPLClassifierCV(GAMMAS, CS, [0.1], cv=folds, search_tol=1e-8, **options).fit(X, y)
    machine = KNPLClassifier(eta="0.1*auto", tol=1e-8, **options)
    theirs = GridSearchCV(machine, {"C": CS, "gamma": GAMMAS}, cv=folds).fit(X, y)
    assert_allclose(split_scores(ours), split_scores(theirs), atol=1e-12)
    assert ours.best_params_ == {**theirs.best_params_, "eta": "0.1*auto"}
    assert isinstance(ours.best_estimator_, KNPLClassifier)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_regression():
    X, y = sine()
    epsilons = [0.01, 0.2]
    ours = KNPLRegressorCV(GAMMAS, CS, [0.3], epsilons, cv=KFold(3), search_tol=1e-9).fit(X, y)
    machine = KNPLRegressor(eta="0.3*auto", tol=1e-9)
    grid = {"C": CS, "epsilon": epsilons, "gamma": GAMMAS}
    theirs = GridSearchCV(machine, grid, cv=KFold(3)).fit(X, y)
    assert_allclose(split_scores(ours), split_scores(theirs), atol=1e-6)
    assert ours.best_params_ == {**theirs.best_params_, "eta": "0.3*auto"}
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)


def test_the_plain_machine_is_among_the_candidates():
    X, y = wine()
    plain = KernelSVCCV(GAMMAS, CS, cv=3).fit(X, y)
    ours = KNPLClassifierCV(GAMMAS, CS, cv=3).fit(X, y)
    etas = [params["eta"] for params in ours.cv_results_["params"]]
    assert list(dict.fromkeys(etas)) == [np.inf, "1*auto", "0.1*auto"]
    n = len(GAMMAS) * len(CS)
    assert_allclose(split_scores(ours)[:, :n], split_scores(plain), atol=1e-12)
    if ours.best_params_["eta"] == np.inf:
        assert ours.best_params_ == {**plain.best_params_, "eta": np.inf}
        assert_allclose(ours.decision_function(X), plain.decision_function(X), atol=1e-5)


def test_chosen_eta_can_be_given_back():
    X, y = wine()
    found = KNPLClassifierCV([1.0], [1.0], [0.1]).fit(X, y)
    again = KNPLClassifierCV([1.0], [1.0], [found.best_params_["eta"]]).fit(X, y)
    assert again.best_params_ == found.best_params_ == {"C": 1.0, "gamma": 1.0, "eta": "0.1*auto"}
    single = KNPLClassifier(**found.best_params_).fit(X, y)
    assert_allclose(found.decision_function(X), single.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("etas", [[], [0.0], [-1.0], ["half"]])
def test_bad_etas(etas):
    X, y = wine()
    search = KNPLClassifierCV(etas=etas)
    with pytest.raises(ValueError, match=r"^expected etas to be a list of positive numbers"):
        clone(search).fit(X, y)
