"""LogDet metrics: the optimum of a conic solver, a true gap, the constraints of the paper."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from kernelfit.families.metric.logdet import Constraints, assess, draw_constraints, learn_logdet


def random_constraints(seed, m=12, d=4):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    return Constraints(rng.standard_normal((m, d)), sign, rng.uniform(0.5, 5.0, m))


def divergence(A, B):
    M = A @ np.linalg.inv(B)
    return np.trace(M) - np.linalg.slogdet(M)[1] - len(A)


def primal_value(constraints, A, slack):
    """The objective of a metric with the best feasible bounds."""
    value = divergence(A, np.eye(len(A)))
    for v, sign, bound in zip(constraints.V, constraints.sign, constraints.bound, strict=True):
        p = v @ A @ v
        xi = max(p, bound) if sign > 0 else min(p, bound)
        value += slack * (xi / bound - np.log(xi / bound) - 1)
    return value


@pytest.mark.parametrize(("seed", "slack"), [(0, 1.0), (1, 0.1), (2, 10.0)])
def test_optimum_equals_that_of_a_conic_solver(seed, slack):
    constraints = random_constraints(seed)
    found = learn_logdet(constraints, slack=slack, tol=1e-9)
    A, xi = cp.Variable((4, 4), PSD=True), cp.Variable(12, pos=True)
    bound = constraints.bound
    objective = cp.trace(A) - cp.log_det(A) - 4
    objective += slack * cp.sum(xi / bound - cp.log(xi) + np.log(bound) - 1)
    rules = [
        sign * (cp.sum(cp.multiply(np.outer(v, v), A)) - xi[c]) <= 0
        for c, (v, sign) in enumerate(zip(constraints.V, constraints.sign, strict=True))
    ]
    expected = cp.Problem(cp.Minimize(objective), rules).solve(
        solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    np.testing.assert_allclose(found.objective, expected, rtol=1e-6)
    np.testing.assert_allclose(found.A, A.value, atol=1e-3)


@given(st.integers(0, 2**32 - 1), st.floats(0.05, 5.0), st.integers(1, 30), st.integers(1, 6))
def test_gap_is_true_and_closes(seed, slack, m, d):
    constraints = random_constraints(seed, m, d)
    found = learn_logdet(constraints, slack=slack, tol=1e-5)
    value = primal_value(constraints, found.A, slack)
    np.testing.assert_allclose(found.objective, value, rtol=1e-8, atol=1e-10)
    # Any other metric is no better than the bound that the gap proves.
    rng = np.random.default_rng(seed)
    for size in (1e-3, 0.1):
        B = size * rng.standard_normal((d, d))
        other = primal_value(constraints, found.A + B @ B.T, slack)
        assert other >= found.objective - found.gap - 1e-9
    assert found.converged and found.gap <= max(1e-5 * found.objective, 1e-12)


def test_multipliers_fulfil_the_conditions_of_optimality():
    constraints = random_constraints(5)
    found = learn_logdet(constraints, slack=1.0, tol=1e-12)
    p = np.einsum("ij,jk,ik->i", constraints.V, found.A, constraints.V)
    xi = 1 / (1 / constraints.bound - constraints.sign * found.multipliers)
    assert np.all(found.multipliers >= 0)
    assert np.all(constraints.sign * (p - xi) <= 1e-5)
    np.testing.assert_allclose(found.multipliers * (p - xi), 0.0, atol=1e-5)


def test_constraints_are_reached_where_slack_is_dear():
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    X = rng.standard_normal((40, 3)) + np.outer(labels, [8.0, 0, 0])
    constraints, pairs = draw_constraints(X, labels, 40, 0)
    np.testing.assert_array_equal(constraints.V, X[pairs[:, 0]] - X[pairs[:, 1]])
    assert (constraints.sign > 0).sum() == (constraints.sign < 0).sum() == 20
    bounds = np.unique(constraints.bound)
    # Bounds in the reach of all pairs at once.
    eased = Constraints(constraints.V, constraints.sign, np.where(constraints.sign > 0, 4.0, 6.0))
    found = learn_logdet(eased, slack=1e5, tol=1e-4)
    p = np.einsum("ij,jk,ik->i", eased.V, found.A, eased.V)
    assert found.converged
    assert np.all(eased.sign * (p - eased.bound) <= 1e-2 * eased.bound)
    assert len(bounds) == 2 and bounds[0] < bounds[1]


def test_weak_slack_keeps_the_identity():
    found = learn_logdet(random_constraints(1), slack=1e-6)
    np.testing.assert_allclose(found.A, np.eye(4), atol=1e-4)
    A, objective, gap = assess(random_constraints(1), np.zeros(12), 1.0)
    np.testing.assert_array_equal(A, np.eye(4))
    assert gap == objective  # the dual function is 0 there


def test_pairs_of_one_class_only():
    X = np.random.default_rng(0).standard_normal((10, 2))
    constraints, _ = draw_constraints(X, np.zeros(10), 20, 0)
    assert np.all(constraints.sign == 1.0) and len(constraints.V) == 10
    assert len(draw_constraints(np.zeros((1, 2)), np.zeros(1), 20, 0)[1]) == 0


def test_rounding_ends_the_steps():
    """A point far away leaves no digits for the others; what is there is a metric all the same."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((40, 3)), np.full((1, 3), 1e8)])
    found = learn_logdet(draw_constraints(X, np.arange(41) % 2, 80, 0)[0])
    assert np.isfinite(found.A).all() and np.isfinite(found.gap)


@pytest.mark.parametrize("power", [-500, 300, 500])
def test_the_unit_of_the_points_does_not_matter(power):
    rng = np.random.default_rng(7)
    V, sign = rng.standard_normal((30, 4)), np.repeat([1.0, -1.0], 15)
    bound, unit = np.where(sign > 0, 0.5, 2.0), 2.0**power
    found = learn_logdet(Constraints(V, sign, bound))
    other = learn_logdet(Constraints(V * unit, sign, bound * unit * unit))
    assert_array_equal(other.A, found.A)
    assert_array_equal(other.multipliers * unit * unit, found.multipliers)
    assert (other.objective, other.gap) == (found.objective, found.gap)
