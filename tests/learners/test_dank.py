"""The saddle problem: conic programmes, recomputed certificates, limits, agreeing methods."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelfit.families.adaptive import AdaptiveFamily
from kernelfit.learners.dank import learn_factor, squared_norm
from kernelfit.learners.newton import _curvature, newton_steps
from kernelfit.learners.saddle import SaddleProblem
from kernelfit.solvers.gram import DenseGram, RowGram
from kernelfit.solvers.svm_dual import solve_svm_dual
from tests.reference import dank
from tests.reference.checks import assert_feasible
from tests.reference.examples import blobs, example
from tests.reference.strategies import dual_problems
from tests.reference.svm import duality_gap, rounding_error, svc_problem, svr_problem

CASES = [("dank", 0.0), ("dank", 0.01), ("dank", 0.5), ("knpl", 0.0)]


def learn(problem, eta, tau=0.0, method="dank", relative=False, **options):
    options.setdefault("tol", 1e-9)
    options.setdefault("weight", np.ones(problem.n))
    gram = options.pop("gram", None) or DenseGram(problem.K)
    return learn_factor(
        gram,
        problem.p,
        problem.lower,
        problem.upper,
        method=method,
        eta=eta,
        relative=relative,
        tau=tau,
        epsilon=problem.epsilon,
        fit_intercept=problem.fit_intercept,
        **options,
    )


def assert_certificate_true(problem, result, eta, tau, method):
    """Objective, gap and factor are what a dense recomputation from beta gives."""
    assert_feasible(problem, result.x)
    value = dank.objective(problem, result.x, eta, tau, method)
    scale = eta * problem.n**2  # of the terms that cancel in the reference
    assert np.isclose(result.objective, value, rtol=1e-9, atol=1e-13 * scale)
    machine = dank.saddle_problem(problem, result.x, eta, tau, method)
    gap = duality_gap(machine, result.x, result.intercept)
    assert gap >= -1e-12 * abs(value)
    assert np.isclose(result.gap, gap, rtol=1e-6, atol=1e-11 * abs(value))
    assert np.allclose(result.response.matrix(problem.K) * problem.K, machine.K, atol=1e-11)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # the comparison tells
@pytest.mark.parametrize("factor", [0.05, 1.0])
@pytest.mark.parametrize("task", ["svc", "svr"])
@pytest.mark.parametrize(("method", "tau"), CASES)
def test_equals_the_semidefinite_programme(method, tau, task, factor):
    problem = example(task, n=20)
    machine = solve_svm_dual(**problem.__dict__, tol=1e-9)
    eta = factor * float(machine.x @ machine.x)
    result = learn(problem, eta, tau, method)
    optimum, theta = dank.solve_sdp(problem, eta, tau, method)
    assert result.converged
    assert np.isclose(result.objective, optimum, rtol=1e-5)
    assert np.abs(result.response.matrix(problem.K) - theta).max() < 1e-4
    assert_certificate_true(problem, result, eta, tau, method)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("task", ["svc", "svr"])
@pytest.mark.parametrize(("method", "tau"), CASES)
def test_certificate(method, tau, task, fit_intercept):
    problem = example(task, fit_intercept, n=40, C=20.0)
    result = learn(problem, 3.0, tau, method, tol=1e-6)
    assert result.converged and result.gap <= 1e-6 * abs(result.objective) + 1e-12
    assert_certificate_true(problem, result, 3.0, tau, method)
    values = np.array(result.history)
    assert np.all(np.diff(values[:, 0]) >= -1e-9 * abs(result.objective))


@pytest.mark.parametrize(("method", "tau"), CASES)
@pytest.mark.parametrize("task", ["svc", "svr"])
def test_infinite_eta_is_the_machine(method, tau, task):
    problem = example(task, n=30)
    scale = 1.0 - tau / 2 / problem.n  # what the nuclear norm leaves of 11'
    machine = solve_svm_dual(**problem.replace(K=scale * problem.K).__dict__, tol=1e-10)
    for eta in (np.inf, 1e12):
        result = learn(problem, eta, tau, method, tol=1e-10, polish=True)
        assert np.isclose(result.objective, machine.objective, rtol=1e-8)
        assert np.allclose(result.decision, machine.decision, atol=1e-5)


def test_large_tau_leaves_rank_one():
    problem = example("svc", n=30)
    result = learn(problem, 3.0, tau=30.0)
    assert result.converged and result.response.rank(DenseGram(problem.K)) == 1


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


@pytest.mark.parametrize("task", ["svc", "svr"])
@pytest.mark.parametrize(
    ("method", "tau", "solver"),
    [
        ("dank", 0.0, "damped"),
        ("dank", 0.05, "damped"),
        ("knpl", 0.0, "damped"),
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
        max(
            value
            for value, _ in learn(problem, 0.5, 0.05, solver=s, tol=1e-9, max_iter=300).history
        )
        for s in ("nesterov", "nesterov_monotone")
    ]
    assert best[1] >= best[0] * (1 - 1e-3)


@pytest.mark.parametrize("solver", ["alternating", "admm"])
def test_plain_alternation_is_certified_whether_it_converges_or_not(solver):
    problem = example("svc", n=20, C=0.5)
    result = learn(problem, 50.0, 0.0, "knpl", solver=solver, max_iter=10, tol=1e-4)
    assert result.converged
    assert_certificate_true(problem, result, 50.0, 0.0, "knpl")
    hard = example("svc", n=20, C=100.0)
    result = learn(hard, 0.01, 0.0, "knpl", solver=solver, max_iter=10, tol=1e-4)
    assert not result.converged and result.n_iter == 10
    assert result.gap > 1e-4 * result.objective


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
    other = learn(repeated, 0.3, tau, method, groups=index, **options)
    assert np.isclose(one.response.eta, other.response.eta, rtol=1e-8)
    assert np.isclose(one.objective, other.objective, rtol=1e-9)
    assert np.allclose(one.decision[index], other.decision, rtol=0, atol=1e-6)
    assert np.isclose(one.intercept, other.intercept, atol=1e-6)


@pytest.mark.parametrize(("method", "tau"), CASES)
def test_rows_on_demand_give_the_same(method, tau):
    problem = example("svc", n=80, C=10.0)
    K = problem.K
    gram = RowGram(lambda idx: K[idx], np.diag(K), 4 * 80 * 10)
    one = learn(problem, 2.0, tau, method, gram=gram, tol=1e-6)
    other = learn(problem, 2.0, tau, method, tol=1e-6)
    assert one.converged
    assert np.isclose(one.objective, other.objective, rtol=2e-6)


@pytest.mark.parametrize("task", ["svc", "svr"])
def test_newton_converges_where_few_eigenvalues_are_above_the_threshold(task):
    C = 1e4
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(200)
    K = np.exp(-2.0 * ((X[:, None] - X) ** 2).sum(axis=2))
    if task == "svc":
        problem = svc_problem(K, np.where((y > 0.5) ^ (rng.uniform(size=200) < 0.2), 1.0, -1.0), C)
    else:
        problem = svr_problem(K, y, C, 0.0)
    result = learn(problem, 1.0, 0.01, relative=True, tol=1e-6)
    assert result.converged and result.n_iter <= 20
    machine = dank.saddle_problem(problem, result.x, result.response.eta, 0.01, "dank")
    assert duality_gap(machine, result.x) <= 1.01e-6 * result.objective


@pytest.mark.parametrize(
    ("kernel", "C", "tau", "eta"), [("linear", 1e5, 2.0, 100.0), ("rbf", 1e4, 150.0, 1.0)]
)
def test_newton_goes_on_where_curvature_grows_along_the_step(kernel, C, tau, eta):
    """Low rank, or no factor left at beta = 0: the quadratic model ends far off at the bounds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    K = X @ X.T if kernel == "linear" else np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    problem = svr_problem(K, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=60), C, 0.1)
    result = learn(problem, eta, tau, tol=1e-6)
    assert result.converged and result.n_iter <= 30
    assert np.all(np.diff([value for value, _ in result.history]) >= -1e-9 * result.objective)
    machine = dank.saddle_problem(problem, result.x, eta, tau, "dank")
    assert duality_gap(machine, result.x) <= 1.01e-6 * result.objective


@pytest.mark.parametrize(
    ("seed", "eta", "tau"),
    [(272, 868.0, 5.0), (159, 0.4, 20.0), (107, 0.2708840018700952, 5.0)],
)
def test_objective_rises_where_its_slope_falls_suddenly(seed, eta, tau):
    """A search ends before the fall, not behind it; no full step behind it (the last case)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 40))
    X = rng.normal(size=(n, 3))
    K = np.exp(-(10 ** rng.uniform(-2, 1)) * ((X[:, None] - X) ** 2).sum(axis=2))
    C = 10 ** rng.uniform(1, 5)
    rng.choice(3), rng.uniform()
    problem = svr_problem(K, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n), C, 0.1)
    result = learn(problem, eta, tau, tol=1e-6)
    assert result.converged
    assert np.all(np.diff([value for value, _ in result.history]) >= -1e-9 * result.objective)


@pytest.mark.parametrize("form", ["tight", "dense", "rows"])
def test_damping_is_on_the_diagonal_of_every_model(form):
    problem = example("svc", n=30)
    K, values = problem.K, (problem.p, problem.lower, problem.upper, 0.0, True)
    gram = DenseGram(K)
    if form == "rows":
        gram = RowGram(lambda idx: K[idx], np.diag(K), 8 * 30 * 5, np.float64)
    saddle = SaddleProblem(AdaptiveFamily(2.0, np.ones(30), 0.1), gram, *values)
    response = saddle.respond(np.random.default_rng(0).normal(size=30))
    everything = np.arange(30)

    def model(damping):
        space = np.empty((30, 30)) if form == "dense" else None
        Q = _curvature(saddle, response, form == "tight", damping, space)
        assert np.allclose(Q.diagonal(), np.diag(Q.rows(everything)), rtol=1e-12)
        return Q.rows(everything).copy()

    damping = np.arange(30.0)
    assert np.allclose(model(damping) - model(0.0 * damping), np.diag(damping), atol=1e-10)


@pytest.mark.parametrize("tau", [0.01, 5.0])
def test_start_is_the_better_of_two(tau):
    """With little nuclear norm the solution without any, with much the plain machine."""
    problem = example("svc", n=60, C=10.0)
    beta = solve_svm_dual(**problem.__dict__, tol=1e-6).x
    eta = float(beta @ beta)
    smooth = learn(problem, eta, tol=1e-3).x
    values = (problem.p, problem.lower, problem.upper, problem.epsilon, problem.fit_intercept)
    member = AdaptiveFamily(eta, np.ones(60), tau)
    saddle = SaddleProblem(member, DenseGram(problem.K), *values)
    plain_gap, smooth_gap = (saddle.gap(saddle.respond(x))[0] for x in (beta, smooth))
    assert (smooth_gap < plain_gap) == (tau == 0.01)
    start_gap = saddle.gap(next(newton_steps(saddle, beta)))[0]
    assert start_gap <= 1.01 * min(plain_gap, smooth_gap)


@pytest.mark.parametrize("change", ["bounds", "sum"])
@pytest.mark.parametrize("solver", ["newton", "damped"])
def test_start_is_made_feasible(solver, change):
    """A near-identity kernel: coefficients at their bounds are optimal, whatever the bounds."""
    problem = svc_problem(np.eye(30) + 1e-9, np.repeat([-1.0, 1.0], [10, 20]), 0.01)
    start = problem.lower + problem.upper  # of the problem without an intercept
    if change == "bounds":
        start = 3.0 * learn(problem, 1.0, 0.01, relative=True, tol=1e-6).x
    result = learn(
        problem, 1.0, 0.01, relative=True, solver=solver, tol=1e-6, warm_start=start, max_iter=50
    )
    assert_feasible(problem, result.x)
    assert_certificate_true(problem, result, result.response.eta, 0.01, "dank")


@pytest.mark.parametrize("rows_on_demand", [False, True])
@pytest.mark.parametrize(("method", "most"), [("knpl", 3), ("dank", 8)])
def test_large_regression_takes_few_rounds(method, most, rows_on_demand):
    """Far from the plain machine; more free variables than a polish is worth."""
    problem = example("svr", n=1300, C=30.0).replace(epsilon=0.01)
    gram = DenseGram(problem.K)
    if rows_on_demand:
        gram = RowGram(lambda idx: problem.K[idx], np.diag(problem.K), 8 * 1300 * 400, np.float64)
    tau = 0.01 if method == "dank" else 0.0
    result = learn(problem, 1.0, tau, method, True, gram=gram, tol=1e-6, polish=True)
    assert result.converged and result.n_iter <= most
    assert all(gap > 1e-6 * result.objective for _, gap in result.history[:-1])  # none for polish
    machine = problem.replace(K=result.response.matrix(problem.K) * problem.K)
    assert duality_gap(machine, result.x) <= 1.01e-6 * result.objective


def test_relative_eta_is_a_multiple_of_the_squared_norm():
    problem = example("svc", n=30)
    machine = solve_svm_dual(**problem.__dict__, tol=1e-6, polish=True)
    result = learn(problem, 0.5, relative=True, polish=True)
    assert np.isclose(result.response.eta, 0.5 * machine.x @ machine.x, rtol=1e-6)
    beta, weight = np.array([2.0, 1.0, -3.0]), np.array([2.0, 1.0, 1.0])
    assert squared_norm(beta, weight) == 2.0 + 1.0 + 9.0
    assert squared_norm(beta, weight, np.array([4, 4, 1])) == 3.0 + 9.0


def test_ridge_identity():
    """With tau = 0 the solution is that of the machine with kernel K + diag(D)."""
    problem = example("svc", n=40, C=5.0)
    gram = DenseGram(problem.K)
    result = learn(problem, 1.0, tol=1e-10, polish=True)
    ridge = result.response.ridge(gram)
    assert np.allclose(result.decision, (problem.K + np.diag(ridge)) @ result.x, atol=1e-12)
    machine = problem.replace(K=problem.K + np.diag(ridge))
    assert duality_gap(machine, result.x) <= 1e-8 * result.objective


def test_large_problem_uses_blocks():
    """More variables than one block, from a cold and from a warm start."""
    X, y = blobs(1500)
    problem = svc_problem(np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2)), y, 5.0)
    cold = learn(problem, 5.0, tol=1e-7)
    warm = learn(problem, 5.0, tol=1e-7, warm_start=cold.x)
    free = learn(problem.replace(fit_intercept=False), 5.0, tol=1e-7)
    for result in (cold, warm, free):
        assert result.converged
    assert warm.n_iter <= 2
    assert np.isclose(cold.objective, warm.objective, rtol=2e-7)
    machine = problem.replace(K=result.response.matrix(problem.K) * problem.K, fit_intercept=False)
    assert duality_gap(machine, free.x) <= 1.1e-7 * free.objective


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
    eta = result.response.eta
    assert_feasible(problem, result.x)
    machine = problem.replace(K=dank.response(problem.K, result.x, eta, tau, method) * problem.K)
    error = rounding_error(machine, result.x)
    # The reference decomposes a matrix of norm n, which leaves an absolute error in theta.
    slack = error + 1e-12 * problem.n * float(problem.bound @ (np.abs(problem.K) @ problem.bound))
    assert abs(result.gap - duality_gap(machine, result.x, result.intercept)) <= slack
    assert result.converged or slack > 1e-6 * abs(result.objective)
