"""The papers' protocols, one function a paper: scores of all methods on one split of one set.

dank, knpl
    Half of the rows for training, drawn anew for every split; monks, spect, splice and svmguide1
    have a split of their own. Features scaled to [0, 1] by the training half; C and gamma of the
    plain machine by 5-fold cross-validation over powers of two; the learned machine at the same C
    and gamma. DANK has its paper's eta, the squared norm of the plain machine's coefficients, and
    tau = 0.01; KNPL's eta is chosen by 5-fold cross-validation among multiples of that norm, from
    4^-4 to 4^4. New points by the papers' rules.
tkl
    80 % for training; all parameters by 2-fold cross-validation in the training part.
mkl
    The comparators of TKL by its protocol, with its bank of 13 kernels on all features and on each;
    those of KNPL by its own, with kernels on all features.
cds
    Whole sets from different seeds, one setting for each kind of data; AC is the accuracy under
    the best matching of clusters to classes, NMI mutual information over the larger entropy.

Accuracy is in percent. The error of regression is relative to the variance (DANK), or the mean
squared error (TKL), of california in units of its range.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from kernelfit.clustering.cdsk import CDSKClustering
from kernelfit.estimators.bank import DEFAULT_BANK
from kernelfit.estimators.dank import DANKClassifier, DANKRegressor
from kernelfit.estimators.mkl import MKLClassifier
from kernelfit.papers.knpl_search import eta_search
from kernelfit.papers.printed import published
from kernelfit.selection.mkl_cv import MKLClassifierCV
from kernelfit.selection.svm_cv import KernelSVCCV, KernelSVRCV
from kernelfit.selection.tkl_cv import TKLClassifierCV, TKLRegressorCV

Scores = dict[str, dict[str, float]]

TARGETS = frozenset({"airfoil", "bodyfat", "california", "ccpp", "cpusmall", "gas_turbine"})
TARGETS |= {"housing", "mpg", "pyrim", "space_ga", "triazines"}
GIVEN = frozenset({"monks1", "monks2", "monks3", "spect", "splice", "svmguide1"})
POWERS = 2.0 ** np.arange(-5, 6)
GRID: dict[str, Any] = {"gammas": 0.5 / POWERS[::-1] ** 2, "Cs": POWERS, "cv": 5, "tol": 1e-4}
COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
SEARCH_ROWS = 4000  # of the training part that parameters are chosen on
FIRST_SEED = 100  # the methods were designed while looking at splits 0 and 1
BANK = [
    {**entry, "features": features}
    for features in (None, "each")
    for entry in (
        {"kernel": "rbf", "gamma": (0.5 / np.geomspace(0.5, 10.0, 10) ** 2).tolist()},
        {"kernel": "poly", "degree": [1, 2, 3], "gamma": 1.0, "coef0": 1.0},
    )
]
AFFINITIES: dict[str, dict[str, Any]] = {
    "ionosphere": {"affinity": "rbf", "gamma": "median"},
    "mnist": {"affinity": "nearest_neighbors", "n_neighbors": 10},
    "yale_b": {"affinity": "self_representation", "n_nonzero": 5},
    "pie": {"affinity": "self_representation", "n_nonzero": 5},
}
IMAGES = {"affinity": "nearest_neighbors", "n_neighbors": 5}  # of objects and faces


def load(name: str) -> dict[str, Any]:
    """Return the arrays of a set from the folder that KERNELFIT_DATA names."""
    folder = os.environ.get("KERNELFIT_DATA")
    path = Path(folder or ".") / f"{name}.npz"
    if not folder or not path.is_file():
        raise FileNotFoundError(
            f"expected the environment variable KERNELFIT_DATA to name a folder with {name}.npz, "
            f"which holds arrays X and y, got {folder!r}"
        )
    with np.load(path) as archive:
        parts = {key: archive[key] for key in archive.files}
    if name == "climate":  # without the numbers of the study and the run
        parts["X"] = parts["X"][:, 2:]
    return parts


def n_splits(name: str, paper: str, wanted: int) -> int:
    """Return how many different splits a set has."""
    return 1 if name in GIVEN and paper in ("dank", "knpl", "mkl") else wanted


def half(name: str, split: int) -> tuple[Any, Any, Any, Any]:
    """Return X, y and the same for testing, scaled by the training half."""
    parts = load(name)
    X, y = parts["X"].astype(np.float64), parts["y"]
    if name in GIVEN:
        X_test, y_test = parts["X_test"].astype(np.float64), parts["y_test"]
    else:
        order = np.random.default_rng(FIRST_SEED + split).permutation(len(y))
        train, test = np.split(order, [len(y) // 2])
        X, y, X_test, y_test = X[train], y[train], X[test], y[test]
    if name in TARGETS:
        y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    scaler = MinMaxScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def share(name: str, split: int, scaler: Any) -> tuple[Any, Any, Any, Any]:
    """Return 80 % of a set and the rest, scaled by the former."""
    parts = load(name)
    X, y = parts["X"].astype(np.float64), parts["y"]
    if name == "abalone":
        y = (y > 9).astype(int)
    if name == "california":
        y = y / (y.max() - y.min())
    labels = None if name in TARGETS else y
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.2, random_state=split, stratify=labels
    )
    scaler.fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def _measure(name: str, model: Any, data: tuple[Any, Any, Any, Any]) -> dict[str, float]:
    """Return training and test scores: accuracy, or the relative squared error."""
    X, y, X_test, y_test = data
    found = {}
    for part, points, truth in (("train", X, y), ("test", X_test, y_test)):
        predicted = model.predict(points)
        if name in TARGETS:
            error, spread = np.sum((predicted - truth) ** 2), np.sum((truth - truth.mean()) ** 2)
            found[part] = float(error / spread)
        else:
            found[part] = 100.0 * float(np.mean(predicted == truth))
    return found


def _search(model: Any, X: Any, y: Any) -> Any:
    """Choose parameters on some of the rows, and train the best machine on all."""
    if len(y) <= SEARCH_ROWS:
        return model.fit(X, y)
    rows = np.random.default_rng(0).permutation(len(y))[:SEARCH_ROWS]
    return clone(model.fit(X[rows], y[rows]).best_estimator_).fit(X, y)


def _plain(name: str, data: tuple[Any, Any, Any, Any]) -> tuple[Any, dict[str, Any]]:
    X, y, *_ = data
    search: Any = KernelSVCCV(**GRID)
    if name in TARGETS:
        search = KernelSVRCV(**GRID, epsilons=[0.1])
    machine = _search(search, X, y)
    return machine, search.best_params_


def dank(name: str, split: int) -> Scores:
    """Return the scores of the plain machine and of DANK."""
    data = half(name, split)
    plain, chosen = _plain(name, data)
    kind = DANKRegressor if name in TARGETS else DANKClassifier
    learned = kind(**chosen, eta="auto", tau=0.01, tol=1e-6, out_of_sample="reciprocal")
    learned.fit(*data[:2])
    return {"SVM-CV": _measure(name, plain, data), "DANK": _measure(name, learned, data)}


def knpl(name: str, split: int) -> Scores:
    """Return the scores of the plain machine and of KNPL."""
    data = half(name, split)
    plain, chosen = _plain(name, data)
    learned = _search(eta_search(chosen, cv=5), *data[:2])
    return {"SVM-CV": _measure(name, plain, data), "KNPL": _measure(name, learned, data)}


def tkl(name: str, split: int) -> Scores:
    """Return the scores of TKL and of a random forest."""
    X, y, X_test, y_test = share(name, split, MinMaxScaler())
    Cs = 10.0 ** np.arange(-2, 8 if name in ("hill_valley", "housing") else 5)
    options: dict[str, Any] = {"Cs": Cs, "deltas": [0.1, 0.5, 2.0], "cv": 2, "cache_size": 6000}
    if name not in TARGETS:
        forest = RandomForestClassifier(random_state=0).fit(X, y)
        learned = _search(TKLClassifierCV(**options), X, y)
        found = {"TKL": learned.predict(X_test), "random forest": forest.predict(X_test)}
        return {m: {"test": 100.0 * float(np.mean(p == y_test))} for m, p in found.items()}
    centre, spread = y.mean(), y.std()
    search = TKLRegressorCV(**options, epsilons=[0.01, 0.05, 0.1])
    learned = _search(search, X, (y - centre) / spread)
    forest = RandomForestRegressor(random_state=0).fit(X, y)
    found = {"TKL": learned.predict(X_test) * spread + centre}
    found["random forest"] = forest.predict(X_test)
    return {method: {"test": float(np.mean((p - y_test) ** 2))} for method, p in found.items()}


def mkl(name: str, split: int) -> Scores:
    """Return the scores of the comparators of TKL, or of those of KNPL."""
    scores = {}
    if "SMKL" in published("mkl")["sets"][name]:
        data = share(name, split, StandardScaler())
        rules = {"SMKL": "simple", "AMKL": "average", "PWMK": "pwmk", "CKA": "alignf_signed"}
        for method, combination in rules.items():
            search = MKLClassifierCV(
                COSTS, cv=2, kernels=BANK, combination=combination, tol=1e-2, cache_size=8000
            )
            scores[method] = _measure(name, _search(search, *data[:2]), data)
    else:
        data = half(name, split)
        whole = [entry for entry in DEFAULT_BANK if entry["features"] is None]
        bayes = MKLClassifier(kernels=whole, combination="bayes").fit(*data[:2])
        easy = MKLClassifierCV(COSTS, kernels=whole, combination="easy")
        scores["BMKL"] = _measure(name, bayes, data)
        scores["EasyMKL"] = _measure(name, _search(easy, *data[:2]), data)
    return {method: {"test": found["test"]} for method, found in scores.items()}


def cds(name: str, split: int) -> Scores:
    """Return the scores of K-Means, and on one affinity of spectral clustering and CDSK."""
    parts = load(name)
    X, y = parts["X"].astype(np.float64), parts["y"]
    if "X_test" in parts:
        X = np.concatenate([X, parts["X_test"].astype(np.float64)])
        y = np.concatenate([y, parts["y_test"]])
    c = len(np.unique(y))
    learned = CDSKClustering(c, random_state=split, **AFFINITIES.get(name, IMAGES)).fit(X)
    spectral = SpectralClustering(c, affinity="precomputed", random_state=split)
    labels = {
        "K-Means": KMeans(c, n_init=10, random_state=split).fit(X).labels_,
        "spectral": spectral.fit(learned.affinity_matrix_).labels_,
        "CDSK": learned.labels_,
    }
    return {method: _agreement(y, found) for method, found in labels.items()}


def _agreement(y: Any, labels: Any) -> dict[str, float]:
    table = contingency_matrix(y, labels)
    accuracy = table[linear_sum_assignment(-table)].sum() / len(y)
    information = normalized_mutual_info_score(y, labels, average_method="max")
    return {"AC": float(accuracy), "NMI": float(information)}


PROTOCOLS: dict[str, Callable[[str, int], Scores]] = {
    "dank": dank,
    "knpl": knpl,
    "tkl": tkl,
    "cds": cds,
    "mkl": mkl,
}
SPLITS = {"dank": 10, "knpl": 10, "tkl": 5, "cds": 10, "mkl": 5}
