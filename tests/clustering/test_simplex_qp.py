"""Quadratic programmes on the simplex: optimality, monotone descent, indefinite problems."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelfit.clustering.simplex_qp import solve_simplex_qp
from tests.reference.strategies import seeds


def problem(seed, n, psd):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    P = A @ A.T if psd else A + A.T
    return P, rng.standard_normal(n), rng.dirichlet(np.ones(n))


def value(P, q, x):
    return q @ x + 0.5 * x @ P @ x


@pytest.mark.parametrize("upper", [np.inf, 0.2])
def test_matches_convex_model(upper):
    n = 15
    P, q, _ = problem(0, n, psd=True)
    start = np.full(n, 1.0 / n)
    result = solve_simplex_qp(P, q, start, upper=upper, tol=1e-10)
    x = cp.Variable(n)
    constraints = [x >= 0, cp.sum(x) == 1] + ([x <= upper] if np.isfinite(upper) else [])
    cp.Problem(cp.Minimize(q @ x + 0.5 * cp.quad_form(x, cp.psd_wrap(P))), constraints).solve(
        solver=cp.CLARABEL
    )
    assert result.converged
    assert result.objective == pytest.approx(value(P, q, x.value), abs=1e-8)
    np.testing.assert_allclose(result.x, x.value, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(2, 12), st.booleans(), st.floats(0.0, 0.05))
def test_feasible_never_worse_and_stationary(seed, n, psd, lower):
    P, q, start = problem(seed, n, psd)
    start = lower + (1 - n * lower) * start
    upper = max(0.9, start.max())
    result = solve_simplex_qp(P, q, start, lower=lower, upper=upper)
    x = result.x
    assert result.converged
    assert x.min() >= lower and x.max() <= upper
    assert x.sum() == pytest.approx(1.0, abs=1e-12)
    assert result.objective <= value(P, q, start) + 1e-12
    assert result.objective == pytest.approx(value(P, q, x), abs=1e-10)
    g = P @ x + q
    scale = np.abs(P @ start + q).max()
    assert g[x > lower].max() <= g[x < upper].min() + 1e-7 * scale


def test_every_step_descends_on_indefinite_problems():
    P, q, x = problem(1, 30, psd=False)
    previous = value(P, q, x)
    for _ in range(40):
        result = solve_simplex_qp(P, q, x, max_iter=1)
        assert result.objective <= previous + 1e-12
        x, previous = result.x, result.objective
    assert result.converged


def test_concave_problem_ends_in_a_vertex():
    x = solve_simplex_qp(-np.eye(4), np.zeros(4), np.array([0.3, 0.3, 0.2, 0.2])).x
    assert sorted(x) == [0.0, 0.0, 0.0, 1.0]


def test_input_is_not_changed():
    P, q, start = problem(2, 5, psd=True)
    for array in (P, q, start):
        array.setflags(write=False)
    solve_simplex_qp(P, q, start)
