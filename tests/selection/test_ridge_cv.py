import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict

from kernelfit import (
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeRegressor,
    KernelRidgeRegressorCV,
)
from kernelfit.inspection import audit

GAMMAS, CS = [0.05, 0.5], [0.1, 1.0, 30.0]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(35, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=35)


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::4], np.array(["a", "b", "c"])[y[::4]]


def test_regression_scores_are_those_of_refits(data):
    X, y = data
    search = KernelRidgeRegressorCV(GAMMAS, CS).fit(X, y)
    table = search.cv_results_
    assert search.n_splits_ == 35 and len(table["params"]) == 6
    for params, score in zip(table["params"], table["mean_test_score"], strict=True):
        left_out = cross_val_predict(KernelRidgeRegressor(**params), X, y, cv=LeaveOneOut())
        expected = 1.0 - np.sum((y - left_out) ** 2) / np.sum((y - y.mean()) ** 2)
        assert score == pytest.approx(expected, abs=1e-10)
    assert search.best_score_ == table["mean_test_score"].max()
    alone = KernelRidgeRegressor(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.predict(X), alone.predict(X), rtol=1e-8)
    assert audit(search, X, y).confirmed


def test_classification_scores_are_those_of_refits(iris):
    X, y = iris
    search = KernelRidgeClassifierCV(GAMMAS, CS).fit(X, y)
    table = search.cv_results_
    for params, score in zip(table["params"], table["mean_test_score"], strict=True):
        left_out = cross_val_predict(KernelRidgeClassifier(**params), X, y, cv=LeaveOneOut())
        assert score == pytest.approx(np.mean(left_out == y))
    assert audit(search, X, y).confirmed


@pytest.mark.parametrize("kernel", ["exponential", "additive", "linear", "precomputed"])
def test_other_kernels(data, kernel):
    X, y = data
    K = X @ X.T if kernel == "precomputed" else X
    gammas = GAMMAS if kernel in ("exponential", "additive") else None
    search = KernelRidgeRegressorCV(gammas, CS, kernel=kernel).fit(K, y)
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        machine = KernelRidgeRegressor(kernel=kernel, **params)
        left_out = cross_val_predict(machine, K, y, cv=LeaveOneOut())
        expected = 1.0 - np.sum((y - left_out) ** 2) / np.sum((y - y.mean()) ** 2)
        assert score == pytest.approx(expected, abs=1e-8)


def test_folds_are_those_of_a_grid_search(data):
    X, y = data
    Y = np.column_stack([y, X[:, 2] ** 2])
    for targets in (y, Y):
        ours = KernelRidgeRegressorCV(GAMMAS, CS, cv=4).fit(X, targets)
        grid = {"gamma": GAMMAS, "C": CS}
        theirs = GridSearchCV(KernelRidgeRegressor(), grid, cv=4).fit(X, targets)
        scores = {
            (p["gamma"], p["C"]): score
            for p, score in zip(
                theirs.cv_results_["params"], theirs.cv_results_["mean_test_score"], strict=True
            )
        }
        for p, score in zip(
            ours.cv_results_["params"], ours.cv_results_["mean_test_score"], strict=True
        ):
            assert score == pytest.approx(scores[p["gamma"], p["C"]], abs=1e-9)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)


def test_several_targets_left_out(data):
    X, y = data
    Y = np.column_stack([y, X[:, 2] ** 2])
    both = KernelRidgeRegressorCV(GAMMAS, CS).fit(X, Y)
    alone = [KernelRidgeRegressorCV(GAMMAS, CS).fit(X, Y[:, k]) for k in range(2)]
    means = np.mean([search.cv_results_["mean_test_score"] for search in alone], axis=0)
    np.testing.assert_allclose(both.cv_results_["mean_test_score"], means, rtol=1e-9)
    assert both.predict(X).shape == Y.shape


def test_weights_count_in_errors_and_scores(data):
    X, y = data
    weight = np.arange(35) % 4 + 0.5
    weight[:3] = 0.0
    search = KernelRidgeRegressorCV([0.5], [1.0], scoring="neg_mean_squared_error")
    search.fit(X, y, sample_weight=weight)
    squares, used = 0.0, np.flatnonzero(weight)
    for i in used:
        rest = np.setdiff1d(used, [i])
        alone = KernelRidgeRegressor(1.0, gamma=0.5).fit(X[rest], y[rest], weight[rest])
        squares += weight[i] * (y[i] - alone.predict(X[i : i + 1])[0]) ** 2
    assert -search.best_score_ == pytest.approx(squares / weight.sum(), rel=1e-9)
    assert search.n_splits_ == 32
    absent = KernelRidgeRegressorCV([0.5], [1.0], scoring="neg_mean_squared_error")
    absent.fit(X[used], y[used], sample_weight=weight[used])
    assert absent.best_score_ == pytest.approx(search.best_score_, rel=1e-12)


def test_probabilities_come_from_values_left_out(iris):
    X, y = iris
    search = KernelRidgeClassifierCV(GAMMAS, CS).fit(X, y)
    p = search.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(search.classes_[p.argmax(axis=1)], search.predict(X))
    assert log_loss(y, p) < 0.7
    by_loss = KernelRidgeClassifierCV(GAMMAS, CS, scoring="neg_log_loss").fit(X, y)
    assert -1.0 < by_loss.best_score_ < 0.0


def test_default_grid_follows_the_data(data):
    X, y = data
    plain = KernelRidgeRegressorCV().fit(X, y)
    scaled = KernelRidgeRegressorCV().fit(100.0 * X, 1e-3 * y)
    assert scaled.best_params_["C"] == plain.best_params_["C"]
    assert scaled.best_params_["gamma"] == pytest.approx(plain.best_params_["gamma"] / 1e4)
    assert plain.best_score_ > 0.9


def test_jobs_do_not_change_the_result(data):
    X, y = data
    one, two = (KernelRidgeRegressorCV(GAMMAS, CS, n_jobs=n).fit(X, y) for n in (None, 2))
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_averages(iris):
    X, y = iris
    search = KernelRidgeClassifierCV(n_average=4).fit(X, y)
    values = [machine.decision_function(X) for machine in search.estimators_]
    np.testing.assert_allclose(search.decision_function(X), np.mean(values, axis=0))
    scores = search.cv_results_["mean_test_score"]
    assert len(values) == min(4, np.sum(scores == scores.max()))


def test_complaints(data):
    X, y = data
    with pytest.raises(ValueError, match="to leave one out, got one sample"):
        KernelRidgeRegressorCV().fit(X, y, sample_weight=np.eye(35)[0])
    with pytest.raises(ValueError, match="expected Cs to be a list of positive numbers"):
        KernelRidgeRegressorCV(Cs=[-1.0]).fit(X, y)
    with pytest.raises(ValueError, match="expected gammas=None for kernel='linear'"):
        KernelRidgeRegressorCV([1.0], kernel="linear").fit(X, y)
