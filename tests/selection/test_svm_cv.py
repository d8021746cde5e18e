import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC, SVR

from kernelfit import KernelSVCCV, KernelSVRCV

GAMMAS, CS = [0.03, 0.5, 8.0], [0.1, 2.0, 40.0, 1000.0]
FOLDS = StratifiedKFold(4, shuffle=True, random_state=1)


def classification(name):
    X, y = {"binary": load_breast_cancer, "three classes": load_wine}[name](return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:150]
    return minmax_scale(X[rows]), y[rows]


def regression():
    X, y = load_diabetes(return_X_y=True)
    return minmax_scale(X[:150]), (y[:150] - y.mean()) / y.std()


def split_scores(search):
    return np.array([search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)])


@pytest.mark.parametrize("name", ["binary", "three classes"])
@pytest.mark.parametrize("scoring", [None, "f1_macro", "roc_auc"])
def test_scores_are_those_of_grid_search(name, scoring):
    """Tight tolerances on both sides: then not one prediction differs."""
    X, y = classification(name)
    if scoring == "roc_auc" and name != "binary":
        pytest.skip("needs probabilities, which LIBSVM calibrates otherwise")
    ours = KernelSVCCV(GAMMAS, CS, cv=FOLDS, search_tol=1e-9, scoring=scoring).fit(X, y)
    grid = {"gamma": GAMMAS, "C": CS}
    theirs = GridSearchCV(SVC(tol=1e-6), grid, cv=FOLDS, scoring=scoring).fit(X, y)
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), atol=1e-12)
    assert [dict(p) for p in theirs.cv_results_["params"]] == ours.cv_results_["params"]
    for key in ("mean_test_score", "std_test_score", "rank_test_score"):
        np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key], atol=1e-12)
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_regression_scores_are_those_of_grid_search(scoring):
    X, y = regression()
    folds = KFold(3, shuffle=True, random_state=0)
    epsilons = [0.1, 0.5]
    options = {"cv": folds, "search_tol": 1e-10, "scoring": scoring}
    ours = KernelSVRCV(GAMMAS, CS[:3], epsilons, **options).fit(X, y)
    grid = {"gamma": GAMMAS, "C": CS[:3], "epsilon": epsilons}
    theirs = GridSearchCV(SVR(tol=1e-7), grid, cv=folds, scoring=scoring).fit(X, y)
    # LIBSVM's single precision rows limit the agreement of the decision values.
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), atol=2e-4)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert ours.best_params_ == theirs.best_params_


@pytest.mark.parametrize("unit", [1e-7, 1e7])
def test_choice_does_not_depend_on_the_unit_of_the_target(unit):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 1))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=80)
    Cs, options = np.array([0.01, 1.0, 100.0]), {"scoring": "neg_mean_squared_error"}
    options["n_average"] = 3
    one = KernelSVRCV([0.01, 1, 10], Cs, [0.05], **options).fit(X, y)
    other = KernelSVRCV([0.01, 1, 10], Cs * unit, [0.05 * unit], **options).fit(X, y * unit)
    assert other.best_index_ == one.best_index_
    assert np.array_equal(other.cv_results_["rank_test_score"], one.cv_results_["rank_test_score"])
    assert len(other.estimators_) == len(one.estimators_)


@pytest.mark.parametrize("name", ["binary", "three classes"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_rows_on_demand_give_the_same_scores(name, multi_class):
    X, y = classification(name)
    options = {"cv": FOLDS, "multi_class": multi_class, "search_tol": 1e-8}
    dense = KernelSVCCV(GAMMAS, CS, **options).fit(X, y)
    rows = KernelSVCCV(GAMMAS, CS, cache_size=0.05, **options).fit(X, y)
    np.testing.assert_allclose(split_scores(dense), split_scores(rows), atol=1e-12)


def test_jobs_order_and_sparsity_change_nothing():
    X, y = classification("three classes")
    plain = KernelSVCCV(GAMMAS, CS, cv=FOLDS).fit(X, y)
    jobs = KernelSVCCV(GAMMAS, CS, cv=FOLDS, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(split_scores(plain), split_scores(jobs))
    other = KernelSVCCV(GAMMAS, CS, cv=FOLDS).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(split_scores(plain), split_scores(other), atol=1e-12)
    shuffled = KernelSVCCV(GAMMAS[::-1], [CS[k] for k in (2, 0, 3, 1)], cv=FOLDS).fit(X, y)
    lookup = {tuple(p.values()): s for p, s in zip(
        shuffled.cv_results_["params"], shuffled.cv_results_["mean_test_score"], strict=True
    )}  # fmt: skip
    expected = plain.cv_results_["mean_test_score"]
    found = [lookup[p["C"], p["gamma"]] for p in plain.cv_results_["params"]]
    np.testing.assert_array_equal(found, expected)


def test_kernels_without_gamma_choose_only_the_cost():
    X, y = classification("binary")
    linear = KernelSVCCV(Cs=CS, kernel="linear", cv=FOLDS).fit(X, y)
    assert set(linear.best_params_) == {"C"}
    given = KernelSVCCV(Cs=CS, kernel="precomputed", cv=FOLDS).fit(X @ X.T, y)
    called = KernelSVCCV(Cs=CS, kernel=lambda A, B: A @ B.T, cv=FOLDS).fit(X, y)
    np.testing.assert_allclose(split_scores(linear), split_scores(given), atol=1e-12)
    np.testing.assert_allclose(split_scores(linear), split_scores(called), atol=1e-12)
    np.testing.assert_array_equal(given.predict(X @ X.T), linear.predict(X))


@pytest.mark.parametrize("kernel", ["laplacian", "poly"])
def test_other_kernels_agree_with_precomputed_ones(kernel):
    X, y = classification("binary")
    search = KernelSVCCV([0.7], CS, kernel=kernel, degree=2, coef0=1.0, cv=FOLDS).fit(X, y)
    K = search.best_estimator_.kernel_(X, X)
    given = KernelSVCCV(Cs=CS, kernel="precomputed", cv=FOLDS).fit(K, y)
    np.testing.assert_allclose(split_scores(search), split_scores(given), atol=1e-12)


def test_a_weight_of_zero_removes_a_row_from_training_and_scores():
    X, y = classification("three classes")
    rng = np.random.default_rng(3)
    keep = rng.random(len(y)) < 0.8
    fold = rng.integers(0, 3, len(y))
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    position = np.cumsum(keep) - 1
    kept_splits = [tuple(position[part[keep[part]]] for part in split) for split in splits]
    # The removed rows are gross outliers: they would show.
    X_bad = np.where(keep[:, None], X, 50.0 * rng.standard_normal(X.shape))
    full = KernelSVCCV(GAMMAS, CS, cv=splits, search_tol=1e-8).fit(X_bad, y, sample_weight=keep)
    less = KernelSVCCV(GAMMAS, CS, cv=kept_splits, search_tol=1e-8).fit(X[keep], y[keep])
    np.testing.assert_allclose(split_scores(full), split_scores(less), atol=1e-12)


def test_balanced_class_weights_are_those_of_the_training_part():
    """Not at a small C: with balanced weights all coefficients are then at their bounds, and the
    intercept is free in an interval, of which LIBSVM takes a point that depends on rounding.
    """
    X, y = classification("binary")
    options = {"class_weight": "balanced", "search_tol": 1e-9}
    ours = KernelSVCCV(GAMMAS, CS[1:], cv=FOLDS, **options).fit(X, y)
    grid = {"gamma": GAMMAS, "C": CS[1:]}
    theirs = GridSearchCV(SVC(tol=1e-6, class_weight="balanced"), grid, cv=FOLDS).fit(X, y)
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gammas": []}, "expected gammas to be a list of positive numbers"),
        ({"gammas": [1.0, -1.0]}, "expected gammas to be a list of positive numbers"),
        ({"gammas": [[1.0]]}, "expected gammas to be a list of positive numbers"),
        ({"Cs": [0.0]}, "expected Cs to be a list of positive numbers"),
        ({"Cs": [np.nan]}, "expected Cs to be a list of positive numbers"),
        ({"kernel": "linear", "gammas": [1.0]}, "expected gammas=None for kernel='linear'"),
        ({"kernel": "sigmoid"}, "The 'kernel' parameter"),
        ({"cv": 1}, "The 'cv' parameter"),
        ({"scoring": "no such score"}, "no such score"),
        (
            {"cv": [(np.arange(40), np.arange(40, 80))]},
            "training part of fold 1: expected at least",
        ),
    ],
)
def test_bad_input_gets_one_sentence_and_leaves_nothing(options, message):
    X, y = load_wine(return_X_y=True)
    search = KernelSVCCV(**options)
    with pytest.raises(ValueError, match=message):
        search.fit(minmax_scale(X), y)
    assert not [name for name in vars(search) if name.endswith("_")]


def test_an_indefinite_or_asymmetric_matrix():
    X, y = classification("binary")
    K = rbf_kernel(X)
    K[3, 5] += 0.1
    with pytest.raises(ValueError, match="symmetric"):
        KernelSVCCV(Cs=CS, kernel="precomputed").fit(K, y)


def test_verbose_reports_every_fold(caplog):
    X, y = classification("binary")
    with caplog.at_level("INFO", logger="kernelfit"):
        KernelSVCCV(GAMMAS, CS, cv=FOLDS, verbose=1).fit(X, y)
    folds = [r.message for r in caplog.records if r.message.startswith("fold ")]
    assert len(folds) == 4
    assert folds[0].startswith("fold 1/4: 12 candidates in ")
