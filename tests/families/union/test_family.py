"""The convex hull of several families: the checks of every family, and what it contains."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelfit.families.multiple.bank import from_matrix, make_bank
from kernelfit.families.multiple.kernels import BankKernel
from kernelfit.families.multiple.weights import SimplexWeights
from kernelfit.families.psd.family import PositiveMatrixFamily
from kernelfit.families.psd.features import FeatureBasis, Monomials
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.families.union.atoms import BankAtoms, MatrixAtoms, WidthAtoms
from kernelfit.families.union.family import UnionFamily
from kernelfit.kernels.standard import RBF, Linear
from kernelfit.learners.positive_matrix import fit_family
from kernelfit.solvers.saddle.column_generation import COLUMN_GENERATION
from kernelfit.solvers.saddle.fully_corrective import FULLY_CORRECTIVE
from kernelfit.solvers.saddle.kernel_weights import KERNEL_WEIGHTS
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle
from tests.families.conformance import LOSSES, FamilyConformance, make_task
from tests.reference.kernel_learning import conic_value

X = np.random.default_rng(0).standard_normal((30, 3))
GAMMAS = 4.0 ** np.arange(-2, 3)
GIVEN = (BankKernel(Linear(), (0,)), BankKernel(RBF(0.3), (1, 2), 0.5))


def matrix_family(make_basis):
    found = fit_family(X, np.ones(len(X)), make_basis, normalize=True, cache_bytes=1e9)
    scale = found.scale / found.size
    return PositiveMatrixFamily(found.basis, found.X, scale, found.scaling, 1e9)


def polynomial():
    return matrix_family(lambda d: FeatureBasis(d, Monomials(2)))


def tessellated():
    return matrix_family(lambda d: TessellatedBasis(d, 1, 0.5, "x"))


def bank():
    return make_bank(len(X), [from_matrix(k(X)) for k in GIVEN], np.inf)


def union(*names):
    sets = {
        "widths": lambda: WidthAtoms(X, GAMMAS),
        "feature": lambda: WidthAtoms(X, GAMMAS, (1,)),
        "polynomial": lambda: MatrixAtoms(polynomial()),
        "tessellated": lambda: MatrixAtoms(tessellated()),
        "bank": lambda: BankAtoms(bank(), GIVEN),
    }
    return UnionFamily([sets[name]() for name in names], len(X), np.inf)


def gaussians():
    """Return the matrices of both grids."""
    whole = [RBF(gamma)(X) for gamma in GAMMAS]
    return whole + [RBF(gamma)(X[:, 1:2]) for gamma in GAMMAS]


class TestUnion(FamilyConformance):
    def make(self):
        rng = np.random.default_rng(1)
        betas = [rng.standard_normal((2, 30)), X.T[:2], np.sign(X.T[1:])]
        return union("widths", "feature", "polynomial", "bank"), X, betas

    def energy(self, family, beta):
        matrices = gaussians() + [k(X) for k in GIVEN]
        forms = [sum(b @ K @ b for b in beta) for K in matrices]
        psd = polynomial()
        Z = psd.basis.points(psd.X).Z
        D = psd.scale * psd.size * sum(np.outer(Z.T @ b, Z.T @ b) for b in beta)
        return 0.5 * max(*forms, np.linalg.eigvalsh(D)[-1])


@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_over_a_grid_is_that_of_the_conic_programme(loss):
    tasks = (make_task(loss, X, 0),)
    result = solve_saddle(
        SaddleProblem(union("widths", "feature"), tasks), COLUMN_GENERATION, tol=1e-7
    )
    assert result.converged
    optimum = conic_value(gaussians(), tasks, lambda d: 0.5 * cp.max(cp.hstack(d)))
    assert_allclose(result.objective, optimum, rtol=1e-5)


@pytest.mark.parametrize("make", [polynomial, tessellated])
def test_rank_one_kernels_alone_are_the_whole_family(make):
    """The hull of the rank-one kernels is that of all matrices of the trace."""
    tasks = (make_task("hinge", X, 0),)
    family = UnionFamily([MatrixAtoms(make())], len(X), np.inf)
    found = solve_saddle(SaddleProblem(family, tasks), COLUMN_GENERATION, tol=1e-4)
    direct = solve_saddle(SaddleProblem(make(), tasks), FULLY_CORRECTIVE, tol=1e-6)
    assert found.converged
    assert_allclose(found.objective, direct.objective, rtol=2e-4)


def test_a_bank_alone_is_multiple_kernel_learning():
    tasks = tuple(make_task("hinge", X, seed) for seed in range(2))
    found = solve_saddle(SaddleProblem(union("bank"), tasks), COLUMN_GENERATION, tol=1e-6)
    family = SimplexWeights(bank(), lambda weights: None)
    direct = solve_saddle(SaddleProblem(family, tasks), KERNEL_WEIGHTS, tol=1e-6)
    assert_allclose(found.objective, direct.objective, rtol=2e-6)


def test_more_families_are_never_worse():
    tasks = (make_task("hinge", X, 0),)
    names = ("bank", "feature", "widths", "polynomial", "tessellated")
    results = [
        solve_saddle(SaddleProblem(union(*names[:k]), tasks), COLUMN_GENERATION, tol=1e-4)
        for k in range(1, 6)
    ]
    for fewer, more in itertools.pairwise(results):
        assert more.converged
        assert more.objective <= fewer.objective + fewer.gap
    assert results[-1].objective < 0.9 * results[0].objective
