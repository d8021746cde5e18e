"""Newton steps on the free variables: what they reach, and the factor that a walk keeps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.solvers.dual.bound_walk import ENDED, FAILED, STOPPED, _drop, walk_to_bounds
from kernelfit.solvers.dual.newton_steps import BLOCKED, NO_STEP, STEP, newton_step
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge, tube


@pytest.mark.parametrize("j", [0, 3, 6])
def test_the_factor_without_a_variable(j):
    rng = np.random.default_rng(0)
    B = rng.standard_normal((9, 7))
    A = B.T @ B
    U = np.linalg.cholesky(A).T.copy()
    _drop(U, 6, j)
    U = np.triu(U[:6, :6])
    smaller = np.delete(np.delete(A, j, 0), j, 1)
    assert_allclose(U.T @ U, smaller, atol=1e-12 * np.trace(A))


def random_problem(seed, rank, n=30, epsilon=0.0):
    """Return K, p, a box and a feasible start with every variable free."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, rank))
    K, p = features @ features.T, rng.standard_normal(n)
    upper = rng.uniform(0.5, 2.0, n)
    beta = rng.uniform(0.1, 0.4, n) * np.where(np.arange(n) % 2, 1.0, -1.0)
    beta[-1] -= beta.sum()
    upper[-1] = 2.0 * abs(beta[-1]) + 1.0
    return K, p, -upper, upper, beta


def objective(K, p, epsilon, beta):
    return 0.5 * beta @ K @ beta - p @ beta + epsilon * np.abs(beta).sum()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("rank", [3, 30])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_whole_walk_reaches_the_minimum_over_what_stays_free(seed, rank, epsilon, fit_intercept):
    K, p, lower, upper, beta = random_problem(seed, rank)
    g, start, total = K @ beta - p, beta.copy(), beta.sum()
    status = newton_step(K, g, beta, lower, upper, epsilon, fit_intercept, 1e-13, False, len(p))
    assert status == STEP
    # A matrix of low rank is solved to a few digits only: a second step takes away what is left.
    newton_step(K, g, beta, lower, upper, epsilon, fit_intercept, 1e-13, False, len(p))
    assert np.all((beta >= lower) & (beta <= upper))
    assert np.all(beta * start >= 0.0) or epsilon == 0.0  # none passes the kink
    if fit_intercept:
        assert_allclose(beta.sum(), total, atol=1e-12)
    assert_allclose(g, K @ beta - p, atol=1e-11 * np.abs(K).sum())
    assert objective(K, p, epsilon, beta) < objective(K, p, epsilon, start)
    free = (beta > lower) & (beta < upper) & ((beta != 0.0) | (epsilon == 0.0))
    slope = (g + epsilon * np.sign(beta))[free]
    assert free.sum() < len(p)
    if fit_intercept and slope.size:
        slope -= slope.mean()
    assert_allclose(slope, 0.0, atol=1e-8)


def naive_walk(A, ridge, slope, least, most, fit_intercept, max_bounds):
    """Newton moves by dense solves, each up to the first bound."""
    moved, active = np.zeros(len(slope)), np.ones(len(slope), dtype=bool)
    for _ in range(max_bounds):
        k = np.flatnonzero(active)
        system, rhs = A[np.ix_(k, k)], -(slope + (A - np.diag(ridge)) @ moved)[k]
        if fit_intercept:
            ones = np.ones((len(k), 1))
            system, rhs = np.block([[system, ones], [ones.T, 0.0]]), np.append(rhs, 0.0)
        move = np.linalg.solve(system, rhs)[: len(k)]
        rooms = (np.where(move < 0.0, least[k], most[k]) - moved[k]) / move
        moved[k] += min(rooms.min(), 1.0) * move
        if rooms.min() >= 1.0:
            return moved, ENDED
        active[k[rooms.argmin()]] = False
        if active.sum() <= fit_intercept:
            return moved, ENDED
    return moved, STOPPED


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("max_bounds", [1, 5, 30])
@pytest.mark.parametrize("seed", range(4))
def test_the_walk_by_dense_solves(seed, max_bounds, fit_intercept):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((30, 40))
    ridge = rng.uniform(0.0, 3.0, 30)
    A = B @ B.T / 40 + np.diag(ridge)
    slope, room = rng.standard_normal(30), rng.uniform(0.01, 1.0, (2, 30))
    problem = -room[0], room[1], fit_intercept, max_bounds
    U = np.linalg.cholesky(A).T.copy()
    moved, status = walk_to_bounds(U, slope.copy(), ridge.copy(), *problem)
    expected = naive_walk(A, ridge, slope, *problem)
    assert status == expected[1]
    assert_allclose(moved, expected[0], atol=1e-10)
    if status == STOPPED:
        assert np.count_nonzero((moved == -room[0]) | (moved == room[1])) == max_bounds


def test_a_walk_on_numbers_that_are_not_finite_fails():
    for U in (np.full((2, 2), np.nan), np.zeros((2, 2))):
        box = -np.ones(2), np.ones(2)
        with np.errstate(all="ignore"):  # compiled code does not warn
            _, status = walk_to_bounds(U, np.array([1.0, 2.0]), np.zeros(2), *box, True, 2)
        assert status == FAILED


def test_a_short_walk_meets_as_many_bounds_as_asked():
    K, p, lower, upper, beta = random_problem(0, 3)
    g = K @ beta - p
    for met in range(1, 4):
        before = objective(K, p, 0.0, beta)
        assert newton_step(K, g, beta, lower, upper, 0.0, True, 1e-13, False, 1) == BLOCKED
        assert np.count_nonzero((beta == lower) | (beta == upper)) == met
        assert objective(K, p, 0.0, beta) < before


def test_at_the_minimum_there_is_no_step():
    K, p = np.eye(4), np.array([0.5, -0.5, 0.25, -0.25])
    beta, bound = p.copy(), np.ones(4)
    for walk in (0, 4):
        assert (
            newton_step(K, K @ beta - p, beta, -bound, bound, 0.0, True, 0.0, False, walk)
            == NO_STEP
        )
        assert_allclose(beta, p)


def test_an_indefinite_matrix_is_refused():
    K, bound = -np.eye(3) + 2.0 * np.diag([1.0, 1.0, 0.0]), np.ones(3)
    beta = np.array([0.1, 0.1, -0.2])
    for walk in (0, 3):
        with pytest.raises(np.linalg.LinAlgError):
            newton_step(K, K @ beta, beta, -bound, bound, 0.0, True, 1e-13, False, walk)


@pytest.mark.parametrize("solve", ["tube", "hinge"])
def test_one_huge_point_does_not_slow_the_others_down(solve):
    """A ridge relative to the trace would hide the curvature of all points but the huge one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    X[7] *= 1e6
    K = (1e-3 * X @ X.T) ** 3
    target = rng.standard_normal(30)
    task = tube(target, 30.0, 0.01) if solve == "tube" else hinge(np.sign(target), 30.0)
    result = solve_dual(K, task, tol=1e-3, max_iter=50)
    assert result.converged
