import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelfit.kernels.standard import RBF, Linear
from kernelfit.solvers.ridge import ridge_path, ridge_solve
from tests.reference import ridge as reference

RIDGES = [1e-3, 1e-2, 1.0, 100.0]


@pytest.fixture(scope="module", params=[RBF(0.3), Linear()], ids=["rbf", "linear"])
def problem(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] + 5.0, rng.normal(size=30)])
    return request.param(X), Y, rng.uniform(0.2, 3.0, size=30)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", RIDGES)
def test_machines_solve_the_linear_system(problem, ridge, fit_intercept):
    K, Y, weight = problem
    coef, intercept = reference.solve(K, Y, ridge, weight, fit_intercept)
    path = ridge_path(K, Y, weight, fit_intercept=fit_intercept)
    for found in (path.solve(ridge), ridge_solve(K, Y, ridge, weight, fit_intercept=fit_intercept)):
        scale = np.abs(coef).max()
        np.testing.assert_allclose(found.coef, coef, rtol=0, atol=1e-10 * scale)
        np.testing.assert_allclose(found.intercept, intercept, rtol=0, atol=1e-9)
        if fit_intercept:
            assert np.abs(found.coef.sum(axis=0)).max() <= 1e-12 * np.abs(found.coef).sum()
        # K beta + ridge D^-1 beta + b = y
        residual = K @ found.coef + ridge * found.coef / weight[:, None] + found.intercept - Y
        sizes = np.abs(K) @ np.abs(found.coef) + np.abs(Y)
        assert np.abs(residual).max() <= 1e-13 * sizes.max()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", RIDGES)
def test_errors_of_points_left_out_are_those_of_refits(problem, ridge, fit_intercept):
    K, Y, weight = problem
    path = ridge_path(K, Y, weight, fit_intercept=fit_intercept)
    expected = reference.leave_one_out(K, Y, ridge, weight, fit_intercept)
    np.testing.assert_allclose(path.leave_one_out(ridge), expected, rtol=1e-10, atol=1e-10)
    rows = np.array([3, 28, 7, 0, 12])
    expected = reference.errors_left_out(K, Y, ridge, weight, rows, fit_intercept)
    np.testing.assert_allclose(path.leave_out(ridge, rows), expected, rtol=1e-10, atol=1e-10)


def test_weights_default_to_ones_and_data_are_not_changed(problem):
    K, Y, _ = problem
    before = K.copy(), Y.copy()
    unweighted, ones = ridge_path(K, Y), ridge_path(K, Y, np.ones(len(Y)))
    np.testing.assert_array_equal(unweighted.solve(0.1).coef, ones.solve(0.1).coef)
    ridge_solve(K, Y, 0.1)
    np.testing.assert_array_equal(K, before[0])
    np.testing.assert_array_equal(Y, before[1])


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_a_weight_of_two_is_a_repeated_row(seed, ridge):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    counts = rng.integers(1, 4, size=n)
    copies = np.repeat(np.arange(n), counts)
    k = RBF(0.5)
    weighted = ridge_path(k(X), Y, counts.astype(float)).solve(ridge)
    repeated = ridge_path(k(X[copies]), Y[copies]).solve(ridge)
    grouped = np.stack([repeated.coef[copies == i].sum(axis=0) for i in range(n)])
    np.testing.assert_allclose(weighted.coef, grouped, atol=1e-9 * (1.0 + np.abs(grouped).max()))
    np.testing.assert_allclose(weighted.intercept, repeated.intercept, atol=1e-9)


def test_limits(problem):
    K, Y, weight = problem
    mean = weight @ Y / weight.sum()
    stiff = ridge_path(K, Y, weight).solve(1e12)
    np.testing.assert_allclose(stiff.intercept, mean, rtol=1e-8)
    np.testing.assert_allclose(K @ stiff.coef, 0.0, atol=1e-6)
    shifted = ridge_path(K, Y + 1e6, weight).solve(1.0)
    plain = ridge_path(K, Y, weight).solve(1.0)
    np.testing.assert_allclose(shifted.coef, plain.coef, atol=1e-8)
    np.testing.assert_allclose(shifted.intercept, plain.intercept + 1e6, rtol=1e-12)


def test_equal_points_and_constant_targets():
    K, Y = np.ones((6, 6)), np.arange(6.0)[:, None]
    for found in (ridge_path(K, Y).solve(1e-9), ridge_solve(K, Y, 1e-9)):
        np.testing.assert_allclose(K @ found.coef + found.intercept, 2.5, rtol=1e-6)
    path = ridge_path(K, np.full((6, 1), 3.0))
    np.testing.assert_array_equal(path.solve(0.1).coef, 0.0)
    np.testing.assert_array_equal(path.leave_one_out(0.1), 0.0)


def test_few_points():
    pair = ridge_path(np.eye(2), np.array([[0.0], [1.0]]))
    np.testing.assert_allclose(pair.leave_one_out(0.1), [[-1.0], [1.0]])
    one = ridge_path(np.eye(1), np.array([[3.0]]))
    assert one.solve(0.1).intercept == 3.0 and one.solve(0.1).coef == 0.0
    assert np.isnan(one.leave_one_out(0.1)).all()
    assert ridge_solve(np.eye(1), np.array([[3.0]]), 0.1).intercept == 3.0


def test_indefinite_matrices_have_a_solution():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(8, 8))
    K, Y, weight = K + K.T, rng.normal(size=(8, 2)), np.ones(8)
    coef, intercept = reference.solve(K, Y, 0.1, weight)
    for found in (ridge_path(K, Y).solve(0.1), ridge_solve(K, Y, 0.1)):
        np.testing.assert_allclose(found.coef, coef, rtol=1e-9)
        np.testing.assert_allclose(found.intercept, intercept, rtol=1e-9)
    expected = reference.leave_one_out(K, Y, 0.1, weight)
    np.testing.assert_allclose(ridge_path(K, Y).leave_one_out(0.1), expected, rtol=1e-8)


def test_ridges_below_rounding():
    """The matrix has rank one; its other eigenvalues are rounding errors of either sign."""
    x = np.linspace(-1.0, 1.0, 20)
    path = ridge_path(np.outer(x, x), 3.0 * x[:, None] + 1.0)
    for ridge in (1e-20, 1e-300):
        found = path.solve(ridge)
        np.testing.assert_allclose(np.outer(x, x) @ found.coef, 3.0 * x[:, None], atol=1e-6)
        assert np.isfinite(path.leave_one_out(ridge)).all()
