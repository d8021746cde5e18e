"""The engine of the searches: its values are those of machines fitted fold by fold, once each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import minmax_scale

import kernelfit.estimators.machine as machine_module
import kernelfit.estimators.standard as standard_module
import kernelfit.learners.positive_matrix as positive_matrix_module
from kernelfit import (
    DANKClassifier,
    DANKClassifierCV,
    DANKRegressor,
    DANKRegressorCV,
    GPKClassifier,
    GPKClassifierCV,
    GPKRegressor,
    GPKRegressorCV,
    KernelSVC,
    KernelSVCCV,
    KernelSVR,
    KernelSVRCV,
    KNPLClassifier,
    KNPLClassifierCV,
    KNPLRegressor,
    KNPLRegressorCV,
    TKLClassifier,
    TKLClassifierCV,
    TKLRegressor,
    TKLRegressorCV,
)
from kernelfit.families.psd.family import PositiveMatrixFamily, UnitScaling
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.kernels.standard import RBF

TIGHT = 1e-9


def fingerprint(machine, X, y, sample_weight=None):
    """Return one number that all decision values of the test part enter."""
    values = machine.decision_function(X) if is_classifier(machine) else machine.predict(X)
    values = np.reshape(values, (X.shape[0], -1))
    wave = np.cos(np.arange(values.size)).reshape(values.shape)
    return float(np.sum(wave * values)) / X.shape[0]


def classes():
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:90]
    return X[rows] + 0.01 * np.random.default_rng(1).standard_normal((90, 4)), y[rows]


def two_classes():
    X, y = classes()
    return X[:, :2], y == 1


def targets():
    X, y = load_diabetes(return_X_y=True)
    return minmax_scale(X)[:80, :5], (y[:80] - 150.0) / 75.0


def kernel(A, B):
    return rbf_kernel(A, B, gamma=0.3)


def gram(X):
    return kernel(X, X)


GRID = {"gammas": [0.1, 1.0], "Cs": [0.5, 20.0]}
COSTS = {"Cs": [0.5, 20.0]}
EPSILONS = {"epsilons": [0.05, 0.3]}
PAIRS = {"decision_function_shape": "ovo"}
CASES = {
    "svc": (KernelSVCCV(**GRID), KernelSVC(), two_classes),
    "svc ovo": (KernelSVCCV(**GRID, **PAIRS), KernelSVC(**PAIRS), classes),
    "svc ovr": (KernelSVCCV(**GRID, multi_class="ovr"), KernelSVC(multi_class="ovr"), classes),
    "svc balanced": (
        KernelSVCCV(**GRID, class_weight="balanced", fit_intercept=False),
        KernelSVC(class_weight="balanced", fit_intercept=False),
        two_classes,
    ),
    "svc laplacian": (
        KernelSVCCV(**GRID, kernel="laplacian"), KernelSVC(kernel="laplacian"), two_classes,
    ),
    "svc poly": (
        KernelSVCCV(**GRID, kernel="poly", degree=2, coef0=1.0),
        KernelSVC(kernel="poly", degree=2, coef0=1.0),
        two_classes,
    ),
    "svc linear": (KernelSVCCV(**COSTS, kernel="linear"), KernelSVC(kernel="linear"), two_classes),
    "svc callable": (KernelSVCCV(**COSTS, kernel=kernel), KernelSVC(kernel=kernel), two_classes),
    "svc precomputed": (
        KernelSVCCV(**COSTS, kernel="precomputed", **PAIRS),
        KernelSVC(kernel="precomputed", **PAIRS),
        lambda: (gram(classes()[0]), classes()[1]),
    ),
    "svc sparse": (
        KernelSVCCV(**GRID),
        KernelSVC(),
        lambda: (sparse.csr_array(two_classes()[0]), two_classes()[1]),
    ),
    "svr": (KernelSVRCV(**GRID, **EPSILONS), KernelSVR(), targets),
    "svr precomputed": (
        KernelSVRCV(**COSTS, **EPSILONS, kernel="precomputed"),
        KernelSVR(kernel="precomputed"),
        lambda: (gram(targets()[0]), targets()[1]),
    ),
    "dank": (DANKClassifierCV(**GRID, etas=[np.inf, 0.1]), DANKClassifier(), two_classes),
    "dank ovo": (DANKClassifierCV(**GRID, etas=[0.1], **PAIRS), DANKClassifier(**PAIRS), classes),
    "dank nuclear": (
        DANKClassifierCV(**COSTS, gammas=[1.0], etas=[np.inf, 0.1], tau=0.5, multi_class="ovr"),
        DANKClassifier(tau=0.5, multi_class="ovr"),
        classes,
    ),
    "dank precomputed": (
        DANKClassifierCV(**COSTS, etas=[0.1], kernel="precomputed"),
        DANKClassifier(kernel="precomputed"),
        lambda: (gram(two_classes()[0]), two_classes()[1]),
    ),
    "dank sparse": (
        DANKClassifierCV(**COSTS, gammas=[1.0], etas=[0.1]),
        DANKClassifier(),
        lambda: (sparse.csr_array(two_classes()[0]), two_classes()[1]),
    ),
    "dank regression": (DANKRegressorCV(**GRID, **EPSILONS, etas=[0.3]), DANKRegressor(), targets),
    "knpl": (KNPLClassifierCV(**GRID, etas=[np.inf, 0.5]), KNPLClassifier(), two_classes),
    "knpl callable": (
        KNPLClassifierCV(**COSTS, etas=[0.5], kernel=kernel, multi_class="ovr"),
        KNPLClassifier(kernel=kernel, multi_class="ovr"),
        classes,
    ),
    "knpl regression": (KNPLRegressorCV(**GRID, **EPSILONS, etas=[0.5]), KNPLRegressor(), targets),
}  # fmt: skip
LEARNED = {
    "tkl": (TKLClassifierCV([0.1, 1.0], [2.0]), TKLClassifier(), two_classes),
    "tkl ovr": (TKLClassifierCV([0.5], [2.0]), TKLClassifier(), classes),
    "tkl joint": (
        TKLClassifierCV([0.5], [2.0], kernel_sharing="joint"),
        TKLClassifier(kernel_sharing="joint"),
        classes,
    ),
    "tkl regression": (TKLRegressorCV([0.5], [2.0], [0.05, 0.3]), TKLRegressor(), targets),
    "tkl xz": (TKLRegressorCV([0.5], [2.0], [0.1], basis="xz"), TKLRegressor(basis="xz"), targets),
    "gpk": (GPKClassifierCV([1, 2], [2.0]), GPKClassifier(), classes),
    "gpk joint": (
        GPKClassifierCV([2], [2.0], kernel_sharing="joint"),
        GPKClassifier(kernel_sharing="joint"),
        classes,
    ),
    "gpk regression": (GPKRegressorCV([1, 2], [2.0], [0.05]), GPKRegressor(), targets),
}


def folds_of(model, X, y):
    folds = StratifiedKFold(3) if is_classifier(model) else KFold(3, shuffle=True, random_state=0)
    return list(folds.split(np.zeros(len(y)), y))


def take(model, X, rows, columns):
    """Return some rows of the data, or of a given kernel matrix those columns, too."""
    return X[np.ix_(rows, columns)] if getattr(model, "kernel", None) == "precomputed" else X[rows]


def assert_folds_agree(search, machine, X, y, weight, tol, atol):
    folds = folds_of(machine, X, y)
    search = clone(search).set_params(cv=folds, search_tol=tol, scoring=fingerprint)
    search.fit(X, y, sample_weight=weight)
    used = np.ones(len(y), dtype=bool) if weight is None else weight > 0
    found = search.cv_results_
    distinct = set()
    for number, params in enumerate(found["params"]):
        for k, (train, test) in enumerate(folds):
            train, test = train[used[train]], test[used[test]]
            direct = clone(machine).set_params(**params, tol=tol)
            direct.fit(
                take(machine, X, train, train),
                y[train],
                sample_weight=None if weight is None else weight[train],
            )
            expected = fingerprint(direct, take(machine, X, test, train), y[test])
            assert_allclose(found[f"split{k}_test_score"][number], expected, rtol=0, atol=atol)
            distinct.add(round(expected, 6))
    assert len(distinct) > len(found["params"])  # the folds and candidates do differ


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_direct_fits(case, weighted):
    """Both sides are within sqrt(2 gap k(x, x)) of the exact values, before the intercept."""
    search, machine, data = CASES[case]
    X, y = data()
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], len(y)) if weighted else None
    assert_folds_agree(search, machine, X, y, weight, tol=TIGHT, atol=2e-3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", LEARNED)
def test_values_of_learned_kernels_are_those_of_direct_fits(case, weighted):
    """With a single cost: a kernel is learned up to what the tolerance leaves open."""
    search, machine, data = LEARNED[case]
    X, y = data()
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], len(y)) if weighted else None
    assert_folds_agree(search, machine, X, y, weight, tol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("search", "machine", "data"),
    [
        (TKLClassifierCV([0.5], [20.0, 0.5]), TKLClassifier(), two_classes),
        (TKLClassifierCV([0.5], [0.5, 20.0], kernel_sharing="joint"), None, classes),
        (TKLRegressorCV([0.5], [0.5, 5.0], [0.1]), TKLRegressor(), targets),
        (GPKRegressorCV([2], [5.0, 0.5], [0.1]), GPKRegressor(), targets),
    ],
)
def test_values_along_a_path_of_learned_kernels(search, machine, data):
    machine = TKLClassifier(kernel_sharing="joint") if machine is None else machine
    assert_folds_agree(search, machine, *data(), None, tol=1e-8, atol=2e-3)


@pytest.mark.parametrize(
    ("search", "data"),
    [(KernelSVCCV(**GRID), classes), (TKLRegressorCV([0.5], [2.0], [0.1]), targets)],
)
def test_rows_of_a_fold_in_any_order_or_repeated(search, data):
    """A training part as long as the data need not be the data."""
    X, y = data()
    rng = np.random.default_rng(0)
    test = np.arange(0, len(y), 3)
    sample = rng.integers(0, len(y), len(y))
    for train in (rng.permutation(len(y)), sample):
        copies = np.bincount(train, minlength=len(y)).astype(float)
        options = {"search_tol": TIGHT, "scoring": fingerprint}
        given = clone(search).set_params(cv=[(train, test)], **options).fit(X, y)
        machine = clone(given.best_estimator_).set_params(tol=TIGHT)
        for params, score in zip(
            given.cv_results_["params"], given.cv_results_["split0_test_score"], strict=True
        ):
            direct = clone(machine).set_params(**params).fit(X, y, sample_weight=copies)
            assert_allclose(score, fingerprint(direct, X[test], y[test]), atol=1e-3)


def test_rows_of_a_given_matrix_in_any_order():
    X, y = two_classes()
    K, order = gram(X), np.random.default_rng(0).permutation(len(y))
    test = np.arange(0, len(y), 3)
    options = {"Cs": [1.0], "search_tol": TIGHT, "scoring": fingerprint}
    given = KernelSVCCV(kernel="precomputed", cv=[(order, test)], **options).fit(K, y)
    called = KernelSVCCV(kernel=kernel, cv=[(np.arange(len(y)), test)], **options).fit(X, y)
    assert_allclose(given.best_score_, called.best_score_, atol=1e-6)


def test_candidates_of_a_fold_without_support_vectors():
    X, y = targets()
    for search in (
        KernelSVRCV([1.0], [1.0], [100.0]),
        DANKRegressorCV([1.0], [1.0], [0.1], [100.0]),
        TKLRegressorCV([0.5], [1.0], [100.0]),
        GPKRegressorCV([1], [1.0], [100.0]),
    ):
        search.fit(X, y)
        assert_allclose(search.best_estimator_.dual_coef_.size, 0)
        middle = 0.5 * (y.min() + y.max())
        assert_allclose(search.predict(X), middle)


def count(monkeypatch, owner, name):
    """Return a list that grows with every call of a function."""
    calls, function = [], getattr(owner, name)

    def counting(*args, **options):
        calls.append(args)
        return function(*args, **options)

    monkeypatch.setattr(owner, name, counting)
    return calls


COSTLY = {"Cs": [0.1, 1.0, 10.0], "cv": 4}


@pytest.mark.parametrize(
    "search", [TKLClassifierCV([0.1, 0.5], **COSTLY), GPKClassifierCV([1, 2], **COSTLY)]
)
def test_a_family_is_made_once_a_fold_and_kernel(monkeypatch, search):
    X, y = classes()
    families = count(monkeypatch, positive_matrix_module, "PositiveMatrixFamily")
    scalings = count(monkeypatch, positive_matrix_module, "mean_one_scale")
    volumes = count(monkeypatch, TessellatedBasis, "volumes")
    clone(search).fit(X, y)
    # Of 3 costs and 3 classes each; of the chosen one, for probabilities; of the final training.
    expected = 4 * 2 + 4 + 1
    assert len(families) == len(scalings) == expected
    assert len(volumes) == (expected if isinstance(search, TKLClassifierCV) else 0)


def test_volumes_serve_all_widths_of_the_tube(monkeypatch):
    X, y = targets()
    volumes = count(monkeypatch, TessellatedBasis, "volumes")
    TKLRegressorCV([0.1, 0.5], [0.1, 1.0], [0.0, 0.1, 0.3], cv=3).fit(X, y)
    assert len(volumes) == 3 * 2 + 1


@pytest.mark.parametrize(
    "search",
    [
        KernelSVCCV([0.1, 1.0], **COSTLY, n_average=3),
        DANKClassifierCV([0.1, 1.0], etas=[np.inf, 0.1], **COSTLY),
        KNPLClassifierCV([0.1, 1.0], etas=[0.1], **COSTLY),
    ],
)
def test_distances_are_computed_once_a_fold(monkeypatch, search):
    X, y = classes()
    calls, geometry = [], RBF.geometry

    def counting(A, B=None):
        calls.append((len(A), None if B is None else len(B)))
        return geometry(A, B)

    monkeypatch.setattr(RBF, "geometry", staticmethod(counting))
    search = clone(search).fit(X, y)
    n_folds, n_machines = search.n_splits_, len(search.estimators_)
    # Inside and across every fold: once for the grid, and for the exact values of each machine.
    assert len(calls) == (1 + n_machines) * 2 * n_folds + n_machines
    assert calls.count((len(X), None)) == n_machines


def test_a_kernel_of_the_user_is_called_once():
    calls = []

    def counted(A, B):
        calls.append((len(A), len(B)))
        return kernel(A, B)

    X, y = classes()
    KernelSVCCV(kernel=counted, **COSTLY).fit(X, y)
    assert calls == [(len(X), len(X))]


@pytest.mark.parametrize("kind", ["standard", "learned"])
def test_data_are_checked_once(monkeypatch, kind):
    X, y = classes()
    module = standard_module if kind == "standard" else machine_module
    search = (
        KernelSVCCV([0.1, 1.0], **COSTLY)
        if kind == "standard"
        else TKLClassifierCV([0.5], **COSTLY)
    )
    checks = count(monkeypatch, module, "validate_data")
    search.fit(X, y)
    assert len(checks) == 1
    checks.clear()
    search.predict(X)
    assert len(checks) == 1


def test_refit_is_as_exact_as_the_machine_alone():
    for case, (search, machine, data) in {**CASES, **LEARNED}.items():
        X, y = data()
        search = clone(search).set_params(cv=2, search_tol=0.1).fit(X, y)
        best = search.best_estimator_
        alone = clone(machine).set_params(**search.best_params_).fit(X, y)
        assert best.tol == alone.tol == search.tol
        assert np.all(best.converged_) and np.all(best.dual_gap_ <= best.tol * best.objective_), (
            case
        )
        assert_allclose(best.objective_, alone.objective_, rtol=1e-9)
        method = "decision_function" if is_classifier(search) else "predict"
        assert_allclose(getattr(search, method)(X), getattr(alone, method)(X), rtol=1e-6, atol=1e-6)


def test_a_family_keeps_its_volumes():
    X = targets()[0]
    basis = TessellatedBasis(5, 1, 0.5, "x")
    family = PositiveMatrixFamily(basis, X, 1.0, UnitScaling.fit(X))
    assert family.volumes is family.volumes
    assert_array_equal(family.volumes, basis.volumes(X))


@pytest.mark.parametrize("cv", [[([0, 1], [500])], [(np.arange(5.0), [6])], [(1, 2, 3)], [1]])
def test_folds_that_are_no_rows_are_refused_in_one_sentence(cv):
    X = np.random.default_rng(0).standard_normal((40, 2))
    with pytest.raises(ValueError, match="expected cv to give pairs of training and test rows"):
        KernelSVRCV(cv=cv).fit(X, X[:, 0])
