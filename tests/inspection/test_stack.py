"""The certificate of the weights of an ensemble."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1

from kernelfit import AutoKernelClassifier, AutoKernelRegressor
from kernelfit.inspection import audit

OPTIONS = {"members": ["laplacian (ranks)", "exponential (standard)"], "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    return AutoKernelClassifier(**OPTIONS).fit(X, names, weight), X, names, weight


def test_weights_of_probabilities_are_confirmed(iris):
    found = audit(*iris)
    assert found.confirmed
    assert found.gap <= 1e-7
    assert found.lower <= found.upper


@pytest.mark.parametrize(("unit", "centre"), [(1.0, 0.0), (1e-30, 0.0), (1e3, 1e6)])
def test_weights_of_predictions_are_confirmed(unit, centre):
    X, y = make_friedman1(60, n_features=5, noise=0.3, random_state=0)
    y = centre + unit * y
    found = audit(AutoKernelRegressor(**OPTIONS).fit(X, y), X, y)
    assert found.confirmed
    assert found.gap <= 1e-7


def test_other_weights_are_not_confirmed(iris):
    model, *data = iris
    honest = model.weights_
    try:
        model.weights_ = np.roll(honest, 1)
        assert not audit(model, *data).confirmed
        model.weights_ = 1.1 * honest
        assert not audit(model, *data).confirmed
    finally:
        model.weights_ = honest


def test_a_single_member_is_refused(iris):
    model = AutoKernelClassifier(ensemble=False, **OPTIONS).fit(*iris[1:])
    with pytest.raises(ValueError, match="expected an ensemble, got a single member"):
        audit(model, *iris[1:])
