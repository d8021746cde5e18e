"""What the fuzzer fits: an estimator, its parameters and data, all drawn from one seed.

Every part has a random generator of its own, made of the seed and the part's name, so that a new
estimator or parameter does not change the draws of the others.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse

import kernelfit

# Not drawn: what has no certificate, and ensembles, which fit many machines.
ESTIMATORS = [
    name
    for name in kernelfit.__all__
    if hasattr(getattr(kernelfit, name), "predict")
    and not name.startswith(("AutoKernel", "NadarayaWatson"))
]
# Parameters that do not change what is fitted, or are drawn elsewhere: n_jobs by a check. Devices
# have tests of their own.
LEFT_ALONE = {"verbose", "n_jobs", "checkpoint", "feature_map", "device"}


def generator(seed: int, part: str) -> np.random.Generator:
    return np.random.default_rng([seed, crc32(part.encode())])


def min_kernel(X, Y):
    """A positive semidefinite kernel of the user."""
    return np.minimum(np.abs(X)[:, None, :], np.abs(Y)[None, :, :]).sum(axis=2)


def tanh_kernel(X, Y):
    """An indefinite kernel of the user."""
    return np.tanh(X @ Y.T - 0.5)


def moderate(rng):
    return float(10.0 ** rng.uniform(-3, 3))


def extreme(rng):
    return float(10.0 ** rng.uniform(-200, 200))


def positive(rng):
    return extreme(rng) if rng.random() < 0.3 else moderate(rng)


def non_negative(rng):
    return 0.0 if rng.random() < 0.3 else positive(rng)


def options(*values, p=None):
    return lambda rng, data: values[rng.choice(len(values), p=p)]


def number(draw):
    return lambda rng, data: draw(rng)


def several(draw):
    return lambda rng, data: [draw(rng) for _ in range(rng.integers(1, 4))]


def either(first, second, share=0.5):
    return lambda rng, data: (first if rng.random() < share else second)(rng, data)


@dataclass(frozen=True)
class Data:
    """What is handed to fit and predict."""

    X: Any
    y: Any
    weight: Any
    X_new: Any
    # How the rows were made, in words.
    recipe: str


def _gamma(rng, data):
    words = ("median", "variance", "scale", "reconstruction")
    if data.y is not None:
        words = ("scale", "auto")
    return words[rng.integers(len(words))] if rng.random() < 0.4 else positive(rng)


def _eta(rng):
    words = ("auto", "0.1*auto", "1e-6*auto", "1e3*auto", np.inf)
    return words[rng.integers(len(words))] if rng.random() < 0.5 else positive(rng)


def _class_weight(rng, data):
    if rng.random() < 0.5:
        return "balanced"
    return {label: positive(rng) for label in np.unique(data.y).tolist()}


def _scoring(rng, data):
    words = ("balanced_accuracy", "f1_macro")
    if data.y.dtype.kind == "f":
        words = ("neg_mean_absolute_error", "neg_mean_squared_error")
    return words[rng.integers(len(words))]


def _loss(rng, data):
    words = ("hinge", "squared_hinge", "squared")
    if data.y.dtype.kind == "f":
        words = ("tube", "squared_tube", "squared")
    return words[rng.integers(len(words))]


def _level(rng):
    return float([rng.uniform(0.01, 0.99), 10.0 ** rng.uniform(-12, -1)][rng.integers(2)])


def _count(low, extra):
    """An integer from low to the number of rows and `extra` beyond it; mostly a small one."""
    return lambda rng, data: int(
        rng.integers(low, data.X.shape[0] + extra + 1)
        if rng.random() < 0.2
        else rng.integers(low, low + 5)
    )


KERNELS = ("rbf", "linear", "poly", "laplacian", "precomputed", min_kernel, tanh_kernel)
AFFINITIES = (
    "rbf",
    "self_tuning",
    "nearest_neighbors",
    "self_representation",
    "density",
    "sparse_manifold",
    "smooth_representation",
    "random_forest",
    "ratio_forest",
    "adaptive_widths",
    "sparse_subspace",
    "precomputed",
    min_kernel,
    tanh_kernel,
)

POOLS: dict[str, Callable[[np.random.Generator, Data], Any]] = {
    "C": number(positive),
    "Cs": several(positive),
    "affinity": options(*AFFINITIES),
    "affinity_params": options(
        None,
        {"ratio": 0.2},
        {"mass": 0.9, "symmetry": "max"},
        {"n_trees": 5},
        p=[0.7, 0.1, 0.1, 0.1],
    ),
    "alpha_init": options("uniform", "sparse"),
    "assign_labels": options("kmeans", "cluster_qr"),
    "assign_new": options("embedding", "similarity"),
    "bases": options(["x"], ["x", "xz"]),
    "basis": options("x", "xz"),
    "cache_size": options(1e-6, 1e-3, 1e-2),
    "column_kinds": options({0: "category"}),
    "class_weight": _class_weight,
    "coef0": either(number(lambda rng: float(rng.normal())), number(extreme), 0.8),
    "combination": options("average", "simple", "lp", "align", "alignf", "easy", "pwmk", "deep"),
    "combine": options("global", "concatenate", "nearest"),
    "cv": options(2, 3, 5),
    "decision_function_shape": options("ovr", "ovo"),
    "degree": number(lambda rng: int(rng.integers(0, 5))),
    "degrees": several(lambda rng: int(rng.integers(0, 4))),
    "delta": number(non_negative),
    "deltas": several(non_negative),
    "epsilon": number(non_negative),
    "epsilons": several(non_negative),
    "eta": number(_eta),
    "etas": several(_eta),
    "families": options(["gaussian"], ["gaussian", "feature_gaussian"], ["polynomial"]),
    "gamma": _gamma,
    "gammas": several(lambda rng: "scale" if rng.random() < 0.2 else positive(rng)),
    "imbalance": options(0.1, 0.5, 1.0),
    "kernel": options(*KERNELS, p=[0.1, 0.2, 0.25, 0.15, 0.2, 0.05, 0.05]),
    "kernels": options(["linear", "rbf"], [{"kernel": "rbf", "features": "each"}], [min_kernel]),
    "kernel_sharing": options("separate", "joint"),
    "lam": options(0.01, 0.1, 1.0),
    "loss": _loss,
    "max_clusters": options(2, 3, 20),
    "max_iter": options(0, 1, 2, 20, 200, p=[0.05, 0.15, 0.2, 0.3, 0.3]),
    "mode": options("balanced", "relaxed", "literal"),
    "mu": options(0.5, "entropy", 1e-9, 0.1, 0.9, 1.0 - 1e-9, 2.0),
    "multi_class": options("ovo", "ovr"),
    "n_average": options(1, 2, 10),
    "n_clusters": _count(1, 1),
    "n_components": _count(1, 1),
    "n_init": options(1, 2),
    "n_landmarks": _count(1, 1),
    "n_layers": options(1, 2, 3),
    "n_neighbors": _count(1, 1),
    "n_relaxed": options(0, 20, 100),
    "n_nonzero": either(_count(1, 1), options(None), 0.8),
    "nu": either(number(_level), options(1.0), 0.9),
    "out_of_sample": options("neutral", "knn", "nearest", "reciprocal", "smooth", "hyper"),
    "p": options(1.0, 1.5, 2.0, 10.0),
    "partition": _count(1, 1),
    "penalty": number(positive),
    "ps": several(lambda rng: float(rng.uniform(1.0, 4.0))),
    "quantile": either(number(_level), several(_level)),
    "random_state": number(lambda rng: int(rng.integers(1000))),
    "rho": number(non_negative),
    "scaling": options("auto", "standard", "ranks", "given"),
    "scalings": options(["ranks"], ["range", "ranks"]),
    "scoring": _scoring,
    "search_tol": options(1e-2, 1e-6, 1.0),
    "shares": options("dirichlet", "process"),
    "solver": options(
        *("quartic", "newton", "damped", "nesterov", "nesterov_monotone", "projected_gradient"),
        *("alternating", "admm", "frank_wolfe", "fully_corrective", "apd", "hybrid"),
    ),
    "tau": number(non_negative),
    "tessellated_degrees": several(lambda rng: int(rng.integers(0, 3))),
    "tessellated_degree": number(lambda rng: int(rng.integers(0, 3))),
    "tol": options(1e-12, 1e-9, 1e-3, 0.1, 10.0),
}
# Drawn in every case: for the same bits, and grids of a search that are small.
ALWAYS = {"random_state", "n_clusters", "n_init"}
ALWAYS |= {"Cs", "degrees", "deltas", "epsilons", "etas", "gammas", "kernels", "ps"}
ALWAYS |= {"tessellated_degrees"}
# Estimators whose "solver" means the positive matrices', with the functions in mind of `degree`.
MATRIX_SOLVERS = ("frank_wolfe", "fully_corrective", "apd", "hybrid")


@dataclass(frozen=True)
class Draw:
    """One estimator with its data; `make` draws it."""

    seed: int
    name: str
    params: dict[str, Any]
    data: Data = field(repr=False)

    def estimator(self, **changes):
        return getattr(kernelfit, self.name)(**{**self.params, **changes})

    def fit(self, **changes):
        """Return a new estimator, fitted."""
        estimator = self.estimator(**changes)
        if self.data.weight is None:
            return estimator.fit(self.data.X, self.data.y)
        return estimator.fit(self.data.X, self.data.y, sample_weight=self.data.weight)

    def __str__(self):
        params = ", ".join(f"{key}={_short(value)}" for key, value in self.params.items())
        return f"{self.name}({params}) on {self.data.recipe}"


def make(seed: int, name: str | None = None) -> Draw:
    """Draw the case of this seed; of the estimator of this name where one is given."""
    if name is None:
        name = min(ESTIMATORS, key=lambda name: crc32(f"{seed} {name}".encode()))
    known = inspect.signature(getattr(kernelfit, name)).parameters
    kind = "clustering" if "n_clusters" in known else "regression"
    if "class_weight" in known:
        kind = "classification"
    data = make_data(generator(seed, "data"), kind)
    params = {}
    for key, parameter in known.items():
        rng = generator(seed, key)
        if key in LEFT_ALONE or (key not in ALWAYS and rng.random() < 0.5):
            continue
        if isinstance(parameter.default, bool):
            params[key] = bool(rng.integers(2))
        else:
            params[key] = POOLS[key](rng, data)
    _reconcile(params, known, data)
    if "precomputed" in (params.get("kernel"), params.get("affinity")):
        data = precompute(generator(seed, "matrix"), data)
    return Draw(seed, name, params, data)


def _reconcile(params, known, data):
    """Take back what one class does not have, or what would only be slow."""
    matrices = bool({"basis", "bases", "feature_map"}.intersection(known))
    if "solver" in params and (params["solver"] in MATRIX_SOLVERS) != matrices:
        del params["solver"]
    if "affinity" in params and "mu" not in known and params["affinity"] in AFFINITIES[2:9]:
        del params["affinity"]
    if params.get("affinity") == "self_tuning" and "imbalance" in known:  # not a kernel
        del params["affinity"]
    if params.get("solver") in ("alternating", "admm") and "tau" in known:
        del params["solver"]
    if params.get("solver") == "quartic" and "tau" not in known:
        del params["solver"]
    if matrices and data.X.shape[1] > 10:  # the functions grow with features ** degree
        few = {"degree": 1, "degrees": [1], "tessellated_degree": 1, "tessellated_degrees": [1]}
        params |= {key: value for key, value in few.items() if key in known}
    if data.X.shape[1] > 3:
        params.pop("bases", None)
    if params.get("basis") == "xz" and data.X.shape[1] > 3:
        params.pop("degrees", None)
        for key in {"degree", "tessellated_degree"} & params.keys():
            params[key] = min(params[key], 2)
    if matrices and "scaling" in params:
        params["scaling"] = "ranks"
    if params.get("loss") == "squared":  # which has no tube
        params.pop("epsilons", None)
    if "easy" in params.get("combination", "") and "lam" not in known:
        del params["combination"]
    if params.get("max_iter") == 0 and "mu" not in known:
        params["max_iter"] = 5
    if "gammas" in params and params.get("kernel", "rbf") not in ("rbf", "poly", "laplacian"):
        del params["gammas"]


def make_data(rng: np.random.Generator, kind: str) -> Data:
    """Draw rows, targets and weights; `kind` is classification, regression or clustering."""
    low, high = [(2, 9), (9, 31), (31, 61)][rng.choice(3, p=[0.25, 0.5, 0.25])]
    n = int(rng.integers(low, high))
    d = int(
        [1, rng.integers(2, 6), rng.integers(6, 11), n + rng.integers(1, 25)][
            rng.choice(4, p=[0.2, 0.5, 0.2, 0.1])
        ]
    )
    m = 8
    shape = ["normal", "blobs", "grid", "duplicates", "constant column", "all equal", "outlier"][
        rng.choice(7, p=[0.25, 0.15, 0.15, 0.15, 0.1, 0.05, 0.15])
    ]
    X = rng.normal(size=(n + m, d))
    if shape == "blobs":
        X = 0.1 * X + rng.integers(0, 3, size=(n + m, 1))
    elif shape == "grid":
        X = rng.integers(-1, 2, size=(n + m, d)).astype(float)
    elif shape == "duplicates":
        X = X[rng.integers(0, max(1, n // 3), size=n + m)]
    elif shape == "constant column":
        X[:, rng.integers(d)] = 1.0
    elif shape == "all equal":
        X[:] = X[0]
    elif shape == "outlier":
        X[rng.integers(n + m)] *= 10.0 ** rng.uniform(2, 8)
    scale = [1.0, 10.0 ** rng.uniform(-6, 6), extreme(rng), None][
        rng.choice(4, p=[0.6, 0.15, 0.2, 0.05])
    ]
    if scale is None:
        X = X * 10.0 ** rng.uniform(-8, 8, size=d)
    else:
        X = X * scale
    offset = 0.0
    if rng.random() < 0.15:
        offset = float(np.abs(X).max() * 10.0 ** rng.uniform(0, 10))
        X = X + offset
    X_new = X[n:].copy()
    X_new[:3] = X[:3] if n >= 3 else X[0]
    X_new[-1] *= [1e3, 1e100][rng.integers(2)]
    X_new[~np.isfinite(X_new)] = 1e300
    X = X[:n]
    recipe = f"{n} x {d} {shape}, scale {_short(scale)}, offset {_short(offset)}"
    y, words = _make_targets(rng, X, kind)
    weight, more = _make_weights(rng, n)
    X, X_new, layout = _make_layout(rng, X, X_new)
    return Data(X, y, weight, X_new, ", ".join(w for w in (recipe, words, more, layout) if w))


def _make_targets(rng, X, kind):
    n = len(X)
    if kind == "clustering":
        return None, ""
    with np.errstate(all="ignore"):
        score = (X / max(np.abs(X).max(), 1e-300)) @ rng.normal(size=X.shape[1])
    score = score / (np.ptp(score) or 1.0) + rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=n)
    if kind == "regression":
        form = ["plain", "constant", "integers", "offset"][rng.choice(4, p=[0.7, 0.1, 0.1, 0.1])]
        scale = extreme(rng) if rng.random() < 0.25 else 1.0
        y = scale * score
        if form == "constant":
            y = np.full(n, y[0])
        elif form == "integers":
            y = np.round(3 * score)
        elif form == "offset":
            y = y + np.abs(y).max() * 10.0 ** rng.uniform(0, 12)
        return y, f"{form} targets, scale {_short(scale)}"
    k = int([2, 3, rng.integers(4, 8), max(2, n // 2)][rng.choice(4, p=[0.6, 0.2, 0.1, 0.1])])
    labels = np.digitize(score, np.quantile(score, np.linspace(0, 1, k + 1)[1:-1]))
    if rng.random() < 0.15:
        labels = rng.integers(0, k, size=n)
    names = [np.arange(k), np.array([f"c{c}" for c in range(k)]), np.arange(k) - 7.0][
        rng.choice(3, p=[0.7, 0.2, 0.1])
    ]
    return names.astype(int if names.dtype.kind == "f" else names.dtype)[labels], f"{k} classes"


def _make_weights(rng, n):
    if rng.random() < 0.6:
        return None, ""
    form = ["counts", "uniform", "extreme spread", "extreme scale"][
        rng.choice(4, p=[0.4, 0.3, 0.15, 0.15])
    ]
    if form == "counts":
        weight = rng.integers(0, 3, size=n).astype(float)
    else:
        weight = rng.uniform(0.1, 2.0, size=n)
    if form == "extreme spread":
        weight = 10.0 ** rng.uniform(-100, 100, size=n)
    elif form == "extreme scale":
        weight = weight * extreme(rng)
    return weight, f"weights {form}"


def _make_layout(rng, X, X_new):
    """Change type and layout of the rows."""
    form = ["", "float32", "int", "fortran", "sparse"][rng.choice(5, p=[0.6, 0.1, 0.1, 0.1, 0.1])]
    largest = max(np.abs(X).max(), np.abs(X_new).max())
    if form == "float32" and largest < 1e38:
        return X.astype(np.float32), X_new.astype(np.float32), form
    if form == "int" and largest < 1e15:
        return np.round(X).astype(np.int64), np.round(X_new).astype(np.int64), form
    if form == "fortran":
        return np.asfortranarray(X), X_new[:, ::-1][:, ::-1], form
    if form == "sparse":
        return sparse.csr_matrix(X), sparse.csr_matrix(X_new), form
    return X, X_new, ""


def precompute(rng: np.random.Generator, data: Data) -> Data:
    """Replace the rows by matrices of kernel values, of any scale, sometimes indefinite."""
    X, Y = (
        np.asarray(A.toarray() if sparse.issparse(A) else A, float) for A in (data.X, data.X_new)
    )
    largest = max(np.abs(X).max(), 1e-300)
    X, Y = X / largest, np.clip(Y / largest, -10, 10)
    kernel = [
        lambda A, B: A @ B.T,
        lambda A, B: np.exp(-5.0 * ((A[:, None] - B[None]) ** 2).sum(axis=2)),
        tanh_kernel,
    ][rng.choice(3, p=[0.4, 0.4, 0.2])]
    scale = extreme(rng) if rng.random() < 0.2 else 1.0
    dtype = np.float32 if rng.random() < 0.1 and 1e-30 < scale < 1e30 else np.float64
    K, K_new = (scale * kernel(A, X) for A in (X, Y))
    K = (K + K.T) / 2
    recipe = f"a {dtype.__name__} matrix of scale {_short(scale)} of {data.recipe}"
    return Data(K.astype(dtype), data.y, data.weight, K_new.astype(dtype), recipe)


def _short(value):
    if callable(value):
        return value.__name__
    return f"{value:.3g}" if isinstance(value, float) else repr(value)
