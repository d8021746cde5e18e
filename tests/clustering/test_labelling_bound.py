"""Bounds of labellings against their printed formulas, term by term."""

import numpy as np
import pytest
from scipy.integrate import quad

from kernelfit import labelling_bound, squared_error_bound
from tests.reference import clustering as reference


def problem(n, c, seed, indefinite=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    S = np.exp(-(np.sqrt(D) ** 3)) if indefinite else np.exp(-0.5 * D)
    labels = np.arange(n) % c
    return X, S, labels, rng.dirichlet(np.ones(n))


@pytest.mark.parametrize("indefinite", [False, True])
@pytest.mark.parametrize("c", [1, 2, 4])
def test_bound_is_the_printed_one(c, indefinite):
    n, gamma, delta = 13, 1.7, 0.1
    _, S, labels, alpha = problem(n, c, c, indefinite)
    found = labelling_bound(S, labels, weights=alpha, gamma=gamma, delta=delta)
    expected = reference.labelling_bound(S, labels, alpha, gamma, delta)
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-8, abs=1e-9), name
    assert (found.b_minus > 1e-3) == indefinite
    assert found.empirical_loss <= found.cut_loss + 1e-12
    named = labelling_bound(S, np.array(list("dabc"))[labels], weights=5 * alpha, gamma=gamma)
    assert named.empirical_loss == pytest.approx(found.empirical_loss, rel=1e-12)


def test_cut_loss_is_one_and_the_cut_over_the_points():
    """(5) at gamma = 1 is 1 + (9) at lambda = 0 over n: what the objective leaves out of it."""
    n = 12
    _, S, labels, alpha = problem(n, 3, 0)
    cut = sum(
        2 * (alpha[i] + alpha[j]) * S[i, j] * (labels[i] != labels[j])
        for i in range(n)
        for j in range(i)
    )
    linear = sum((alpha[i] + alpha[j]) / 2 * S[i, j] for i in range(n) for j in range(n))
    found = labelling_bound(S, labels, weights=alpha)
    assert found.cut_loss == pytest.approx(1 + (cut - linear) / n, rel=1e-12)


def test_similarities_of_any_sign_are_scaled():
    """Remark E.4."""
    X, _, labels, alpha = problem(15, 2, 1)
    S = X @ X.T
    with pytest.raises(ValueError, match=r"expected similarities that are not negative, got -"):
        labelling_bound(S, labels, gamma=100.0)
    low, high = -20.0, 20.0
    scaled = labelling_bound(S, labels, weights=alpha, interval=(low, high))
    assert scaled == labelling_bound((S - low) / (high - low), labels, weights=alpha)


def test_a_given_radius_replaces_that_of_the_points():
    _, S, labels, _ = problem(15, 2, 1)
    at = labelling_bound(S, labels, radius=1.0)
    assert at == labelling_bound(S, labels)  # of a Gaussian kernel
    assert labelling_bound(S, labels, radius=3.0).complexity == pytest.approx(3 * at.complexity)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 0.5}, "expected gamma of at least the largest similarity, 1, got 0.5"),
        ({"delta": 1.0}, "expected delta between 0 and 1, got 1.0"),
        ({"interval": (1.0, 0.0)}, "expected an interval of two rising numbers"),
        ({"weights": -np.ones(9)}, "expected a weight for every row, none negative"),
        ({"labels": np.zeros(8)}, r"expected a matrix and a label for every row, got shapes"),
    ],
)
def test_arguments_are_checked(options, message):
    _, S, labels, _ = problem(9, 2, 0)
    with pytest.raises(ValueError, match=message):
        labelling_bound(**({"S": S, "labels": labels} | options))


@pytest.mark.parametrize("h", [0.3, 1.2])
def test_squared_error_is_the_printed_one(h):
    rng = np.random.default_rng(3)
    n, delta, lambda_ = 11, 0.1, 0.7
    X, labels, alpha = rng.standard_normal((n, 1)), np.arange(n) % 2, rng.dirichlet(np.ones(n))
    found = squared_error_bound(X, labels, h, weights=alpha, lambda_=lambda_, delta=delta)
    expected = reference.squared_error(X, labels, alpha, h, delta)
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-9), name
    K = np.exp(-((X - X.T) ** 2) / (2 * h**2))
    S = 2.0 * reference.similarity(K, alpha, lambda_)
    np.testing.assert_allclose(found.similarity, 2.0 * S, rtol=1e-12)

    def estimate(x):
        sign = 1 - 2 * labels
        return np.sum(sign * alpha * np.exp(-((x - X[:, 0]) ** 2) / (2 * h**2))) / np.sqrt(
            2 * np.pi * h**2
        )

    tau_1 = 1 / np.sqrt(2 * np.pi * 2 * h**2)
    squared = quad(lambda x: estimate(x) ** 2, -12, 12, limit=400, epsabs=1e-12)[0]
    assert tau_1 * found.norm == pytest.approx(squared, rel=1e-7)


def test_theorem_leaves_out_a_constant():
    """As printed the squared error is bounded by a negative number; with the constant it holds."""
    rng = np.random.default_rng(0)
    n, h = 2000, 0.2
    labels = np.arange(n) % 2
    X = rng.random((n, 1)) + 3.0 * labels[:, None]  # densities of one half, on [0, 1] and [3, 4]
    bound = squared_error_bound(X, labels, h).bound
    assert bound < 0

    def error(x):
        estimate = np.mean((1 - 2 * labels) * np.exp(-((x - X[:, 0]) ** 2) / (2 * h**2)))
        truth = 0.5 * (0 <= x <= 1) - 0.5 * (3 <= x <= 4)
        return (estimate / np.sqrt(2 * np.pi * h**2) - truth) ** 2

    grid = np.linspace(-2, 6, 1601)
    assert 0 < np.mean([error(x) for x in grid]) * 8 < bound + 0.5


def test_more_than_two_labels_have_no_squared_error():
    with pytest.raises(ValueError, match="expected two labels of at least two points, got 3 of 6"):
        squared_error_bound(np.arange(6.0)[:, None], np.arange(6) % 3, 1.0)
    with pytest.raises(ValueError, match="expected a positive bandwidth"):
        squared_error_bound(np.arange(6.0)[:, None], np.arange(6) % 2, 0.0)
