"""Weights of an ensemble against a conic solver, and their certificate."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelfit.ensemble.stacking import solve_simplex_qp, stack_log, stack_squared


def draw(seed, m=7, n=40):
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(n)
    predictions = y * rng.uniform(0, 1.5, (m, 1)) + rng.standard_normal((m, n))
    return predictions, y, rng.integers(0, 4, n).astype(float)


def squared_objective(w, predictions, y, weight, pull):
    error = (w @ predictions - y) ** 2
    return 0.5 * weight @ error / weight.sum() + 0.5 * pull * np.sum((w - 1 / len(w)) ** 2)


def log_objective(w, p, weight, pull):
    return -weight @ np.log(w @ p) / weight.sum() + 0.5 * pull * np.sum((w - 1 / len(w)) ** 2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pull", [0.0, 1e-3, 1.0])
def test_squared_agrees_with_a_conic_solver(seed, pull):
    predictions, y, weight = draw(seed)
    stack = stack_squared(predictions, y, weight, pull)
    w = cp.Variable(len(predictions), nonneg=True)
    error = cp.sum_squares(cp.multiply(np.sqrt(weight / weight.sum()), w @ predictions - y))
    loss = 0.5 * error + 0.5 * pull * cp.sum_squares(w - 1 / len(predictions))
    optimum = cp.Problem(cp.Minimize(loss), [cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
    value = squared_objective(stack.weights, predictions, y, weight, pull)
    assert stack.objective == pytest.approx(value, rel=1e-12)
    assert value == pytest.approx(optimum, rel=1e-6)
    assert value <= optimum + 1e-9
    assert stack.gap <= 1e-10


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pull", [0.0, 1e-3, 1.0])
def test_log_agrees_with_a_conic_solver(seed, pull):
    rng = np.random.default_rng(seed)
    p, weight = rng.beta(2, 1, (6, 50)), rng.integers(0, 4, 50).astype(float)
    stack = stack_log(p, weight, pull)
    w = cp.Variable(6, nonneg=True)
    loss = -cp.sum(cp.multiply(weight / weight.sum(), cp.log(w @ p)))
    loss += 0.5 * pull * cp.sum_squares(w - 1 / 6)
    optimum = cp.Problem(cp.Minimize(loss), [cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
    value = log_objective(stack.weights, p, weight, pull)
    assert stack.objective == pytest.approx(value, rel=1e-12)
    assert value == pytest.approx(optimum, abs=1e-6)
    assert stack.gap <= 1e-8


def test_the_gap_is_that_of_the_linear_model():
    """Stopped early, so that there is a gap; the gradient by differences."""
    rng = np.random.default_rng(0)
    p, weight = rng.beta(2, 1, (6, 50)), rng.integers(0, 4, 50).astype(float)
    stack = stack_log(p, weight, 1e-3, tol=1.0)
    w, h = stack.weights, 1e-6
    gradient = [
        (log_objective(w + e, p, weight, 1e-3) - log_objective(w - e, p, weight, 1e-3)) / (2 * h)
        for e in h * np.eye(6)
    ]
    assert stack.gap > 1e-3
    assert stack.gap == pytest.approx(w @ gradient - min(gradient), rel=1e-6)
    optimum = stack_log(p, weight, 1e-3).objective
    assert stack.objective - optimum <= stack.gap


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0.0, 1e-4, 1.0]))
def test_weights_are_in_the_simplex_and_the_gap_bounds_the_loss(seed, m, pull):
    predictions, y, weight = draw(seed, m)
    weight += 0.1
    rng = np.random.default_rng(seed)
    others = rng.dirichlet(np.ones(m), 20)
    p = np.exp(-((predictions - y) ** 2))
    for stack, objective in (
        (stack_squared(predictions, y, weight, pull),
         lambda w: squared_objective(w, predictions, y, weight, pull)),
        (stack_log(p, weight, pull),
         lambda w: log_objective(w, np.maximum(p, 1e-15), weight, pull)),
    ):  # fmt: skip
        assert stack.weights.min() >= 0.0
        assert stack.weights.sum() == pytest.approx(1.0)
        best = min(objective(w) for w in others)
        assert stack.objective - stack.gap <= best + 1e-9


def test_equal_members_share_their_weight():
    predictions, y, weight = draw(1, m=1)
    twice = np.concatenate([predictions, predictions, predictions + 9.0])
    w = stack_squared(twice, y, weight + 1.0, 1e-4).weights
    assert w[0] == pytest.approx(w[1], abs=1e-8)
    w = stack_log(np.exp(-((twice - y) ** 2)), weight + 1.0, 1e-4).weights
    assert w[0] == pytest.approx(w[1], abs=1e-3)


def test_a_strong_pull_gives_equal_weights():
    predictions, y, weight = draw(2)
    stack = stack_squared(predictions, y, weight, 1e9)
    np.testing.assert_allclose(stack.weights, 1 / 7, atol=1e-6)


def test_a_weight_of_two_is_a_repeated_row():
    predictions, y, weight = draw(3)
    count = weight.astype(int)
    repeated = np.repeat(predictions, count, axis=1), np.repeat(y, count)
    a = stack_squared(predictions, y, weight, 1e-3)
    b = stack_squared(*repeated, np.ones(count.sum()), 1e-3)
    np.testing.assert_allclose(a.weights, b.weights, atol=1e-10)


def test_members_that_are_certainly_wrong_do_not_break_the_log_loss():
    p = np.array([[0.0, 0.0, 1.0], [0.9, 0.8, 0.7]])
    stack = stack_log(p, np.ones(3), 0.0)
    assert np.isfinite(stack.objective)
    assert stack.weights[1] > 0.8


def test_a_vertex_is_left_where_that_pays():
    H = np.diag([1.0, 2.0, 4.0])
    w, _ = solve_simplex_qp(H, np.zeros(3), np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(w, np.array([4, 2, 1]) / 7, atol=1e-12)
