from threading import get_ident

import numpy as np
import pytest

from kernelfit.kernels.gram import DenseGram, RowGram
from kernelfit.kernels.standard import RBF
from kernelfit.learners.fixed import FixedLearner
from kernelfit.learners.plan import Plan
from kernelfit.learners.training import TrainingGram, fits
from kernelfit.tasks.losses import hinge
from kernelfit.tasks.multiclass import count_problems, decompose

LABELS = np.array([2, 0, 1, 1, 3, 0, 2, 3, 1, 0])


def test_training_gram_evaluates_what_it_has_room_for():
    X = np.random.default_rng(0).standard_normal((20, 3))
    K, rows = RBF(0.5)(X), np.arange(0, 20, 2)
    dense = TrainingGram(RBF(0.5), X, 8 * 20**2)
    assert dense.dense and dense.part(slice(None)) is dense.part(slice(None))
    on_demand = TrainingGram(RBF(0.5), X, 8 * 10**2)
    assert not on_demand.dense
    assert isinstance(on_demand.part(slice(None)), RowGram)
    assert on_demand.part(slice(None)) is on_demand.part(slice(None))
    assert isinstance(on_demand.part(rows), DenseGram)
    assert isinstance(on_demand.part(np.arange(15)), RowGram)
    for gram in (dense, on_demand):
        np.testing.assert_allclose(gram.part(slice(None)).rows(rows), K[rows], atol=1e-14)
        np.testing.assert_allclose(gram.part(rows).whole, K[np.ix_(rows, rows)], atol=1e-14)


def test_a_matrix_that_is_given_is_read_in_place():
    K = RBF(0.5)(np.random.default_rng(0).standard_normal((20, 3)))
    gram, rows = TrainingGram(None, None, 0.0, matrix=K), np.array([3, 1])
    assert gram.dense and np.shares_memory(gram.part(slice(None)).whole, K)
    np.testing.assert_array_equal(gram.part(rows).whole, K[np.ix_(rows, rows)])


def test_a_kernel_or_a_matrix_is_needed():
    with pytest.raises(ValueError, match="expected a kernel or a matrix, got neither"):
        TrainingGram(None, np.zeros((2, 2)), 1e6)


@pytest.mark.parametrize("n", [1, 10])
def test_fits_counts_bytes(n):
    assert fits(n, 8 * n * n) and not fits(n, 8 * n * n - 1)


def plan(cache_bytes, take_turns=False):
    """Return the one-vs-one machine of the labels."""
    X = np.random.default_rng(0).standard_normal((len(LABELS), 2)) + LABELS[:, np.newaxis]
    gram = TrainingGram(RBF(1.0), X, cache_bytes)
    learner = FixedLearner(gram, RBF(1.0), assume_psd=True, tol=1e-9, max_iter=1000)
    groups = tuple((problem,) for problem in decompose(LABELS, 4, True))
    unit_cost = np.linspace(0.5, 1.5, len(LABELS))

    def make_task(problem, cost):
        return hinge(problem.p, cost)

    return Plan(learner, groups, unit_cost, make_task, count_problems(4, True), take_turns)


@pytest.mark.parametrize("cache_bytes", [1e6, 0.0])
def test_results_come_in_order_from_threads(cache_bytes):
    rounds = []
    solved = [
        list(
            plan(cache_bytes).learn(
                2.0, n_jobs=n_jobs, callback=lambda group, *_: rounds.append(group)
            )
        )
        for n_jobs in (1, 3)
    ]
    assert set(rounds) == set(range(6))
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for pair, first, second in zip(pairs, *solved, strict=True):
        assert first.x.shape == (1, np.isin(LABELS, pair).sum())
        np.testing.assert_array_equal(first.x, second.x)
        assert first.status == "proved" and first.converged


def test_tasks_of_a_group_have_its_costs():
    machine = plan(1e6)
    for group in machine.groups:
        (problem,), (task,) = group, machine.tasks(group, 3.0)
        expected = hinge(problem.p, 3.0 * machine.unit_cost[problem.rows])
        for name in ("p", "lower", "upper"):
            np.testing.assert_array_equal(getattr(task, name), getattr(expected, name))
        (again,) = machine.tasks_at(group)(3.0)
        np.testing.assert_array_equal(again.upper, task.upper)


def test_warm_start_from_layers_ends_at_once():
    machine = plan(1e6)
    n_problems, n_layers = machine.shape
    coef = np.zeros((n_layers, len(LABELS)))
    cold = list(machine.learn(2.0))
    for (problem,), result in zip(machine.groups, cold, strict=True):
        coef[problem.layer, problem.rows] = result.x[0]
    warm = list(machine.learn(2.0, coef=coef, thetas=[None] * n_problems))
    for before, after in zip(cold, warm, strict=True):
        assert after.n_iter <= 2
        np.testing.assert_allclose(after.x, before.x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("take_turns", [False, True])
def test_groups_that_share_a_cache_take_turns(take_turns):
    """They are learned one after the other, in the caller's thread."""
    seen = []

    def record(group, *_):
        seen.append((group, get_ident()))

    list(plan(0.0, take_turns).learn(2.0, n_jobs=3, callback=record))
    assert {group for group, _ in seen} == set(range(6))
    assert all((thread == get_ident()) == take_turns for _, thread in seen)
    if take_turns:
        assert seen == sorted(seen)
