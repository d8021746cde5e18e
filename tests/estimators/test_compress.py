"""Compressed machines: no value beyond the bound, no claim of a proof that is gone."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise
from sklearn.preprocessing import scale

import kernelfit as kf
from kernelfit.cli.explain import headline_facts
from kernelfit.inspection import audit
from kernelfit.kernels.base import diagonal
from kernelfit.tasks.multiclass import problem_coef

IRIS, SPECIES = load_iris(return_X_y=True)
X = scale(IRIS)
Y = SPECIES.copy()
Y[::7] = (Y[::7] + 1) % 3  # wrong labels make support vectors
TWO = Y == 1
TARGET = IRIS[:, 3] + 0.3 * np.random.default_rng(0).normal(size=150)
MACHINES = {
    "svc": (kf.KernelSVC(), TWO),
    "pairs": (kf.KernelSVC(decision_function_shape="ovo"), Y),
    "rest": (kf.KernelSVC(multi_class="ovr"), Y),
    "linear": (kf.KernelSVC(kernel="linear"), TWO),
    "poly": (kf.KernelSVC(kernel="poly", coef0=1.0), TWO),
    "svr": (kf.KernelSVR(), TARGET),
    "ridge": (kf.KernelRidgeRegressor(), np.column_stack([TARGET, IRIS[:, 0]])),
    "ridge classes": (kf.KernelRidgeClassifier(), Y),
    "quantiles": (kf.KernelQuantileRegressor([0.1, 0.5, 0.9]), TARGET),
    "one class": (kf.KernelOneClass(nu=0.5), None),
    "tkl": (kf.TKLClassifier(), TWO),
    "tkl joint": (kf.TKLClassifier(kernel_sharing="joint"), Y),
    "tkl separate": (kf.TKLClassifier(kernel_sharing="separate"), Y),
    "tkl regression": (kf.TKLRegressor(), TARGET),
    "gpk": (kf.GPKRegressor(), TARGET),
    "dank": (kf.DANKClassifier(), Y),
    "mkl": (kf.MKLClassifier(), Y),
    "union": (kf.KernelUnionRegressor(), TARGET),
}


def fit(name):
    machine, y = MACHINES[name]
    return clone(machine).fit(X, y)


def values(machine, points):
    """The values of all problems, by the definition and in plain arithmetic."""
    n = len(machine.intercept_)
    kernels = machine.kernels_ if hasattr(machine, "kernels_") else [machine.kernel_] * n
    if len(kernels) != n:
        raise AssertionError("expected one kernel, or one for each problem")
    coef = [problem_coef(machine.dual_coef_, machine.n_support_, k, n) for k in range(n)]
    if not len(machine.support_):
        return np.tile(machine.intercept_, (len(points), 1))
    K = [kernel(points, machine.support_vectors_) for kernel in kernels]
    return np.column_stack([K[k] @ coef[k] + machine.intercept_[k] for k in range(n)])


def lengths(machine, points):
    """sqrt(k(x, x)) for the kernel of each problem."""
    n = len(machine.intercept_)
    kernels = machine.kernels_ if hasattr(machine, "kernels_") else [machine.kernel_] * n
    return np.sqrt(np.column_stack([diagonal(kernel, points) for kernel in kernels]))


def answer(machine, points):
    decide = getattr(machine, "decision_function", machine.predict)
    return decide(points)


@pytest.mark.parametrize("name", MACHINES)
def test_values_stay_within_the_bound(name, tmp_path):
    machine = fit(name)
    rng = np.random.default_rng(1)
    points = np.concatenate([X, 1.5 * rng.normal(size=(300, 4))])
    before = values(machine, points)
    wanted = 0.2 * before.std()
    small = kf.compress(machine, wanted)
    told = small.compression_
    assert told.n_points == len(small.support_) < told.n_points_before == len(machine.support_)
    assert told.bound <= wanted
    after, length = values(small, points), lengths(machine, points)
    assert (np.abs(after - before) <= told.distances * length).all()
    inside = length <= lengths(machine, machine.support_vectors_).max(axis=0)
    assert (np.abs(after - before)[inside] <= told.bound).all()
    # The machine itself computes these values, before and after files.
    again = pickle.loads(pickle.dumps(small))
    loaded = kf.load(kf.save(small, tmp_path / "small"))
    for other in (again, loaded):
        np.testing.assert_array_equal(answer(other, points), answer(small, points))
        assert other.compression_.bound == told.bound
    shape = getattr(small, "_shape", np.squeeze)
    np.testing.assert_allclose(answer(small, points), shape(after), atol=1e-9)


@pytest.mark.parametrize("name", MACHINES)
def test_no_change_at_all(name):
    machine = fit(name)
    same = kf.compress(machine, 0.0)
    np.testing.assert_allclose(answer(same, X), answer(machine, X), rtol=1e-12, atol=1e-12)
    assert same.compression_.bound == 0.0


@pytest.mark.parametrize("name", ["svc", "pairs", "ridge", "tkl separate"])
def test_the_certificate_is_gone_and_the_original_as_it_was(name):
    machine = fit(name)
    kept = pickle.dumps(machine)
    small = kf.compress(machine, max_points=5)
    assert pickle.dumps(machine) == kept
    for attribute in ("objective_", "dual_gap_"):
        assert np.isnan(getattr(small, attribute)).all()
        assert np.shape(getattr(small, attribute)) == np.shape(getattr(machine, attribute))
    assert (np.atleast_1d(small.status_) == "compressed").all()
    assert not np.any(small.converged_)
    assert not hasattr(small, "witness_coef_")
    with pytest.raises(ValueError, match="compressed one, which has no certificate"):
        audit(small, X, MACHINES[name][1])
    assert headline_facts(small)["certificate"].startswith("none: the machine was compressed")
    # A fit makes it a machine as any other.
    refitted = clone(small).set_params(**small.get_params()).fit(X, MACHINES[name][1])
    assert not hasattr(small.fit(X, MACHINES[name][1]), "compression_")
    np.testing.assert_array_equal(answer(small, X), answer(refitted, X))


def test_max_points_and_the_bound_it_leaves():
    machine = fit("svc")
    bounds = [kf.compress(machine, max_points=m).compression_.bound for m in (1, 4, 16, 32)]
    assert (np.diff(bounds) < 0.0).all()
    limited = kf.compress(machine, 1e-3, max_points=10).compression_
    assert limited.n_points == 10
    assert limited.bound > 1e-3
    separate = kf.compress(fit("tkl separate"), max_points=3)
    assert (np.count_nonzero(separate.dual_coef_, axis=1) <= 3).all()


def test_so_much_change_that_nothing_is_left():
    machine = fit("svc")
    empty = kf.compress(machine, 1e6)
    assert empty.compression_.n_points == 0
    np.testing.assert_array_equal(empty.decision_function(X), np.tile(machine.intercept_, len(X)))


def test_one_support_vector():
    machine = kf.KernelOneClass(nu=1.0).fit(X[:1])
    small = kf.compress(machine, 1e-6)
    assert small.compression_.n_points == 1
    np.testing.assert_allclose(small.decision_function(X), machine.decision_function(X), atol=1e-12)


def test_repeated_points_are_merged():
    machine = kf.KernelSVR(C=0.1).fit(np.tile(X[:60], (3, 1)), np.tile(TARGET[:60], 3))
    small = kf.compress(machine, 1e-3)
    assert small.compression_.n_points <= 60 < small.compression_.n_points_before
    assert np.abs(small.predict(X) - machine.predict(X)).max() <= 1e-3


def test_sparse_points_and_linear_weights():
    dense, thin = fit("linear"), kf.KernelSVC(kernel="linear").fit(sparse.csr_array(X), TWO)
    small, thin_small = kf.compress(dense, 1e-3), kf.compress(thin, 1e-3)
    assert sparse.issparse(thin_small.support_vectors_)
    assert thin_small.compression_.n_points <= 4  # the dimension of the space
    np.testing.assert_allclose(small.coef_, dense.coef_, atol=1e-3)
    change = thin_small.decision_function(X) - dense.decision_function(X)
    np.testing.assert_allclose(change, 0.0, atol=2e-3)


def test_a_factor_is_not_made_of_what_is_left():
    machine = fit("dank")
    assert len(machine.adaptive_matrix_) == 3
    small = kf.compress(machine, 0.1)
    assert not hasattr(small, "adaptive_matrix_")
    assert not hasattr(small, "rank_")


def test_a_warm_start_from_coefficients_that_need_not_be_feasible():
    machine = kf.KernelSVC(warm_start=True).fit(X, TWO)
    small = kf.compress(machine, max_points=8).set_params(warm_start=True).fit(X, TWO)
    assert audit(small, X, TWO).confirmed


def sigmoid(A, B):
    return pairwise.sigmoid_kernel(A, B, gamma=1.0, coef0=-1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kf.KernelSVC(kernel="precomputed").fit(X @ X.T, TWO), "got a precomputed one"),
        (lambda: kf.MKLClassifier(kernels="precomputed").fit(X @ X.T, TWO), "a precomputed one"),
        (lambda: kf.DANKClassifier(tau=0.1).fit(X, TWO), "keeps its support vectors itself"),
        (lambda: kf.KNPLClassifier(out_of_sample="knn").fit(X, TWO), "keeps its support vectors"),
        (lambda: kf.KernelSVCCV(gammas=[0.1], Cs=[1.0]).fit(X, TWO), "best_estimator_ of a search"),
        (lambda: kf.compress(fit("svc"), 0.1), "compressed already"),
        (lambda: "svc", "expected a kernel machine"),
    ],
)
def test_what_cannot_be_compressed(make, message):
    with pytest.raises(ValueError, match=message):
        kf.compress(make(), 0.1)


def test_indefinite_kernels_are_refused():
    with pytest.warns(UserWarning, match="indefinite"):
        machine = kf.KernelSVC(kernel=sigmoid).fit(X, TWO)
    with pytest.raises(ValueError, match="found indefinite in fit"):
        kf.compress(machine, 0.1)


@pytest.mark.parametrize(
    "limits", [(), (-0.1,), (np.nan,), (np.inf,), ("much",), (0.1, 0), (0.1, 2.5), (None, -1)]
)
def test_limits_are_checked(limits):
    with pytest.raises(ValueError, match="expected max_"):
        kf.compress(fit("svc"), *limits)


GAUSSIAN = ["svc", "pairs", "rest", "svr", "ridge", "quantiles", "one class", "dank"]


@pytest.mark.parametrize("name", GAUSSIAN)
@pytest.mark.parametrize("limit", [{}, {"max_points": 20}])
def test_single_precision_stays_within_the_bound(name, limit, tmp_path):
    machine = fit(name)
    points = np.concatenate([X, 1.5 * np.random.default_rng(1).normal(size=(300, 4))])
    small = kf.compress(machine, dtype="float32", **limit)
    double = kf.compress(machine, **limit) if limit else machine
    told = small.compression_
    after = small._decision_values(points)
    assert np.abs(after - values(machine, points)).max() <= told.bound
    rounding = told.bound - (double.compression_.bound if limit else 0.0)
    assert 0.0 < np.abs(after - values(double, points)).max() <= rounding < 1e-2
    assert told.dtype == "float32"
    assert told.n_points == len(small.support_) <= len(machine.support_)
    loaded = kf.load(kf.save(small, tmp_path / "small"))
    for other in (pickle.loads(pickle.dumps(small)), loaded):
        np.testing.assert_array_equal(answer(other, points), answer(small, points))


def test_what_has_no_single_precision():
    machine = fit("svc")
    with pytest.raises(ValueError, match="expected dtype 'float64' or 'float32', got 'float16'"):
        kf.compress(machine, dtype="float16")
    message = "expected one Gaussian kernel on dense data for dtype='float32', got"
    for name in ("poly", "tkl", "tkl separate", "mkl"):
        with pytest.raises(ValueError, match=message):
            kf.compress(fit(name), dtype="float32")
    loose = kf.KernelSVC().fit(sparse.csr_array(X), TWO)
    with pytest.raises(ValueError, match=f"{message} sparse data"):
        kf.compress(loose, dtype="float32")
    narrow = kf.KernelSVC(gamma=1e12).fit(X, TWO)
    with pytest.raises(ValueError, match="kernel of moderate width for dtype='float32', got one"):
        kf.compress(narrow, dtype="float32")


@pytest.mark.parametrize("gamma", [0.01, 0.5])
def test_rounding_counts_in_the_change_that_is_asked_for(gamma):
    """Also where few points of a wide kernel have far larger coefficients."""
    machine = kf.KernelSVC(gamma=gamma, C=10.0).fit(X, TWO)
    small = kf.compress(machine, 0.05, dtype="float32")
    double = kf.compress(machine, 0.025)
    assert double.compression_.bound < small.compression_.bound <= 0.05
    assert small.compression_.n_points < len(machine.support_)
    with pytest.raises(ValueError, match=r"expected max_change from .*, the rounding of all supp"):
        kf.compress(machine, 1e-9, dtype="float32")


def test_what_rounding_allows_is_not_refused():
    """Coefficients of fewer points may round to more than those of all."""
    machine = kf.KernelSVC(gamma=0.01, C=1.0).fit(X, TWO)
    least = kf.compress(machine, dtype="float32").compression_.bound
    for factor in (1.001, 2.4, 4.0):
        found = kf.compress(machine, factor * least, dtype="float32").compression_
        assert found.bound <= factor * least
    with pytest.raises(ValueError, match=f"expected max_change from {least:.3g}, the rounding"):
        kf.compress(machine, 0.99 * least, dtype="float32")
    with pytest.raises(ValueError, match="expected a larger max_change or max_points"):
        kf.compress(machine, 1.001 * least, 5, dtype="float32")
