"""The small sets of the DANK [1]_ and KNPL [2]_ papers, by their protocol.

Half of the rows are for training, drawn anew for every split; monks, spect, splice and svmguide1
have a given split. Features are scaled to [0, 1] by the training half, targets of regression to
mean 0 and variance 1, with a tube of 0.1. The plain machine's C and sigma are the best by 5-fold
cross-validation among powers of two from 2^-5 to 2^5, the grid that DANK prints. DANK and KNPL have
the same C and sigma. DANK's eta is the squared norm of the plain machine's coefficients, tau is
0.01 unless the name says otherwise, and the rule for new points is that of reciprocal neighbours.
KNPL's eta is tuned by 5-fold cross-validation, with the rule of the nearest neighbour
(`knpl_search`).

The other methods: MKL-uniform has one Gaussian for each sigma of the grid, as printed. No paper
prints the bank of BMKL, EasyMKL and DMKL beyond "ten Gaussians and polynomials of three degrees":
ours are those of `MKLClassifier`, on all features ("each": on single features as well). LogDet
learns a metric of all components of the Gaussian kernel matrix, RF weights 2,000 random features,
both with a linear machine at the plain machine's C, of RF at a multiple of it. NW has standardised
features.

"DANK neutral" and the like have another rule for new points, of KNPL with DANK's eta; "averaged" is
the mean of the machines that the folds cannot tell from the best one; "wide" goes on to C = 2^15
and sigma = 2^-10. Sets "again" are the given splits drawn anew, with as many rows for training.

References
----------
.. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Learning Data-adaptive Non-parametric Kernels".
   Journal of Machine Learning Research 21, 2020.
.. [2] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Nonlinear Pairwise Layer and Its Training for
   Kernel Learning". AAAI Conference on Artificial Intelligence, 2018.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from kernelfit.estimators.bank import DEFAULT_BANK
from kernelfit.estimators.dank import DANKClassifier, DANKRegressor
from kernelfit.estimators.knpl import KNPLClassifier, KNPLRegressor
from kernelfit.estimators.metric import KernelMetric
from kernelfit.estimators.mkl import MKLClassifier, MKLRegressor
from kernelfit.estimators.svm import KernelSVC
from kernelfit.papers.knpl_search import ETAS, POWERS, eta_search
from kernelfit.papers.nadaraya_watson import NadarayaWatson
from kernelfit.papers.protocol import Measured, Protocol, at_edges
from kernelfit.papers.random_features import RandomFeatureAlignment
from kernelfit.papers.splits import FIRST_SEED, GIVEN, REGRESSION, half, load
from kernelfit.selection.dank_cv import DANKClassifierCV, DANKRegressorCV
from kernelfit.selection.mkl_cv import MKLClassifierCV
from kernelfit.selection.svm_cv import KernelSVCCV, KernelSVRCV

Fitted = tuple[Any, dict[str, float], Mapping[str, Sequence[float]]]

AGAIN = "_again"
CLASSES = (
    "diabetic", "heart", "monks1", "monks2", "monks3", "sonar", "spect", "glass", "fertility",
    "wine", "breast_cancer", "climate", "svmguide1", "haberman", "ionosphere", "splice",
    "spambase", "eeg",
)  # fmt: skip
TARGETS = ("bodyfat", "pyrim", "space_ga", "triazines", "cpusmall", "housing", "mpg")
FEWER = {"space_ga": 3, "cpusmall": 3, "spambase": 3, "eeg": 3}  # splits
SEARCH_ROWS = {"cpusmall": 1000, "eeg": 2000}  # of the training half that machines are compared on
SETTINGS: dict[str, Any] = {
    "revision": 1,
    "search": {"cv": 5, "n_average": 10, "tol": 1e-4},
    "epsilon": 0.1,
}
GRID = {"Cs": tuple(POWERS), "gammas": tuple(0.5 / POWERS[::-1] ** 2)}
WIDE = {"Cs": tuple(2.0 ** np.arange(-5, 16)), "gammas": tuple(0.5 * 4.0 ** np.arange(-5, 11))}
LEARNED: dict[str, dict[str, Any]] = {
    "DANK": {**GRID, "fit": "learned", "options": {"eta": "auto", "tau": 0.01, "tol": 1e-6}},
    "KNPL": {**GRID, "fit": "learned", "options": {"eta": "auto", "tol": 1e-6}},
}
BANKS = {"": [entry for entry in DEFAULT_BANK if entry["features"] is None],
         ", each": list(DEFAULT_BANK)}  # fmt: skip
UNIFORM = [{"kernel": "rbf", "gamma": (0.5 / POWERS**2).tolist()}]
COSTS = tuple(10.0**k for k in range(-3, 6))


def _learned(kind: str, rule: str, **options: float) -> dict[str, Any]:
    options = {**LEARNED[kind]["options"], **options}
    return {**LEARNED[kind], "kind": kind, "rule": rule, "options": options}


METHODS: dict[str, dict[str, Any]] = {
    "MKL-uniform": {
        "fit": "multiple", "kernels": UNIFORM, "combination": "average", "Cs": tuple(POWERS),
    },
    "SVM-CV": {**GRID, "fit": "plain"},
    "SVR-CV": {**GRID, "fit": "plain"},
    "SVM-CV, averaged": {**GRID, "fit": "plain", "averaged": True},
    "SVM-CV, wide": {**WIDE, "fit": "plain"},
    "DANK-CV": {**GRID, "fit": "dank_cv"},
    "DANK-CV, averaged": {**GRID, "fit": "dank_cv", "averaged": True},
    "DANK": _learned("DANK", "reciprocal"),
    "DANK, wide": {**_learned("DANK", "reciprocal"), **WIDE},
    **{f"DANK tau={tau:g}": _learned("DANK", "reciprocal", tau=tau) for tau in (0, 1e-3, 0.1, 1)},
    **{
        f"{kind} {rule}": _learned(kind, rule)
        for kind in LEARNED
        for rule in ("neutral", "knn", "nearest", "reciprocal", "smooth", "hyper")
        if (kind, rule) != ("DANK", "reciprocal")
    },
    "KNPL": {**GRID, "fit": "tuned", "etas": ETAS},
    "LogDet": {**GRID, "fit": "log_det"},
    "RF": {
        **GRID, "fit": "features", "rho": (0.0, 1.0, 10.0, 100.0, 1000.0),
        "C multiple": tuple(4.0**k for k in range(-2, 5)),
    },
    "SVM-CV on learned widths": {"fit": "widths"},
    "NW": {"fit": "nadaraya_watson", "metric": "local"},
    "NW Euclidean": {"fit": "nadaraya_watson", "metric": "euclidean"},
    "DMKL": {"fit": "multiple", "kernels": BANKS[""], "combination": "deep", "Cs": COSTS},
    **{f"BMKL{end}": {"fit": "bayes", "kernels": bank} for end, bank in BANKS.items()},
    **{
        f"EasyMKL{end}": {"fit": "multiple", "kernels": bank, "combination": "easy", "Cs": COSTS}
        for end, bank in BANKS.items()
    },
}  # fmt: skip
SETS: dict[str, dict[str, Any]] = {
    name: {"search_rows": SEARCH_ROWS.get(name)}
    for name in (*CLASSES, *TARGETS, *(f"monks{k}{AGAIN}" for k in (1, 2, 3)), f"spect{AGAIN}")
}
# Methods of one of the two tasks, what would take hours, and data that are not to be had.
ONLY_CLASSES = ("MKL-uniform", "SVM-CV", "KNPL", "LogDet", "RF", "DMKL", "EasyMKL", "EasyMKL, each")
ONLY_TARGETS = ("SVR-CV", "NW", "NW Euclidean")
HYPER_SETS = ("heart", "sonar", "ionosphere")
MISSING = {(name, method) for name in TARGETS for method in ONLY_CLASSES}
MISSING |= {(name, method) for name in SETS if name not in TARGETS for method in ONLY_TARGETS}
MISSING |= {(n, f"{kind} hyper") for n in SETS if n not in HYPER_SETS for kind in LEARNED}
MISSING |= {
    ("cpusmall", "BMKL"),
    ("cpusmall", "BMKL, each"),
    ("eeg", "BMKL"),
    ("eeg", "BMKL, each"),
}
MISSING |= {("mg", method) for method in ("BMKL", "NW", "SVR-CV", "DANK")}


def n_splits(name: str) -> int:
    """Return how many splits a set has."""
    return 1 if name in GIVEN else FEWER.get(name, 10)


def measure(name: str, split: int, method: str) -> Measured:
    """Return what a method gives on one split of a set."""
    settings = METHODS[method]
    model, chosen, grids = _FITS[settings["fit"]](name, split, settings)
    X, y, X_test, y_test = _data(name, split)
    what = "error" if name in REGRESSION else "accuracy"
    scores = {f"test {what}": _score(name, model, X_test, y_test)}
    if settings["fit"] in ("plain", "dank_cv", "learned", "tuned") or method == "MKL-uniform":
        scores[f"train {what}"] = _score(name, model, X, y)
    if settings.get("kind") == "DANK":
        scores["rank"] = float(np.mean(model.rank_))
    return Measured(scores, chosen, at_edges(chosen, grids))


def _score(name: str, model: Any, X: Any, y: Any) -> float:
    """Return the accuracy in percent, or the squared error relative to the variance."""
    predicted = model.predict(X)
    if name in REGRESSION:
        return float(np.sum((predicted - y) ** 2) / np.sum((y - y.mean()) ** 2))
    return 100.0 * float(np.mean(predicted == y))


@lru_cache(maxsize=1)
def _data(name: str, split: int) -> tuple[Any, Any, Any, Any]:
    if not name.endswith(AGAIN):
        return half(name, split)
    parts = load(name.removesuffix(AGAIN))
    X, y = parts["X_test"].astype(np.float64), parts["y_test"]
    if not name.startswith("monks"):  # whose test part holds every point once
        X, y = np.concatenate([parts["X"], X]), np.concatenate([parts["y"], y])
    order = np.random.default_rng(FIRST_SEED + split).permutation(len(y))
    train, test = np.split(order, [len(parts["y"])])
    scaler = MinMaxScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def _searched(name: str, split: int, search: Any) -> Any:
    """Compare machines on some of the rows, train the best on all."""
    X, y, *_ = _data(name, split)
    rows = SETS[name]["search_rows"]
    if rows is None:
        return search.fit(X, y)
    search.fit(X[:rows], y[:rows])
    machines = getattr(search, "estimators_", [search.best_estimator_])
    search.estimators_ = [clone(machine).fit(X, y) for machine in machines]
    search.best_estimator_ = search.estimators_[0]
    return search


@lru_cache(maxsize=3)  # the plain machines, those of the wide grid, DANK's search
def _machines(
    name: str, split: int, kind: str, Cs: tuple[float, ...], gammas: tuple[float, ...]
) -> Any:
    options = {**SETTINGS["search"], "Cs": Cs, "gammas": gammas}
    if name in REGRESSION:
        regressor = {"plain": KernelSVRCV, "dank_cv": DANKRegressorCV}[kind]
        return _searched(name, split, regressor(**options, epsilons=[SETTINGS["epsilon"]]))
    classifier = {"plain": KernelSVCCV, "dank_cv": DANKClassifierCV}[kind]
    return _searched(name, split, classifier(**options))


def _fit_search(name: str, split: int, settings: Mapping[str, Any]) -> Fitted:
    search = _machines(name, split, settings["fit"], settings["Cs"], settings["gammas"])
    model = search if "averaged" in settings else search.best_estimator_
    return model, *_choice(search, settings)


def _plain(name: str, split: int, settings: Mapping[str, Any]) -> Any:
    return _machines(name, split, "plain", settings["Cs"], settings["gammas"])


def _choice(search: Any, settings: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    chosen = {key: float(search.best_params_[key]) for key in ("C", "gamma")}
    return chosen, {"C": settings["Cs"], "gamma": settings["gammas"]}


def _fit_learned(name: str, split: int, settings: Mapping[str, Any]) -> Fitted:
    plain = _plain(name, split, settings)
    kinds = (DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor)
    kind = kinds[2 * (settings["kind"] == "KNPL") + (name in REGRESSION)]
    options = {**plain.best_params_, **settings["options"], "out_of_sample": settings["rule"]}
    return kind(**options).fit(*_data(name, split)[:2]), *_choice(plain, settings)


def _fit_tuned(name: str, split: int, settings: Mapping[str, Any]) -> Fitted:
    plain = _plain(name, split, settings)
    search = eta_search(plain.best_params_, cv=SETTINGS["search"]["cv"])
    search = _searched(name, split, search)
    chosen, grids = _choice(plain, settings)
    chosen["eta"] = _multiple(search.best_params_["eta"])
    return search.best_estimator_, chosen, {**grids, "eta": [*map(_multiple, settings["etas"])]}


def _multiple(eta: str) -> float:
    return float(eta.removesuffix("*auto"))


def _fit_multiple(name: str, split: int, settings: Mapping[str, Any]) -> Fitted:
    bank, Cs = settings["kernels"], settings["Cs"]
    options = {"combination": settings["combination"], "cv": SETTINGS["search"]["cv"]}
    search = MKLClassifierCV(Cs, kernels=bank, cache_size=8000, **options)
    search = _searched(name, split, search)
    return search.best_estimator_, {"C": float(search.best_params_["C"])}, {"C": Cs}


def _fit_bayes(name: str, split: int, settings: Mapping[str, Any]) -> Fitted:
    kind = MKLRegressor if name in REGRESSION else MKLClassifier
    model = kind(combination="bayes", kernels=settings["kernels"], cache_size=8000)
    return model.fit(*_data(name, split)[:2]), {}, {}


def _fit_log_det(name: str, split: int, settings: Mapping[str, Any]) -> Fitted:
    plain = _plain(name, split, settings)
    chosen, grids = _choice(plain, settings)
    model = make_pipeline(
        KernelPCA(kernel="rbf", gamma=chosen["gamma"]),
        KernelMetric("logdet", random_state=0),
        _linear(chosen["C"]),
    )
    return model.fit(*_data(name, split)[:2]), chosen, grids


def _linear(C: float) -> KernelSVC:
    return KernelSVC(kernel="linear", C=C, max_iter=100_000)


def _fit_features(name: str, split: int, settings: Mapping[str, Any]) -> Fitted:
    plain = _plain(name, split, settings)
    chosen, grids = _choice(plain, settings)
    multiples = settings["C multiple"]
    model = make_pipeline(
        RandomFeatureAlignment(chosen["gamma"], random_state=0), _linear(chosen["C"])
    )
    rho, C = "randomfeaturealignment__rho", "kernelsvc__C"
    grid = {rho: settings["rho"], C: [chosen["C"] * multiple for multiple in multiples]}
    search = _searched(name, split, GridSearchCV(model, grid, cv=SETTINGS["search"]["cv"]))
    chosen["rho"] = search.best_params_[rho]
    chosen["C multiple"] = search.best_params_[C] / chosen["C"]
    grids |= {"rho": settings["rho"], "C multiple": multiples}
    return search.best_estimator_, chosen, grids


def _fit_widths(name: str, split: int, settings: Mapping[str, Any]) -> Fitted:
    X, y, *_ = _data(name, split)
    epsilon = [SETTINGS["epsilon"]]
    search = KernelSVRCV(epsilons=epsilon) if name in REGRESSION else KernelSVCCV()
    return make_pipeline(KernelMetric(random_state=0), search).fit(X, y), {}, {}


def _fit_nadaraya_watson(name: str, split: int, settings: Mapping[str, Any]) -> Fitted:
    model = make_pipeline(StandardScaler(), NadarayaWatson(settings["metric"], random_state=0))
    return model.fit(*_data(name, split)[:2]), {}, {}


_FITS = {
    "plain": _fit_search,
    "dank_cv": _fit_search,
    "learned": _fit_learned,
    "tuned": _fit_tuned,
    "multiple": _fit_multiple,
    "bayes": _fit_bayes,
    "log_det": _fit_log_det,
    "features": _fit_features,
    "widths": _fit_widths,
    "nadaraya_watson": _fit_nadaraya_watson,
}
PROTOCOL = Protocol(
    name="dank",
    answers=(
        ("dank", "table 1"), ("dank", "table 2"), ("dank", "table 5"), ("dank", "table 6"),
        ("knpl", "table 1"),
    ),
    sets=SETS,
    methods=METHODS,
    settings=SETTINGS,
    measure=measure,
    n_splits=n_splits,
    left_out=frozenset(MISSING),
    baselines=("SVM-CV", "SVR-CV"),
)  # fmt: skip
