"""Kernels of finite feature maps."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import PolynomialFeatures

from kernelfit.families.psd.family import PositiveMatrixFamily
from kernelfit.families.psd.features import FeatureBasis, Monomials


class Waves:
    def size(self, n_features):
        return 2 * n_features

    def features(self, X):
        return np.hstack([np.cos(3 * X), np.sin(3 * X)])


def test_monomials_are_all_up_to_the_degree():
    X = np.random.default_rng(0).standard_normal((5, 3))
    for degree in range(4):
        expected = PolynomialFeatures(degree).fit_transform(X)
        assert Monomials(degree).size(3) == expected.shape[1]
        assert_allclose(Monomials(degree).features(X), expected, rtol=1e-14)


def test_any_feature_map_is_a_family():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 2))
    family = PositiveMatrixFamily(FeatureBasis(2, Waves()), X, 1.3)
    Z = Waves().features(X)
    U = rng.standard_normal((4, 2))
    K = family.gram(U).whole.copy()
    assert_allclose(K, 1.3 * Z @ U @ U.T @ Z.T, rtol=0, atol=1e-13)
    some = PositiveMatrixFamily(family.basis, X[5:9], 1.3)
    assert_array_equal(some.gram(U).whole, K[5:9, 5:9])
    assert_allclose(family.gram(1.5).whole, 1.3 * 2.25 * Z @ Z.T, rtol=0, atol=1e-13)
    beta, weight = rng.standard_normal((2, 30))
    t = Z.T @ beta
    response = family.respond_to(beta)
    assert_allclose(response.form(beta).entries, 1.3 * np.outer(t, t), atol=1e-12)
    W = 1.3 * 0.5 * (Z[:, :, None] * t + t[:, None] * Z[:, None, :])
    assert_allclose(response.form(weight).entries, np.einsum("i,iab->ab", weight, W), atol=1e-12)
    left, right = rng.standard_normal((4, 2)), rng.standard_normal((4, 3))
    expected = np.einsum("iab,ak,bl->ikl", W, left, right)
    assert_allclose(response.contract(left, right), expected, atol=1e-12)
    assert_allclose(response.decision(left), np.einsum("iab,ab->i", W, left @ left.T), atol=1e-12)
    assert_allclose(response.decision(1.5), 2.25 * np.einsum("iaa->i", W), atol=1e-12)
    mixed = response.mix(family.respond_to(weight), 0.4).form(beta).entries
    expected = family.respond_to(0.6 * beta + 0.4 * weight).form(beta).entries
    assert_allclose(mixed, expected, atol=1e-12)
    assert_allclose(family.basis.identity_diagonal(X), (Z**2).sum(axis=1), rtol=1e-14)
