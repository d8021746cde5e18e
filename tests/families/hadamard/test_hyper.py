"""The regression in a hyper-reproducing kernel space: its definition, a conic solver, limits."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import nnls

from kernelfit.families.hadamard.hyper import fit_hyper_kernel
from kernelfit.kernels.standard import RBF

ROOT = RBF(0.3)
X = np.random.default_rng(0).standard_normal((7, 2))
NEW = np.random.default_rng(1).standard_normal((6, 2))
COEF = np.random.default_rng(2).standard_normal(7)
WEIGHT = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0])
FACTOR = 1.0 + 2.0 * np.outer(COEF, COEF) * ROOT(X)
FAR = None  # the point far from everything


def k(x, z):
    if x is FAR or z is FAR:
        return float(x is z)
    return np.exp(-0.3 * np.sum((x - z) ** 2))


def hyper_kernel(a, b):
    (p, q), (x, z) = a, b
    return k(p, q) * k(x, z) * (1.0 + k(p, x) * k(q, x) * k(p, z) * k(q, z) * (p is not FAR))


def fit(points=X, coef=COEF, weight=WEIGHT, factor=FACTOR):
    return fit_hyper_kernel(ROOT, points, coef, weight, lambda rows: factor[np.ix_(rows, rows)])


def problem():
    """Return the pairs, the regression's matrix and targets, and the hyper-kernel of the pairs."""
    pairs = [(X[i], X[j]) for i in range(7) for j in range(i, 7)] + [(FAR, FAR)]
    A, targets = [], []
    for i in range(7):
        for j in range(7):
            root = np.sqrt(WEIGHT[i] * WEIGHT[j])
            A.append([root * hyper_kernel(pair, (X[i], X[j])) for pair in pairs])
            targets.append(root * FACTOR[i, j] * k(X[i], X[j]))
    H = [[hyper_kernel(a, b) if b[0] is not FAR else hyper_kernel(b, a) for a in pairs]
         for b in pairs]  # fmt: skip
    H[-1][-1] = 1.0
    return pairs, np.array(A), np.array(targets), np.array(H)


def test_fit_is_that_of_other_solvers():
    pairs, A, targets, H = problem()
    assert_allclose(H, H.T)
    values, vectors = np.linalg.eigh(H)
    assert values[0] > -1e-12  # it is a kernel of pairs
    norm = np.sqrt(1e-3 * np.maximum(values, 0.0))[:, None] * vectors.T
    B = nnls(np.vstack([A, norm]), np.append(targets, np.zeros(len(pairs))))[0]
    b = cp.Variable(len(pairs), nonneg=True)
    error = cp.sum_squares(A @ b - targets) + cp.sum_squares(norm @ b)
    cp.Problem(cp.Minimize(error)).solve(solver="CLARABEL", tol_gap_rel=1e-12, tol_gap_abs=1e-12)
    found = fit()
    for solution, accuracy in ((B, 1e-8), (b.value, 1e-4)):
        for points in (NEW, X):
            expected = [
                [
                    sum(c * hyper_kernel(a, (x, z)) for c, a in zip(solution, pairs, strict=True))
                    for z in NEW
                ]
                for x in points
            ]
            assert_allclose(found(points, NEW), expected, atol=accuracy)
    # More than the constant factor is fitted, and not all of the matrix can be.
    constant = nnls(A[:, -1:], targets)[1]
    assert np.linalg.norm(A @ B - targets) < 0.8 * constant


def test_it_is_a_kernel_and_sections_are():
    found = fit()
    points = np.random.default_rng(3).standard_normal((40, 2))
    assert np.linalg.eigvalsh(found(points))[0] > -1e-12
    section = [[hyper_kernel((X[0], X[1]), (x, z)) for z in points] for x in points]
    assert np.linalg.eigvalsh(section)[0] > -1e-12
    rows = np.array([4, 0])
    assert_allclose(found.multiply(ROOT(NEW, X[rows]), NEW, rows), found(NEW, X[rows]))
    far = np.full((1, 2), 1e3)
    assert_allclose(found(far), found.constant + found.shares.sum())
    data = sparse.csr_array(X)
    assert_allclose(fit(data)(sparse.csr_array(NEW)), found(NEW), atol=1e-9)


def test_weights_are_copies():
    index = np.repeat(np.arange(7), WEIGHT.astype(int))
    copied = fit(X[index], COEF[index], np.ones(len(index)), FACTOR[np.ix_(index, index)])
    assert_allclose(copied(NEW), fit()(NEW), atol=1e-8)


@pytest.mark.parametrize("n", [7, 300])
def test_without_adaptation_it_is_the_initial_kernel(n):
    points = np.random.default_rng(4).standard_normal((n, 3))
    coef = np.random.default_rng(5).standard_normal(n)
    found = fit(points, coef, np.ones(n), np.ones((n, n)))
    assert_allclose(found(points[:50]), ROOT(points[:50]), atol=2e-3)


def test_many_rows_have_pairs_of_few_landmarks_with_large_coefficients():
    rng = np.random.default_rng(6)
    points = rng.standard_normal((400, 3))
    coef = np.where(np.arange(400) < 60, 1.0, 0.0)
    factor = 1.0 + 0.5 * np.outer(coef, coef) * ROOT(points)
    found = fit(points, coef, np.ones(400), factor)
    landmarks = np.unique(found.pairs)
    assert len(landmarks) <= 32 and np.mean(landmarks < 60) > 0.9
    M = factor * ROOT(points)
    near = np.linalg.norm((found(points) - M)[:60, :60])
    assert near < 0.9 * np.linalg.norm((ROOT(points) - M)[:60, :60])
