"""The line search, on falling functions of known roots."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelfit.solvers.saddle.line_search import falling_root, follow

roots = st.floats(1e-3, 1.0, exclude_max=True)
steepness = st.floats(0.1, 30.0)
scales = st.integers(-40, 40).map(lambda exponent: 2.0**exponent)
firsts = st.sampled_from([1.0, 0.5, 0.1])

SHAPES = {
    "linear": lambda t, root, k: root - t,
    "convex": lambda t, root, k: math.exp(-k * t) - math.exp(-k * root),
    "concave": lambda t, root, k: math.exp(k * root) - math.exp(k * t),
    "sigmoid": lambda t, root, k: math.atan(k * (root - t)),
    "corner": lambda t, root, k: (root - t) * (1.0 if t < root else 1.0 + k),
    "flat": lambda t, root, k: (root - t) ** 3,
}


def search(function, **options):
    """Return the place that was found, and all places with their values."""
    seen = []

    def evaluate(t):
        seen.append((t, function(t)))
        return seen[-1][1]

    found = follow(falling_root(function(0.0), **options), evaluate)
    assert all(0.0 < t <= 1.0 for t, _ in seen)
    assert seen[-1][0] == found  # what the caller computed last belongs to the place found
    return found, seen


@pytest.mark.parametrize("shape", SHAPES)
@given(roots, steepness, scales, firsts, st.sampled_from([0.1, 1e-3, 1e-9]))
def test_root(shape, root, k, scale, first, accuracy):
    """The function is within the accuracy of 0 where the search ends, and at no place before."""

    def function(t):
        return scale * SHAPES[shape](t, root, k)

    _, seen = search(function, first=first, accuracy=accuracy, max_steps=100)
    values = [abs(value) <= accuracy * function(0.0) for _, value in seen]
    assert values[-1] and not any(values[:-1])
    assert len(seen) <= 100


@pytest.mark.parametrize("shape", SHAPES)
@given(st.floats(0.1, 1.0, exclude_max=True), st.floats(0.1, 10.0))
def test_few_steps_do_for_the_default_accuracy(shape, root, k):
    """Twenty suffice for functions that fall as gently as these."""
    _, seen = search(lambda t: SHAPES[shape](t, root, k))
    assert abs(seen[-1][1]) <= 0.1 * SHAPES[shape](0.0, root, k) and len(seen) <= 20


@pytest.mark.parametrize("shape", SHAPES)
@given(roots, steepness, scales)
def test_scale_does_not_matter(shape, root, k, scale):
    places, scaled = (
        [t for t, _ in search(lambda t, s=s: s * SHAPES[shape](t, root, k))[1]]
        for s in (1.0, scale)
    )
    assert places == scaled


@given(st.floats(1.0, 10.0), steepness, st.sampled_from([0.1, 0.25, 0.5, 1.0]))
def test_still_positive_at_the_end(root, k, first):
    """The first place is doubled up to the end, which is taken: the root lies behind it."""
    found, seen = search(lambda t: SHAPES["sigmoid"](t, root, k), first=first, accuracy=0.0)
    assert found == 1.0
    doubled = [min(first * 2**i, 1.0) for i in range(len(seen))]
    assert [t for t, _ in seen] == doubled


def test_root_at_the_end():
    """A value of exactly 0 there ends the search."""
    assert search(lambda t: 1.0 - t, accuracy=0.0) == (1.0, [(1.0, 0.0)])


@given(
    roots,
    st.floats(1e-6, 1e6),
    st.floats(0.0, 1.0),
    firsts,
    st.sampled_from([0.0, 0.1]),
    st.integers(1, 30),
)
def test_near_side_of_a_jump(jump, drop, slope, first, accuracy, max_steps):
    """No place is a root. The one found is the best of those before the fall, if there were any."""

    def function(t):
        value = 1.0 - slope * t / 2
        return value if t < jump else value - 1.0 - drop

    found, seen = search(function, first=first, accuracy=accuracy, max_steps=max_steps)
    before = [t for t, value in seen if value > 0.0]
    if abs(function(found)) <= accuracy:  # a drop so small that behind it is near enough
        return
    assert len(seen) <= max_steps + 2
    if before:
        # A bracket of neighbouring numbers: the next place is rounded to below the best one.
        assert max(before) * (1.0 - 1e-15) <= found < jump
    else:  # every place was behind: the nearest, which the steps have shrunk
        assert found == min(t for t, _ in seen)


@given(roots, st.floats(1e-3, 1e3))
def test_a_jump_is_closed_in_on(jump, drop):
    found, _ = search(lambda t: 1.0 if t < jump else -drop, accuracy=0.0, max_steps=200)
    assert found < jump <= found + 1e-6


@given(roots, steepness, st.integers(1, 10), firsts)
def test_steps_are_counted(root, k, max_steps, first):
    """At most two places more than the steps: the last of them, and one before the fall."""
    options = {"first": first, "accuracy": 0.0, "max_steps": max_steps}
    found, seen = search(lambda t: SHAPES["sigmoid"](t, root, k), **options)
    assert len(seen) <= max_steps + 2
    if any(value > 0.0 for _, value in seen):
        assert SHAPES["sigmoid"](found, root, k) >= 0.0


@given(roots, st.integers(1, 20))
def test_the_integral_rises(root, max_steps):
    """Up to a place before the root everything is gained, whatever comes behind."""

    def function(t):
        return root - t if t < root else -1e9

    found, seen = search(function, max_steps=max_steps)
    if any(value > 0.0 for _, value in seen):
        assert all(function(t) > 0.0 for t in np.linspace(0.0, found, 100))


def test_search_is_a_generator():
    """It yields places, takes values, and ends after the last one."""
    places = falling_root(1.0, first=0.5, accuracy=1e-12)
    assert next(places) == 0.5
    assert places.send(0.5) == 1.0  # still positive: doubled
    assert places.send(-1.0) == pytest.approx(2 / 3)
    with pytest.raises(StopIteration):
        places.send(0.0)
