"""NadarayaWatson: predictions, weights, several outputs, bad input."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from kernelfit import KernelMetric, NadarayaWatson

METRICS = ["euclidean", "local"]


@pytest.fixture(scope="module")
def friedman():
    return make_friedman1(150, 6, noise=0.1, random_state=0)


def test_prediction_is_the_average(friedman):
    X, y = friedman
    model = NadarayaWatson(gamma=3.0).fit(X, y)
    K = np.exp(-3.0 * ((X[:7, None] - X) ** 2).sum(axis=2))
    np.testing.assert_allclose(model.predict(X[:7]), K @ y / K.sum(axis=1))
    assert model.gamma_ == 3.0 and model.share_ == 1.0


@pytest.mark.parametrize("metric", METRICS)
def test_error_is_that_of_refits(friedman, metric):
    X, y = friedman[0][:40], friedman[1][:40]
    model = NadarayaWatson(metric).fit(X, y)
    if metric == "euclidean":  # the local metric is learned from all points
        errors = []
        for i in range(40):
            rest = np.delete(np.arange(40), i)
            refit = NadarayaWatson(gamma=model.gamma_).fit(X[rest], y[rest])
            errors.append((refit.predict(X[[i]])[0] - y[i]) ** 2)
        np.testing.assert_allclose(model.error_, np.mean(errors))
    assert model.error_ < y.var()


@pytest.mark.parametrize("metric", METRICS)
def test_weights_equal_repeated_rows(friedman, metric):
    X, y = friedman
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    first = NadarayaWatson(metric, max_samples=30, random_state=0).fit(X, y, sample_weight=weight)
    second = NadarayaWatson(metric, max_samples=30, random_state=0).fit(X[rows], y[rows])
    np.testing.assert_allclose(first.predict(X), second.predict(X), rtol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_several_outputs(friedman, metric):
    X, y = friedman
    model = NadarayaWatson(metric).fit(X, np.column_stack([y, y]))
    single = NadarayaWatson(metric).fit(X, y)
    both = model.predict(X)
    np.testing.assert_allclose(both[:, 0], single.predict(X), rtol=1e-6)
    np.testing.assert_array_equal(both[:, 0], both[:, 1])


def test_local_metric_helps_where_the_target_is_linear():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    y = X[:, 0] + 0.05 * rng.standard_normal(300)
    errors = [-cross_val_score(NadarayaWatson(m), X, y, scoring="neg_mean_squared_error").mean()
              for m in METRICS]  # fmt: skip
    assert errors[1] < 0.7 * errors[0]


@pytest.mark.parametrize("metric", METRICS)
def test_numbers_beyond_squares_are_refused(friedman, metric):
    X, y = friedman
    with pytest.raises(ValueError, match="squared distances are finite"):
        NadarayaWatson(metric).fit(1e200 * X, y)
    model = NadarayaWatson(metric).fit(X, y)
    with pytest.raises(ValueError, match="squared distances are finite"):
        model.predict(1e200 * X)


def test_after_a_metric(friedman):
    X, y = friedman
    plain = cross_val_score(NadarayaWatson(), X, y).mean()
    pipeline = make_pipeline(KernelMetric("nw"), NadarayaWatson())
    assert cross_val_score(pipeline, X, y).mean() > plain
    again = pickle.loads(pickle.dumps(pipeline.fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"metric": "cosine"}, None, "metric"),
        ({"gamma": 0.0}, None, "gamma"),
        ({}, ["a"] * 150, "expected targets that are numbers"),
        ({}, np.full(150, 1e200), "expected targets up to"),
    ],
)
def test_bad_input_is_named(friedman, options, y, message):
    with pytest.raises(ValueError, match=message):
        NadarayaWatson(**options).fit(friedman[0], friedman[1] if y is None else y)
