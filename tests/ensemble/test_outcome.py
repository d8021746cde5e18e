"""Combinations: losses, calibration, mixture, and the choice of members by rows alone."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from kernelfit.ensemble.features import Data
from kernelfit.ensemble.outcome import (
    Classification,
    Regression,
    log_losses,
    squared_losses,
)
from kernelfit.ensemble.search import choose
from kernelfit.selection.calibration import fit_calibration


def regression(n=80, m=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.uniform(-1, 1, n)
    scores = y + 0.3 * rng.normal(size=(m, n))
    return scores[:, :, None], y[:, None], rng.integers(1, 3, n).astype(float)


def classification(n=90, m=3, k=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    scores = np.eye(k)[labels] + 0.7 * rng.normal(size=(m, n, k))
    return (scores, labels) if k > 2 else (scores[:, :, 1:] - scores[:, :, :1], labels)


def test_mixture_is_better_than_its_members():
    scores, y, weight = regression()
    combination = Regression(y, weight).combine(scores, np.arange(80))
    mixed = combination(scores)
    error = weight @ (mixed - y[:, 0]) ** 2 / weight.sum()
    assert error < combination.losses.min()
    inside = np.clip(scores, y.min(), y.max())
    np.testing.assert_allclose(combination.losses, squared_losses(inside, y, weight))


def test_predictions_are_kept_in_the_range_of_the_rows():
    scores, y, weight = regression()
    rows = np.arange(40)
    combination = Regression(y, weight).combine(scores, rows)
    found = combination(10.0 * scores)
    assert found.min() == pytest.approx(y[rows].min())
    assert found.max() == pytest.approx(y[rows].max())
    scores[0] = 1e6  # one member that goes astray moves the mean by its share alone
    np.testing.assert_array_less(combination(scores), y[rows].max() + 1e-12)
    assert combination(scores).min() < 0.0


@pytest.mark.parametrize("k", [2, 3])
def test_probabilities_are_calibrated(k):
    scores, labels = classification(k=k)
    combination = Classification(labels, np.ones(90)).combine(1e3 * scores, np.arange(90))
    p = combination(1e3 * scores)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert log_loss(labels, p) < combination.losses.min()
    alone = combination.alone(0, 1e3 * scores[0])
    assert log_loss(labels, alone) == pytest.approx(combination.losses[0])


@pytest.mark.parametrize("single", [False, True])
def test_other_rows_are_not_looked_at(single):
    """What a fold is predicted with does not depend on its labels."""
    scores, labels = classification()
    rows = np.arange(60)
    spoiled = labels.copy()
    spoiled[60:] = 0
    one, other = (
        Classification(found, np.ones(90)).combine(scores, rows, single)(scores)
        for found in (labels, spoiled)
    )
    np.testing.assert_array_equal(one, other)


def test_single_is_the_best_member_alone():
    scores, labels = classification()
    combination = Classification(labels, np.ones(90)).combine(scores, np.arange(90), single=True)
    assert combination.stack.weights[np.argmin(combination.losses)] == 1.0
    assert combination.stack.weights.sum() == 1.0


def test_choice_of_members_follows_the_rows_given():
    scores, y, weight = regression(m=5)
    scores[3, :40], scores[3, 40:] = y[:40], 9.0  # perfect on the first rows alone
    scores[4, 5] = np.nan
    data = Data(np.empty((80, 1)), np.array([False]), y, None, weight)
    chosen, losses = choose(scores, data, np.arange(40))
    assert chosen[0] == 3
    assert losses[0] == 0.0
    assert 4 not in chosen
    assert choose(scores, data, np.arange(40, 80))[0][0] != 3


def test_log_losses_are_those_of_calibrated_scores():
    scores, labels = classification()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 90)
    scores = np.concatenate([scores, np.full((1, *scores.shape[1:]), np.nan)])
    found = log_losses(scores, labels, weight)
    for one, loss in zip(scores[:-1], found[:-1], strict=True):
        p = fit_calibration(one, labels, weight)(one)
        assert loss == pytest.approx(log_loss(labels, p, sample_weight=weight), rel=1e-9)
    np.testing.assert_allclose(log_losses(1e6 * scores, labels, weight), found)
    assert found[-1] == np.inf
