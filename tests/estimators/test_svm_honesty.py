"""What a fitted machine claims is true, also at the edge of float64."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold

from kernelfit import (
    DANKClassifierCV,
    KernelSVC,
    KernelSVCCV,
    KernelSVR,
    KernelSVRCV,
    TKLClassifierCV,
)


def fit_quietly(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [w for w in caught if issubclass(w.category, ConvergenceWarning)]


@pytest.mark.parametrize("C", [1e4, 1e8, 1e12, 1e140])
def test_converged_means_that_the_tolerance_was_reached(C):
    """Huge costs put the tolerance below the rounding error: then the fit says so."""
    X, y = make_classification(100, 8, n_informative=5, flip_y=0.1, random_state=0)
    model = KernelSVC(C, kernel="poly", degree=5, gamma=1.0, coef0=1.0, max_iter=30)
    complaints = fit_quietly(model, X, y)
    assert model.converged_ == (model.dual_gap_ <= 1e-6 * model.objective_)
    assert bool(complaints) == (not model.converged_)
    if C >= 1e8:
        assert not model.converged_


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_an_offset_of_the_targets_costs_no_accuracy(offset):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    signal = np.round(np.sin(X[:, 0]) * 2**12) / 2**12  # exact after the addition of the offset
    plain = KernelSVR(epsilon=0.0).fit(X, signal)
    moved = KernelSVR(epsilon=0.0).fit(X, signal + offset)
    assert moved.converged_
    np.testing.assert_allclose(moved.objective_, plain.objective_, rtol=1e-9)
    np.testing.assert_allclose(moved.predict(X) - offset, plain.predict(X), atol=1e-7)


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_features_beyond_the_range_of_gamma(scale):
    X, y = load_iris(return_X_y=True)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="expected features of moder"):
        KernelSVC().fit(X * scale, y)


def test_overflow_of_costs_and_targets():
    X, y = load_iris(return_X_y=True)
    for model, largest in (
        (KernelSVC(1e10, class_weight={0: 1e300, 1: 1.0, 2: 1.0}), "inf"),
        (KernelSVC(1e200), r"1e\+200"),
        (KernelSVR(1e200), r"1e\+200"),
    ):
        message = rf"products of C and the weights, up to 1e\+150, got {largest}"
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    for search in (KernelSVCCV([1.0], [1e200]), KernelSVRCV([1.0], [1e200], [0.1])):
        with pytest.raises(ValueError, match=r"products of C and .* up to 1e\+150, got 1e\+200"):
            search.fit(X, y)
    for model in (KernelSVR(), KernelSVRCV([1.0], [1.0], [0.1])):
        message = r"expected targets up to 1e\+150, got 1e\+308"
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
            model.fit(X, np.sign(y - 1.0) * 1e308)


def test_the_scheme_is_that_of_the_fit():
    X, y = load_iris(return_X_y=True)
    model = KernelSVC(C=10.0).fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.set_params(multi_class="ovr").predict(X), expected)


def test_a_kernel_on_demand_is_checked_like_a_dense_one():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 2)), np.arange(400) % 2
    for kernel, message in (
        (lambda A, B: rbf_kernel(A, B) * np.nan, "finite values"),
        (lambda A, B: rbf_kernel(A, B)[:3, :3], "to return shape"),
        (lambda A, B: 1.0, "to return shape"),
        (lambda A, B: rbf_kernel(A, B) * 1j, "real numbers, got complex128"),
    ):
        for cache_size in (0.5, 200):
            with pytest.raises(ValueError, match=message):
                KernelSVC(kernel=kernel, cache_size=cache_size).fit(X, y)


@pytest.mark.parametrize(
    "search",
    [
        KernelSVCCV([1.0], [1.0]),
        KernelSVRCV([1.0], [1.0]),
        TKLClassifierCV([0.5], [1.0]),
        DANKClassifierCV([1.0], [1.0]),
    ],
)
def test_searches_keep_the_names_of_features(search):
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    search.fit(frame, y)
    assert list(search.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        search.predict(frame[list("dcba")])
    search.fit(X, y)
    assert not hasattr(search, "feature_names_in_")


def test_searches_take_groups():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(len(y)) % 7
    direct = KernelSVCCV([1.0], [1.0, 10.0], cv=GroupKFold(4)).fit(X, y, groups=groups)
    splits = list(GroupKFold(4).split(X, y, groups))
    listed = KernelSVCCV([1.0], [1.0, 10.0], cv=splits).fit(X, y)
    np.testing.assert_array_equal(
        direct.cv_results_["mean_test_score"], listed.cv_results_["mean_test_score"]
    )


def test_scores_that_are_not_finite_rank_last_or_are_refused():
    X, y = load_iris(return_X_y=True)

    def fails_sometimes(estimator, X, y):
        accuracy = (estimator.predict(X) == y).mean()
        return accuracy if accuracy < 0.97 else np.nan

    with pytest.warns(UserWarning, match="scores that are not finite"):
        search = KernelSVCCV([1e-4, 1.0], [1.0], cv=3, scoring=fails_sometimes).fit(X, y)
    assert np.isfinite(search.best_score_)
    with pytest.raises(ValueError, match="expected finite scores"):
        KernelSVCCV([1.0], [1.0], scoring=lambda *args: np.nan).fit(X, y)


def test_folds_without_rows():
    X, y = load_iris(return_X_y=True)
    rows = np.arange(150)
    weight = np.ones(150)
    weight[:30] = 0.0
    for cv, part in (
        ([(rows, rows[:0])], "test part of fold 1"),
        ([(rows[:0], rows)], "training part of fold 1"),
        ([(rows[30:], rows[:30])], "test part of fold 1"),
    ):
        with pytest.raises(ValueError, match=part):
            KernelSVCCV([1.0], [1.0], cv=cv).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="at least one fold"):
        KernelSVCCV([1.0], [1.0], cv=[]).fit(X, y)
