"""Folds that are balanced."""

import numpy as np
import pytest

from kernelfit.ensemble.folds import balanced_parts


@pytest.mark.parametrize("n", [7, 23, 60])
def test_parts_are_of_equal_size_and_hold_every_class(n):
    labels = np.random.default_rng(n).integers(0, 3, n)
    part = balanced_parts(labels, 5, True, np.random.default_rng(0))
    sizes = np.bincount(part, minlength=5)
    assert sizes.max() - sizes.min() <= 1
    for c in range(3):
        counts = np.bincount(part[labels == c], minlength=5)
        assert counts.max() - counts.min() <= 1


def test_parts_of_numbers_have_like_means():
    y = np.random.default_rng(0).normal(size=100)
    part = balanced_parts(y, 5, False, np.random.default_rng(0))
    means = [y[part == k].mean() for k in range(5)]
    assert np.ptp(means) < 0.2
    np.testing.assert_array_equal(np.bincount(part), 20)


def test_the_draw_decides():
    y = np.repeat([0, 1], 20)
    one, same, other = (
        balanced_parts(y, 5, True, np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
