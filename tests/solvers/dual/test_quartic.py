"""The quartic dual on drawn problems: feasible, truly certified, never below its start."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelfit.kernels.gram import RowGram
from kernelfit.kernels.standard import RBF
from kernelfit.solvers.dual.quartic import solve_quartic_dual
from kernelfit.solvers.dual.quartic_steps import minimise_quartic
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge
from kernelfit.tasks.task import Task
from tests.reference.checks import assert_feasible
from tests.reference.examples import blobs, example
from tests.reference.strategies import dual_problems, seeds
from tests.reference.svm import duality_gap, rounding_error


def solve(problem, **options):
    """Run the solver on a reference problem."""
    return solve_quartic_dual(problem.K, Task(**problem.task_terms), **options)


def value(problem, beta, weight, eta):
    """The objective, term by term."""
    q = beta**2 / weight
    quartic = math.fsum((np.outer(q, q) * problem.K**2).ravel()) / (16 * eta)
    quadratic = math.fsum((np.outer(beta, beta) * problem.K).ravel()) / 2
    linear = math.fsum(problem.p * beta) - problem.epsilon * math.fsum(abs(beta))
    return linear - quadratic - quartic


def learned(problem, beta, weight, eta):
    """The SVM problem with the kernel F o K."""
    coef = beta / weight
    return problem.replace(K=(1.0 + np.outer(coef, coef) * problem.K / (4 * eta)) * problem.K)


@settings(max_examples=60)
@given(dual_problems(), st.sampled_from([0.01, 1.0, 100.0]), seeds)
def test_certificate(problem, factor, seed):
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, problem.n)
    task = Task(**problem.task_terms)
    machine = solve_dual(problem.K, task, tol=1e-6)
    eta = factor * float(np.sum(machine.x**2 / weight)) or 1.0
    options = {"weight": weight, "tol": 1e-6}
    cold = solve_quartic_dual(problem.K, task, eta, **options)
    warm = solve_quartic_dual(problem.K, task, eta, start=machine.x, **options)
    for result in (cold, warm):
        assert_feasible(problem, result.x)
        kernel = learned(problem, result.x, weight, eta)
        error = rounding_error(kernel, result.x) + rounding_error(problem, result.x)
        objective = value(problem, result.x, weight, eta)
        gap = duality_gap(kernel, result.x, result.intercept)
        assert abs(result.objective - objective) <= error
        assert abs(result.gap - gap) <= error
        assert result.converged or error > 1e-7 * abs(objective)
    start = value(problem, machine.x, weight, eta)
    assert warm.objective >= start - error
    assert abs(cold.objective - warm.objective) <= max(cold.gap, warm.gap) + 2 * error


@given(
    st.floats(-10, 1),
    st.floats(0, 10),
    st.floats(-1, 1),
    st.floats(0, 10),
    st.floats(1e-3, 100),
)
def test_minimise_quartic(a1, a2, skew, a4, room):
    # a3 within 8/3 a2 a4 >= a3^2 keeps the polynomial convex
    a3 = skew * math.sqrt(8 / 3 * a2 * a4)
    t = minimise_quartic(a1, a2, a3, a4, room)
    assert 0.0 <= t <= room

    def polynomial(s):
        return s * (a1 + s * (a2 + s * (a3 + s * a4)))

    grid = np.linspace(0.0, room, 1001)
    scale = abs(a1) * room + a2 * room**2 + abs(a3) * room**3 + a4 * room**4
    assert polynomial(t) <= polynomial(grid).min() + 1e-12 * scale


@pytest.mark.parametrize("task", ["svc", "svr"])
def test_permutation_and_copies_of_weight(task):
    problem = example(task, n=30, C=5.0)
    order = np.random.default_rng(0).permutation(30)
    options = {"eta": 2.0, "tol": 1e-10, "polish": True}
    one, other = (solve(each, **options) for each in (problem, problem.permuted(order)))
    assert np.allclose(one.decision[order], other.decision, atol=1e-7)
    # beta / weight, C / weight and eta scale together
    half = problem.replace(lower=problem.lower / 2, upper=problem.upper / 2, K=2 * problem.K)
    scaled = solve(half, weight=np.full(30, 0.5), **options)
    single = solve(problem, **{**options, "eta": options["eta"] / 2})
    assert np.allclose(scaled.kernel_values, single.kernel_values, atol=1e-6)


def test_max_iter_is_respected():
    problem = example("svc", n=200, C=1e4)
    result = solve(problem, eta=1.0, tol=1e-12, max_iter=1)
    assert result.n_iter == 1
    kernel = learned(problem, result.x, np.ones(200), 1.0)
    assert np.isclose(result.gap, duality_gap(kernel, result.x, result.intercept), rtol=1e-6)


def test_indefinite_kernel_is_noticed():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    y = np.array([1.0, -1.0])
    result = solve_quartic_dual(K, hinge(y, 1.0), eta=1.0)
    assert result.status == "stationary" and np.isnan(result.gap)


@pytest.mark.large
@pytest.mark.parametrize("reader", ["dense", "rows", "float32"])
@pytest.mark.parametrize("total", [0.0, 3.0, None])
def test_more_than_one_block(reader, total):
    """Any sum, and rounds over blocks: the gap is that of the learned kernel, in exact rows."""
    n, eta, tol = 1600, 2.0, 1e-6
    X, y = blobs(n, seed=3)
    K = RBF(0.3)(X)
    gram = {
        "dense": K,
        "rows": RowGram.from_kernel(RBF(0.3), X, 100 * 8 * n, np.float64),
        "float32": RowGram.from_kernel(RBF(0.3), X, 100 * 4 * n),
    }[reader]
    weight = np.random.default_rng(5).uniform(0.5, 2.0, size=n)
    task = replace(hinge(y, weight), total=total)
    result = solve_quartic_dual(gram, task, eta, weight=weight, tol=tol)
    x, b = result.x, result.intercept
    assert result.converged and result.status == "proved"
    assert np.all(task.lower <= x) and np.all(x <= task.upper)
    assert total is None or abs(math.fsum(x) - total) <= 1e-12 * math.fsum(abs(x))
    coef = x / weight
    f = ((1.0 + np.outer(coef, coef) * K / (4 * eta)) * K) @ x
    size = np.max(abs(f)) + np.max(K @ abs(x))
    np.testing.assert_allclose(result.decision, f, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(result.kernel_values, K @ x, rtol=0, atol=1e-12 * size)
    q = x**2 / weight
    objective = y @ x - 0.5 * x @ K @ x - q @ K**2 @ q / (16 * eta)
    assert abs(result.objective - objective) <= 1e-12 * size * n
    # primal minus dual value of the machine with the learned kernel
    losses = weight @ np.maximum(1.0 - y * (f + b), 0.0)
    gap = x @ f - y @ x + losses + b * (total or 0.0)
    assert abs(result.gap - gap) <= 1e-12 * size * n
    assert result.gap <= tol * abs(objective)


def test_one_class_is_a_plain_machine_where_the_factor_may_not_move():
    """With eta = inf the quartic term vanishes, also where the sum is not 0."""
    problem = example("svc", n=60)
    task = Task(np.zeros(60), np.zeros(60), np.full(60, 0.05), total=1.0)
    quartic = solve_quartic_dual(problem.K, task, np.inf, tol=1e-9)
    plain = solve_dual(problem.K, task, tol=1e-9)
    assert quartic.objective == pytest.approx(plain.objective, rel=1e-8)
    np.testing.assert_allclose(quartic.decision, plain.decision, rtol=0, atol=1e-4)
