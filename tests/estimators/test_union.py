"""Machines with a kernel from the convex hull of several families."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_friedman1, make_moons
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from kernelfit import (
    KernelUnionClassifier,
    KernelUnionRegressor,
    MKLClassifier,
    MKLRegressor,
    TKLRegressor,
)
from kernelfit.estimators.bank import DEFAULT_BANK
from kernelfit.families.union.atoms import Widths
from kernelfit.inspection import audit


def moons(n=100):
    X, y = make_moons(n, noise=0.25, random_state=0)
    return scale(X), y


def friedman(n=80):
    X, y = make_friedman1(n, 5, noise=0.5, random_state=0)
    return scale(X), scale(y)


def test_it_contains_multiple_kernels_and_is_never_above_them():
    X, y = moons()
    for bank in (["linear", "rbf"], DEFAULT_BANK):
        mkl = MKLClassifier(C=5.0, kernels=bank, tol=1e-5).fit(X, y)
        alone = KernelUnionClassifier(C=5.0, families=(), kernels=bank, tol=1e-5).fit(X, y)
        assert_allclose(alone.objective_, mkl.objective_, rtol=2e-5)
        both = KernelUnionClassifier(C=5.0, kernels=bank).fit(X, y)
        assert both.objective_ <= mkl.objective_ + mkl.dual_gap_
        assert audit(both, X, y).confirmed
    X, y = friedman()
    mkl = MKLRegressor(C=5.0).fit(X, y)
    both = KernelUnionRegressor(C=5.0, kernels=DEFAULT_BANK).fit(X, y)
    assert both.objective_ <= mkl.objective_ + mkl.dual_gap_
    assert audit(both, X, y).confirmed


def test_fitted_attributes_and_the_learned_kernel():
    X, y = moons()
    model = KernelUnionClassifier(C=5.0, tol=1e-6).fit(X, y)
    assert_allclose(model.weights_.sum(), 1.0, rtol=1e-12)
    assert np.all(model.weights_ > 0.0) and len(model.weights_) == len(model.atoms_)
    assert [type(part) is Widths for part in model.hull_] == [True] * 3 + [False] * 2
    total = sum(w * k(X, X) for w, k in zip(model.weights_, model.atoms_, strict=True))
    assert_allclose(model.kernel_(X, X), total, rtol=1e-12)
    assert np.mean(np.diag(total)) <= 1.0 + 1e-12
    other = SVC(C=5.0, kernel=pickle.loads(pickle.dumps(model.kernel_)), tol=1e-8).fit(X, y)
    assert_allclose(model.decision_function(X), other.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("sharing", ["joint", "separate"])
def test_classes_share_a_kernel_or_do_not(sharing):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = KernelUnionClassifier(C=2.0, kernel_sharing=sharing, tol=1e-2)
    model.fit(X, y, sample_weight=weight)
    assert model.score(X, y) > 0.93
    found = audit(model, X, y, weight)
    assert all(a.confirmed for a in (found if isinstance(found, list) else [found]))
    repeats = weight.astype(int)
    values = model.decision_function(X)
    model.fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    assert_array_equal(model.decision_function(X), values)


def test_complaints():
    X, y = moons()
    with pytest.raises(ValueError, match=r"expected families among 'gaussian', .*, got 'forest'"):
        KernelUnionClassifier(families=["forest"]).fit(X, y)
    with pytest.raises(ValueError, match="at least one family or kernel"):
        KernelUnionClassifier(families=()).fit(X, y)
    with pytest.raises(ValueError, match=r"cache_size=0.01 MB, got 0\.0763 MB for 1 of them"):
        KernelUnionClassifier(families=["gaussian"], cache_size=0.01).fit(X, y)
    with pytest.raises(ValueError, match=r"in kernels\[0\]: .* name at least one feature"):
        KernelUnionClassifier(kernels=[{"kernel": "rbf", "features": []}]).fit(X, y)


@pytest.mark.parametrize("scale_", [1e-200, 1e-160, 1e200])
@pytest.mark.parametrize("families", [None, ["feature_gaussian"]])
def test_features_of_extreme_scale_are_refused_in_one_sentence(scale_, families):
    X, y = moons(40)
    for make in (KernelUnionClassifier, KernelUnionRegressor):
        with pytest.raises(ValueError, match="expected features of moderate scale, got gamma="):
            make(families=families).fit(X * scale_, y)


@pytest.mark.parametrize("degree, basis", [(0, "x"), (2, "x"), (1, "xz"), (3, "xz")])
def test_the_tessellated_family_alone_is_tkl(degree, basis):
    """Its matrices have trace 1 where those of TKL have trace n_P."""
    X = np.random.default_rng(5).uniform(size=(60, 2))
    y = np.sin(5.0 * X[:, 0]) + abs(X[:, 1] - 0.5)
    tkl = TKLRegressor(2.0, degree=degree, basis=basis, tol=1e-6).fit(X, y)
    size = len(tkl.P_)
    union = KernelUnionRegressor(
        2.0 * size, families=["tessellated"], tessellated_degree=degree, basis=basis, tol=1e-6
    ).fit(X, y)
    assert_allclose(union.objective_, size * tkl.objective_, rtol=1e-5)
    assert_allclose(union.predict(X), tkl.predict(X), atol=1e-3)
