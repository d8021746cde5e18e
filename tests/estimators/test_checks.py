"""scikit-learn's estimator checks on every public estimator, without expected failures."""

import warnings

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelfit

# Whole default grids take long; those of the plain searches are short enough for all checks.
WIDTHS = {"gammas": [0.1, 2.0], "Cs": [0.5, 4.0]}
ETAS = {**WIDTHS, "etas": [float("inf"), 0.1]}
BANK = ["linear", {"kernel": "rbf", "features": "each"}]
MEMBERS = {"members": ["gaussian (standard)", "forest"], "cv": 2}
UNION = {"families": ["gaussian", "tessellated"], "deltas": [0.1, 2.0], "cv": 2}
OPTIONS = {
    "AutoKernelClassifier": MEMBERS,
    "AutoKernelRegressor": MEMBERS,
    "BayesianMaxMarginClustering": {"max_iter": 20},
    "DANKClassifierCV": ETAS,
    "DANKRegressorCV": {**ETAS, "epsilons": [0.1]},
    "GPKClassifierCV": {"degrees": [1, 2], "Cs": [0.5, 4.0]},
    "GPKRegressorCV": {"degrees": [1, 2], "Cs": [0.5, 4.0], "epsilons": [0.1]},
    "KNPLClassifierCV": ETAS,
    "KernelClustering": {"max_clusters": 4},
    "KernelUnionClassifierCV": {**UNION, "Cs": [0.5, 4.0]},
    "KernelUnionRegressorCV": {**UNION, "Cs": [0.5, 4.0], "epsilons": [0.1]},
    "MKLClassifierCV": {"Cs": [0.5, 4.0], "kernels": BANK, "cv": 2},
    "MKLRegressorCV": {"Cs": [0.5, 4.0], "kernels": BANK, "epsilons": [0.1], "cv": 2},
    "KNPLRegressorCV": {**ETAS, "epsilons": [0.1]},
    "TKLClassifierCV": {"deltas": [0.1, 2.0], "cv": 2},  # with the default Cs and what extends them
    "TKLRegressorCV": {"deltas": [0.1, 2.0], "cv": 2},
}
ESTIMATORS = [name for name in kernelfit.__all__ if name[0].isupper()]
PUBLIC = [getattr(kernelfit, name)(**OPTIONS.get(name, {})) for name in ESTIMATORS]
VARIANTS = [
    kernelfit.CDSKClustering(affinity="nearest_neighbors"),
    kernelfit.CDSKClustering(affinity="self_tuning", assign_labels="cluster_qr"),
    kernelfit.CDSKClustering(n_landmarks=20),
    kernelfit.CDSKClustering(affinity="density"),
    kernelfit.CDSKClustering(affinity="sparse_manifold"),
    kernelfit.CDSKClustering(affinity="smooth_representation"),
    kernelfit.KernelMetric("agop"),
    kernelfit.KernelMetric("agop", diagonal=False, kernel="exponential"),
    kernelfit.KernelMetric("logdet"),
    kernelfit.KernelMetric("nw"),
    kernelfit.KernelSVC(multi_class="ovr"),
    kernelfit.KernelSVC(kernel="linear", class_weight="balanced"),
    kernelfit.KernelSVC(kernel="laplacian", fit_intercept=False),
    kernelfit.KernelSVC(kernel="precomputed"),
    kernelfit.KernelSVC(cache_size=1e-3, n_jobs=2),
    kernelfit.KernelSVC(warm_start=True),
    kernelfit.KernelSVR(kernel="poly", degree=2, coef0=1.0),
    kernelfit.KernelSVR(kernel="exponential", gamma="auto"),
    kernelfit.KernelSVR(kernel="precomputed"),
    kernelfit.KernelSVR(warm_start=True, kernel="linear"),
    kernelfit.KernelSVC(loss="squared_hinge"),
    kernelfit.KernelSVR(loss="squared_tube", warm_start=True),
    kernelfit.TKLClassifier(loss="squared_hinge"),
    kernelfit.TKLRegressor(loss="squared", warm_start=True),
    kernelfit.KernelRidgeClassifier(kernel="precomputed", class_weight="balanced"),
    kernelfit.KernelRidgeRegressor(kernel="linear", fit_intercept=False),
    kernelfit.KernelRidgeRegressorCV([0.1, 2.0], [0.5, 4.0], cv=3, n_jobs=2),
    kernelfit.DANKClassifier(eta="0.1*auto", out_of_sample="knn"),
    kernelfit.DANKClassifier(tau=0.01, out_of_sample="smooth", multi_class="ovr"),
    kernelfit.DANKClassifier(tau=0.01, kernel="precomputed", n_jobs=2),
    kernelfit.DANKClassifier(warm_start=True),
    kernelfit.DANKRegressor(out_of_sample="nearest"),
    kernelfit.DANKRegressor(tau=0.01, warm_start=True),
    kernelfit.KNPLRegressor(out_of_sample="hyper"),
    kernelfit.KNPLClassifier(warm_start=True, n_jobs=2),
    kernelfit.MKLClassifier(kernels=BANK, combination="lp", kernel_sharing="separate", n_jobs=2),
    kernelfit.MKLClassifier(kernels=BANK, combination="easy", warm_start=True),
    kernelfit.MKLClassifier(kernels=BANK, combination="pwmk"),
    kernelfit.MKLRegressor(kernels=BANK, combination="alignf"),
    kernelfit.MKLClassifier(kernels=BANK, cache_size=1e-3),
    kernelfit.MKLRegressor(kernels=BANK, cache_size=1e-3, warm_start=True),
    kernelfit.NadarayaWatson("local"),
    kernelfit.TKLClassifier(kernel_sharing="joint"),
    kernelfit.TKLClassifier(warm_start=True, n_jobs=2),
    kernelfit.TKLClassifier(kernel_sharing="joint", warm_start=True),
    kernelfit.TKLRegressor(basis="xz", warm_start=True),
    kernelfit.GPKClassifier(kernel_sharing="joint", class_weight="balanced"),
    kernelfit.KernelSVCCV([0.1, 2.0], [0.5, 4.0], n_jobs=2),
    kernelfit.KernelSVCCV([0.1, 2.0], [0.5, 4.0], n_average=2),
    kernelfit.KernelSVRCV(Cs=[0.5, 4.0], kernel="linear", n_jobs=2),
    kernelfit.TKLClassifierCV([0.5], [0.5, 4.0], kernel_sharing="joint", n_jobs=2),
]
PRECOMPUTED = [
    kernelfit.CDSKClustering(2, affinity="precomputed"),
    kernelfit.CDSClustering(2, affinity="precomputed"),
    kernelfit.KernelKMeans(2, affinity="precomputed"),
    kernelfit.MaxMarginClustering(2, affinity="precomputed"),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
# Some checks of sample weights hand four different points to a clustering into eight.
@pytest.mark.filterwarnings("ignore:.*only 4 different points")
# One check of scikit-learn 1.6 hands ten points to five folds.
@pytest.mark.filterwarnings("ignore:The least populated class in y")
# Some checks hand random classes to points that are rounded to few different ones.
@pytest.mark.filterwarnings("ignore:KF004")
@parametrize_with_checks(PUBLIC + VARIANTS)
def test_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        if getattr(estimator, "kernel", None) == "precomputed":
            # Some checks hand in an indefinite matrix.
            warnings.filterwarnings("ignore", ".*indefinite kernel matrix", UserWarning)
        check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:.* have no similarity to any point")
@parametrize_with_checks(PRECOMPUTED)
def test_estimator_checks_of_given_affinities(estimator, check):
    if check.func.__name__ == "check_clustering":
        pytest.skip("hands points to every clustering, a square matrix to none")
    check(estimator)
