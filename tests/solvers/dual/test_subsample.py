"""Large problems start from the machine of a subsample, and end at the same optimum."""

import numpy as np
import pytest

from kernelfit.kernels.gram import DenseGram, RowGram
from kernelfit.kernels.radial import RBF
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.solvers.dual.subsample import subsample_start
from kernelfit.tasks.losses import hinge
from tests.reference.tasks import tasks_of_all_kinds

N = 4200
pytestmark = pytest.mark.large


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    target = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=N)
    kernel = RBF(0.5)
    return RowGram.from_kernel(kernel, X, 1e8), DenseGram(kernel(X)), target


def tasks(target):
    return tasks_of_all_kinds(target, 1.0)


@pytest.mark.parametrize("number", range(5))
def test_both_sources_end_at_one_optimum(data, number):
    rows, dense, target = data
    task = list(tasks(target))[number]
    result, expected = (solve_dual(g, task, tol=1e-5, assume_psd=True) for g in (rows, dense))
    for found in (result, expected):
        assert found.converged
        decision = dense.whole @ found.x
        certificate = task.certificate(found.x, decision)
        assert certificate.gap <= 1.1e-5 * abs(certificate.objective)
    assert abs(result.objective - expected.objective) <= 1e-5 * abs(expected.objective)


@pytest.mark.parametrize("number", range(5))
def test_the_start_is_feasible_and_knows_most_bounds(data, number):
    rows, dense, target = data
    task = list(tasks(target))[number]
    start = subsample_start(rows, task, lambda K, small: solve_dual(K, small, tol=1e-2))
    assert np.all((task.lower <= start) & (start <= task.upper))
    if task.total is not None:
        assert abs(start.sum() - task.total) <= 1e-9 * np.abs(start).sum()
    optimum = solve_dual(dense, task, tol=1e-5, assume_psd=True).x
    if task.ridge is None:
        assert np.mean(np.sign(start) == np.sign(optimum)) > 0.8
        # Few are between their bounds: each of them would be in every block.
        assert task.count_free(start) < 0.1 * N


def test_a_small_problem_starts_from_zero():
    gram = RowGram.from_kernel(RBF(1.0), np.linspace(0, 1, 50)[:, None], 1e6)
    assert subsample_start(gram, hinge(np.repeat([-1.0, 1.0], 25), 1.0), None) is None


def test_one_class_among_the_points_of_the_subsample(data):
    """Evenly spaced points may miss a rare class."""
    rows, dense, _ = data
    p = np.full(N, -1.0)
    p[1:4] = 1.0
    task = hinge(p, 1.0)
    result = solve_dual(rows, task, tol=1e-5, assume_psd=True)
    expected = solve_dual(dense, task, tol=1e-5, assume_psd=True)
    assert result.converged
    np.testing.assert_allclose(result.objective, expected.objective, rtol=2e-5)
