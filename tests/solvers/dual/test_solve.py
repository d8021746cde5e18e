"""The dual solver: certificates recomputed from scratch, closed forms and other solvers."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC, SVR

from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge, tube
from kernelfit.tasks.projection import project_box_plane
from kernelfit.tasks.task import Task
from tests.reference.checks import assert_certified, assert_same_optimum
from tests.reference.examples import example
from tests.reference.strategies import dual_problems, gram_matrices, seeds, weights
from tests.reference.svm import (
    DualProblem,
    best_step_gain,
    cvxpy_solution,
    dual_value,
    duality_gap,
    kkt_violation,
    primal_value,
    rounding_error,
    svc_problem,
    svr_problem,
)

properties = settings(max_examples=80, deadline=None)
tolerances = st.sampled_from([1e-3, 1e-6])
tasks = pytest.mark.parametrize("task", ["svc", "svr"])
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def solve(problem, **options):
    """Run the solver on a reference problem."""
    return solve_dual(problem.K, Task(**problem.task_terms), **options)


# The references themselves: they must vanish at an optimum and only there.


@tasks
@intercepts
def test_references_vanish_at_the_optimum_only(task, fit_intercept):
    """Strong duality at the interior-point solution, a clear gap and violation elsewhere."""
    problem = example(task, fit_intercept)
    objective, beta = cvxpy_solution(problem)
    assert abs(duality_gap(problem, beta)) <= 1e-7 * objective
    # Interior-point solutions approach bounds from inside, hence the slack.
    assert kkt_violation(problem, beta, slack=1e-5) <= 1e-5
    missing = objective - dual_value(problem, 0.5 * beta)
    assert duality_gap(problem, 0.5 * beta) >= missing > 0.01 * objective
    assert kkt_violation(problem, 0.5 * beta) > 0.1
    assert 0 < best_step_gain(problem, 0.5 * beta) <= missing


@tasks
def test_reference_intercept_beats_a_grid(task):
    """No intercept on a fine grid has a lower primal value."""
    problem = example(task)
    beta = 0.5 * problem.upper + 0.3 * problem.lower
    grid = [primal_value(problem, beta, c) for c in np.linspace(-20, 20, 2001)]
    best = primal_value(problem, beta)
    assert best <= min(grid)
    # The slope in c is at most sum C_i, so the grid point within 0.01 is this close.
    assert min(grid) - best <= 0.01 * problem.bound.sum()


# Certificates on everything that a Gram matrix and a box may be.


@properties
@given(dual_problems(), tolerances)
def test_certificate(problem, tol):
    """The gap, the objective, the intercept and the decision values are what they claim."""
    result = solve(problem, tol=tol)
    assert_certified(problem, result, tol)
    assert best_step_gain(problem, result.x) <= result.gap + rounding_error(problem, result.x)


@pytest.mark.large
@intercepts
@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("strength", [1e5, 1e7, 1e9, 1e12])
def test_random_labels_on_a_line(strength, rank, fit_intercept):
    """Random labels in one or two dimensions at a large C, where pairwise steps only crawl."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = 4 + seed % 8
        X, y = rng.standard_normal((n, rank)), rng.choice([-1.0, 1.0], size=n)
        problem = svc_problem(1e3 * X @ X.T, y, 1e-3 * strength, fit_intercept)
        assert_certified(problem, solve(problem, tol=1e-6), 1e-6)


def test_no_proof_where_rounding_makes_the_matrix_indefinite():
    """Inner products of points far from the origin are rounded by more than the objective."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(40) + 3e9
    y = rng.choice([-1.0, 1.0], size=40)
    result = solve_dual(np.outer(x, x), hinge(y, 10.0), assume_psd=True)
    at_zero = 20.0 * min((y > 0).sum(), (y < 0).sum())  # the primal value of f = 0
    assert result.status == "stationary" or result.objective <= at_zero


def rank_two_targets():
    """Three points in a plane at a C that never binds: the free variables have a singular K."""
    K = 1e5 * np.array([[5.0, -4.0, 1.0], [-4.0, 4.0, 0.0], [1.0, 0.0, 1.0]])
    return svr_problem(K, np.array([0.81, 0.81, 0.52]), 100.0, 0.1)


def integer_rank_one():
    """An exactly psd matrix without rounding, singular on most sets of free variables."""
    x = np.array([-1.0, 2.0, 0.0, -2.0, -1.0, -1.0, 0.0, -1.0])
    y = np.array([0.23, 0.95, -0.75, 0.21, 0.06, 1.42, 0.12, 0.13])
    return svr_problem(np.outer(x, x), y, 1.0, 0.01)


def lopsided_box():
    """Losses whose slope in the intercept is tiny on one piece, but not zero."""
    x, p = np.array([0.9501938, 2.6017071]), np.array([0.12573022, -0.13210486])
    return DualProblem(np.outer(x, x), p, -np.full(2, 1e-6), np.full(2, 1e6), 0.125)


@pytest.mark.parametrize("problem", [rank_two_targets, integer_rank_one, lopsided_box])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_delicate_cases(problem, tol):
    """Small problems that random search found hard."""
    assert_certified(problem(), solve(problem(), tol=tol), tol)


@intercepts
def test_zero_kernel_from_any_start(fit_intercept):
    """K = 0 is psd: every start ends at a vertex, certified."""
    p, box = np.array([0.12573022, -0.13210486]), np.ones(2)
    problem = DualProblem(np.zeros((2, 2)), p, -box, box, 0.1, fit_intercept)
    for seed in range(20):
        start = np.random.default_rng(seed).standard_normal(2)
        assert_certified(problem, solve(problem, tol=1e-6, start=start), 1e-6)


@properties
@given(dual_problems(), seeds)
def test_permutation_equivariance(problem, seed):
    """Reordering the points reorders the decision values and keeps the objective."""
    order = np.random.default_rng(seed).permutation(problem.n)
    permuted = problem.permuted(order)
    first, second = solve(problem, tol=1e-6), solve(permuted, tol=1e-6)
    assert_certified(permuted, second, 1e-6)
    assert_same_optimum(problem, first, second, order=order)


@tasks
@intercepts
def test_permutation_permutes_beta_when_strictly_convex(task, fit_intercept):
    """With smallest eigenvalue m of K, ``||beta - beta*|| <= sqrt(2 gap / m)``."""
    problem = example(task, fit_intercept, weighted=True)
    problem = problem.replace(K=problem.K + 0.1 * np.eye(problem.n))
    order = np.random.default_rng(3).permutation(problem.n)
    first, second = solve(problem, tol=1e-9), solve(problem.permuted(order), tol=1e-9)
    smallest = np.linalg.eigvalsh(problem.K)[0]
    radius = math.sqrt(2 * first.gap / smallest) + math.sqrt(2 * second.gap / smallest)
    assert radius < 1e-2  # so that the next line says something
    assert np.linalg.norm(first.x[order] - second.x) <= radius + 1e-12


@pytest.mark.large
def test_large_problem_stays_at_its_solution():
    """More variables than one block: the gradient at the start comes from its rows."""
    problem = example("svc", n=1600)
    cold = solve(problem, tol=1e-4)
    warm = solve(problem, tol=1e-4, start=cold.x)
    assert warm.n_iter == 1 and np.allclose(warm.x, cold.x, atol=1e-12)


def test_start_whose_projection_is_rounded():
    """Far from the box that leaves an error in the sum, as large as the room at a bound."""
    K = np.array([[0.01580809, -0.01660957], [-0.01660957, 0.01745169]])
    problem = svr_problem(K, np.array([0.12573022, -0.13210486]), 0.1, 0.0)
    start = 1e3 * np.random.default_rng(3).standard_normal(2)
    result = solve(problem, tol=1e-6, start=start)
    assert result.x.sum() == 0.0
    assert_certified(problem, result, 1e-6)


@properties
@given(dual_problems(), st.integers(-4, 4), seeds)
def test_warm_start_from_anywhere(problem, exponent, seed):
    """Any finite start, in or out of the box, ends with the same certificate and objective."""
    start = np.random.default_rng(seed).standard_normal(problem.n)
    start *= 10.0**exponent * np.max(problem.bound)
    warm = solve(problem, tol=1e-6, start=start)
    assert_certified(problem, warm, 1e-6)
    assert_same_optimum(problem, solve(problem, tol=1e-6), warm)


@properties
@given(dual_problems(), tolerances)
def test_warm_start_at_the_solution_stays(problem, tol):
    """A solution given back is recognised at once and not made worse."""
    cold = solve(problem, tol=tol)
    assume(cold.converged)
    warm = solve(problem, tol=tol, start=cold.x)
    assert warm.n_iter <= 2
    assert_certified(problem, warm, tol)
    assert warm.objective >= cold.objective - rounding_error(problem, cold.x)


@properties
@given(dual_problems())
def test_reflection(problem):
    """Negating p and the box negates the solution."""
    mirrored = problem.replace(p=-problem.p, lower=-problem.upper, upper=-problem.lower)
    first, second = solve(problem, tol=1e-6), solve(mirrored, tol=1e-6)
    assert_same_optimum(problem, first, second, sign=-1.0)


@properties
@given(dual_problems(), st.sampled_from([-40, -20, 20, 40]))
def test_no_absolute_scale(problem, exponent):
    """Multiplying K by s and dividing the box by s divides D by s; powers of two are exact."""
    s = 2.0**exponent
    scaled = problem.replace(K=s * problem.K, lower=problem.lower / s, upper=problem.upper / s)
    first, second = solve(problem, tol=1e-6), solve(scaled, tol=1e-6)
    assert_certified(scaled, second, 1e-6)
    error = rounding_error(problem, first.x) + s * rounding_error(scaled, second.x)
    assert abs(first.objective - s * second.objective) <= max(first.gap, s * second.gap) + error


# Closed forms.


@properties
@given(gram_matrices(2), weights(2), weights(2), st.floats(0, 2), seeds, tolerances)
def test_two_points(K, below, above, epsilon, seed, tol):
    """For n = 2 the dual is one quadratic in t, beta = (t, -t), with a kink at 0."""
    p = np.random.default_rng(seed).standard_normal(2)
    problem = DualProblem(K, p, -below, above, epsilon)
    curvature = K[0, 0] + K[1, 1] - 2 * K[0, 1]

    def best(slope, room):
        if slope <= 0:
            return 0.0
        t = room if curvature * room <= slope else slope / curvature
        return t * slope - 0.5 * curvature * t * t

    forwards = best(p[0] - p[1] - 2 * epsilon, min(above[0], below[1]))
    backwards = best(p[1] - p[0] - 2 * epsilon, min(below[0], above[1]))
    result = solve(problem, tol=tol)
    assert_certified(problem, result, tol)
    error = rounding_error(problem, result.x)
    assert result.objective <= max(forwards, backwards) + error
    assert result.objective + result.gap >= max(forwards, backwards) - error


@properties
@given(st.integers(2, 12), st.floats(0, 1), seeds)
def test_diagonal_kernel_without_intercept(n, epsilon, seed):
    """The dual falls apart: soft threshold, divide, clip."""
    rng = np.random.default_rng(seed)
    d, p = 10.0 ** rng.uniform(-2, 2, size=n), rng.standard_normal(n)
    problem = DualProblem(np.diag(d), p, -rng.uniform(size=n), rng.uniform(size=n), epsilon, False)
    soft = np.sign(p) * np.maximum(abs(p) - epsilon, 0.0) / d
    expected = np.clip(soft, problem.lower, problem.upper)
    result = solve(problem, tol=1e-9)
    assert_certified(problem, result, 1e-9)
    radius = np.sqrt(2 * (result.gap + rounding_error(problem, result.x)) / d)
    assert np.all(abs(result.x - expected) <= radius)


@properties
@given(st.integers(2, 12), weights(12), seeds)
def test_identity_kernel_projects(n, C, seed):
    """With K = I and eps = 0, beta is the projection of p onto the box and the plane."""
    p = np.random.default_rng(seed).standard_normal(n)
    problem = svr_problem(np.eye(n), p, C[:n], 0.0)
    result = solve(problem, tol=1e-9)
    assert_certified(problem, result, 1e-9)
    expected = project_box_plane(p, problem.lower, problem.upper)
    radius = math.sqrt(2 * (result.gap + rounding_error(problem, result.x)))
    assert np.linalg.norm(result.x - expected) <= radius


# Agreement with other solvers.


@tasks
@intercepts
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_cvxpy(task, fit_intercept, weighted):
    """The objective of an interior-point solver, whose own error is far below 1e-7."""
    problem = example(task, fit_intercept, weighted)
    expected, _ = cvxpy_solution(problem)
    result = solve(problem, tol=1e-7)
    assert_certified(problem, result, 1e-7)
    assert result.objective == pytest.approx(expected, rel=2e-7)


@tasks
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.1, 2.0, 30.0])
def test_agrees_with_scikit_learn(task, weighted, C):
    """Objective, decision values and intercept of SVC and SVR on the same Gram matrix."""
    problem = example(task, weighted=weighted, n=60, C=C)
    K, y, bound = problem.K, problem.p, problem.bound
    if task == "svc":
        model = SVC(kernel="precomputed", C=1.0, tol=1e-9)
        result = solve_dual(K, hinge(y, bound), tol=1e-8)
    else:
        model = SVR(kernel="precomputed", C=1.0, epsilon=problem.epsilon, tol=1e-9)
        result = solve_dual(K, tube(y, bound, problem.epsilon), tol=1e-8)
    assert_certified(problem, result, 1e-8)
    kept = np.flatnonzero(bound > 0)  # points of weight zero would shift its support indices
    model.fit(K[np.ix_(kept, kept)], y[kept], sample_weight=bound[kept])
    theirs = np.zeros(problem.n)
    theirs[kept[model.support_]] = model.dual_coef_[0]
    assert result.objective == pytest.approx(dual_value(problem, theirs), rel=1e-6)
    # Its sum is zero to its own rounding only, so its gap may come out slightly negative.
    their_gap = max(duality_gap(problem, theirs), 0.0)
    radius = math.sqrt(2 * result.gap) + math.sqrt(2 * their_gap) + 1e-9  # K_ii = 1
    assert radius < 0.02
    np.testing.assert_allclose(result.decision, K @ theirs, rtol=0, atol=radius)
    # A point well inside its box makes the intercept unique. It is a weighted quantile of
    # residuals, so it moves no more than they do.
    room = np.minimum(abs(theirs), np.minimum(problem.upper - theirs, theirs - problem.lower))
    if np.max(room / np.max(bound)) > 1e-2:
        assert result.intercept == pytest.approx(model.intercept_[0], abs=radius)


@tasks
def test_losses_build_the_box(task):
    """Scalar and vector C of the two tasks mean the documented box."""
    K, y = example(task).K, example(task).p
    for C in (2.0, np.linspace(0.0, 3.0, len(y))):
        if task == "svc":
            problem = svc_problem(K, y, C)
            result = solve_dual(K, hinge(y, C), tol=1e-6)
        else:
            problem = svr_problem(K, y, C, 0.1)
            result = solve_dual(K, tube(y, C, 0.1), tol=1e-6)
        assert_certified(problem, result, 1e-6)
        np.testing.assert_array_equal(result.x, solve(problem, tol=1e-6).x)
