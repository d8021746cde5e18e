"""A family of one's own: l1 multiple kernel learning, ``K = sum mu_r K_r`` with ``sum mu_r = R``.

With D diagonal it is a `SpectralFamily`: every solver over positive matrices runs on it.
"""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from kernelfit.families.psd.spectral import SpectralFamily
from kernelfit.kernels.gram import DenseGram
from kernelfit.kernels.standard import RBF, Linear, Polynomial
from kernelfit.linalg.symmetric import DenseMatrix
from kernelfit.solvers.saddle.fully_corrective import FULLY_CORRECTIVE
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle
from tests.families.conformance import LOSSES, FamilyConformance, make_task, solution
from tests.reference.kernel_learning import conic_value

KERNELS = (Linear(), RBF(0.5), Polynomial(2, 0.2, 1.0))
X = np.random.default_rng(0).standard_normal((30, 3))


@dataclass(frozen=True)
class SumKernel:
    """A weighted sum of kernels."""

    kernels: tuple
    weights: np.ndarray

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        return sum(mu * k(X, Y) for mu, k in zip(self.weights, self.kernels, strict=True))


@dataclass(frozen=True)
class SumResponse:
    """W_i = diag of the values (K_r beta)_i, of shape (R, m)."""

    values: np.ndarray

    def form(self, weight):
        return DenseMatrix(np.diag(self.values @ weight))

    def decision(self, U):
        return weights(U, len(self.values)) @ self.values

    def contract(self, left, right):
        return np.einsum("ra,ri,rb->iab", left, self.values, right)

    def mix(self, other, t):
        return SumResponse((1 - t) * self.values + t * other.values)


def weights(U, size):
    """Return the diagonal of P = U U'; a number U is that multiple of the identity."""
    return np.full(size, U**2) if isinstance(U, float) else (U**2).sum(axis=1)


class MultipleKernels(SpectralFamily):
    """Sums of fixed kernels; P has their weights on its diagonal."""

    def __init__(self, kernels, X):
        self.kernels, self.matrices = kernels, np.stack([k(X, X) for k in kernels])

    @property
    def size(self):
        return len(self.kernels)

    def respond_to(self, beta):
        return SumResponse(self.matrices @ beta)

    def gram(self, theta, update=None, few=False):
        K = np.tensordot(weights(theta, self.size), self.matrices, 1)
        return DenseGram(K if update is None else K + update @ update.T)

    def kernel(self, theta):
        return SumKernel(self.kernels, weights(theta, self.size))


def betas():
    """Return betas of two tasks: any, such that polynomials vanish, and linear ones."""
    b = np.random.default_rng(1).standard_normal((2, len(X)))
    Q = np.linalg.qr(KERNELS[2](X, X)[:, :10])[0]
    return [b, b - b @ Q @ Q.T, X.T[:2]]


class TestMultipleKernels(FamilyConformance):
    def make(self):
        return MultipleKernels(KERNELS, X), X, betas()

    def energy(self, family, beta):
        return 0.5 * 3 * max(sum(b @ k(X, X) @ b for b in beta) for k in KERNELS)


def test_optimum_is_that_of_the_conic_programme():
    for loss in LOSSES:
        _, problem, result = solution(TestMultipleKernels, "fully_corrective", loss)
        matrices, tasks = problem.family.matrices, problem.tasks
        optimum = conic_value(matrices, tasks, lambda forms: 1.5 * cp.maximum(*forms))
        assert_allclose(result.objective, optimum, rtol=1e-5)


def test_predictions_are_those_of_a_machine_with_the_learned_kernel():
    problem = SaddleProblem(MultipleKernels(KERNELS, X), (make_task("hinge", X, 0),))
    result = solve_saddle(problem, FULLY_CORRECTIVE, tol=1e-9)
    kernel, new = problem.family.kernel(result.theta), X[::-1] + 0.1
    machine = SVC(C=0.5, kernel=kernel, tol=1e-9).fit(X, problem.tasks[0].p)
    found = kernel(new, X) @ result.x[0] + result.intercept[0]
    assert_allclose(found, machine.decision_function(new), atol=1e-4)
