"""The quartic dual on a device: the CPU's solutions, recomputed certificates, many blocks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from kernelfit.kernels.standard import RBF, Laplacian, Polynomial
from kernelfit.solvers.dual.quartic import solve_quartic_dual
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge, tube
from tests.reference.devices import devices

torch = pytest.importorskip("torch")

from kernelfit.kernels.device_gram import DeviceGram, matrix_on_device, on_device  # noqa: E402
from kernelfit.solvers.dual import device_quartic, device_state  # noqa: E402
from kernelfit.solvers.dual.device import solve_on_device  # noqa: E402
from kernelfit.solvers.dual.device_quartic import solve_quartic_on_device  # noqa: E402


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    value = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    labels = np.where(value + 0.3 * rng.standard_normal(n) > 0.0, 1.0, -1.0)
    return X, labels, value + 50.0, rng.uniform(0.5, 2.0, n)


def confirm(result, K, task, weight, eta, tol):
    """Recompute objective and gap from the solution alone, with the factor as a matrix."""
    task, _ = task.centred()
    x, coef = result.x, result.x / weight
    assert np.all((x >= task.lower) & (x <= task.upper))
    if task.has_intercept:
        assert_allclose(x.sum(), 0.0, atol=1e-10 * np.abs(x).sum())
    values = ((1.0 + np.outer(coef, coef) * K / (4.0 * eta)) * K) @ x
    q = x * coef
    objective = task.kappa(x) - 0.5 * x @ K @ x - q @ (K * K) @ q / (16.0 * eta)
    gap = task.certificate(x, values).gap
    assert result.status == "proved"
    assert result.converged
    assert_allclose(result.objective, objective, rtol=1e-10)
    assert_allclose(result.gap, gap, rtol=1e-4, atol=1e-11 * objective)
    assert result.gap <= tol * objective
    scale = np.abs(values).max()
    assert_allclose(result.decision, values, atol=1e-10 * scale)
    assert_allclose(result.kernel_values, K @ x, atol=1e-10 * scale)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("multiple", [1.0, 1e-2, 1e-5])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["hinge", "tube"])
def test_solution_is_that_of_the_processor(kind, fit_intercept, multiple, device):
    X, labels, targets, weight = data(150)
    options = {"fit_intercept": fit_intercept}
    if kind == "hinge":
        task = hinge(labels, 10.0 * weight, **options)
    else:
        task = tube(targets - 50.0 * (not fit_intercept), 10.0 * weight, 0.1, **options)
    K = RBF(0.5)(X)
    plain = solve_dual(K, task, tol=1e-8)
    eta = multiple * float(np.sum(plain.x**2 / weight))
    gram = on_device(RBF(0.5), X, device, 1e9)
    for start in (None, plain.x):
        there = solve_quartic_on_device(gram, task, eta, weight=weight, tol=1e-7, start=start)
        confirm(there, K, task, weight, eta, 1e-7)
    here = solve_quartic_dual(K, task, eta, weight=weight, tol=1e-10)
    assert abs(there.objective - here.objective) <= there.gap + 1e-9 * here.objective
    assert_allclose(there.decision, here.decision, atol=1e-2 * np.abs(here.decision).max())
    assert_allclose(there.intercept, here.intercept, atol=1e-2)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.3), Polynomial(2, 0.5, 1.0)], ids=repr)
def test_many_blocks(kernel, stored, device, monkeypatch):
    monkeypatch.setattr(device_state, "_BLOCK", {"cpu": 64, "cuda": 64})
    X, labels, _, weight = data(600)
    task, K = hinge(labels, 5.0 * weight), kernel(X)
    gram = on_device(kernel, X, device, 1e9)
    if not stored:
        gram = DeviceGram(gram.source, 2e6)
    plain = solve_on_device(gram, task, tol=1e-4)
    eta = 0.01 * float(np.sum(plain.x**2 / weight))
    found = solve_quartic_on_device(gram, task, eta, weight=weight, tol=1e-6, start=plain.x)
    confirm(found, K, task, weight, eta, 1e-6)
    assert (gram.stored is not None) == stored


@pytest.mark.parametrize("device", devices())
def test_a_given_matrix_and_no_adaptation(device):
    X, labels, _, _ = data(100)
    task, K = hinge(labels, 5.0), RBF(0.5)(X)
    gram = matrix_on_device(K, device, 1e9)
    found = solve_quartic_on_device(gram, task, 3.0, tol=1e-7)
    confirm(found, K, task, np.ones(100), 3.0, 1e-7)
    plain = solve_quartic_on_device(gram, task, np.inf, tol=1e-7)
    assert_allclose(plain.objective, solve_dual(K, task, tol=1e-9).objective, rtol=1e-6)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("exactly", [True, False])
def test_a_step_ends_at_the_minimum_of_its_way(exactly, device):
    X, labels, _, weight = data(40)
    task = hinge(labels, weight, fit_intercept=False)
    gram = on_device(RBF(2.0), X, device, 1e9)
    order, rng = gram.order, np.random.default_rng(1)
    sorted_task, K = task.take(order), RBF(2.0)(X[order])
    far = sorted_task.lower + sorted_task.upper
    start, end = rng.uniform(0.0, 0.1, 40) * far, rng.uniform(0.5, 1.0, 40) * far
    state = device_quartic._QuarticState(gram, sorted_task, start.copy(), True, weight[order], 0.3)

    def value(t):
        beta = start + t * (end - start)
        q = beta**2 / weight[order]
        return task.kappa(beta[np.argsort(order)]) - 0.5 * beta @ K @ beta - q @ K**2 @ q / 4.8

    index, moved = (torch.as_tensor(a, device=gram.device) for a in (np.arange(40), end))
    if exactly:
        state.move_exactly(index, moved)
    else:
        products = state.products(index[None], (moved - state.beta)[None])
        real, lengths = torch.ones_like(index[None], dtype=torch.bool), torch.ones_like(moved[:1])
        state.move(index[None], real, state.beta.clone()[None], moved[None], lengths, products)
    t = float(((state.beta.cpu().numpy() - start) / (end - start)).mean())
    best = minimize_scalar(lambda t: -value(t), bounds=(0.0, 1.0), options={"xatol": 1e-9}).x
    assert 0.1 < best < 0.9
    assert_allclose(t, best, atol=1e-6 if exactly else 1e-4)
    f, s = state.f.clone(), state.s.clone()
    state.recompute()
    assert_allclose(f.cpu(), state.f.cpu(), rtol=1e-4, atol=1e-4)
    assert_allclose(s.cpu(), state.s.cpu(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", devices())
def test_squares(device):
    X = data(200)[0]
    for kernel in (RBF(0.5), RBF((0.5, 1.0, 0.1, 0.2)), Polynomial(3, 0.5, 1.0)):
        gram = on_device(kernel, X, device, 1e9)
        squares = gram.squares()
        K2 = kernel(X)[np.ix_(gram.order, gram.order)] ** 2
        beta = np.random.default_rng(0).standard_normal(200)
        found = squares.decision(torch.as_tensor(beta, device=squares.device)).cpu()
        assert_allclose(found, K2 @ beta, atol=1e-11 * np.abs(K2).sum())
        assert_allclose(squares.diagonal().cpu(), K2.diagonal(), rtol=1e-12)


@pytest.mark.parametrize("device", devices())
def test_an_indefinite_kernel_is_no_proof(device):
    X, labels, _, _ = data(60)
    K = RBF(0.5)(X) - 0.6 * np.eye(60)
    gram = matrix_on_device(K, device, 1e9)
    found = solve_quartic_on_device(gram, hinge(labels, 5.0), 3.0, max_iter=20)
    assert found.status == "stationary"
    assert np.isnan(found.gap)


@pytest.mark.parametrize("device", devices())
def test_squares_are_as_exact_as_the_matrix(device):
    X, *_ = data(20)
    gram = on_device(RBF(0.5), X, device, 1e9)
    gram.prepare()
    assert gram.squares().single
    gram.widen()
    squares = gram.squares()
    squares.prepare()
    assert squares.stored.dtype == torch.float64
