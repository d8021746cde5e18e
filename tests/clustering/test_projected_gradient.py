"""Monotone spectral projected gradient, against the pairwise solver and closed forms."""

import numpy as np
import pytest

from kernelfit.clustering.projected_gradient import projected_gradient
from kernelfit.clustering.simplex_qp import solve_simplex_qp
from kernelfit.solvers.projections import project_box_plane


def simplex(v):
    return project_box_plane(v, np.zeros(len(v)), np.ones(len(v)), 1.0)


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
    values = [value for value, _ in result.history]
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
