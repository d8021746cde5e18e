"""Newton steps where the quadratic model fails: few rounds, and no step that loses."""

import numpy as np
import pytest

from kernelfit.kernels.gram import DenseGram, RowGram
from kernelfit.solvers.saddle.newton import NEWTON
from kernelfit.solvers.saddle.problem import solve_saddle
from tests.reference import dank
from tests.reference.examples import example
from tests.reference.factors import assessments, learn, saddle
from tests.reference.svm import duality_gap, svc_problem, svr_problem


def assert_rises(problem, result, tau):
    """No step of the run from the start of the result lost anything."""
    pair = saddle(problem, result.response.eta, tau)
    # Newton's first point is zero: the steps are those of a cold start.
    steps = assessments(pair, NEWTON, (np.zeros((1, problem.n)), None), 1e-6)
    values = [step.lower for step in steps]
    assert np.all(np.diff(values) >= -1e-9 * result.objective)
    assert np.isclose(values[-1], result.objective, rtol=2e-6)


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
    machine = dank.saddle_problem(problem, result.x[0], result.response.eta, 0.01, "dank")
    assert duality_gap(machine, result.x[0], result.intercept[0]) <= 1.01e-6 * result.objective


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
    assert_rises(problem, result, tau)
    machine = dank.saddle_problem(problem, result.x[0], eta, tau, "dank")
    assert duality_gap(machine, result.x[0], result.intercept[0]) <= 1.01e-6 * result.objective


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
    assert_rises(problem, result, tau)


@pytest.mark.large
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
    machine = problem.replace(K=result.theta.matrix(problem.K) * problem.K)
    assert duality_gap(machine, result.x[0], result.intercept[0]) <= 1.01e-6 * result.objective


def test_without_a_start_the_machine_of_the_unadapted_kernel_is_the_first():
    pair = saddle(example("svc", n=30), 3.0, 0.5)
    result = solve_saddle(pair, NEWTON, tol=1e-8)
    first = next(assessments(pair, NEWTON, None, 1e-8))
    trained = pair.train(pair.family.initial, None, 1e-10)
    assert np.allclose(first.beta, trained, atol=1e-3)
    assert result.converged
