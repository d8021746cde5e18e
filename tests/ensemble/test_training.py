"""How members are trained on all rows follows from rows, memory and time."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from kernelfit.ensemble import engine as engine_module
from kernelfit.ensemble.clock import Clock, Seconds
from kernelfit.ensemble.features import Data
from kernelfit.ensemble.members import Member, Recipe, default_recipes
from kernelfit.ensemble.part import Machines, TrainingPart
from kernelfit.ensemble.training import Fit, Training, n_landmarks


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


@pytest.fixture
def friedman():
    X, y = make_friedman1(60, n_features=5, random_state=0)
    return Data(X, np.zeros(5, dtype=bool), y[:, None] / 30.0, None, np.ones(60))


def some_members():
    recipe = default_recipes(5, classify=False)[0]
    return [Member(recipe, 1.0, ridge) for ridge in (0.1, 1.0, 10.0)]


@pytest.mark.parametrize(
    ("pace", "chosen"), [(0.1, [0, 2, 1]), (1.0, [0, 2]), (2.6, [0]), (100.0, [])]
)
def test_members_are_trained_while_there_is_time(friedman, pace, chosen, monkeypatch):
    """They were expected to take 1, 4 and 0.5 seconds, in the order of their weights."""
    members = some_members()
    TrainingPart(friedman, 0).fit(members[0])  # which may compile
    clock = Clock(limit=4.0)
    training = Training(friedman, seed=0, clock=clock)
    seconds = dict(zip(members, (1.0, 4.0, 0.5), strict=True))
    # What one takes says how far to trust the forecasts of the others.
    training.expected = {one: (0.0, s if pace < 100.0 else 100.0) for one, s in seconds.items()}

    def timed(part, member, leave_out):
        clock.began -= pace * seconds[member]  # as if so much time had passed
        return Fit(part.fit(member), pace * seconds[member], None)

    monkeypatch.setattr("kernelfit.ensemble.training._timed", timed)
    found = training.train(members, np.array([0.5, 0.3, 0.2]))
    assert found.chosen == chosen
    assert training.is_complete(found, 3) == (len(chosen) == 3)
    expected = [] if len(chosen) == 3 else [f"{len(chosen)} of 3 members were trained"]
    assert training.left_out(found, 3) == expected


def test_short_of_time_cheap_members_of_much_weight_come_first(friedman, monkeypatch):
    members = some_members()
    training = Training(friedman, seed=0, clock=Clock(limit=100.0))
    training.expected = dict(zip(members, ((60.0, 1.0), (0.0, 30.0), (0.0, 1.0)), strict=True))
    order = []
    monkeypatch.setattr(
        "kernelfit.ensemble.training._timed",
        lambda part, member, _: (
            order.append(members.index(member)),
            Fit(part.fit(member), sum(training.expected[member]), None),
        )[1],
    )
    training.train(members, np.array([0.5, 0.4, 0.1]))
    assert order == [2, 1, 0]
    training.clock, order[:] = Clock(limit=200.0), []
    training.train(members, np.array([0.5, 0.4, 0.1]))
    assert order == [0, 1, 2]


def test_the_answer_in_hand_is_not_trained_again(friedman, monkeypatch):
    members, training = some_members(), Training(friedman, seed=0, clock=Clock(limit=1e9))
    training.begin(members[1])
    training.expected = dict.fromkeys(members, (0.0, 0.0))
    trained = []
    monkeypatch.setattr(
        "kernelfit.ensemble.training._timed",
        lambda part, member, _: (trained.append(member), Fit(part.fit(member), 0.0, None))[1],
    )
    found = training.train(members, np.array([0.5, 0.3, 0.2]))
    assert found.chosen == [0, 1, 2]
    assert trained == [members[0], members[2]]
    alone = training.with_standby(Training(friedman, seed=0, clock=Clock(limit=0.0)).train([], []))
    assert len(alone.machines.machines) == 1
    assert training.left_out(alone, 2) == ["0 of 2 members were trained"]
    machine = TrainingPart(friedman, 0).fit(members[1])
    np.testing.assert_array_equal(alone.machines.machines[0].coef, machine.coef)


def test_few_rows_are_never_on_landmarks(slow):
    """At a thousand million operations a second, 700 rows take a quarter of a second."""
    X = np.random.default_rng(0).normal(size=(700, 2))
    data = Data(X, np.zeros(2, dtype=bool), X[:, :1], None, np.ones(700))
    assert Training(data, seed=0, clock=Clock(limit=0.1)).n_landmarks is None


def test_landmarks_follow_the_time(slow):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    data = Data(X, np.zeros(2, dtype=bool), X[:, :1], None, np.ones(3000))
    sizes = [Training(data, seed=0, clock=Clock(limit=s)).n_landmarks for s in (1.0, 20.0, 100.0)]
    assert sizes[0] == 200
    assert 200 < sizes[1] < 1000
    assert sizes[2] is None  # 18 seconds fit
    training = Training(data, seed=0, clock=Clock(limit=20.0))
    training.standby_seconds, before = 0.3, training.n_landmarks
    training.adjust_landmarks(6)
    assert before < training.n_landmarks <= 2000
    training.standby_seconds = 1e3
    training.adjust_landmarks(6)
    assert training.n_landmarks >= 200


def test_clock():
    assert Clock().allows(1e9)
    assert not Clock().is_limited
    clock = Clock(limit=100.0, reserved=50.0)
    assert clock.allows(40.0)
    assert not clock.allows(49.0)  # forecasts are not that good
    assert 0.0 <= clock.spent < 50.0


def test_seconds_of_a_grid_on_more_rows():
    fold = Seconds(learning=5.0, matrix=2.0, solve=1.0)
    assert fold.of(3, 4) == 5.0 + 3 * 2.0 + 12 * 1.0
    assert fold.of(3, 4, growth=2.0, learned=0.0) == pytest.approx(3 * 8.0 + 12 * 2.0**2.6)


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
