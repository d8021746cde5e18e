"""The one driver: training, certificates, the best bounds and when to stop."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelfit.families.psd.family import PositiveMatrixFamily
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.solvers.saddle.alternation import DAMPED
from kernelfit.solvers.saddle.frank_wolfe import FRANK_WOLFE
from kernelfit.solvers.saddle.fully_corrective import FULLY_CORRECTIVE
from kernelfit.solvers.saddle.gradient import GRADIENT_SOLVERS
from kernelfit.solvers.saddle.newton import NEWTON
from kernelfit.solvers.saddle.problem import (
    SaddleProblem,
    SaddleSolver,
    assess,
    first_machines,
    first_pair,
    solve_saddle,
)
from kernelfit.solvers.saddle.progress import Assessment, Pair, Progress
from kernelfit.tasks.losses import hinge, tube
from tests.reference.examples import example
from tests.reference.factors import saddle
from tests.reference.svm import DualProblem, cvxpy_solution, dual_value, duality_gap

X = np.random.default_rng(0).uniform(size=(25, 2))


def tessellated(n_tasks=1, fit_intercept=True):
    family = PositiveMatrixFamily(TessellatedBasis(2, 1, 0.5, "x"), X, 1.0)
    rng = np.random.default_rng(1)
    ys = [np.sin(5 * X[:, 0]) + 0.3 * rng.standard_normal(25) for _ in range(n_tasks)]
    tasks = tuple(tube(y, 1.0, 0.1, fit_intercept=fit_intercept) for y in ys)
    return SaddleProblem(family, tasks)


def assessment(lower, gap, beta=1.0, resolution=0.0):
    beta = np.full((1, 3), beta)
    return Assessment(beta, "theta", "response", lower, gap, np.zeros(1), resolution)


@pytest.mark.parametrize("updated", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_training_maximises_the_shifted_and_updated_dual(updated, fit_intercept):
    """Of b: kappa + c'b - 1/2 b'K b - 1/2 ||L'(b - start)||^2."""
    problem = tessellated(fit_intercept=fit_intercept)
    rng = np.random.default_rng(2)
    U, shift = rng.standard_normal((6, 2)), 0.3 * rng.standard_normal((1, 25))
    start = problem.train(U, None, 1e-6)
    L = rng.standard_normal((1, 25, 3)) if updated else None
    found = problem.train(U, start, 1e-10, update=L, shift=shift)
    K, p = problem.family.gram(U).whole.copy(), problem.tasks[0].p + shift[0]
    if updated:
        K, p = K + L[0] @ L[0].T, p + L[0] @ (L[0].T @ start[0])
    bound = np.ones(25)
    dual = DualProblem(K, p, -bound, bound, 0.1, fit_intercept)
    best, _ = cvxpy_solution(dual)
    assert duality_gap(dual, found[0]) <= 1e-8 * best


def test_training_coupled_tasks_nears_the_common_optimum():
    """An update couples the tasks; sweeps over them approach the solution of all together."""
    problem = tessellated(2, fit_intercept=False)
    rng = np.random.default_rng(3)
    U, L = rng.standard_normal((6, 2)), 0.3 * rng.standard_normal((2, 25, 2))
    start = problem.train(rng.standard_normal((6, 2)), None, 1e-8)
    found = problem.train(U, start, 1e-10, update=L)
    uncoupled = problem.train(U, start, 1e-10)
    K, rows = problem.family.gram(U).whole, L.reshape(50, 2)
    p = np.concatenate([t.p for t in problem.tasks]) + rows @ (rows.T @ start.ravel())
    bound = np.ones(50)
    whole = DualProblem(np.kron(np.eye(2), K) + rows @ rows.T, p, -bound, bound, 0.1, False)
    best, _ = cvxpy_solution(whole)
    values = [dual_value(whole, beta.ravel()) for beta in (found, uncoupled, start)]
    assert values[0] >= best * (1.0 - 1e-4)
    assert max(values[1:]) <= best * (1.0 - 1e-2)


def test_assessment_brackets_the_optimum():
    problem = tessellated(2)
    family = problem.family
    optimum = solve_saddle(problem, FULLY_CORRECTIVE, tol=1e-8).objective
    rng = np.random.default_rng(4)
    for _ in range(3):
        U = rng.standard_normal((6, 6))
        U *= np.sqrt(6 / np.sum(U**2))
        beta = problem.train(U, None, 1e-3)
        found = assess(problem, Pair(beta, U, family.respond(beta)))
        K = family.gram(U).whole
        D = sum(family.respond_to(b).form(b).entries for b in beta)
        kappa = sum(t.p @ b - 0.1 * abs(b).sum() for t, b in zip(problem.tasks, beta, strict=True))
        assert_allclose(found.lower, kappa - 3.0 * np.linalg.eigvalsh(D)[-1], rtol=1e-10)
        upper = sum(
            0.5 * b @ K @ b + np.maximum(abs(t.p - K @ b - c) - 0.1, 0.0).sum()
            for t, b, c in zip(problem.tasks, beta, found.intercept, strict=True)
        )
        assert_allclose(found.upper, upper, rtol=1e-10)
        assert found.lower < optimum < found.upper


def test_bounds_of_two_pairs_are_joined_and_the_witness_kept():
    progress = Progress(1e-3)
    progress.add(assessment(2.0, 1.0, beta=1.0))  # the lower bound
    progress.add(assessment(0.5, 1.75, beta=2.0))  # the upper bound
    assert_allclose([progress.lower, progress.gap], [2.0, 0.25])
    progress.ending = "max_iter"
    result = progress.result("proved")
    assert_array_equal(result.x, np.full((1, 3), 2.0))
    assert_array_equal(result.witness, np.full((1, 3), 1.0))
    assert result.history == ((2.0, 1.0), (2.0, 0.25)) and result.n_iter == 2
    assert not result.converged and result.ending == "max_iter"


def test_one_pair_that_proves_as_much_as_two_is_its_own_witness():
    progress = Progress(1e-3)
    progress.add(assessment(2.0, 1.0, beta=1.0))
    progress.add(assessment(2.1, 0.002, beta=2.0))  # within the tolerance
    progress.add(assessment(2.1001, 0.5, beta=3.0))  # only the lower bound is better
    result = progress.result("proved")
    assert_array_equal(result.x, result.witness)
    assert (result.objective, result.gap) == (2.1, 0.002)
    assert result.converged and result.ending == "tolerance"


def test_status_other_than_proved_has_no_gap():
    progress = Progress(1e-3)
    progress.add(assessment(2.0, 1.0))
    result = progress.result("stationary")
    assert np.isnan(result.gap) and result.status == "stationary"


def test_zero_is_optimal_within_rounding():
    progress = Progress(1e-3)
    progress.add(assessment(0.0, 1e-17, beta=0.0, resolution=1e-16))
    assert progress.converged and progress.finished
    progress = Progress(1e-3)
    progress.add(assessment(0.0, 1e-17, beta=1.0, resolution=1e-16))
    assert not progress.converged and progress.finished  # rounding ends it


def test_a_gap_that_rests_ends_the_run_only_where_it_is_small():
    for gap, finished in ((1e-7, True), (1e-3, False)):
        progress = Progress(1e-12)
        for _ in range(60):
            progress.add(assessment(1.0, gap))
        assert progress.stalled == finished and not progress.converged


@pytest.mark.parametrize(
    ("gap", "rise", "fall", "steps"),
    [
        (5.0, 0.0, 0.0, 101),
        (5.0, 1e-7, 0.0, None),
        (5.0, 0.0, 1e-3, None),
        (1e15, 0.0, 0.0, 101),
        (1e17, 0.0, 0.0, 26),  # beyond rounding
        (1e17, 0.0, 1e-3, None),
    ],
)
def test_a_gap_above_the_objective_is_given_up_where_nothing_moves(gap, rise, fall, steps):
    progress = Progress(1e-3)
    for k in range(150):
        progress.add(assessment(1.0 + rise * k, gap * (1.0 - fall) ** k))
        if progress.stalled:
            break
    assert (len(progress.history) if progress.stalled else None) == steps


def test_polishing_goes_on_as_long_as_the_gap_halves():
    for gaps, steps in (((1e-4, 4e-5, 1e-5, 9e-6, 8e-6), 4), ((1e-4, 9e-5, 1e-9), 2)):
        progress = Progress(1e-3, polish=True)
        for gap in gaps:
            progress.add(assessment(1.0, gap), n_free=5)
            if progress.finished:
                break
        assert len(progress.history) == steps and progress.converged
    progress = Progress(1e-3, polish=True)
    progress.add(assessment(1.0, 1e-4), n_free=100_000)  # too many variables to polish
    assert progress.finished


def test_a_start_without_energy_is_trained():
    problem, progress = tessellated(), Progress(1e-3)
    U = np.sqrt(6) * np.eye(6, 1)
    beta = problem.train(U, None, 1e-3)

    def choose(response):
        return response.theta

    kept = first_pair(problem, progress, (beta, U), choose)
    assert_allclose(kept.beta, beta, rtol=1e-12)
    assert kept.theta is U
    outside = first_pair(problem, progress, (3.0 * beta, U), choose).beta
    task = problem.tasks[0]
    assert np.all((task.lower <= outside) & (outside <= task.upper))
    for start in (None, (np.zeros((1, 25)), U), (beta, None)):
        first = first_pair(problem, progress, start, choose)
        expected = problem.train(problem.family.initial, None, 1e-6)
        assert_allclose(first.beta, expected, atol=0.02)
        assert_allclose(first.theta @ first.theta.T, (t := first.response.theta) @ t.T)


def test_first_machines_are_those_of_the_initial_theta():
    pair = saddle(example("svc", n=20), 1.0, 3.0)
    given = np.ones((1, 20)), "theta"
    assert first_machines(pair, given, 1e-3) is given
    beta, theta = first_machines(pair, None, 1e-9)
    assert_allclose(theta, 1.0 - 1.5 / 20)  # what the nuclear norm leaves of 11'
    assert_allclose(beta, pair.train(theta, None, 1e-9), atol=1e-8)


class Dear:
    """A family with a property that must not be computed to know that it is there."""

    @property
    def initial(self):
        raise MemoryError

    curvature = metric = None


def test_a_solver_says_what_a_family_lacks():
    NEWTON.check(Dear())
    message = "^expected a family with mix for solver 'frank_wolfe', got Dear$"
    with pytest.raises(ValueError, match=message):
        FRANK_WOLFE.check(Dear())
    message = "^expected a family with size and mix for solver 'mine', got Dear$"
    with pytest.raises(ValueError, match=message):
        SaddleSolver("mine", None, ("initial", "size", "mix")).check(Dear())


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ((), "expected a tuple of one task or more, got ()"),
        (hinge([-1.0, 1.0], 1.0), "expected a tuple of one task or more, got Task("),
        ((hinge([-1.0, 1.0], 1.0), hinge([1.0], 1.0)), "expected tasks on the same points, got [1"),
    ],
)
def test_what_are_no_tasks_is_refused(tasks, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        SaddleProblem(None, tasks)


def test_what_is_no_solver_is_refused():
    problem = SaddleProblem(None, (hinge([-1.0, 1.0], 1.0),))
    with pytest.raises(TypeError, match=r"^expected a SaddleSolver, such as .*, got 'newton'$"):
        solve_saddle(problem, "newton")
    with pytest.raises(ValueError, match=r"^expected a positive tol, got -1$"):
        solve_saddle(problem, FRANK_WOLFE, tol=-1)


def test_a_factor_serves_one_task():
    pair = saddle(example("svc", n=20), 1.0)
    shared = SaddleProblem(pair.family, (*pair.tasks, hinge(np.ones(20), 1.0)))
    with pytest.raises(ValueError, match="expected one task for an entrywise factor, got 2"):
        solve_saddle(shared, DAMPED)


@pytest.mark.parametrize("solver", [NEWTON, *GRADIENT_SOLVERS.values()], ids=lambda s: s.name)
def test_solvers_for_one_task_say_so(solver):
    pair = saddle(example("svc", n=20), 1.0)
    message = f"^expected one task for solver '{solver.name}', got 2$"
    with pytest.raises(ValueError, match=message):
        solve_saddle(SaddleProblem(pair.family, pair.tasks * 2), solver)


def test_a_solver_that_ends_by_itself_is_ended_by_rounding():
    problem = tessellated()
    beta = problem.train(2.0, None, 1e-2)
    pair = Pair(beta, 2.0 * np.eye(6), problem.family.respond(beta))
    seen = []
    one = SaddleSolver("one", lambda *_: iter([pair, pair]), ())
    result = solve_saddle(problem, one, tol=1e-9, callback=lambda *state: seen.append(state))
    assert result.ending == "rounding" and result.n_iter == 2
    assert [state[1:] for state in seen] == list(result.history)
    assert [state[0] for state in seen] == [1, 2]
