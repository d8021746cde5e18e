"""What a fit leaves behind: attributes, warnings, progress, and nothing after an interruption."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelfit import KernelSVC, KernelSVR
from kernelfit.estimators import machine
from kernelfit.learners import fixed

IRIS = load_iris(return_X_y=True)
BINARY = IRIS[0][50:], IRIS[1][50:]
BOTH = [KernelSVC(), KernelSVR()]


class Interrupting:
    """A kernel during whose evaluation the user loses patience."""

    def __init__(self):
        self.armed = True

    def __call__(self, X, Y):
        if self.armed:
            raise KeyboardInterrupt
        return rbf_kernel(X, Y)


def same_state(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_equal(second[name], value)


@pytest.mark.parametrize("estimator", [KernelSVC, KernelSVR])
def test_interruption_leaves_an_unfitted_estimator_unfitted(estimator):
    model = estimator(kernel=Interrupting())
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*BINARY)
    same_state(before, vars(model))
    with pytest.raises(NotFittedError):
        model.predict(BINARY[0])


@pytest.mark.parametrize("estimator", [KernelSVC, KernelSVR])
def test_interruption_leaves_a_fitted_estimator_as_it_was(estimator):
    kernel = Interrupting()
    kernel.armed = False
    model = estimator(kernel=kernel).fit(*BINARY)
    before = dict(vars(model))
    kernel.armed = True
    with pytest.raises(KeyboardInterrupt):
        model.fit(IRIS[0][:, :2], IRIS[1])  # other rows, features and classes
    kernel.armed = False
    same_state(before, vars(model))
    assert model.predict(BINARY[0]).shape == (100,)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interruption_between_the_problems(monkeypatch, n_jobs):
    model = KernelSVC(n_jobs=n_jobs).fit(*BINARY)
    before = dict(vars(model))
    calls = []

    solve_dual = fixed.solve_dual

    def solve(*args, **options):
        calls.append(None)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return solve_dual(*args, **options)

    monkeypatch.setattr(fixed, "solver_for", lambda gram: solve)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*IRIS)
    same_state(before, vars(model))


def test_refit_removes_what_no_longer_holds():
    frame = pd.DataFrame(IRIS[0], columns=list("abcd"))
    model = KernelSVC().fit(frame, IRIS[1])
    assert_array_equal(model.feature_names_in_, list("abcd"))
    assert model.gamma_ > 0
    model.set_params(kernel="linear").fit(*BINARY)
    assert not hasattr(model, "feature_names_in_") and not hasattr(model, "gamma_")
    assert isinstance(model.objective_, float) and isinstance(model.converged_, bool)
    assert isinstance(model.n_iter_, int) and model.history_.shape == (model.n_iter_, 2)


def test_metadata_requests_survive_a_fit():
    with config_context(enable_metadata_routing=True):
        model = KernelSVC().set_score_request(sample_weight=False).fit(*BINARY)
        assert model.get_metadata_routing().score.requests["sample_weight"] is False


def test_history_ends_at_the_certificate():
    model = KernelSVC(C=100.0).fit(*IRIS)
    for history, n_iter, *end in zip(
        model.history_, model.n_iter_, model.objective_, model.dual_gap_, strict=True
    ):
        assert history.shape == (n_iter, 2)
        assert_array_equal(history[-1], end)


@pytest.fixture
def starts(monkeypatch):
    """Return the list of the points from which the problems of the next fits start."""
    points = []
    solve_dual = fixed.solve_dual

    def solve(*args, start, **options):
        points.append(start)
        return solve_dual(*args, start=start, **options)

    monkeypatch.setattr(fixed, "solver_for", lambda gram: solve)
    return points


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_warm_start_begins_at_the_previous_solution(starts, multi_class):
    X, y = IRIS
    model = KernelSVC(multi_class=multi_class, warm_start=True).fit(X, y)
    assert starts == [None] * 3
    solution = model.dual_coef_
    starts.clear()
    model.fit(X, y)
    assert [len(start) for start in starts] == ([100] * 3 if multi_class == "ovo" else [150] * 3)
    assert_allclose(model.dual_coef_, solution, rtol=1e-9, atol=1e-12)
    assert np.all(model.n_iter_ <= 2)


def test_warm_start_meets_new_weights(starts):
    X, y = IRIS
    weight = np.arange(len(y)) % 4
    expected = KernelSVC(C=2.0).fit(X, y, weight).decision_function(X)
    starts.clear()
    model = KernelSVC(warm_start=True).fit(X, y).set_params(C=2.0).fit(X, y, weight)
    assert [start is None for start in starts] == [True] * 3 + [False] * 3
    assert_allclose(model.decision_function(X), expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("other", [(IRIS[0][:-1], IRIS[1][:-1]), (IRIS[0], np.minimum(IRIS[1], 1))])
def test_warm_start_needs_as_many_rows_and_classes(starts, other):
    model = KernelSVC(warm_start=True).fit(*IRIS)
    starts.clear()
    model.fit(*other)
    assert starts and all(start is None for start in starts)


def test_warm_start_of_regression():
    X, y = load_diabetes(return_X_y=True)
    model = KernelSVR(C=1e4, warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold


@pytest.mark.parametrize("estimator", [KernelSVC(C=1e4), KernelSVR(C=1e4, epsilon=0.0)])
def test_unconverged_fit_warns(estimator):
    X = np.random.default_rng(0).standard_normal((400, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) ^ (np.arange(400) % 5 == 0)
    with pytest.warns(ConvergenceWarning, match=r"gap of .*tol=1e-12 .*raise max_iter=1 or tol"):
        estimator.set_params(max_iter=1, tol=1e-12).fit(X, y)
    assert not estimator.converged_
    assert estimator.dual_gap_ > 0


@pytest.mark.parametrize("estimator", BOTH)
def test_indefinite_matrix_warns_and_claims_nothing(estimator):
    X, y = BINARY
    X = X - X.mean(axis=0)
    K = np.tanh(X @ X.T - 1.0)
    with pytest.warns(UserWarning, match="indefinite kernel matrix") as caught:
        model = clone(estimator).set_params(kernel="precomputed").fit(K, y)
    assert len(caught) == 1
    assert np.isnan(model.dual_gap_)


def test_no_support_vectors():
    X = np.arange(6.0)[:, np.newaxis]
    for kernel in ("rbf", "laplacian", "linear"):
        model = KernelSVR(kernel=kernel, epsilon=1.0).fit(X, np.full(6, 3.0))
        assert model.support_.size == 0 and model.n_support_[0] == 0
        assert_allclose(model.predict(X + 0.5), 3.0)


def test_prediction_in_chunks(monkeypatch):
    model = KernelSVC().fit(*IRIS)
    expected = model.decision_function(IRIS[0])
    monkeypatch.setattr(machine, "_CHUNK_BYTES", 8 * 7 * len(model.support_))
    assert_allclose(model.decision_function(IRIS[0]), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "precomputed"])
def test_pickling(estimator, kernel):
    X, y = IRIS
    X = rbf_kernel(X) if kernel == "precomputed" else X
    model = clone(estimator).set_params(kernel=kernel).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.kernel_ == model.kernel_


def test_works_with_the_tools_of_scikit_learn():
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(StandardScaler(), KernelSVC())
    search = GridSearchCV(
        model, {"kernelsvc__C": [0.1, 1.0], "kernelsvc__kernel": ["linear", "rbf"]}
    )
    assert search.fit(frame, y).best_score_ > 0.9
    precomputed = GridSearchCV(KernelSVC(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3)
    assert precomputed.fit(rbf_kernel(X), y).best_score_ > 0.9
    calibrated = CalibratedClassifierCV(KernelSVC()).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_progress(caplog, monkeypatch):
    with caplog.at_level("INFO", "kernelfit"):
        KernelSVC().fit(*IRIS)
        assert not caplog.messages
        KernelSVC(verbose=1).fit(*IRIS)
        # On a slow machine, rounds may be reported, too.
        messages = [message[:12] for message in caplog.messages if ", round" not in message]
        assert messages == [f"problem {k}/3:" for k in (1, 2, 3)]
        caplog.clear()
        model = KernelSVR(verbose=2).fit(*IRIS)
        assert len(caplog.messages) == model.n_iter_ + 1
        assert caplog.messages[0].startswith("problem 1/1, round 1: objective ")


def test_long_fits_report_now_and_then(caplog, monkeypatch):
    monkeypatch.setattr("kernelfit.utils.progress._SECONDS", 0.0)
    with caplog.at_level("INFO", "kernelfit"):
        KernelSVR(verbose=1).fit(*IRIS)
    assert caplog.messages[0].startswith("problem 1/1, round 1: objective ")
    assert caplog.messages[0].endswith(" s")


def test_memory_is_planned_before_the_fit(monkeypatch):
    X, y = BINARY
    monkeypatch.setattr("kernelfit.estimators.standard._CERTAIN", 0)
    monkeypatch.setattr("kernelfit.estimators.standard.available_memory", lambda: 2**16)
    message = r"the 0 MB of memory available, .* matrix of 100 rows takes 0 MB: set cache_size=0"
    with pytest.raises(MemoryError, match=message):
        KernelSVC(cache_size=1.0).fit(X, y)
    KernelSVC(cache_size=0.01).fit(X, y)


def test_data_on_disk_are_read_in_parts(tmp_path, monkeypatch):
    """The same machine, bit for bit, whether points are copied as a whole or as they are read."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4300, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=len(X)) > 0
    model = KernelSVC(cache_size=1.0, tol=1e-3).fit(X, y)
    on_disk = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    on_disk[:] = X
    on_disk.flush()
    monkeypatch.setattr("kernelfit.kernels.rows._MAX_COPY", 0)
    monkeypatch.setattr("kernelfit.kernels.standard._CHUNK_ROWS", 1000)
    again = KernelSVC(cache_size=1.0, tol=1e-3, gamma=model.gamma_).fit(on_disk, y)
    assert_array_equal(again.dual_coef_, model.dual_coef_)
    assert_allclose(
        KernelSVC().fit(on_disk[:60], y[:60]).gamma_, KernelSVC().fit(X[:60], y[:60]).gamma_
    )


@pytest.mark.parametrize("order", [np.arange(150)[::-1], np.random.default_rng(0).permutation(150)])
def test_classes_in_any_order(order):
    X, y = IRIS
    model, other = KernelSVC().fit(X, y), KernelSVC(n_jobs=2).fit(X[order], y[order])
    assert_array_equal(np.sort(order[other.support_]), np.sort(model.support_))
    assert_allclose(other.decision_function(X), model.decision_function(X), rtol=1e-6)
    assert_array_equal(KernelSVC().fit(X[order], y[order]).dual_coef_, other.dual_coef_)


def test_progress_is_visible_without_configuration():
    code = (
        "from kernelfit import KernelSVR; import numpy as np\n"
        "KernelSVR(verbose=1).fit(np.arange(9.0)[:, None], np.arange(9.0))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "[kernelfit] problem 1/1: " in done.stderr
