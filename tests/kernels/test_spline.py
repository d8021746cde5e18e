"""The spline kernel against its definition."""

import numpy as np
import pytest
from scipy.integrate import quad

from kernelfit.kernels.spline import Spline


def term(u, v):
    """Return the inner product of the derivatives of the representers of u and v."""
    a, b = min(u, v), max(u, v)
    slope = lambda t, x: t - (t > x)  # noqa: E731
    pieces = [(0.0, a), (a, b), (b, 1.0)]
    return sum(quad(lambda t: slope(t, u) * slope(t, v), *piece)[0] for piece in pieces)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 30.0])
def test_products_of_integrals(gamma):
    rng = np.random.default_rng(0)
    X, Y = rng.random((4, 3)), np.vstack([rng.random((3, 3)), np.zeros(3), np.ones(3)])

    def naive(x, y):
        return np.prod([1.0 + gamma * term(u, v) for u, v in zip(x, y, strict=True)])

    expected = [[naive(x, y) / np.sqrt(naive(x, x) * naive(y, y)) for y in Y] for x in X]
    np.testing.assert_allclose(Spline(gamma)(X, Y), expected, rtol=1e-10)


def test_it_is_a_kernel():
    X = np.random.default_rng(1).random((60, 5))
    kernel = Spline(4.0)
    K = kernel(X)
    np.testing.assert_allclose(K, K.T)
    np.testing.assert_allclose(K.diagonal(), kernel.diag(X))
    assert np.linalg.eigvalsh(K)[0] > -1e-12
    assert kernel.psd


def test_many_features_do_not_overflow():
    X = np.random.default_rng(2).random((5, 2000))
    K = Spline(1e6)(X)
    assert np.isfinite(K).all()
    np.testing.assert_allclose(K.diagonal(), 1.0)
