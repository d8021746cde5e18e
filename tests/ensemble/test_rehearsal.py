"""Weights and probabilities of large tables, from machines of half of the rows."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold

from kernelfit import AutoKernelClassifier, AutoKernelRegressor
from kernelfit.ensemble import assemble as assemble_module
from kernelfit.ensemble import part as part_module
from kernelfit.ensemble import search as search_module
from kernelfit.ensemble.clock import Clock
from kernelfit.ensemble.features import Data
from kernelfit.ensemble.members import Member, default_recipes
from kernelfit.ensemble.outcome import Regression
from kernelfit.ensemble.part import Machines, TrainingPart
from kernelfit.ensemble.rehearsal import rehearse
from kernelfit.ensemble.training import Training
from kernelfit.inspection import audit

FEW = ["gaussian (standard)", "laplacian (ranks)"]
WIDTHS = ["gaussian (standard, widths)", "laplacian (standard, widths)"]


@pytest.fixture
def few_rows(monkeypatch):
    """Search on few rows, so that tables of some hundred are large."""
    monkeypatch.setattr(search_module, "RACE_ROWS", 80)
    for module in (search_module, assemble_module):
        monkeypatch.setattr(module, "MAX_ROWS", 160)
    monkeypatch.setattr(assemble_module, "_PART_ROWS", 40)


def checkerboard(n, seed=0):
    """Classes that few rows can hardly tell, and many rows can."""
    X = np.random.default_rng(seed).uniform(size=(n, 2))
    return X, (np.floor(4.0 * X).sum(axis=1) % 2).astype(int)


def test_halves_are_those_of_the_order_and_scores_those_of_machines_of_the_first():
    X, y = make_friedman1(60, n_features=5, random_state=0)
    data = Data(X, np.zeros(5, dtype=bool), y[:, None] / 30.0, None, np.ones(60))
    recipe = default_recipes(5, classify=False)[0]
    members = [Member(recipe, width, 0.01) for width in (0.25, 1.0, 4.0, 16.0)]
    order = np.random.default_rng(0).permutation(60)
    weights = np.array([0.1, 0.4, 0.2, 0.3])
    found = rehearse(Training(data, seed=0), order, members, weights)
    assert_array_equal(found.rows, np.sort(order[30:]))
    assert_array_equal(found.chosen, [1, 3, 2, 0])
    part = TrainingPart(data.take(np.sort(order[:30])), 0)
    expected = Machines([part.fit(members[k]) for k in found.chosen])(data.table[found.rows])
    assert_allclose(found.scores, expected, rtol=1e-10)


def test_no_time_no_rehearsal():
    X, y = make_friedman1(60, n_features=5, random_state=0)
    data = Data(X, np.zeros(5, dtype=bool), y[:, None] / 30.0, None, np.ones(60))
    members = [Member(default_recipes(5, classify=False)[0], 1.0, 0.01)]
    training = Training(data, seed=0, clock=Clock(limit=10.0, reserved=5.0))
    training.expected = {members[0]: (20.0, 0.0)}
    assert rehearse(training, np.arange(60), members, np.ones(1)) is None
    training.expected = {members[0]: (0.1, 0.1)}
    assert rehearse(training, np.arange(60), members, np.ones(1))


def test_weights_are_those_of_the_other_half(few_rows, monkeypatch):
    X, y = make_friedman1(400, n_features=5, noise=0.5, random_state=1)
    kept = []

    def keep(*args, **kwargs):
        kept.append((args[1], rehearse(*args, **kwargs)))
        return kept[-1][1]

    monkeypatch.setattr(assemble_module, "rehearse", keep)
    model = AutoKernelRegressor(members=FEW, random_state=0).fit(X, y)
    ((order, found),) = kept
    assert_array_equal(model.search_indices_, found.rows)
    assert model.fold_predictions_.shape == (len(model.members_), 200)
    # All rows that members were chosen on are in the first half.
    assert_array_equal(np.sort(np.r_[order[:200], found.rows]), np.arange(400))
    assert model.search_rows_ == 160
    searched = {tuple(row) for row in model._data.table}
    assert searched <= {tuple(row) for row in X[order[:200]]}
    targets = model._encode(y)[0][found.rows]
    outcome = Regression(targets, np.ones(200))
    scores = model._weighed_scores
    assert_allclose(
        model.weights_, outcome.combine(scores, np.arange(200)).stack.weights, rtol=1e-12
    )
    assert audit(model, X, y).confirmed
    assert np.isfinite(model.predict_interval(X[:5])).all()
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_probabilities_are_as_sure_as_machines_of_many_rows(few_rows, monkeypatch):
    """By machines of half of the rows, or where ridges are heavy by rows left out one by one."""
    X, y = checkerboard(2000)
    X_test, y_test = checkerboard(2000, seed=1)

    def loss(rehearsed, heavy):
        monkeypatch.setattr(assemble_module, "_REHEARSED", 2 if rehearsed else np.inf)
        monkeypatch.setattr(part_module, "_HEAVY", heavy)
        model = AutoKernelClassifier(members=["gaussian (standard)"], random_state=0).fit(X, y)
        assert ("with weights" in model.training_) == rehearsed
        return log_loss(y_test, model.predict_proba(X_test))

    neither, half, left_out = loss(False, np.inf), loss(True, np.inf), loss(False, 0.0)
    assert half < 0.8 * neither
    assert left_out < 0.8 * neither


def test_machines_of_all_rows_take_the_metric_that_the_weights_belong_to(few_rows, monkeypatch):
    X, y = make_friedman1(400, n_features=5, noise=0.5, random_state=1)
    found = []

    def keep(*args, **kwargs):
        found.append(rehearse(*args, **kwargs))
        return found[-1]

    monkeypatch.setattr(assemble_module, "rehearse", keep)
    model = AutoKernelRegressor(members=["gaussian (standard, widths)"], random_state=0).fit(X, y)
    ((recipe, features),) = {id(one[1]): one for one in found[0].metrics}.values()
    assert recipe.metric == "widths"
    for machine in model._machines.machines:
        assert_array_equal(machine.features.factor, features.factor)


def test_forests_are_grown_anew():
    X, y = make_friedman1(60, n_features=5, random_state=0)
    data = Data(X, np.zeros(5, dtype=bool), y[:, None] / 30.0, None, np.ones(60))
    recipes = {recipe.name: recipe for recipe in default_recipes(5, classify=False)}
    members = [Member(recipes[name], 1.0, 0.1) for name in ("forest (standard)", *WIDTHS)]
    found = rehearse(Training(data, seed=0), np.arange(60), members, np.full(3, 1 / 3))
    assert [recipe.name for recipe, _ in found.metrics] == WIDTHS


def test_folds_of_the_user_are_not_divided(few_rows):
    X, y = make_friedman1(400, n_features=5, noise=0.5, random_state=1)
    cv = KFold(3, shuffle=True, random_state=0)
    model = AutoKernelRegressor(members=FEW, cv=cv, random_state=0).fit(X, y)
    assert model.training_ == "exact on 400 rows"
    assert len(model.search_indices_) == model.search_rows_


def test_single_members_and_any_number_of_jobs(few_rows):
    X, y = checkerboard(400)
    alone = AutoKernelClassifier(members=FEW, ensemble=False, random_state=0).fit(X, y)
    assert len(alone.members_) == 1 and "with weights learned on 200 rows" in alone.training_
    one, two = (
        AutoKernelClassifier(members=FEW, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert one.members_ == two.members_
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_scores_that_overflow_are_left_out(monkeypatch):
    X, y = make_friedman1(60, n_features=5, random_state=0)
    data = Data(X, np.zeros(5, dtype=bool), y[:, None] / 30.0, None, np.ones(60))
    members = [Member(default_recipes(5, classify=False)[0], 1.0, r) for r in (0.01, 0.1, 1.0)]

    class Overflowing(Machines):
        def __call__(self, table, device=None):
            scores = super().__call__(table, device)
            scores[1] = np.inf
            return scores

    def overflow(*args, **kwargs):
        trained = train(*args, **kwargs)
        return replace(trained, machines=Overflowing(trained.machines.machines))

    train = Training.train
    monkeypatch.setattr(Training, "train", overflow)
    found = rehearse(Training(data, seed=0), np.arange(60), members, np.array([0.5, 0.3, 0.2]))
    assert_array_equal(found.chosen, [0, 2])
    assert np.isfinite(found.scores).all()
