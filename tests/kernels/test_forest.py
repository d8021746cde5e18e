from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from kernelfit.kernels.forest import Forest, LeafKernel, PathKernel, RatioKernel, cooccurrence
from tests.reference import kernels as reference


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 4)), rng.normal(size=(9, 4))
    X[:, 2], Y[:, 2] = X[:, 2].round(), Y[:, 2].round()
    grown = ExtraTreesClassifier(15, min_samples_leaf=2, random_state=0).fit(X, X[:, 0] > X[:, 1])
    return X, Y, [tree.tree_ for tree in grown.estimators_]


def forest_of(trees):
    return Forest.join([(t.feature, t.threshold, t.children_left, t.children_right) for t in trees])


@pytest.mark.parametrize(
    ("kernel", "naive"),
    [
        (LeafKernel, reference.leaf_shares),
        (RatioKernel, reference.ratio_rf),
        (PathKernel, reference.path_shares),
    ],
)
def test_kernels_match_loops(kernel, naive, data):
    X, Y, trees = data
    k = kernel(forest_of(trees))
    np.testing.assert_allclose(k(X, Y), naive(trees, X, Y), rtol=1e-13, atol=0)
    np.testing.assert_allclose(k(X), naive(trees, X, X), rtol=1e-13, atol=0)
    np.testing.assert_array_equal(k(X), k(X).T)
    np.testing.assert_array_equal(np.diagonal(k(X)), k.diag(X))


def test_nodes_of_a_way_may_have_weights(data):
    X, Y, trees = data

    def weights(tree):
        return 1.0 / tree.weighted_n_node_samples

    k = PathKernel(forest_of(trees), np.concatenate([weights(tree) for tree in trees]))
    np.testing.assert_allclose(k(X, Y), reference.path_shares(trees, X, Y, weights), rtol=1e-12)
    np.testing.assert_allclose(np.diagonal(k(X)), 1.0, rtol=1e-15)
    assert np.abs(k(X) - PathKernel(k.forest)(X)).max() > 0.1


def test_leaves_are_those_of_the_trees(data):
    X, _, trees = data
    forest = forest_of(trees)
    expected = np.stack([t.apply(X.astype(np.float32)) for t in trees], axis=1)
    np.testing.assert_array_equal(forest.leaves(X) - forest.roots[:-1], expected)


def test_leaf_kernel_is_psd(data):
    X, _, trees = data
    k = LeafKernel(forest_of(trees))
    assert k.psd and np.linalg.eigvalsh(k(X))[0] >= -1e-12
    assert not RatioKernel(k.forest).psd and not PathKernel(k.forest).psd


def test_cooccurrence_in_blocks(monkeypatch):
    monkeypatch.setattr("kernelfit.kernels.forest._BLOCK_BYTES", 100)
    rng = np.random.default_rng(0)
    leaves = rng.integers(0, 3, size=(20, 6)) + 3 * np.arange(6)
    others = rng.integers(0, 3, size=(11, 6)) + 3 * np.arange(6)
    expected = (leaves[:, None] == others).mean(axis=2)
    np.testing.assert_allclose(cooccurrence(leaves, others), expected, rtol=1e-15)


def test_a_tree_without_a_test():
    stump = (np.array([-2]), np.array([-2.0]), np.array([-1]), np.array([-1]))
    forest = Forest.join([stump])
    for kernel in (LeafKernel(forest), RatioKernel(forest), PathKernel(forest)):
        np.testing.assert_array_equal(kernel(np.zeros((2, 1)), np.ones((3, 1))), np.ones((2, 3)))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("left", 0, 0),  # a cycle
        ("left", 0, 10**9),
        ("right", 0, -5),
        ("left", 0, 2),  # one node has two parents
        ("feature", 0, -1),  # a leaf with children
        ("feature", -1, 0),  # a test without children
        ("roots", 0, 1),
        ("roots", 1, 10**9),
        ("roots", -1, 3),
    ],
)
def test_numbers_that_form_no_trees_are_refused(name, place, value, data):
    forest = forest_of(data[2])
    changed = getattr(forest, name).copy()
    changed[place] = value
    with pytest.raises(ValueError, match="form none"):
        replace(forest, **{name: changed})
    with pytest.raises(ValueError, match="form none"):
        replace(forest, **{name: getattr(forest, name)[:-1]})
    with pytest.raises(ValueError, match="form none"):
        replace(forest, **{name: getattr(forest, name).astype(np.int32)})


def test_too_few_features_are_refused(data):
    forest = forest_of(data[2])
    with pytest.raises(ValueError, match="at least 4 features"):
        forest.leaves(data[0][:, :3])
