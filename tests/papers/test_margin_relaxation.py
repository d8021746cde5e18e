"""The relaxation of maximum margin clustering against cvxpy, enumeration and its certificate."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

from kernelfit.papers.margin_relaxation import relax_margin
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge


def kernel(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    X[: n // 2] += 1.5
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))


def semidefinite_programme(K, cost, counts, limit, rowwise=False):
    """min over M of max over 0 <= a <= C of 1'a - 1/2 a'(K o M)a, by Schur complement."""
    n = len(K)
    M = cp.Variable((n, n), PSD=True)
    low, high, delta = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True), cp.Variable((1, 1))
    border = cp.reshape(1.0 + low - high, (n, 1), order="C")
    block = cp.bmat([[cp.multiply(K, M), border], [border.T, delta]])
    balance = [cp.abs(M @ counts) <= limit] if rowwise else [counts @ M @ counts <= limit**2]
    problem = cp.Problem(
        cp.Minimize(0.5 * delta[0, 0] + cost @ high), [cp.diag(M) == 1, block >> 0, *balance]
    )
    return problem.solve(solver="CLARABEL")


def test_relaxation_of_forty_points_equals_cvxpy():
    K, cost, counts = kernel(40), np.ones(40), np.ones(40)
    found = relax_margin(K, cost, counts, 4.0)
    assert found.converged
    expected = semidefinite_programme(K, cost, counts, 4.0)
    assert found.bound == pytest.approx(expected, rel=2e-6)


def test_counts_and_costs_against_cvxpy():
    """Also: the balance of one sum is at least as tight as that of every row, as in the source."""
    rng = np.random.default_rng(1)
    K, counts = kernel(12, 3), rng.integers(1, 4, 12).astype(float)
    cost = 2.0 * counts
    bound = relax_margin(K, cost, counts, 3.0).bound
    assert bound == pytest.approx(semidefinite_programme(K, cost, counts, 3.0), rel=1e-5)
    assert bound >= semidefinite_programme(K, cost, counts, 3.0, rowwise=True) * (1 - 1e-6)


@pytest.mark.parametrize(("n", "C"), [(30, 0.01), (30, 1.0), (30, 1e3), (150, 1.0)])
def test_the_certificate_proves_the_bound(n, C):
    """A feasible point of the dual, recomputed; M is feasible up to its last digits."""
    K, counts, limit = kernel(n, 5), np.linspace(0.5, 2.0, n), 0.2 * n
    cost = C * counts
    found = relax_margin(K, cost, counts, limit)
    assert found.converged
    S = np.diag(found.z) + found.v * np.outer(counts, counts)
    S -= np.outer(found.alpha, found.alpha) * K
    assert np.linalg.eigvalsh(S)[0] >= 0.0
    assert found.v >= 0.0 and (found.alpha >= 0.0).all() and (found.alpha <= cost).all()
    value = found.alpha.sum() - 0.5 * (found.z.sum() + limit**2 * found.v)
    assert value == pytest.approx(found.bound, rel=1e-9)
    assert np.linalg.eigvalsh(found.M)[0] >= -1e-12
    np.testing.assert_allclose(np.diag(found.M), 1.0)
    assert counts @ found.M @ counts <= limit**2 * (1 + 1e-3)
    upper = solve_dual(K * found.M, hinge(np.ones(n), cost, fit_intercept=False), tol=1e-9)
    assert found.bound <= upper.objective <= found.bound * (1 + 1e-4)


def test_no_labels_are_below_the_bound():
    K, counts, limit = kernel(8, 2), np.array([1.0, 2, 1, 1, 3, 1, 1, 2]), 4.0
    values = []
    for rest in product((-1.0, 1.0), repeat=7):
        y = np.array([1.0, *rest])
        if abs(counts @ y) <= limit:
            values.append(solve_dual(K, hinge(y, counts, fit_intercept=False), tol=1e-9).objective)
    bound = relax_margin(K, counts, counts, limit).bound
    assert 0.5 * min(values) < bound <= min(values)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scales(scale):
    K, cost, counts = kernel(10), np.full(10, 0.7), np.ones(10)
    expected = relax_margin(K, cost, counts, 2.0).bound
    found = relax_margin(scale * K, cost / scale, counts, 2.0).bound
    assert scale * found == pytest.approx(expected, rel=1e-5)
