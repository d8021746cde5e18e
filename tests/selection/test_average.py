"""The mean of the machines whose scores cannot be told apart."""

import math
import pickle
import statistics

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_wine
from sklearn.preprocessing import minmax_scale

from kernelfit import (
    DANKClassifierCV,
    DANKRegressorCV,
    GPKClassifierCV,
    KernelSVC,
    KernelSVCCV,
    KernelSVRCV,
    KNPLClassifierCV,
    TKLClassifierCV,
    TKLRegressorCV,
)

X_WINE, Y_WINE = load_wine(return_X_y=True)
X_WINE = minmax_scale(X_WINE)
GRID = {"gammas": [0.1, 1.0, 10.0], "Cs": [0.1, 1.0, 10.0]}


def two_classes():
    return X_WINE, Y_WINE == 1


def three_classes():
    return X_WINE, Y_WINE


def regression():
    X, y = load_diabetes(return_X_y=True)
    return minmax_scale(X)[:120], y[:120] / 100


def params_to_average(search):
    """Return the parameters of the machines to average, by loops over candidates and folds."""
    results, n_folds = search.cv_results_, search.n_splits_
    params = results["params"]
    scores = [
        [results[f"split{k}_test_score"][i] for k in range(n_folds)] for i in range(len(params))
    ]
    order = sorted(range(len(params)), key=lambda i: (-round(statistics.fmean(scores[i]), 12), i))
    chosen = []
    for i in order:
        deficits = [b - a for a, b in zip(scores[i], scores[order[0]], strict=True)]
        if statistics.fmean(deficits) <= statistics.stdev(deficits) / math.sqrt(n_folds) + 1e-12:
            chosen.append(params[i])
    return chosen[: search.n_average]


SEARCHES = [
    (KernelSVCCV(**GRID, n_average=4), two_classes),
    (KernelSVCCV(**GRID, n_average=4), three_classes),
    (KernelSVCCV(**GRID, n_average=4, multi_class="ovr"), three_classes),
    (KernelSVRCV(**GRID, epsilons=[0.1], n_average=4), regression),
    (DANKClassifierCV(**GRID, etas=[0.5], n_average=4), three_classes),
    (DANKRegressorCV(**GRID, etas=[0.5], epsilons=[0.1], n_average=4), regression),
    (KNPLClassifierCV(**GRID, etas=[0.5], n_average=4), two_classes),
    (TKLClassifierCV([0.1, 0.5], [0.1, 1.0], n_average=3), two_classes),
    (TKLRegressorCV([0.1, 0.5], [0.1, 1.0], n_average=3), regression),
    (GPKClassifierCV([1, 2], [0.1, 1.0], n_average=3), three_classes),
]


@pytest.mark.parametrize(("search", "data"), SEARCHES)
def test_values_are_the_mean_of_the_best_machines(search, data):
    X, y = data()
    search = clone(search).fit(X, y)
    expected = params_to_average(search)
    assert len(expected) > 1
    found = [
        {name: getattr(machine, name) for name in expected[0]} for machine in search.estimators_
    ]
    assert found == expected
    assert search.estimators_[0] is search.best_estimator_
    if is_classifier(search):
        values = [machine.decision_function(X) for machine in search.estimators_]
        expected = np.mean(values, axis=0)
        if np.ndim(expected) == 1:
            assert np.allclose(search.decision_function(X), expected, atol=1e-12)
            assert np.array_equal(search.predict(X), search.classes_[(expected > 0).astype(int)])
        else:
            shown = search.decision_function(X)
            assert shown.shape == expected.shape
            assert np.mean(search.classes_[shown.argmax(axis=1)] == search.predict(X)) == 1.0
    else:
        expected = np.mean([machine.predict(X) for machine in search.estimators_], axis=0)
        assert np.allclose(search.predict(X), expected, atol=1e-12)
    again = pickle.loads(pickle.dumps(search))
    assert np.array_equal(again.predict(X), search.predict(X))


def test_one_against_one_averages_the_pairs_and_then_votes():
    X, y = three_classes()
    options = {**GRID, "decision_function_shape": "ovo"}
    search = KernelSVCCV(**options, n_average=3).fit(X[::2], y[::2])
    pairs = np.mean([machine.decision_function(X) for machine in search.estimators_], axis=0)
    assert np.allclose(search.decision_function(X), pairs, atol=1e-12)
    votes = np.zeros((len(X), 3))
    for k, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        np.add.at(votes, (np.arange(len(X)), np.where(pairs[:, k] > 0, a, b)), 1)
    assert np.array_equal(search.predict(X), votes.argmax(axis=1))


def test_one_machine_is_the_best_one():
    X, y = two_classes()
    search = KernelSVCCV(**GRID).fit(X, y)
    alone = KernelSVC(**search.best_params_, tol=search.tol).fit(X, y)
    assert search.estimators_ == [search.best_estimator_]
    assert np.array_equal(search.decision_function(X), alone.decision_function(X))


def test_clearly_worse_machines_are_left_out():
    X, y = two_classes()
    search = KernelSVCCV([1e-6, 1.0], [1e-6, 10.0], n_average=100).fit(X, y)
    assert search.best_score_ > 0.95
    assert len(search.estimators_) == 1


def test_candidates_without_a_finite_score_are_left_out():
    def score(machine, X, y):
        return 1.0 if machine.decision_function(X).std() > 0.5 else np.nan

    X, y = two_classes()
    search = KernelSVCCV(**GRID, scoring=score, n_average=100)
    with pytest.warns(UserWarning, match="scores that are not finite"):
        search.fit(X, y)
    finite = np.isfinite(search.cv_results_["mean_test_score"])
    assert 0 < finite.sum() < finite.size
    assert len(search.estimators_) == finite.sum()


@pytest.mark.parametrize("n_average", [1, 5])
def test_one_fold_tells_nothing_about_errors(n_average):
    X, y = two_classes()
    fold = [(np.arange(0, len(y), 2), np.arange(1, len(y), 2))]
    search = KernelSVCCV(**GRID, cv=fold, n_average=n_average).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(search.estimators_) == min(n_average, np.sum(scores == scores.max()))


def test_equal_scores_prefer_the_smoothest_machine():
    X = np.r_[np.zeros((10, 1)), np.ones((10, 1))]  # every machine is right
    search = KernelSVCCV().fit(X, np.repeat([0, 1], 10))
    assert search.best_score_ == 1.0
    perfect = search.cv_results_["mean_test_score"] == 1.0
    assert search.best_params_["C"] == search.cv_results_["param_C"][perfect].min()
    smallest = perfect & (search.cv_results_["param_C"] == search.best_params_["C"])
    assert search.best_params_["gamma"] == search.cv_results_["param_gamma"][smallest].min()


@pytest.mark.parametrize("n_average", [0, -1, 1.5, None])
def test_bad_numbers(n_average):
    with pytest.raises(ValueError, match="n_average"):
        KernelSVCCV(n_average=n_average).fit(*two_classes())
