"""The leave-one-out error equals n refits, its gradient equals differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelfit.families.metric.leave_one_out import PROFILES, LeaveOneOut
from tests.reference.metric import leave_one_out_error

KERNELS = sorted(PROFILES)


def make(seed, n, d, c):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.sin(X @ rng.standard_normal((d, c))) + 0.1 * rng.standard_normal((n, c))
    return X - X.mean(axis=0), Y - Y.mean(axis=0), rng.uniform(0.3, 3.0, n), rng.uniform(0.1, 1, d)


@pytest.mark.parametrize("kernel", KERNELS)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.integers(1, 4), st.integers(1, 3))
def test_error_equals_refits(kernel, seed, n, d, c):
    X, Y, weight, w = make(seed, n, d, c)
    found = LeaveOneOut(X, Y, weight, PROFILES[kernel])(w, 0.05)
    expected = leave_one_out_error(X, Y, weight, w, 0.05, kernel)
    np.testing.assert_allclose(found.value, expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "d", "c"), [(12, 1, 1), (40, 5, 1), (70, 3, 4), (130, 8, 2)])
def test_gradient_equals_differences(kernel, n, d, c):
    X, Y, weight, w = make(n, n, d, c)
    error = LeaveOneOut(X, Y, weight, PROFILES[kernel])
    found = error(w, 0.1)

    def slope(direction, ridge_direction):
        step = 1e-5
        ahead = error(w * np.exp(step * direction), 0.1 * np.exp(step * ridge_direction)).value
        behind = error(w * np.exp(-step * direction), 0.1 * np.exp(-step * ridge_direction)).value
        return (ahead - behind) / (2 * step)

    expected = np.array([slope(e, 0.0) for e in np.eye(d)])
    size = np.abs(expected).max()
    np.testing.assert_allclose(w * found.widths, expected, rtol=1e-5, atol=1e-7 * size)
    np.testing.assert_allclose(0.1 * found.ridge, slope(np.zeros(d), 1.0), rtol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_coefficients_solve_the_ridge_regression(kernel):
    X, Y, weight, w = make(0, 30, 3, 2)
    error = LeaveOneOut(X, Y, weight, PROFILES[kernel])
    K = PROFILES[kernel](error.squared_distances(w))[0]
    K = np.tril(K) + np.tril(K, -1).T
    ridges = [0.2, 3.0, 0.05]
    for ridge, (value, a) in zip(ridges, error.fits(w, ridges), strict=True):
        np.testing.assert_allclose((K + np.diag(ridge / weight)) @ a, Y, atol=1e-10)
        np.testing.assert_allclose(value, error(w, ridge).value, rtol=1e-12)


def test_fits_with_weights_that_hardly_count():
    """The square of what they leave out underflows."""
    X, Y, weight, w = make(0, 30, 3, 2)
    weight[:5] = 1e-170
    error = LeaveOneOut(X, Y, weight, PROFILES["rbf"])
    value, _ = next(error.fits(w, [0.2]))
    np.testing.assert_allclose(value, error(w, 0.2).value, rtol=1e-12)


def test_features_of_width_zero_do_not_count():
    X, Y, weight, w = make(1, 30, 4, 1)
    w[2] = 0.0
    whole = LeaveOneOut(X, Y, weight, PROFILES["rbf"])(w, 0.1).value
    part = LeaveOneOut(np.delete(X, 2, axis=1), Y, weight, PROFILES["rbf"])
    np.testing.assert_allclose(whole, part(np.delete(w, 2), 0.1).value, rtol=1e-12)


def test_ridge_too_small_is_said():
    X = np.zeros((3, 1))
    with pytest.raises(np.linalg.LinAlgError, match="ridge is too small"):
        LeaveOneOut(X, X, np.ones(3), PROFILES["rbf"])(np.ones(1), 0.0)
