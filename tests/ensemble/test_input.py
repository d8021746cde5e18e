"""Tables, targets and folds as users hand them in, by mistake or as pandas makes them."""

import numpy as np
import pandas as pd
import pytest

import kernelfit as kf

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
THREE = np.where(X[:, 1] > 1, 2, Y)
FEW = ["gaussian (standard)"]
CLASSIFIERS = [
    kf.AutoKernelClassifier(members=FEW, random_state=0),
    kf.KernelSVC(),
    kf.KernelSVCCV([1.0], [1.0]),
    kf.MKLClassifier(),
]
SEARCHES = [
    kf.AutoKernelClassifier(members=FEW, random_state=0),
    kf.KernelSVCCV([1.0], [1.0]),
    kf.KernelRidgeClassifierCV([0.5], [1.0]),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    ("kind", "expected"),
    [("Int64", "int64"), ("UInt8", "uint8"), ("boolean", "bool"), ("Float64", "float64")],
)
def test_nullable_labels_keep_their_type(model, kind, expected):
    model.fit(X, pd.Series(Y, index=np.arange(60)[::-1]).astype(kind))
    assert model.classes_.dtype == expected and model.predict(X[:3]).dtype == expected
    assert (model.predict(X) == Y).mean() > 0.8


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("kind", ["Int64", "boolean", "Float64", "string", object])
def test_missing_labels_are_counted(model, kind):
    labels = pd.Series(Y).astype("Int64").astype(kind)
    labels[[3, 7]] = pd.NA
    for y in (labels, labels.to_numpy(), labels.tolist()) if kind is object else (labels,):
        with pytest.raises(ValueError, match="got none in 2 of 60 rows, the first at position 3"):
            model.fit(X, y)


def test_missing_targets_are_counted():
    y = pd.Series(X[:, 0]).astype("Float64")
    y[5] = pd.NA
    for model in (kf.AutoKernelRegressor(members=FEW), kf.KernelRidgeRegressor()):
        with pytest.raises(ValueError, match="got none in 1 of 60 rows, the first at position 5"):
            model.fit(X, y)


def test_a_table_without_columns_is_refused():
    frame = pd.DataFrame(X)
    for model in (kf.AutoKernelClassifier(), kf.AutoKernelRegressor()):
        with pytest.raises(ValueError, match="at least one column, got none"):
            model.fit(frame[[]], Y)


@pytest.mark.parametrize("cls", [kf.AutoKernelClassifier, kf.AutoKernelRegressor])
def test_wrong_keywords_name_the_class(cls):
    with pytest.raises(TypeError, match=rf"^{cls.__name__}\.__init__\(\) got an unexpected"):
        cls(limit=3)
    assert cls(3.0, cv=4).get_params()["cv"] == 4


@pytest.mark.parametrize("model", SEARCHES, ids=lambda one: type(one).__name__)
def test_folds_that_lack_a_class_are_named(model):
    zeros, rest = np.flatnonzero(Y == 0)[:20], np.arange(50)
    one = [(rest, np.arange(50, 60)), (zeros, np.setdiff1d(np.arange(60), zeros))]
    with pytest.raises(ValueError, match=r"part of fold 2: expected at least two classes, .*: 0$"):
        model.set_params(cv=one).fit(X, Y)
    two = [(np.flatnonzero(THREE != 2), np.flatnonzero(THREE == 2)), (rest, np.arange(50, 60))]
    with pytest.warns(UserWarning, match="class 2 is missing from the training part of fold 1"):
        model.set_params(cv=two).fit(X, THREE)
