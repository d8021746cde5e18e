"""Columns that tell all, equal rows at odds, and the warnings that say so."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

from kernelfit import AutoKernelClassifier, AutoKernelRegressor, KernelClustering
from kernelfit.tables import TableReader, TableWarning
from kernelfit.tables.doubts import leaking_columns, share_at_odds

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
FEW = {"members": ["gaussian (standard)"], "cv": 2, "random_state": 0}


def test_columns_that_are_the_target_in_other_words():
    y = X @ [1.0, 2.0, 0.0]
    table = np.column_stack([X, 3.0 - 1e6 * y, y + 0.1 * RNG.normal(size=60), np.ones(60)])
    sources = np.array([0, 0, 1, 2, 3, 4])
    assert leaking_columns(table, sources, y[:, None], None) == [2]
    labels = np.arange(60) % 3
    codes = np.column_stack([[7, 1, 4] * 20, labels % 2, X[:, 0], [7, 1, 4] * 19 + [1, 4, 7]])
    assert leaking_columns(codes, np.arange(4), np.eye(3)[labels], labels) == [0]


def test_numbers_in_the_order_of_the_target_and_codes_of_it_tell_it():
    n = 100
    y = np.random.default_rng(1).normal(size=n)
    swapped = np.exp(y)
    swapped[[3, 7]] = swapped[[7, 3]]
    coarse = np.round(y)
    values, place = np.unique(coarse, return_inverse=True)
    code = np.random.default_rng(2).permutation(len(values))[place]
    none = np.where(np.arange(n) == 5, np.nan, y)
    table = np.column_stack([np.exp(y), -(y**3), swapped, coarse, none])
    assert leaking_columns(table, np.arange(5), y[:, None], None) == [0, 1]
    table = np.column_stack([code, np.where(np.arange(n) == 4, code[4] + 1, code), y])
    assert leaking_columns(table, np.arange(3), coarse[:, None], None) == [0]
    assert leaking_columns(np.arange(n)[:, None], np.arange(1), y[:, None], None) == []


def test_values_of_one_class_alone_tell_it():
    labels = np.arange(60) % 2
    rare = (np.arange(60) == 7).astype(int)
    closed = np.where(labels == 1, RNG.normal(size=60), np.nan)
    once = np.where(rare == 1, np.nan, X[:, 0])
    table = np.column_stack([closed, np.where(np.arange(60) == 1, np.nan, closed), X[:, 0]])
    assert leaking_columns(table, np.arange(3), np.eye(2)[labels], labels) == [0]
    assert leaking_columns(once[:, None], np.arange(1), np.eye(2)[rare], rare) == []


def test_good_columns_tell_no_target_alone():
    iris, diabetes = load_iris(), load_diabetes()
    for data, labels in ((iris, iris.target), (diabetes, None)):
        d = data.data.shape[1]
        assert leaking_columns(data.data, np.arange(d), data.target[:, None], labels) == []
    setosa = (iris.target == 0).astype(int)  # which the length of a petal tells
    assert leaking_columns(iris.data, np.arange(4), np.eye(2)[setosa], setosa) == []


def test_equal_rows_are_counted_as_a_loop_does():
    table = RNG.integers(0, 4, (80, 2)).astype(float)
    table[::9, 0] = np.nan
    labels = RNG.integers(0, 3, 80)
    same = (table[:, None] == table) | (np.isnan(table[:, None]) & np.isnan(table))
    odd = [any(same[i, j].all() and labels[i] != labels[j] for j in range(80)) for i in range(80)]
    assert share_at_odds(table, labels) == np.mean(odd) > 0.0
    assert share_at_odds(X, labels[:60]) == 0.0


def codes_of(work):
    """Return the codes of the warnings of some work."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    assert all(str(one.message).startswith(one.message.code) for one in caught)
    assert all(one.filename == __file__ for one in caught)  # not a file of ours
    return [one.message.code for one in caught]


def test_each_doubt_has_its_code():
    n = 60
    names = pd.DataFrame(
        {
            "hash": [f"{hash((k, 1)):x}" for k in range(n)],
            "text": [" ".join(RNG.choice(["red", "blue", "oak", "tin"], 9)) for _ in range(n)],
            "when": [f"{1 + k % 11}/{1 + k % 12}/2024" for k in range(n)],
            "x": X[:, 0],
        }
    )
    expected = ["KF001", "KF007", "KF002"]
    assert codes_of(lambda: TableReader().fit(names)) == expected
    model = AutoKernelRegressor(**FEW)
    assert codes_of(lambda: model.fit(names, X[:, 1])) == expected
    assert codes_of(lambda: KernelClustering(2, random_state=0).fit(names)) == expected
    told = {"hash": "drop", "text": "text", "when": "day first"}
    assert codes_of(lambda: TableReader(told).fit(names)) == []
    late = names.assign(when="1/1/2031")
    assert codes_of(lambda: model.predict(late)) == ["KF005"]
    assert codes_of(lambda: model.predict_interval(late)) == ["KF005"]
    assert codes_of(lambda: model.predict(names)) == []
    leak = pd.DataFrame({"x": X[:, 0], "copy": X[:, 1] * 2.0})
    assert codes_of(lambda: AutoKernelRegressor(**FEW).fit(leak, X[:, 1])) == ["KF003"]
    coarse = np.arange(n)[:, None] % 4
    classifier = AutoKernelClassifier(**FEW)
    assert codes_of(lambda: classifier.fit(coarse, np.arange(n) % 3 == 0)) == ["KF004"]


def test_a_code_can_be_silenced():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="KF003")
        AutoKernelRegressor(**FEW).fit(X, X[:, 1])
    with pytest.warns(TableWarning, match="KF003: column '1' tells the target alone"):
        AutoKernelRegressor(**FEW).fit(X, X[:, 1])
