"""Learned widths and gradient metrics: objective, invariances, limits."""

from dataclasses import replace

import numpy as np
import pytest

from kernelfit.families.metric.agop import gradients, learn_gradient_metric
from kernelfit.families.metric.descent import learn_scale, minimise_error
from kernelfit.families.metric.leave_one_out import PROFILES, LeaveOneOut
from kernelfit.families.metric.points import draw_points
from kernelfit.families.metric.result import symmetric_factor
from kernelfit.families.metric.widths import learn_widths
from tests.reference.metric import gradient_outer_product

KERNELS = sorted(PROFILES)


def make(n=150, d=6, c=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.column_stack([np.sin(2 * X[:, k]) + X[:, k + 1] * X[:, k] for k in range(c)])
    Y += 0.1 * rng.standard_normal((n, c))
    return draw_points(X, Y, rng.uniform(0.5, 2.0, n), 600, seed)


@pytest.mark.parametrize("kernel", KERNELS)
def test_reported_error_is_that_of_the_result(kernel):
    points = make(c=2)
    found = learn_widths(points, kernel=kernel, tol=1e-9, max_iter=200)
    error = LeaveOneOut(points.X, points.Y, points.weight, PROFILES[kernel])
    value = error(found.factor**2, found.ridge).value / len(points.X)
    np.testing.assert_allclose(found.error, value, rtol=1e-8)
    assert np.all(np.diff(found.history) <= 1e-12)
    start = learn_gradient_metric(points, kernel=kernel, tol=1e-2, max_iter=3).factor ** 2
    moves = np.log(found.factor**2 / start)
    # The common scale that was found is a local minimum of the prior.
    scales = np.linspace(moves.min(), moves.max(), 20001)
    prior = np.log(1 + (moves[:, None] - scales) ** 2 / 0.3**2).sum(axis=0)
    expected = np.log(value) + 2 * prior / len(points.X)
    inner = expected[1:-1]
    minima = inner[(inner <= expected[:-2]) & (inner <= expected[2:])]
    assert np.abs(minima - found.history[-1]).min() < 1e-5


def test_five_of_fifty_features_come_first():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 50))
    y = np.sin(2 * X[:, 3]) + X[:, 11] * X[:, 17] + np.abs(X[:, 29]) + X[:, 41]
    points = draw_points(X, y[:, None] + 0.1 * rng.standard_normal((300, 1)), np.ones(300), 600, 0)
    for found in (learn_widths(points), learn_gradient_metric(points)):
        assert set(np.argsort(-found.factor)[:5]) == {3, 11, 17, 29, 41}


def test_small_prior_keeps_the_start():
    points = make()
    found = learn_widths(points, tau=1e-6)
    start = learn_gradient_metric(points, tol=1e-2, max_iter=3)
    ratio = found.factor / start.factor
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-2)


def test_constant_targets_keep_equal_widths():
    X = np.random.default_rng(0).standard_normal((30, 4)) * [1.0, 2.0, 3.0, 0.0]
    found = learn_widths(draw_points(X, np.ones((30, 1)), np.ones(30), 600, 0))
    np.testing.assert_array_equal(found.factor[:3], found.factor[0])
    assert found.factor[0] > 0.0 and found.factor[3] == 0.0


def test_one_scale_is_stationary():
    points = make()
    scale, ridge, value = learn_scale(points, kernel="rbf", scale=0.1, ridge=0.1, tol=1e-12)
    error = LeaveOneOut(points.X, points.Y, points.weight, PROFILES["rbf"])
    found = error(np.full(6, scale), ridge)
    np.testing.assert_allclose(found.value / len(points.X), value)
    assert abs(scale * found.widths.sum()) < 1e-4 * found.value
    assert abs(ridge * found.ridge) < 1e-4 * found.value


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_equal_differences(kernel):
    points = make(n=25, d=3, c=2)
    found = 4.0 * 0.3**2 * sum(g.T @ g for g in gradients(points, kernel, 0.3, 0.1))
    expected = gradient_outer_product(points.X, points.Y, points.weight, 0.3, 0.1, kernel)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("diagonal", [True, False])
def test_gradient_metric_keeps_the_best_round(diagonal):
    points = make(c=2)
    found = learn_gradient_metric(points, diagonal=diagonal)
    assert found.error == min(found.history)
    assert found.error < 0.5 * found.history[0]
    L = found.factor
    mapped = replace(points, X=points.X * L if diagonal else points.X @ L.T)
    error = LeaveOneOut(mapped.X, mapped.Y, mapped.weight, PROFILES["rbf"])
    np.testing.assert_allclose(error(np.ones(6), found.ridge).value / 150, found.error, rtol=1e-8)


def test_full_gradient_metric_follows_a_rotation():
    """Rotated data have the rotated metric; here in units in which nothing is standardised."""
    points = make(n=80)
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((6, 6)))[0]
    L = learn_gradient_metric(points, diagonal=False, max_iter=2).factor
    turned = learn_gradient_metric(replace(points, X=points.X @ Q), diagonal=False, max_iter=2)
    np.testing.assert_allclose(turned.factor.T @ turned.factor, Q.T @ L.T @ L @ Q, atol=1e-4)


def test_symmetric_factor():
    A = np.random.default_rng(0).standard_normal((7, 4))
    L = symmetric_factor(A @ A.T)
    np.testing.assert_allclose(L.T @ L, A @ A.T, atol=1e-12)
    norms = np.linalg.norm(L, axis=1)
    assert np.all(np.diff(norms) <= 1e-12)
    assert np.all(L.max(axis=1) >= -L.min(axis=1))


@pytest.mark.parametrize("kernel", KERNELS)
def test_degenerate_points(kernel):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(20), np.full(20, 3.0)])
    cases = {
        "constant targets": (X, np.ones((20, 1))),
        "constant features": (np.ones((20, 2)), rng.standard_normal((20, 1))),
        "one point": (X[:1], np.ones((1, 1))),
        "two points": (X[:2], np.array([[0.0], [1.0]])),
        "three points": (X[:3], np.array([[0.0], [1.0], [5.0]])),
        "five points of many features": (rng.standard_normal((5, 30)), rng.standard_normal((5, 2))),
        "targets that are noise": (X, rng.standard_normal((20, 1))),
        "one feature": (X[:, :1], np.sin(X[:, :1])),
        "targets without noise": (X, X[:, :1]),
    }
    for X_case, Y_case in cases.values():
        points = draw_points(X_case, Y_case, np.ones(len(X_case)), 600, 0)
        options = ({"diagonal": True}, {"diagonal": False})
        learned = [learn_gradient_metric(points, kernel=kernel, **option) for option in options]
        for found in (learn_widths(points, kernel=kernel), *learned):
            assert np.isfinite(found.factor).all() and np.isfinite(found.history).all()
            assert found.ridge > 0 and not found.factor.T[~points.varies].any()


def test_great_widths_leave_a_factor():
    """Rounding sets points next to each other apart, whose kernel is then not positive definite."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((40, 3)), 3, axis=0) + 1e-9 * rng.standard_normal((120, 3))
    points = draw_points(X, np.sign(X[:, :1]), np.ones(120), 600, 0)
    found = minimise_error(
        points, np.full(3, 1e10), 1e-7, "rbf", tol=1e-3, max_iter=20, device=None
    )
    assert found.error < 1e-3
