from itertools import combinations

import numpy as np
import pytest

from kernelfit.kernels.standard import RBF
from kernelfit.learners.svm import (
    TrainingGram,
    count_problems,
    decision_values,
    decompose,
    one_vs_one_votes,
    solve_each,
)
from kernelfit.solvers.gram import DenseGram, RowGram
from kernelfit.solvers.svm_dual import solve_svc_dual

LABELS = np.array([2, 0, 1, 1, 3, 0, 2, 3, 1, 0])


@pytest.mark.parametrize("one_vs_one", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_layers_keep_every_solution(n_classes, one_vs_one):
    labels = LABELS[LABELS < n_classes]
    problems = list(decompose(labels, n_classes, one_vs_one))
    n_problems, n_layers = count_problems(n_classes, one_vs_one)
    assert [problem.index for problem in problems] == list(range(n_problems))
    coef = np.full((n_layers, len(labels)), np.nan)
    for problem in problems:
        assert np.isnan(coef[problem.layer, problem.rows]).all()  # no value is overwritten
        coef[problem.layer, problem.rows] = problem.p
    assert not np.isnan(coef).any()


def test_one_vs_one_pairs_the_classes():
    problems = list(decompose(LABELS, 4, True))
    for problem, (i, j) in zip(problems, combinations(range(4), 2), strict=True):
        np.testing.assert_array_equal(problem.rows, np.flatnonzero(np.isin(LABELS, [i, j])))
        np.testing.assert_array_equal(problem.p, np.where(LABELS[problem.rows] == i, 1, -1))


def test_decision_values_add_up():
    rng = np.random.default_rng(0)
    labels = np.sort(LABELS)
    K, intercept = rng.standard_normal((5, len(labels))), rng.standard_normal(6)
    coef = rng.standard_normal((3, len(labels)))
    values = decision_values(K, coef, intercept, np.bincount(labels))
    for problem in decompose(labels, 4, True):
        expected = K[:, problem.rows] @ coef[problem.layer, problem.rows] + intercept[problem.index]
        np.testing.assert_allclose(values[:, problem.index], expected, rtol=1e-12)


def test_votes_and_scores():
    decision = np.array([
        [2.0, 1.0, -1.0],  # 0 beats both
        [1.0, -2.0, 0.5],  # a cycle: one vote each, class 2 by the largest sum
        [-1.0, 0.0, 1.0],  # a value of zero counts for the first class of the pair
    ])  # fmt: skip
    votes, scores = one_vs_one_votes(decision, 3)
    np.testing.assert_array_equal(votes, [[2, 0, 1], [1, 1, 1], [1, 2, 0]])
    np.testing.assert_array_equal(votes.argmax(axis=1), [0, 0, 1])
    np.testing.assert_array_equal(scores.argmax(axis=1), [0, 2, 1])
    assert np.all(np.abs(scores - votes) < 1 / 3)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_training_gram_evaluates_what_it_has_room_for(n_jobs):
    X = np.random.default_rng(0).standard_normal((20, 3))
    K, rows = RBF(0.5)(X), np.arange(0, 20, 2)
    dense = TrainingGram(RBF(0.5), X, 8 * 20**2)
    assert dense.dense and dense.part(slice(None)) is dense.part(slice(None))
    on_demand = TrainingGram(RBF(0.5), X, n_jobs * 8 * 10**2, n_jobs=n_jobs)
    assert not on_demand.dense
    assert isinstance(on_demand.part(slice(None)), RowGram)
    assert on_demand.part(slice(None)) is on_demand.part(slice(None))
    assert isinstance(on_demand.part(rows), DenseGram)
    assert isinstance(on_demand.part(np.arange(15)), RowGram)
    for gram in (dense, on_demand):
        np.testing.assert_allclose(gram.part(slice(None)).rows(rows), K[rows], atol=1e-6)
        np.testing.assert_allclose(gram.part(rows).matrix, K[np.ix_(rows, rows)], atol=1e-14)


def test_results_come_in_order_from_threads():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((len(LABELS), 2)) + LABELS[:, np.newaxis]
    gram = TrainingGram(RBF(1.0), X, 1e6)
    rounds = []
    solved = [
        list(
            solve_each(
                solve_svc_dual,
                gram,
                decompose(LABELS, 4, True),
                np.ones(len(LABELS)),
                n_jobs=n_jobs,
                callback=lambda problem, *_: rounds.append(problem.index),
                tol=1e-9,
            )
        )
        for n_jobs in (1, 3)
    ]
    assert set(rounds) == set(range(6))
    for (problem, first), (again, second) in zip(*solved, strict=True):
        assert problem.index == again.index
        np.testing.assert_array_equal(first.x, second.x)
