"""Ridge machines on a device: rows left out one by one, with weights and without a factor."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.kernels.standard import RBF, Linear
from kernelfit.solvers.ridge import ridge_solve
from tests.reference.devices import devices

pytest.importorskip("torch")

from kernelfit.kernels.device_gram import matrix_on_device, on_device
from kernelfit.solvers import ridge_device
from kernelfit.solvers.ridge_device import DeviceRidge


def data(n=40):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    return X, np.column_stack([np.sin(X[:, 0]) + 5.0, X[:, 1] * X[:, 2]]), rng.uniform(0.3, 3.0, n)


def left_out(K, Y, weight, ridge, fit_intercept):
    """Train without every row in turn."""
    errors = np.empty(Y.shape)
    for i in range(len(Y)):
        rest = np.delete(np.arange(len(Y)), i)
        part = K[np.ix_(rest, rest)]
        found = ridge_solve(part, Y[rest], ridge, weight[rest], fit_intercept=fit_intercept)
        errors[i] = Y[i] - K[i, rest] @ found.coef - found.intercept
    return errors


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leave_one_out(fit_intercept, device, monkeypatch):
    monkeypatch.setattr(ridge_device, "_COLUMNS", 7)
    X, Y, weight = data()
    machines = DeviceRidge(on_device(RBF(0.5), X, device, 1e9), Y, weight, fit_intercept)
    for ridge in (1e-3, 1.0):
        expected = left_out(RBF(0.5)(X), Y, weight, ridge, fit_intercept)
        assert_allclose(machines.leave_one_out(ridge), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("device", devices())
def test_leave_one_out_without_a_factor(device):
    X, Y, weight = data()
    K = Linear()(X) - 0.5 * np.eye(40)  # indefinite
    machines = DeviceRidge(matrix_on_device(K, device, 1e9), Y, weight, True)
    expected = left_out(K, Y, weight, 0.1, True)
    assert_allclose(machines.leave_one_out(0.1), expected, rtol=1e-6, atol=1e-6)
