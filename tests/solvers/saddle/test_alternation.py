"""Damped alternation reaches the optimum; the papers' plain alternation is certified."""

import numpy as np
import pytest

from kernelfit.solvers.saddle.alternation import DAMPED
from tests.reference.examples import example
from tests.reference.factors import assert_certificate_true, assessments, learn, saddle


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


def test_damped_steps_lower_the_upper_bound():
    """Each step goes to the minimum of R + J on its segment."""
    problem = example("svc", n=20, C=20.0)
    pair = saddle(problem, 0.5, 0.05)
    family, values = pair.family, []

    def note(theta):
        beta = pair.train(theta, None, 1e-12)
        quadratic = 0.5 * float(beta[0] @ family.gram(theta).whole @ beta[0])
        values.append(family.penalty(theta) + pair.kappa(beta) - quadratic)

    gram = family.gram
    thetas = [np.ones((20, 20))]
    start = pair.train(thetas[0], None, 1e-12), thetas[0]
    object.__setattr__(family, "gram", lambda theta, *args: thetas.append(theta) or gram(theta))
    steps = assessments(pair, DAMPED, start, 1e-6)
    ends = []
    for _, _step in zip(range(6), steps, strict=False):
        ends.append(thetas[-1] if len(ends) else start[1])
    object.__setattr__(family, "gram", gram)
    for theta in ends:
        note(theta)
    assert np.all(np.diff(values) < 0.0)


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
