"""DANK and KNPL pass the conformance suite."""

from functools import partial

import numpy as np

from kernelfit.families.hadamard.dank import AdaptiveFamily
from kernelfit.families.hadamard.kernel import HadamardKernel, LearnedFactor
from kernelfit.families.hadamard.knpl import PairwiseFamily
from kernelfit.kernels.gram import DenseGram
from kernelfit.kernels.standard import RBF
from tests.families.conformance import FamilyConformance
from tests.reference import dank

X = np.random.default_rng(0).standard_normal((20, 3))


def random_betas(seed=1):
    rng = np.random.default_rng(seed)
    betas = [rng.standard_normal((1, len(X))) for _ in range(3)]
    betas[1] *= rng.uniform(size=len(X)) > 0.6
    return betas


def nearest(weight, neutral, response):
    """Extend a factor by the nearest training point; a training point has its own row."""
    factor = LearnedFactor(response.compact(), response.support, len(X), neutral)
    return HadamardKernel(RBF(0.3), factor, X, weight, "nearest", 1)


class HadamardConformance(FamilyConformance):
    method, tau = "dank", 0.0
    eta = 4.0
    weight = np.ones(len(X))

    def make(self):
        options = {} if self.method == "knpl" else {"tau": self.tau}
        kind = PairwiseFamily if self.method == "knpl" else AdaptiveFamily
        gram = DenseGram(RBF(0.3)(X))
        neutral = kind(gram, self.weight, self.eta, **options).neutral
        rule = partial(nearest, self.weight, neutral)
        return kind(gram, self.weight, self.eta, rule, **options), X, random_betas()

    def thetas(self, family, betas):
        """Return responses, the initial factor and a mixture, the latter two as arrays."""
        found = super().thetas(family, betas)
        mixture = 0.7 * family.dense(found[0]) + 0.3 * family.dense(found[1])
        return [*found, family.initial, mixture]

    def energy(self, family, beta):
        """By dense eigenvalue problems on points that are spelled out as copies."""
        K = family.source.whole
        args = family.weight, family.eta, self.tau, self.method
        return dank.weighted_response(K, beta[0], *args)[1]


class TestAdaptive(HadamardConformance):
    pass


class TestAdaptiveWithWeights(HadamardConformance):
    weight = np.random.default_rng(2).integers(1, 4, len(X)).astype(float)


class TestNuclearNorm(HadamardConformance):
    tau = 0.05


class TestLargeNuclearNorm(HadamardConformance):
    tau = 5.0


class TestNuclearNormWithWeights(HadamardConformance):
    tau = 0.5
    weight = np.random.default_rng(3).integers(1, 4, len(X)).astype(float)


class TestPairwise(HadamardConformance):
    method = "knpl"


class TestPairwiseWithWeights(HadamardConformance):
    method = "knpl"
    weight = np.random.default_rng(4).integers(1, 4, len(X)).astype(float)
