"""Sparse subspace clustering against a convex solver, and on subspaces with gross errors."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from kernelfit import CDSKClustering
from kernelfit.clustering.sparse_subspace import subspace_codes


def corrupted(n=18, seed=0):
    """Points near a plane, one of which has a gross error in one feature."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, 5))
    X += 0.1 * rng.standard_normal(X.shape)
    X[3, 2] += 3.0
    return X


def least_cost(X, atoms, lambda_z, lambda_e, exclude_self, affine, errors, C=None):
    """The optimum, or the cost of given coefficients with the best errors for them."""
    V, E = cp.Variable((len(X), len(atoms))), cp.Variable(X.shape)
    cost = cp.sum(cp.abs(V)) + lambda_e * cp.sum(cp.abs(E))
    cost += 0.5 * lambda_z * cp.sum_squares(X - V @ atoms - E)
    rules = [cp.sum(V, axis=1) == 1] if affine and C is None else []
    rules += [cp.diag(V) == 0] if exclude_self else []
    rules += [] if errors else [E == 0]
    rules += [] if C is None else [V == C]
    return cp.Problem(cp.Minimize(cost), rules).solve(solver="CLARABEL")


@pytest.mark.parametrize("errors", [True, False])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("exclude_self", [True, False])
def test_codes_have_the_least_cost(exclude_self, affine, errors):
    atoms = corrupted()
    X = atoms if exclude_self else corrupted(4, 1)
    options = {"exclude_self": exclude_self, "affine": affine, "errors": errors}
    C = subspace_codes(X, atoms, 20.0, 3.0, **options, tol=1e-7)
    if exclude_self:
        assert not np.diag(C).any()
    if affine:
        np.testing.assert_allclose(C.sum(axis=1), 1.0, atol=1e-5)
    best = least_cost(X, atoms, 20.0, 3.0, **options)
    assert least_cost(X, atoms, 20.0, 3.0, **options, C=C) == pytest.approx(best, rel=1e-4)


def subspaces(seed=0, errors=0.0):
    """Points of two affine planes, of whose entries some have gross errors."""
    rng = np.random.default_rng(seed)
    X = np.vstack([
        rng.standard_normal((40, 2)) @ rng.standard_normal((2, 20)) + rng.standard_normal(20)
        for _ in range(2)
    ])  # fmt: skip
    wrong = rng.random(X.shape) < errors
    return X + wrong * rng.choice([-4.0, 4.0], X.shape), np.repeat((0, 1), 40)


def fit(X, **params):
    model = CDSKClustering(
        2, affinity="sparse_subspace", affinity_params=params, max_iter=0, random_state=0
    )
    return model.fit(X)


def test_affinity_is_the_published_one():
    """lambda = ratio / mu, each point's coefficients over the largest, both directions."""
    X = corrupted()
    products = np.abs(X @ X.T) - np.diag(np.diag(X @ X.T))
    sums = np.abs(X).sum(axis=1)
    mu_z = min(products[i].max() for i in range(18))
    mu_e = min(np.delete(sums, i).max() for i in range(18))
    unit = np.abs(X).max()
    C = subspace_codes(
        X / unit, X / unit, 7.0 * unit**2 / mu_z, 7.0 * unit / mu_e, exclude_self=True
    )
    C = np.abs(C) / np.abs(C).max(axis=1, keepdims=True)
    found = fit(X, ratio=7.0).affinity_matrix_.toarray()
    np.testing.assert_allclose(found, 0.5 * (C + C.T), atol=1e-3)


def test_errors_and_affine_subspaces():
    X, y = subspaces(errors=0.01)
    model = fit(X[::2])
    assert adjusted_rand_score(y[::2], model.labels_) == 1.0
    clean, y = subspaces(1)
    assert adjusted_rand_score(y[1::2], fit(clean[::2]).predict(clean[1::2])) == 1.0
    assert fit(np.ones((1, 3)).repeat(2, axis=0) * [[1.0], [2.0]]).labels_.shape == (2,)
    with pytest.raises(ValueError, match=r"expected ratio in affinity_params between 1\.0 and inf"):
        fit(X, ratio=0.5)
