"""The step function in one dimension and a function in two, Section 6.3.1 of the DANK paper [1]_.

The paper prints the functions, the step's height 3, period 2 and steepness 0.05 on [-5, 5], and 400
points, uniformly drawn, for the function of two variables on [-0.5, 0.5]^2. It prints neither noise
nor the number of points of the step: ours are none and 100. Points are drawn anew for every split;
the error is that at 1,000 and 2,500 points of a grid, relative to the variance. Machines are chosen
as for the small sets (`dank_tables`): features in [0, 1], targets of variance 1, a tube of 0.1.

With steepness 0.05 the step function is a straight line to four digits: "steep" has 20. The
harmonic function of two variables is known on [0, 1]^2, which is "unit".

References
----------
.. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Learning Data-adaptive Non-parametric Kernels".
   Journal of Machine Learning Research 21, 2020.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from kernelfit.estimators.dank import DANKRegressor
from kernelfit.papers.dank_tables import GRID, METHODS, SETTINGS
from kernelfit.papers.protocol import Measured, Protocol, at_edges
from kernelfit.selection.svm_cv import KernelSVRCV

SETS: dict[str, dict[str, Any]] = {
    "step_1d": {"steepness": 0.05, "domain": (-5.0, 5.0), "rows": 100, "grid": 1000},
    "step_1d_steep": {"steepness": 20.0, "domain": (-5.0, 5.0), "rows": 100, "grid": 1000},
    "cherkassky_2d": {"domain": (-0.5, 0.5), "rows": 400, "grid": 50},
    "cherkassky_2d_unit": {"domain": (0.0, 1.0), "rows": 400, "grid": 50},
}


def step(x: Any, height: float, period: float, steepness: float) -> Any:
    """Return the values of a staircase with smooth steps."""
    whole = np.floor(x / period)
    bend = np.tanh(steepness * (x / period - whole - 0.5)) / (2.0 * np.tanh(0.5 * steepness))
    return height * (bend + 0.5 + whole)


def harmonic(u: Any, v: Any) -> Any:
    """Return the values of the harmonic function of two variables."""
    a, b = u - 0.5, v - 0.5
    return 42.659 * (0.1 + a * (0.05 + a**4 - 10.0 * a**2 * b**2 + 5.0 * b**4))


@lru_cache(maxsize=1)
def _data(name: str, split: int) -> tuple[Any, Any, Any, Any]:
    settings = SETS[name]
    low, high = settings["domain"]
    d = 1 if "steepness" in settings else 2
    line = np.linspace(low, high, settings["grid"])
    X = np.random.default_rng(split).uniform(low, high, (settings["rows"], d))
    X_test = np.stack(np.meshgrid(*[line] * d), axis=-1).reshape(-1, d)

    def values(points: Any) -> Any:
        if d == 2:
            return harmonic(*points.T)
        return step(points[:, 0], 3.0, 2.0, settings["steepness"])

    y, y_test = values(X), values(X_test)
    scaler = MinMaxScaler().fit(X)
    y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    return scaler.transform(X), y, scaler.transform(X_test), y_test


@lru_cache(maxsize=1)
def _plain(name: str, split: int) -> Any:
    search = KernelSVRCV(**GRID, epsilons=[SETTINGS["epsilon"]], **SETTINGS["search"])
    return search.fit(*_data(name, split)[:2])


def measure(name: str, split: int, method: str) -> Measured:
    """Return the error of a method on points that are drawn anew."""
    X, y, X_test, y_test = _data(name, split)
    plain = _plain(name, split)
    model = plain.best_estimator_
    if method == "DANK":
        options = METHODS["DANK"]["options"]
        model = DANKRegressor(**plain.best_params_, **options, out_of_sample="reciprocal")
        model.fit(X, y)
    error = np.sum((model.predict(X_test) - y_test) ** 2) / np.sum((y_test - y_test.mean()) ** 2)
    chosen = {key: float(plain.best_params_[key]) for key in ("C", "gamma")}
    edges = at_edges(chosen, {"C": GRID["Cs"], "gamma": GRID["gammas"]})
    return Measured({"test error": float(error)}, chosen, edges)


def n_splits(name: str) -> int:
    """Return how many times points are drawn."""
    return 10


PROTOCOL = Protocol(
    name="dank-functions",
    answers=(("dank", "section 6.3.1"),),
    sets=SETS,
    methods={method: METHODS[method] for method in ("SVR-CV", "DANK")},
    settings=SETTINGS,
    measure=measure,
    n_splits=n_splits,
    baselines=("SVR-CV",),
)
