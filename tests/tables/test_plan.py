"""Tables of all kinds become the same numbers, and complaints are one sentence."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from kernelfit.tables.frames import as_table, check_table
from kernelfit.tables.plan import read_plan
from kernelfit.tables.roles import CATEGORY, NUMBER, UNKNOWN

CATEGORIES = {0: "category"}


def test_array_of_numbers_is_read_as_it_is():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    plan = read_plan(X)
    assert (plan.roles == NUMBER).all()
    np.testing.assert_array_equal(plan.read(X), X)


def test_frame_of_every_kind():
    frame = pd.DataFrame(
        {
            "number": [1.5, None, 2.0],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "text": ["b", "a", None],
            "code": pd.Categorical([7, 3, 7]),
        }
    )
    plan = read_plan(frame)
    nan = np.nan
    np.testing.assert_array_equal(plan.roles == CATEGORY, [0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(
        plan.read(frame),
        [[1.5, 1, 1, 1, 1, 1], [nan, nan, 0, nan, 0, 0], [2, 3, 1, 0, nan, 1]],
    )


def test_mixed_array_equals_the_frame():
    frame = pd.DataFrame({"a": [1.0, 2.0, None], "b": ["x", None, "y"]})
    array = frame.to_numpy(dtype=object)
    np.testing.assert_array_equal(read_plan(frame).read(frame), read_plan(array).read(array))


def test_new_categories_are_marked():
    plan = read_plan(np.array([["a"], ["b"]], dtype=object))
    new = np.array([["c"], ["a"], [None]], dtype=object)
    np.testing.assert_array_equal(plan.read(new), [[UNKNOWN], [0], [np.nan]])


@pytest.mark.parametrize("kinds", [{"b": "category"}, {1: "category"}])
def test_columns_can_be_named_as_categories(kinds):
    frame = pd.DataFrame({"a": [0.5, 1.5, 0.5], "b": [10, 30, 20]})
    plan = read_plan(frame, kinds)
    np.testing.assert_array_equal(plan.roles, [NUMBER, CATEGORY])
    np.testing.assert_array_equal(plan.read(frame)[:, 1], [0, 2, 1])


def test_numbers_do_not_depend_on_the_order_of_rows():
    values = np.array([["b"], ["a"], ["c"]], dtype=object)
    assert read_plan(values).readers == read_plan(values[::-1]).readers


@pytest.mark.parametrize("name", ["c", 2, -1, True, 0.5])
def test_columns_that_are_not_there_are_refused(name):
    with pytest.raises(ValueError, match="expected column_kinds to name columns"):
        read_plan(pd.DataFrame({"a": [1], "b": [2]}), {name: "category"})


def test_kinds_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"expected column_kinds among number, .* got 'colour'"):
        read_plan(pd.DataFrame({"a": [1], "b": [2]}), {"a": "colour"})


@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], np.ones(2)])
def test_what_is_neither_number_nor_text_is_refused(value):
    frame = pd.DataFrame({"e": pd.Series([1.0, value], dtype=object)})
    for kinds in (None, {"e": "category"}):
        with pytest.raises(TypeError, match=r"in column 'e', got .*: an argument must be"):
            read_plan(frame, kinds)


def test_decimals_are_numbers():
    column = [Decimal("1.5"), Decimal("NaN"), None, Decimal(2)]
    X = np.array(column, dtype=object)[:, None]
    np.testing.assert_array_equal(read_plan(X).read(X)[:, 0], [1.5, np.nan, np.nan, 2.0])
    assert read_plan(X, CATEGORIES).readers[0].values == (1.5, 2.0)


def test_repeated_names_are_refused():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="unique column names"):
        check_table(BaseEstimator(), frame, reset=True)


@pytest.mark.parametrize(
    "column",
    [
        ["1.5", "2", "2", "2", "-3e2"],
        [" 1.5", "2 ", None, "nan", ""],
        [str(k) for k in range(21)] * 3,
        ["1", "2", "3"],
        ["1.5", 2.0, 2.0, 2.0, True],
    ],
)
def test_text_of_numbers_is_numbers(column):
    X = np.array(column, dtype=object)[:, None]
    plan = read_plan(X)
    assert plan.readers[0].kind == "number"
    missing = [value in (None, "nan", "") for value in column]
    values = [np.nan if m else float(v) for v, m in zip(column, missing, strict=True)]
    np.testing.assert_array_equal(plan.read(X)[:, 0], values)
    assert read_plan(X, CATEGORIES).readers[0].kind == "category"


@pytest.mark.parametrize(
    "column",
    [
        ["1", "2", "1", "2"],
        ["1.0", "2.0"] * 3,
        ["01067", "10115", "80331"],
        ["1.5", "2.5", "two"],
        ["1_000", "2.5"],
    ],
)
def test_few_whole_numbers_and_codes_as_text_are_categories(column):
    X = np.array(column, dtype=object)[:, None]
    assert read_plan(X).readers[0].values == tuple(sorted(set(column)))


def test_an_array_of_text_equals_its_numbers():
    Z = np.random.default_rng(0).normal(size=(30, 3)).round(2)
    Z[4, 1] = np.nan
    for X in (Z.astype(str), Z.astype(str).astype(object), pd.DataFrame(Z.astype(str))):
        np.testing.assert_array_equal(read_plan(X).read(X), Z)
    np.testing.assert_array_equal(read_plan(Z).read(Z.astype(str)), Z)


def test_dates_where_training_had_numbers_are_refused():
    plan = read_plan(pd.DataFrame({"when": [1.0, 2.0]}))
    for column in (pd.to_datetime(["2020-01-01"]), [datetime.date(2020, 1, 1)]):
        with pytest.raises(ValueError, match=r"expected numbers in column 'when', .* got dates"):
            plan.read(pd.DataFrame({"when": column}))


@pytest.mark.parametrize(
    ("trained", "given"),
    [
        ([7, 3], ["7", "3.0", "3", "seven", "4"]),
        ([7.0, 3.0], ["7", "3.0", "3", "seven", "4"]),
        (["7", "3"], [7, 3.0, np.int64(3), 4, 5.5]),
        ([True, False], ["True", "False", "False", "true", "1"]),
    ],
)
def test_categories_are_the_same_as_numbers_and_as_text(trained, given):
    plan = read_plan(np.array(trained, dtype=object)[:, None], CATEGORIES)
    first, second = (plan.readers[0].values.index(value) for value in trained)
    X = np.array(given, dtype=object)[:, None]
    np.testing.assert_array_equal(plan.read(X)[:, 0], [first, second, second, UNKNOWN, UNKNOWN])


def test_two_texts_of_one_number_stay_two():
    plan = read_plan(np.array([["1"], ["1.0"], ["2"]], dtype=object), CATEGORIES)
    X = np.array([["1"], ["1.0"], [1], [2], ["2.0"]], dtype=object)
    np.testing.assert_array_equal(plan.read(X)[:, 0], [0, 1, UNKNOWN, 2, UNKNOWN])


@pytest.mark.parametrize("dtype", [float, int, bool, object])
def test_masked_entries_are_missing(dtype):
    X = np.ma.MaskedArray(np.array([[1, 0], [0, 1]], dtype=dtype), mask=[[0, 1], [0, 0]])
    plan = read_plan(X)
    np.testing.assert_array_equal(plan.read(X), [[1.0, np.nan], [0.0, 1.0]])
    np.testing.assert_array_equal(
        plan.read(check_table(BaseEstimator(), X, reset=True)), [[1.0, np.nan], [0.0, 1.0]]
    )
    assert X.data[0, 1] == 0 and not isinstance(as_table(X), np.ma.MaskedArray)


def test_tables_without_rows_are_refused():
    with pytest.raises(ValueError, match="expected at least one row, got 0"):
        check_table(BaseEstimator(), pd.DataFrame({"a": []}), reset=True)


@pytest.mark.parametrize("column", [[True, False], pd.array([True, None], dtype="boolean")])
def test_text_where_training_had_booleans_is_refused(column):
    plan = read_plan(pd.DataFrame({"flag": column}))
    with pytest.raises(ValueError, match="expected booleans in column 'flag', as in training"):
        plan.read(pd.DataFrame({"flag": ["True"]}))


def test_text_where_training_had_numbers_is_refused():
    plan = read_plan(np.array([[1.0], [2.0]]))
    with pytest.raises(ValueError, match="expected numbers in column '0', as in training, got 'a'"):
        plan.read(np.array([["a"]], dtype=object))


def test_infinity_is_refused():
    X = np.array([[1.0], [np.inf]])
    with pytest.raises(ValueError, match="in column '0', got inf"):
        read_plan(X).read(X)
