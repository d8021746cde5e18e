"""The Gaussian kernel in float32: within its bound wherever points are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelfit.kernels.single import SingleGaussian
from kernelfit.kernels.standard import RBF


def exact(X, Y, gamma):
    differences = X[:, None].astype(np.longdouble) - Y
    return np.exp(-(gamma * differences**2).sum(axis=-1)).astype(np.float64)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 3, 8, 32, 33, 100]),
    st.floats(-3.0, 3.0),
    st.sampled_from([0.0, 1.0, 1e4]),
)
def test_values_are_within_the_bound(seed, d, exponent, shift):
    rng = np.random.default_rng(seed)
    gamma = 10.0**exponent / d
    Y = rng.standard_normal((20, d)) + shift
    near = Y[:10] + rng.standard_normal((10, d)) * 10.0 ** rng.uniform(-5, 0) / np.sqrt(gamma * d)
    X = np.concatenate([Y, near, Y + 100.0 * rng.standard_normal((20, d))])
    kernel = SingleGaussian(RBF(gamma), Y)
    found = kernel(X)
    assert found.dtype == np.float32
    assert np.abs(found - exact(X, Y, gamma)).max() <= kernel.error


def test_one_width_a_feature():
    rng = np.random.default_rng(0)
    X, Y, gamma = rng.standard_normal((9, 4)), rng.standard_normal((7, 4)), [0.5, 0.0, 2.0, 0.1]
    kernel = SingleGaussian(RBF(gamma), Y)
    assert np.abs(kernel(X) - exact(X, Y, np.array(gamma))).max() <= kernel.error < 2e-6


@pytest.mark.parametrize("d", [3, 40])
def test_points_beyond_the_range_of_float32(d):
    Y = np.random.default_rng(0).standard_normal((5, d))
    kernel = SingleGaussian(RBF(1e-3), Y)
    X = np.stack([Y[0], np.full(d, 1e150), np.full(d, -1e40)])
    found = kernel(X)
    assert found[0, 0] == 1.0
    np.testing.assert_array_equal(found[1:], 0.0)


def test_a_kernel_too_narrow_for_float32_says_so():
    Y = 1e6 * np.random.default_rng(0).standard_normal((5, 50))
    assert SingleGaussian(RBF(1.0), Y).error == 1.0
