import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import minmax_scale

from kernelfit import DANKClassifier, DANKClassifierCV, DANKRegressor, DANKRegressorCV, KernelSVCCV

GAMMAS, CS = [0.1, 2.0], [0.5, 10.0, 1000.0]


def split_scores(search):
    return np.array([search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)])


@pytest.mark.parametrize("tau", [0.0, 0.05])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_scores_are_those_of_grid_search(load, tau):
    X, y = load(return_X_y=True)
    X, y = minmax_scale(X)[::3], y[::3]
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    ours = DANKClassifierCV(GAMMAS, CS, [np.inf, 0.1], tau=tau, cv=folds, search_tol=1e-8).fit(X, y)
    grid = {"eta": [1e15, "0.1*auto"], "C": CS, "gamma": GAMMAS}
    machine = DANKClassifier(tau=tau, tol=1e-8)
    scores = []
    for eta in grid["eta"]:  # in ParameterGrid eta would come last
        part = GridSearchCV(machine.set_params(eta=eta), {"C": CS, "gamma": GAMMAS}, cv=folds)
        scores.append(split_scores(part.fit(X, y)))
    assert np.allclose(split_scores(ours), np.concatenate(scores, axis=1), atol=1e-12)
    mean = ours.cv_results_["mean_test_score"].round(12)
    n_plain = len(CS) * len(GAMMAS)
    best, plain = mean.argmax(), mean[:n_plain].argmax()
    gain = split_scores(ours)[:, best] - split_scores(ours)[:, plain]
    chosen = best if gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(3) else plain
    assert ours.best_index_ == chosen
    assert ours.best_params_ == ours.cv_results_["params"][chosen]
    assert ours.best_estimator_.get_params()["eta"] == ours.best_params_["eta"]


def test_ties_go_to_the_plain_machine():
    X, y = load_wine(return_X_y=True)
    X = minmax_scale(X)
    plain = KernelSVCCV(GAMMAS, CS).fit(X, y)
    ours = DANKClassifierCV(GAMMAS, CS).fit(X, y)
    assert ours.best_score_ >= plain.best_score_
    if ours.best_score_ == plain.best_score_:
        assert ours.best_params_ == {**plain.best_params_, "eta": np.inf}


def results(gains):
    """Return the table of a plain machine and of one with a factor, which gains so much."""
    scores = {f"split{k}_test_score": np.array([0.5, 0.5 + g]) for k, g in enumerate(gains)}
    mean = np.array([0.5, 0.5 + np.mean(gains)])
    ranks = np.argsort(np.argsort(-mean)) + 1
    params = [{"C": 1.0, "eta": np.inf}, {"C": 1.0, "eta": "1*auto"}]
    return {**scores, "mean_test_score": mean, "rank_test_score": ranks, "params": params}


@pytest.mark.parametrize(
    ("gains", "chosen"),
    [
        ([0.1, 0.2, 0.1], 1),
        ([0.1, 0.1], 1),
        ([0.3, -0.2, 0.1], 0),
        ([0.1], 0),  # one fold says nothing about errors
        ([-0.1, -0.1], 0),
    ],
)
def test_only_a_clear_gain_is_taken(gains, chosen):
    assert DANKClassifierCV()._chosen(results(gains)) == [chosen]


@pytest.mark.parametrize(
    ("gains", "chosen"), [([0.3, -0.2, 0.1], 1), ([0.1], 1), ([0.0, 0.0], 0), ([-0.1, -0.1], 0)]
)
def test_regression_takes_any_gain(gains, chosen):
    assert DANKRegressorCV()._chosen(results(gains)) == [chosen]


def test_machines_that_differ_in_eta_alone_count_once():
    table = results([0.1, 0.2, 0.1])
    assert DANKClassifierCV(n_average=10)._ranked(table) == [1]
    table["params"][0]["eta"] = "10*auto"  # without a plain machine both are ranked, one counts
    assert DANKClassifierCV(n_average=10)._ranked(table) == [1]
    table["params"][0]["C"] = 2.0
    assert DANKClassifierCV(n_average=10)._ranked(table) == [1, 0]


def test_repeated_rows_count_as_in_the_machine():
    """How copies share a coefficient is open, and depends on the path: eta must not."""
    rng = np.random.default_rng(4)
    X = np.round(2 * rng.normal(size=(80, 2))) / 2
    y = (np.sin(X[:, 0]) + 0.1 * rng.normal(size=80) > 0).astype(int)
    fold = [(np.arange(60), np.arange(60, 80))]

    def value(machine, X, y):
        return float(machine.decision_function(X)[0])

    machine = DANKClassifier(gamma=1.0, C=10.0, tau=0.0, tol=1e-10).fit(X[:60], y[:60])
    expected = machine.decision_function(X[60:])[0]
    for Cs in ([10.0], [0.1, 0.7, 10.0]):
        search = DANKClassifierCV(
            [1.0], Cs, etas=[1], cv=fold, scoring=value, search_tol=1e-10
        ).fit(X, y)
        assert np.isclose(search.cv_results_["split0_test_score"][-1], expected, rtol=1e-5)


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    folds = KFold(3)
    ours = DANKRegressorCV(GAMMAS, CS[:2], [0.3], [0.05, 0.2], cv=folds, search_tol=1e-9).fit(X, y)
    grid = {"C": CS[:2], "epsilon": [0.05, 0.2], "gamma": GAMMAS}
    machine = DANKRegressor(eta="0.3*auto", tau=0.0, tol=1e-9)
    theirs = GridSearchCV(machine, grid, cv=folds).fit(X, y)
    assert np.allclose(split_scores(ours), split_scores(theirs), atol=1e-6)
    assert ours.best_params_ == {**theirs.best_params_, "eta": "0.3*auto"}


def test_plain_machine_of_the_search_is_that_of_the_refit():
    """With a large tau the nuclear norm takes much of the kernel, also where eta is infinite."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    ours = DANKRegressorCV(
        GAMMAS, CS[:2], [np.inf], [0.05], tau=30.0, cv=KFold(3), search_tol=1e-9
    ).fit(X, y)
    machine = DANKRegressor(eta=np.inf, tau=30.0, tol=1e-9, epsilon=0.05)
    theirs = GridSearchCV(machine, {"C": CS[:2], "gamma": GAMMAS}, cv=KFold(3)).fit(X, y)
    assert np.allclose(split_scores(ours), split_scores(theirs), atol=1e-6)


@pytest.mark.parametrize(
    "etas", [[], [0.0], [[1.0]], np.ones((1, 1)), [-1.0], [np.nan], ["half"], ["-1*auto"], [None]]
)
def test_bad_etas(etas):
    """They are no matter of a fold."""
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match=r"^expected etas to be a list of positive numbers"):
        DANKClassifierCV(etas=etas).fit(X, y)


def test_chosen_eta_can_be_given_back():
    X, y = load_wine(return_X_y=True)
    X, grid = minmax_scale(X), ([1.0], [1.0])
    found = DANKClassifierCV(*grid, etas=[0.1]).fit(X, y)
    again = DANKClassifierCV(*grid, etas=[found.best_params_["eta"]]).fit(X, y)
    assert again.best_params_ == found.best_params_ == {"C": 1.0, "gamma": 1.0, "eta": "0.1*auto"}
    mixed = DANKClassifierCV(*grid, etas=[np.inf, "auto", "0.1*auto"]).fit(X, y)
    assert [p["eta"] for p in mixed.cv_results_["params"]] == [np.inf, "1*auto", "0.1*auto"]


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_complaints_name_the_search(kernel):
    X, y = load_wine(return_X_y=True)
    X = minmax_scale(X)
    if kernel == "precomputed":
        X = X @ X.T
    search = DANKClassifierCV(Cs=[1.0], etas=[np.inf], kernel=kernel)
    with pytest.raises(ValueError, match="but DANKClassifierCV is expecting"):
        search.fit(X, y).predict_proba(X[:, :2])
    with pytest.raises(ValueError, match="but DANKClassifierCV is expecting"):
        search.fit(X, y).predict(X[:, :2])
