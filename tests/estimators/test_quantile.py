import pickle

import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import GridSearchCV

from kernelfit import KernelQuantileRegressor, path
from kernelfit.inspection import audit

LEVELS = [0.9, 0.1, 0.5]


def draw(n, seed=0):
    """Return points and targets whose spread grows: quantiles are known."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 1))
    spread = 0.3 + 0.2 * np.abs(X[:, 0])
    return X, np.sin(2.0 * X[:, 0]) + spread * rng.normal(size=n)


def total_loss(y, predictions):
    """The pinball losses of every point, summed over the levels."""
    t = y[:, None] - predictions
    return np.maximum(np.multiply(LEVELS, t), (np.array(LEVELS) - 1.0) * t).sum(axis=1)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
def test_shares_below_and_above(level):
    """Of the training targets, at most the level is below and at most the rest above."""
    X, y = draw(150)
    weight = np.arange(150) % 3 + 0.5
    model = KernelQuantileRegressor(level, C=2.0, tol=1e-9).fit(X, y, sample_weight=weight)
    residual = y - model.predict(X)
    below, above = weight[residual < -1e-6].sum(), weight[residual > 1e-6].sum()
    assert below <= level * weight.sum() + 1e-9
    assert above <= (1.0 - level) * weight.sum() + 1e-9


def test_coverage_of_new_points():
    """Within three standard errors of the share, beside that of the quantile itself."""
    X, y = draw(600)
    model = KernelQuantileRegressor([0.1, 0.9], C=1.0, tol=1e-4).fit(X, y)
    X_new, y_new = draw(4000, seed=1)
    low, high = model.predict(X_new).T
    inside = np.mean((low <= y_new) & (y_new <= high))
    error = np.sqrt(0.8 * 0.2 * (1 / 600 + 1 / 4000))
    assert abs(inside - 0.8) <= 3.0 * error
    for values, level in ((low, 0.1), (high, 0.9)):
        error = np.sqrt(0.1 * 0.9 * (1 / 600 + 1 / 4000))
        assert abs(np.mean(y_new <= values) - level) <= 3.0 * error


def test_levels_are_separate_machines():
    X, y = draw(80)
    joint = KernelQuantileRegressor(LEVELS, non_crossing=False).fit(X, y)
    assert joint.predict(X).shape == (80, 3)
    for k, level in enumerate(LEVELS):
        alone = KernelQuantileRegressor(level).fit(X, y)
        np.testing.assert_allclose(joint.predict(X)[:, k], alone.predict(X), atol=1e-8)
        assert joint.objective_[k] == pytest.approx(alone.objective_)
    assert all(found.confirmed for found in audit(joint, X, y))


def test_rearranged_levels_never_cross_and_never_cost_more():
    """Few points and narrow kernels cross often; the order is that of the levels as given."""
    X, y = draw(40)
    options = {"C": 50.0, "gamma": 8.0}
    plain = KernelQuantileRegressor(LEVELS, non_crossing=False, **options).fit(X, y)
    model = KernelQuantileRegressor(LEVELS, **options).fit(X, y)
    X_new = np.linspace(-3.0, 3.0, 500)[:, None]
    before, after = plain.predict(X_new), model.predict(X_new)
    ascending = np.argsort(LEVELS)
    assert (np.diff(before[:, ascending]) < 0.0).any()
    assert (np.diff(after[:, ascending]) >= 0.0).all()
    np.testing.assert_array_equal(np.sort(before), np.sort(after))
    for target in np.linspace(-3.0, 3.0, 7):
        y_new = np.full(500, target)
        slack = total_loss(y_new, before) - total_loss(y_new, after)
        assert slack.min() >= -1e-12
    assert slack.max() >= 0.0


def test_weights_are_copies():
    X, y = draw(50)
    counts = np.arange(50) % 3
    copies = np.repeat(np.arange(50), counts)
    weighted = KernelQuantileRegressor(0.3, gamma=0.5).fit(X, y, sample_weight=counts)
    repeated = KernelQuantileRegressor(0.3, gamma=0.5).fit(X[copies], y[copies])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)


def test_median_is_robust():
    X, y = draw(100)
    spoilt = y.copy()
    spoilt[::10] += 1e6
    a, b = (KernelQuantileRegressor(0.5).fit(X, t).predict(X) for t in (y, spoilt))
    assert np.abs(a - b).max() < 1.0


def test_score_is_the_explained_loss():
    X, y = draw(100)
    model = KernelQuantileRegressor([0.2, 0.7]).fit(X, y)
    expected = []
    for k, level in enumerate((0.2, 0.7)):
        loss = mean_pinball_loss(y, model.predict(X)[:, k], alpha=level)
        constant = np.full(100, np.quantile(y, level))
        expected.append(1.0 - loss / mean_pinball_loss(y, constant, alpha=level))
    assert model.score(X, y) == pytest.approx(np.mean(expected), rel=1e-6)
    search = GridSearchCV(KernelQuantileRegressor(0.7), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert 0.0 < search.best_score_ < 1.0


def test_paths_jobs_starts_and_copies():
    X, y = draw(60)
    model = KernelQuantileRegressor(LEVELS, C=3.0, n_jobs=2).fit(X, y)
    machine = path(KernelQuantileRegressor(LEVELS), X, y, [0.3, 3.0])[1]
    np.testing.assert_allclose(machine.predict(X), model.predict(X), atol=1e-5)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    warm = KernelQuantileRegressor(LEVELS, C=3.0, warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_allclose(warm.predict(X), model.predict(X), atol=1e-5)


@pytest.mark.parametrize("wrong", [[], [0.5, 1.0], [0.0], [[0.5]], ["a"], [np.nan]])
def test_complaints_of_lists(wrong):
    X, y = draw(10)
    with pytest.raises(ValueError, match="expected quantile to be a number between 0 and 1"):
        KernelQuantileRegressor(wrong).fit(X, y)


@pytest.mark.parametrize("wrong", [0.0, 1.0, -1.0, "a"])
def test_complaints_of_numbers(wrong):
    X, y = draw(10)
    with pytest.raises(ValueError, match="'quantile' parameter of KernelQuantileRegressor"):
        KernelQuantileRegressor(wrong).fit(X, y)
