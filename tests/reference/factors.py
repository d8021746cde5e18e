"""Entrywise factors learned on a `DualProblem`, and the recomputation of what was learned."""

import numpy as np

from kernelfit.kernels.gram import DenseGram
from kernelfit.learners.hadamard import Penalty, learn_factor
from kernelfit.solvers.saddle.problem import SaddleProblem, assess
from kernelfit.solvers.saddle.progress import Progress
from tests.reference import dank
from tests.reference.checks import assert_feasible
from tests.reference.svm import duality_gap

CASES = [("dank", 0.0), ("dank", 0.01), ("dank", 0.5), ("knpl", 0.0)]


def learn(problem, eta, tau=0.0, method="dank", relative=False, **options):
    """Return the result of `learn_factor`."""
    options.setdefault("tol", 1e-9)
    options.setdefault("weight", np.ones(problem.n))
    gram = options.pop("gram", None) or DenseGram(problem.K)
    return learn_factor(gram, problem.task, Penalty(method, eta, relative, tau), **options)


def saddle(problem, eta, tau=0.0, method="dank"):
    """Return the saddle problem of unit weights."""
    family = Penalty(method, eta, False, tau).family(DenseGram(problem.K), np.ones(problem.n))
    return SaddleProblem(family, (problem.task,))


def assessments(problem, solver, start, tol, max_iter=1000):
    """Yield the assessment of every pair of a solver, whose own objective may fall."""
    progress = Progress(tol)
    for _, pair in zip(range(max_iter), solver.steps(problem, progress, start), strict=False):
        progress.add(assess(problem, pair))
        yield progress.latest
        if progress.finished:
            return


def assert_certificate_true(problem, result, eta, tau, method):
    """Objective, gap and factor are what a dense recomputation from beta gives."""
    (beta,), (intercept,) = result.x, result.intercept
    assert_feasible(problem, beta)
    value = dank.objective(problem, beta, eta, tau, method)
    scale = eta * problem.n**2  # of the terms that cancel in the reference
    assert np.isclose(result.objective, value, rtol=1e-9, atol=1e-13 * scale)
    machine = dank.saddle_problem(problem, beta, eta, tau, method)
    gap = duality_gap(machine, beta, intercept)
    assert gap >= -1e-12 * abs(value)
    assert np.isclose(result.gap, gap, rtol=1e-6, atol=1e-11 * abs(value))
    assert np.allclose(result.theta.matrix(problem.K) * problem.K, machine.K, atol=1e-11)
    assert result.status == "proved" and np.array_equal(result.witness, result.x)
