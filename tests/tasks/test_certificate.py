"""The intercept of a certificate against sorted breakpoints, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelfit.tasks.certificate import certify

# Quarters: sums of them are exact, so that ties are ties.
quarters = st.integers(-12, 12).map(lambda k: k / 4)
costs = st.integers(0, 8).map(lambda k: k / 4)


def best_interval(g, lower, upper, epsilon, total):
    """Return the ends of the interval of all optimal intercepts, in fractions."""
    rises = []
    for value, low, high in zip(g, lower, upper, strict=True):
        rises.append((Fraction(-value) - Fraction(epsilon), Fraction(high)))
        rises.append((Fraction(-value) + Fraction(epsilon), Fraction(-low)))
    rises = sorted(rise for rise in rises if rise[1] > 0)
    slope = Fraction(total) - sum(map(Fraction, upper))
    for k, (point, weight) in enumerate(rises):
        slope += weight
        if slope > 0:
            return point, point
        if slope == 0:
            return point, rises[k + 1][0] if k + 1 < len(rises) else point
    return None


@given(st.lists(st.tuples(quarters, costs, costs), min_size=1, max_size=40), st.data())
def test_intercept_is_the_middle_of_the_best(points, data):
    g, low, high = np.array(points).T.copy()
    epsilon = data.draw(st.sampled_from([0.0, 0.25, 1.0]))
    total = data.draw(st.sampled_from([0.0, *(k / 4 * high.sum() for k in range(5))]))
    interval = best_interval(g, -low, high, epsilon, total)
    if interval is None:
        return  # nothing has a cost
    if sum(map(Fraction, high)) == Fraction(total):
        interval = interval[0], interval[0]  # everything to the left is as good: the end
    _, _, intercept, _ = certify(g, g, np.zeros(g.size), -low, high, epsilon, total)
    assert intercept == float(sum(interval) / 2)


def test_many_points():
    rng = np.random.default_rng(0)
    g, cost = rng.standard_normal(100_001), np.ones(100_001)
    _, _, intercept, _ = certify(g, g, np.zeros(g.size), -cost, cost, 0.0, 0.0)
    assert intercept == np.median(-g)


@pytest.mark.large
@pytest.mark.parametrize(
    "order", [np.square, np.abs, lambda x: np.cos(2 * np.pi * x), lambda x: -np.sin(np.pi * x)]
)
def test_orders_that_are_the_worst_for_pivots_at_fixed_places(order):
    """Which would take minutes."""
    g, cost = order(np.linspace(-1.0, 1.0, 1_000_001)), np.ones(1_000_001)
    _, _, intercept, _ = certify(g, g, np.zeros(g.size), -cost, cost, 0.0, 0.0)
    assert intercept == np.median(-g)


def test_numbers_that_are_none_end_the_search():
    g, cost = np.full(5, np.nan), np.ones(5)
    gap, *_ = certify(g, g, np.zeros(5), -cost, cost, 0.0, 0.0)
    assert np.isnan(gap)
