"""Points are distinct and in units of their spread; weights equal repetitions to the last bit."""

import numpy as np
import pytest

from kernelfit.families.metric.points import draw_points


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 3)) * [1e-3, 1.0, 1e4], rng.standard_normal((50, 2))
    return X, Y, rng.integers(0, 5, 50).astype(float)


@pytest.mark.parametrize("max_points", [20, 600])
def test_weights_equal_repeated_rows(data, max_points):
    X, Y, weight = data
    rows = np.repeat(np.arange(50), weight.astype(int))
    given = draw_points(X, Y, weight, max_points, 3)
    order = np.random.default_rng(1).permutation(len(rows))
    repeated = draw_points(X[rows][order], Y[rows][order], np.ones(len(rows)), max_points, 3)
    for name in ("X", "Y", "weight", "spread"):
        np.testing.assert_array_equal(getattr(given, name), getattr(repeated, name))


def test_moments(data):
    X, Y, weight = data
    X = np.column_stack([X, np.full(50, 7.3), X[:, 0]])
    points = draw_points(X, Y, weight, 600, 0)
    mass = points.weight / points.weight.sum()
    np.testing.assert_allclose(points.weight.mean(), 1.0)
    np.testing.assert_allclose(mass @ points.X, 0.0, atol=1e-12)
    np.testing.assert_allclose(mass @ points.X**2, [1, 1, 1, 0, 1])
    np.testing.assert_allclose(mass @ points.Y, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.sum(mass @ points.Y**2), 1.0)
    np.testing.assert_array_equal(points.varies, [True, True, True, False, True])
    whole = np.repeat(X, weight.astype(int), axis=0)
    np.testing.assert_allclose(points.spread[:3], whole.std(axis=0)[:3])


def test_equal_rows_have_the_mean_of_their_targets():
    X = np.array([[1.0], [2.0], [1.0], [0.0]])
    points = draw_points(X, np.array([[1.0], [0.0], [4.0], [9.0]]), np.array([2.0, 1, 1, 0]), 9, 0)
    order = np.argsort(points.X[:, 0])
    np.testing.assert_allclose(points.weight[order], [1.5, 0.5])
    # Means 2 and 0 with masses 3/4 and 1/4: centred 1/2 and -3/2, of variance 3/4.
    np.testing.assert_allclose(points.Y[order, 0], np.array([0.5, -1.5]) / np.sqrt(0.75))


@pytest.mark.parametrize("n", [3, 30, 49])
def test_constant_targets_are_zero(n):
    X = np.random.default_rng(0).standard_normal((n, 2))
    for value in (1.0, 0.1, -7e200):
        assert not draw_points(X, np.full((n, 2), value), np.ones(n), 600, 0).Y.any()


def test_large_and_small_numbers():
    X = np.array([[1e300, 1e-300], [-1e300, 3e-300], [0.0, 2e-300]])
    points = draw_points(X, np.eye(3), np.ones(3), 9, 0)
    assert np.isfinite(points.X).all()
    np.testing.assert_allclose((points.X**2).mean(axis=0), 1.0)
