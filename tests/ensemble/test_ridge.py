"""Ridge regressions of several ridges against the bordered system, and their duality gap."""

import numpy as np
import pytest

from kernelfit.ensemble.part import _ridge_gap
from kernelfit.solvers.ridge import solve_ridges
from tests.reference import ridge as reference


def problem(seed=0, n=30, k=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    return K, rng.normal(size=(n, k)), rng.uniform(0.5, 3.0, n)


@pytest.mark.parametrize("ridge", [1e-4, 0.1, 10.0])
def test_solves_the_bordered_system(ridge):
    K, Y, weight = problem()
    *_, (coef, intercept) = solve_ridges(K.copy(), Y, weight, [1.0, ridge])
    n = len(K)
    A = np.block([[K + np.diag(ridge / weight), np.ones((n, 1))], [np.ones((1, n)), 0.0]])
    solution = np.linalg.solve(A, np.vstack([Y, np.zeros((1, 2))]))
    np.testing.assert_allclose(coef, solution[:-1], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(intercept, solution[-1], rtol=1e-8, atol=1e-8)
    assert _ridge_gap(K @ coef, coef, Y, weight / (2 * ridge)) <= 1e-10


def test_gap_shows_a_wrong_solution():
    K, Y, weight = problem()
    ((coef, _),) = solve_ridges(K.copy(), Y, weight, [0.1])
    wrong = coef + 1e-3 * np.random.default_rng(0).normal(size=coef.shape)
    wrong -= wrong.mean(axis=0)
    assert _ridge_gap(K @ wrong, wrong, Y, weight / 0.2) > 1e-6


def test_weight_two_is_a_repeated_row():
    K, Y, _ = problem(n=12)
    count = np.arange(12) % 3 + 1
    rows = np.repeat(np.arange(12), count)
    ((coef, intercept),) = solve_ridges(K.copy(), Y, count.astype(float), [0.1])
    ones = np.ones(len(rows))
    ((more, other),) = solve_ridges(K[np.ix_(rows, rows)], Y[rows], ones, [0.1])
    np.testing.assert_allclose(intercept, other, atol=1e-10)
    np.testing.assert_allclose(K @ coef, K[:, rows] @ more, atol=1e-10)


def test_no_factor_is_told():
    K = -np.eye(4)
    assert list(solve_ridges(K, np.ones((4, 1)), np.ones(4), [0.1])) == [None]


@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_scores_of_rows_left_out_are_those_of_refits(ridge):
    K, Y, weight = problem(n=15)
    left_out = np.empty((2, *Y.shape))
    list(solve_ridges(K.copy(), Y, weight, [ridge, 2.0 * ridge], left_out))
    for scores, used in zip(left_out, (ridge, 2.0 * ridge), strict=True):
        expected = Y - reference.leave_one_out(K, Y, used, weight)
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
