"""Regularised information maximisation against its definition."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from kernelfit import RIMClustering
from kernelfit.papers.information import _ridge, information, kernel_factor, probabilities


def entropy(p):
    return -sum(q * np.log(q) for q in p if q > 0)


def test_information_by_its_definition():
    rng = np.random.default_rng(0)
    decision, weights = 2.0 * rng.standard_normal((7, 3)), rng.uniform(size=7)
    weights /= weights.sum()
    p = np.array([np.exp(row) / np.exp(row).sum() for row in decision])
    mean = sum(w * row for w, row in zip(weights, p, strict=True))
    expected = entropy(mean) - sum(w * entropy(row) for w, row in zip(weights, p, strict=True))
    assert information(decision, weights)[0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(probabilities(decision), p)


def test_gradient_of_information():
    rng = np.random.default_rng(1)
    weights = rng.uniform(size=6)
    weights /= weights.sum()
    error = check_grad(
        lambda x: information(x.reshape(6, 4), weights)[0],
        lambda x: information(x.reshape(6, 4), weights)[1].ravel(),
        rng.standard_normal(24),
    )
    assert error < 1e-6


def test_information_at_its_limits():
    """Clusters of equal size without doubt have log c; far decisions overflow nothing."""
    weights = np.full(6, 1.0 / 6.0)
    sure = 1e4 * np.eye(3)[[0, 1, 2, 0, 1, 2]]
    value, gradient = information(sure, weights)
    assert value == pytest.approx(np.log(3.0)) and np.isfinite(gradient).all()
    assert information(np.zeros((6, 3)), weights)[0] == pytest.approx(0.0, abs=1e-12)
    value, gradient = information(1e4 * np.eye(3)[[0] * 6], weights)
    assert value == pytest.approx(0.0, abs=1e-12) and np.isfinite(gradient).all()


def test_kernel_factor():
    X = np.random.default_rng(0).standard_normal((10, 3))
    F, back = kernel_factor(X @ X.T)
    assert F.shape == (10, 3)
    np.testing.assert_allclose(F @ F.T, X @ X.T, atol=1e-10)
    np.testing.assert_allclose(X @ X.T @ back, F, atol=1e-10)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, centers=4, n_features=5, cluster_std=1.2, random_state=1)


def test_estimator_is_a_local_maximum(blobs):
    """The objective, recomputed from probabilities and coefficients, rises in no direction."""
    X, y = blobs
    model = RIMClustering(4, penalty=0.01, tol=1e-7, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) >= 0.9
    assert (np.diff(model.history_) >= 0.0).all() and model.converged_
    assert model.history_[-1] == pytest.approx(model.objective_)
    K = np.exp(-model.gamma_ * ((X[:, None] - X) ** 2).sum(axis=2))
    order = np.lexsort(X.T[::-1])  # the fitted coefficients hold the points in ascending order
    K = K[order][:, order]
    coef, intercept = model._coef, model._intercept
    rng = np.random.default_rng(0)

    def value(coef, intercept):
        p = probabilities(K @ coef + intercept)
        mutual = entropy(p.mean(axis=0)) - np.mean([entropy(row) for row in p])
        return mutual - 0.01 * np.einsum("ik,ij,jk->", coef, K, coef)

    best = value(coef, intercept)
    assert best == pytest.approx(model.objective_, abs=1e-9)
    for _ in range(10):
        step = 1e-3 * rng.standard_normal(coef.shape)
        shift = 1e-3 * rng.standard_normal(4)
        assert value(coef + step, intercept + shift) <= best + 1e-9
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.labels_)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_automatic_penalty_is_that_of_logistic_regression(blobs):
    """Half over the number of points, of which repeated ones count as often as they are there."""
    X, y = blobs
    weight = 1.0 + np.arange(len(X)) % 3
    model = RIMClustering(4, penalty="auto", random_state=0).fit(X, sample_weight=weight)
    assert model.penalty_ == 0.5 / weight.sum()
    given = RIMClustering(4, penalty=model.penalty_, random_state=0).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, given.labels_)
    assert model.objective_ == given.objective_ and adjusted_rand_score(y, model.labels_) == 1.0


def test_large_penalty_leaves_one_cluster(blobs):
    model = RIMClustering(4, penalty=100.0, random_state=0).fit(blobs[0])
    assert len(np.unique(model.labels_)) == 1
    assert model.information_ == pytest.approx(0.0, abs=1e-5)


def test_too_few_iterations_are_told(blobs):
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        RIMClustering(4, max_iter=1, random_state=0).fit(blobs[0])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_given_kernels(form, blobs):
    X, _ = blobs
    K = np.exp(-0.02 * ((X[:, None] - X) ** 2).sum(axis=2))
    expected = RIMClustering(4, gamma=0.02, random_state=0).fit(X)
    model = RIMClustering(4, affinity="precomputed", random_state=0).fit(form(K))
    assert adjusted_rand_score(expected.labels_, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(form(K)), model.labels_)
    np.testing.assert_allclose(model.predict_proba(form(K)).sum(axis=1), 1.0)


def test_too_few_different_points_are_told():
    X = np.repeat([[0.0, 1.0], [9.0, 0.0]], 15, axis=0)
    with pytest.warns(ConvergenceWarning, match="only 2 different points"):
        RIMClustering(4, random_state=0).fit(X)


def test_a_penalty_that_is_rounding_leaves_the_shortest_start():
    F, start = np.ones((6, 2)), np.arange(6.0)[:, None]
    coef = _ridge(F, np.ones(6), start, 1e-30, np.matmul)
    np.testing.assert_allclose(coef, np.full((2, 1), 1.25), rtol=1e-12)
