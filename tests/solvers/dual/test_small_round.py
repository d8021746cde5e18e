"""Rounds of small problems that are compiled in one piece, against those that are not."""

import numpy as np
import pytest
from hypothesis import given

from kernelfit.kernels.gram import DenseGram
from kernelfit.solvers.dual import small_round, solve
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge, tube
from kernelfit.tasks.task import Task
from tests.reference.checks import assert_certificate_true, assert_feasible
from tests.reference.strategies import dual_problems
from tests.reference.svm import svc_problem


@pytest.fixture
def calls(monkeypatch):
    """Count the compiled rounds, and those of them that sufficed."""
    found = []

    def counted(*arguments):
        result = small_round.small_round(*arguments)
        found.append(result[0])
        return result

    monkeypatch.setattr(solve, "small_round", counted)
    return found


def blobs_problem(n=120, C=1.0, gamma=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    K = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return svc_problem(K, y, C)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_same_optimum_as_without(C, calls, monkeypatch):
    problem = blobs_problem(C=C)
    task = Task(**problem.task_terms)
    compiled = solve_dual(problem.K, task, tol=1e-6, assume_psd=True)
    assert calls
    monkeypatch.setattr(solve, "MOST_POINTS", 0)
    n_calls = len(calls)
    other = solve_dual(problem.K, task, tol=1e-6, assume_psd=True)
    assert len(calls) == n_calls
    for result in (compiled, other):
        assert result.converged and result.status == "proved"
        assert_feasible(problem, result.x)
        assert_certificate_true(problem, result)
        np.testing.assert_allclose(result.decision, problem.K @ result.x, rtol=1e-12, atol=1e-12)
    assert abs(compiled.objective - other.objective) <= 1e-6 * other.objective


@given(dual_problems())
def test_certificates_are_true(problem):
    result = solve_dual(problem.K, Task(**problem.task_terms), tol=1e-5)
    assert_feasible(problem, result.x)
    if result.status == "proved":
        assert_certificate_true(problem, result)


def test_newton_steps_follow_where_pair_steps_do_not_suffice(calls):
    """Pair steps crawl where K is ill-conditioned and C is large."""
    problem = blobs_problem(n=200, C=1e6, gamma=0.01)
    result = solve_dual(problem.K, Task(**problem.task_terms), tol=1e-8, assume_psd=True)
    assert not all(calls)
    assert result.converged
    assert_certificate_true(problem, result)


def test_negative_curvature_is_noticed(calls):
    K = np.diag([1.0, 1.0, 5.0, 5.0])
    K[0, 1] = K[1, 0] = 3.0  # beta'K beta is positive in the end
    result = solve_dual(K, tube([1.0, -1.0, 20.0, -20.0], 1.0, 0.0), assume_psd=True)
    assert calls
    assert result.status == "stationary" and np.isnan(result.gap)


def test_the_error_of_the_sum_is_taken_out():
    K, beta = np.eye(3), np.array([0.5, -0.25, -0.25 + 1e-9])
    g, decision = np.zeros(3), np.zeros(3)
    small_round.renew(K, np.zeros(3), np.full(3, -1.0), np.ones(3), 0.0, beta, g, decision)
    assert abs(beta.sum()) < 1e-16
    np.testing.assert_array_equal(decision, beta)


def test_matrices_to_read_only_and_of_other_types_take_the_other_way(calls):
    K = np.eye(4)
    K.flags.writeable = False
    for matrix in (K, np.eye(4, dtype=np.float32)):
        assert solve_dual(matrix, hinge([-1.0, 1.0, 1.0, -1.0], 0.5)).converged
    assert not calls
    assert solve_dual(np.eye(4), hinge([-1.0, 1.0, 1.0, -1.0], 0.5)).converged
    assert calls


def test_starts_at_the_solution_take_no_round(calls):
    problem = blobs_problem()
    task = Task(**problem.task_terms)
    first = solve_dual(problem.K, task, tol=1e-6, assume_psd=True)
    done = len(calls)
    again = solve_dual(DenseGram(problem.K), task, tol=1e-6, start=first.x, assume_psd=True)
    assert len(calls) == done and again.n_iter == 1
    np.testing.assert_allclose(again.x, first.x, rtol=0.0, atol=1e-14)  # the sum is restored
