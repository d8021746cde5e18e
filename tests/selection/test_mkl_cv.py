"""Multiple kernels with their parameters chosen by cross-validation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_friedman1, make_moons
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import scale

from kernelfit import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV, path
from kernelfit.inspection import audit

BANK = [{"kernel": "rbf", "gamma": [0.1, 1.0]}, {"kernel": "linear", "features": "each"}]


def friedman(n=80):
    X, y = make_friedman1(n, 5, noise=0.5, random_state=0)
    return scale(X), scale(y)


def agree(search, reference):
    expected = {
        tuple(sorted(params.items())): score
        for params, score in zip(
            reference.cv_results_["params"], reference.cv_results_["mean_test_score"], strict=True
        )
    }
    found = search.cv_results_
    for params, score in zip(found["params"], found["mean_test_score"], strict=True):
        assert_allclose(score, expected[tuple(sorted(params.items()))], atol=0.007)


@pytest.mark.parametrize("combination", ["simple", "lp", "average", "alignf", "easy", "pwmk"])
def test_search_scores_are_those_of_grid_search(combination):
    X, y = load_iris(return_X_y=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    grid = {"C": [10.0, 0.1]}
    options = {"kernels": BANK, "combination": combination}
    ps = {}
    if combination == "lp":
        grid["p"], ps["ps"] = [1.5, 3.0], [1.5, 3.0]
    search = MKLClassifierCV(Cs=[10.0, 0.1], cv=folds, search_tol=1e-6, **options, **ps).fit(X, y)
    agree(search, GridSearchCV(MKLClassifier(tol=1e-6, **options), grid, cv=folds).fit(X, y))
    direct = MKLClassifier(**search.best_params_, **options).fit(X, y)
    assert_array_equal(search.decision_function(X), direct.decision_function(X))
    assert audit(search, X, y).confirmed
    assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)


def test_regression_search_over_p_and_epsilon():
    X, y = friedman()
    options = {"kernels": BANK, "combination": "lp"}
    folds = KFold(3)
    search = MKLRegressorCV(
        Cs=[1.0, 10.0], epsilons=[0.1, 0.01], ps=[1.0, 2.0], cv=folds, search_tol=1e-6, **options
    ).fit(X, y)
    grid = {"C": [1.0, 10.0], "epsilon": [0.1, 0.01], "p": [1.0, 2.0]}
    agree(search, GridSearchCV(MKLRegressor(tol=1e-6, **options), grid, cv=folds).fit(X, y))
    assert search.score(X, y) > 0.8


@pytest.mark.parametrize("sharing", ["joint", "separate"])
def test_given_matrices(sharing):
    X, y = load_iris(return_X_y=True)
    K = np.stack([rbf_kernel(X, gamma=g) for g in (0.1, 1.0)] + [polynomial_kernel(X, None, 2)], -1)
    options = {"kernels": "precomputed", "kernel_sharing": sharing}
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    search = MKLClassifierCV(Cs=[1.0, 5.0], cv=folds, search_tol=1e-6, **options).fit(K, y)
    model = MKLClassifier(tol=1e-6, **options)
    agree(search, GridSearchCV(model, {"C": [1.0, 5.0]}, cv=folds).fit(K, y))
    search.fit(K, y, sample_weight=weight)
    assert search.score(K, y) > 0.9
    assert search.predict_proba(K).shape == (150, 3)


def test_features_by_name():
    pandas = pytest.importorskip("pandas")
    X, y = make_moons(80, noise=0.2, random_state=0)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    bank = [{"kernel": "rbf", "features": ["b"]}, {"kernel": "rbf", "features": ["a"]}]
    search = MKLClassifierCV(Cs=[1.0], kernels=bank).fit(frame, y)
    assert [member.features for member in search.best_estimator_.bank_] == [(1,), (0,)]


def test_path_of_costs():
    X, y = make_moons(80, noise=0.2, random_state=0)
    Cs = [0.1, 1.0, 10.0]
    for model, C in zip(path(MKLClassifier(kernels=BANK), X, y, Cs), Cs, strict=True):
        alone = MKLClassifier(C, kernels=BANK).fit(X, y)
        assert_allclose(model.objective_, alone.objective_, rtol=2e-3)
        assert audit(model, X, y).confirmed


def test_complaints():
    X, y = make_moons(40, random_state=0)
    with pytest.raises(ValueError, match=r"expected ps=None for combination='simple'"):
        MKLClassifierCV(ps=[1.0]).fit(X, y)
    with pytest.raises(ValueError, match=r"expected ps to be at least 1, got 0.5"):
        MKLClassifierCV(ps=[2.0, 0.5], combination="lp").fit(X, y)
    with pytest.raises(ValueError, match=r"empty bank"):
        MKLClassifierCV(kernels=[]).fit(X, y)
