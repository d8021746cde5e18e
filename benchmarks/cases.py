"""The cases of `benchmarks.compare`, and the process that runs them with one source tree.

A case uses the public estimators alone and gives every setting that matters, so that it does the
same work with any two commits, whatever their defaults. It is a function that returns `prepare`;
`prepare()` returns the call to be timed, which returns a fitted estimator.
"""

import inspect
import json
import sys
import time
import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, StratifiedKFold

import kernelfit
from benchmarks.data import load_or_make, standardise, unit_range

COSTS = (1.0, 10.0, 100.0)
GAPS = (1e-3, 1e-6)
SVM = {"fit_intercept": True, "max_iter": 1000, "cache_size": 2000, "n_jobs": 1, "verbose": 0}
TKL = {
    "degree": 1, "basis": "x", "normalize": True, "fit_intercept": True, "solver": "auto",
    "max_iter": 1000, "cache_size": 2000, "n_jobs": 1, "verbose": 0,
}  # fmt: skip
DANK = {**SVM, "eta": "auto", "out_of_sample": "neutral", "solver": "auto", "partition": None}
CDSK = {
    "n_clusters": 10, "gamma": "median", "n_neighbors": 10, "n_landmarks": None, "mu": 0.5,
    "rho": 1.0, "mode": "balanced", "alpha_init": "uniform", "max_iter": 20, "tol": 1e-4,
    "assign_labels": "kmeans", "normalize_rows": True, "n_init": 10, "random_state": 0,
    "n_jobs": 1, "verbose": 0,
}  # fmt: skip

lacking = set()  # settings that an estimator of this tree does not have


@dataclass(frozen=True)
class Case:
    """A function that makes the case, and whether `--quick` runs it."""

    make: object
    quick: bool = False


def build(name, **settings):
    """Return an estimator of this tree with those of the settings that it has."""
    estimator = getattr(kernelfit, name)
    known = inspect.signature(estimator).parameters
    lacking.update(key for key in settings if key not in known)
    return estimator(**{key: value for key, value in settings.items() if key in known})


@lru_cache(1)
def machine_data(name):
    """Return X, the labels or targets, and what the estimator of the task is called."""
    X, y = load_or_make(name)
    if name == "space_ga":
        return standardise(X), (y - y.mean()) / y.std(), "KernelSVR"
    y = y > np.median(y) if name == "abalone" else y > 0
    return standardise(X), np.where(y, 1.0, -1.0), "KernelSVC"


@lru_cache(1)  # cases of a set follow each other
def grams(name):
    """Return the Gram matrix of a set, and the same moved a little towards a narrower kernel."""
    X = machine_data(name)[0]
    K, narrower = (rbf_kernel(X, gamma=factor / X.shape[1]) for factor in (1, 2))
    return K, K + 0.02 * (narrower - K)


def svm(name, **settings):
    estimator = machine_data(name)[2]
    return build(estimator, **SVM, **({"epsilon": 0.1} if estimator == "KernelSVR" else {}),
                 **settings)  # fmt: skip


def svm_cold(name, C, tol):
    X, y, _ = machine_data(name)
    model = svm(name, C=C, tol=tol, kernel="rbf", gamma=1.0 / X.shape[1], warm_start=False)
    return lambda: partial(model.fit, X, y)


def svm_precomputed(name, C, tol):
    K, y = grams(name)[0], machine_data(name)[1]
    model = svm(name, C=C, tol=tol, kernel="precomputed", warm_start=False)
    return lambda: partial(model.fit, K, y)


def svm_warm(name, change, tol):
    """Fit again from the solution for a slightly smaller C, or for another matrix."""
    (K, moved), y = grams(name), machine_data(name)[1]

    def prepare():
        model = svm(name, C=10.0, tol=tol, kernel="precomputed", warm_start=True).fit(K, y)
        if change == "C":
            return partial(model.set_params(C=11.0).fit, K, y)
        return partial(model.fit, moved, y)

    return prepare


def svm_grid(name):
    """The papers' grid on half of a set."""
    X, y = load_or_make(name)
    half = np.random.default_rng(0).permutation(len(y))[: len(y) // 2]
    X, y = unit_range(X[half]), y[half]
    powers = 2.0 ** np.arange(-5, 6)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    search = build(
        "KernelSVCCV", gammas=0.5 / powers[::-1] ** 2, Cs=powers, cv=folds, kernel="rbf",
        n_average=1, tol=1e-4, **SVM,
    )  # fmt: skip
    return lambda: partial(search.fit, X, y)


def tkl_fit(tol):
    X, y = load_or_make("abalone")
    X, y = unit_range(X), (y - y.mean()) / y.std()
    model = build("TKLRegressor", C=1.0, epsilon=0.1, delta=0.5, tol=tol, **TKL)
    return lambda: partial(model.fit, X, y)


def tkl_search(name, n, task):
    X, y = load_or_make(name, n)
    X = unit_range(X)
    settings = {"Cs": [0.1, 1.0, 10.0, 100.0], "deltas": [0.1, 0.5], "n_average": 1, **TKL}
    del settings["degree"]  # 1 by default
    # A tree without `search_tol` compares machines at the tolerance of the refit.
    settings |= {"tol": 1e-2, "search_tol": 1e-2}
    folds = KFold(2, shuffle=True, random_state=0)
    if task == "Regressor":
        y = (y - y.mean()) / y.std()
        settings["epsilons"] = [0.05, 0.1]
    else:
        y = y > (np.median(y) if name == "abalone" else 0)
        folds = StratifiedKFold(2, shuffle=True, random_state=0)
    search = build(f"TKL{task}CV", cv=list(folds.split(X, y)), **settings)
    return lambda: partial(search.fit, X, y)


def dank(name, n, C, gamma, tau, tol):
    X, y = load_or_make(name, n)
    X = unit_range(X)
    model = build("DANKClassifier", C=C, gamma=gamma, kernel="rbf", tau=tau, tol=tol, **DANK)
    return lambda: partial(model.fit, X, y)


def cdsk(affinity):
    X, _ = load_or_make("usps", 5000)
    model = build("CDSKClustering", affinity=affinity, **CDSK)
    return lambda: partial(model.fit, X)


def all_cases():
    """Return the cases by name; those before the first slash share a process."""
    cases = {}
    sets = ("abalone", "spambase", "space_ga")
    for name, C, tol in product(sets, COSTS, GAPS):
        quick = name != "spambase" and C == 10.0 and tol == 1e-3
        case = Case(partial(svm_cold, name, C, tol), quick)
        cases[f"svm-cold/{name}/C={C:g}/tol={tol:g}"] = case
    for name, C in product(sets, COSTS):
        case = Case(partial(svm_precomputed, name, C, 1e-6), name != "spambase" and C == 100.0)
        cases[f"svm-precomputed/{name}/C={C:g}/tol=1e-06"] = case
    for name, change, tol in product(sets, ("C", "matrix"), GAPS):
        case = Case(partial(svm_warm, name, change, tol), name == "abalone" and tol == 1e-3)
        cases[f"svm-warm/{name}/{change}/tol={tol:g}"] = case
    for name in ("heart", "diabetic"):
        cases[f"svm-grid/{name}"] = Case(partial(svm_grid, name), True)
    for tol in (1e-2, 1e-3):
        cases[f"tkl-fit/abalone/tol={tol:g}"] = Case(partial(tkl_fit, tol), tol == 1e-2)
    for name, n, task in (
        ("pima", None, "Classifier"),
        ("abalone", 1500, "Classifier"),
        ("housing", None, "Regressor"),
        ("airfoil", None, "Regressor"),
    ):
        cases[f"tkl-search/{name}"] = Case(partial(tkl_search, name, n, task), n is None)
    for tau in (0.0, 0.01):
        cases[f"dank/heart/tau={tau:g}"] = Case(
            partial(dank, "heart", None, 4.0, 0.5, tau, 1e-6), True
        )
    cases["dank/eeg/tau=0"] = Case(partial(dank, "eeg", 7490, 32.0, 100.0, 0.0, 1e-3))
    for affinity, quick in (("rbf", False), ("nearest_neighbors", True)):
        cases[f"cdsk/{affinity}"] = Case(partial(cdsk, affinity), quick)
    return cases


CASES = all_cases()


def outcome(model):
    """Return a number by which the results of two trees can be compared."""
    found = getattr(model, "objective_", None)
    return float(np.sum(model.best_score_ if found is None else found))


def serve(tree, orders, answer):
    """Obey orders, one a line: the name of a case to make and run once, then "" to time it."""
    if Path(tree).resolve() not in Path(kernelfit.__file__).resolve().parents:
        answer({"error": "expected to import kernelfit from the tree to be measured"})
        return
    prepare = None
    for order in orders:
        try:
            if order.strip():
                prepare = None  # frees the data of the case before
                prepare = CASES[order.strip()].make()
                value = outcome(prepare()())
                answer({"value": value, "lacking": sorted(lacking)})
                lacking.clear()
                continue
            call = prepare()
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            answer({"cpu": cpu, "wall": wall})
        except Exception as error:  # this tree cannot run the case: the others go on
            answer({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(sys.argv[1], sys.stdin, lambda reply: print(json.dumps(reply), flush=True))
