"""The two estimators as a user meets them."""

import pickle
import warnings
from inspect import getmembers

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from kernelfit import (
    AutoKernelClassifier,
    AutoKernelRegressor,
    KernelQuantileRegressor,
    KernelSVC,
)
from kernelfit.ensemble import assemble as assemble_module
from kernelfit.ensemble import engine as engine_module
from kernelfit.ensemble import search as search_module
from kernelfit.ensemble import training as training_module

FEW = ["gaussian (standard)", "laplacian (ranks)"]


@pytest.fixture(scope="module")
def friedman():
    X, y = make_friedman1(180, n_features=6, noise=0.3, random_state=0)
    return X[:120], y[:120], X[120:], y[120:]


@pytest.fixture(scope="module")
def binary():
    X, y = make_classification(240, 6, n_informative=4, class_sep=0.8, random_state=3)
    return X[:120], y[:120], X[120:], y[120:]


@pytest.fixture(scope="module")
def classifier(binary):
    return AutoKernelClassifier(members=FEW, random_state=0).fit(*binary[:2])


@pytest.fixture(scope="module")
def regressor(friedman):
    return AutoKernelRegressor(members=FEW, random_state=0).fit(*friedman[:2])


def test_default_members_beat_each_other_in_a_stack():
    X, y = make_friedman1(300, n_features=5, noise=0.5, random_state=1)
    model = AutoKernelRegressor(random_state=0).fit(X[:100], y[:100])
    kinds = {name.partition(" (")[0] for name in model.leaderboard_["member"]}
    assert kinds == {"gaussian", "forest", "laplacian", "exponential", "spline", "additive"}
    assert model.score(X[100:], y[100:]) > 0.85
    board = model.leaderboard_
    assert board["weight"].sum() == pytest.approx(1.0)
    assert (np.diff(board["loss"]) >= 0).all()
    assert len(model.members_) == len(model.weights_) == (board["weight"] > 0).sum()


def test_probabilities_decisions_and_classes_agree(classifier, binary):
    p = classifier.predict_proba(binary[2])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    decision = classifier.decision_function(binary[2])
    np.testing.assert_allclose(decision, np.log(p[:, 1] / p[:, 0]), atol=1e-10)
    np.testing.assert_array_equal(classifier.predict(binary[2]), decision > 0)
    assert log_loss(binary[3], p) < 0.5


def test_several_classes_with_text_labels():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = AutoKernelClassifier(members=FEW, random_state=0).fit(X[::2], names[::2])
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X[1::2], names[1::2]) > 0.9


def test_one_row_is_predicted_as_among_many(regressor, friedman):
    X = friedman[2]
    one_by_one = np.concatenate([regressor.predict(row[None]) for row in X[:5]])
    np.testing.assert_allclose(one_by_one, regressor.predict(X)[:5], rtol=1e-10)


def test_certificates(regressor, classifier):
    for model in (regressor, classifier):
        assert 0.0 <= model.certificate_["stack"] <= 1e-7
        assert model.certificate_["machines"].shape == model.weights_.shape
        assert model.certificate_["machines"].max() <= 1e-8
        assert model.weights_.sum() == pytest.approx(1.0)


def test_single_best(friedman, regressor):
    model = AutoKernelRegressor(members=FEW, ensemble=False, random_state=0).fit(*friedman[:2])
    assert model.weights_.tolist() == [1.0]
    assert model.members_ == [regressor.leaderboard_["member"][0]]


def test_predictions_stay_within_the_targets(regressor, friedman):
    wild = regressor.predict(1e6 * (friedman[2] - 0.5))
    assert wild.min() >= friedman[1].min() - 1e-9
    assert wild.max() <= friedman[1].max() + 1e-9


def test_intervals_cover(regressor, friedman):
    X, y = make_friedman1(2000, n_features=6, noise=0.3, random_state=9)
    for alpha in (0.2, 0.1):
        low, high = regressor.predict_interval(X, alpha).T
        assert np.mean((low <= y) & (y <= high)) >= 1 - alpha - 0.05
        assert np.mean(high - low) < np.ptp(y)
    with pytest.raises(ValueError, match="expected alpha between 0 and 1, got 'a'"):
        regressor.predict_interval(np.zeros((1, 6)), "a")
    with pytest.raises(ValueError, match="expected alpha between 0 and 1, got 1"):
        regressor.predict_interval(X, 1)


def test_sets_cover(classifier, binary):
    inside = classifier.predict_set(binary[2], 0.1)
    assert inside.shape == (120, 2)
    assert np.mean(inside[np.arange(120), binary[3]]) >= 0.85
    assert inside[np.arange(120), classifier.predict_proba(binary[2]).argmax(axis=1)].mean() > 0.95


def test_importances_find_the_columns_that_matter(regressor):
    importances = regressor.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[5] < importances[:5].min()  # Friedman's function has five


def test_displays_start_no_long_computation():
    """scikit-learn's display of an estimator asks for all that `dir` names."""
    rng = np.random.default_rng(0)
    model = AutoKernelRegressor(members=FEW[1:], random_state=0)
    model.fit(rng.normal(size=(30, 2)), rng.normal(size=30))
    assert "leaderboard_" in dict(getmembers(model))
    assert model._repr_html_()
    assert not {"_cv_score", "_importances"} & set(vars(model))
    assert {"cv_score_", "feature_importances_"}.isdisjoint(dir(model))
    assert np.isfinite(model.cv_score_)
    assert "cv_score_" in dir(model)


def test_score_out_of_fold_shows_chance_for_shuffled_labels():
    rng = np.random.default_rng(0)
    X, scores = rng.normal(size=(60, 4)), []
    for seed in range(20):
        y = rng.permutation(np.repeat([0, 1], 30))
        model = AutoKernelClassifier(members=FEW[1:], random_state=seed).fit(X, y)
        scores.append(model.cv_score_)
    assert np.mean(scores) < 0.5 + 2.0 * np.std(scores) / np.sqrt(20)
    assert np.mean(scores) > 0.4  # a class that is rare in training is common in the fold


def test_score_out_of_fold_is_that_of_fits_without_the_fold(friedman, regressor):
    X, y = friedman[:2]
    folds, scores = regressor._cv_folds, []
    for k, (train, test) in enumerate(folds):
        place = np.full(len(y), -1)
        place[train] = np.arange(len(train))
        inner = [
            tuple(place[part][place[part] >= 0] for part in fold)
            for j, fold in enumerate(folds)
            if j != k
        ]
        model = clone(regressor).set_params(cv=inner).fit(X[train], y[train])
        scores.append(model.score(X[test], y[test]))
    assert regressor.cv_score_ == pytest.approx(np.mean(scores), rel=1e-3)
    assert regressor.cv_score_ == pytest.approx(regressor.score(*friedman[2:]), abs=0.1)


def test_result_does_not_depend_on_the_number_of_threads(friedman, regressor):
    other = clone(regressor).set_params(n_jobs=2).fit(*friedman[:2])
    np.testing.assert_array_equal(regressor.predict(friedman[2]), other.predict(friedman[2]))


def test_seed_decides(friedman, regressor):
    same = clone(regressor).fit(*friedman[:2])
    np.testing.assert_array_equal(regressor.predict(friedman[2]), same.predict(friedman[2]))
    other = clone(regressor).set_params(random_state=1).fit(*friedman[:2])
    assert (regressor.predict(friedman[2]) != other.predict(friedman[2])).any()


def test_pickle(classifier, binary):
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(
        again.predict_proba(binary[2]), classifier.predict_proba(binary[2])
    )
    np.testing.assert_array_equal(again.predict_set(binary[2]), classifier.predict_set(binary[2]))


def test_interruption_leaves_the_estimator_as_it_was(binary, monkeypatch):
    model = AutoKernelClassifier(members=FEW, random_state=0).fit(*binary[:2])
    before = model.predict_proba(binary[2])

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine_module, "solve_ridges", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(binary[2], binary[3])
    np.testing.assert_array_equal(model.predict_proba(binary[2]), before)


def test_weights_are_repeated_rows_with_given_folds():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    count = rng.integers(0, 3, 30)
    rows = np.repeat(np.arange(30), count)
    folds = [
        (np.flatnonzero(np.arange(30) % 3 != k), np.flatnonzero(np.arange(30) % 3 == k))
        for k in range(3)
    ]
    repeated = [
        (np.flatnonzero(np.isin(rows, train)), np.flatnonzero(np.isin(rows, test)))
        for train, test in folds
    ]
    # The steps of a metric end within a tolerance of 1e-4, on either side of it up to rounding.
    for members, atol in (([*FEW, "forest"], 1e-7), (["gaussian (standard, widths)"], 1e-4)):
        options = {"members": members, "random_state": 0}
        weighted = AutoKernelRegressor(cv=folds, **options).fit(X, y, sample_weight=count)
        plain = AutoKernelRegressor(cv=repeated, **options).fit(X[rows], y[rows])
        np.testing.assert_allclose(weighted.predict(X), plain.predict(X), rtol=1e-6, atol=atol)
    options["members"] = FEW[1:]
    weighted = AutoKernelRegressor(cv=folds, **options).fit(X, y, sample_weight=count)
    plain = AutoKernelRegressor(cv=repeated, **options).fit(X[rows], y[rows])
    assert weighted.cv_score_ == pytest.approx(plain.cv_score_, rel=1e-6)


def test_members_of_the_user(friedman, binary):
    polynomial = make_pipeline(PolynomialFeatures(2), Ridge())
    model = AutoKernelRegressor(members=["gaussian (standard)", polynomial], random_state=0)
    model.fit(*friedman[:2])
    assert "Pipeline (1)" in model.leaderboard_["member"]
    assert model.score(*friedman[2:]) > 0.8
    machines = [KernelSVC(C=3.0), LogisticRegression()]
    model = AutoKernelClassifier(members=machines, random_state=0).fit(*binary[:2])
    assert set(model.leaderboard_["member"]) == {"KernelSVC (0)", "LogisticRegression (1)"}
    assert model.score(*binary[2:]) > 0.7


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        (["quadratic"], "expected members with names like 'gaussian"),
        ([Ridge()], "expected members that are names or classifiers"),
        ([], "expected at least one member, got none"),
    ],
)
def test_members_that_are_none_are_refused(members, complaint, binary):
    with pytest.raises(ValueError, match=complaint):
        AutoKernelClassifier(members=members).fit(*binary[:2])


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc", "f1"])
def test_scoring(scoring, binary):
    model = AutoKernelClassifier(members=FEW[:1], scoring=scoring, random_state=0)
    model.fit(*binary[:2])
    assert np.isfinite(model.cv_score_)
    assert np.isfinite(model.leaderboard_["score"]).all()


def frame_of(n, seed=0):
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], n)
    x = rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "colour": colour, "flag": rng.random(n) > 0.5, "one": 1.0})
    frame["again"] = frame["x"]
    y = x + 2.0 * (colour == "red") + frame["flag"].to_numpy()
    frame.loc[rng.random(n) < 0.1, "x"] = np.nan
    frame.loc[rng.random(n) < 0.05, "colour"] = None
    frame["again"] = frame["x"]
    return frame, y


def test_frames_with_categories_and_missing_values():
    frame, y = frame_of(200)
    model = AutoKernelRegressor(members=FEW, random_state=0).fit(frame[:150], y[:150])
    assert model.score(frame[150:], y[150:]) > 0.6
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)
    new = frame[150:].copy()
    new["colour"] = "violet"  # never seen
    new["x"] = np.nan
    new["again"] = np.nan
    assert np.isfinite(model.predict(new)).all()
    assert model.feature_importances_[[0, 1, 2]].min() > model.feature_importances_[3]


def test_other_columns_are_refused():
    frame, y = frame_of(60)
    model = AutoKernelRegressor(members=FEW[:1], random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"x": "z"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["x", "colour"]])


def test_named_categories():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 8, 160)
    y = rng.normal(size=8)[codes] + 0.01 * rng.normal(size=160)
    X = np.column_stack([codes, rng.normal(size=160)])
    options = {"members": ["gaussian (standard)"], "random_state": 0}
    model = AutoKernelRegressor(column_kinds={0: "category"}, **options).fit(X[:80], y[:80])
    assert model.score(X[80:], y[80:]) > 0.95


def test_a_target_that_is_constant():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AutoKernelRegressor(random_state=0).fit(X, np.full(20, 3.5))
    np.testing.assert_allclose(model.predict(X), 3.5)


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_extreme_units(unit):
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(40, 2)), 0.1 * rng.normal(size=40)
    plain, scaled = (
        AutoKernelRegressor(members=FEW[:1], random_state=0).fit(
            factor * X, factor * (X[:, 0] + noise)
        )
        for factor in (1.0, unit)
    )
    np.testing.assert_allclose(scaled.predict(unit * X) / unit, plain.predict(X), rtol=1e-6)
    assert scaled.cv_score_ == pytest.approx(plain.cv_score_)


def test_classes_with_one_row():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.repeat([0, 1, 2], [18, 11, 1])
    model = AutoKernelClassifier(members=FEW, random_state=0).fit(X + y[:, None], y)
    assert model.predict_proba(X).shape == (30, 3)


def test_more_rows_than_the_race(monkeypatch):
    X, y = make_friedman1(460, n_features=5, noise=0.5, random_state=1)
    model = AutoKernelRegressor(members=[*FEW, "forest"], random_state=0).fit(X[:420], y[:420])
    assert model.score(X[420:], y[420:]) > 0.9
    assert model.search_rows_ == 420


def test_little_time_still_gives_an_answer(friedman, binary):
    """The plain machine comes first, however little time there is."""
    with pytest.warns(UserWarning, match="time_limit=1e-06 leaves a weak model: 16 of 17 kinds"):
        model = AutoKernelRegressor(time_limit=1e-6, random_state=0).fit(*friedman[:2])
    assert {name.partition(", width")[0] for name in model.members_} == {"gaussian (standard)"}
    assert model.score(*friedman[2:]) > 0.7
    X, y = make_friedman1(500, n_features=5, random_state=1)
    with pytest.warns(UserWarning, match="members were compared on 400 of 450 rows"):
        model = AutoKernelRegressor(time_limit=1e-6, random_state=0).fit(X[:450], y[:450])
    assert model.score(X[450:], y[450:]) > 0.5
    assert model.search_rows_ == 400 and model.n_landmarks_ is None


def test_many_rows_are_searched_in_part_and_trained_on_landmarks(monkeypatch):
    monkeypatch.setattr(search_module, "RACE_ROWS", 80)
    for module in (search_module, assemble_module):
        monkeypatch.setattr(module, "MAX_ROWS", 160)
    monkeypatch.setattr(assemble_module, "_PART_ROWS", 40)
    X, y = make_friedman1(700, n_features=5, noise=0.5, random_state=1)
    options = {"members": [*FEW, "forest", "additive"], "random_state": 0}
    exact = AutoKernelRegressor(**options).fit(X[:600], y[:600])
    assert exact.search_rows_ == 160
    assert exact.training_.startswith("exact on 600 rows, with weights learned on 300 rows")
    monkeypatch.setattr(engine_module, "_MAX_MATRIX_BYTES", 8 * 300**2)
    monkeypatch.setattr(training_module, "_LANDMARKS", 250)
    few = AutoKernelRegressor(**options).fit(X[:600], y[:600])
    assert few.training_.startswith("250 landmarks of 600 rows, with weights")
    assert exact.score(X[600:], y[600:]) > 0.9
    assert few.score(X[600:], y[600:]) > exact.score(X[600:], y[600:]) - 0.03
    assert np.isfinite(few.predict_interval(X[600:])).all()


def test_compression(monkeypatch):
    X, y = make_friedman1(400, n_features=5, noise=0.5, random_state=1)
    options = {"members": [*FEW, "exponential"], "random_state": 0}
    whole = AutoKernelRegressor(**options).fit(X[:300], y[:300])
    small = AutoKernelRegressor(compress=True, **options).fit(X[:300], y[:300])
    assert small.training_ == "75 landmarks of 300 rows"
    assert len(pickle.dumps(small._machines)) < 0.6 * len(pickle.dumps(whole._machines))
    assert small.score(X[300:], y[300:]) > whole.score(X[300:], y[300:]) - 0.05


def test_folds_of_the_user(friedman):
    cv = KFold(3, shuffle=True, random_state=0)
    model = AutoKernelRegressor(members=FEW, cv=cv, random_state=0).fit(*friedman[:2])
    assert model.cv_score_ > 0.7


def test_progress_is_shown(friedman, capsys):
    AutoKernelRegressor(members=FEW, random_state=0, verbose=1).fit(*friedman[:2])
    shown = capsys.readouterr().err
    assert "laplacian (ranks); best: " in shown
    assert "s left" in shown


@pytest.mark.parametrize("unit", [1e-9, 0.3])
def test_shares_as_weights_do_not_depend_on_their_unit(friedman, unit):
    X, y, X_test, _ = friedman
    share = np.linspace(0.5, 1.0, len(y))
    models = [
        AutoKernelRegressor(members=FEW, random_state=0).fit(X, y, sample_weight=factor * share)
        for factor in (1.0, unit)
    ]
    assert models[0].members_ == models[1].members_
    predictions = [model.predict(X_test) for model in models]
    np.testing.assert_allclose(predictions[1], predictions[0], rtol=1e-6)


def test_what_does_not_fit_is_said_before_the_search(friedman, binary, monkeypatch):
    def search(*args, **kwargs):
        raise AssertionError("the search began")

    monkeypatch.setattr("kernelfit.ensemble.base.assemble", search)
    with pytest.raises(ValueError, match="'scoring' parameter"):
        AutoKernelClassifier(scoring="bogus").fit(*binary[:2])
    with pytest.raises(ValueError, match="continuous"):
        AutoKernelRegressor(scoring="accuracy").fit(*friedman[:2])
    words = np.where(binary[1], "yes", "no")
    with pytest.raises(ValueError, match="pos_label"):
        AutoKernelClassifier(scoring="f1").fit(binary[0], words)
    with pytest.raises(ValueError, match="at most 30 columns for member 'additive', got 31"):
        AutoKernelClassifier(members=["additive"]).fit(np.eye(31), np.arange(31) % 2)


def test_members_with_several_predictions_a_row_are_refused(friedman):
    model = AutoKernelRegressor(members=[KernelQuantileRegressor([0.1, 0.9])], random_state=0)
    with pytest.raises(ValueError, match="one prediction a row of member KernelQuantileRegressor"):
        model.fit(*friedman[:2])


def test_folds_that_test_all_of_their_rows_have_no_honest_score(friedman):
    rows = np.arange(120)
    model = AutoKernelRegressor(members=FEW[:1], cv=[(rows, rows)] * 2, random_state=0)
    model.fit(*friedman[:2])
    with pytest.raises(ValueError, match="do not test, for cv_score_, got 0 in fold 1"):
        _ = model.cv_score_


def test_masked_entries_are_missing_and_labels_have_one_type(friedman, binary):
    X, y = friedman[:2]
    hidden = np.zeros(X.shape, dtype=bool)
    hidden[::3, 1] = True
    missing = np.where(hidden, np.nan, X)
    masked = np.ma.MaskedArray(np.where(hidden, 1e6, X), hidden)
    models = [
        AutoKernelRegressor(members=FEW[:1], random_state=0).fit(T, y) for T in (missing, masked)
    ]
    np.testing.assert_array_equal(models[0].predict(missing), models[1].predict(masked))
    labels = np.where(binary[1], "a", "b").astype(object)
    labels[0] = 1
    with pytest.raises(ValueError, match="class labels of one type, got int and str"):
        AutoKernelClassifier(members=FEW).fit(binary[0], labels)
    frame = pd.DataFrame(X, columns=["a", "b", "a", "c", "d", "e"])
    with pytest.raises(ValueError, match="unique column names"):
        AutoKernelRegressor(members=FEW).fit(frame, y)


def test_rows_that_are_no_folds(friedman):
    rows = np.arange(100)
    for cv, got in (
        ([(rows[:5], rows + 500)], "row 500"),
        ([(rows + 0.5, rows)], "rows of type float64"),
        ([(1, 2, 3)], r"\(1, 2, 3\)"),
        ([1, 2], "got 1"),
    ):
        with pytest.raises(ValueError, match=f"training and test rows between 0 and 119, .*{got}"):
            AutoKernelRegressor(members=FEW, cv=cv).fit(*friedman[:2])
    with pytest.raises(ValueError, match="at least one fold with test rows, got none"):
        AutoKernelRegressor(members=FEW, cv=[(rows, [])] * 2).fit(*friedman[:2])
