"""Tasks: certificates against the losses' definitions, projections, and the tasks made of them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelfit.tasks.losses import hinge, pinball, squared_hinge, tube
from kernelfit.tasks.task import Certificate, Task
from tests.reference.losses import (
    LOSSES,
    decision,
    dual_value,
    duality_gap,
    grid_losses,
    loss_problem,
    primal_value,
    rounding_error,
    textbook_losses,
)
from tests.reference.projections import project_anywhere, projection_kkt_violation
from tests.reference.strategies import exponents, loss_problems, seeds, weights

properties = settings(max_examples=150, deadline=None)
losses = pytest.mark.parametrize("name", LOSSES)
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def feasible_point(problem, seed):
    """Return a random point of the feasible set, some of its variables at their bounds."""
    rng = np.random.default_rng(seed)
    bound = np.maximum(problem.upper, -problem.lower)
    finite = bound[np.isfinite(bound)]
    scale = 10.0 ** rng.integers(-3, 1) * (np.max(finite, initial=0.0) or 1.0)
    v = scale * rng.standard_normal(problem.n)
    if problem.total is None:
        return np.clip(v, problem.lower, problem.upper)
    return project_anywhere(v, problem.lower, problem.upper, problem.total)


def sum_error(problem, beta, intercept):
    """What a sum that misses the total by a rounding does to the gap, t being multiplied by it."""
    if problem.total is None:
        return 0.0
    return abs(math.fsum(beta) - problem.total) * abs(intercept)


# Certificates.


@losses
@intercepts
@pytest.mark.parametrize("vector", [False, True])
def test_certificate_is_that_of_the_textbook_loss(name, fit_intercept, vector):
    """At random feasible points: the gap is the primal value by the formula minus the dual one."""
    rng = np.random.default_rng(0)
    n, C = 30, 2.0
    X = rng.standard_normal((n, 3))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0) if "hinge" in name else 3.0 + X[:, 0]
    if vector:
        C = C * rng.uniform(0.5, 3.0, size=n) * (rng.uniform(size=n) > 0.2)
    problem = loss_problem(name, K, y, C, fit_intercept)
    task = Task(**problem.task_terms)
    for seed in range(20):
        beta = feasible_point(problem, seed)
        f = decision(problem, beta)
        found = task.certificate(beta, f)
        costs = textbook_losses(name, y, np.broadcast_to(C, (n,)), f + found.intercept)
        primal = 0.5 * math.fsum(beta * f) + math.fsum(costs)
        primal += found.intercept * (problem.total or 0.0)
        error = rounding_error(problem, beta, found.intercept)
        assert abs(found.objective - dual_value(problem, beta)) <= error
        missing = sum_error(problem, beta, found.intercept)
        assert abs(found.gap - (primal - found.objective)) <= error + missing
        assert found.gap > 100 * (error + missing)  # so that the lines above say something
        assert fit_intercept or found.intercept == 0.0


@properties
@given(loss_problems(), seeds)
def test_certificate(problem, seed):
    """Not negative; the losses are maxima over a grid; the reported numbers are true."""
    task, beta = Task(**problem.task_terms), feasible_point(problem, seed)
    f = decision(problem, beta)
    found = task.certificate(beta, f)
    error = rounding_error(problem, beta, found.intercept)
    missing = sum_error(problem, beta, found.intercept)
    assert {type(value) for value in found} == {float}
    assert found.gap >= 0.0 and found.resolution >= 0.0
    assert abs(found.objective - dual_value(problem, beta)) <= error
    gap = duality_gap(problem, beta, found.intercept)
    assert abs(found.gap - gap) <= error + missing
    assert found.resolution <= error  # no more than rounding is called rounding
    t = problem.p - f - found.intercept
    values, between = grid_losses(problem, t)
    on_grid = primal_value(problem, beta, found.intercept, lambda *_: values)
    below = on_grid - dual_value(problem, beta)
    assert below - error - missing <= found.gap <= below + between.sum() + error + missing
    assert task.certificate_at(beta, f - problem.p) == found
    assert task.intercept(f) == found.intercept


@properties
@given(loss_problems(), seeds)
def test_no_intercept_has_a_smaller_gap(problem, seed):
    """The primal is convex in the intercept: no other one, near or far, is better."""
    task, beta = Task(**problem.task_terms), feasible_point(problem, seed)
    found = task.certificate(beta, decision(problem, beta))
    if problem.total is None:
        assert found.intercept == 0.0
        return
    size = np.max(abs(problem.p - decision(problem, beta))) + problem.epsilon
    best = primal_value(problem, beta, found.intercept)
    for factor in (1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 10.0):
        for sign in (-1.0, 1.0):
            other = found.intercept + sign * factor * size
            error = rounding_error(problem, beta, other)
            error += rounding_error(problem, beta, found.intercept)
            assert best <= primal_value(problem, beta, other) + error


@properties
@given(loss_problems(), seeds, seeds)
def test_gap_bounds_what_any_point_can_gain(problem, seed, other_seed):
    """Weak duality: no feasible point has a dual value above objective + gap."""
    task, beta = Task(**problem.task_terms), feasible_point(problem, seed)
    found = task.certificate(beta, decision(problem, beta))
    other = feasible_point(problem, other_seed)
    error = rounding_error(problem, beta, found.intercept)
    error += rounding_error(problem, other, found.intercept)
    error += sum_error(problem, beta, found.intercept) + sum_error(problem, other, found.intercept)
    # K is positive semidefinite up to its own rounding.
    change = beta - other
    error += problem.n * 2.0**-50 * np.max(abs(problem.K)) * math.fsum(abs(change)) ** 2
    assert dual_value(problem, other) <= found.objective + found.gap + error


@properties
@given(st.integers(2, 12), st.floats(0, 1), exponents, st.booleans(), seeds)
def test_gap_is_zero_at_the_optimum(n, epsilon, exponent, ridged, seed):
    """With K = diag(d) and the multiplier b of the sum given, the optimum has a closed form."""
    rng = np.random.default_rng(seed)
    d, p = 10.0**exponent * rng.uniform(0.5, 2.0, size=n), rng.standard_normal(n)
    ridge = 10.0**exponent * rng.uniform(0.5, 2.0, size=n) if ridged else None
    bound = np.where(rng.uniform(size=(2, n)) < 0.5, 0.1, 10.0) / 10.0**exponent
    if ridged:
        bound[rng.uniform(size=(2, n)) < 0.3] = np.inf
    b = rng.standard_normal()
    t = p - b
    curvature = d if ridge is None else d + ridge
    soft = np.sign(t) * np.maximum(abs(t) - epsilon, 0.0) / curvature
    beta = np.clip(soft, -bound[0], bound[1])
    for total in (None, float(beta.sum())):
        linear = t if total is None else p
        task = Task(linear, -bound[0], bound[1], epsilon, ridge, total)
        found = task.certificate(beta, d * beta)
        size = np.abs(beta) @ (np.abs(p) + abs(b) + d * np.abs(beta) + epsilon)
        assert 0.0 <= found.gap <= 1e-14 * n * size
        expected = linear @ beta - epsilon * abs(beta).sum() - 0.5 * beta @ (curvature * beta)
        assert abs(found.objective - expected) <= 1e-14 * n * size
        if np.any((abs(beta) > 0.0) & (beta > -bound[0]) & (beta < bound[1])):
            expected = 0.0 if total is None else b  # a free variable makes it unique
            assert found.intercept == pytest.approx(expected, abs=1e-12 * (1 + np.max(abs(p))))


def test_meets():
    """A gap within a fraction of the objective, or of nothing but rounding at zero."""
    assert Certificate(1.0, 10.0, 0.0, 0.0).meets(0.1, at_zero=False)
    assert Certificate(1.0, -10.0, 0.0, 0.0).meets(0.1, at_zero=False)
    assert not Certificate(1.1, 10.0, 0.0, 2.0).meets(0.1, at_zero=False)
    assert Certificate(1.1, 10.0, 0.0, 2.0).meets(0.1, at_zero=True)
    assert not Certificate(1.1, 0.0, 0.0, 1.0).meets(0.1, at_zero=True)
    assert Certificate(0.0, 0.0, 0.0, 0.0).meets(0.0, at_zero=False)


@properties
@given(loss_problems(), seeds)
def test_kappa_is_the_dual_without_the_kernel(problem, seed):
    task, beta = Task(**problem.task_terms), feasible_point(problem, seed)
    nothing = problem.replace(K=np.zeros_like(problem.K))
    error = rounding_error(nothing, beta, 0.0)
    assert abs(task.kappa(beta) - dual_value(nothing, beta)) <= error


# Projections.


@properties
@given(loss_problems(), exponents, seeds)
def test_projection(problem, exponent, seed):
    """Feasible, with one multiplier for the sum, and no other feasible point is closer."""
    task, rng = Task(**problem.task_terms), np.random.default_rng(seed)
    v = 10.0**exponent * rng.standard_normal(problem.n)
    x = task.project(v)
    finite = [a[np.isfinite(a)] for a in (problem.lower, problem.upper)]
    size = np.max(abs(np.concatenate([v, *finite, [problem.total or 0.0]])))
    atol = 8 * problem.n * 2.0**-53 * size
    assert x.dtype == np.float64 and x.shape == v.shape
    assert np.all(problem.lower <= x) and np.all(x <= problem.upper)
    if problem.total is None:
        np.testing.assert_array_equal(x, np.clip(v, problem.lower, problem.upper))
    else:
        assert abs(math.fsum(x) - problem.total) <= atol
        assert projection_kkt_violation(x, v, problem.lower, problem.upper) <= atol
        expected = project_anywhere(v, problem.lower, problem.upper, problem.total)
        np.testing.assert_allclose(x, expected, rtol=0, atol=2 * atol)
    for other_seed in range(10):
        other = feasible_point(problem, other_seed)
        steps = (other, x + 1e-3 * (other - x))  # both feasible, the second close by
        for z in steps:
            # A point in the box is no farther from the plane's part of it than its sum.
            missing = 0.0 if problem.total is None else abs(math.fsum(z) - problem.total)
            far = np.linalg.norm(v - z) + missing
            assert np.linalg.norm(v - x) <= far + math.sqrt(problem.n) * (atol + 1e-15 * far)


@pytest.mark.parametrize("total", [0.0, 1.0, -7.5])
@pytest.mark.parametrize("n", [1, 3, 1000])
def test_projection_without_bounds_moves_all_alike(n, total):
    v = 100.0 * np.random.default_rng(0).standard_normal(n)
    infinite = np.full(n, np.inf)
    x = Task(v, -infinite, infinite, 0.0, np.ones(n), total).project(v)
    expected = v + (total - v.sum()) / n
    np.testing.assert_allclose(x, expected, rtol=0, atol=8 * 2.0**-53 * np.max(abs(v)))
    assert abs(math.fsum(x) - total) <= n * 2.0**-52 * np.max(abs(v))


@pytest.mark.parametrize("huge", [1e3, 1e9, 1e15])
def test_projection_of_small_numbers_beside_a_huge_bound(huge):
    """A bound that nothing comes near has no part in the rounding, however large it is."""
    n = 50
    rng = np.random.default_rng(0)
    v, small = rng.standard_normal(n), rng.uniform(0.0, 1.0, size=n)
    upper = np.where(np.arange(n) % 2 == 0, small, np.inf)
    lower = np.where(np.arange(n) % 3 == 0, -small, -huge)
    task = Task(v, lower, upper, 0.0, np.ones(n), 1.0)
    x = task.project(v)
    expected = project_anywhere(v, lower, upper, 1.0)
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-13)
    assert abs(math.fsum(x) - 1.0) <= 1e-13


@properties
@given(loss_problems(), seeds)
def test_start(problem, seed):
    """The feasible point closest to zero, or to the one given; a feasible one is only copied."""
    task, beta = Task(**problem.task_terms), feasible_point(problem, seed)
    np.testing.assert_array_equal(task.start(), task.project(np.zeros(problem.n)))
    again = task.start(beta)
    assert not np.shares_memory(again, beta)
    if problem.total is None or beta.sum() == problem.total:
        np.testing.assert_array_equal(again, beta)


def test_projection_reads_lists_and_read_only_arrays():
    task = hinge([1.0, -1.0], C=2.0)
    start = np.array([5.0, -5.0])
    for a in (start, task.p, task.lower, task.upper):
        a.flags.writeable = False
    np.testing.assert_array_equal(task.project(start), [2.0, -2.0])
    np.testing.assert_array_equal(task.project([1, -1]), [1.0, -1.0])


# Tasks from tasks.


@properties
@given(loss_problems(), seeds, st.floats(-1e3, 1e3))
def test_centred_moves_the_intercept_only(problem, seed, offset):
    """Where the sum is 0 a constant in p is no part of the problem; elsewhere nothing changes."""
    problem = problem.replace(p=problem.p + offset)
    task, beta = Task(**problem.task_terms), feasible_point(problem, seed)
    centred, shift = task.centred()
    if problem.total != 0.0:
        assert centred is task and shift == 0.0
        return
    assert abs(centred.p.max() + centred.p.min()) <= 1e-13 * np.max(abs(problem.p))
    assert centred.lower is task.lower and centred.upper is task.upper
    assert centred.ridge is task.ridge
    assert (centred.epsilon, centred.total) == (task.epsilon, task.total)
    f = decision(problem, beta)
    before, after = task.certificate(beta, f), centred.certificate(beta, f)
    error = rounding_error(problem, beta, before.intercept)
    error += 2 * abs(math.fsum(beta)) * (abs(shift) + abs(before.intercept))
    assert abs(before.gap - after.gap) <= error
    assert abs(before.objective - after.objective) <= error
    # The intercept need not be unique, but moved by the shift it must be as good.
    moved = primal_value(problem, beta, after.intercept + shift)
    assert abs(moved - primal_value(problem, beta, before.intercept)) <= 2 * error


@properties
@given(loss_problems(), seeds)
def test_take(problem, seed):
    """The task of some points has their parts of everything, and the sum that it had."""
    task, rng = Task(**problem.task_terms), np.random.default_rng(seed)
    some = rng.permutation(problem.n)[: rng.integers(1, problem.n + 1)]
    for rows in (some, slice(None), slice(1, None)):
        part = task.take(rows)
        for name in ("p", "lower", "upper"):
            np.testing.assert_array_equal(getattr(part, name), getattr(task, name)[rows])
        if task.ridge is None:
            assert part.ridge is None
        else:
            np.testing.assert_array_equal(part.ridge, task.ridge[rows])
        assert (part.epsilon, part.total) == (task.epsilon, task.total)
        assert part.n == len(task.p[rows]) and part.has_intercept == task.has_intercept
    beta = feasible_point(problem, seed)
    np.testing.assert_array_equal(task.take(some).is_free(beta[some]), task.is_free(beta)[some])


@properties
@given(loss_problems(), seeds)
def test_with_linear(problem, seed):
    task, beta = Task(**problem.task_terms), feasible_point(problem, seed)
    p = np.random.default_rng(seed).standard_normal(problem.n)
    other = task.with_linear(p)
    f = decision(problem, beta)
    assert other.certificate(beta, f) == Task(**{**problem.task_terms, "p": p}).certificate(beta, f)
    np.testing.assert_array_equal(task.p, problem.p)


@given(weights(8), st.sampled_from([0.0, 0.5]))
def test_free_variables(C, epsilon):
    """Inside the box, and with a kink at 0 not there."""
    y = np.array([1.0, -1.0] * 4)
    task = tube(y, C, epsilon)
    beta = np.array([0.0, 0.5, 1.0, -1.0, -0.5, 0.25, 0.0, -0.25]) * C
    inside = np.array([epsilon == 0.0, True, False, False, True, True, epsilon == 0.0, True])
    np.testing.assert_array_equal(task.is_free(beta), inside & (C > 0.0))
    assert task.count_free(beta) == np.count_nonzero(inside & (C > 0.0))


@intercepts
def test_losses(fit_intercept):
    """The boxes of the two usual losses, for one cost and for one a point."""
    y = np.array([1.0, -1.0, 1.0])
    for C in (2.0, np.array([2.0, 0.0, 3.0])):
        costs = np.broadcast_to(C, (3,))
        for task in (hinge(y, C, fit_intercept=fit_intercept), hinge(list(y), C)):
            np.testing.assert_array_equal(task.lower, np.where(y < 0, -costs, 0.0))
            np.testing.assert_array_equal(task.upper, np.where(y > 0, costs, 0.0))
            assert task.epsilon == 0.0 and task.ridge is None
        assert hinge(y, C, fit_intercept=fit_intercept).has_intercept == fit_intercept
        task = tube(y, C, 0.3, fit_intercept=fit_intercept)
        np.testing.assert_array_equal(task.lower, -costs)
        np.testing.assert_array_equal(task.upper, costs)
        assert task.epsilon == 0.3 and task.ridge is None
        assert task.total == (0.0 if fit_intercept else None)
        assert task.has_intercept == fit_intercept and task.n == 3


def test_costs_times_a_factor():
    """As if made with these costs; not where a least cost has entered the ridge."""
    p, cost = np.array([1.0, -1.0, 1.0]), np.array([0.5, 2.0, 0.0])
    for make in (hinge, lambda y, C: tube(y, C, 0.1), lambda y, C: pinball(y, C, 0.3)):
        found, expected = make(p, cost).times_cost(3.0), make(p, 3.0 * cost)
        assert (found.epsilon, found.total) == (expected.epsilon, expected.total)
        for name in ("p", "lower", "upper"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-15)
    with pytest.raises(ValueError, match="expected a task without a ridge"):
        squared_hinge(p, cost).times_cost(3.0)


def test_targets_whose_sum_overflows():
    assert Task(np.full(2, 1e308), -np.ones(2), np.ones(2)).centred()[1] == math.inf
