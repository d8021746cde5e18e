"""The gradient methods of the DANK paper reach the optimum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.kernels.gram import DenseGram
from kernelfit.learners.hadamard import Penalty
from kernelfit.solvers.saddle.gradient import GRADIENT_SOLVERS
from kernelfit.solvers.saddle.newton import NEWTON
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle
from kernelfit.tasks.losses import one_class
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


@pytest.mark.parametrize("solver", GRADIENT_SOLVERS.values(), ids=lambda solver: solver.name)
def test_the_start_is_feasible_where_zero_is_not(solver):
    gram = DenseGram(example("svc", n=12).K)
    family = Penalty("dank", 4.0, False, 0.0).family(gram, np.ones(12))
    problem = SaddleProblem(family, (one_class(np.ones(12), 0.5),))
    result = solve_saddle(problem, solver, tol=1e-2, max_iter=20000)
    best = solve_saddle(problem, NEWTON, tol=1e-9)
    assert_allclose(result.x.sum(), 1.0, rtol=1e-12)
    assert result.objective <= best.objective + best.gap + 1e-12
    assert best.objective - 1e-12 <= result.objective + result.gap
