"""KNPL's response in closed form, and by the paper's ADMM."""

import numpy as np
import pytest

from kernelfit.families.hadamard.knpl import PairwiseFamily
from kernelfit.kernels.gram import DenseGram
from tests.reference import dank


def setting(n=10):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return K, rng.standard_normal(n) * (rng.uniform(size=n) > 0.4)


@pytest.mark.parametrize("eta", [0.05, 2.0])
def test_closed_form_equals_admm(eta):
    K, beta = setting()
    admm = dank.pairwise_matrix_admm(K, beta, eta)
    got = PairwiseFamily(DenseGram(K), np.ones(10), eta).respond_to(beta).matrix(K)
    assert np.abs(got - admm).max() < 1e-8


@pytest.mark.parametrize("weight", [1, 3])
def test_the_papers_admm_nears_the_closed_form(weight):
    """Its rounds are few; a weight of three is three copies of every point."""
    K, beta = setting()
    member = PairwiseFamily(DenseGram(K), np.full(10, float(weight)), 2.0)
    response = member.respond_to(beta)
    found, exact = member.admm(response), response.matrix(K)
    assert np.abs(found - exact).max() <= 1e-3 * np.abs(exact - 1.0).max()
    assert np.allclose(weight * found.sum(axis=1), weight * 10, rtol=1e-3)
