"""Weights of random features: the optimum of a conic solver, a true gap, limits."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelfit.papers.feature_alignment import align_weights


def assert_feasible(q, rho):
    N = len(q)
    assert np.all(q >= 0)
    np.testing.assert_allclose(q.sum(), 1.0, rtol=1e-12)
    assert np.mean((N * q - 1) ** 2) <= rho * (1 + 1e-8) + 1e-12


@pytest.mark.parametrize("rho", [0.01, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("N", [2, 7, 30])
def test_optimum_equals_that_of_a_conic_solver(N, rho):
    v = np.random.default_rng(N).random(N) ** 4
    found = align_weights(v, rho)
    q = cp.Variable(N, nonneg=True)
    rules = [cp.sum(q) == 1, N * cp.sum_squares(q) <= 1 + rho]
    expected = cp.Problem(cp.Maximize(v @ q), rules).solve(solver="CLARABEL")
    assert_feasible(found.q, rho)
    np.testing.assert_allclose(found.objective, expected, rtol=1e-6)
    np.testing.assert_allclose(found.q, q.value, atol=1e-3)


@given(
    st.lists(st.floats(0, 1e3), min_size=1, max_size=40) | st.lists(st.sampled_from([0.0, 1, 2])),
    st.floats(1e-6, 100.0),
)
def test_gap_is_closed(values, rho):
    v = np.array(values or [1.0])
    found = align_weights(v, rho)
    assert_feasible(found.q, rho)
    level = np.linspace(-10, v.max(), 50)[:, None]
    bounds = level[:, 0] + np.sqrt((1 + rho) / len(v) * (np.maximum(v - level, 0) ** 2).sum(axis=1))
    assert found.objective <= bounds.min() + 1e-9 * max(v.max(), 1)
    assert found.gap <= 1e-7 * max(v.max(), 1e-300)


def test_limits():
    v = np.array([1.0, 5.0, 3.0, 5.0])
    np.testing.assert_array_equal(align_weights(v, 0.0).q, 0.25)
    np.testing.assert_array_equal(align_weights(v, 100.0).q, [0, 0.5, 0, 0.5])
    np.testing.assert_array_equal(align_weights(np.zeros(3), 1.0).q, 1 / 3)
    np.testing.assert_allclose(align_weights(1e200 * v, 0.5).q, align_weights(v, 0.5).q)
    assert np.all(np.diff([align_weights(v, rho).objective for rho in (0.0, 0.1, 0.5, 1.0)]) > 0)
