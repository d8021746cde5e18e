"""Damped alternation reaches the optimum; the papers' plain alternation is certified."""

import numpy as np
import pytest
from sklearn.svm import SVC

from tests.reference import dank
from tests.reference.examples import example
from tests.reference.factors import assert_certificate_true, learn


@pytest.mark.parametrize("task", ["svc", "svr"])
@pytest.mark.parametrize(("method", "tau"), [("dank", 0.0), ("dank", 0.05), ("knpl", 0.0)])
def test_damped_alternation_reaches_the_same_optimum(method, tau, task):
    problem = example(task, n=20, C=0.5)
    best = learn(problem, 4.0, tau, method)
    result = learn(problem, 4.0, tau, method, solver="damped", tol=1e-3, max_iter=20000)
    assert result.converged
    assert best.objective - 1e-9 <= result.objective + result.gap
    assert result.objective <= best.objective + best.gap + 1e-12
    assert_certificate_true(problem, result, 4.0, tau, method)


@pytest.mark.parametrize("solver", ["alternating", "admm"])
def test_plain_alternation_is_certified_whether_it_converges_or_not(solver):
    problem = example("svc", n=20, C=0.5)
    result = learn(problem, 50.0, 0.0, "knpl", solver=solver, max_iter=10, tol=1e-4)
    assert result.converged
    assert_certificate_true(problem, result, 50.0, 0.0, "knpl")
    hard = example("svc", n=20, C=100.0)
    result = learn(hard, 0.01, 0.0, "knpl", solver=solver, max_iter=10, tol=1e-4)
    assert not result.converged and result.n_iter == 10 and result.ending == "max_iter"
    assert result.gap > 1e-4 * result.objective


@pytest.mark.parametrize("solver", ["alternating", "admm"])
def test_plain_alternation_ends_in_the_cycle_of_a_naive_one(solver):
    problem = example("svc", n=20, C=10.0)
    eta, G, solutions = 0.5, np.ones((20, 20)), []
    for _ in range(60):
        machine = SVC(C=10.0, kernel="precomputed", tol=1e-10).fit(G * problem.K, problem.p)
        beta = np.zeros(20)
        beta[machine.support_] = machine.dual_coef_[0]
        solutions.append(beta)
        G = dank.pairwise_matrix(problem.K, beta, eta)
    assert np.allclose(solutions[-1], solutions[-3], atol=1e-4)
    assert np.abs(solutions[-1] - solutions[-2]).max() > 1.0
    values = [dank.objective(problem, beta, eta, 0.0, "knpl") for beta in solutions]

    result = learn(problem, eta, 0.0, "knpl", solver=solver)
    assert result.ending == "cycle" and not result.converged and result.n_iter < 60
    assert np.isclose(result.objective, max(values[: result.n_iter]), rtol=1e-3)
    assert result.gap == min(gap for _, gap in result.history)
    best = learn(problem, eta, 0.0, "knpl")
    assert result.objective <= best.objective + best.gap
    assert best.objective <= result.objective + result.gap
