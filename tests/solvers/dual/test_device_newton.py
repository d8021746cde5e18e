"""The Newton move on a device against the optimum of small problems."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from kernelfit.solvers.dual.device_newton import newton_move  # noqa: E402


def problem(n=25, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n + 5))
    return A @ A.T, rng.standard_normal(n)


def move_of(K, slope, least, most, fixed_sum):
    arrays = (torch.as_tensor(array.copy()) for array in (K, slope, least, most))
    return newton_move(torch, *arrays, fixed_sum)


@pytest.mark.parametrize("fixed_sum", [True, False])
def test_reaches_the_minimum_inside_the_bounds(fixed_sum):
    K, slope = problem()
    wide = np.full(len(slope), 100.0)
    move = move_of(K, slope, -wide, wide, fixed_sum).numpy()
    rest = K @ move + slope
    assert_allclose(rest, rest.mean() if fixed_sum else 0.0, atol=1e-7)
    if fixed_sum:
        assert_allclose(move.sum(), 0.0, atol=1e-12)


@pytest.mark.parametrize("fixed_sum", [True, False])
@pytest.mark.parametrize("room", [0.003, 0.05])
def test_stays_within_bounds_and_goes_down(fixed_sum, room):
    K, slope = problem()
    most = np.full(len(slope), room)
    move = move_of(K, slope, -most, most, fixed_sum).numpy()
    assert np.all(np.abs(move) <= room * (1.0 + 1e-12))
    assert slope @ move + 0.5 * move @ K @ move < 0.0
    if fixed_sum:
        assert_allclose(move.sum(), 0.0, atol=1e-12)


def test_no_move_without_a_factor_or_a_gain():
    K, slope = problem()
    wide = np.full(len(slope), 100.0)
    assert move_of(-K, slope, -wide, wide, False) is None
    assert move_of(K, 0.0 * slope, -wide, wide, True) is None
