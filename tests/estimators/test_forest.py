import pickle

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from kernelfit import ForestKernel, KernelSVC, KernelSVR
from kernelfit.inspection import audit
from tests.reference import kernels as reference


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "a", "b")


@pytest.mark.parametrize("forest", ["extra_trees", "random_forest"])
@pytest.mark.parametrize("similarity", ["leaf", "ratio"])
@pytest.mark.parametrize("task", ["classification", "regression", "unsupervised"])
def test_kernel_in_every_setting(data, task, similarity, forest):
    X, y = data
    y = X[:, 0] if task == "regression" else y
    model = ForestKernel(
        20, task=task, similarity=similarity, forest=forest, random_state=0, max_depth=6
    )
    K = model.fit_transform(X, y)
    np.testing.assert_array_equal(K, model.transform(X))
    np.testing.assert_array_equal(np.diagonal(K), 1.0)
    assert K.shape == (120, 120) and 0.0 <= K.min() < 0.9 and model.task_ == task
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.kernel_(X[:3], X), K[:3])


def test_task_is_seen_in_the_targets(data):
    X, y = data
    assert ForestKernel(2).fit(X).task_ == "unsupervised"
    assert ForestKernel(2).fit(X, y).task_ == "classification"
    assert ForestKernel(2).fit(X, X[:, 0]).task_ == "regression"
    a, b = (ForestKernel(5, task="unsupervised", random_state=0).fit(X, t) for t in (y, None))
    np.testing.assert_array_equal(a.transform(X), b.transform(X))


def test_kernel_is_that_of_the_forest():
    X, y = make_friedman1(80, random_state=0)
    model = ForestKernel(10, max_features=None, min_samples_leaf=3, random_state=0).fit(X, y)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    grown = ExtraTreesRegressor(10, max_features=None, min_samples_leaf=3, random_state=seed)
    trees = [tree.tree_ for tree in grown.fit(X, y).estimators_]
    np.testing.assert_allclose(model.kernel_(X), reference.leaf_shares(trees, X, X), rtol=1e-14)


def test_random_leaves_are_small_without_supervision(data):
    """Nodes of 10 rows and more are split."""
    X, _ = data
    model = ForestKernel(30, random_state=0).fit(X)
    counts = model.transform(X).sum(axis=1)  # mean number of rows in a point's leaf
    assert counts.max() < 10.0
    share = ForestKernel(30, min_samples_leaf=0.25, random_state=0).fit(X)
    assert share.transform(X).sum(axis=1).mean() > 2 * counts.mean()


def test_machines_learn_with_it(data):
    X, y = data
    forest = ForestKernel(50, random_state=0)
    pipeline = make_pipeline(forest, KernelSVC(kernel="precomputed"))
    grid = {"forestkernel__min_samples_leaf": [2, 5], "kernelsvc__C": [1.0, 10.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    noise = cross_val_score(KernelSVC(), X[:, 2:], y, cv=3).mean()
    assert search.best_score_ > noise + 0.1
    machine = KernelSVR(kernel=forest.fit(X, X[:, 0]).kernel_).fit(X, X[:, 0])
    assert machine.status_ == "proved" and audit(machine, X, X[:, 0]).confirmed


def test_names_of_the_columns(data):
    X, y = data
    names = ForestKernel(2).fit(X, y).get_feature_names_out()
    assert len(names) == 120 and names[3] == "forestkernel3"


def test_complaints(data):
    X, y = data
    with pytest.raises(ValueError, match="requires y to be passed"):
        ForestKernel(task="classification").fit(X)
    with pytest.raises(ValueError, match="expected targets that are numbers"):
        ForestKernel(task="regression").fit(X, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        ForestKernel(task="classification").fit(X, X[:, 0])


def test_the_unit_of_the_targets_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    forest = ForestKernel(20, random_state=0)
    expected = forest.fit_transform(X, X[:, 0])
    for exponent in (-665, 665):
        found = forest.fit_transform(X, np.ldexp(X[:, 0], exponent))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("task", ["regression", "unsupervised"])
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_features_that_no_tree_can_split_are_refused_in_one_sentence(scale, task):
    X = np.random.default_rng(0).standard_normal((60, 3))
    with pytest.raises(ValueError, match="expected features of moderate scale, got"):
        ForestKernel(5, task=task).fit(X * scale, X[:, 0])
