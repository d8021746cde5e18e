"""Support vector machines of the ensemble against KernelSVC."""

import numpy as np
import pytest

from kernelfit import KernelSVC
from kernelfit.ensemble.svm import solve_svms


def problem(n=50):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    labels = (X[:, 0] > 0).astype(int) + (X[:, 1] + 0.3 * rng.normal(size=n) > 0.5)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    return K, labels, rng.integers(1, 4, n).astype(float)


def test_agrees_with_the_estimator():
    K, labels, weight = problem()
    Y = 2.0 * np.eye(3)[labels] - 1.0
    ridges = [0.1, 1.0, 0.01]  # in any order
    for ridge, (coef, intercept, gap) in zip(ridges, solve_svms(K, Y, weight, ridges), strict=True):
        assert 0.0 <= gap <= 1e-3
        for c in range(3):
            svc = KernelSVC(C=1 / ridge, kernel="precomputed", tol=1e-6)
            svc.fit(K, labels == c, sample_weight=weight)
            np.testing.assert_allclose(
                K @ coef[:, c] + intercept[c], svc.decision_function(K), atol=1e-3
            )


def test_a_class_without_rows():
    K, labels, weight = problem()
    Y = np.column_stack([np.where(labels > 0, 1.0, -1.0), -np.ones(50)])
    ((coef, intercept, gap),) = solve_svms(K, Y, weight, [0.1])
    assert not coef[:, 1].any()
    assert intercept[1] == -1.0
    assert gap == pytest.approx(0.0, abs=1e-3)
