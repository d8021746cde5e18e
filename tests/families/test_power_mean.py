"""A family whose best response is no eigenvector: multiple kernels with weights in the l2 ball.

With ``d_r = beta'K_r beta`` the best weights are ``d / |d|_2`` and the energy is ``|d|_2 / 2``.
"""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from numpy.testing import assert_allclose

from kernelfit.kernels.gram import DenseGram
from kernelfit.solvers.saddle.frank_wolfe import FRANK_WOLFE
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle
from tests.families.conformance import LOSSES, FamilyConformance, make_task
from tests.families.test_multiple_kernels import KERNELS, SumKernel, X, betas
from tests.reference.kernel_learning import conic_value


@dataclass(frozen=True)
class PowerMeanResponse:
    values: np.ndarray  # K_r beta, of shape (n_tasks, R, m)
    d: np.ndarray

    @property
    def energy(self):
        return 0.5 * np.linalg.norm(self.d)

    @property
    def theta(self):
        return self.d / np.linalg.norm(self.d)

    def decision(self, theta):
        return np.einsum("r,tri->ti", theta, self.values)

    def excess(self, theta):
        return self.energy - 0.5 * theta @ self.d


class PowerMean:
    def __init__(self, kernels, X):
        self.kernels, self.matrices = kernels, np.stack([k(X, X) for k in kernels])
        self.initial = np.ones(len(kernels))

    def respond(self, beta):
        values = np.einsum("rij,tj->tri", self.matrices, beta)
        return PowerMeanResponse(values, np.einsum("ti,tri->r", beta, values))

    def gram(self, theta, update=None, few=False):
        K = np.tensordot(theta, self.matrices, 1)
        return DenseGram(K if update is None else K + update @ update.T)

    def penalty(self, theta):
        return 0.0

    def kernel(self, theta):
        return SumKernel(self.kernels, theta)

    def mix(self, theta, other, t):
        return (1 - t) * theta + t * other


class TestPowerMean(FamilyConformance):
    def make(self):
        return PowerMean(KERNELS, X), X, betas()

    def energy(self, family, beta):
        return 0.5 * np.linalg.norm([sum(b @ k(X, X) @ b for b in beta) for k in KERNELS])


def test_optimum_is_that_of_the_conic_programme():
    for loss in LOSSES:
        tasks = tuple(make_task(loss, X, seed) for seed in range(2))
        family = PowerMean(KERNELS, X)
        result = solve_saddle(SaddleProblem(family, tasks), FRANK_WOLFE, tol=1e-6)
        optimum = conic_value(
            family.matrices, tasks, lambda forms: 0.5 * cp.norm2(cp.hstack(forms))
        )
        assert result.converged
        assert_allclose(result.objective, optimum, rtol=1e-5)
