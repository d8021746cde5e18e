"""A search that fails or is interrupted, wherever, leaves the estimator as it was."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import kernelfit.learners.adaptive as adaptive
import kernelfit.learners.fixed as fixed
import kernelfit.learners.hadamard as hadamard
import kernelfit.learners.positive_matrix as positive_matrix
from kernelfit import (
    DANKClassifierCV,
    GPKRegressorCV,
    KernelSVCCV,
    KernelSVRCV,
    KNPLRegressorCV,
    TKLClassifierCV,
)

IRIS = load_iris(return_X_y=True)
SEARCHES = [
    KernelSVCCV([0.5], [1.0, 10.0], cv=3),
    KernelSVRCV([0.5], [1.0], [0.1], cv=3),
    DANKClassifierCV([0.5], [1.0], [0.1], cv=3),
    KNPLRegressorCV([0.5], [1.0], [0.1], [0.1], cv=3),
    TKLClassifierCV([0.5], [1.0], cv=3),
    GPKRegressorCV([1], [1.0], [0.1], cv=3),
]


class Trap:
    """Counts solves and, at a given one, raises."""

    def __init__(self, monkeypatch):
        self.at, self.calls, self.error = None, 0, KeyboardInterrupt
        for module, name in (
            (fixed, "solver_for"),
            (adaptive, "solver_for"),
            (hadamard, "solver_for"),
            (hadamard, "solve_quartic_dual"),
            (hadamard, "solve_saddle"),
            (positive_matrix, "solve_saddle"),
        ):
            monkeypatch.setattr(module, name, self.around(getattr(module, name)))

    def around(self, function):
        def trapped(*args, **options):
            self.calls += 1
            if self.calls == self.at:
                raise self.error
            return function(*args, **options)

        return trapped


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_interruption_of_a_search(monkeypatch, search, error):
    X, y = IRIS
    trap = Trap(monkeypatch)
    clone(search).fit(X, y)
    total, trap.error = trap.calls, error
    assert total > 3
    fresh, fitted = clone(search), clone(search).fit(X[50:], y[50:])
    expected = fitted.predict(X)
    for at in (1, 2, total // 2, total):  # in the first fold, between, in the final training
        for model in (fresh, fitted):
            before = dict(vars(model))
            trap.calls, trap.at = 0, at
            with pytest.raises(error):
                model.fit(X[:, :2] if model is fitted else X, y)
            trap.at = None
            assert vars(model).keys() == before.keys()
            assert all(vars(model)[name] is value for name, value in before.items())
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    np.testing.assert_array_equal(fitted.predict(X), expected)
    if is_classifier(fitted):
        assert fitted.predict_proba(X).shape == (150, 2)


@pytest.mark.parametrize("where", ["scoring", "cv", "warning"])
def test_errors_of_the_users_objects(where):
    X, y = IRIS
    search = KernelSVCCV([0.5], [1.0], cv=3).fit(X, y)
    before = dict(vars(search))
    if where == "scoring":
        calls = []

        def scoring(*args):
            calls.append(None)
            if len(calls) == 2:
                raise RuntimeError("no score")
            return 1.0

        search.set_params(scoring=scoring)
    elif where == "cv":

        class Folds:
            def split(self, X, y, groups):
                yield np.arange(100), np.arange(100, 150)
                raise RuntimeError("no more folds")

            def get_n_splits(self, *args):
                return 2

        search.set_params(cv=Folds())
    else:  # the suite turns warnings into errors
        search.set_params(max_iter=1, search_tol=1e-14, tol=0.9, Cs=[1e4])
    changed = dict(vars(search))
    with pytest.raises((RuntimeError, Warning)):
        search.fit(X, y)
    assert vars(search).keys() == before.keys()
    assert all(vars(search)[name] is value for name, value in changed.items())


BLAS = """
from threading import Event, Thread

import joblib
import numpy as np
from threadpoolctl import threadpool_info

from kernelfit import KernelSVCCV
from kernelfit.utils.threads import one_blas_thread


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


assert blas_threads() == {2}, blas_threads()
entered, left = Event(), Event()


def overlap():
    with one_blas_thread():
        entered.set()
        left.wait()


other = Thread(target=overlap)
with one_blas_thread():
    other.start()
    entered.wait()
assert blas_threads() == {1}  # the other thread is still inside
left.set()
other.join()
assert blas_threads() == {2}, blas_threads()
X = np.random.default_rng(0).standard_normal((60, 2))
with joblib.parallel_config(backend="threading"):
    KernelSVCCV([0.5, 1.0], [1.0, 10.0], cv=4, n_jobs=2).fit(X, X[:, 0] > 0)
assert blas_threads() == {2}, blas_threads()
"""


def test_parallel_folds_give_back_the_threads_of_blas(monkeypatch):
    """In a process of its own: the tests run on one BLAS thread, where nothing would show."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    run = subprocess.run([sys.executable, "-c", BLAS], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_search_leaves_nothing_of_another():
    X, y = IRIS
    search = KernelSVCCV([0.5], [1.0], cv=3).fit(X, y)
    names = set(vars(search))
    search.set_params(kernel="linear", gammas=None).fit(X[:100], y[:100])
    assert set(vars(search)) == names
    assert search.predict_proba(X).shape == (150, 2)
    assert "gamma" not in search.best_params_ and not hasattr(search.best_estimator_, "gamma_")
