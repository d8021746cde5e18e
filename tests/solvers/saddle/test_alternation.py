"""Damped alternation reaches the optimum; the papers' plain alternation is certified."""

import pytest

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
