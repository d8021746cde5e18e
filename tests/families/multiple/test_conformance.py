"""Weights of kernels, in the simplex and in balls, beside the checks of every family."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.families.multiple.bank import Source, make_bank
from kernelfit.families.multiple.kernels import BankKernel, WeightedSum
from kernelfit.families.multiple.weights import BallWeights, SimplexWeights
from kernelfit.kernels.standard import RBF, Linear, Polynomial
from kernelfit.solvers.saddle.kernel_weights import KERNEL_WEIGHTS, sparsest
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle
from tests.families.conformance import LOSSES, FamilyConformance, make_task, matrix, solution
from tests.reference.kernel_learning import conic_value

X = np.random.default_rng(0).standard_normal((30, 3))
# Of high and of low rank: kept whole and as factors.
KERNELS = (
    BankKernel(RBF(0.5)),
    BankKernel(Linear()),
    BankKernel(RBF(0.1), (0,), 2.0),
    BankKernel(RBF(3.0), scale=0.5),
    BankKernel(Polynomial(2, 0.2, 1.0), (1, 2)),
)


def source(kernel, X):
    K = kernel(X)
    return Source(K.diagonal().copy(), K.__getitem__, lambda: K)


def bank(kernels=KERNELS, X=X):
    return make_bank(len(X), [source(k, X) for k in kernels], np.inf)


def make_kernel(weights):
    return WeightedSum(KERNELS, weights)


def forms(beta):
    return np.array([max(sum(b @ k(X) @ b for b in beta), 0.0) for k in KERNELS])


def betas():
    b = np.random.default_rng(1).standard_normal((2, len(X)))
    Q = np.linalg.qr(np.hstack([X, KERNELS[4](X)[:, :8]]))[0]
    return [X.T[:2], b - b @ Q @ Q.T, b]


@pytest.mark.parametrize(
    "family",
    [SimplexWeights(bank(), make_kernel), BallWeights(bank(), make_kernel, 1.5)],
    ids=["simplex", "ball"],
)
def test_curvature_is_the_hessian_of_the_softened_energy(family):
    """Its gradient is K_theta beta, so the Jacobian of that is K_theta + L L'."""
    beta = 0.3 * np.random.default_rng(2).standard_normal((2, len(X)))
    softened = family.soften(family.initial, 2.0)

    def gradient(flat):
        response = family.respond(flat.reshape(beta.shape))
        return response.decision(softened.weights(response.forms)).ravel()

    h = 1e-5
    steps = h * np.eye(beta.size)
    jacobian = [(gradient(beta.ravel() + e) - gradient(beta.ravel() - e)) / (2 * h) for e in steps]
    response = family.respond(beta)
    L = response.curvature(softened.root(response.forms)).reshape(beta.size, -1)
    K = family.gram(softened.weights(response.forms)).whole
    hessian = np.kron(np.eye(2), K) + L @ L.T
    assert np.linalg.norm(L @ L.T) > 0.1 * np.linalg.norm(hessian)
    assert_allclose(jacobian, hessian, rtol=0, atol=1e-6 * abs(hessian).max())


class TestSimplexWeights(FamilyConformance):
    def make(self):
        return SimplexWeights(bank(), make_kernel), X, betas()

    def energy(self, family, beta):
        return 0.5 * forms(beta).max()


class TestBallWeights(FamilyConformance):
    p = 1.5

    def make(self):
        return BallWeights(bank(), make_kernel, self.p), X, betas()

    def energy(self, family, beta):
        q, radius = self.p / (self.p - 1), 5 ** (1 / self.p - 1)
        return 0.5 * radius * np.sum(forms(beta) ** q) ** (1 / q)


def test_the_bank_has_both_kinds_of_matrices():
    assert 0 < len(bank().dense) < 5


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_tasks", [1, 2])
@pytest.mark.parametrize("p", [1.0, 1.5, 4.0])
def test_optimum_is_that_of_the_conic_programme(loss, n_tasks, p):
    tasks = tuple(make_task(loss, X, seed) for seed in range(n_tasks))
    if p == 1.0:
        family = SimplexWeights(bank(), make_kernel)
        energy = lambda d: 0.5 * cp.max(cp.hstack(d))  # noqa: E731
    else:
        family = BallWeights(bank(), make_kernel, p)
        energy = lambda d: 0.5 * 5 ** (1 / p - 1) * cp.pnorm(cp.hstack(d), p / (p - 1))  # noqa: E731
    result = solve_saddle(SaddleProblem(family, tasks), KERNEL_WEIGHTS, tol=1e-8)
    assert result.converged
    optimum = conic_value([k(X) for k in KERNELS], tasks, energy)
    assert_allclose(result.objective, optimum, rtol=1e-5)
    if p == 1.0:
        assert_allclose(result.theta.sum(), 1.0, rtol=1e-12)
    else:
        assert_allclose(np.mean((5 * result.theta) ** p), 1.0, rtol=1e-6)


def test_kernels_with_weight_have_the_largest_form():
    """The optimality conditions of SimpleMKL."""
    _, problem, result = solution(TestSimplexWeights, "kernel_weights", "hinge")
    result = sparsest(problem, result, 1e-6)
    d = forms(result.x)
    used = result.theta > 0.0
    assert 0 < used.sum() < 5
    assert_allclose(d[used], d.max(), rtol=1e-2)
    assert np.all(d[~used] < d.max() * (1 + 1e-6))


def test_sparsest_result_has_a_true_certificate():
    family = SimplexWeights(bank(), make_kernel)
    problem = SaddleProblem(family, (make_task("hinge", X, 0),))
    rough = solve_saddle(problem, KERNEL_WEIGHTS, tol=0.05)
    sparse = sparsest(problem, rough, 0.05)
    assert np.count_nonzero(sparse.theta) < np.count_nonzero(rough.theta)
    assert sparse.gap <= 0.05 * sparse.objective
    optimum = solve_saddle(problem, KERNEL_WEIGHTS, tol=1e-8).objective
    K, task = matrix(family.gram(sparse.theta)), problem.tasks[0]
    f = K @ sparse.x[0]
    upper = (
        0.5 * sparse.x[0] @ f + 0.5 * np.maximum(1 - task.p * (f + sparse.intercept[0]), 0).sum()
    )
    assert_allclose(upper, sparse.objective + sparse.gap, rtol=1e-9)
    assert sparse.objective <= optimum <= upper
    lower = task.p @ sparse.witness[0] - 0.5 * forms(sparse.witness).max()
    assert_allclose(lower, sparse.objective, rtol=1e-9)


def test_larger_norms_lead_from_the_simplex_to_the_average():
    task = (make_task("hinge", X, 0),)
    families = [SimplexWeights(bank(), make_kernel)]
    families += [BallWeights(bank(), make_kernel, p) for p in (1.01, 1.3, 2.0, 10.0, 1000.0)]
    values = [
        solve_saddle(SaddleProblem(f, task), KERNEL_WEIGHTS, tol=1e-7).objective for f in families
    ]
    assert np.all(np.diff(values) > 0.0)
    K = sum(k(X) for k in KERNELS) / 5
    average = conic_value([K], task, lambda d: 0.5 * d[0])
    assert_allclose(values[-1], average, rtol=5e-3)
    assert_allclose(values[1], values[0], rtol=2e-2)
