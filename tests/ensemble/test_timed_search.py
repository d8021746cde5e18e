"""A limit of time: a fit uses it, keeps it, and a longer one is no worse.

Time is made up: work takes what a model says, so that nothing here depends on the machine.
"""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from kernelfit import AutoKernelClassifier, AutoKernelRegressor
from kernelfit.ensemble import base as base_module
from kernelfit.ensemble import engine as engine_module
from kernelfit.ensemble import fold_rows as fold_rows_module
from kernelfit.ensemble import part as part_module
from kernelfit.ensemble import search as search_module
from kernelfit.ensemble.assemble import balanced_folds
from kernelfit.ensemble.clock import Clock, Seconds
from kernelfit.ensemble.features import Data
from kernelfit.ensemble.fold_rows import FoldRows, OutOfTime
from kernelfit.ensemble.members import Recipe
from kernelfit.ensemble.part import TrainingPart
from kernelfit.ensemble.timed_search import TimedSearch

pytestmark = pytest.mark.filterwarnings("ignore:KF006")
MEMBERS = ["gaussian", "laplacian", "forest (standard)"]
VIEWS = ("standard", "ranks")
LIMITS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0)


class MadeUpTime:
    """A clock that work moves on: seconds grow with the rows as those of a real machine do."""

    def __init__(self):
        self.now, self.slowness, self.slow_from = 0.0, 1.0, np.inf

    def pass_by(self, seconds):
        self.now += seconds * (self.slowness if self.now >= self.slow_from else 1.0)

    def seconds(self, recipe, n):
        learning = {"none": 0.0, "splits": 0.05, "widths": 0.15, "gradients": 0.3}[recipe.metric]
        learning += 0.05 * n / 320 if recipe.kernel == "forest" else 0.0
        return Seconds(learning, 2e-3 * (n / 320) ** 2, 1e-3 * (n / 320) ** 2.7)


@pytest.fixture
def made_up(monkeypatch):
    """Replace the clock, and have folds and machines move it."""
    clock = MadeUpTime()
    monkeypatch.setattr(time, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(base_module, "Clock", lambda limit: Clock(limit, began=clock.now))
    monkeypatch.setattr(engine_module, "_speed_of_host", lambda: 4e10)
    for module in (part_module, fold_rows_module, search_module):
        monkeypatch.setattr(module, "compiling_seconds", lambda: 0.0)
    scores, fit = TrainingPart.scores, TrainingPart.fit

    def timed_scores(part, recipe, widths, ridges, table):
        found = clock.seconds(recipe, len(part._data.weight))
        found = found._replace(learning=found.learning * (part.knows(recipe) is None))
        before = clock.now
        out, _ = scores(part, recipe, widths, ridges, table)
        clock.now = before
        clock.pass_by(found.of(len(widths), len(ridges)))
        pace = (clock.now - before) / found.of(len(widths), len(ridges))
        return out, Seconds(*(pace * one for one in found))

    def timed_fit(part, member, leave_out):
        seconds = clock.seconds(member.recipe, len(part._data.weight))
        known = part.knows(member.recipe) is not None
        before = clock.now
        machine = fit(part, member, leave_out)
        clock.now = before
        clock.pass_by(0.02 + seconds.of(1, 1, learned=0.0 if known else 1.0))
        return machine

    monkeypatch.setattr(TrainingPart, "scores", timed_scores)
    monkeypatch.setattr(TrainingPart, "fit", timed_fit)
    return clock


def regression(n):
    X, y = make_friedman1(n + 500, n_features=6, noise=0.5, random_state=3)
    return X[:n], y[:n], X[n:], y[n:]


def test_a_longer_limit_is_used_and_no_worse(made_up):
    """With members whose features are not learned: metrics depend on the points that are drawn."""
    X, y, X_test, y_test = regression(900)
    members = [f"{kernel} ({view})" for kernel in ("gaussian", "laplacian") for view in VIEWS]
    members += ["exponential (standard)", "exponential (ranks)", "spline", "forest (standard)"]
    scores, spent = [], []
    for limit in LIMITS:
        made_up.now = 0.0
        model = AutoKernelRegressor(limit, members=members, random_state=0).fit(X, y)
        scores.append(model.score(X_test, y_test))
        spent.append(model.fit_time_)
        if model.cut_short_:
            assert model.fit_time_ > 0.5 * limit
        assert model.n_landmarks_ is None
    assert (np.array(spent) <= LIMITS).all()
    assert (np.diff(scores) > -0.005).all()
    assert model.cut_short_ == [] and model.search_rows_ == 900
    unlimited = AutoKernelRegressor(members=members, random_state=0).fit(X, y)
    assert unlimited.cut_short_ == []
    assert scores[-1] > unlimited.score(X_test, y_test) - 0.005


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6])
@pytest.mark.parametrize("limit", [5.0, 20.0])
def test_limits_are_kept_where_the_machine_becomes_slow(made_up, limit, share):
    """Work takes four times as long from some moment on."""
    made_up.slow_from, made_up.slowness = share * limit, 4.0
    X, y, X_test, y_test = regression(900)
    model = AutoKernelRegressor(limit, members=MEMBERS, random_state=0).fit(X, y)
    assert model.fit_time_ <= 1.1 * limit
    assert model.n_landmarks_ is None
    assert model.score(X_test, y_test) > 0.85


def test_a_recipe_that_takes_much_longer_than_expected_is_given_up(made_up, monkeypatch):
    """Between its folds: the forest is forecast from the time of others."""
    seconds = made_up.seconds
    monkeypatch.setattr(
        made_up,
        "seconds",
        lambda recipe, n: (
            Seconds(2.0, 0.0, 0.0) if recipe.kernel == "forest" else seconds(recipe, n)
        ),
    )
    X, y, *_ = regression(390)
    model = AutoKernelRegressor(6.0, members=MEMBERS, random_state=0).fit(X, y)
    assert model.fit_time_ < 6.6
    assert "1 of 10 kinds of members were not tried" in model.cut_short_
    assert not any("forest" in name for name in model.leaderboard_["member"])


def test_what_was_left_out_is_said(made_up):
    X, y, *_ = regression(900)
    with pytest.warns(UserWarning, match="time_limit=0.1 .* members were compared on 400 of 900"):
        model = AutoKernelRegressor(0.1, members=MEMBERS, random_state=0).fit(X, y)
    assert model.cut_short_[0] == "9 of 10 kinds of members were not tried"
    assert [name.partition(",")[0] for name in model.members_] == ["gaussian (standard)"] * len(
        model.members_
    )


def test_classes_and_single_members_keep_the_limit(made_up):
    X, y, X_test, y_test = regression(700)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    for options in ({}, {"ensemble": False}, {"compress": True}):
        made_up.now = 0.0
        model = AutoKernelClassifier(8.0, members=MEMBERS, random_state=0, **options)
        model.fit(X, labels)
        assert model.fit_time_ <= 8.0
        assert model.score(X_test, np.digitize(y_test, np.quantile(y, [0.3, 0.6]))) > 0.7


@pytest.fixture
def rows():
    X, y = make_friedman1(700, n_features=6, random_state=0)
    data = Data(X, np.zeros(6, dtype=bool), y[:, None] / 20.0, None, np.ones(700))
    options = {"seed": 0, "checkpoint": None, "device": None, "n_jobs": None}
    folds = balanced_folds(data, 3, 0)
    order = np.random.default_rng(0).permutation(700)
    return [FoldRows(data, folds, order[:size], **options) for size in (500, 700)]


def test_more_rows_take_the_metrics_of_fewer(rows):
    """These were learned from as many points as more rows would give."""
    few, many = rows
    recipe = Recipe("gaussian", metric="widths", widths=(1.0,), ridges=(0.1,))
    few.scores(recipe, (1.0,), (0.1,))
    assert few.knows(recipe) and not many.knows(recipe)
    many.take_metrics(recipe, few)
    for one, other in zip(few._parts, many._parts, strict=True):
        taken, learned = other.knows(recipe), one.knows(recipe)
        np.testing.assert_array_equal(taken.factor, learned.factor)
        assert taken.view is not learned.view  # of all rows
    forest = Recipe("forest")
    few.scores(forest, (1.0,), (0.1,))
    many.take_metrics(forest, few)
    assert not many.knows(forest)


def test_metrics_that_more_points_would_improve_are_learned_anew(rows, monkeypatch):
    few, many = rows
    monkeypatch.setattr(fold_rows_module, "metric_points", lambda n: 400)
    recipe = Recipe("gaussian", metric="widths", widths=(1.0,), ridges=(0.1,))
    few.scores(recipe, (1.0,), (0.1,))
    many.take_metrics(recipe, few)
    assert not many.knows(recipe)


def test_scores_stop_between_folds(rows):
    recipe, asked = Recipe("gaussian", widths=(1.0,), ridges=(0.1,)), []

    def allows(forecast):
        asked.append(forecast)
        return len(asked) < 2

    with pytest.raises(OutOfTime):
        rows[0].scores(recipe, (1.0,), (0.1,), allows)
    assert len(asked) == 2
    scores, seconds = rows[0].scores(recipe, (1.0,), (0.1,), lambda _: True)
    assert np.isfinite(scores[:, :, rows[0].tested]).all()
    assert min(seconds) >= 0.0


def test_machines_of_all_rows_take_the_metric_of_a_fold(made_up, monkeypatch):
    """The weights of members belong to the metrics of the folds."""
    taken, metrics = [], TimedSearch.metrics
    monkeypatch.setattr(
        TimedSearch, "metrics", lambda *a: (taken.append(metrics(*a)), taken[-1])[1]
    )
    X, y, *_ = regression(600)
    members = ["gaussian (standard)", "gaussian (standard, widths)"]
    model = AutoKernelRegressor(80.0, members=members, random_state=0).fit(X, y)
    ((_, metric),) = taken[0]
    learned = [m for m in model._machines.machines if m.features.factor is not None]
    assert learned
    for machine in learned:
        np.testing.assert_array_equal(machine.features.factor, metric.factor)


@pytest.mark.parametrize(("weights", "accepted"), [([0.3, 0.7], False), ([0.95, 0.05], True)])
def test_more_rows_count_once_they_compared_most_of_the_weight(weights, accepted):
    """The second recipe ends too late."""
    search, rows = object.__new__(TimedSearch), SimpleNamespace(tested=np.arange(800))
    search._many = fewer = SimpleNamespace(tested=np.arange(400))
    search._size, search._report = 400, lambda *_: None
    search._rows, search._weights = lambda size: rows, lambda found: np.array(weights)
    search._forecast = lambda one, growth: 1.0
    recipe = Recipe("gaussian")
    plain = SimpleNamespace(tried=[SimpleNamespace(recipe=recipe)], seconds=1.0)
    late = SimpleNamespace(tried=[SimpleNamespace(recipe=recipe)])
    search._again = lambda rows, fewer, one, *_: one if one is plain else None
    deeper = search._compare_on(800, [plain, late])
    assert deeper == ([plain] if accepted else None)
    assert search._many is (rows if accepted else fewer)
    assert search._size == (800 if accepted else 400)
