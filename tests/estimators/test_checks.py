"""scikit-learn's estimator checks on every public estimator, without exceptions."""

import warnings

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelfit

PUBLIC = [getattr(kernelfit, name)() for name in kernelfit.__all__]
VARIANTS = [
    kernelfit.KernelSVC(multi_class="ovr"),
    kernelfit.KernelSVC(kernel="linear", class_weight="balanced"),
    kernelfit.KernelSVC(kernel="laplacian", fit_intercept=False),
    kernelfit.KernelSVC(kernel="precomputed"),
    kernelfit.KernelSVC(cache_size=1e-3, n_jobs=2),
    kernelfit.KernelSVR(kernel="poly", degree=2, coef0=1.0),
    kernelfit.KernelSVR(kernel="precomputed"),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(PUBLIC + VARIANTS)
def test_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        if getattr(estimator, "kernel", None) == "precomputed":
            # Some checks hand in an indefinite matrix.
            warnings.filterwarnings("ignore", ".*indefinite kernel matrix", UserWarning)
        check(estimator)
