"""RandomFeatureAlignment: kernel, selection, weights, sparse data, bad input."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from kernelfit import KernelSVC, RandomFeatureAlignment


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_equal_weights_approximate_the_gaussian_kernel(iris):
    X, y = iris[0][::5], iris[1][::5]
    features = RandomFeatureAlignment(0.3, n_components=50_000, rho=0.0, random_state=0)
    Z = features.fit_transform(X, y)
    np.testing.assert_allclose(Z @ Z.T, rbf_kernel(X, gamma=0.3), atol=0.03)


@pytest.mark.parametrize("centre", [False, True])
def test_weights_are_those_of_a_conic_solver_on_unequal_classes(centre):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = X[:, 0] + 0.5 * rng.standard_normal(80) > 0.7
    options = {"n_components": 20, "random_state": 0, "centre_targets": centre}
    drawn = RandomFeatureAlignment(rho=0.0, **options).fit(X, y)
    features = np.sqrt(2.0) * np.cos(X @ drawn.frequencies_ + drawn.offsets_)
    sign = np.where(y, 1.0, -1.0) - (np.mean(np.where(y, 1.0, -1.0)) if centre else 0.0)
    v = (sign @ features / 80) ** 2
    q = cp.Variable(20, nonneg=True)
    rules = [cp.sum(q) == 1, cp.sum_squares(20 * q - 1) / 20 <= 2.0]
    best = cp.Problem(cp.Maximize(v @ q), rules).solve(solver="CLARABEL")
    found = RandomFeatureAlignment(rho=2.0, **options).fit(X, y)
    np.testing.assert_allclose(found.objective_, best, rtol=1e-6)
    np.testing.assert_allclose(found.weights_, q.value[q.value > 1e-4], atol=1e-4)


@pytest.mark.parametrize("centre", [False, True])
def test_alignment_is_that_of_the_learned_kernel(iris, centre):
    X, y = iris
    options = {"random_state": 0, "n_components": 300, "centre_targets": centre}
    features = RandomFeatureAlignment(**options).fit(X, y)
    Z = features.transform(X)
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0) + centre / 3
    np.testing.assert_allclose(np.sum((Y.T @ Z) ** 2) / 150**2, features.objective_)
    uniform = RandomFeatureAlignment(rho=0.0, **options).fit(X, y)
    assert features.objective_ > 1.5 * uniform.objective_
    assert features.dual_gap_ <= 1e-10 * features.objective_
    assert Z.shape[1] < 300 and np.all(features.weights_ > 0)
    assert list(features.get_feature_names_out()[:2]) == [
        "randomfeaturealignment0",
        "randomfeaturealignment1",
    ]


def test_features_that_matter_are_found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 10))
    features = RandomFeatureAlignment(0.05, rho=50.0, random_state=0).fit(X, np.sin(3 * X[:, 4]))
    size = np.sum(features.weights_ * features.frequencies_**2, axis=1)
    assert size.argmax() == 4 and size[4] > 2 * np.delete(size, 4).max()


def test_weights_equal_repeated_rows(iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 4, 150)
    rows = np.repeat(np.arange(150), weight)
    first = RandomFeatureAlignment(random_state=0).fit(X, y, sample_weight=weight)
    second = RandomFeatureAlignment(random_state=0).fit(X[rows], y[rows])
    np.testing.assert_allclose(first.weights_, second.weights_, rtol=1e-6, atol=1e-9)


def test_sparse_data_and_targets_of_all_kinds(iris):
    X, y = iris
    features = RandomFeatureAlignment(random_state=0, task="regression")
    dense = features.fit(X, y).transform(X)
    again = features.fit(sparse.csr_array(X), y).transform(sparse.csr_array(X))
    np.testing.assert_allclose(dense, again, rtol=1e-9)
    both = features.fit(X, np.column_stack([y, 0 * y])).transform(X)
    np.testing.assert_allclose(dense, both, rtol=1e-6)


def test_features_far_from_zero_keep_their_digits(iris):
    X, y = iris
    X = np.round(64.0 * X) / 64.0  # so that a shift changes no bit
    options = {"n_components": 200, "random_state": 0}
    here = RandomFeatureAlignment(**options).fit(X, y)
    far = RandomFeatureAlignment(**options).fit(X + 2.0**40, y)  # whose mean is rounded to 1e-4
    np.testing.assert_allclose(far.weights_, here.weights_, atol=1e-3)
    Z, moved = here.transform(X), far.transform(X + 2.0**40)
    np.testing.assert_allclose(moved @ moved.T, Z @ Z.T, atol=1e-3)
    for row in (0, 70):
        np.testing.assert_allclose(far.transform(X[[row]] + 2.0**40)[0], moved[row], atol=1e-12)
    plain = np.sqrt(2.0 * here.weights_) * np.cos(X @ here.frequencies_ + here.offsets_)
    np.testing.assert_allclose(plain, Z, atol=1e-12)


def test_pipeline_search_and_pickle(iris):
    X, y = iris
    features = RandomFeatureAlignment(random_state=0, n_components=200)
    pipeline = make_pipeline(features, KernelSVC(kernel="linear"))
    grid = {"randomfeaturealignment__rho": [0.0, 5.0], "kernelsvc__C": [1.0, 100.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_features_without_a_scale_are_refused(iris):
    with pytest.raises(ValueError, match="moderate scale"):
        RandomFeatureAlignment().fit(1e-200 * iris[0], iris[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"rho": -1.0}, "rho"), ({"gamma": 0.0}, "gamma"), ({"n_components": 0}, "n_components")],
)
def test_bad_input_is_named(iris, options, message):
    with pytest.raises(ValueError, match=message):
        RandomFeatureAlignment(**options).fit(*iris)


@pytest.mark.parametrize("exponent", [-700, 665])
def test_the_unit_of_the_targets_does_not_matter(iris, exponent):
    X, y = iris[0][::5], iris[0][::5, 0] - 5.5
    features = RandomFeatureAlignment(n_components=100, random_state=0)
    expected = features.fit_transform(X, y)
    np.testing.assert_array_equal(features.fit_transform(X, np.ldexp(y, exponent)), expected)
    assert features.objective_ == (0.0 if exponent < 0 else np.inf)
