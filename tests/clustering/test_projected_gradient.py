"""Monotone spectral projected gradient, against the pairwise solver and closed forms."""

import numpy as np
import pytest

from kernelfit.clustering.projected_gradient import project_mean, projected_gradient
from kernelfit.clustering.simplex_qp import solve_simplex_qp


def simplex(v):
    return project_mean(v, np.ones(len(v)), 0.0, 1.0, 1.0 / len(v))


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_pairwise_steps(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((20, 20))
    P, q, start = A @ A.T, rng.standard_normal(20), np.full(20, 0.05)
    result = projected_gradient(
        lambda x: (q @ x + 0.5 * x @ P @ x, q + P @ x), simplex, start, tol=1e-9, max_iter=5000
    )
    assert result.converged
    np.testing.assert_allclose(result.x, solve_simplex_qp(P, q, start, tol=1e-12).x, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_never_rises_on_nonconvex_functions(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((15, 15))
    P = A + A.T

    def wavy(x):
        return float(x @ P @ x + np.cos(9 * x).sum()), 2 * P @ x - 9 * np.sin(9 * x)

    result = projected_gradient(wavy, simplex, rng.dirichlet(np.ones(15)))
    values = result.history
    assert len(values) > 2 and np.all(np.diff(values) <= 0)
    assert values[-1] == wavy(result.x)[0] == result.objective
    assert result.x.sum() == pytest.approx(1.0) and result.x.min() >= 0


def test_stationary_start_is_returned():
    start = np.full(4, 0.25)
    result = projected_gradient(lambda x: (float(x @ x), 2 * x), simplex, start)
    assert result.converged and result.n_iter == 0
    np.testing.assert_array_equal(result.x, start)


def test_stops_at_max_iter():
    weights = np.array([1.0, 100.0])
    result = projected_gradient(
        lambda x: (float(weights @ x**2), 2 * weights * x), lambda x: x, np.ones(2), max_iter=1
    )
    assert result.n_iter == 1 and not result.converged


def nearest_with_mean(v, counts, lower, upper, mean):
    """The projection by bisection on its shift."""
    low, high = v.min() - upper - 1.0, v.max() - lower + 1.0
    for _ in range(200):
        shift = 0.5 * (low + high)
        if counts @ np.clip(v - shift, lower, upper) > mean * counts.sum():
            low = shift
        else:
            high = shift
    return np.clip(v - shift, lower, upper)


@pytest.mark.parametrize("seed", range(20))
def test_projection_on_a_mean(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 30)
    v = rng.standard_normal(n) * rng.choice([0.01, 1.0, 100.0])
    if seed % 3 == 0:
        v = np.round(v)  # many equal entries
    counts = rng.uniform(0.2, 4.0, n) if seed % 2 else np.ones(n)
    lower, upper = 0.1, rng.uniform(1.0, 3.0)
    found = project_mean(v, counts, lower, upper, 1.0)
    np.testing.assert_allclose(
        found, nearest_with_mean(v, counts, lower, upper, 1.0), rtol=0, atol=1e-9
    )
    assert found.min() >= lower and found.max() <= upper
    assert counts @ found == pytest.approx(counts.sum(), rel=1e-12)
    np.testing.assert_allclose(project_mean(found, counts, lower, upper, 1.0), found, atol=1e-12)


@pytest.mark.parametrize("mean", [0.0, 2.0])
def test_projection_on_a_corner(mean):
    found = project_mean(np.array([5.0, -1.0, 0.3]), np.array([1.0, 2.0, 1.0]), 0.0, 2.0, mean)
    np.testing.assert_array_equal(found, mean)


def test_variables_that_stand_for_several():
    """The steps are those of the problem in which all variables are written out."""
    rng = np.random.default_rng(7)
    copies = np.array([1, 3, 2, 1, 4])
    place, counts = np.repeat(range(5), copies), copies.astype(float)
    A = rng.standard_normal((5, 5))
    P, q = A @ A.T, rng.standard_normal(5)

    def short(x):
        y = counts * x
        return float(q @ y + 0.5 * y @ P @ y), counts * (q + P @ y)

    def whole(x):
        long = P[place][:, place] @ x
        return float(q[place] @ x + 0.5 * x @ long), q[place] + long

    start = project_mean(rng.uniform(size=5), counts, 0.1, 2.0, 1.0)
    ours = projected_gradient(
        short, lambda v: project_mean(v, counts, 0.1, 2.0, 1.0), start, counts=counts
    )
    ones = np.ones(len(place))
    theirs = projected_gradient(whole, lambda v: project_mean(v, ones, 0.1, 2.0, 1.0), start[place])
    assert ours.n_iter == theirs.n_iter >= 3
    np.testing.assert_allclose(ours.history, theirs.history, rtol=1e-9)
    np.testing.assert_allclose(ours.x[place], theirs.x, atol=1e-8)
