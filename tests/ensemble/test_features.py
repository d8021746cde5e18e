"""The trees of a forest's features are those of scikit-learn's forests."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from kernelfit.ensemble.features import Data, learn_features
from kernelfit.ensemble.members import Recipe

FORESTS = {
    ("none", 1): ExtraTreesRegressor,
    ("splits", 1): RandomForestRegressor,
    ("none", 2): ExtraTreesClassifier,
    ("splits", 2): RandomForestClassifier,
    ("none", 3): ExtraTreesClassifier,
    ("splits", 3): RandomForestClassifier,
}


def same_leaf(leaves):
    """Return in which trees two points have one leaf."""
    return leaves[:, None] == leaves


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("metric", "n_classes"), list(FORESTS))
def test_trees_are_those_of_scikit_learn(metric, n_classes, weighted):
    """Equal but for splits that are equally good: these rounding decides for classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5)).astype(np.float32).astype(np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weight = rng.integers(1, 4, 120).astype(float) if weighted else np.ones(120)
    options = {"min_weight_fraction_leaf": 3.0 / weight.sum(), "random_state": 7}
    if metric == "splits":
        options["bootstrap"] = False
    if n_classes == 1:
        labels, y = None, np.round(2.0**16 * (np.sin(X[:, 0]) + X[:, 1])) / 2.0**16
        targets, options["max_features"] = y[:, None], 0.5
    else:
        labels = y = np.argsort(np.argsort(X[:, 0] + X[:, 1] ** 2)) * n_classes // 120
        signs = 2.0 * np.eye(n_classes)[labels] - 1.0
        targets = signs[:, 1:] if n_classes == 2 else signs
    data = Data(X, np.zeros(5, dtype=bool), targets, labels, weight)
    features = learn_features(data, Recipe("forest", metric=metric), seed=7)
    forest = FORESTS[metric, n_classes](**options).fit(features.view(X), y, weight)
    found, expected = same_leaf(features(X)), same_leaf(forest.apply(features.view(X)))
    assert found.shape == expected.shape
    if n_classes == 1:
        assert_array_equal(found, expected)
    assert np.mean((found == expected).all(axis=(0, 1))) > 0.8


@pytest.mark.parametrize("draw", range(3))
@pytest.mark.parametrize("metric", ["none", "splits"])
def test_weights_are_repeated_rows(metric, draw):
    """Also where two features divide a node alike, which shows at other points."""
    rng = np.random.default_rng(draw)
    X, y, others = (rng.standard_normal(shape) for shape in ((45, 4), (45, 1), (200, 4)))
    count = rng.integers(1, 4, 45)
    rows = np.repeat(np.arange(45), count)
    plain, recipe = np.zeros(4, dtype=bool), Recipe("forest", metric=metric)
    weighted = learn_features(Data(X, plain, y, None, count.astype(float)), recipe, seed=3)
    repeated = learn_features(
        Data(X[rows], plain, y[rows], None, np.ones(len(rows))), recipe, seed=3
    )
    assert_array_equal(same_leaf(weighted(others)), same_leaf(repeated(others)))
