"""Landmarks: all points give the exact machine, few of high leverage nearly so."""

import numpy as np
import pytest

from kernelfit.kernels.radial import RBF
from kernelfit.solvers.landmarks import choose_landmarks, solve_on_landmarks
from kernelfit.solvers.ridge import solve_ridges


def problem(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]), rng.uniform(0.5, 2.0, n)


def test_all_points_as_landmarks_give_the_exact_machine():
    X, Y, weight = problem()
    kernel = RBF(0.5)
    coef, intercept = solve_on_landmarks(kernel, X, X, Y, weight, 0.1)
    ((exact, constant),) = solve_ridges(kernel(X), Y, weight, [0.1])
    new = np.random.default_rng(1).normal(size=(20, 2))
    np.testing.assert_allclose(
        kernel(new, X) @ coef + intercept, kernel(new, X) @ exact + constant, atol=1e-5
    )


def test_solution_minimises_the_objective():
    X, Y, weight = problem()
    kernel, ridge = RBF(0.5), 0.1
    landmarks = X[:15]
    coef, intercept = solve_on_landmarks(kernel, X, landmarks, Y, weight, ridge)

    def objective(a, b):
        error = weight @ (Y - kernel(X, landmarks) @ a - b) ** 2
        return np.sum(error + ridge * np.sum(a * (kernel(landmarks) @ a), axis=0))

    best, rng = objective(coef, intercept), np.random.default_rng(2)
    for _ in range(20):
        step = 1e-3 * rng.normal(size=coef.shape)
        assert objective(coef + step, intercept) >= best - 1e-12
        assert objective(coef, intercept + step[0]) >= best - 1e-12


def test_leverage_prefers_points_far_from_the_others():
    rng = np.random.default_rng(0)
    X = np.concatenate([0.01 * rng.normal(size=(490, 2)), 5.0 * rng.normal(size=(10, 2))])
    chosen = choose_landmarks(RBF(1.0), X, np.ones(500), 1e-2, 30, 0)
    assert np.isin(np.arange(490, 500), chosen).mean() >= 0.6
    assert len(np.unique(chosen)) == 30


@pytest.mark.parametrize("n", [5, 60])
def test_all_points_can_be_landmarks(n):
    X, _, weight = problem(n)
    np.testing.assert_array_equal(choose_landmarks(RBF(1.0), X, weight, 0.1, n, 0), np.arange(n))


@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_points_left_out_are_those_of_refits(ridge):
    rng = np.random.default_rng(0)
    X, Y, weight = rng.normal(size=(40, 3)), rng.normal(size=(40, 2)), rng.uniform(0.5, 2.0, 40)
    kernel, landmarks, rows = RBF(0.3), X[::4], np.array([3, 0, 17, 39])
    left_out = np.empty((4, 2))
    solve_on_landmarks(kernel, X, landmarks, Y, weight, ridge, rows, left_out)
    for row, scores in zip(rows, left_out, strict=True):
        rest = np.arange(40) != row
        coef, intercept = solve_on_landmarks(
            kernel, X[rest], landmarks, Y[rest], weight[rest], ridge
        )
        expected = kernel(X[[row]], landmarks) @ coef + intercept
        np.testing.assert_allclose(scores, expected[0], rtol=1e-6, atol=1e-8)
