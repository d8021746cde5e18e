import numpy as np
import pytest

from kernelfit.kernels.exponential import scaled_exp


@pytest.mark.parametrize(("dtype", "least"), [(np.float64, -700.0), (np.float32, -85.0)])
@pytest.mark.parametrize("factor", [-1.0, 0.3])
def test_values_are_within_two_units_of_the_last_place(dtype, least, factor):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0.0, 1.0, 3000), rng.uniform(0.0, -least, 3001), [0.0]])
    x = np.minimum(x, -least if factor < 0 else 80.0).astype(dtype)
    exact = np.exp(np.longdouble(dtype(factor)) * x.astype(np.longdouble))
    # What multiplying by the factor rounds, the exponential multiplies.
    size = 2.0 + np.abs(factor * x) * (factor != -1.0)
    error = np.abs(scaled_exp(x, factor) - exact) / exact
    assert np.all(error <= size * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_beyond_the_range(dtype):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 5e-324], dtype=dtype)
    expected = [1.0, 1.0, 0.0, np.inf, np.nan, 0.0, np.inf, 1.0]
    np.testing.assert_array_equal(scaled_exp(x, -1.0), np.array(expected, dtype=dtype))
    np.testing.assert_array_equal(scaled_exp(np.empty((0, 3), dtype), -1.0), np.empty((0, 3)))


def test_an_entry_does_not_depend_on_its_neighbours():
    x = np.random.default_rng(0).uniform(0.0, 30.0, (9, 23))
    whole = scaled_exp(x, -1.0)
    for i, row in enumerate(x):
        np.testing.assert_array_equal(scaled_exp(row[i:], -1.0), whole[i, i:])


def test_where_the_result_goes():
    x = np.random.default_rng(0).uniform(0.0, 3.0, (6, 8))
    before, out = x.copy(), np.empty_like(x)
    expected = scaled_exp(x, -2.0)
    np.testing.assert_array_equal(x, before)
    assert scaled_exp(x, -2.0, out) is out
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_allclose(scaled_exp(x.T[::2], -2.0), expected.T[::2], rtol=1e-15)
    strided = np.empty((8, 6)).T
    np.testing.assert_allclose(scaled_exp(x, -2.0, strided), expected, rtol=1e-15)
    assert scaled_exp(x, -2.0, x) is x
    np.testing.assert_array_equal(x, expected)
