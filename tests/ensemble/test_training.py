"""How members are trained on all rows follows from rows, memory and time."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from kernelfit.ensemble import engine as engine_module
from kernelfit.ensemble.features import Data
from kernelfit.ensemble.members import Member, Recipe, default_recipes
from kernelfit.ensemble.part import Machines, TrainingPart
from kernelfit.ensemble.search import Clock
from kernelfit.ensemble.training import n_landmarks, train, training_seconds


@pytest.fixture
def slow(monkeypatch):
    """A machine of a thousand million operations a second."""
    monkeypatch.setattr(engine_module, "_speed_of_host", lambda: 1e9)


def test_all_points_where_memory_and_time_allow(slow):
    assert n_landmarks(1000, np.inf) is None
    assert n_landmarks(1000, 1.0) is None
    assert n_landmarks(1000, 0.0) == 200
    assert n_landmarks(150, 0.0) is None  # fewer than the fewest landmarks
    assert n_landmarks(50_000, np.inf) == 2000


def test_more_time_gives_more_landmarks(slow):
    found = [n_landmarks(20_000, seconds) for seconds in (0.0, 10.0, 60.0, 1e4)]
    assert found == sorted(found)
    assert found[0] == 200
    assert found[-1] == 2000


def test_forecast_grows_with_the_rows(slow):
    assert training_seconds(300) < training_seconds(3000) < training_seconds(100_000)


def test_clock():
    assert Clock().allows(1e9)
    clock = Clock(limit=100.0, reserved=50.0)
    assert clock.allows(20.0)
    assert not clock.allows(49.0)  # training follows
    assert 0.0 <= clock.spent < 50.0


def test_the_first_member_is_one_that_there_is_time_for():
    """The first is trained in any case, so it must not be the slowest."""
    X, y = make_friedman1(60, n_features=5, random_state=0)
    data = Data(X, np.zeros(5, dtype=bool), y[:, None] / 30.0, None, np.ones(60))
    members = [Member(default_recipes(5, classify=False)[0], 1.0, ridge) for ridge in (0.1, 1.0)]
    options = {"seed": 0, "n_jobs": None, "clock": Clock(limit=5.0)}
    weights = np.array([0.9, 0.1])
    assert train(data, members, weights, np.array([100.0, 1e-9]), **options).chosen == [1]
    # What one takes says how far to trust the forecasts.
    assert train(data, members, weights, np.array([100.0, 50.0]), **options).chosen == [1, 0]
    assert train(data, members, weights, np.array([1e-9, 1e-9]), **options).chosen == [0, 1]


@pytest.mark.parametrize(("taken", "chosen"), [(0.1, [0, 1, 2]), (2.0, [0, 2]), (4.0, [0])])
def test_forecasts_are_corrected_by_what_members_take(taken, chosen, monkeypatch):
    """The first was expected to take 2 seconds, the others 8 and 1, and 5 are left."""
    X, y = make_friedman1(60, n_features=5, random_state=0)
    data = Data(X, np.zeros(5, dtype=bool), y[:, None] / 30.0, None, np.ones(60))
    recipe = default_recipes(5, classify=False)[0]
    members = [Member(recipe, 1.0, ridge) for ridge in (0.1, 1.0, 10.0)]
    clock, share = Clock(limit=5.0), dict(zip((0.1, 1.0, 10.0), (1.0, 4.0, 0.5), strict=True))

    def timed(part, member):
        clock.began -= taken * share[member.ridge]  # as if so much time had passed
        return part.fit(member), taken * share[member.ridge]

    monkeypatch.setattr("kernelfit.ensemble.training._timed", timed)
    found = train(
        data, members, np.array([0.5, 0.3, 0.2]), np.array([2.0, 8.0, 1.0]),
        seed=0, n_jobs=None, clock=clock,
    )  # fmt: skip
    assert found.chosen == chosen


@pytest.mark.parametrize("metric", ["none", "splits"])
def test_forests_of_landmarks_have_leaves_that_hold_landmarks(metric):
    X, y = make_friedman1(2200, n_features=5, noise=0.5, random_state=0)
    y = (y - 14.0) / 14.0
    rows = Data(X[:1200], np.zeros(5, dtype=bool), y[:1200, None], None, np.ones(1200))
    member = Member(Recipe("forest", metric=metric), 1.0, 1e-2)
    errors = []
    for data, size in ((rows.take(np.arange(150)), None), (rows, 150)):
        machine = TrainingPart(data, 0, n_landmarks=size).fit(member)
        assert len(machine.points) == 150
        predicted = Machines([machine])(X[1200:])[0, :, 0]
        errors.append(np.mean((predicted - y[1200:]) ** 2))
    # More rows on as many points are better than these points alone.
    assert errors[1] < 0.8 * errors[0]
