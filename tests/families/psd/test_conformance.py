"""TKL and GPK pass the conformance suite."""

import functools

import numpy as np
import pytest

from kernelfit.families.psd import family as module
from kernelfit.families.psd.family import UnitScaling
from kernelfit.families.psd.features import FeatureBasis, Monomials
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.learners.positive_matrix import fit_family
from tests.families.conformance import FamilyConformance
from tests.reference.tessellated import closed_table

X = np.random.default_rng(0).uniform(-3.0, 5.0, size=(24, 2))


def random_betas(n_tasks, seed=1):
    rng = np.random.default_rng(seed)
    betas = [rng.standard_normal((n_tasks, len(X))) for _ in range(3)]
    betas[1] *= rng.uniform(size=len(X)) > 0.8  # few support vectors
    return betas


class PositiveMatrixConformance(FamilyConformance):
    n_tasks = 1
    cache_bytes = np.inf

    def make(self):
        family = fit_family(
            X, np.ones(len(X)), self.basis, normalize=True, cache_bytes=self.cache_bytes
        )
        return family, X, random_betas(self.n_tasks)

    def energy(self, family, beta):
        """From the products of the basis: the largest eigenvalue of D."""
        G = self.products(family)
        D = family.scale * sum(np.einsum("i,j,ijab->ab", b, b, G) for b in beta)
        return 0.5 * len(D) * np.linalg.eigvalsh(0.5 * (D + D.T))[-1]


@functools.cache
def tessellated_products(variables):
    return closed_table(UnitScaling.fit(X)(X), 1, variables, 0.5)


class TessellatedConformance(PositiveMatrixConformance):
    @classmethod
    def basis(cls, n):
        return TessellatedBasis(n, 1, 0.5, cls.variables)

    @classmethod
    def products(cls, family):
        return tessellated_products(cls.variables)


class TestTessellated(TessellatedConformance):
    variables = "x"


class TestTessellatedByRows(TessellatedConformance):
    variables = "x"
    n_tasks = 2

    @pytest.fixture(autouse=True)
    def rows_of_volumes(self, monkeypatch):
        """Let a few rows be computed by themselves already on a few points."""
        monkeypatch.setattr(module, "_MIN_ROWS", 2)


class TestTessellatedWithIntegration(TessellatedConformance):
    variables = "xz"


class TestTessellatedOnDemand(TessellatedConformance):
    variables = "xz"
    cache_bytes = 1e3


class TestPolynomials(PositiveMatrixConformance):
    n_tasks = 2

    @staticmethod
    def basis(n):
        return FeatureBasis(n, Monomials(2))

    @staticmethod
    def products(family):
        Z = Monomials(2).features(family.X)
        return np.einsum("ia,jb->ijab", Z, Z)
