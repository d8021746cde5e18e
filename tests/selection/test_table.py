"""The table of a search."""

import numpy as np
from numpy.testing import assert_allclose

from kernelfit.selection.table import difference, tabulate


def test_spread_of_scores_whose_squares_overflow():
    scores = np.array([[-1.0, -3.0, 0.0], [-2.0, -2.0, -5.0], [0.0, 0.0, 0.0]])
    tables = [
        tabulate([{"C": 1.0}] * 3, size * scores, np.ones((3, 3)), np.ones((3, 3)))
        for size in (1.0, 1e200)
    ]
    assert_allclose(tables[0]["std_test_score"], scores.std(axis=1))
    assert_allclose(tables[1]["std_test_score"], 1e200 * scores.std(axis=1))
    gains = scores[0, :, None] - scores[1:].T
    for table, size in zip(tables, (1.0, 1e200), strict=True):
        gain, error = difference(table, 0, [1, 2])
        assert_allclose(gain, size * gains.mean(axis=0))
        assert_allclose(error, size * gains.std(axis=0) / np.sqrt(2.0))
