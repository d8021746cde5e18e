"""The dual solver on every loss that a task can state: ridge, unbounded boxes, any sum."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import OneClassSVM

from kernelfit.kernels.gram import RowGram
from kernelfit.kernels.standard import RBF
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import tube
from kernelfit.tasks.task import Task
from tests.reference.examples import blobs
from tests.reference.losses import (
    LEVEL,
    LOSSES,
    NU,
    cvxpy_dual,
    cvxpy_primal,
    decision,
    dual_value,
    duality_gap,
    loss_problem,
    rounding_error,
    textbook_losses,
)
from tests.reference.strategies import loss_problems, seeds

LARGE = 1600  # more than one block, also of a matrix in memory

losses = pytest.mark.parametrize("name", LOSSES)
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def example(name, n=30, weighted=False, seed=0):
    """Return K, y and costs; the targets of a regression are far from 0."""
    rng = np.random.default_rng(seed + 1)
    X, y = blobs(n, seed)
    K = RBF(0.3)(X)
    C = 2.0 * rng.uniform(0.0, 3.0, size=n) * (rng.uniform(size=n) > 0.2) if weighted else 2.0
    if name in ("tube", "pinball", "squared"):
        y = 3.0 + np.sin(X[:, 0]) + 0.2 * rng.standard_normal(n)
    return K, y, C


def solve(problem, K=None, **options):
    """Run the solver on a reference problem, through another reader of K where one is given."""
    return solve_dual(problem.K if K is None else K, Task(**problem.task_terms), **options)


def primal(name, y, C, total, result):
    """The textbook primal value at the decision values of a result."""
    costs = textbook_losses(name, y, C, result.decision + result.intercept)
    regular = 0.5 * math.fsum(result.x * result.decision)
    return regular + math.fsum(costs) + result.intercept * (total or 0.0)


def assert_solved(problem, result, tol):
    """Feasible, the reported numbers true, and the gap closed unless rounding is in the way."""
    x, b = result.x, result.intercept
    assert x.dtype == np.float64 and np.all(problem.lower <= x) and np.all(x <= problem.upper)
    error = rounding_error(problem, x, b)
    if problem.total is None:
        assert b == 0.0
    else:
        finite = [a[np.isfinite(a)] for a in (problem.lower, problem.upper)]
        largest = np.max(abs(np.concatenate(finite)), initial=abs(problem.total))
        missing = abs(math.fsum(x) - problem.total)
        assert missing <= 1e-12 * math.fsum(abs(x)) + 2.0**-50 * largest
        error += missing * (abs(b) + np.max(abs(problem.p)))
    if result.status == "stationary":
        # K is positive semidefinite, so only rounding can have made beta'K beta negative.
        assert error >= 1e-3 * abs(problem.p) @ abs(x)
        return
    assert result.status == "proved" and result.gap >= 0.0
    assert abs(result.objective - dual_value(problem, x)) <= error
    assert abs(result.gap - duality_gap(problem, x, b)) <= error
    assert np.all(abs(result.decision - decision(problem, x)) <= 1e-12 * abs(problem.K) @ abs(x))
    assert (result.ending == "tolerance") == result.converged
    if not result.converged:
        assert result.ending == "rounding" and error > 0.1 * tol * abs(result.objective)


# Agreement with cvxpy.


@losses
@intercepts
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_cvxpy(name, fit_intercept, weighted):
    """Dual and primal objective are those of an interior-point solver of either problem."""
    K, y, C = example(name, weighted=weighted)
    problem = loss_problem(name, K, y, C, fit_intercept)
    result = solve(problem, tol=1e-9)
    assert result.converged
    assert_solved(problem, result, 1e-9)
    found = primal(name, y, C, problem.total, result)
    dual, value = cvxpy_dual(problem), cvxpy_primal(name, K, y, C, fit_intercept)
    if name == "one-class" and not fit_intercept:  # nothing pays for the plane: it stays at 0
        assert result.objective == found == 0.0 and not result.x.any()
        assert abs(dual) < 1e-9 and abs(value) < 1e-9
        return
    assert result.objective == pytest.approx(dual, rel=1e-7, abs=0)
    assert found == pytest.approx(value, rel=1e-7, abs=0)
    assert abs(found - result.objective) <= 1.01e-9 * abs(found)


# Certificates on everything that a task may be.


@settings(max_examples=200, deadline=None)
@given(loss_problems(), st.sampled_from([1e-3, 1e-6]))
def test_certificate(problem, tol):
    assert_solved(problem, solve(problem, tol=tol), tol)


@settings(max_examples=100, deadline=None)
@given(loss_problems(kinds=("features", "duplicates", "rbf")), seeds, st.integers(-3, 3))
def test_start_from_anywhere(problem, seed, exponent):
    """Any start ends with the same certificate, and a solution is recognised at once."""
    start = 10.0**exponent * np.random.default_rng(seed).standard_normal(problem.n)
    cold, warm = solve(problem, tol=1e-6), solve(problem, tol=1e-6, start=start)
    assert_solved(problem, warm, 1e-6)
    error = sum(rounding_error(problem, r.x, r.intercept) for r in (cold, warm))
    assert abs(cold.objective - warm.objective) <= max(cold.gap, warm.gap) + error
    if cold.converged:
        again = solve(problem, tol=1e-6, start=cold.x)
        seen = error <= 1e-7 * abs(cold.objective)  # not a value of 0 up to rounding
        assert again.n_iter <= 2 or not seen
        assert_solved(problem, again, 1e-6)


@settings(max_examples=60, deadline=None)
@given(loss_problems(kinds=("features", "rbf")), st.sampled_from([0, 3, 100]))
def test_rows_on_demand(problem, rows):
    """A cache of any size gives the optimum of the dense matrix."""
    K = problem.K
    gram = RowGram(lambda i: K[i], np.diag(K).copy(), rows * len(K) * 8, dtype=np.float64)
    result = solve(problem, gram, tol=1e-6)
    assert_solved(problem, result, 1e-6)
    dense = solve(problem, tol=1e-6)
    error = sum(rounding_error(problem, r.x, r.intercept) for r in (dense, result))
    assert abs(dense.objective - result.objective) <= max(dense.gap, result.gap) + error


@losses
def test_polish_goes_to_the_exact_solution(name):
    """The gap falls to rounding: the set of free variables is right."""
    K, y, C = example(name, n=200)
    problem = loss_problem(name, K, y, C)
    result = solve(problem, tol=1e-3, polish=True)
    assert_solved(problem, result, 1e-3)
    assert result.gap <= 1e-9 * abs(result.objective)


# Limit cases.


@intercepts
@pytest.mark.parametrize("weighted", [False, True])
def test_squared_loss_is_one_linear_system(fit_intercept, weighted):
    """``[[K + diag(r), 1], [1', 0]] [beta, b] = [y, 0]``; without an intercept kernel ridge."""
    K, y, C = example("squared")
    n = len(y)
    if weighted:
        C = np.linspace(0.1, 5.0, n)
    problem = loss_problem("squared", K, y, C, fit_intercept)
    result = solve(problem, tol=1e-12, polish=True)
    H = K + np.diag(problem.ridge)
    if fit_intercept:
        system = np.block([[H, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
        expected = np.linalg.solve(system, np.append(y, 0.0))
    else:
        expected = np.append(np.linalg.solve(H, y), 0.0)
        costs = np.broadcast_to(C, (n,))
        model = KernelRidge(alpha=0.5, kernel="precomputed").fit(K, y, sample_weight=costs)
        np.testing.assert_allclose(expected[:n], model.dual_coef_, rtol=0, atol=1e-10)
    # The dual is strongly concave: that is how far a point of this gap may be.
    radius = math.sqrt(2 * result.gap / np.min(problem.ridge)) + 1e-10
    assert radius < 1e-6 * np.max(abs(expected[:n]))
    np.testing.assert_allclose(result.x, expected[:n], rtol=0, atol=radius)
    assert result.intercept == pytest.approx(expected[n], abs=2 * n * radius)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.7])
def test_one_class_agrees_with_scikit_learn(nu):
    """Its variables are nu n times ours, in a box of 1."""
    K, _, _ = example("one-class", n=100)
    n = len(K)
    zero, bound = np.zeros(n), np.full(n, 1.0 / (nu * n))
    task = Task(zero, zero, bound, total=1.0)
    result = solve_dual(K, task, tol=1e-12)
    assert result.converged and result.status == "proved"
    model = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-9).fit(K)
    theirs = np.zeros(n)
    theirs[model.support_] = model.dual_coef_[0] / (nu * n)
    assert result.objective == pytest.approx(-0.5 * theirs @ K @ theirs, rel=1e-8)
    # K_ii = 1, and the offset moves no more than the decision values do.
    gaps = result.gap, max(task.certificate(theirs, K @ theirs).gap, 0.0)
    radius = sum(math.sqrt(2 * gap) for gap in gaps) + 1e-9
    assert radius < 1e-3 * np.max(result.decision)
    np.testing.assert_allclose(result.decision, K @ theirs, rtol=0, atol=radius)
    assert result.intercept == pytest.approx(model.intercept_[0] / (nu * n), abs=radius)
    expected = model.decision_function(K).ravel() / (nu * n)
    scores = result.decision + result.intercept
    np.testing.assert_allclose(scores, expected, rtol=0, atol=2 * radius)


@pytest.mark.parametrize("n", [1, 3, 10, 49, 100, LARGE])
def test_one_class_of_all_points(n):
    """At nu = 1 the bounds hold the sum, up to rounding: every variable is at its own."""
    X, _ = blobs(n)
    zero, bound = np.zeros(n), np.full(n, 1.0 / n)
    result = solve_dual(RBF(0.3)(X), Task(zero, zero, bound, total=1.0))
    assert result.converged and result.status == "proved"
    np.testing.assert_allclose(result.x, bound, rtol=1e-12)
    assert np.all(result.decision + result.intercept <= 1e-12)


@pytest.mark.parametrize("nu", [0.3, 0.7])
def test_one_class_leaves_out_a_fraction(nu):
    """At most nu n points lie strictly outside, at least nu n are support vectors."""
    K, _, _ = example("one-class", n=100)
    zero, bound = np.zeros(100), np.full(100, 1.0 / (nu * 100))
    result = solve_dual(K, Task(zero, zero, bound, total=1.0), tol=1e-12, polish=True)
    scores, radius = result.decision + result.intercept, 2 * math.sqrt(2 * result.gap) + 1e-12
    assert radius < 1e-3 * np.max(result.decision)
    outside = np.count_nonzero(scores < -radius)
    assert 0 < outside <= nu * 100 <= np.count_nonzero(result.x)


def test_pinball_splits_the_residuals():
    """At most (1 - q) n residuals are positive, at most q n negative: a quantile."""
    K, y, _ = example("pinball", n=100)
    result = solve(loss_problem("pinball", K, y, 0.5), tol=1e-12, polish=True)
    residual, radius = y - result.decision - result.intercept, 2 * math.sqrt(2 * result.gap) + 1e-12
    above, below = np.count_nonzero(residual > radius), np.count_nonzero(residual < -radius)
    assert 0 < above <= (1 - LEVEL) * 100 and 0 < below <= LEVEL * 100
    assert above + below > 50  # most are clearly on one side


@intercepts
def test_pinball_at_one_half_is_the_tube_without_a_width(fit_intercept):
    K, y, C = example("tube")
    half = np.full(len(y), 0.5 * C)
    pinball = Task(y, -half, half, total=0.0 if fit_intercept else None)
    first = solve_dual(K, pinball, tol=1e-9)
    second = solve_dual(K, tube(y, 0.5 * C, 0.0, fit_intercept=fit_intercept), tol=1e-9)
    np.testing.assert_array_equal(first.x, second.x)


@intercepts
def test_a_huge_cost_of_the_squared_hinge_is_a_hard_margin(fit_intercept):
    """On separable data both hinges tend to the same machine."""
    X, y = blobs(40, separation=2.0)
    K = X @ X.T
    soft = solve(loss_problem("hinge", K, y, 1e3, fit_intercept), tol=1e-9)
    squared = solve(loss_problem("squared hinge", K, y, 1e9, fit_intercept), tol=1e-9)
    assert soft.converged and squared.converged
    assert np.max(abs(soft.x)) < 1e3  # the cost does not bind
    assert squared.objective == pytest.approx(soft.objective, rel=3e-9)


@losses
@intercepts
def test_ridge_is_a_larger_diagonal(name, fit_intercept):
    """The dual of a ridge r is that of K + diag(r) without; the decision values stay K beta."""
    K, y, C = example(name)
    plain = loss_problem(name, K, y, C, fit_intercept)
    ridge = np.linspace(0.1, 2.0, len(y))
    if plain.ridge is not None:  # bounds, so that it can be done without a ridge
        box = {"lower": np.maximum(plain.lower, -0.3), "upper": np.minimum(plain.upper, 0.3)}
        plain = plain.replace(ridge=None, **box)
    ridged = plain.replace(ridge=ridge)
    moved = plain.replace(K=K + np.diag(ridge))
    first, second = solve(ridged, tol=1e-10), solve(moved, tol=1e-10)
    assert_solved(ridged, first, 1e-10)
    assert first.objective == pytest.approx(second.objective, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(first.decision, K @ first.x, rtol=0, atol=1e-12)
    radius = sum(math.sqrt(2 * result.gap / np.min(ridge)) for result in (first, second))
    np.testing.assert_allclose(first.x, second.x, rtol=0, atol=radius + 1e-12)


@intercepts
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_squared_hinge_of_one_class(fit_intercept, side):
    """With an intercept only beta = 0 is feasible, and its gap is zero."""
    K, y, C = example("squared hinge")
    problem = loss_problem("squared hinge", K, np.full(len(y), side), C, fit_intercept)
    result = solve(problem, tol=1e-9)
    assert_solved(problem, result, 1e-9)
    if fit_intercept:
        np.testing.assert_array_equal(result.x, 0.0)
        assert result.gap == 0.0 and side * result.intercept >= 1.0 - 1e-12


def test_negative_curvature_is_noticed_under_a_ridge():
    """The primal is not convex where K is indefinite, whatever the ridge."""
    K, y, _ = example("squared")
    K = K - 1.5 * np.outer(y, y) / (y @ y) * np.linalg.norm(K, 2)
    result = solve(loss_problem("squared", 0.5 * (K + K.T), y, 1e-3), tol=1e-6)
    assert result.status == "stationary" and math.isnan(result.gap)


# More than one block.


def assert_large_solved(problem, K, result, tol):
    """As `assert_solved`, in vectorised sums."""
    x, b = result.x, result.intercept
    assert np.all(problem.lower <= x) and np.all(x <= problem.upper)
    if problem.total is not None:
        assert abs(math.fsum(x) - problem.total) <= 1e-12 * math.fsum(abs(x))
    f = K @ x
    size = math.fsum(abs(x) * (abs(K) @ abs(x) + abs(problem.p)))
    np.testing.assert_allclose(result.decision, f, rtol=0, atol=1e-12 * np.max(abs(K) @ abs(x)))
    dual = problem.p @ x - problem.epsilon * abs(x).sum() - 0.5 * x @ (f + problem.ridges * x)
    assert abs(result.objective - dual) <= 1e-13 * size
    assert result.converged and result.status == "proved"
    assert result.gap <= tol * abs(dual)
    return f, b, dual, size


@pytest.mark.large
@losses
@intercepts
@pytest.mark.parametrize("reader", ["dense", "rows", "float32"])
def test_more_than_one_block(name, fit_intercept, reader):
    """Rounds over blocks reach a certificate that is true for the exact matrix."""
    tol = 1e-6
    X, y = blobs(LARGE, seed=3)
    if name in ("tube", "pinball", "squared"):
        y = 3.0 + np.sin(X[:, 0]) + 0.2 * np.random.default_rng(4).standard_normal(LARGE)
    C = np.random.default_rng(5).uniform(0.5, 2.0, size=LARGE)
    K = RBF(0.3)(X)
    gram = {
        "dense": K,
        "rows": RowGram.from_kernel(RBF(0.3), X, 100 * 8 * LARGE, np.float64),
        "float32": RowGram.from_kernel(RBF(0.3), X, 100 * 4 * LARGE),
    }[reader]
    problem = loss_problem(name, K, y, C, fit_intercept)
    result = solve(problem, gram, tol=tol)
    f, b, dual, size = assert_large_solved(problem, K, result, tol)
    costs = textbook_losses(name, y, C, f + b)
    value = 0.5 * result.x @ f + costs.sum() + b * (problem.total or 0.0)
    assert abs(result.gap - (value - dual)) <= 1e-12 * (size + costs.sum())


@pytest.mark.large
@pytest.mark.parametrize("total", [-20.0, 5.0])
@pytest.mark.parametrize("reader", ["dense", "float32"])
def test_more_than_one_block_with_everything(total, reader):
    """A tube with a ridge, half of the box unbounded and another sum."""
    tol = 1e-6
    rng = np.random.default_rng(6)
    X, _ = blobs(LARGE, seed=3)
    K, y = RBF(0.3)(X), np.sin(X[:, 0]) + 0.2 * rng.standard_normal(LARGE)
    ridge = rng.uniform(0.2, 1.0, size=LARGE)
    lower, upper = -rng.uniform(0.1, 1.0, size=LARGE), rng.uniform(0.1, 1.0, size=LARGE)
    lower[::3], upper[::2] = -np.inf, np.inf
    problem = loss_problem("squared", K, y, 1.0).replace(
        lower=lower, upper=upper, ridge=ridge, epsilon=0.05, total=total
    )
    gram = K if reader == "dense" else RowGram.from_kernel(RBF(0.3), X, 100 * 4 * LARGE)
    result = solve(problem, gram, tol=tol)
    f, b, dual, size = assert_large_solved(problem, K, result, tol)
    t = y - f - b
    excess = np.sign(t) * np.maximum(abs(t) - 0.05, 0.0)
    s = np.clip(excess / ridge, lower, upper)
    value = 0.5 * result.x @ f + (s * t - 0.05 * abs(s) - 0.5 * ridge * s**2).sum() + b * total
    assert abs(result.gap - (value - dual)) <= 1e-12 * size
    # A start from the solution is recognised, one far away ends at the same objective.
    again = solve(problem, gram, tol=tol, start=result.x)
    assert again.n_iter <= 2
    far = solve(problem, gram, tol=tol, start=100.0 * rng.standard_normal(LARGE))
    assert_large_solved(problem, K, far, tol)
    assert abs(far.objective - result.objective) <= max(far.gap, result.gap)


def test_reference_problems_are_those_of_the_table():
    """One-class has the box of its table, and costs that are not all equal still hold the sum."""
    K, y, C = example("one-class", weighted=True)
    problem = loss_problem("one-class", K, y, C)
    assert problem.total == 1.0 < problem.upper.sum()
    np.testing.assert_allclose(problem.upper, C / (NU * len(y)))
