"""The projection onto a box cut by a plane, against bisection and its optimality conditions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelfit.tasks.projection import is_feasible, project_box_plane
from tests.reference.projections import project_box_plane as bisected
from tests.reference.projections import projection_kkt_violation
from tests.reference.strategies import projection_inputs, seeds

properties = settings(max_examples=150, deadline=None)


def rounding(v, lower, upper):
    """Return the error of v - t and of a sum of n terms: no float algorithm does better."""
    size = max(np.max(abs(a)) for a in (v, lower, upper))
    return 8 * len(v) * 2.0**-53 * size


@properties
@given(projection_inputs())
def test_projection_is_feasible_and_optimal(inputs):
    """The box holds exactly; the plane, the multiplier and the reference to rounding."""
    v, lower, upper, total = inputs
    x = project_box_plane(v, lower, upper, total)
    atol = rounding(v, lower, upper)
    assert x.dtype == np.float64 and x.shape == v.shape
    assert np.all(lower <= x) and np.all(x <= upper)
    assert abs(math.fsum(x) - total) <= atol
    assert projection_kkt_violation(x, v, lower, upper) <= atol
    np.testing.assert_allclose(x, bisected(v, lower, upper, total), rtol=0, atol=atol)


@properties
@given(projection_inputs(), seeds)
def test_projection_commutes_with_symmetries(inputs, seed):
    """Permutations and reflections act on the projection; moving v along 1 does nothing."""
    v, lower, upper, total = inputs
    order = np.random.default_rng(seed).permutation(len(v))
    x = project_box_plane(v, lower, upper, total)
    atol = 2 * rounding(v, lower, upper)
    permuted = project_box_plane(v[order], lower[order], upper[order], total)
    np.testing.assert_allclose(permuted, x[order], rtol=0, atol=atol)
    np.testing.assert_allclose(-project_box_plane(-v, -upper, -lower, -total), x, rtol=0, atol=atol)
    shift = np.max(abs(v))
    np.testing.assert_allclose(
        project_box_plane(v + shift, lower, upper, total), x, rtol=0, atol=2 * atol
    )


@properties
@given(projection_inputs(), st.floats(-3, 3), seeds)
def test_projection_contracts(inputs, size, seed):
    """Projections onto a convex set bring two points no further apart."""
    v, lower, upper, total = inputs
    w = v + 10.0**size * np.random.default_rng(seed).standard_normal(len(v))
    x = project_box_plane(v, lower, upper, total)
    z = project_box_plane(w, lower, upper, total)
    atol = 2 * math.sqrt(len(v)) * (rounding(v, lower, upper) + rounding(w, lower, upper))
    assert np.linalg.norm(x - z) <= np.linalg.norm(v - w) + atol


@properties
@given(projection_inputs())
def test_projection_keeps_feasible_points(inputs):
    """A projected point projects onto itself."""
    v, lower, upper, total = inputs
    x = project_box_plane(v, lower, upper, total)
    again = project_box_plane(x, lower, upper, total)
    # The first result misses the plane by a rounding of v, which the second may spread again.
    np.testing.assert_allclose(again, x, rtol=0, atol=2 * rounding(v, lower, upper))


def test_a_sum_far_beyond_the_box_is_mended_until_it_holds():
    v = np.array([-2.718893831799209e17, 2.13821819991687e16, 2.874294740117534e21, 8.530758950e18])
    lower = np.array([-5.766428182434364, -162007508198.06686, 0.0, -3.4883331660740304e-08])
    upper = np.array([0.0, 0.0, 1.3632037849761075e-07, 0.0])
    assert is_feasible(project_box_plane(v, lower, upper, 0.0), lower, upper, 0.0)


def test_rounding_is_left_to_what_moves():
    """Variables that sit at a bound stay there, also where their distance to the root is 0."""
    v = np.array([2.0, 1.0, 0.0, -2.0, -1.0, -3.0, -3.0, -3.0, -2.0, 2.0])
    lower = np.array([-2, 2, 0, -3, -1, 2, 0, -3, 0, 2]) * 1e-3
    upper = np.array([1, 3, 1, 1, 3, 3, 1, 0, 2, 3]) * 1e-3
    x = project_box_plane(v, lower, upper, 0.015900000000000004)
    at_bound = np.arange(10) != 7
    expected = np.where(np.arange(10) < 5, upper, lower)
    expected[8:] = upper[8:]
    np.testing.assert_array_equal(x[at_bound], expected[at_bound])
    np.testing.assert_allclose(x[7], -1e-4, rtol=1e-9)


@pytest.mark.parametrize(
    ("v", "lower", "upper", "total", "expected"),
    [
        ([3.0], [-1.0], [5.0], 2.0, [2.0]),
        ([1.0, 2.0, 3.0], [-9.0] * 3, [9.0] * 3, 0.0, [-1.0, 0.0, 1.0]),
        ([1.0, 2.0, 9.0], [0.0] * 3, [2.0] * 3, 3.0, [0.0, 1.0, 2.0]),
        ([5.0, -5.0], [0.0, 0.0], [0.0, 0.0], 0.0, [0.0, 0.0]),
        ([0.0, 0.0, 0.0, 0.0], [0.0] * 4, [1.0] * 4, 2.0, [0.5] * 4),
        ([7.0, -2.0], [-1.0, -1.0], [1.0, 3.0], 4.0, [1.0, 3.0]),
        ([7.0, -2.0], [-1.0, -1.0], [1.0, 3.0], -2.0, [-1.0, -1.0]),
    ],
)
def test_projection_by_hand(v, lower, upper, total, expected):
    """Small integers, where every operation is exact."""
    x = project_box_plane(np.array(v), np.array(lower), np.array(upper), total)
    np.testing.assert_array_equal(x, expected)


def test_total_defaults_to_zero():
    """The default plane is the one of the dual with an intercept."""
    rng = np.random.default_rng(0)
    v, bound = rng.standard_normal(9), rng.uniform(0.1, 1.0, size=9)
    np.testing.assert_array_equal(
        project_box_plane(v, -bound, bound), project_box_plane(v, -bound, bound, 0.0)
    )


def test_projection_reads_its_inputs_only():
    """Read-only arrays are accepted, and the result shares no memory with them."""
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal(7), np.full(7, -0.3), np.full(7, 0.4)]
    for a in inputs:
        a.flags.writeable = False
    x = project_box_plane(*inputs)
    assert not any(np.shares_memory(x, a) for a in inputs)


def test_projection_of_many_points():
    """A large case with equal breakpoints in bulk, which a quadratic search would not finish."""
    rng = np.random.default_rng(2)
    n = 200_000
    v = np.round(rng.standard_normal(n), 2)
    lower, upper = -rng.integers(0, 3, size=n) / 2.0, rng.integers(0, 3, size=n) / 2.0
    x = project_box_plane(v, lower, upper, 123.0)
    # Rounding of the sum of n numbers of size at most 1.
    assert abs(math.fsum(x) - 123.0) <= n * 2.0**-53 * n**0.5
    np.testing.assert_allclose(x, bisected(v, lower, upper, 123.0), rtol=0, atol=1e-12)


def test_points_far_beyond_the_box_get_the_sum():
    """Where the point less its shift rounds to far more than the box."""
    rng = np.random.default_rng(0)
    for size in (1e3, 1e9, 1e15, 1e20):
        v = size * rng.standard_normal(40)
        upper = 1e-3 * (0.1 + rng.random(40))
        lower = -1e-3 * (0.1 + rng.random(40))
        for total in (0.0, 1e-3):
            found = project_box_plane(v, lower, upper, total)
            assert (lower <= found).all() and (found <= upper).all()
            assert abs(found.sum() - total) <= 1e-14 * np.abs(found).sum()


def test_the_sum_of_many_numbers_does_not_drift():
    v = np.full(1_000_001, 0.1)
    assert is_feasible(v, np.zeros(v.size), np.ones(v.size), math.fsum(v))
    assert not is_feasible(v, np.zeros(v.size), np.ones(v.size), math.fsum(v) * (1.0 + 1e-12))
