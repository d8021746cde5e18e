"""The leave-one-out error on a device: n refits, the processor's gradient, and clear words."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.families.metric import device as engine
from kernelfit.families.metric.device import DeviceLeaveOneOut
from kernelfit.families.metric.leave_one_out import PROFILES, LeaveOneOut
from tests.reference.devices import devices
from tests.reference.metric import leave_one_out_error

pytest.importorskip("torch")


def make(seed, n, d, c):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.sin(X @ rng.standard_normal((d, c))) + 0.1 * rng.standard_normal((n, c))
    return X - X.mean(axis=0), Y - Y.mean(axis=0), rng.uniform(0.3, 3.0, n), rng.uniform(0.1, 1, d)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("kernel", sorted(PROFILES))
@pytest.mark.parametrize(("n", "d", "c"), [(2, 1, 1), (20, 4, 1), (70, 3, 4)])
def test_error_and_gradient_are_those_of_the_processor(n, d, c, kernel, device):
    X, Y, weight, w = make(n, n, d, c)
    there = DeviceLeaveOneOut(X, Y, weight, kernel, device)(w, 0.05)
    here = LeaveOneOut(X, Y, weight, PROFILES[kernel])(w, 0.05)
    assert_allclose(there.value, leave_one_out_error(X, Y, weight, w, 0.05, kernel), rtol=1e-9)
    for name in ("value", "widths", "ridge"):
        expected = getattr(here, name)
        atol = 1e-9 * np.abs(expected).max()
        assert_allclose(getattr(there, name), expected, rtol=1e-9, atol=atol)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("kernel", sorted(PROFILES))
def test_fits_are_those_of_the_processor(kernel, device):
    X, Y, weight, w = make(3, 40, 3, 2)
    there = DeviceLeaveOneOut(X, Y, weight, kernel, device).fits(w, [0.02, 0.5])
    here = LeaveOneOut(X, Y, weight, PROFILES[kernel]).fits(w, [0.02, 0.5])
    for (value, coef), (expected, coef_here) in zip(there, here, strict=True):
        assert_allclose(value, expected, rtol=1e-9)
        assert_allclose(coef, coef_here, atol=1e-9 * np.abs(coef_here).max())


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("kernel", sorted(PROFILES))
def test_slope_products_are_those_of_the_processor(kernel, device):
    X, Y, weight, w = make(1, 40, 3, 2)
    coef = np.random.default_rng(2).standard_normal(Y.shape)
    there = DeviceLeaveOneOut(X, Y, weight, kernel, device).slope_products(w, coef)
    here = LeaveOneOut(X, Y, weight, PROFILES[kernel]).slope_products(w, coef)
    assert_allclose(list(there), list(here), atol=1e-10)


@pytest.mark.parametrize("device", devices())
def test_ridge_too_small_is_said(device):
    X = np.zeros((3, 1))
    with pytest.raises(np.linalg.LinAlgError, match="ridge is too small"):
        DeviceLeaveOneOut(X, X, np.ones(3), "rbf", device)(np.ones(1), 0.0)


def test_memory_that_is_not_there(monkeypatch):
    monkeypatch.setattr(engine, "planned_bytes", lambda place, host_bytes: 1e3)
    with pytest.raises(MemoryError, match="GiB of memory on cpu to learn a metric from 30 points"):
        DeviceLeaveOneOut(*make(0, 30, 2, 1)[:3], "rbf", "cpu")
