"""The lasso representation against the conditions of its optimum."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Lasso

from kernelfit.clustering.lasso import lasso_representation


def points(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def unit_rows(X):
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1.0)


def iris():
    X = load_iris().data
    return (X - X.mean(axis=0)) / X.std(axis=0)


def parallel():
    X = points(25, 5, 1)
    return np.vstack([X, X[:10], 3.0 * X[5:15], -0.5 * X[:8]])


def nearly_parallel():
    X = points(30, 6, 2)
    return np.vstack([X, X + 1e-7 * points(30, 6, 3)])


def grid():
    """Many correlations are equal."""
    return np.array(
        [[x, y, z] for x in range(-3, 4) for y in range(-3, 4) for z in range(3)], float
    )


def zero_rows():
    X = points(20, 4)
    X[[3, 11]] = 0.0
    return X


SETS = {
    "well-conditioned": points(20, 6, 6),
    "wide": points(30, 80),
    "three columns": points(60, 3),
    "two columns": points(100, 2),
    "one column": points(10, 1),
    "iris": iris(),
    "parallel": parallel(),
    "nearly parallel": nearly_parallel(),
    "low rank": points(60, 3) @ points(3, 20, 1),
    "grid": grid(),
    "zero rows": zero_rows(),
}


def check_optimality(coefs, X, atoms, ratio, exclude_self):
    """Subgradients: |a_j'(x - sum of c_k a_k)| <= lambda, with equality where c_j != 0."""
    X, atoms = unit_rows(X), unit_rows(atoms)
    start, left = X @ atoms.T, (X - coefs @ atoms) @ atoms.T
    if exclude_self:
        assert not np.diag(coefs).any()
        np.fill_diagonal(start, 0.0)
        np.fill_diagonal(left, 0.0)
    limits = ratio * np.abs(start).max(axis=1, keepdims=True)
    assert np.all(np.abs(left) <= limits * (1.0 + 1e-7))
    aims = np.sign(coefs) * limits
    assert np.all(np.abs(left - aims)[coefs != 0] <= 1e-7 * np.abs(aims)[coefs != 0])


@pytest.mark.parametrize("ratio", [0.5, 0.05, 0.001])
@pytest.mark.parametrize("name", SETS)
def test_representation_is_optimal(name, ratio):
    X = SETS[name]
    coefs = lasso_representation(X, X, ratio, exclude_self=True)
    check_optimality(coefs, X, X, ratio, exclude_self=True)
    new = points(15, X.shape[1], 9)
    coefs = lasso_representation(new, X, ratio, exclude_self=False)
    check_optimality(coefs, new, X, ratio, exclude_self=False)
    assert np.all(coefs.any(axis=1))


def test_as_sklearn():
    X = points(60, 3)
    unit = unit_rows(X)
    coefs = lasso_representation(X, X, 0.05, exclude_self=True)
    for i in range(3):
        others = np.delete(unit, i, axis=0)
        limit = 0.05 * np.abs(others @ unit[i]).max()
        reference = Lasso(limit / 3, fit_intercept=False, tol=1e-14, max_iter=10**6)
        expected = reference.fit(others.T, unit[i]).coef_
        found, best = (
            0.5 * np.sum((unit[i] - c @ others) ** 2) + limit * np.abs(c).sum()
            for c in (np.delete(coefs[i], i), expected)
        )
        assert found == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(
    "X", [points(60, 3), iris(), parallel()], ids=["normal", "iris", "parallel"]
)
def test_the_order_of_columns_has_no_effect(X):
    expected = lasso_representation(X, X, 0.05, exclude_self=True)
    for order in np.random.default_rng(0).permuted(np.tile(np.arange(X.shape[1]), (5, 1)), axis=1):
        found = lasso_representation(X[:, order], X[:, order], 0.05, exclude_self=True)
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    "X", [points(60, 3), np.unique(iris(), axis=0)], ids=["normal", "different irises"]
)
def test_the_order_of_points_has_no_effect(X):
    expected = lasso_representation(X, X, 0.05, exclude_self=True)
    order = np.random.default_rng(0).permutation(len(X))
    found = lasso_representation(X[order], X[order], 0.05, exclude_self=True)
    np.testing.assert_allclose(found, expected[np.ix_(order, order)], atol=1e-6)


def test_few_coefficients_in_few_dimensions():
    """Atoms in general position have an optimum of at most as many as there are columns."""
    coefs = lasso_representation(points(60, 3), points(60, 3), 0.05, exclude_self=True)
    assert np.count_nonzero(coefs, axis=1).max() <= 3


def test_many_coefficients_in_many_dimensions():
    """Several atoms join at a time, parallel ones not."""
    X = points(150, 100)
    X = np.vstack([X, 2.0 * X[::3]])
    new = points(10, 100, 1)
    coefs = lasso_representation(new, X, 0.02, exclude_self=False)
    check_optimality(coefs, new, X, 0.02, exclude_self=False)
    assert np.count_nonzero(coefs, axis=1).min() > 40
    assert not coefs[:, 150:].any()


def test_zero_points_and_zero_atoms_have_no_coefficients():
    X = zero_rows()
    coefs = lasso_representation(X, X, 0.05, exclude_self=True)
    zero = ~X.any(axis=1)
    assert not coefs[zero].any()
    assert not coefs[:, zero].any()
    assert np.all(coefs[~zero].any(axis=1))


def test_orthogonal_points_have_no_coefficients():
    """Their correlations are rounding, of which no share is a penalty."""
    X = np.linalg.qr(points(12, 12))[0]
    assert not lasso_representation(X, X, 0.05, exclude_self=True).any()


def test_one_and_two_points():
    assert not lasso_representation(points(1, 3), points(1, 3), 0.05, exclude_self=True).any()
    coefs = lasso_representation(np.eye(2) + 1.0, np.eye(2) + 1.0, 0.05, exclude_self=True)
    np.testing.assert_allclose(coefs, 0.95 * 0.8 * (1.0 - np.eye(2)), atol=1e-12)


def test_a_given_penalty_is_that_of_every_point():
    """Against coordinate descent; zero codes where no correlation reaches it."""
    X = unit_rows(points(30, 6))
    found = lasso_representation(X, X, 0.5, exclude_self=True, penalty=0.1)
    for i in range(30):
        others = np.delete(X, i, axis=0)
        model = Lasso(0.1 / 6, fit_intercept=False, tol=1e-12, max_iter=100_000)
        expected = model.fit(others.T, X[i]).coef_
        np.testing.assert_allclose(np.delete(found[i], i), expected, atol=1e-7)
    assert not lasso_representation(X, X, 0.5, exclude_self=True, penalty=1.0).any()


@pytest.mark.parametrize("exclude_self", [True, False])
def test_error_atoms_take_the_errors_of_single_features(exclude_self):
    """Those of the unit vectors, with the same penalty: they take one corrupted feature whole."""
    rng = np.random.default_rng(0)
    X = unit_rows(rng.standard_normal((12, 2)) @ rng.standard_normal((2, 15)))
    new = X.copy() if exclude_self else X[:4].copy()
    new[1, 7] += 0.6
    atoms = new if exclude_self else X
    options = {"exclude_self": exclude_self, "penalty": 0.05}
    plain = lasso_representation(new, atoms, 0.5, **options)
    found = lasso_representation(new, atoms, 0.5, errors=True, **options)
    unit, A = unit_rows(new), unit_rows(atoms)
    for i, x in enumerate(unit):
        c, e = cp.Variable(12), cp.Variable(15)
        cost = 0.5 * cp.sum_squares(x - A.T @ c - e) + 0.05 * (cp.norm1(c) + cp.norm1(e))
        fixed = [c[i] == 0] if exclude_self else []
        best = cp.Problem(cp.Minimize(cost), fixed).solve(solver="CLARABEL")
        rest = x - A.T @ found[i]
        c.value, e.value = found[i], np.sign(rest) * np.maximum(np.abs(rest) - 0.05, 0.0)
        assert cost.value == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert np.abs(unit[1] - plain[1] @ A)[7] < np.abs(unit[1] - found[1] @ A)[7]
