"""Classifiers on blocks: those of naive loops, and of DANK's blocks without adaptation."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelfit import DANKClassifier, KernelSVC, MKLClassifier
from kernelfit.papers.block_classifier import BlockClassifier

X, y = make_moons(120, noise=0.3, random_state=0)
X_new = make_moons(60, noise=0.3, random_state=1)[0]
BANK = [{"kernel": "rbf", "gamma": [0.3, 3.0]}, "linear"]


@parametrize_with_checks([BlockClassifier(KernelSVC(), 2, random_state=0)])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("combination", ["simple", "bayes"])
def test_blocks_learn_their_own_weights(combination):
    means = KMeans(3, n_init=1, random_state=5).fit(X)
    home, new_home = means.labels_, means.predict(X_new)
    machine = MKLClassifier(C=5.0, kernels=BANK, combination=combination)
    found = BlockClassifier(machine, 3, random_state=5).fit(X, y)
    expected = np.empty(len(X_new), dtype=int)
    for block in range(3):
        alone = MKLClassifier(C=5.0, kernels=BANK, combination=combination)
        alone.fit(X[home == block], y[home == block])
        assert np.allclose(found.estimators_[block].weights_, alone.weights_)
        expected[new_home == block] = alone.predict(X_new[new_home == block])
    assert np.array_equal(found.predict(X_new), expected)


@pytest.mark.filterwarnings("ignore:.*not an optimum of the whole")
@pytest.mark.parametrize("combine", ["nearest", "concatenate"])
def test_plain_machines_on_blocks_are_dank_without_adaptation(combine):
    blocks = np.arange(120) % 4
    machine = KernelSVC(C=3.0, gamma=1.0, fit_intercept=False)
    found = BlockClassifier(machine, blocks, combine=combine).fit(X, y)
    dank = DANKClassifier(C=3.0, gamma=1.0, eta=np.inf, partition=blocks, combine=combine)
    values = dank.fit(X, y).decision_function(X_new)
    clear = np.abs(values) > 1e-3
    assert np.mean(clear) > 0.9
    assert np.array_equal(found.predict(X_new)[clear], dank.predict(X_new)[clear])


def test_a_block_of_one_class_predicts_it():
    data, labels = load_iris(return_X_y=True)
    model = BlockClassifier(KernelSVC(C=10.0), labels).fit(data, labels)
    assert model.score(data, labels) == 1.0
    for target in (labels, labels == 0):
        with pytest.raises(ValueError, match="expected two classes, both in every block"):
            BlockClassifier(KernelSVC(), labels, combine="concatenate").fit(data, target)
    with pytest.raises(ValueError, match="expected at most n_samples=150 blocks"):
        BlockClassifier(KernelSVC(), 151).fit(data, labels)
