"""The mean of the machines with the best scores."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_wine
from sklearn.preprocessing import minmax_scale

from kernelfit import (
    DANKClassifierCV,
    DANKRegressorCV,
    KernelSVC,
    KernelSVCCV,
    KernelSVRCV,
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


SEARCHES = [
    (KernelSVCCV(**GRID, n_average=4), two_classes),
    (KernelSVCCV(**GRID, n_average=4), three_classes),
    (KernelSVCCV(**GRID, n_average=4, multi_class="ovr"), three_classes),
    (KernelSVRCV(**GRID, n_average=4), regression),
    (DANKClassifierCV(**GRID, n_average=4), three_classes),
    (DANKRegressorCV(**GRID, n_average=4), regression),
    (TKLClassifierCV([0.1, 1.0], [0.1, 0.5], n_average=3), two_classes),
    (TKLRegressorCV([0.1, 1.0], [0.1, 0.5], n_average=3), regression),
]


@pytest.mark.parametrize(("search", "data"), SEARCHES)
def test_values_are_the_mean_of_the_best_machines(search, data):
    X, y = data()
    search = clone(search).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(search.estimators_) == search.n_average
    assert search.estimators_[0] is search.best_estimator_
    own = [search.best_score_]  # of the averaged machines, from their parameters
    for machine in search.estimators_[1:]:
        index = [
            all(getattr(machine, name) == value for name, value in params.items())
            for params in search.cv_results_["params"]
        ].index(True)
        own.append(scores[index])
    assert own == sorted(own, reverse=True)
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


def test_machines_that_differ_in_eta_alone_count_once():
    X, y = two_classes()
    search = DANKClassifierCV(**GRID, n_average=100).fit(X, y)
    pairs = [(machine.gamma, machine.C) for machine in search.estimators_]
    assert len(pairs) == len(set(pairs)) == 9
    results = search.cv_results_
    for machine in search.estimators_:
        rivals = [
            (-score, index)
            for index, (score, params) in enumerate(
                zip(results["mean_test_score"].round(12), results["params"], strict=True)
            )
            if (params["gamma"], params["C"]) == (machine.gamma, machine.C)
        ]
        assert results["params"][min(rivals)[1]]["eta"] == machine.eta


def test_candidates_without_a_finite_score_are_left_out():
    def score(machine, X, y):
        good = machine.decision_function(X).std() > 0.5
        return machine.score(X, y) if good else np.nan

    X, y = two_classes()
    search = KernelSVCCV(**GRID, scoring=score, n_average=100)
    with pytest.warns(UserWarning, match="scores that are not finite"):
        search.fit(X, y)
    finite = np.isfinite(search.cv_results_["mean_test_score"])
    assert 0 < finite.sum() < finite.size
    assert len(search.estimators_) == finite.sum()


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
