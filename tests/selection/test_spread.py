"""Searches, machines and ensembles give the same bits in one process and in several."""

import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris, make_friedman1
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from kernelfit import (
    AutoKernelClassifier,
    DANKClassifier,
    DANKClassifierCV,
    DANKRegressor,
    GPKRegressorCV,
    KernelQuantileRegressor,
    KernelRidgeClassifierCV,
    KernelRidgeRegressorCV,
    KernelSVC,
    KernelSVCCV,
    KernelSVRCV,
    KNPLClassifierCV,
    MKLClassifier,
    MKLRegressorCV,
    TKLRegressorCV,
)
from kernelfit.learners.plan import PlanSource
from kernelfit.selection import folds as folds_module
from kernelfit.selection import work as work_module
from kernelfit.selection.folds import Common, Parts
from kernelfit.utils.digest import digest

GRID = {"gammas": [0.1, 1.0], "Cs": [0.5, 20.0]}
POINTS, LABELS = load_iris(return_X_y=True)
POINTS = POINTS + 0.01 * np.random.default_rng(0).standard_normal(POINTS.shape)
INPUTS, TARGETS = make_friedman1(70, 5, random_state=0)


def kernel(A, B):
    return rbf_kernel(A, B, gamma=0.3)


CASES = {
    "svc": (KernelSVCCV(**GRID, n_average=2), POINTS, LABELS),
    "svc sparse": (KernelSVCCV(**GRID), sparse.csr_array(POINTS), LABELS),
    "svc callable": (KernelSVCCV(Cs=[1.0], kernel=kernel), POINTS, LABELS),
    "svc precomputed": (
        KernelSVCCV(Cs=[1.0], kernel="precomputed"), kernel(POINTS, POINTS), LABELS,
    ),
    "svr": (KernelSVRCV(**GRID), INPUTS, TARGETS),
    "dank": (DANKClassifierCV(**GRID, etas=[np.inf, 0.1]), POINTS, LABELS == 1),
    "knpl": (KNPLClassifierCV(**GRID, etas=[0.5]), POINTS, LABELS == 1),
    "tkl": (TKLRegressorCV([1.0], [0.1, 0.5]), INPUTS, TARGETS),
    "gpk": (GPKRegressorCV([1.0], [1, 2]), INPUTS, TARGETS),
    "mkl": (MKLRegressorCV([1.0]), INPUTS, TARGETS),
    "ridge": (KernelRidgeRegressorCV(**GRID), INPUTS, TARGETS),
    "ridge folds": (KernelRidgeClassifierCV(**GRID, cv=3), POINTS, LABELS),
    "one-vs-one": (KernelSVC(), POINTS, LABELS),
    "one-vs-rest": (KernelSVC(multi_class="ovr"), POINTS, LABELS),
    "precomputed pairs": (KernelSVC(kernel="precomputed"), kernel(POINTS, POINTS), LABELS),
    "pairs with factors": (DANKClassifier(out_of_sample="knn"), POINTS, LABELS),
    "pairs with neutral factors": (DANKClassifier(eta="0.1*auto"), POINTS, LABELS),
    "pairs with weights": (MKLClassifier(), POINTS, LABELS),
    "quantiles": (KernelQuantileRegressor(quantile=[0.1, 0.9]), INPUTS, TARGETS),
    "blocks": (DANKRegressor(partition=3, random_state=0), INPUTS, TARGETS),
    "ensemble": (
        AutoKernelClassifier(
            members=["gaussian (standard", "forest (standard)", LogisticRegression()],
            random_state=0, cv=3,
        ),
        POINTS, LABELS,
    ),
}  # fmt: skip


def outcome(estimator, X):
    """Return the fingerprint of all that a fit found, and of what it predicts."""
    fitted = {
        name: value
        for name, value in vars(estimator).items()
        if name in ("dual_coef_", "intercept_", "best_params_", "weights_", "members_")
    }
    table = getattr(estimator, "cv_results_", {})
    table = {name: value for name, value in table.items() if "time" not in name}
    values = [estimator.predict(X)]
    if is_classifier(estimator):
        method = "predict_proba" if hasattr(estimator, "predict_proba") else "decision_function"
        values.append(getattr(estimator, method)(X))
    return digest(fitted, table, values)


def shared_features(ensemble):
    """Return which machines compute their features, and so their distances, together."""
    machines = ensemble._machines.machines
    return [[a.features is b.features for a in machines] for b in machines]


@pytest.mark.parametrize("name", CASES)
def test_processes_give_the_same_bits(name):
    estimator, X, y = CASES[name]
    alone = clone(estimator).fit(X, y)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        spread = clone(estimator).fit(X, y)
    assert outcome(spread, X) == outcome(alone, X)
    if hasattr(alone, "kernel_"):  # which problems share, and predictions compute once
        assert repr(spread.kernel_) == repr(alone.kernel_)
    if hasattr(alone, "members_"):
        assert shared_features(spread) == shared_features(alone)
    assert pickle.loads(pickle.dumps(spread)).predict(X).tobytes() == alone.predict(X).tobytes()


def test_n_jobs_gives_the_same_bits():
    estimator, X, y = CASES["svc"]
    alone, spread = clone(estimator).fit(X, y), clone(estimator).set_params(n_jobs=2).fit(X, y)
    assert outcome(spread, X) == outcome(alone, X)
    estimator, X, y = CASES["one-vs-one"]
    alone, spread = clone(estimator).fit(X, y), clone(estimator).set_params(n_jobs=2).fit(X, y)
    assert outcome(spread, X) == outcome(alone, X)


def test_no_square_matrix_is_sent():
    n = 300
    X = np.random.default_rng(0).standard_normal((n, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    half = np.arange(n) < n // 2
    splits = [(np.flatnonzero(half), np.flatnonzero(~half))]
    search = KernelSVCCV()
    parts = Parts((X, y, np.ones(n)), splits, search._common(X))
    assert parts.inside(0).matrix.shape == (150, 150) == parts.across(0).matrix.shape
    assert len(pickle.dumps(parts)) < 8 * n * 10
    machine = KernelSVC()
    plan, _ = machine._plan(X, y, np.ones(n))
    source = PlanSource(plan)
    assert len(pickle.dumps(source)) < 8 * n * 10
    assert pickle.loads(pickle.dumps(source)).plan.groups[1][0].index == 1


class Counting:
    """A kernel that counts how often its geometry is computed."""

    def __init__(self):
        self.calls = 0

    def geometry(self, X, Y=None):
        self.calls += 1
        return np.zeros((len(X), len(X if Y is None else Y)))


def count_geometries(parts):
    before = parts.common.kernel.calls
    for fold in (0, 0, 1, 1):
        parts.inside(fold)
        parts.across(fold)
    return parts.common.kernel.calls - before


def test_the_geometry_of_a_fold_is_computed_once(monkeypatch):
    rows = np.arange(6)
    data, splits = (np.zeros((6, 1)), rows, rows), [(rows[:4], rows[4:])] * 2
    parts = Parts(data, splits, Common(Counting()))
    assert count_geometries(parts) == 4
    assert count_geometries(pickle.loads(pickle.dumps(parts))) == 4
    # Another process may be idle for long: it keeps 8 x 2 x 4 bytes, but not 8 x 4 x 4.
    monkeypatch.setattr(folds_module, "_MAX_KEPT", 100)
    assert count_geometries(pickle.loads(pickle.dumps(parts))) == 4 + 2
    assert count_geometries(parts) == 4


def test_progress_is_shown_and_the_time_foretold(monkeypatch, caplog):
    monkeypatch.setattr(work_module, "_SILENCE", -1.0)
    with caplog.at_level("INFO", logger="kernelfit"):
        KernelSVCCV(**GRID, cv=2, verbose=1).fit(POINTS, LABELS)
    messages = [record.message for record in caplog.records if " cells, about " in record.message]
    assert [message.split(",")[0] for message in messages[:3]] == [
        "1 of 4 cells", "2 of 4 cells", "3 of 4 cells",
    ]  # fmt: skip
