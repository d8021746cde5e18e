"""The rules for the bandwidth against their definitions."""

import numpy as np
import pytest

from kernelfit.clustering.bandwidth import bandwidth_gamma, reconstruction_gamma
from kernelfit.kernels.distances import squared_distances


def points(n=30, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def pairwise(X):
    return [np.linalg.norm(X[i] - X[j]) for i in range(len(X)) for j in range(i)]


def test_bandwidth_rules():
    X = points()
    assert bandwidth_gamma(X, "median") == pytest.approx(1 / (2 * np.median(pairwise(X)) ** 2))
    assert bandwidth_gamma(X, "variance") == pytest.approx(1 / (2 * np.var(pairwise(X)) ** 2))


def test_only_the_median_rule_is_scale_equivariant():
    X = points()
    D = squared_distances(X)
    median = [bandwidth_gamma(s * X, "median") * s**2 * D for s in (1.0, 1e-3)]
    np.testing.assert_allclose(*median, rtol=1e-10)
    assert np.exp(-bandwidth_gamma(1e-3 * X, "variance") * 1e-6 * D).sum() < 1.01 * len(X)


@pytest.mark.parametrize("rule", ["median", "variance"])
def test_bandwidth_of_equal_points(rule):
    assert bandwidth_gamma(np.ones((5, 2)), rule) == 1.0
    assert np.isfinite(bandwidth_gamma(np.array([[0.0], [0.0], [0.0], [1.0]]), rule))


def test_bandwidth_of_many_points_uses_some():
    X = points(500)
    whole, some = bandwidth_gamma(X, "median"), bandwidth_gamma(X, "median", max_rows=200)
    assert some != whole and some == pytest.approx(whole, rel=0.1)


def test_reconstruction_gamma_minimises_the_error():
    X = points(40, 2, 3)

    def error(gamma):
        total = 0.0
        for i in range(len(X)):
            others = np.delete(X, i, axis=0)
            w = np.exp(-gamma * ((others - X[i]) ** 2).sum(axis=1))
            total += np.linalg.norm(X[i] - w @ others / w.sum())
        return total

    best = reconstruction_gamma(X)
    for factor in (0.2, 0.8, 1.25, 5.0):
        assert error(best) <= error(factor * best) + 1e-6
