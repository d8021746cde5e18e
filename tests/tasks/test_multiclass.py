from itertools import combinations

import numpy as np
import pytest

from kernelfit.tasks.multiclass import (
    count_problems,
    decision_values,
    decompose,
    one_vs_one_scores,
    one_vs_one_votes,
    problem_coef,
)

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


def test_scores_are_means_of_limited_values():
    decision = np.array([[2.0, -1.0, 1e9], [0.0, 0.0, 0.0]])  # pairs (0, 1), (0, 2), (1, 2)
    a, b = np.tanh([2.0, 1.0])
    expected = [[(a - b) / 2, (1.0 - a) / 2, (b - 1.0) / 2], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(one_vs_one_scores(decision, 3), expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("one_vs_one", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_coefficients_of_one_problem(n_classes, one_vs_one):
    """What `decision_values` adds up, problem by problem, is K times these coefficients."""
    rng = np.random.default_rng(0)
    labels = np.sort(LABELS[LABELS < n_classes])
    n_problems, n_layers = count_problems(n_classes, one_vs_one)
    coef, K = rng.standard_normal((n_layers, len(labels))), rng.standard_normal((5, len(labels)))
    intercept, n_support = rng.standard_normal(n_problems), np.bincount(labels)
    values = decision_values(K, coef, intercept, n_support)
    for problem in decompose(labels, n_classes, one_vs_one):
        one = problem_coef(coef, n_support, problem.index, n_problems)
        expected = np.zeros(len(labels))
        expected[problem.rows] = np.broadcast_to(coef[problem.layer, problem.rows], problem.p.shape)
        np.testing.assert_array_equal(one, expected)
        np.testing.assert_allclose(
            values[:, problem.index], K @ one + intercept[problem.index], rtol=1e-12
        )
