"""Nadaraya-Watson: refits, the determinant and the bias of the local metrics, limits."""

import numpy as np
import pytest

from kernelfit.families.metric.local_metrics import (
    average,
    choose_width,
    fit_gradients,
    learn_mean_metric,
    local_distances,
    mean_metric,
)
from kernelfit.families.metric.points import draw_points


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.1 * rng.standard_normal(60)
    return X, y[:, None], rng.uniform(0.5, 2.0, 60)


def local_metric(x, gradients, share):
    """The metric at x from the eigenvectors of B."""
    a, b = gradients.density(x[None])[0], gradients.slope
    values, vectors = np.linalg.eigh(0.5 * (np.outer(a, b) + np.outer(b, a)))
    A = share * np.eye(len(x)) + (np.abs(values) * vectors) @ vectors.T
    return A / np.linalg.det(A) ** (1 / len(x))


@pytest.mark.parametrize("share", [0.01, 1.0])
def test_local_distances_are_those_of_the_absolute_value(data, share):
    X, Y, weight = data
    gradients = fit_gradients(X, Y, weight)
    D = local_distances(X[:5], X, gradients, share)
    for x, row in zip(X[:5], D, strict=True):
        A = local_metric(x, gradients, share)
        np.testing.assert_allclose(np.linalg.det(A), 1.0)
        np.testing.assert_allclose(row, [(x - z) @ A @ (x - z) for z in X], rtol=1e-8, atol=1e-10)


def test_gradients_of_normal_data(data):
    X, Y, weight = data
    gradients = fit_gradients(X, Y, weight)
    covariance = np.cov(X.T, aweights=weight, bias=True)
    mean = np.average(X, axis=0, weights=weight)
    steepest = np.linalg.solve(covariance, mean - X[0])
    steepest /= np.linalg.norm(steepest)
    np.testing.assert_allclose(gradients.density(X[:1])[0], steepest, atol=1e-3)
    expected = np.array([1.0, -1.0, 0.5, 0.0]) / 1.5
    np.testing.assert_allclose(np.abs(gradients.slope @ expected), 1.0, atol=1e-2)


def test_metric_without_identity_has_no_bias(data):
    X, Y, weight = data
    gradients = fit_gradients(X, Y, weight)
    x = X[7]
    A = local_metric(x, gradients, 1e-9)
    bias = gradients.density(x[None])[0] @ np.linalg.inv(A) @ gradients.slope
    Euclidean = gradients.density(x[None])[0] @ gradients.slope
    assert abs(bias) * np.linalg.norm(A, 2) < 1e-3 * abs(Euclidean)


def test_mean_metric_is_the_mean(data):
    X, Y, weight = data
    gradients = fit_gradients(X, Y, weight)
    total = np.zeros((4, 4))
    for x, s in zip(X, weight / weight.sum(), strict=True):
        a, b = gradients.density(x[None])[0], gradients.slope
        values, vectors = np.linalg.eigh(0.5 * (np.outer(a, b) + np.outer(b, a)))
        total += s * (np.abs(values) * vectors) @ vectors.T
    found = mean_metric(X, gradients, weight, 0.1)
    np.testing.assert_allclose(found, total + 0.1 * np.eye(4), atol=1e-10)


def test_error_equals_refits(data):
    X, Y, weight = data
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    rows = np.array([3, 17, 40])
    left_out = D[rows].copy()
    left_out[np.arange(3), rows] = np.inf
    gamma, error = choose_width(left_out, rows, Y, weight)

    def refits(width):
        total = 0.0
        for i in rows:
            rest = np.delete(np.arange(60), i)
            k = weight[rest] * np.exp(-width * D[i, rest])
            total += weight[i] * np.sum((k @ Y[rest] / k.sum() - Y[i]) ** 2)
        return total / weight[rows].sum()

    np.testing.assert_allclose(error, refits(gamma), rtol=1e-8)
    unit = 1 / np.median(left_out[np.isfinite(left_out)])
    assert all(error <= refits(unit * 2.0**k) * (1 + 1e-12) for k in range(-6, 6))


def test_far_points_have_the_nearest_target():
    D = np.array([[1e6, 2e6]])
    np.testing.assert_array_equal(average(D, np.array([[1.0], [5.0]]), np.ones(2), 1.0), [[1.0]])


@pytest.mark.parametrize("d", [1, 3])
def test_degenerate_points(d):
    X = np.random.default_rng(0).standard_normal((10, d))
    for X_case, Y_case in ((X, np.ones((10, 1))), (np.ones((10, d)), X[:, :1]), (X[:1], X[:1, :1])):
        points = draw_points(X_case, Y_case, np.ones(len(X_case)), 600, 0)
        found = learn_mean_metric(points)
        assert np.isfinite(found.factor).all() and np.isfinite(found.error)
        gradients = fit_gradients(X_case, Y_case, np.ones(len(X_case)))
        assert np.isfinite(local_distances(X, X_case, gradients, 0.1)).all()
