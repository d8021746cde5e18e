"""Widths of the features by reconstruction, against loops and a search of their own."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from kernelfit import CDSKClustering
from kernelfit.clustering.adaptive_widths import learn_widths, reconstruction_error


def noisy_rings(n=80, seed=0):
    """Two rings in the first two features, noise in the last two."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
    radius = np.where(np.arange(n) % 2, 1.0, 3.0)
    ring = np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))
    return np.hstack((ring, rng.standard_normal((n, 2)))), np.arange(n) % 2


def neighbours(X, k):
    """The symmetric graph of the k nearest points, dense."""
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    A = np.zeros(D.shape)
    np.put_along_axis(A, np.argsort(D, axis=1)[:, :k], 1.0, axis=1)
    return np.maximum(A, A.T)


def widths(model):
    return model._affinity.widths / model._affinity.unit**2


def error(X, A, w):
    total = 0.0
    for i, x in enumerate(X):
        near = np.flatnonzero(A[i])
        exponents = np.array([-(w * (x - X[j]) ** 2).sum() for j in near])
        W = np.exp(exponents - exponents.max())
        total += np.sum((x - W @ X[near] / W.sum()) ** 2)
    return total


def spectral(**options):
    options = {"affinity": "adaptive_widths", "max_iter": 0, "random_state": 0} | options
    return CDSKClustering(2, **options)


def test_error_and_gradient_are_the_definition():
    X, _ = noisy_rings(30)
    model = spectral(n_neighbors=5).fit(X)
    A = neighbours(X, 5)
    w = np.array([0.3, 0.5, 0.1, 0.2])
    order = np.lexsort(X.T[::-1])  # the affinity holds the points in ascending order
    graph = model._affinity.graph
    np.testing.assert_array_equal(graph.toarray() > 0, A[order][:, order] > 0)
    value, gradient = reconstruction_error(X[order], graph, w)
    assert value == pytest.approx(error(X, A, w), rel=1e-10)
    expected = approx_fprime(w, lambda v: error(X, A, v), 1e-7)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4)


def test_widths_are_a_minimum():
    """No direct search from them, and no equal widths, has a lower error."""
    X, _ = noisy_rings(40)
    model = spectral(n_neighbors=6).fit(X)
    A, w = neighbours(X, 6), widths(model)
    found = error(X, A, w)
    assert all(found < error(X, A, np.full(4, t)) for t in np.geomspace(1e-3, 1e3, 25))
    options = {"maxiter": 300, "xatol": 1e-4, "fatol": 1e-9}
    further = minimize(
        lambda v: error(X, A, np.exp(v)), np.log(w + 1e-6), method="Nelder-Mead", options=options
    )
    assert further.fun >= found * (1 - 1e-3)
    W = np.array([[np.exp(-(w * (x - y) ** 2).sum()) for y in X] for x in X]) * A
    np.testing.assert_allclose(model.affinity_matrix_.toarray(), W, rtol=1e-10, atol=1e-300)


def test_new_points_have_the_widths():
    X, _ = noisy_rings(60)
    model = spectral(n_neighbors=4).fit(X[:40])
    known, w = model._affinity.X, widths(model)
    D = ((X[40:, None] - known) ** 2).sum(axis=2)
    expected = np.exp(-((X[40:, None] - known) ** 2 @ w))
    expected[D > np.sort(D, axis=1)[:, 3:4]] = 0.0
    np.testing.assert_allclose(model._affinity.cross(X[40:]).toarray(), expected, rtol=1e-10)
    relative = model._affinity.cross(X[40:], relative=True).toarray()
    np.testing.assert_allclose(relative, expected / expected.max(axis=1, keepdims=True), rtol=1e-8)
    assert set(model.predict(X[40:])) <= {0, 1}


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 1e150])
def test_units_of_features_do_not_matter(scale):
    X, _ = noisy_rings(40)
    K = spectral(n_neighbors=6).fit(X).affinity_matrix_.toarray()
    scaled = spectral(n_neighbors=6).fit(scale * X).affinity_matrix_.toarray()
    np.testing.assert_allclose(scaled, K, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("X", [np.ones((6, 2)), np.array([[0.0], [1.0], [1.0]])])
def test_few_points(X):
    model = CDSKClustering(1, affinity="adaptive_widths", max_iter=0).fit(X)
    assert model.labels_.tolist() == [0] * len(X)
    assert np.isfinite(model.transform(X + 0.5)).all()


def test_equal_neighbours_leave_the_widths():
    graph = spectral(n_neighbors=1).fit(np.arange(4.0)[:, None])._affinity.graph
    np.testing.assert_array_equal(learn_widths(np.zeros((4, 1)), graph), [1.0])
