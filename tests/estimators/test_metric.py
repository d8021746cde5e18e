"""KernelMetric: targets, weights, names, pipelines, bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from kernelfit import KernelMetric, KernelRidgeRegressorCV, KernelSVC

METHODS = [
    {"method": "loo"},
    {"method": "agop"},
    {"method": "agop", "diagonal": False},
    {"method": "nw"},
]
ALL = [*METHODS, {"method": "logdet"}]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def friedman():
    return make_friedman1(120, 8, noise=0.1, random_state=0)


@pytest.mark.parametrize("options", METHODS)
def test_distances_are_those_of_the_components(friedman, options):
    X, y = friedman
    metric = KernelMetric(**options).fit(X, y)
    np.testing.assert_allclose(metric.transform(X), X @ metric.components_.T, atol=1e-10)
    np.testing.assert_allclose(metric.feature_importances_.sum(), 1.0)
    if options["method"] != "nw":  # only the first five features matter
        assert set(np.argsort(-metric.feature_importances_)[:5]) == set(range(5))
    Z = metric.transform(X)
    spread = (metric.components_**2).sum(axis=0) * X.var(axis=0)
    np.testing.assert_allclose(metric.feature_importances_, spread / spread.sum())
    if metric.components_[~np.eye(8, dtype=bool)].any():
        assert options != {"method": "loo"} and options != {"method": "agop"}
    assert Z.shape == X.shape


def five_of_fifty(n, seed):
    """Return data whose targets depend on the first five features alone, through their sum."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 50))
    return X, np.sin(0.5 * X[:, :5].sum(axis=1)) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("seed", [2, 14, 16])
def test_features_that_count_come_first(seed, classes):
    """Draws where steps from equal widths end near them, or at one irrelevant feature."""
    X, y = five_of_fifty(300, seed)
    shares = KernelMetric(random_state=0).fit(X, y > 0 if classes else y).feature_importances_
    assert shares[:5].min() > 2 * shares[5:].max()
    assert shares[:5].sum() > 0.6


def test_no_more_noise_than_in_the_gradient_metric():
    X, y = five_of_fifty(300, 2)
    X_new, y_new = five_of_fifty(1000, 100)
    score = {}
    for method in ("loo", "agop"):
        model = make_pipeline(KernelMetric(method, random_state=0), KernelRidgeRegressorCV()).fit(
            X, y
        )
        score[method] = model.score(X_new, y_new)
    assert score["loo"] > max(0.9, score["agop"] - 0.01)


def test_order_of_the_features_does_not_matter():
    X, y = five_of_fifty(150, 3)
    order = np.random.default_rng(0).permutation(50)
    expected = KernelMetric(random_state=0).fit(X, y).feature_importances_
    found = KernelMetric(random_state=0).fit(X[:, order], y).feature_importances_
    np.testing.assert_allclose(found, expected[order], rtol=1e-3)


@pytest.mark.parametrize("options", METHODS)
def test_units_have_no_influence(friedman, options):
    X, y = friedman
    scale = 2.0 ** np.arange(-4, 4)  # exact, and a shift that keeps most digits
    first = KernelMetric(**options).fit(X, y)
    second = KernelMetric(**options).fit(scale * X, 8.0 * y)
    np.testing.assert_allclose(second.components_ * scale, first.components_, rtol=1e-6)
    assert second.error_ == pytest.approx(first.error_)


def test_labels_of_any_kind_are_columns(iris):
    X, y = iris
    names = np.array(["a", "b", "c"])[y]
    columns = (y[:, None] == np.arange(3)).astype(float)
    by_number = KernelMetric().fit(X, y)
    for metric in (
        KernelMetric().fit(X, names),
        KernelMetric(task="regression").fit(X, columns),
        KernelMetric().fit(X, columns.astype(int)),  # several labels a point
    ):
        np.testing.assert_allclose(metric.components_, by_number.components_, rtol=1e-4)


def test_two_classes_are_one_column(iris):
    X, y = iris[0], iris[1] > 1  # classes that overlap: the widths are well determined
    expected = KernelMetric().fit(X, np.where(y, 0.75, -0.2))
    found = KernelMetric().fit(X, y)
    np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-4)


def test_task_decides_what_integers_are(friedman):
    X, y = friedman
    y = np.round(y)
    numbers = KernelMetric(task="regression").fit(X, y)
    assert numbers.error_ == pytest.approx(KernelMetric().fit(X, y + 0.5).error_)
    assert numbers.error_ != KernelMetric().fit(X, y).error_


def test_several_outputs_share_the_metric(friedman):
    X, y = friedman
    both = KernelMetric().fit(X, np.column_stack([y, 0.0 * y]))
    np.testing.assert_allclose(both.components_, KernelMetric().fit(X, y).components_, rtol=1e-4)


@pytest.mark.parametrize("options", ALL)
@pytest.mark.parametrize("max_samples", [40, 600])
def test_weights_equal_repeated_rows(iris, options, max_samples):
    X, y = iris
    X = np.unique(X, axis=0)
    y = (X[:, 2] > 2).astype(int) + (X[:, 3] > 1.7)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    metric = KernelMetric(**options, max_samples=max_samples, random_state=0)
    first = clone(metric).fit(X, y, sample_weight=weight)
    second = clone(metric).fit(X[rows][::-1], y[rows][::-1])
    np.testing.assert_array_equal(first.components_, second.components_)


def test_names_of_the_features(iris):
    X = pd.DataFrame(iris[0], columns=["a", "b", "c", "d"])
    metric = KernelMetric().fit(X, iris[1])
    assert list(metric.get_feature_names_out()) == ["a", "b", "c", "d"]
    full = KernelMetric("agop", diagonal=False).fit(X, iris[1])
    assert list(full.get_feature_names_out()) == [f"kernelmetric{k}" for k in range(4)]
    frame = full.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == list(full.get_feature_names_out())


def test_constant_features_and_targets(iris):
    X = np.column_stack([iris[0], np.full(150, 0.1)])
    metric = KernelMetric().fit(X, iris[1])
    assert not metric.components_[:, 4].any() and metric.feature_importances_[4] == 0.0
    metric = KernelMetric().fit(X, np.full(150, 0.5))  # nothing to learn: standardised
    Z = metric.transform(X)[:, :4]
    np.testing.assert_allclose(Z.var(axis=0), Z[:, 0].var())
    metric = KernelMetric("agop", diagonal=False).fit(np.ones((9, 2)), np.arange(9.0) + 0.5)
    assert not metric.components_.any() and not metric.feature_importances_.any()


@pytest.mark.parametrize("options", ALL)
def test_pipeline_search_and_pickle(iris, options):
    X, y = iris[0][::3], iris[1][::3]
    limit = {} if options["method"] == "logdet" else {"max_iter": 3}
    pipeline = make_pipeline(KernelMetric(**options, **limit, random_state=0), KernelSVC(gamma=1.0))
    grid = {"kernelmetric__kernel": ["rbf", "exponential"], "kernelsvc__C": [1.0, 10.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_logdet_is_certified(iris):
    X, y = iris
    metric = KernelMetric("logdet", random_state=0).fit(X, y)
    assert 0 <= metric.dual_gap_ <= 1e-4 * metric.objective_

    # Points of one class come nearer, relative to those of others.
    def ratio(Z):
        D = ((Z[:, None] - Z) ** 2).sum(axis=2)
        return D[y[:, None] == y].mean() / D[y[:, None] != y].mean()

    assert ratio(metric.transform(X)) < 0.8 * ratio(X)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        KernelMetric("logdet", max_iter=1, tol=0.0, random_state=0).fit(X, y)


def test_logdet_after_kernel_components_is_the_learned_kernel(iris):
    """Jain et al.: k(x, y) + sum of k(x, x_i) S_ij k(x_j, y), for the kernel k of centred maps."""
    X, y = iris[0][::2], iris[1][::2]
    components = KernelPCA(kernel="rbf", gamma=0.5).fit(X)
    Z = components.transform(X)
    metric = KernelMetric("logdet", random_state=0).fit(Z, y)
    K, learned = Z @ Z.T, metric.transform(Z) @ metric.transform(Z).T
    inverse = np.linalg.pinv(K, rcond=1e-8)
    S = inverse @ (learned - K) @ inverse
    new = components.transform(X[:5] + 0.1)
    expected = new @ new.T + new @ Z.T @ S @ Z @ new.T
    found = metric.transform(new) @ metric.transform(new).T
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("options", METHODS)
def test_size_of_the_numbers_does_not_matter(friedman, options):
    X, y = friedman
    metric = KernelMetric(**options, task="regression")
    expected = clone(metric).fit(X, y)
    for factor in (2.0**-600, 2.0**600):
        found = clone(metric).fit(X * factor, y * factor)
        np.testing.assert_allclose(found.components_ * factor, expected.components_, rtol=1e-6)


def test_numbers_beyond_squares_are_refused_by_logdet(iris):
    with pytest.raises(ValueError, match="squared distances are finite"):
        KernelMetric("logdet").fit(1e200 * iris[0], iris[1])


def test_failed_fit_leaves_the_estimator_as_it_was(iris):
    metric = KernelMetric().fit(*iris)
    before = metric.components_.copy()
    with pytest.raises(ValueError):
        metric.fit(iris[0], iris[1], sample_weight=np.zeros(150))
    np.testing.assert_array_equal(metric.components_, before)


def test_verbose_reports_the_error(iris, caplog):
    KernelMetric(verbose=1).fit(*iris)
    assert "of the variance" in caplog.text


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"method": "lmnn"}, None, "method"),
        ({"prior": 0.0}, None, "prior"),
        ({"max_samples": 1}, None, "max_samples"),
        ({"task": "regression"}, ["a"] * 150, "expected targets that are numbers"),
        ({"method": "logdet"}, np.linspace(0, 1, 150), "class labels for method='logdet'"),
        ({"slack": 0.0}, None, "slack"),
        ({"n_constraints": 0}, None, "n_constraints"),
        ({}, np.full(150, np.nan), "NaN"),
        ({}, np.array([None] * 150), "expected labels or numbers as targets"),
    ],
)
def test_bad_input_is_named(iris, options, y, message):
    with pytest.raises(ValueError, match=message):
        KernelMetric(**options).fit(iris[0], iris[1] if y is None else y)


def test_huge_targets_are_numbers():
    X = np.random.default_rng(0).standard_normal((60, 3))
    metric = KernelMetric(random_state=0)  # without noise the order of the points shows
    expected = clone(metric).fit(X, X[:, 1]).components_
    found = clone(metric).fit(X, np.ldexp(X[:, 1], 665)).components_
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["squares", "sum", "noise"])
def test_widths_that_follow_noise_stay_equal(kind):
    """All columns count alike, or none: learned widths would make new predictions worse."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 15))
    truth = {"squares": (X**2).sum(axis=1), "sum": X.sum(axis=1), "noise": np.zeros(200)}[kind]
    y = truth + rng.normal(size=200) * max(2.0 * truth.std(), 1.0)
    importances = KernelMetric(random_state=0).fit(X, y).feature_importances_
    np.testing.assert_allclose(importances, 1.0 / 15.0, rtol=0.05)
