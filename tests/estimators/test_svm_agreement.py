"""KernelSVC and KernelSVR against SVC and SVR, and against themselves on equivalent data."""

import pickle
from threading import get_ident

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from kernelfit import KernelSVC, KernelSVR
from kernelfit.inspection import audit
from kernelfit.learners.fixed import FixedLearner
from tests.reference.svm import dual_value, duality_gap, svc_problem, svr_problem

# LIBSVM keeps kernel rows in single precision, hence no closer agreement than this.
LIBSVM = {"rtol": 1e-4, "atol": 1e-4}
KERNELS = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.05},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": "auto"},
]


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def cancer():
    return scaled(load_breast_cancer)


@pytest.fixture(scope="module")
def wine():
    return scaled(load_wine)


@pytest.fixture(scope="module")
def diabetes():
    X, y = scaled(load_diabetes)
    return X, (y - y.mean()) / y.std()


def coefficients(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


@pytest.mark.parametrize("options", KERNELS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_binary_classification(cancer, options, C):
    X, y = cancer
    ours = KernelSVC(C, **options).fit(X, y)
    theirs = SVC(C=C, tol=1e-8, **options).fit(X, y)
    problem = svc_problem(ours.kernel_(X), 2.0 * y - 1.0, C)
    beta = coefficients(ours, len(X))
    assert_allclose(ours.objective_, dual_value(problem, beta), rtol=1e-9)
    assert_allclose(ours.objective_, dual_value(problem, coefficients(theirs, len(X))), rtol=1e-6)
    assert duality_gap(problem, beta, ours.intercept_[0]) <= 1e-6 * ours.objective_
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-3)
    assert ours.decision_function(X).shape == (len(X),)
    sure = abs(theirs.decision_function(X)) > 1e-3
    assert_array_equal(ours.predict(X)[sure], theirs.predict(X)[sure])
    assert ours.intercept_.shape == theirs.intercept_.shape
    assert_array_equal(ours.n_support_, np.bincount(y[ours.support_]))


@pytest.mark.parametrize("options", KERNELS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_regression(diabetes, options, C):
    X, y = diabetes
    ours = KernelSVR(C, epsilon=0.2, **options).fit(X, y)
    theirs = SVR(C=C, epsilon=0.2, tol=1e-8, **options).fit(X, y)
    problem = svr_problem(ours.kernel_(X), y, C, 0.2)
    beta = coefficients(ours, len(X))
    assert_allclose(ours.objective_, dual_value(problem, beta), rtol=1e-9)
    assert_allclose(ours.objective_, dual_value(problem, coefficients(theirs, len(X))), rtol=1e-6)
    assert duality_gap(problem, beta, ours.intercept_[0]) <= 1e-6 * ours.objective_
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-3, atol=1e-3)
    assert ours.intercept_.shape == ours.n_support_.shape == (1,)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("class_weight", [None, {0: 1.0, 1: 2.0, 2: 0.5}])
def test_one_vs_one(wine, weighted, class_weight):
    X, y = wine
    weight = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    options = {"class_weight": class_weight, "gamma": 0.1}
    ours = KernelSVC(**options).fit(X, y, weight)
    theirs = SVC(tol=1e-8, **options).fit(X, y, weight)
    for name in ("support_", "n_support_", "classes_", "class_weight_"):
        assert_array_equal(getattr(ours, name), getattr(theirs, name))
    for name in ("dual_coef_", "intercept_", "support_vectors_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), **LIBSVM)
    assert ours.objective_.shape == ours.dual_gap_.shape == ours.n_iter_.shape == (3,)
    assert ours.converged_.all() and len(ours.history_) == 3
    points = X + 0.5
    assert_array_equal(ours.predict(points), theirs.predict(points))
    for shape in ("ovr", "ovo"):
        values = ours.set_params(decision_function_shape=shape).decision_function(points)
        theirs.set_params(decision_function_shape=shape)
        assert_allclose(values, theirs.decision_function(points), **LIBSVM)


@pytest.mark.parametrize("names", [["a", "b", "c"], [30, 10, 20]])
def test_labels_of_any_kind(names):
    X, y = load_iris(return_X_y=True)
    labels = np.array(names)[y]
    assert_array_equal(KernelSVC().fit(X, labels).predict(X), SVC().fit(X, labels).predict(X))


def test_ties_go_to_the_first_class_unless_broken():
    # Three classes on a circle and their centre: every pair votes differently.
    rng = np.random.default_rng(0)
    angle = 2 * np.pi / 3 * np.repeat(np.arange(3), 30) + rng.normal(scale=0.7, size=90)
    X, y = np.c_[np.cos(angle), np.sin(angle)], np.repeat(np.arange(3), 30)
    points = 0.05 * rng.standard_normal((200, 2))
    for break_ties in (False, True):
        ours = KernelSVC(kernel="linear", break_ties=break_ties).fit(X, y)
        theirs = SVC(kernel="linear", tol=1e-8, break_ties=break_ties).fit(X, y)
        assert_array_equal(ours.predict(points), theirs.predict(points))
    scores = ours.decision_function(points)
    assert_array_equal(ours.predict(points), scores.argmax(axis=1))


def test_one_vs_rest_is_one_machine_a_class(wine):
    X, y = wine
    model = KernelSVC(multi_class="ovr").fit(X, y)
    values = model.decision_function(X)
    assert model.dual_coef_.shape == (3, len(model.support_))
    for c in range(3):
        single = KernelSVC().fit(X, y == c)
        assert_allclose(values[:, c], single.decision_function(X), rtol=1e-7, atol=1e-9)
        assert_allclose(model.objective_[c], single.objective_, rtol=1e-9)
        assert_allclose(model.intercept_[c], single.intercept_[0], rtol=1e-6, atol=1e-9)
    assert_array_equal(model.predict(X), values.argmax(axis=1))
    binary = KernelSVC(multi_class="ovr").fit(X, y == 0)
    assert_array_equal(binary.dual_coef_, KernelSVC().fit(X, y == 0).dual_coef_)


@pytest.mark.parametrize("estimator", [KernelSVC, KernelSVR])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_precomputed_and_callable_kernels(estimator, kernel, wine):
    X, y = wine
    function = {"rbf": rbf_kernel, "laplacian": laplacian_kernel}[kernel]
    points = X[::3] + 0.1
    expected = estimator(kernel=kernel, gamma=1 / X.shape[1]).fit(X, y)
    by_callable = estimator(kernel=function).fit(X, y)
    K, K_points = function(X), function(points, X)
    results = [(by_callable, points)]
    for matrix in (K, np.asfortranarray(K), np.repeat(K, 2, axis=1)[:, ::2], K.tolist()):
        results.append((estimator(kernel="precomputed").fit(matrix, y), K_points))
    for model, data in results:
        assert_allclose(model.predict(data), expected.predict(points), rtol=1e-7, atol=1e-9)
        assert_allclose(model.objective_, expected.objective_, rtol=1e-9)
    assert by_callable.kernel_ is function
    assert results[1][0].kernel_ is None and not hasattr(results[1][0], "support_vectors_")


@pytest.mark.parametrize("function", [linear_kernel, rbf_kernel])
def test_precomputed_single_precision(cancer, function):
    X, y = cancer
    K = function(X)
    single = KernelSVC(kernel="precomputed").fit(K.astype(np.float32), y)
    double = KernelSVC(kernel="precomputed").fit(K, y)
    assert_allclose(single.objective_, double.objective_, rtol=1e-5)
    assert single.decision_function(K.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("options", KERNELS)
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_sparse_equals_dense(wine, options, container):
    X, y = wine
    X = np.where(abs(X) > 0.5, X, 0.0)
    weight = np.arange(len(X)) % 3
    dense = KernelSVC(**options).fit(X, y, weight)
    model = KernelSVC(**options).fit(container(X), y, weight)
    expected = dense.decision_function(X)
    assert sparse.issparse(model.support_vectors_)
    assert_allclose(model.decision_function(container(X)), expected, rtol=1e-7, atol=1e-7)
    assert_allclose(model.decision_function(X), expected, rtol=1e-7, atol=1e-7)
    assert_allclose(dense.decision_function(container(X)), expected, rtol=1e-7, atol=1e-7)


def test_sparse_duplicates_are_summed_without_touching_the_input():
    data, columns, ends = np.ones(8), np.array([0, 0, 1, 0, 1, 1, 0, 1]), np.array([0, 3, 5, 6, 8])
    X = sparse.csr_array((data, columns, ends), shape=(4, 2))
    model = KernelSVC().fit(X, [0, 0, 1, 1])
    assert X.nnz == 8
    assert_allclose(model.gamma_, KernelSVC().fit(X.toarray(), [0, 0, 1, 1]).gamma_)


@pytest.mark.parametrize("estimator", [KernelSVC(), KernelSVC(multi_class="ovr"), KernelSVR()])
@pytest.mark.parametrize("kernel", ["rbf", rbf_kernel])
def test_rows_on_demand_equal_the_matrix(wine, estimator, kernel):
    X, y = wine
    estimator = estimator.set_params(kernel=kernel, cache_size=200)
    expected = estimator.fit(X, y).predict(X)
    objective = estimator.objective_
    estimator.set_params(cache_size=0.01).fit(X, y)
    assert np.all(estimator.converged_)
    assert_allclose(estimator.objective_, objective, rtol=2e-6)
    assert_allclose(estimator.predict(X), expected, atol=1e-3)


@pytest.mark.parametrize("limit", [512, 10])
def test_small_problems_are_not_for_threads(wine, limit, monkeypatch):
    """Python would take turns between them."""
    X, y = wine[:2]
    threads, learn = set(), FixedLearner.learn
    monkeypatch.setattr("kernelfit.estimators.classifier._SMALL_PROBLEM", limit)
    monkeypatch.setattr(
        FixedLearner, "learn", lambda *args, **kw: (threads.add(get_ident()), learn(*args, **kw))[1]
    )
    KernelSVC(n_jobs=2).fit(X, y)
    assert (threads == {get_ident()}) == (limit == 512)


def test_jobs_do_not_change_the_result(wine, monkeypatch):
    monkeypatch.setattr("kernelfit.estimators.classifier._SMALL_PROBLEM", 0)
    X, y = wine
    for multi_class in ("ovo", "ovr"):
        for cache_size in (200, 0.01):
            options = {"multi_class": multi_class, "cache_size": cache_size}
            one = KernelSVC(**options).fit(X, y)
            two = KernelSVC(n_jobs=2, **options).fit(X, y)
            assert_array_equal(two.decision_function(X), one.decision_function(X))
            assert_array_equal(two.dual_gap_, one.dual_gap_)


@pytest.mark.parametrize(
    "estimator",
    [
        KernelSVC(C=10.0),
        KernelSVC(multi_class="ovr", class_weight="balanced"),
        KernelSVC(class_weight="balanced", kernel="laplacian"),
        KernelSVC(fit_intercept=False, kernel="poly"),
        KernelSVR(C=10.0),
        KernelSVR(kernel="linear"),
    ],
)
def test_weights_equal_repetitions(wine, estimator):
    X, y = wine
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = estimator.fit(X, y, weight)
    function = getattr(weighted, "decision_function", weighted.predict)
    first, support, gamma = function(X), weighted.support_, getattr(weighted, "gamma_", 0)
    assert weight[support].all()
    repeated = estimator.fit(X.repeat(weight, axis=0), y.repeat(weight))
    function = getattr(repeated, "decision_function", repeated.predict)
    assert_allclose(function(X), first, rtol=1e-6, atol=1e-8)
    assert_allclose(getattr(repeated, "gamma_", 0), gamma, rtol=1e-12)
    removed = estimator.fit(X[weight > 0], y[weight > 0], weight[weight > 0])
    assert_array_equal(np.flatnonzero(weight)[removed.support_], support)


@pytest.mark.parametrize("seed", [169, 551, 760])
def test_rows_of_zeros_are_no_sign_of_an_indefinite_matrix(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 2)).round(1)
    X[8:] = 0.0
    y = (rng.uniform(size=12) >= 0.6).astype(int)
    model = KernelSVC(kernel="linear", class_weight={0: 0.7, 1: 1.4}).fit(X, y)
    assert model.dual_gap_ <= 1e-6 * model.objective_


def test_weight_zero_equals_removal_in_a_precomputed_matrix(cancer):
    X, y = cancer
    K, kept = rbf_kernel(X, gamma=0.05), np.arange(len(y)) % 3 > 0
    zero = KernelSVC(kernel="precomputed").fit(K, y, kept.astype(float))
    removed = KernelSVC(kernel="precomputed").fit(K[np.ix_(kept, kept)], y[kept])
    assert_array_equal(zero.decision_function(K), removed.decision_function(K[:, kept]))


def test_balanced_classes(cancer):
    X, y = cancer
    ours = KernelSVC(class_weight="balanced").fit(X, y)
    theirs = SVC(class_weight="balanced").fit(X, y)
    assert_allclose(ours.class_weight_, theirs.class_weight_)
    weight = ours.class_weight_[y]
    by_weight = KernelSVC(gamma=ours.gamma_).fit(X, y, weight)
    assert_allclose(by_weight.decision_function(X), ours.decision_function(X), rtol=1e-7, atol=1e-9)


def test_learned_kernel_serves_svc(cancer):
    X, y = cancer
    model = KernelSVC(kernel="poly", degree=2, coef0=1.0).fit(X, y)
    by_callable = SVC(kernel=model.kernel_).fit(X, y)
    by_name = SVC(kernel="poly", degree=2, coef0=1.0).fit(X, y)
    assert_allclose(by_callable.decision_function(X), by_name.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("ours", [KernelSVC, KernelSVR])
def test_coefficients_of_sparse_data_are_sparse_as_in_scikit_learn(wine, ours, container):
    X, y = wine
    theirs = (SVC if ours is KernelSVC else SVR)(kernel="linear").fit(container(X), y)
    dense = ours(kernel="linear").fit(X, y)
    thin = ours(kernel="linear").fit(container(X), y)
    for name in ("dual_coef_", "coef_", "support_vectors_"):
        found = getattr(thin, name)
        assert isinstance(found, container) and sparse.issparse(getattr(theirs, name))
        assert found.shape == getattr(dense, name).shape and found.data.size == found.nnz
        assert_allclose(found.toarray(), getattr(dense, name), rtol=1e-6, atol=1e-9)
    again = pickle.loads(pickle.dumps(thin))
    assert_allclose(again.predict(container(X)), dense.predict(X), rtol=1e-6)
    assert all(one.confirmed for one in np.atleast_1d(audit(thin, container(X), y)))
    warm = ours(kernel="linear", warm_start=True).fit(container(X), y)
    assert np.max(warm.fit(container(X), y).n_iter_) <= np.max(thin.n_iter_)


def test_sparse_data_without_support_vectors():
    X = sparse.csr_array(np.eye(4)[[1, 3, 2, 3]])
    model = KernelSVR(kernel="linear").fit(X, [0.04, 0.04, 0.10, 0.16])
    assert not model.support_vectors_.data.size
    assert not model.dual_coef_.data.size
    assert model.predict(X).shape == (4,)
