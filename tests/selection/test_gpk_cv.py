"""GPK with its parameters chosen by cross-validation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_friedman1
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

from kernelfit import GPKClassifier, GPKClassifierCV, GPKRegressor, GPKRegressorCV

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


class Steps:
    """A feature map of the user's."""

    def size(self, n_features):
        return 1 + 3 * n_features

    def features(self, X):
        steps = X[:, :, None] > [0.25, 0.5, 0.75]
        return np.hstack([np.ones((len(X), 1)), steps.reshape(len(X), -1)])


@pytest.mark.parametrize("sharing", ["separate", "joint"])
def test_scores_are_those_of_grid_search(sharing):
    X, y = load_iris(return_X_y=True)
    options = {"kernel_sharing": sharing}
    ours = GPKClassifierCV([1, 2], [0.1, 10.0], cv=FOLDS, search_tol=1e-7, **options).fit(X, y)
    machine = GPKClassifier(tol=1e-7, **options)
    theirs = GridSearchCV(machine, {"C": [0.1, 10.0], "degree": [1, 2]}, cv=FOLDS).fit(X, y)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.007
    )
    assert all(type(params["degree"]) is int for params in ours.cv_results_["params"])
    direct = GPKClassifier(**ours.best_params_, **options).fit(X, y)
    assert_array_equal(ours.decision_function(X), direct.decision_function(X))


def test_regression():
    X, y = make_friedman1(80, 5, noise=0.5, random_state=0)
    epsilons = [0.0, 0.5]
    ours = GPKRegressorCV([1, 2], [1.0, 100.0], epsilons, cv=KFold(3), search_tol=1e-6).fit(X, y)
    grid = {"C": [1.0, 100.0], "degree": [1, 2], "epsilon": epsilons}
    theirs = GridSearchCV(GPKRegressor(tol=1e-6), grid, cv=KFold(3)).fit(X, y)
    scores = {
        tuple(sorted(params.items())): score
        for params, score in zip(
            theirs.cv_results_["params"], theirs.cv_results_["mean_test_score"], strict=True
        )
    }
    for params, score in zip(
        ours.cv_results_["params"], ours.cv_results_["mean_test_score"], strict=True
    ):
        assert_allclose(score, scores[tuple(sorted(params.items()))], atol=2e-3)
    assert ours.best_params_ == theirs.best_params_
    assert isinstance(ours.best_estimator_, GPKRegressor)


def test_feature_map_of_the_user():
    X, y = load_iris(return_X_y=True)
    search = GPKClassifierCV(Cs=[0.1, 1.0], feature_map=Steps(), cv=FOLDS).fit(X, y)
    assert set(search.best_params_) == {"C"}
    assert search.best_score_ > 0.9
    assert search.best_estimator_.P_.shape == (3, 13, 13)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degrees": [1], "feature_map": Steps()}, "expected degrees=None for a feature_map"),
        ({"degrees": [1.5]}, r"expected degrees to be a list of integers, got \[1.5\]"),
        ({"degrees": [-1]}, "expected degrees to be a list of numbers >= 0"),
        ({"degrees": []}, "expected degrees to be a list of numbers >= 0"),
        ({"Cs": [0.0]}, "expected Cs to be a list of positive numbers"),
        ({"feature_map": object()}, "feature_map"),
        ({"kernel_sharing": "both"}, "kernel_sharing"),
    ],
)
def test_bad_input(options, message):
    X, y = load_iris(return_X_y=True)
    search = GPKClassifierCV(**options)
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)
    assert not [name for name in vars(search) if name.endswith("_")]


def test_degrees_as_an_array():
    X, y = load_iris(return_X_y=True)
    search = GPKClassifierCV(np.array([1, 2]), np.array([1.0]), cv=FOLDS).fit(X, y)
    assert search.best_params_["degree"] in (1, 2)
