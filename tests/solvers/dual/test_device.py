"""The dual solver on a device: agreement with the CPU core, recomputed certificates, endings."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.kernels.standard import RBF, Linear
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge, one_class, pinball, squared_hinge, squared_tube, tube
from tests.reference.devices import devices

torch = pytest.importorskip("torch")

from kernelfit.kernels.device_gram import DeviceGram, matrix_on_device, on_device  # noqa: E402
from kernelfit.solvers.dual import device_state as engine  # noqa: E402
from kernelfit.solvers.dual.device import solve_on_device  # noqa: E402


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    value = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    cost = rng.uniform(0.2, 3.0, n)
    labels = np.where(value + 0.3 * rng.standard_normal(n) > 0.0, 1.0, -1.0)
    return X, labels, value + 0.1 * rng.standard_normal(n) + 50.0, cost


X, LABELS, TARGETS, COST = data()
TASKS = {
    "hinge": hinge(LABELS, C=COST),
    "hinge, large C": hinge(LABELS, C=1000.0 * COST),
    "hinge, no intercept": hinge(LABELS, C=COST, fit_intercept=False),
    "squared hinge": squared_hinge(LABELS, C=COST),
    "tube": tube(TARGETS, 10.0 * COST, 0.1),
    "tube, no intercept": tube(TARGETS - 50.0, COST, 0.1, fit_intercept=False),
    "squared tube": squared_tube(TARGETS, COST, 0.1),
    "pinball": pinball(TARGETS, COST, 0.2),
    "one-class": one_class(COST, 0.3),
}


def confirm(result, K, task, tol):
    """Recompute the certificate from the solution alone."""
    centred, _ = task.centred()
    assert np.all((result.x >= task.lower) & (result.x <= task.upper))
    if task.total is not None:
        assert_allclose(result.x.sum(), task.total, atol=1e-10 * max(1.0, np.abs(result.x).sum()))
    found = centred.certificate(result.x, K @ result.x)
    slack = 1e-9 * abs(found.objective) + found.resolution
    assert result.status == "proved"
    assert found.gap <= result.gap + slack
    assert_allclose(result.objective, found.objective, rtol=1e-9)
    assert_allclose(result.decision, K @ result.x, atol=1e-9 * np.abs(result.x).sum())
    assert result.converged
    assert result.ending == "tolerance"
    assert result.gap <= tol * abs(result.objective) + slack


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
@pytest.mark.parametrize("name", TASKS)
def test_agrees_with_the_cpu_core(name, tol, device):
    task, K = TASKS[name], RBF(0.4)(X)
    result = solve_on_device(on_device(RBF(0.4), X, device, 1e8), task, tol=tol, assume_psd=True)
    confirm(result, K, task, tol)
    core = solve_dual(K, task, tol=1e-9, assume_psd=True)
    slack = result.gap + core.gap + 1e-12 * abs(core.objective)
    assert abs(result.objective - core.objective) <= slack
    if tol < 1e-6 and task.total is not None:
        assert_allclose(result.intercept, core.intercept, atol=1e-2)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("gamma", [0.4, 30.0])
@pytest.mark.parametrize("name", ["hinge", "hinge, no intercept", "squared hinge", "tube"])
def test_many_blocks_at_a_time(name, gamma, stored, device, monkeypatch):
    """Small blocks: parallel rounds with combined steps, both where blocks couple and not."""
    monkeypatch.setattr(engine, "_BLOCK", {"cpu": 64, "cuda": 64})
    solved = []
    solve_blocks = engine.solve_blocks

    def counted(K, *args, **options):
        solved.append(len(K))
        return solve_blocks(K, *args, **options)

    monkeypatch.setattr(engine, "solve_blocks", counted)
    task, gram = TASKS[name], on_device(RBF(gamma), X, device, 1e8)
    if not stored:
        monkeypatch.setattr(DeviceGram, "_store", lambda self: None)
        gram = DeviceGram(gram.source, 1e8)
    result = solve_on_device(gram, task, tol=1e-5, assume_psd=True)
    confirm(result, RBF(gamma)(X), task, 1e-5)
    assert max(solved) > 1


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("name", ["hinge", "hinge, no intercept", "tube", "squared tube"])
def test_steps_of_coupled_blocks_are_combined(name, device, monkeypatch):
    """Blocks that each take their own step would go far too far with a wide kernel."""
    monkeypatch.setattr(engine, "_BLOCK", {"cpu": 64, "cuda": 64})
    task = TASKS[name].centred()[0]
    gram = on_device(RBF(0.05), X, device, 1e8)
    task = task.take(gram.order)
    state = engine.DeviceState(gram, task, np.zeros(task.n), True)
    objectives = [state.certificate().objective]
    for _ in range(3):
        everything = torch.arange(task.n, device=gram.device)
        state._solve(*state._cut(everything), 0.0)
        objectives.append(state.certificate().objective)
    assert np.all(np.diff(objectives) > 0.0)
    assert_allclose(state.f.cpu(), gram.decision(state.beta).cpu(), atol=1e-3)


def test_the_best_combination():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    G = A @ A.T / 6.0 + np.eye(6)
    c = -G @ np.array([3.0, 0.5, -2.0, 0.3, 0.6, 4.0])
    t = engine._combine(G, c)
    slope = G @ t + c
    assert np.all((t >= 0.0) & (t <= 1.0))
    assert 0 < np.count_nonzero((t > 0.0) & (t < 1.0)) < 6
    stop = 1e-4 * np.abs(c).max()
    assert np.all(slope[t > 0.0] <= stop)
    assert np.all(slope[t < 1.0] >= -stop)
    assert_allclose(engine._combine(np.array([[2.0]]), np.array([-1.0])), [0.5])
    assert_allclose(engine._combine(np.array([[2.0]]), np.array([1.0])), [0.0])
    assert_allclose(engine._combine(np.array([[0.0]]), np.array([-1.0])), [1.0])


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("name", ["hinge, large C", "hinge, no intercept", "tube", "squared tube"])
def test_newton_steps_on_the_device(name, device, monkeypatch):
    """From a shrunk solution, with nothing at its bounds, they go up and stay feasible."""
    monkeypatch.setattr(engine, "_FEW_FREE", 0)
    task, K = TASKS[name].centred()[0], RBF(0.4)(X)
    gram = on_device(RBF(0.4), X, device, 1e8)
    sorted_task = task.take(gram.order)
    rough = 0.8 * solve_dual(K, task, tol=1e-3, assume_psd=True).x[gram.order]
    state = engine.DeviceState(gram, sorted_task, rough, True)
    objectives = [state.certificate().objective]
    for _ in range(5):
        state._newton()
        objectives.append(state.certificate().objective)
    assert np.all(np.diff(objectives) >= -1e-12 * abs(objectives[-1]))
    assert objectives[1] > objectives[0]
    beta = state.beta.cpu().numpy()
    assert np.all((beta >= sorted_task.lower) & (beta <= sorted_task.upper))
    if task.total is not None:
        assert_allclose(beta.sum(), 0.0, atol=1e-9 * np.abs(beta).sum())
    result = solve_on_device(gram, task, tol=1e-8, assume_psd=True)
    confirm(result, K, task, 1e-8)


@pytest.mark.parametrize("device", devices())
def test_starts_from_a_solution(device):
    task, gram = TASKS["hinge"], on_device(RBF(0.4), X, device, 1e8)
    first = solve_on_device(gram, task, tol=1e-6, assume_psd=True)
    again = solve_on_device(gram, task, tol=1e-6, assume_psd=True, start=first.x)
    assert again.n_iter == 1
    assert_allclose(again.x, first.x, atol=1e-12)
    off = solve_on_device(gram, task, tol=1e-6, assume_psd=True, start=3.0 * first.x + 1.0)
    confirm(off, RBF(0.4)(X), task, 1e-6)


@pytest.mark.parametrize("device", devices())
def test_double_precision_where_single_gets_no_further(device, monkeypatch):
    """A large constant in the kernel leaves float32 little of the differences that count."""
    monkeypatch.setattr(engine, "_BLOCK", {"cpu": 64, "cuda": 64})
    K, task = 1e5 + RBF(0.4)(X), TASKS["hinge"]
    gram = matrix_on_device(K, device, 1e8)
    result = solve_on_device(gram, task, tol=1e-5, assume_psd=True)
    assert not gram.single
    assert result.converged
    centred = RBF(0.4)(X) @ result.x  # what the constant adds vanishes with the sum
    assert task.certificate(result.x, centred).gap <= 2e-5 * result.objective


@pytest.mark.parametrize("device", devices())
def test_reports_every_round_and_ends_with_the_last(device):
    seen = []
    result = solve_on_device(
        on_device(Linear(), X, device, 1e8),
        TASKS["hinge, large C"],
        tol=1e-12,
        max_iter=2,
        assume_psd=True,
        callback=lambda *args: seen.append(args),
    )
    assert not result.converged
    assert result.ending == "max_iter"
    assert result.n_iter == len(result.history) == 2
    assert [number for number, *_ in seen] == [1, 2]
    assert np.isfinite(result.gap)


@pytest.mark.parametrize("device", devices())
def test_an_indefinite_matrix_is_no_proof(device):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 60))
    gram = matrix_on_device(A + A.T, device, 1e8)
    result = solve_on_device(gram, hinge(LABELS[:60], C=1.0), max_iter=20)
    assert result.status == "stationary"
    assert np.isnan(result.gap)


@pytest.mark.parametrize("device", devices())
def test_a_given_matrix(device):
    K, task = RBF(0.4)(X), TASKS["tube"]
    result = solve_on_device(matrix_on_device(K, device, 1e8), task, tol=1e-6)
    confirm(result, K, task, 1e-6)


COMPILED = """
import numpy as np, torch
from kernelfit.kernels.device_tiles import GaussianTiles
from kernelfit.solvers.dual import device_blocks

rng = np.random.default_rng(0)
X = rng.standard_normal((2, 16, 3))
K = torch.as_tensor(np.exp(-((X[:, :, None] - X[:, None]) ** 2).sum(-1))).float()
p, one = rng.standard_normal((2, 16)), np.ones((2, 16))
for epsilon, ridge, fixed_sum in ((0.0, 0.0, True), (0.1, 0.2, True), (0.1, 0.2, False)):
    diagonal, box = one + ridge, (-one, one)
    args = [K, *(torch.as_tensor(array) for array in (diagonal, -p, 0.0 * one, *box))]
    found, _ = device_blocks._on_gpu(torch, *args, epsilon, fixed_sum, 1e-9, 0.0, 12)
    known, _ = device_blocks.solve_blocks(
        *args, epsilon=epsilon, fixed_sum=fixed_sum, reduction=1e-9, floor=0.0, max_steps=12)
    assert np.abs(known).max() > 0.1
    assert np.abs(found - known).max() < 1e-12, (epsilon, ridge, fixed_sum)
points = torch.randn(150, 5)
index = torch.stack([torch.randperm(150)[:70] for _ in range(2)])
coef = torch.randn(2, 70)
coef[0, 20:], coef[1, ::3] = 0.0, 0.0
found = GaussianTiles(points, 0.7).products(index, coef)
values = torch.exp(-0.7 * torch.cdist(points, points) ** 2)
known = torch.stack([values[:, i] @ c for i, c in zip(index, coef)])
assert (found - known).abs().max() < 1e-4
"""


def test_what_a_gpu_runs_by_the_interpreter_of_triton():
    pytest.importorskip("triton")
    env = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", COMPILED], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("shift", [1e-2, 1e-3, 1e-4])
def test_a_variable_off_its_bound_by_rounding(shift, device):
    points, labels, *_ = data(60)
    task, K = hinge(labels, C=10.0), RBF(0.5)(points)
    best = solve_dual(K, task, tol=1e-12, assume_psd=True)
    start = best.x.copy()
    free = np.flatnonzero((start > task.lower) & (start < task.upper))
    start[free[:2]] += shift, -shift
    # The worst violator, though there is hardly anything to move.
    worst = int(np.argmax(labels * (best.decision + best.intercept)))
    start[worst] = 1e-20 * labels[worst]
    found = task.certificate(start, K @ start)
    tol = 0.2 * found.gap / found.objective
    gram = on_device(RBF(0.5), points, device, 1e8)
    confirm(solve_on_device(gram, task, tol=tol, start=start, assume_psd=True), K, task, tol)
