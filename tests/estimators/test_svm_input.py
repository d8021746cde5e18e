"""Bad input: one clear sentence, and nothing half-fitted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from kernelfit import KernelSVC, KernelSVR

X = np.random.default_rng(0).standard_normal((12, 3))
Y = np.arange(12) % 2
K = rbf_kernel(X)
BOTH = [KernelSVC(), KernelSVR()]


def spoiled(array, value, at=(2, 1)):
    array = np.array(array, dtype=float)
    array[at] = value
    return array


def assert_refused(model, message, *data, error=ValueError, **weights):
    """Fit raises for a new estimator and for a fitted one, and changes neither."""
    fresh, fitted = clone(model), clone(model)
    simple = type(model)().fit(X, Y)
    fitted.__dict__.update({name: v for name, v in vars(simple).items() if name.endswith("_")})
    for estimator in (fresh, fitted):
        before = dict(vars(estimator))
        with pytest.raises(error, match=message):
            estimator.fit(*data, **weights)
        assert vars(estimator).keys() == before.keys()
        assert all(vars(estimator)[name] is value for name, value in before.items())


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, r"'C' parameter .* range \(0.0, inf\). Got 0.0"),
        ({"C": -1}, "'C' parameter .* Got -1"),
        ({"C": np.nan}, "'C' parameter .* Got nan"),
        ({"C": np.inf}, "'C' parameter .* Got inf"),
        ({"C": "1"}, "'C' parameter .* Got '1'"),
        ({"gamma": 0.0}, "'gamma' parameter .* Got 0.0"),
        ({"gamma": -1.0}, "'gamma' parameter .* Got -1.0"),
        ({"gamma": "wide"}, "'gamma' parameter .* Got 'wide'"),
        ({"kernel": "sigmoid"}, "'kernel' parameter .* Got 'sigmoid'"),
        ({"degree": 1.5}, "'degree' parameter .* Got 1.5"),
        ({"tol": 0}, "'tol' parameter .* Got 0"),
        ({"max_iter": 0}, "'max_iter' parameter .* Got 0"),
        ({"cache_size": 0}, "'cache_size' parameter .* Got 0"),
    ],
)
def test_parameters(model, parameters, message):
    assert_refused(clone(model).set_params(**parameters), message, X, Y)


def test_parameters_of_one_estimator():
    assert_refused(KernelSVR(epsilon=-0.1), "'epsilon' parameter .* Got -0.1", X, Y)
    assert_refused(KernelSVC(multi_class="all"), "'multi_class' parameter .* Got 'all'", X, Y)
    assert_refused(KernelSVC(class_weight="even"), "'class_weight' parameter", X, Y)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((spoiled(X, np.nan), Y), "X contains NaN"),
        ((spoiled(X, np.inf), Y), "X contains infinity"),
        ((X[:0], Y[:0]), "0 sample"),
        ((X[:, 0], Y), "2D array"),
        ((X, Y[:-1]), r"inconsistent numbers of samples: \[12, 11\]"),
        ((X, spoiled(Y, np.nan, 3)), "y contains NaN"),
        ((X, np.c_[Y, Y]), "1d array"),
    ],
)
def test_data(model, data, message):
    assert_refused(model, message, *data)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (spoiled(np.ones(12), -1.0, 3), "expected sample_weight >= 0, got -1.0"),
        (spoiled(np.ones(12), np.nan, 3), "sample_weight contains NaN"),
        (np.ones(11), r"expected sample_weight of shape \(12,\), got \(11,\)"),
        (np.zeros(12), "got only zero weights"),
    ],
)
def test_weights(model, weight, message):
    assert_refused(model, message, X, Y, sample_weight=weight)


def test_classes():
    names = np.array(["left", "right"])[Y]
    refused = "expected a positive sample weight in every class, got only zeros in '?.*right"
    assert_refused(KernelSVC(), refused, X, names, sample_weight=1.0 - Y)
    assert_refused(KernelSVC(), "expected at least two classes, got one class: .*7", X, 0 * Y + 7)
    assert_refused(KernelSVC(), "Unknown label type: continuous", X, X[:, 0])
    for weight in (0.0, -2.0, np.nan):
        model = KernelSVC(class_weight={0: 1.0, 1: weight})
        assert_refused(model, f"expected positive class weights, got {weight} for .*1", X, Y)
    assert_refused(KernelSVC(class_weight={0: 1.0, 5: 1.0}), "not in class_weight", X, Y)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (K[:, :-1], r"expected a square precomputed kernel matrix, got shape \(12, 11\)"),
        (spoiled(K, 0.5), r"to be symmetric, got 0.* at \(1, 2\) and 0.5 at \(2, 1\)"),
        (spoiled(K, np.nan), r"to be finite, got nan at \(2, 1\)"),
        (spoiled(K, -np.inf, (3, 3)), r"to be finite, got -inf at \(3, 3\)"),
        (spoiled(K, np.nan).tolist(), "contains NaN"),
    ],
)
def test_precomputed_matrix(model, matrix, message):
    assert_refused(clone(model).set_params(kernel="precomputed"), message, matrix, Y)


@pytest.mark.parametrize("model", BOTH)
def test_precomputed_test_matrix(model):
    model = clone(model).set_params(kernel="precomputed").fit(K, Y)
    with pytest.raises(
        ValueError, match=r"one column for every training row, .*\(n_test, n_train\)"
    ):
        model.predict(K[:5, :5])
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(spoiled(K, np.nan))
    assert_allclose(model.predict(K[:5]), model.predict(K)[:5], rtol=1e-12)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            lambda A, B: rbf_kernel(A, B)[:, :3],
            r"expected the kernel to return shape \(12, 12\), got \(12, 3\)",
        ),
        (lambda A, B: rbf_kernel(A, 2 * B), r"to be symmetric, got .* at \(0, 1\)"),
        (lambda A, B: rbf_kernel(A, B) * np.nan, r"expected the kernel to return finite values"),
    ],
)
def test_callable_kernel(model, kernel, message):
    assert_refused(clone(model).set_params(kernel=kernel), message, X, Y)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize("kernel", ["laplacian", "precomputed", rbf_kernel])
def test_sparse_data_where_it_is_not_taken(model, kernel):
    model = clone(model).set_params(kernel=kernel)
    assert not model.__sklearn_tags__().input_tags.sparse
    data = K if kernel == "precomputed" else X
    message = "expected dense X for kernel=.*, got a sparse matrix"
    assert_refused(model, message, sparse.csr_array(data), Y, error=TypeError)
    with pytest.raises(TypeError, match=message):
        model.fit(data, Y).predict(sparse.csr_array(data))


@pytest.mark.parametrize("model", BOTH)
def test_overflow(model):
    for kernel, size in (("linear", 1e200), ("poly", 1e60)):
        model = clone(model).set_params(kernel=kernel, gamma=1.0)
        assert_refused(model, "expected finite kernel values, got overflow", size * X, Y)


@pytest.mark.parametrize("model", BOTH)
def test_prediction(model):
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    model = clone(model).fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(spoiled(X, np.nan))


def test_input_is_left_alone():
    weight = np.ones(12)
    for data, kernel in ((X, "rbf"), (K, "precomputed")):
        before = data.copy()
        KernelSVC(kernel=kernel).fit(data, Y, weight).predict(data)
        assert_array_equal(data, before)
        assert_array_equal(weight, np.ones(12))
