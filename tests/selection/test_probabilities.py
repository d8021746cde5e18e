"""Probabilities of the searches: calibrated, and usable where scikit-learn asks for them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn import __version__ as sklearn_version
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils.fixes import parse_version

from kernelfit import (
    DANKClassifierCV,
    GPKClassifierCV,
    KernelSVC,
    KernelSVCCV,
    KernelSVR,
    KernelSVRCV,
    KNPLClassifierCV,
    TKLClassifierCV,
)
from tests.selection.test_calibration import log_loss as calibration_loss
from tests.selection.test_calibration import reference

SEARCHES = [
    KernelSVCCV([0.5], [1.0, 10.0], cv=3),
    KernelSVCCV([0.5], [1.0, 10.0], cv=3, multi_class="ovr"),
    KernelSVCCV([0.5], [1.0, 10.0], cv=3, n_average=2),
    DANKClassifierCV([0.5], [1.0], [0.1], cv=3),
    KNPLClassifierCV([0.5], [1.0], [0.1], cv=3),
    TKLClassifierCV([0.5], [1.0], cv=3),
    TKLClassifierCV([0.5], [1.0], cv=3, kernel_sharing="joint"),
    GPKClassifierCV([1], [1.0], cv=3),
]
IRIS = load_iris(return_X_y=True)


def two_gaussians(n, seed):
    """Return points, labels and the probability of the second class, logistic in the points."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    p = expit(2.0 * X[:, 0] - X[:, 1] - 1.0)
    return X, (rng.uniform(size=n) < p).astype(int), p


def three_gaussians(n, seed):
    """Return points, labels and the probabilities of the classes."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 2.0]])
    prior = np.array([0.5, 0.3, 0.2])
    labels = rng.choice(3, n, p=prior)
    X = centres[labels] + rng.standard_normal((n, 2))
    distances = ((X[:, None] - centres) ** 2).sum(axis=2)
    return X, labels, softmax(np.log(prior) - 0.5 * distances, axis=1)


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
@pytest.mark.parametrize("names", [[0, 1], ["b", "a", "c"]])
def test_rows_are_probabilities(search, names):
    X, y = IRIS
    keep = y < len(names)
    X, y = X[keep], np.array(names)[y[keep]]
    search = clone(search).fit(X, y)
    p = search.predict_proba(X)
    assert p.shape == (len(y), len(names)) and p.min() >= 0.0
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(search.classes_, np.unique(y))
    assert np.mean(search.classes_[p.argmax(axis=1)] == y) > 0.9
    assert_allclose(search.predict_proba(X[:5]), p[:5], rtol=1e-9)
    assert_array_equal(pickle.loads(pickle.dumps(search)).predict_proba(X), p)
    if len(names) == 2:  # they follow the decision values
        order = np.argsort(search.decision_function(X))
        assert np.all(np.diff(p[order, 1]) >= 0.0)


def test_known_probabilities_of_two_classes():
    """The true ones are logistic in a linear function: what is left is sampling error."""
    n = 2000
    X, y, _ = two_gaussians(n, 0)
    search = KernelSVCCV(Cs=[0.1], kernel="linear").fit(X, y)
    X_new, y_new, p_new = two_gaussians(5000, 1)
    found = search.predict_proba(X_new)[:, 1]
    # Three parameters of n points: their share of the variance of a label, at most 1/4.
    assert np.sqrt(np.mean((found - p_new) ** 2)) <= 3 * np.sqrt(3 / n) * 0.5
    raw = expit(search.decision_function(X_new))
    assert log_loss(y_new, found) < log_loss(y_new, raw)
    for low in np.arange(0.0, 1.0, 0.2):
        part = (found >= low) & (found < low + 0.2)
        error = np.sqrt(p_new[part] @ (1 - p_new[part])) / part.sum()
        # The labels' sampling error, and that of the training set as above.
        assert abs(y_new[part].mean() - found[part].mean()) <= 4 * error + 3 * np.sqrt(3 / n) * 0.5


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_known_probabilities_of_three_classes(multi_class):
    X, y, _ = three_gaussians(1500, 0)
    search = KernelSVCCV([0.1], [1.0], multi_class=multi_class).fit(X, y)
    X_new, y_new, p_new = three_gaussians(5000, 1)
    found = search.predict_proba(X_new)
    best, naive = log_loss(y_new, p_new), log_loss(y_new, np.tile([0.5, 0.3, 0.2], (5000, 1)))
    assert log_loss(y_new, found) - best <= 0.2 * (naive - best)
    raw = softmax(search.decision_function(X_new), axis=1)
    assert log_loss(y_new, found) < log_loss(y_new, raw)
    # The offsets make the mean probabilities those of the training set, up to its sampling error.
    error = 4 * np.sqrt(0.25 / 1500) + 4 * np.sqrt(0.25 / 5000)
    assert_allclose(found.mean(axis=0), np.bincount(y_new) / 5000, atol=error)


def test_they_minimise_the_log_loss_of_the_folds():
    """The out-of-fold decision values, by machines fitted one by one, and a general optimiser."""
    X, y = make_moons(150, noise=0.4, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    folds = list(StratifiedKFold(3).split(X, y))
    search = KernelSVCCV([1.0], [2.0], cv=folds, search_tol=1e-10)
    search.fit(X, y, sample_weight=weight)
    values = np.empty(150)
    for train, test in folds:
        machine = KernelSVC(2.0, gamma=1.0, tol=1e-10).fit(X[train], y[train], weight[train])
        values[test] = machine.decision_function(X[test])
    (scale, offset), value = reference(values[:, None], y, weight)
    expected = expit(scale * search.decision_function(X) + offset)
    assert_allclose(search.predict_proba(X)[:, 1], expected, atol=1e-5)
    assert value <= calibration_loss([1.0, 0.0], values[:, None], y, weight)


def test_sample_weights_count():
    X, y = make_moons(120, noise=0.4, random_state=0)
    folds = list(StratifiedKFold(3).split(X, y))
    heavy = np.where(y == 1, 10.0, 1.0)
    plain = KernelSVCCV([1.0], [0.1], cv=folds).fit(X, y).predict_proba(X)[:, 1]
    weighted = KernelSVCCV([1.0], [0.1], cv=folds).fit(X, y, heavy).predict_proba(X)[:, 1]
    assert weighted.mean() > plain.mean() + 0.2
    # A row of no weight may hold anything.
    keep = np.arange(120) % 5 > 0
    spoiled = np.where(keep, y, 1 - y)
    removed = [tuple(part[keep[part]] for part in fold) for fold in folds]
    place = np.cumsum(keep) - 1
    removed = [tuple(place[part] for part in fold) for fold in removed]
    zero = KernelSVCCV([1.0], [1.0], cv=folds, search_tol=1e-9).fit(X, spoiled, keep.astype(float))
    less = KernelSVCCV([1.0], [1.0], cv=removed, search_tol=1e-9).fit(X[keep], y[keep])
    assert_allclose(zero.predict_proba(X), less.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize(
    "scoring", ["neg_log_loss", "roc_auc_ovr", "roc_auc_ovo", "neg_brier_score"]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_that_need_probabilities(scoring, n_classes):
    if (
        scoring == "neg_brier_score"
        and n_classes > 2
        and parse_version(sklearn_version) < parse_version("1.7")
    ):
        pytest.skip("this score is for two classes before scikit-learn 1.7")
    X, y = IRIS
    keep = y < n_classes
    X, y = X[keep][:, :2], y[keep]  # overlapping classes
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    search = KernelSVCCV([0.5, 2.0], [0.1, 10.0], cv=folds, scoring=scoring).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.cv_results_["mean_test_score"].max()
    assert search.best_score_ == best
    outer = cross_val_score(clone(search), X, y, scoring=scoring, cv=3)
    assert np.isfinite(outer).all()
    # What the folds promise is what new data gives.
    assert abs(outer.mean() - search.best_score_) < 0.25
    assert get_scorer(scoring)(search, X, y) >= search.best_score_ - 0.1


def test_probabilities_of_a_fold_come_from_the_others():
    """The scorer sees, for every fold, a calibration on the other folds alone."""
    X, y = make_moons(150, noise=0.4, random_state=0)
    folds = list(StratifiedKFold(3).split(X, y))
    options = {"cv": folds, "search_tol": 1e-10, "scoring": "neg_log_loss"}
    search = KernelSVCCV([1.0], [2.0], **options).fit(X, y)
    values = np.empty(150)
    for train, test in folds:
        machine = KernelSVC(2.0, gamma=1.0, tol=1e-10).fit(X[train], y[train])
        values[test] = machine.decision_function(X[test])
    for k, (train, test) in enumerate(folds):
        (scale, offset), _ = reference(values[train, None], y[train], np.ones(len(train)))
        p = expit(scale * values[test] + offset)
        p = np.where((p > 0.5) == (values[test] > 0.0), p, 0.5)  # that of the predicted
        expected = -log_loss(y[test], p)
        assert_allclose(search.cv_results_[f"split{k}_test_score"], expected, atol=1e-5)


def test_self_training():
    X, y = IRIS
    hidden = np.random.default_rng(0).uniform(size=len(y)) < 0.7
    model = SelfTrainingClassifier(KernelSVCCV([0.5], [1.0, 10.0], cv=3), threshold=0.8)
    model.fit(X, np.where(hidden, -1, y))
    assert (model.transduction_[hidden] != -1).sum() > 0.5 * hidden.sum()
    assert model.score(X[hidden], y[hidden]) > 0.9
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_regressors_and_machines_have_no_probabilities():
    for model in (KernelSVRCV(), KernelSVR(), KernelSVC()):
        assert not hasattr(model, "predict_proba")
    assert not hasattr(KernelSVRCV(), "decision_function")


def test_folds_without_a_class():
    """Probabilities come from the folds that know all classes; without such, a sentence."""
    X, y = IRIS
    lacking = r"class 0 is missing from the training part of fold 1 \(other folds that lack one: 2"
    with pytest.warns(UserWarning, match=lacking):
        sorted_folds = KernelSVCCV([0.5], [1.0], cv=KFold(3)).fit(X, y)
    assert sorted_folds.best_score_ == 0.0 and sorted_folds.score(X, y) > 0.9
    with pytest.raises(ValueError, match="expected a fold with all classes in its training part"):
        sorted_folds.predict_proba(X)
    complaint = "expected a fold with all classes in its training part"
    with pytest.raises(ValueError, match=complaint), pytest.warns(UserWarning, match=lacking):
        KernelSVCCV([0.5], [1.0], cv=KFold(3), scoring="neg_log_loss").fit(X, y)
    whole = list(StratifiedKFold(3).split(X, y))
    without = np.flatnonzero(y != 2)
    mixed = KernelSVCCV([0.5], [1.0], cv=[*whole, (without[::2], without[1::2])]).fit(X, y)
    alone = KernelSVCCV([0.5], [1.0], cv=whole).fit(X, y)
    assert_allclose(mixed.predict_proba(X), alone.predict_proba(X), rtol=1e-12)
