"""The saddle problem of a factor: conic programmes, certificates, limits, agreeing methods."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelfit.kernels.gram import DenseGram, RowGram
from kernelfit.learners.hadamard import (
    Penalty,
    _better_start,
    learn_factor,
    neutral_intercept,
    squared_norm,
)
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.solvers.saddle.newton import NEWTON
from kernelfit.solvers.saddle.problem import assess
from kernelfit.solvers.saddle.progress import Pair
from kernelfit.tasks.task import Task
from tests.reference import dank
from tests.reference.checks import assert_feasible
from tests.reference.examples import blobs, example
from tests.reference.factors import (
    CASES,
    assert_certificate_true,
    assessments,
    learn,
    saddle,
)
from tests.reference.strategies import dual_problems
from tests.reference.svm import (
    cvxpy_solution,
    duality_gap,
    primal_value,
    rounding_error,
    svc_problem,
)


def plain(problem, **options):
    """Return the result of the machine with the kernel itself."""
    return solve_dual(problem.K, problem.task, **options)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # the comparison tells
@pytest.mark.parametrize("factor", [0.05, 1.0])
@pytest.mark.parametrize("task", ["svc", "svr"])
@pytest.mark.parametrize(("method", "tau"), CASES)
def test_equals_the_semidefinite_programme(method, tau, task, factor):
    problem = example(task, n=20)
    machine = plain(problem, tol=1e-9)
    eta = factor * float(machine.x @ machine.x)
    result = learn(problem, eta, tau, method)
    optimum, theta = dank.solve_sdp(problem, eta, tau, method)
    assert result.converged
    assert np.isclose(result.objective, optimum, rtol=1e-5)
    # The penalty makes the problem strongly convex: a factor is at most the root of its excess over
    # eta away from the best one. So each may miss it by what its own value leaves open.
    excess = max(optimum - result.objective, 0.0) + 1e-8 * abs(optimum)  # Clarabel's tolerance
    apart = np.linalg.norm(result.theta.matrix(problem.K) - theta)
    assert np.sqrt(eta) * apart <= np.sqrt(result.gap) + np.sqrt(excess)
    assert_certificate_true(problem, result, eta, tau, method)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("task", ["svc", "svr"])
@pytest.mark.parametrize(("method", "tau"), CASES)
def test_certificate(method, tau, task, fit_intercept):
    problem = example(task, fit_intercept, n=40, C=20.0)
    result = learn(problem, 3.0, tau, method, tol=1e-6)
    assert result.converged and result.gap <= 1e-6 * abs(result.objective) + 1e-12
    assert result.ending == "tolerance" and result.n_iter == len(result.history)
    assert_certificate_true(problem, result, 3.0, tau, method)
    values = [value for value, _ in result.history]
    if tau > 0.0 or method == "knpl":  # every value, not the best so far
        start = solve_dual(problem.K, problem.task).x[None], None
        steps = assessments(saddle(problem, 3.0, tau, method), NEWTON, start, 1e-6)
        values = [step.lower for step in steps]
    assert np.all(np.diff(values) >= -1e-9 * abs(result.objective))


@pytest.mark.parametrize(("method", "tau"), CASES)
@pytest.mark.parametrize("task", ["svc", "svr"])
def test_infinite_eta_is_the_machine(method, tau, task):
    problem = example(task, n=30)
    scale = 1.0 - tau / 2 / problem.n  # what the nuclear norm leaves of 11'
    machine = plain(problem.replace(K=scale * problem.K), tol=1e-10)
    for eta in (np.inf, 1e12):
        result = learn(problem, eta, tau, method, tol=1e-10, polish=True)
        assert np.isclose(result.objective, machine.objective, rtol=1e-8)
        assert np.allclose(result.response.values, machine.decision, atol=1e-5)


def test_large_tau_leaves_rank_one():
    problem = example("svc", n=30)
    result = learn(problem, 3.0, tau=30.0)
    assert result.converged and result.theta.eigenvalues.size == 1
    assert np.linalg.matrix_rank(result.theta.matrix(problem.K), tol=1e-9) == 1


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("task", ["svc", "svr"])
@pytest.mark.parametrize("eta", [0.02, 5.0])
def test_quartic_and_newton_agree(task, eta, fit_intercept):
    problem = example(task, fit_intercept, n=60, C=10.0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    options = {"weight": weight, "tol": 1e-10, "polish": True}
    one = learn(problem, eta, solver="quartic", **options)
    other = learn(problem, eta, solver="newton", **options)
    assert one.converged and other.converged
    assert np.isclose(one.objective, other.objective, rtol=1e-9)
    assert np.allclose(one.x, other.x, rtol=0, atol=1e-6 * np.abs(one.x).max())


@pytest.mark.parametrize(("method", "tau"), CASES)
@pytest.mark.parametrize("task", ["svc", "svr"])
def test_weight_two_equals_a_repeated_row(method, tau, task):
    problem = example(task, n=24, C=3.0)
    repeats = np.random.default_rng(0).integers(1, 4, problem.n)
    index = np.repeat(np.arange(problem.n), repeats)
    weighted = problem.replace(lower=problem.lower * repeats, upper=problem.upper * repeats)
    repeated = problem.permuted(index)
    options = {"relative": True, "polish": True, "tol": 1e-9}
    one = learn(weighted, 0.3, tau, method, weight=repeats.astype(float), **options)
    other = learn(repeated, 0.3, tau, method, repeats=index, **options)
    assert np.isclose(one.response.eta, other.response.eta, rtol=1e-8)
    assert np.isclose(one.objective, other.objective, rtol=1e-9)
    assert np.allclose(one.response.values[index], other.response.values, rtol=0, atol=1e-6)
    assert np.isclose(one.intercept[0], other.intercept[0], atol=1e-6)


@pytest.mark.parametrize(("method", "tau"), CASES)
def test_rows_on_demand_give_the_same(method, tau):
    problem = example("svc", n=80, C=10.0)
    K = problem.K
    gram = RowGram(lambda idx: K[idx], np.diag(K), 4 * 80 * 10)
    one = learn(problem, 2.0, tau, method, gram=gram, tol=1e-6)
    other = learn(problem, 2.0, tau, method, tol=1e-6)
    assert one.converged
    assert np.isclose(one.objective, other.objective, rtol=2e-6)


@pytest.mark.parametrize("tau", [0.01, 5.0])
def test_start_is_the_better_of_two(tau):
    """With little nuclear norm the solution without any, with much the plain machine."""
    problem = example("svc", n=60, C=10.0)
    beta = plain(problem, tol=1e-6).x
    eta = float(beta @ beta)
    smooth = learn(problem, eta, tol=1e-3).x[0]
    pair = saddle(problem, eta, tau)

    def gap(x):
        response = pair.family.respond(x[None])
        return assess(pair, Pair(x[None], response.theta, response)).gap

    plain_gap, smooth_gap = gap(beta), gap(smooth)
    assert (smooth_gap < plain_gap) == (tau == 0.01)
    start = _better_start(pair, beta).beta[0]
    assert gap(start) <= 1.01 * min(plain_gap, smooth_gap)


@pytest.mark.parametrize("change", ["bounds", "sum"])
@pytest.mark.parametrize("solver", ["newton", "damped"])
def test_start_is_made_feasible(solver, change):
    """A near-identity kernel: coefficients at their bounds are optimal, whatever the bounds."""
    problem = svc_problem(np.eye(30) + 1e-9, np.repeat([-1.0, 1.0], [10, 20]), 0.01)
    start = problem.lower + problem.upper  # of the problem without an intercept
    if change == "bounds":
        start = 3.0 * learn(problem, 1.0, 0.01, relative=True, tol=1e-6).x[0]
    result = learn(
        problem, 1.0, 0.01, relative=True, solver=solver, tol=1e-6, start=start, max_iter=50
    )
    assert_feasible(problem, result.x[0])
    assert_certificate_true(problem, result, result.response.eta, 0.01, "dank")


def test_relative_eta_is_a_multiple_of_the_squared_norm():
    problem = example("svc", n=30)
    machine = plain(problem, tol=1e-6, polish=True)
    result = learn(problem, 0.5, relative=True, polish=True)
    assert np.isclose(result.response.eta, 0.5 * machine.x @ machine.x, rtol=1e-6)
    beta, weight = np.array([2.0, 1.0, -3.0]), np.array([2.0, 1.0, 1.0])
    assert squared_norm(beta, weight) == 2.0 + 1.0 + 9.0
    assert squared_norm(beta, weight, np.array([4, 4, 1])) == 3.0 + 9.0


def test_ridge_identity():
    """With tau = 0 the solution is that of the machine with kernel K + diag(D)."""
    problem = example("svc", n=40, C=5.0)
    result = learn(problem, 1.0, tol=1e-10, polish=True)
    (beta,), ridge = result.x, result.response.ridge(DenseGram(problem.K))
    learned = (problem.K + np.diag(ridge)) @ beta
    assert np.allclose(result.response.values, learned, atol=1e-12)
    machine = problem.replace(K=problem.K + np.diag(ridge))
    assert duality_gap(machine, beta) <= 1e-8 * result.objective


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize(("method", "tau"), CASES)
def test_intercepts_are_the_best_for_their_kernels(method, tau, shift):
    """For the learned kernel, and for the factor without adaptation; targets far from zero."""
    problem = example("svr", n=40, C=20.0)
    problem = problem.replace(p=problem.p + shift)
    result = learn(problem, 3.0, tau, method, tol=1e-6)
    (beta,), (intercept,) = result.x, result.intercept
    learned = problem.replace(K=result.theta.matrix(problem.K) * problem.K)
    unadapted = problem.replace(K=(1.0 - 0.5 * tau / 40) * problem.K)
    family = saddle(problem, 3.0, tau, method).family
    neutral = neutral_intercept(problem.task, family, result)
    for machine, found, other in ((learned, intercept, neutral), (unadapted, neutral, intercept)):
        least = primal_value(machine, beta)
        assert primal_value(machine, beta, found) <= least * (1.0 + 1e-7)
        assert primal_value(machine, beta, other) > least * (1.0 + 1e-5)


@pytest.mark.parametrize(("method", "tau"), CASES)
def test_squared_losses(method, tau):
    """A ridge and no bounds, for which "auto" must not choose the quartic solver."""
    problem = example("svc", n=30)
    far = np.where(problem.p > 0.0, np.inf, -np.inf)
    ridge = np.full(30, 0.25)
    task = Task(problem.p, np.minimum(far, 0.0), np.maximum(far, 0.0), ridge=ridge)
    options = {"weight": np.ones(30), "tol": 1e-8}
    penalty = Penalty(method, 4.0, False, tau)
    result = learn_factor(DenseGram(problem.K), task, penalty, **options)
    (beta,) = result.x
    assert result.converged and result.status == "proved"
    energy = dank.energy(problem.K, beta, 4.0, tau, method)
    objective = problem.p @ beta - 0.5 * beta @ (ridge * beta) - energy
    assert np.isclose(result.objective, objective, rtol=1e-9)
    # The best machine with the learned kernel is no better.
    K = dank.response(problem.K, beta, 4.0, tau, method) * problem.K
    C = 10.0 * np.abs(beta).max()
    best, _ = cvxpy_solution(svc_problem(K + np.diag(ridge), problem.p, C))
    assert np.isclose(objective, best + 0.5 * beta @ K @ beta - energy, rtol=1e-6)


def test_large_problem_uses_blocks():
    """More variables than one block, from a cold and from a warm start."""
    X, y = blobs(1500)
    problem = svc_problem(np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2)), y, 5.0)
    cold = learn(problem, 5.0, tol=1e-7)
    warm = learn(problem, 5.0, tol=1e-7, start=cold.x[0])
    free = learn(problem.replace(fit_intercept=False), 5.0, tol=1e-7)
    for result in (cold, warm, free):
        assert result.converged
    assert warm.n_iter <= 2
    assert np.isclose(cold.objective, warm.objective, rtol=2e-7)
    machine = problem.replace(K=free.theta.matrix(problem.K) * problem.K, fit_intercept=False)
    assert duality_gap(machine, free.x[0], 0.0) <= 1.1e-7 * free.objective


@settings(max_examples=40)
@given(
    dual_problems(kinds=("features", "duplicates", "rbf")),
    st.sampled_from(CASES[1:]),
    st.sampled_from([0.05, 1.0]),
)
def test_newton_on_drawn_problems(problem, case, factor):
    """Features drawn by hypothesis have scales from 1e-6 to 1e6, as have costs."""
    method, tau = case
    result = learn(problem, factor, tau, method, relative=True, tol=1e-4)
    eta, (beta,) = result.response.eta, result.x
    assert_feasible(problem, beta)
    machine = problem.replace(K=dank.response(problem.K, beta, eta, tau, method) * problem.K)
    error = rounding_error(machine, beta)
    # The reference decomposes a matrix of norm n, which leaves an absolute error in theta.
    slack = error + 1e-12 * problem.n * float(problem.bound @ (np.abs(problem.K) @ problem.bound))
    assert abs(result.gap - duality_gap(machine, beta, result.intercept[0])) <= slack
    assert result.converged or slack > 1e-6 * abs(result.objective)
