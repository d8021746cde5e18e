"""The union of families with its parameters chosen by cross-validation."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold, StratifiedKFold

from kernelfit import (
    KernelUnionClassifier,
    KernelUnionClassifierCV,
    KernelUnionRegressor,
    KernelUnionRegressorCV,
)

FAMILIES = ["gaussian", "tessellated"]


def steps(n=90):
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    return X, np.sin(3.0 * X[:, 0]) + (X[:, 1] > 0.2)


def loop(model, X, y, folds, candidates):
    """Return the mean score of every candidate over the folds, each fitted by itself."""
    scores = np.zeros(len(candidates))
    for train, test in folds.split(X, y):
        for k, params in enumerate(candidates):
            fitted = model.set_params(**params).fit(X[train], y[train])
            scores[k] += fitted.score(X[test], y[test]) / folds.get_n_splits()
    return scores


def test_scores_are_those_of_a_loop_over_folds():
    X, y = steps()
    grid = {"Cs": [0.5, 20.0], "deltas": [0.1, 1.0], "tessellated_degrees": [0, 1]}
    folds = KFold(3, shuffle=True, random_state=0)
    search = KernelUnionRegressorCV(
        **grid, bases=["x"], epsilons=[0.05], families=FAMILIES, cv=folds, search_tol=1e-7
    ).fit(X, y)
    model = KernelUnionRegressor(families=FAMILIES, tol=1e-7)
    candidates = search.cv_results_["params"]
    assert len(candidates) == 8
    names = {"C", "basis", "delta", "epsilon", "tessellated_degree"}
    assert all(set(params) == names for params in candidates)
    expected = loop(model, X, y, folds, candidates)
    assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=0, atol=1e-4)
    assert np.ptp(expected) > 0.01
    best = KernelUnionRegressor(families=FAMILIES, **search.best_params_).fit(X, y)
    assert_array_equal(search.predict(X), best.predict(X))
    assert search.best_estimator_.dual_gap_ <= 1e-3 * search.best_estimator_.objective_


@pytest.mark.parametrize("kernel_sharing", ["joint", "separate"])
def test_scores_of_several_classes_are_those_of_a_loop(kernel_sharing):
    X, y = steps()
    y = np.digitize(y, [0.0, 1.0])
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    options = {"families": FAMILIES, "kernel_sharing": kernel_sharing}
    search = KernelUnionClassifierCV([0.1, 1.0], [1.0, 30.0], cv=folds, search_tol=1e-6, **options)
    search.fit(X, y)
    candidates = search.cv_results_["params"]
    pairs = set(product([1.0, 30.0], [0.1, 1.0]))
    assert {(params["C"], params["delta"]) for params in candidates} == pairs
    expected = loop(KernelUnionClassifier(tol=1e-6, **options), X, y, folds, candidates)
    # One row may be on either side of a boundary.
    assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=0, atol=1.01 / 90)
    assert search.predict_proba(X).shape == (90, 3)


def test_default_grids_and_complaints():
    X, y = steps(40)
    search = KernelUnionRegressorCV(families=["gaussian"], Cs=[1.0], cv=2).fit(X, y)
    assert set(search.best_params_) == {"C", "epsilon"}
    params = KernelUnionRegressorCV(Cs=[1.0], families=FAMILIES, cv=2)._kernel_params(X, None)
    assert params == [{"delta": delta} for delta in (0.1, 0.5, 2.0)]
    for options, message in (
        (
            {"families": ["gaussian"], "bases": ["x"]},
            "without the tessellated family, got",
        ),
        ({"bases": ["z"]}, r"expected bases among 'x', 'xz', got \['z'\]"),
        ({"tessellated_degrees": [0.5]}, "expected tessellated_degrees to be a list of integers"),
        ({"deltas": [-1.0]}, "expected deltas to be a list of numbers >= 0"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelUnionRegressorCV(**options).fit(X, y)
