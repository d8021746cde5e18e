"""CV+ against the definition in loops, and its coverage."""

import numpy as np
import pytest

from kernelfit.ensemble.conformal import intervals, sets


def test_intervals_follow_the_definition():
    rng = np.random.default_rng(0)
    n, K, alpha = 23, 3, 0.2
    fold, residuals = rng.integers(0, K, n), rng.exponential(size=n)
    predictions = rng.normal(size=(K, 5))
    found = intervals(predictions, fold, residuals, np.ones(n), alpha)
    place = int(np.ceil((1 - alpha) * (n + 1)))  # Barber et al., the k-th smallest
    for j in range(5):
        upper = sorted(predictions[fold[i], j] + residuals[i] for i in range(n))
        lower = sorted(-(predictions[fold[i], j] - residuals[i]) for i in range(n))
        np.testing.assert_allclose(found[j], [-lower[place - 1], upper[place - 1]])


@pytest.mark.parametrize("ties", [False, True])
def test_sets_follow_the_definition(ties):
    rng = np.random.default_rng(1)
    n, K, alpha = 40, 4, 0.1
    fold, truth = rng.integers(0, K, n), rng.uniform(size=n)
    p = rng.dirichlet(np.ones(3), (K, 6))
    if ties:  # multiples of 1/4: an equal row does not outvote
        truth, p = rng.integers(0, 5, n) / 4, rng.multinomial(4, np.ones(3) / 3, (K, 6)) / 4
    found = sets(p, fold, truth, np.ones(n), alpha)
    best = p.mean(axis=0).argmax(axis=1)
    for j in range(6):
        for c in range(3):
            beaten = sum(1 - truth[i] < 1 - p[fold[i], j, c] for i in range(n))
            assert found[j, c] == (beaten < (1 - alpha) * (n + 1) or c == best[j])


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(2)
    count = rng.integers(1, 4, 15)
    fold, residuals, predictions = rng.integers(0, 3, 15), rng.exponential(size=15), np.eye(3)
    rows = np.repeat(np.arange(15), count)
    np.testing.assert_allclose(
        intervals(predictions, fold, residuals, count.astype(float), 0.15),
        intervals(predictions, fold[rows], residuals[rows], np.ones(len(rows)), 0.15),
    )


def test_too_few_rows_for_the_level_give_everything():
    found = intervals(np.zeros((1, 1)), np.zeros(3, int), np.ones(3), np.ones(3), 0.01)
    np.testing.assert_array_equal(found, [[-np.inf, np.inf]])
    assert sets(np.full((1, 1, 2), 0.5), np.zeros(3, int), np.ones(3), np.ones(3), 0.01).all()


@pytest.mark.parametrize("alpha", [0.2, 0.05])
def test_coverage_of_a_constant_machine(alpha):
    rng = np.random.default_rng(3)
    hits = []
    for _ in range(300):
        y = rng.standard_t(3, 60)
        fold = np.arange(60) % 5
        means = np.array([y[fold != k].mean() for k in range(5)])
        low, high = intervals(means[:, None], fold, abs(y - means[fold]), np.ones(60), alpha)[0]
        hits += [(low <= new) & (new <= high) for new in rng.standard_t(3, 5)]
    assert np.mean(hits) >= 1 - alpha - 0.03
