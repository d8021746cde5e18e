import numpy as np
import pytest

from kernelfit.clustering.ties import first_least, first_least_columns


@pytest.mark.parametrize("values", [[2.0, 1.0, 1.0 - 1e-13], [-1.0, -3.0, -3.0 - 1e-12]])
def test_rounding_does_not_decide(values):
    assert first_least(values) == 1
    columns = first_least_columns(np.array([values, [5.0, 4.0, 3.0]]), 3.0)
    np.testing.assert_array_equal(columns, [1, 2])


def test_infinite_values_lose():
    assert first_least([np.inf, 0.0]) == 1
    np.testing.assert_array_equal(first_least_columns(np.array([[np.inf, -2.0]]), 1.0), [1])
