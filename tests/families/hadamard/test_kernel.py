"""The learned kernel on new points: averages of rows of the factor, by the shares of a rule."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelfit.families.hadamard.dank import AdaptiveFamily
from kernelfit.families.hadamard.kernel import (
    BlockKernel,
    HadamardKernel,
    LearnedFactor,
    ScaledKernel,
    row_keys,
)
from kernelfit.families.hadamard.knpl import PairwiseFamily
from kernelfit.families.hadamard.neighbours import (
    knn_shares,
    reciprocal_neighbours,
    smooth_shares,
)
from kernelfit.kernels.gram import DenseGram
from kernelfit.kernels.standard import RBF

RULES = ["nearest", "knn", "reciprocal", "smooth"]
ROOT = RBF(0.3)
X = np.random.default_rng(0).standard_normal((20, 3))
NEW = np.random.default_rng(1).standard_normal((7, 3))


def learned(points, beta, rule, weight=None, method="dank", tau=0.0):
    """Return the kernel of a factor, and the factor on the training points."""
    weight = np.ones(len(beta)) if weight is None else weight
    K = ROOT(points, points)
    options = {"tau": tau} if method == "dank" else {}
    kind = AdaptiveFamily if method == "dank" else PairwiseFamily
    family = kind(DenseGram(K), weight, 0.5, **options)
    response = family.respond_to(beta)
    factor = LearnedFactor(response.compact(), response.support, len(beta), family.neutral)
    theta = response.matrix(K)
    return HadamardKernel(ROOT, factor, points, weight, rule, 3), theta


def sparse_beta(n=20):
    rng = np.random.default_rng(2)
    return rng.standard_normal(n) * (rng.uniform(size=n) > 0.4)


def shares_of(rule, kernel):
    points = kernel.points
    distances = ((NEW[:, None] - points) ** 2).sum(axis=2)
    if rule == "smooth":
        return smooth_shares(ROOT(NEW, points), np.ones(len(points)))
    if rule == "reciprocal":
        return reciprocal_neighbours(distances).toarray()
    return knn_shares(distances, np.ones(len(points)), 1 if rule == "nearest" else 3).toarray()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("method", "tau"), [("dank", 0.0), ("dank", 0.5), ("knpl", 0.0)])
def test_new_points_have_averages_and_training_points_their_own_rows(method, tau, rule):
    kernel, theta = learned(X, sparse_beta(), rule, method=method, tau=tau)
    S = shares_of(rule, kernel)
    neutral = kernel.factor.neutral
    change = theta - neutral  # which is what is averaged
    assert_allclose(kernel(X), theta * ROOT(X), atol=1e-12)
    assert_allclose(kernel(NEW, X), (neutral + S @ change) * ROOT(NEW, X), atol=1e-12)
    assert_allclose(kernel(NEW), (neutral + S @ change @ S.T) * ROOT(NEW), atol=1e-12)
    rows = np.array([4, 0, 11])
    found = kernel.multiply(ROOT(NEW, X[rows]), NEW, rows)
    assert_allclose(found, kernel(NEW, X)[:, rows], atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_sparse_points_give_the_same(rule):
    points = X * (X > -0.5)
    beta = sparse_beta()
    dense, _ = learned(points, beta, rule)
    both, _ = learned(points, beta, rule)
    both = replace(both, points=sparse.csr_array(points))
    new = np.vstack([NEW, points[3:5]])
    assert_allclose(both(sparse.csr_array(new)), dense(new), atol=1e-12)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "reciprocal"])
def test_weights_are_copies(rule):
    """Also of points that equal each other, though with other coefficients."""
    points, beta = X.copy(), sparse_beta()
    points[5], beta[5], beta[6] = points[6], 1.5, -0.3
    weight = np.random.default_rng(3).integers(1, 4, 20)
    weight[5], weight[6] = 3, 1
    index = np.repeat(np.arange(20), weight)
    weighted, _ = learned(points, beta, rule, weight.astype(float))
    copied, _ = learned(points[index], (beta / weight)[index], rule)
    new = np.vstack([NEW, points[4:7]])
    assert_allclose(weighted(new), copied(new), atol=1e-10)


def test_a_point_far_from_all_has_the_factor_without_adaptation():
    kernel, theta = learned(X, sparse_beta(), "smooth", tau=0.5)
    far, near = np.full((1, 3), 1e3), X[:2]
    assert abs(theta - kernel.factor.neutral).max() > 0.01
    assert_allclose(kernel(far), kernel.factor.neutral)
    assert_allclose(kernel.multiply(np.ones((1, 2)), far, np.arange(2)), kernel.factor.neutral)
    assert_array_equal(kernel(far, near), 0.0)


def test_a_kernel_of_blocks_vanishes_between_them():
    centres = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    base, _ = learned(X, sparse_beta(), "nearest")
    for inner in (ROOT, ScaledKernel(ROOT, 0.5), base):
        kernel = BlockKernel(inner, ROOT, centres, np.arange(2), X)
        apart = (NEW[:, :1] > 0.0) != (X[:, 0] > 0.0)
        assert_array_equal(kernel(NEW, X), np.where(apart, 0.0, inner(NEW, X)))
        rows = np.array([4, 0, 11])
        found = kernel.multiply(ROOT(NEW, X[rows]), NEW, rows)
        assert_allclose(found, kernel(NEW, X)[:, rows], atol=1e-12)


def test_keys_of_equal_rows_are_equal():
    Y = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
    for keys in (row_keys(Y), row_keys(sparse.csr_array(Y))):
        assert keys[0] == keys[1] != keys[2]


def test_factors_of_other_points_are_refused():
    kernel, _ = learned(X, sparse_beta(), "nearest")
    with pytest.raises(ValueError, match="a factor of 19 points"):
        replace(kernel, points=X[:-1])
