"""How members are trained on all rows follows from rows, memory and time."""

import numpy as np
import pytest

from kernelfit.ensemble import engine as engine_module
from kernelfit.ensemble.search import Clock
from kernelfit.ensemble.training import n_landmarks, training_seconds


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
