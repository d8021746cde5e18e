"""Blocks that are solved alone: a feasible start, its bound, and the optimum from there."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from kernelfit import KernelSVC, KernelSVR
from kernelfit.inspection import audit, diagnose_partition
from kernelfit.kernels.gram import DenseGram, RowGram
from kernelfit.kernels.radial import RBF
from kernelfit.solvers.dual.partition import partition_start
from kernelfit.solvers.dual.solve import _QuadraticState, solve_dual
from kernelfit.tasks.losses import hinge, tube


@pytest.fixture(scope="module")
def data():
    X, group = make_blobs(300, 2, centers=4, cluster_std=0.6, random_state=0)
    rng = np.random.default_rng(0)
    target = np.sin(3.0 * X[:, 0]) + X[:, 1] * (group % 2) + 0.2 * rng.normal(size=300)
    return X, group, target - np.median(target)


def exact(K, task):
    return solve_dual(K, task, tol=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_solutions_side_by_side(data, fit_intercept, regression, n_jobs):
    X, group, target = data
    C = np.linspace(0.5, 2.0, 300)
    task = (
        tube(target, C, 0.1, fit_intercept=fit_intercept)
        if regression
        else hinge(np.sign(target), C, fit_intercept=fit_intercept)
    )
    kernel = RBF(0.5)
    gram = RowGram.from_kernel(kernel, X, 1e5, np.float64)
    beta = partition_start(gram, task, group, exact, n_jobs)
    for block in range(4):
        rows = np.flatnonzero(group == block)
        alone = exact(gram.block(rows), task.take(rows))
        np.testing.assert_array_equal(beta[rows], alone.x)
    assert np.all((task.lower <= beta) & (beta <= task.upper))
    whole = kernel(X)
    if fit_intercept:
        assert abs(beta.sum()) < 1e-9
    else:
        between = np.abs(whole) * (group[:, None] != group)
        value = task.kappa(beta) - 0.5 * beta @ whole @ beta
        optimum = solve_dual(DenseGram(whole), task, tol=1e-9).objective
        assert -1e-9 <= optimum - value <= C @ between @ C


@pytest.mark.parametrize("estimator", [KernelSVC, KernelSVR])
@pytest.mark.parametrize("cache_size", ["auto", 0.01])
def test_machines_end_at_the_optimum(data, estimator, cache_size):
    X, group, target = data
    y = group if estimator is KernelSVC else target
    options = {"C": 3.0, "cache_size": cache_size, "gamma": 0.5}
    model = estimator(partition=5, random_state=0, **options).fit(X, y)
    plain = estimator(**options).fit(X, y)
    assert np.all(model.converged_)
    np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-5)
    found = audit(model, X, y)
    assert all(one.confirmed for one in (found if isinstance(found, list | tuple) else [found]))
    again = estimator(partition=5, random_state=0, **options).fit(X, y)
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)


def test_large_blocks_are_divided(data, monkeypatch):
    X, group, _ = data
    monkeypatch.setattr("kernelfit.estimators.svm._MOST_IN_BLOCK", 40)
    monkeypatch.setattr("kernelfit.estimators.svm._CLUSTERED_ROWS", 100)
    model = KernelSVC(partition=3, random_state=0, fit_intercept=False).fit(X, group > 1)
    sizes = np.bincount(model._row_blocks[2])
    assert sizes.sum() == 300 and sizes.max() <= 40
    bound, between = diagnose_partition(model, X)
    assert bound == pytest.approx(between) and between > 0.0  # as C = 1


def test_what_is_refused(data):
    X, group, _ = data
    with pytest.raises(ValueError, match=r"at most 300 blocks, .* got 301"):
        KernelSVC(partition=301).fit(X, group)
    with pytest.raises(ValueError, match="expected data on the CPU to partition, got a precomp"):
        KernelSVC(partition=2, kernel="precomputed").fit(RBF(1.0)(X), group)
    model = KernelSVC(partition=2, random_state=0).fit(X, group)
    with pytest.raises(ValueError, match="expected fit_intercept=False"):
        diagnose_partition(model, X)
    with pytest.raises(ValueError, match="to be fitted with a partition"):
        diagnose_partition(KernelSVC().fit(X, group), X)


@pytest.mark.large
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_a_start_worse_than_zero_is_none(epsilon):
    """Solutions of blocks side by side are too long where points of all blocks are similar."""
    rng = np.random.default_rng(0)
    n = 1600  # more than one block
    X = rng.standard_normal((n, 2))
    K = np.exp(-0.01 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    task = tube(y, 1.0, epsilon)
    start = task.project(y)
    assert task.kappa(start) - 0.5 * start @ K @ start < 0.0
    cold, other = (solve_dual(K, task, start=beta) for beta in (None, start))
    assert other.history == cold.history
    np.testing.assert_array_equal(other.x, cold.x)
    # A start that is better than zero stays as it is: most variables are at their bounds, and one
    # factor for all would take them off.
    long = _QuadraticState(DenseGram(K), task, cold.x.copy(), True)
    assert not long.is_worse_than_zero()
    np.testing.assert_array_equal(long.beta, cold.x)
