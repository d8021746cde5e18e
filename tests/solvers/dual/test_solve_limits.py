"""The dual solver: limit cases, indefinite matrices, readers of K, rounds and interruption."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelfit.kernels.gram import DenseGram, RowGram
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge, tube
from kernelfit.tasks.task import Task
from tests.reference import kernels
from tests.reference.checks import (
    assert_certificate_true,
    assert_certified,
    assert_feasible,
    assert_same_optimum,
)
from tests.reference.examples import blobs, example
from tests.reference.strategies import dual_problems, seeds
from tests.reference.svm import (
    FLOAT32_ROUNDOFF,
    dual_value,
    duality_gap,
    hard_margin_value,
    kkt_violation,
    rounding_error,
    svc_problem,
)

tasks = pytest.mark.parametrize("task", ["svc", "svr"])
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def solve(problem, K=None, **options):
    """Run the solver on a reference problem, through another reader of K where one is given."""
    return solve_dual(problem.K if K is None else K, Task(**problem.task_terms), **options)


# Limits.


def test_hard_margin():
    """On separable data a large C never binds and D is half the squared norm of w."""
    X, y = blobs(40, separation=2.0)
    assert np.all(y * X.sum(axis=1) > 0)  # separable by the vector of ones
    result = solve_dual(X @ X.T, hinge(y, 1e6), tol=1e-8)
    assert result.converged
    assert np.max(abs(result.x)) < 1e5
    assert result.objective == pytest.approx(hard_margin_value(X, y), rel=1e-6)
    assert np.min(y * (result.decision + result.intercept)) == pytest.approx(1.0, abs=1e-3)


def test_two_opposite_points():
    """Points at +1 and -1: w = 1, b = 0, alpha = 1/2 and D = 1/2."""
    result = solve_dual(np.array([[1.0, -1.0], [-1.0, 1.0]]), hinge([1.0, -1.0], 1e6))
    np.testing.assert_allclose(result.x, [0.5, -0.5], rtol=1e-15)
    assert result.objective == pytest.approx(0.5, rel=1e-15)
    assert result.intercept == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_one_class(side):
    """With one label and an intercept only beta = 0 is feasible, and its gap is exactly zero."""
    problem = example("svc")
    result = solve_dual(problem.K, hinge(np.full(problem.n, side), 2.0))
    np.testing.assert_array_equal(result.x, 0.0)
    assert result.objective == 0.0 and result.gap == 0.0
    assert result.converged and result.status == "proved"
    assert side * result.intercept >= 1.0


@tasks
@intercepts
def test_empty_box(task, fit_intercept):
    """All weights zero: beta = 0, nothing to pay, a certificate of zero."""
    problem = example(task, fit_intercept, C=0.0)
    result = solve(problem)
    np.testing.assert_array_equal(result.x, 0.0)
    assert result.objective == 0.0 and result.gap == 0.0
    assert result.converged and result.status == "proved"
    assert math.isfinite(result.intercept)


@intercepts
def test_targets_inside_the_tube(fit_intercept):
    """Regression with every target within eps of one level: beta = 0 and the gap is zero."""
    problem = example("svr", fit_intercept)
    level = 5.0 if fit_intercept else 0.0
    y = level + 0.09 * np.sign(problem.p)
    result = solve_dual(problem.K, tube(y, 2.0, 0.1, fit_intercept=fit_intercept))
    np.testing.assert_array_equal(result.x, 0.0)
    assert result.objective == 0.0 and result.gap == 0.0 and result.converged
    assert np.all(abs(y - result.intercept) <= 0.1 + 1e-15)


@tasks
def test_weight_two_is_a_repeated_row(task):
    """Doubling C_i and repeating point i give one optimum."""
    problem = example(task)
    n, index = problem.n, np.concatenate([np.arange(problem.n), [0, 7]])
    repeated = problem.permuted(index)
    factor = np.bincount(index, minlength=n)
    weighted = problem.replace(lower=factor * problem.lower, upper=factor * problem.upper)
    first, second = solve(weighted, tol=1e-8), solve(repeated, tol=1e-8)
    assert first.objective == pytest.approx(second.objective, rel=1e-8)
    radius = math.sqrt(2 * first.gap) + math.sqrt(2 * second.gap)
    np.testing.assert_allclose(first.decision, second.decision[:n], rtol=0, atol=radius)


@tasks
@intercepts
def test_objective_is_differentiable_in_the_kernel(task, fit_intercept):
    """Danskin: the slope of J along a psd direction S is ``-1/2 beta' S beta``."""
    problem = example(task, fit_intercept, weighted=True)
    direction = kernels.laplacian(*2 * [blobs(problem.n, seed=5)[0]], gamma=0.2)
    h = 1e-4
    ahead, behind = (
        solve(problem.replace(K=problem.K + t * direction), tol=1e-11) for t in (h, -h)
    )
    here = solve(problem, tol=1e-11)
    slope = -0.5 * here.x @ direction @ here.x
    assert slope < -0.1 * here.objective  # the direction matters
    # J is convex in K, so the one-sided differences bracket the slope up to the gaps.
    noise = (here.gap + max(ahead.gap, behind.gap)) / h + 1e-9
    assert (here.objective - behind.objective) / h <= slope + noise
    assert (ahead.objective - here.objective) / h >= slope - noise
    assert (ahead.objective - behind.objective) / (2 * h) == pytest.approx(slope, rel=1e-5)


# Indefinite matrices: no certificate, but an end, and a stationary one.


def indefinite_matrices(n, seed):
    """Return symmetric matrices with negative eigenvalues."""
    rng = np.random.default_rng(seed)
    A, X = rng.standard_normal((n, n)), rng.standard_normal((n, 3))
    A = (A + A.T) / 2
    return {
        "random": A - np.eye(n) * np.trace(A) / n,  # the eigenvalues sum to 0
        "sigmoid": np.tanh(0.5 * X @ X.T - 1.0),
        "negative": -np.eye(n),
        "negative semidefinite": -X @ X.T,
    }


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["random", "sigmoid", "negative", "negative semidefinite"]),
    st.sampled_from(["svc", "svr"]),
    st.booleans(),
    st.sampled_from([0.1, 1.0, 100.0]),
    st.integers(4, 25),
    seeds,
)
def test_indefinite_kernel_ends_at_a_stationary_point(kind, task, fit_intercept, C, n, seed):
    """Feasible, uncertified, with no feasible pair of clearly positive slope."""
    problem = example(task, fit_intercept, n=n, C=C, seed=seed)
    problem = problem.replace(K=indefinite_matrices(n, seed)[kind])
    result = solve(problem, tol=1e-6, max_iter=1000)
    assert_feasible(problem, result.x)
    assert result.status == "stationary"
    assert math.isnan(result.gap)
    assert result.n_iter < 1000
    assert abs(result.objective - dual_value(problem, result.x)) <= rounding_error(
        problem, result.x
    )
    size = np.max(abs(problem.p)) + np.max(abs(problem.K) @ abs(result.x))
    assert kkt_violation(problem, result.x, slack=1e-9 * C) <= 1e-3 * size
    assert result.objective >= 0.0  # ascent from 0


# Readers of K.


@tasks
def test_result_is_plain_and_frozen(task):
    """The fields are there, of the right types, and cannot be set."""
    result = solve(example(task))
    assert type(result.n_iter) is int
    assert type(result.converged) is bool
    assert {type(result.status), type(result.ending)} == {str}
    assert {type(v) for v in (result.objective, result.gap, result.intercept)} == {float}
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.gap = 0.0


@tasks
@pytest.mark.parametrize("reader", ["fortran", "strided", "dense"])
def test_layout_of_the_matrix_does_not_matter(task, reader):
    """Other memory layouts and an explicit reader give the same bits of beta, or the optimum."""
    problem = example(task, weighted=True)
    K = {
        "fortran": np.asfortranarray(problem.K),
        "strided": np.repeat(np.repeat(problem.K, 2, axis=0), 2, axis=1)[::2, ::2],
        "dense": DenseGram(problem.K),
    }[reader]
    result = solve(problem, K, tol=1e-6)
    assert_certified(problem, result, 1e-6)
    assert_same_optimum(problem, solve(problem, tol=1e-6), result)


@tasks
@intercepts
def test_inputs_are_only_read(task, fit_intercept):
    """Read-only arrays are accepted and nothing writes through another view of them."""
    problem = example(task, fit_intercept, weighted=True)
    start = np.cos(np.arange(problem.n))
    arrays = [problem.K, problem.p, problem.lower, problem.upper, start]
    before = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    assert_certified(problem, solve(problem, start=start, tol=1e-6), 1e-6)
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b)
    K = problem.K.astype(np.float32)
    K.flags.writeable = False
    assert solve(problem, K).converged


@settings(max_examples=60, deadline=None)
@given(dual_problems(kinds=("features", "duplicates", "rbf")))
def test_float32_matrix(problem):
    """The certificate of a float32 matrix holds for its float64 copy, up to float32 rounding."""
    K = problem.K.astype(np.float32)
    problem = problem.replace(K=K.astype(np.float64))
    result = solve(problem, K, tol=1e-3)
    assert_feasible(problem, result.x)
    error = rounding_error(problem, result.x, FLOAT32_ROUNDOFF)
    objective = dual_value(problem, result.x)
    gap = duality_gap(problem, result.x)
    assert abs(result.objective - objective) <= error
    assert gap <= 1e-3 * abs(objective) + error
    if result.status == "proved":
        assert abs(result.gap - gap) <= error


class CountingRows:
    """Rows of a matrix on demand, with a count of how often each is asked for."""

    def __init__(self, K):
        self.K = K
        self.counts = np.zeros(len(K), dtype=int)

    def __call__(self, index):
        np.add.at(self.counts, index, 1)
        return self.K[index]


@tasks
@pytest.mark.parametrize("rows", [0, 1, 3, 1000])
def test_rows_on_demand(task, rows):
    """A cache of any size gives the optimum of the dense matrix; a large one computes rows once."""
    problem = example(task, weighted=True, n=60)
    source = CountingRows(problem.K)
    cache_bytes = rows * problem.n * 8
    gram = RowGram(source, np.diag(problem.K).copy(), cache_bytes, dtype=np.float64)
    result = solve(problem, gram, tol=1e-6)
    assert_certified(problem, result, 1e-6)
    assert_same_optimum(problem, solve(problem, tol=1e-6), result)
    assert source.counts.max() >= 1
    if rows == 1000:
        assert source.counts.max() == 1


@pytest.mark.parametrize("rows", [0, 1, 4, 100])
def test_row_gram_returns_the_rows_asked_for(rows):
    """Whatever the cache holds, rows, blocks and the diagonal are those of the matrix."""
    rng = np.random.default_rng(0)
    K = example("svc").K
    gram = RowGram(lambda i: K[i], np.diag(K).copy(), rows * len(K) * 8, dtype=np.float64)
    assert gram.n == len(K)
    np.testing.assert_array_equal(gram.diagonal(), np.diag(K))
    for _ in range(50):
        index = rng.permutation(len(K))[: rng.integers(1, 12)]
        np.testing.assert_array_equal(gram.rows(index), K[index])
        np.testing.assert_array_equal(gram.block(index), K[np.ix_(index, index)])
    np.testing.assert_array_equal(gram.rows(np.arange(len(K))), K)


# Rounds.


def large_problem(C=1e4, n=1700):
    """Overlapping classes, many more than fit a working set, at a large C."""
    X, y = blobs(n, separation=0.2)
    squared = np.sum(X**2, axis=1)
    K = np.exp(-0.3 * np.maximum(squared[:, None] + squared[None, :] - 2 * X @ X.T, 0.0))
    return svc_problem(K, y, C)


@pytest.mark.large
def test_many_rounds():
    """Rounds over working sets climb to a certificate, and history tells how."""
    problem = large_problem(C=1.0)
    result = solve(problem, tol=1e-6)
    assert_certified(problem, result, 1e-6)
    assert 1 < result.n_iter < 1000
    assert len(result.history) == result.n_iter
    assert result.history[-1] == (result.objective, result.gap)
    objectives = np.array([objective for objective, _ in result.history])
    error = rounding_error(problem, result.x)
    assert np.all(np.diff(objectives) >= -error)
    # Weak duality between any two rounds.
    bounds = np.array([objective + gap for objective, gap in result.history])
    assert np.min(bounds) >= np.max(objectives) - error


@pytest.mark.large
def test_max_iter_stops_with_a_valid_certificate():
    """One pass, of two blocks, on a hard problem: not converged, and an honest gap."""
    problem = large_problem()
    result = solve(problem, tol=1e-6, max_iter=1)
    assert not result.converged
    assert result.n_iter == 2 and len(result.history) == 2
    assert result.gap > 1e-6 * result.objective
    assert_certificate_true(problem, result)


@pytest.mark.large
def test_callback_is_called_once_a_round():
    """The callback hears every round and does not change the result."""
    problem = large_problem(C=1.0)
    calls = []
    result = solve(problem, tol=1e-6, callback=lambda *args, **kwargs: calls.append(args))
    assert len(calls) == result.n_iter > 1
    np.testing.assert_array_equal(result.x, solve(problem, tol=1e-6).x)


def test_callback_may_interrupt():
    """An exception in the callback reaches the caller, and the next solve is unharmed."""
    problem = example("svc")

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(problem, callback=interrupt)
    assert_certified(problem, solve(problem, tol=1e-6), 1e-6)
