"""Narrow kernels: blocks of neighbours lead to the optimum of the whole, in fewer rounds."""

import numpy as np
import pytest

from kernelfit.kernels import locality
from kernelfit.kernels.gram import DenseGram, RowGram
from kernelfit.kernels.radial import RBF
from kernelfit.solvers.dual.blocks import BLOCK, DualState
from kernelfit.solvers.dual.quartic import solve_quartic_dual
from kernelfit.solvers.dual.solve import solve_dual
from tests.reference.tasks import tasks_of_all_kinds

N = 4200
pytestmark = pytest.mark.large


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    kind = rng.integers(8, size=N)
    Z = rng.uniform(size=(N, 3))
    X = np.hstack([Z, 1.5 * np.eye(8)[kind]])
    target = np.sin(9.0 * Z[:, 0] + kind) + Z[:, 1] + 0.4 * rng.normal(size=N)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locality, "_LEAST_ROWS", N)
        gram = RowGram.from_kernel(RBF(30.0), X, 1e7)
    assert gram.order is not None
    return gram, DenseGram(RBF(30.0)(X)), target


def tasks(target):
    return tasks_of_all_kinds(target, 10.0)


@pytest.mark.parametrize("number", range(5))
def test_both_sources_end_at_one_optimum(data, number):
    rows, dense, target = data
    task = list(tasks(target))[number]
    result, expected = (solve_dual(g, task, tol=1e-5, assume_psd=True) for g in (rows, dense))
    assert result.converged
    certificate = task.certificate(result.x, dense.whole @ result.x)
    assert certificate.gap <= 1.1e-5 * abs(certificate.objective)
    assert abs(result.objective - expected.objective) <= 1e-5 * abs(expected.objective)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_quartic(data, number):
    rows, dense, target = data
    task = list(tasks(target))[number]
    result, expected = (
        solve_quartic_dual(g, task, 5.0, tol=1e-4, assume_psd=True) for g in (rows, dense)
    )
    assert result.converged
    np.testing.assert_allclose(result.objective, expected.objective, rtol=2e-4)


def test_fewer_rounds_than_by_the_worst_violators(data, monkeypatch):
    rows, _, target = data

    def rounds():
        return sum(solve_dual(rows, t, tol=1e-3, assume_psd=True).n_iter for t in tasks(target))

    by_neighbours = rounds()  # 21 beside 48
    monkeypatch.setattr(DualState, "_neighbours", lambda *_: [])
    assert 1.5 * by_neighbours < rounds()


def test_blocks_hold_all_free_variables_and_violators_once(data):
    rows, _, target = data
    task = next(tasks(target))
    blocks = []

    class State(DualState):
        def gradient(self):
            return -task.p + 0.5 * np.cos(np.arange(N))

        def certificate(self):
            return task.certificate(self.beta, self.gradient() + task.p)

        recompute = exact_decision = solve_block = sweep = None

    State.__abstractmethods__ = frozenset()
    state = State(rows, task, np.where(np.arange(N) % 3, 0.0, 1.0) * np.sign(task.p), True)
    up, down, *_ = state._rates()
    level = state.certificate().intercept
    wanted = task.is_free(state.beta) | (np.maximum(up - level, level - down) > 0.05)
    starts = set()
    for _ in range(4):
        blocks = state._neighbours(up, down, 0.1)
        assert all(len(block) <= BLOCK for block in blocks)
        seen = np.concatenate(blocks)
        np.testing.assert_array_equal(np.sort(seen), np.flatnonzero(wanted))
        starts.add(blocks[0][0])
    assert len(starts) == 4  # boundaries move
