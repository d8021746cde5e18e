"""Fitted estimators of every kind, small enough to save thousands of times."""

import inspect

import numpy as np
from sklearn.base import is_regressor
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import kernelfit
from kernelfit.kernels.additive import Additive
from kernelfit.kernels.radial import RBF, Matern
from kernelfit.kernels.standard import Linear

GRIDS = {"Cs": [0.5, 2.0], "gammas": [1.0], "etas": [0.1], "epsilons": [0.1], "deltas": [0.5]}
GRIDS |= {"degrees": [1], "cv": 2, "n_clusters": 3, "n_estimators": 5, "random_state": 0}
GRIDS |= {"members": ["gaussian (standard)"], "kernels": ["linear", "rbf"]}
VARIANTS = {
    "AutoKernelClassifier": [{"members": ["additive", "forest (standard)", "laplacian (ranks)"]}],
    "AutoKernelRegressor": [
        {"members": ["gaussian (standard, widths)", kernelfit.KernelSVR(C=3.0)], "cv": KFold(2)}
    ],
    "CDSClustering": [{"affinity": "self_tuning"}, {"affinity": "precomputed"}],
    "CDSKClustering": [
        {"affinity": "nearest_neighbors", "n_neighbors": 4},
        {"affinity": "self_representation"},
        {"affinity": RBF(0.3)},
        {"n_landmarks": 12},
    ],
    "DANKClassifier": [
        {"out_of_sample": "knn"},
        {"tau": 0.01, "out_of_sample": "smooth"},
        {"partition": 2, "kernel": Linear()},
    ],
    "DANKRegressor": [{"out_of_sample": "reciprocal"}, {"tau": 0.01}],
    "ForestKernel": [{"similarity": "ratio"}, {"task": "unsupervised"}],
    "KernelClustering": [{"n_clusters": "auto", "max_clusters": 3}],
    "KernelMetric": [{"method": method} for method in ("agop", "logdet", "nw")],
    "KernelOneClass": [{"kernel": "linear"}],
    "KernelQuantileRegressor": [{"quantile": [0.2, 0.8]}],
    "KernelSVC": [
        {"kernel": 0.5 * RBF([0.1, 0.2, 0.3]) + Matern(1.0, 2.5) * Additive(0.5)},
        {"kernel": "precomputed"},
        {"class_weight": {"a": 1.0, "b": 2.0, "c": float(np.float32(0.3))}, "multi_class": "ovr"},
    ],
    "KernelSVCCV": [{"cv": StratifiedKFold(2), "n_average": 2}],
    "KernelSVR": [{"kernel": "exponential"}, {"warm_start": True}],
    "KernelUnionClassifier": [{"kernel_sharing": "separate"}],
    "KNPLRegressor": [{"out_of_sample": "hyper"}],
    "MKLClassifier": [{"combination": rule} for rule in ("easy", "bayes", "deep")],
    "NadarayaWatson": [{"metric": "local"}],
    "TKLClassifier": [{"kernel_sharing": "joint"}],
    "TKLRegressor": [{"basis": "xz"}],
}
NAMES = [name for name in kernelfit.__all__ if name[0].isupper()]


def data(n=24):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    labels = np.array(["a", "b", "c"])[np.arange(n) % 3]
    return X, labels, X[:, 0] + 0.1 * rng.normal(size=n)


def points(estimator):
    """Return what an estimator is fitted on, and what it predicts."""
    X, new = data()[0], data(31)[0]
    if "precomputed" in (getattr(estimator, "kernel", 0), getattr(estimator, "affinity", 0)):
        kernel = RBF(0.2)
        return kernel(X, X), kernel(new, X)
    return X, new


def fit(estimator):
    _, labels, targets = data()
    return estimator.fit(points(estimator)[0], targets if is_regressor(estimator) else labels)


def variants(name):
    """Return unfitted estimators of one class."""
    cls = getattr(kernelfit, name)
    takes = inspect.signature(cls).parameters
    grids = {key: value for key, value in GRIDS.items() if key in takes}
    if "Union" in name:
        grids.pop("kernels", None)
    return [cls(**{**grids, **options}) for options in ({}, *VARIANTS.get(name, []))]


def pipelines():
    return [
        make_pipeline(StandardScaler(), kernelfit.KernelSVC()),
        make_pipeline(MinMaxScaler(), RobustScaler(), kernelfit.KernelRidgeRegressor()),
    ]


def stored():
    """Return the model, fitted by `fit`, that the stored file of the tests holds."""
    search = kernelfit.KernelSVCCV([0.5, 1.0], [0.5, 2.0], cv=2, n_average=2)
    return Pipeline([("scale", StandardScaler()), ("search", search)])


def results(estimator):
    """Return all that an estimator says of new points."""
    new = points(estimator)[1]
    names = ("predict", "decision_function", "predict_proba", "transform", "score_samples")
    return {name: getattr(estimator, name)(new) for name in names if hasattr(estimator, name)}
