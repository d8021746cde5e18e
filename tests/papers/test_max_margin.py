"""Maximum margin clustering: labels by brute force, descent, and the estimator."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from kernelfit import MaxMarginClustering
from kernelfit.papers.max_margin import (
    alternate_margin,
    balanced_labels,
    label_costs,
    signs,
)
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge


def centred_kernel(X, gamma, weight=None):
    K = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))
    share = np.full(len(X), 1.0 / len(X)) if weight is None else weight / weight.sum()
    H = np.eye(len(X)) - np.outer(np.ones(len(X)), share)
    return H @ K @ H.T


def margin_objective(K, labels, c, cost):
    return sum(
        solve_dual(K, hinge(y, cost, fit_intercept=False), tol=1e-9).objective
        for y in signs(labels, c).T
    )


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(3, 7),
    c=st.integers(2, 3),
    least=st.floats(0.0, 1.0),
)
def test_balanced_labels_are_the_cheapest(seed, n, c, least):
    costs = np.random.default_rng(seed).standard_normal((n, c))
    least = np.floor(least * n / c)
    labels = balanced_labels(costs, np.ones(n), least)
    allowed = [
        sum(costs[i, k] for i, k in enumerate(choice))
        for choice in product(range(c), repeat=n)
        if min(np.bincount(choice, minlength=c)) >= least
    ]
    assert np.bincount(labels, minlength=c).min() >= least
    assert costs[np.arange(n), labels].sum() == pytest.approx(min(allowed), abs=1e-9)


def test_sizes_of_points_that_count_differently():
    costs = np.column_stack((np.zeros(6), np.arange(6.0)))
    counts = np.array([3.0, 1, 1, 1, 1, 3])
    labels = balanced_labels(costs, counts, 3.0)
    assert np.bincount(labels, counts).min() >= 3.0
    # Two points of which no division is even enough.
    assert len(balanced_labels(costs[:2], np.array([9.0, 1.0]), 4.0)) == 2


@pytest.mark.parametrize("c", [2, 4])
def test_label_costs_are_those_of_the_hinges(c):
    rng = np.random.default_rng(0)
    decision = rng.standard_normal((9, 1 if c == 2 else c)) * 2.0
    cost = rng.uniform(0.5, 2.0, 9)
    found = label_costs(decision, cost)
    for k in range(c):
        y = signs(np.full(9, k), c)
        hinges = cost * np.maximum(1.0 - y * decision, 0.0).sum(axis=1)
        difference = found[:, k] - hinges
        if k == 0:
            constant = difference
        np.testing.assert_allclose(difference, constant, atol=1e-12)


@pytest.mark.parametrize("c", [2, 3])
def test_descent_to_labels_that_are_best_for_their_machines(c):
    X, _ = make_blobs(60, centers=c, cluster_std=2.5, random_state=1)
    K = centred_kernel(X, 0.05)
    counts = np.random.default_rng(0).integers(1, 3, 60).astype(float)
    start = np.random.default_rng(1).integers(0, c, 60)
    found = alternate_margin(K, start, c, counts, counts, 8.0, max_iter=50, tol=1e-6)
    assert found.converged and found.psd and len(found.history) == found.n_iter + 1
    assert (np.diff(found.history) <= 0.0).all() and found.history[-1] < 0.8 * found.history[0]
    assert found.objective == pytest.approx(margin_objective(K, found.labels, c, counts), rel=1e-5)
    assert np.bincount(found.labels, counts, c).min() >= 8.0
    decision = K @ found.coef
    losses = counts[:, None] * np.maximum(1.0 - signs(found.labels, c) * decision, 0.0)
    norms = 0.5 * np.einsum("ik,ik->", found.coef, decision)
    assert norms + losses.sum() == pytest.approx(found.objective, rel=1e-9)


def test_bound_and_optimum_of_few_points():
    """By enumeration: the best labels are found, and lie above the bound."""
    X, _ = make_blobs(9, centers=2, cluster_std=1.5, random_state=4)
    model = MaxMarginClustering(2, gamma=0.1, imbalance=0.4, random_state=0).fit(X)
    K = centred_kernel(X, 0.1)
    values = {}
    for rest in product((0, 1), repeat=8):
        labels = np.array([0, *rest])
        if np.bincount(labels, minlength=2).min() >= 0.6 * 4.5:
            values[rest] = margin_objective(K, labels, 2, np.ones(9))
    assert model.bound_ <= min(values.values()) * (1 + 1e-9)
    assert model.objective_ == pytest.approx(min(values.values()), rel=1e-3)


def test_estimator():
    X, y = make_blobs(120, centers=4, n_features=5, cluster_std=0.8, random_state=1)
    model = MaxMarginClustering(4, random_state=0).fit(X[:100])
    assert adjusted_rand_score(y[:100], model.labels_) >= 0.95
    assert adjusted_rand_score(y[100:], model.predict(X[100:])) >= 0.9
    assert np.isnan(model.bound_)
    # New points by the machines, whose planes go through the mean: the training points again.
    assert adjusted_rand_score(model.labels_, model.predict(X[:100] + 1e-9)) == 1.0
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        MaxMarginClustering(8, max_iter=1, C=0.1, n_init=1, random_state=0).fit(X)


def test_one_cluster_and_indefinite_kernels():
    X = np.random.default_rng(0).standard_normal((12, 2))
    assert not MaxMarginClustering(1).fit(X).labels_.any()
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = MaxMarginClustering(2, affinity=lambda X, Y: np.tanh(X @ Y.T - 2.0)).fit(X)
    assert np.isnan(model.bound_)


@pytest.fixture(scope="module")
def three_blobs():
    X = np.random.default_rng(0).normal(size=(24, 2))
    X[:8] += 4
    X[8:16, 1] += 5
    return X


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-500, 2.0**515, 2.0**1000])
def test_units_of_kernel_weights_and_costs(scale, three_blobs):
    """A kernel times s and costs over s, or weights times s, are the same problem in a new unit."""
    K = MaxMarginClustering(2).fit(three_blobs).affinity_matrix_
    model = MaxMarginClustering(2, affinity="precomputed", random_state=0)
    labels, objective, bound = (
        getattr(model.fit(K), name) for name in ("labels_", "objective_", "bound_")
    )
    found = model.set_params(C=1.0 / scale).fit(scale * K)
    np.testing.assert_array_equal(found.labels_, labels)
    assert (found.objective_ * scale, found.bound_ * scale) == (objective, bound)
    np.testing.assert_array_equal(found.predict(scale * K * (1 + 1e-9)), labels)
    found = model.fit(K, sample_weight=np.full(24, scale))
    np.testing.assert_array_equal(found.labels_, labels)
    assert (found.objective_, found.bound_) == (objective, bound)


def test_costs_beyond_all_margins(three_blobs):
    """Machines of hard margins do not change with their costs, nor do those without any margin."""
    hard = [
        MaxMarginClustering(2, C=C, random_state=0).fit(three_blobs) for C in (1e5, 1e20, 1e300)
    ]
    for model in hard:
        np.testing.assert_array_equal(model.labels_, hard[0].labels_)
        assert model.objective_ == pytest.approx(hard[0].objective_, rel=1e-5)
        assert model.bound_ == pytest.approx(hard[0].bound_, rel=1e-9)
    for C in (1e-300, 1e-150, 1e-30):
        model = MaxMarginClustering(2, C=C, random_state=0).fit(three_blobs)
        assert (1 - 1e-6) * 24 * C <= model.bound_ <= model.objective_ * (1 + 1e-12)
        assert model.objective_ == pytest.approx(24 * C)
    K = hard[0].affinity_matrix_
    for tiny in (1e-300, 1e-150):
        model = MaxMarginClustering(2, affinity="precomputed", random_state=0).fit(tiny * K)
        assert model.objective_ == pytest.approx(24)


@pytest.mark.parametrize(
    ("C", "weight", "match"),
    [
        (1.0, 1e200, "expected sample weights within a factor of 1e.100 of each other, got 1 and"),
        (1.0, 1e50, "double precision holds the objective, got C=1, weights of up to 1e.50"),
        (1e-320, 1.0, "double precision holds the objective, got C=1e-320, weights"),
    ],
)
def test_numbers_beyond_double_precision(C, weight, match, three_blobs):
    weights = np.append(weight, np.ones(23))
    with pytest.raises(ValueError, match=match):
        MaxMarginClustering(2, C=C, random_state=0).fit(three_blobs, sample_weight=weights)


def test_a_kernel_that_tells_nothing_apart():
    X = np.arange(24.0).reshape(12, 2)
    model = MaxMarginClustering(3, affinity=lambda A, B: np.ones((len(A), len(B))))
    with pytest.warns(UserWarning, match="does not tell any points from each other"):
        model.set_params(random_state=0).fit(X)


def test_bound_of_many_points():
    """It stays within a factor of the objective where the path is long."""
    X, _ = make_blobs(200, centers=2, n_features=3, random_state=0)
    model = MaxMarginClustering(2, n_relaxed=200, random_state=0).fit(X)
    assert 0.5 * model.objective_ < model.bound_ <= model.objective_
    with pytest.raises(ValueError, match="'n_relaxed' parameter of MaxMarginClustering"):
        model.set_params(n_relaxed=501).fit(X)
