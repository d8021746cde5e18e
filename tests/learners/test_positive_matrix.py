"""Kernel learning over positive matrices against a semidefinite programme."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.families.psd import family as family_module
from kernelfit.families.psd.family import PositiveMatrixFamily, UnitScaling, mean_one_scale
from kernelfit.families.psd.features import FeatureBasis, Monomials
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.families.psd.volume_gram import VolumeGram
from kernelfit.learners.positive_matrix import SOLVERS
from kernelfit.solvers.dual.blocks import WHOLE
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle
from kernelfit.tasks.task import Task
from tests.reference.kernel_learning import bounds, sdp_value
from tests.reference.tessellated import closed_table, product_table

ALL_SOLVERS = sorted(set(SOLVERS) - {"auto"})


@functools.cache
def data(variables, m=30, n=2, delta=0.5):
    """Return points and the products of the basis, computed without kernelfit."""
    X = np.random.default_rng(0).uniform(size=(m, n))
    return X, closed_table(X, 1, variables, delta)


def targets(X, task):
    rng = np.random.default_rng(1)
    if task == "svc":
        y = np.where((X[:, 0] > 0.5) ^ (X[:, 1] > 0.4), 1.0, -1.0)
        y[:3] *= -1
        return y
    return np.sin(5 * X[:, 0]) + 2 * abs(X[:, 1] - 0.5) + 0.1 * rng.standard_normal(len(X))


def terms(y, task, C):
    """Return p, lower, upper, epsilon."""
    if task == "svc":
        return y, np.minimum(C * y, 0), np.maximum(C * y, 0), 0.0
    return y, np.full(len(y), -C), np.full(len(y), C), 0.1


def machines(basis, X, *problems, scale=1.0, cache_bytes=1e9):
    """Return the saddle problem of tasks that share a kernel."""
    family = PositiveMatrixFamily(basis, X, scale, cache_bytes=cache_bytes)
    return SaddleProblem(family, tuple(Task(*problem) for problem in problems))


def learn_kernel(machines, *, solver, **options):
    return solve_saddle(machines, SOLVERS[solver], **options)


def assert_certificate(G, problem, result):
    """Recompute both bounds from the basis products alone."""
    P = result.theta @ result.theta.T
    assert_allclose(np.trace(P), len(P), rtol=1e-12)
    low, high = bounds(G, *problem, result.x[0], P, result.witness[0])
    assert_allclose(low, result.objective, rtol=1e-8)
    assert_allclose(high, result.objective + result.gap, rtol=1e-8)
    assert result.history[-1] == (result.objective, result.gap)
    assert len(result.history) == result.n_iter


def test_the_two_references_agree():
    X, G = data("xz")
    assert_allclose(G[:3, :3], product_table(X[:3], 1, "xz", 0.5), rtol=0, atol=1e-13)


@pytest.mark.parametrize("variables", ["x", "xz"])
@pytest.mark.parametrize("task", ["svc", "svr"])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_optimum_is_that_of_the_semidefinite_programme(variables, task, C):
    X, G = data(variables)
    problem = terms(targets(X, task), task, C)
    optimum, _ = sdp_value(G, *problem)
    basis = TessellatedBasis(2, 1, 0.5, variables)
    for solver in ALL_SOLVERS:
        tol = 1e-6 if solver in ("fully_corrective", "hybrid") else 1e-3
        result = learn_kernel(machines(basis, X, problem), solver=solver, tol=tol, max_iter=1000)
        assert result.converged and result.gap <= tol * abs(result.objective)
        assert_certificate(G, problem, result)
        assert result.objective <= optimum * (1 + 1e-5)
        assert result.objective + result.gap >= optimum * (1 - 1e-5)
        if tol < 1e-4:
            assert_allclose(result.objective, optimum, rtol=1e-5)


def test_an_optimal_matrix_of_rank_two():
    rng = np.random.default_rng(100)
    X = np.random.default_rng(0).uniform(size=(40, 3)) ** 2
    y = np.where(X[:, 0] > 0.3, 1, -1) * np.where(X[:, 1] > 0.3, 1, -1) + 2 * X[:, 2]
    problem = terms(y + 0.5 * rng.standard_normal(40), "svr", 10.0)
    G = closed_table(X, 1, "x", 0.01)
    optimum, P = sdp_value(G, *problem)
    assert np.linalg.eigvalsh(P)[-2] > 0.05 * len(P)
    basis = TessellatedBasis(3, 1, 0.01, "x")
    for solver in ("fully_corrective", "hybrid"):
        result = learn_kernel(machines(basis, X, problem), solver=solver, tol=1e-6, max_iter=3000)
        assert result.converged
        assert_certificate(G, problem, result)
        assert_allclose(result.objective, optimum, rtol=1e-5)
        learned = result.theta @ result.theta.T
        assert np.linalg.matrix_rank(learned, tol=1e-3) == 2
        assert_allclose(learned, P, rtol=0, atol=0.02 * len(P))


def test_shared_kernel_minimises_the_sum_of_the_tasks():
    X, G = data("x")
    single = [terms(targets(X, "svc"), "svc", 1.0), terms(np.sign(X[:, 0] - 0.7), "svc", 1.0)]
    basis = TessellatedBasis(2, 1, 0.5, "x")
    results = [
        learn_kernel(machines(basis, X, *single), solver=solver, tol=1e-4, max_iter=2000)
        for solver in ALL_SOLVERS
    ]
    for result in results:
        assert result.converged
        P = result.theta @ result.theta.T
        upper = sum(
            bounds(G, *problem, b, P, b)[1] for problem, b in zip(single, result.x, strict=True)
        )
        assert_allclose(upper, result.objective + result.gap, rtol=1e-8)
        assert_allclose(result.objective, results[0].objective, rtol=2e-4)
    alone = [
        learn_kernel(machines(basis, X, problem), solver="auto", tol=1e-6, max_iter=100).objective
        for problem in single
    ]
    assert results[0].objective > sum(alone) * (1 + 1e-3)


def test_rows_on_demand_give_the_same_kernel():
    X, _ = data("x", m=40)
    problem = terms(targets(X, "svr"), "svr", 1.0)
    basis = TessellatedBasis(2, 1, 0.5, "x")
    dense = learn_kernel(machines(basis, X, problem), solver="auto", tol=1e-6, max_iter=50)
    rows = learn_kernel(
        machines(basis, X, problem, cache_bytes=1e3), solver="auto", tol=1e-6, max_iter=50
    )
    assert rows.converged
    assert_allclose(rows.objective, dense.objective, rtol=1e-6)
    assert_allclose(rows.theta @ rows.theta.T, dense.theta @ dense.theta.T, atol=1e-2)


def test_few_support_vectors_need_few_rows(monkeypatch):
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(500, 2))
    problem = terms(np.where(X[:, 0] + 0.3 * X[:, 1] > 0.6, 1.0, -1.0), "svc", 10.0)
    basis = TessellatedBasis(2, 1, 0.5, "x")
    monkeypatch.setattr(family_module, "_MIN_ROWS", 1000)
    dense = learn_kernel(machines(basis, X, problem), solver="auto", tol=1e-7, max_iter=50)
    assert 0 < 8 * np.count_nonzero(dense.x) < 500
    monkeypatch.setattr(family_module, "_MIN_ROWS", 100)
    computed = []
    rows = VolumeGram.rows
    monkeypatch.setattr(
        VolumeGram, "rows", lambda self, idx: computed.append(len(idx)) or rows(self, idx)
    )
    few = learn_kernel(machines(basis, X, problem), solver="auto", tol=1e-7, max_iter=50)
    assert few.converged and computed
    assert_allclose(few.objective, dense.objective, rtol=2e-7)


def test_one_task_of_a_feature_map_is_a_machine_with_the_plain_kernel():
    # D = t t' has rank one, so n lambda_max(D) = n |t|^2 = beta'(n Z Z')beta.
    X = np.random.default_rng(2).uniform(size=(60, 2))
    problem = terms(targets(X, "svc"), "svc", 3.0)
    basis = FeatureBasis(2, Monomials(2))
    result = learn_kernel(machines(basis, X, problem), solver="auto", tol=1e-8, max_iter=20)
    Z = Monomials(2).features(X)
    plain = solve_dual(basis.size * Z @ Z.T, Task(*problem), tol=1e-9)
    assert result.converged and result.theta.shape[1] == 1
    assert_allclose(result.objective, plain.objective, rtol=1e-7)


def test_many_directions_are_collected_as_needed():
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(80, 45))
    y = np.where(X[:, :3].sum(axis=1) > 1.5, 1.0, -1.0)
    basis = TessellatedBasis(45, 1, 2.0, "x")
    assert basis.size > 64
    scale = mean_one_scale(basis, X, np.ones(80))
    pair = machines(basis, X, terms(y, "svc", 1.0), scale=scale)
    result = learn_kernel(pair, solver="auto", tol=1e-6, max_iter=100)
    other = learn_kernel(pair, solver="hybrid", tol=1e-4, max_iter=2000)
    assert result.converged and other.converged
    assert_allclose(result.objective, other.objective, rtol=2e-4)


def test_warm_start_from_the_solution_is_immediate():
    X, _ = data("x")
    pair = machines(TessellatedBasis(2, 1, 0.5, "x"), X, terms(targets(X, "svc"), "svc", 1.0))
    first = learn_kernel(pair, solver="auto", tol=1e-6, max_iter=100)
    for solver in ALL_SOLVERS:
        start = (first.x, first.theta)
        again = learn_kernel(pair, solver=solver, tol=2e-6, max_iter=100, start=start)
        assert again.converged and again.n_iter <= 2


@pytest.mark.parametrize("solver", ALL_SOLVERS)
def test_iterations_are_bounded_and_honest(solver):
    X, G = data("x")
    problem = terms(targets(X, "svr"), "svr", 1.0)
    seen = []
    result = learn_kernel(
        machines(TessellatedBasis(2, 1, 0.5, "x"), X, problem),
        solver=solver, tol=1e-12, max_iter=2, callback=lambda *state: seen.append(state),
    )  # fmt: skip
    assert not result.converged and result.n_iter == 2 and result.ending == "max_iter"
    assert_certificate(G, problem, result)
    assert [state[1:] for state in seen] == list(result.history)


@pytest.mark.parametrize("solver", ALL_SOLVERS)
def test_constant_target_needs_no_kernel(solver):
    X, _ = data("x")
    pair = machines(TessellatedBasis(2, 1, 0.5, "x"), X, terms(np.full(30, 3.0), "svr", 1.0))
    result = learn_kernel(pair, solver=solver, tol=1e-3, max_iter=10)
    assert result.converged and result.gap == 0.0
    assert_allclose(result.intercept, 3.0)


@pytest.mark.parametrize(
    "name, C, solver",
    [(name, 1.0, s) for name in ("pima", "heart", "housing", "abalone") for s in ALL_SOLVERS]
    + [("housing", 100.0, s) for s in ALL_SOLVERS],
)
def test_benchmark_sets(benchmark_data, name, C, solver):
    raw = benchmark_data(name)
    step = 2 if name == "abalone" else 1  # which leaves more rows than any threshold
    X = UnitScaling.fit(raw["X"])(raw["X"])[::step]
    y = raw["y"][::step].astype(float)
    assert name != "abalone" or len(X) > max(WHOLE, family_module._MIN_ROWS)
    task = "svr" if name in ("housing", "abalone") else "svc"
    y = y if task == "svr" else np.where(y == y.max(), 1.0, -1.0)
    basis = TessellatedBasis(X.shape[1], 1, 0.5, "x")
    scale = mean_one_scale(basis, X, np.ones(len(y)))
    problem = terms(y, task, C)
    pair = machines(basis, X, problem, scale=scale)
    tol = 1e-6 if solver in ("fully_corrective", "hybrid") else 1e-3
    tol = 2e-2 if (solver, C) == ("frank_wolfe", 100.0) else tol  # sublinear, and steep at first
    result = learn_kernel(pair, solver=solver, tol=tol, max_iter=2000)
    assert result.converged
    # Without the volumes that training keeps.
    family = PositiveMatrixFamily(basis, X, scale, cache_bytes=12.0 * len(X) ** 2)
    K = family.gram(result.theta).whole
    D = family.respond(result.witness).D.entries
    p, lower, upper, epsilon = problem
    w, f = result.witness[0], K @ result.x[0]
    low = p @ w - epsilon * abs(w).sum() - 0.5 * basis.size * np.linalg.eigvalsh(D)[-1]
    r = p - f - result.intercept[0]
    losses = upper @ np.maximum(r - epsilon, 0) - lower @ np.maximum(-r - epsilon, 0)
    high = 0.5 * result.x[0] @ f + losses
    assert_allclose(low, result.objective, rtol=1e-9)
    assert 0 <= high - low <= tol * abs(low) * (1 + 1e-3)
