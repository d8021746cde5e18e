"""The gradient methods of the DANK paper reach the optimum."""

import pytest

from tests.reference.examples import example
from tests.reference.factors import assert_certificate_true, learn


@pytest.mark.parametrize("task", ["svc", "svr"])
@pytest.mark.parametrize(
    ("method", "tau", "solver"),
    [
        ("dank", 0.05, "nesterov"),
        ("dank", 0.05, "nesterov_monotone"),
        ("dank", 0.0, "projected_gradient"),
        ("knpl", 0.0, "nesterov"),
    ],
)
def test_other_methods_reach_the_same_optimum(method, tau, solver, task):
    problem = example(task, n=20, C=0.5)
    best = learn(problem, 4.0, tau, method)
    result = learn(problem, 4.0, tau, method, solver=solver, tol=1e-3, max_iter=20000)
    assert result.converged
    assert best.objective - 1e-9 <= result.objective + result.gap
    assert result.objective <= best.objective + best.gap + 1e-12
    assert_certificate_true(problem, result, 4.0, tau, method)


def test_monotone_variant_is_monotone():
    problem = example("svc", n=20, C=5.0)
    best = [
        learn(problem, 0.5, 0.05, solver=solver, tol=1e-9, max_iter=300).objective
        for solver in ("nesterov", "nesterov_monotone")
    ]
    assert best[1] >= best[0] * (1 - 1e-3)
