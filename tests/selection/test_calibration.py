"""Probabilities from scores, against a general optimiser of the same loss."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from kernelfit.selection.calibration import Calibration, fit_calibration


def data(n_classes, n=120, seed=0, noise=1.0):
    """Return scores, labels that they say something about, and weights."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    scores = np.eye(n_classes)[labels] + noise * rng.standard_normal((n, n_classes))
    if n_classes == 2:
        scores = scores[:, 1:] - scores[:, :1]
    return scores, labels, rng.uniform(0.2, 3.0, n)


def columns(scores):
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


def log_loss(params, scores, labels, weight):
    """Return the weighted log loss of all points and of one more, spread over all of them.

    The class of that one is unknown: every class has an equal share of it.
    """
    scores = columns(scores)
    logs = log_softmax(params[0] * scores + np.append(0.0, params[1:]), axis=1)
    own = logs[np.arange(len(labels)), labels]
    return -weight @ own - weight @ logs.mean(axis=1) / weight.sum()


def reference(scores, labels, weight):
    """Minimise the loss over scale >= 0 and the offsets, by a quasi-Newton method."""
    k = columns(scores).shape[1]
    unit = max(np.abs(scores).max(), 1e-300)
    found = minimize(
        log_loss,
        np.append(1.0, np.zeros(k - 1)),
        args=(scores / unit, labels, weight),
        method="L-BFGS-B",
        bounds=[(0.0, None)] + [(None, None)] * (k - 1),
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000},
    )
    return np.append(found.x[0] / unit, found.x[1:]), found.fun


CASES = {
    "two classes": data(2),
    "three classes": data(3),
    "five classes, few points": data(5, 25),
    "one class rare": (lambda s, y, w: (s, np.where(y == 2, y * (w > 2.5), y), w))(*data(3)),
    "large scores": (lambda s, y, w: (1e6 * s, y, w))(*data(2)),
    "small scores": (lambda s, y, w: (1e-9 * s, y, w))(*data(3)),
    "small weights": (lambda s, y, w: (s, y, 1e-3 * w))(*data(2)),
    "separated": data(2, noise=0.0),
    "separated, three classes": data(3, noise=0.0),
}


@pytest.mark.parametrize("case", CASES)
def test_calibration_minimises_the_log_loss(case):
    scores, labels, weight = CASES[case]
    found = fit_calibration(scores, labels, weight)
    expected, value = reference(scores, labels, weight)
    params = np.append(found.scale, found.offset[1:])
    assert found.offset[0] == 0.0 and found.scale >= 0.0 and np.isfinite(params).all()
    assert log_loss(params, scores, labels, weight) <= value + 1e-8 * abs(value)
    p = softmax(expected[0] * columns(scores) + np.append(0.0, expected[1:]), axis=1)
    np.testing.assert_allclose(found(scores), p, atol=2e-4)


def test_scores_that_mislead_are_not_used():
    """A negative scale would turn the order of the machine around."""
    scores, labels, weight = data(2)
    found = fit_calibration(-scores, labels, weight)
    assert found.scale == 0.0
    share = (weight @ labels + 0.5) / (weight.sum() + 1.0)
    np.testing.assert_allclose(found(scores)[:, 1], share, rtol=1e-6)


def test_constant_scores_give_the_frequencies():
    found = fit_calibration(np.zeros((10, 1)), np.repeat([0, 1], [7, 3]), np.ones(10))
    np.testing.assert_allclose(found(np.zeros((1, 1)))[0], [7.5 / 11, 3.5 / 11], rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_of_two_is_a_repeated_point(n_classes):
    scores, labels, _ = data(n_classes)
    weight = np.random.default_rng(1).integers(0, 3, len(labels)).astype(float)
    weighted = fit_calibration(scores, labels, weight)
    rows = np.repeat(np.arange(len(labels)), weight.astype(int))
    repeated = fit_calibration(scores[rows], labels[rows], np.ones(len(rows)))
    np.testing.assert_allclose(weighted(scores), repeated(scores), atol=1e-6)


def test_probabilities_of_extreme_scores_are_finite():
    p = Calibration(1.0, np.array([0.0, 1.0]))(np.array([[1e300], [-1e300], [0.0]]))
    np.testing.assert_allclose(p, [[0.0, 1.0], [1.0, 0.0], softmax([0.0, 1.0])], atol=1e-12)


@pytest.mark.parametrize("factor", [1e160, 1e-160])
def test_the_unit_of_the_scores_does_not_matter(factor):
    scores, labels, weight = data(3)
    one, other = (fit_calibration(f * scores, labels, weight) for f in (1.0, factor))
    np.testing.assert_allclose(other(factor * scores), one(scores), rtol=1e-9)
