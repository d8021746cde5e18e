"""Tables of all kinds become the same numbers, and complaints are one sentence."""

import datetime
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from kernelfit.utils.table import UNKNOWN, as_table, check_table, read_schema


class Column:
    """A column as polars shows it: a dtype, `to_numpy`, no index."""

    def __init__(self, values, dtype):
        self._values, self.dtype = values, dtype

    def to_numpy(self):
        return np.asarray(self._values)


class Frame:
    """A frame as polars shows it: columns by name."""

    def __init__(self, **columns):
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name):
        return self._columns[name]


def test_array_of_numbers_is_read_as_it_is():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    schema = read_schema(X)
    assert not schema.is_category.any()
    np.testing.assert_array_equal(schema.read(X), X)


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
    schema = read_schema(frame)
    nan = np.nan
    np.testing.assert_array_equal(schema.is_category, [False, False, False, False, True, True])
    np.testing.assert_array_equal(
        schema.read(frame),
        [[1.5, 1, 1, 1, 1, 1], [nan, nan, 0, nan, 0, 0], [2, 3, 1, 0, nan, 1]],
    )


def test_frame_without_pandas():
    frame = Frame(a=Column([1, 2], "Int64"), b=Column([5, 6], "Categorical"))
    schema = read_schema(frame)
    np.testing.assert_array_equal(schema.is_category, [False, True])
    np.testing.assert_array_equal(schema.read(frame), [[1, 0], [2, 1]])


def test_mixed_array_equals_the_frame():
    frame = pd.DataFrame({"a": [1.0, 2.0, None], "b": ["x", None, "y"]})
    array = frame.to_numpy(dtype=object)
    np.testing.assert_array_equal(read_schema(frame).read(frame), read_schema(array).read(array))


def test_new_categories_are_marked():
    schema = read_schema(np.array([["a"], ["b"]], dtype=object))
    new = np.array([["c"], ["a"], [None]], dtype=object)
    np.testing.assert_array_equal(schema.read(new), [[UNKNOWN], [0], [np.nan]])


@pytest.mark.parametrize("named", [["b"], [1], [False, True], np.array([1])])
def test_columns_can_be_named_as_categories(named):
    frame = pd.DataFrame({"a": [0.5, 1.5, 0.5], "b": [10, 30, 20]})
    schema = read_schema(frame, named)
    np.testing.assert_array_equal(schema.is_category, [False, True])
    np.testing.assert_array_equal(schema.read(frame)[:, 1], [0, 2, 1])


def test_numbers_do_not_depend_on_the_order_of_rows():
    values = np.array([["b"], ["a"], ["c"]], dtype=object)
    assert read_schema(values).categories == read_schema(values[::-1]).categories


@pytest.mark.parametrize("named", [["c"], [2], [-1], [True], [0.5]])
def test_columns_that_are_not_there_are_refused(named):
    with pytest.raises(ValueError, match="expected categorical_features to name columns"):
        read_schema(pd.DataFrame({"a": [1], "b": [2]}), named)


@pytest.mark.parametrize(
    "column",
    [
        pd.to_datetime(["2020-01-01", "2021-01-01"]),
        pd.to_timedelta([1, 2], unit="D"),
        [pd.Timestamp("2020-01-01").date()] * 2,
    ],
)
def test_dates_are_refused_in_one_sentence(column):
    with pytest.raises(ValueError, match="in column 'when', got dates or durations"):
        read_schema(pd.DataFrame({"when": column}))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"a": 1}, "dicts"),
        ([1, 2], "lists"),
        (np.ones(2), "arrays"),
        (datetime.time(12), "times"),
        (uuid.UUID(int=1), "UUIDs"),
    ],
)
def test_what_is_neither_number_nor_text_is_refused(value, kind):
    frame = pd.DataFrame({"e": pd.Series([1.0, value], dtype=object)})
    message = f"expected numbers or categories in column 'e', got {kind}: an argument must be"
    with pytest.raises(TypeError, match=message):
        read_schema(frame)
    if value.__hash__ is None:
        with pytest.raises(TypeError, match=message):
            read_schema(frame, ["e"])


@pytest.mark.parametrize(
    ("values", "dtype", "kind"),
    [
        (np.ones((3, 1)), "Array(Float64, shape=(1,))", "arrays"),
        (np.ones(3, dtype=[("u", float)]), "Struct({'u': Float64})", "structs"),
    ],
)
def test_columns_of_columns_are_refused(values, dtype, kind):
    with pytest.raises(TypeError, match=f"in column 'e', got {kind}"):
        read_schema(Frame(e=Column(values, dtype)))


def test_decimals_are_numbers():
    column = [Decimal("1.5"), Decimal("NaN"), None, Decimal(2)]
    X = np.array(column, dtype=object)[:, None]
    np.testing.assert_array_equal(read_schema(X).read(X)[:, 0], [1.5, np.nan, np.nan, 2.0])
    assert read_schema(X, [0]).categories[0] == (1.5, 2.0)


def test_frames_of_arrow_are_refused_in_one_sentence():
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(TypeError, match="got a pyarrow Table: its method to_pandas makes a frame"):
        read_schema(pyarrow.table({"a": [1, 2]}))


def test_repeated_names_are_refused():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="expected different names of columns, got 'a' twice"):
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
    schema = read_schema(X)
    assert not schema.categories
    missing = [value in (None, "nan", "") for value in column]
    values = [np.nan if m else float(v) for v, m in zip(column, missing, strict=True)]
    np.testing.assert_array_equal(schema.read(X)[:, 0], values)
    assert read_schema(X, [0]).categories.keys() == {0}


@pytest.mark.parametrize(
    "column",
    [
        ["1", "2", "1", "2"],
        ["1.0", "2.0"] * 3,
        ["01067", "10115", "80331"],
        ["1.5", "2.5", "two"],
        ["1_000", "2.5"],
        ["nan", ""],
    ],
)
def test_few_whole_numbers_and_codes_as_text_are_categories(column):
    X = np.array(column, dtype=object)[:, None]
    assert read_schema(X).categories[0] == tuple(sorted(set(column)))


def test_an_array_of_text_equals_its_numbers():
    Z = np.random.default_rng(0).normal(size=(30, 3)).round(2)
    Z[4, 1] = np.nan
    for X in (Z.astype(str), Z.astype(str).astype(object), pd.DataFrame(Z.astype(str))):
        np.testing.assert_array_equal(read_schema(X).read(X), Z)
    np.testing.assert_array_equal(read_schema(Z).read(Z.astype(str)), Z)


def test_dates_as_text_are_refused_where_many_differ():
    days = [f"2024-{1 + k // 28:02}-{1 + k % 28:02}" for k in range(40)]
    for column in (days[:3], days * 3, [f"{day}T12:30:00Z" for day in days], [*days, None]):
        frame = pd.DataFrame({"when": pd.Series(column, dtype=object)})
        with pytest.raises(ValueError, match="in column 'when', got dates or durations"):
            read_schema(frame)
        assert read_schema(frame, ["when"]).categories.keys() == {0}
    for column in (days[:4] * 3, [*days, "later"], ["2024-13-01", "2024-14-01"]):
        assert read_schema(np.array(column, dtype=object)[:, None]).categories.keys() == {0}


def test_dates_where_training_had_numbers_are_refused():
    schema = read_schema(pd.DataFrame({"when": [1.0, 2.0]}))
    for column in (pd.to_datetime(["2020-01-01"]), [datetime.date(2020, 1, 1)]):
        with pytest.raises(ValueError, match="in column 'when', got dates or durations"):
            schema.read(pd.DataFrame({"when": column}))


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
    schema = read_schema(np.array(trained, dtype=object)[:, None], [0])
    first, second = (schema.categories[0].index(value) for value in trained)
    X = np.array(given, dtype=object)[:, None]
    np.testing.assert_array_equal(schema.read(X)[:, 0], [first, second, second, UNKNOWN, UNKNOWN])


def test_two_texts_of_one_number_stay_two():
    schema = read_schema(np.array([["1"], ["1.0"], ["2"]], dtype=object), [0])
    X = np.array([["1"], ["1.0"], [1], [2], ["2.0"]], dtype=object)
    np.testing.assert_array_equal(schema.read(X)[:, 0], [0, 1, UNKNOWN, 2, UNKNOWN])


@pytest.mark.parametrize("dtype", [float, int, bool, object])
def test_masked_entries_are_missing(dtype):
    X = np.ma.MaskedArray(np.array([[1, 0], [0, 1]], dtype=dtype), mask=[[0, 1], [0, 0]])
    schema = read_schema(X)
    np.testing.assert_array_equal(schema.read(X), [[1.0, np.nan], [0.0, 1.0]])
    np.testing.assert_array_equal(
        schema.read(check_table(BaseEstimator(), X, reset=True)), [[1.0, np.nan], [0.0, 1.0]]
    )
    assert X.data[0, 1] == 0 and not isinstance(as_table(X), np.ma.MaskedArray)


def test_tables_without_rows_are_refused():
    with pytest.raises(ValueError, match="expected at least one row, got 0"):
        check_table(BaseEstimator(), pd.DataFrame({"a": []}), reset=True)


@pytest.mark.parametrize("column", [[True, False], pd.array([True, None], dtype="boolean")])
def test_text_where_training_had_booleans_is_refused(column):
    schema = read_schema(pd.DataFrame({"flag": column}))
    with pytest.raises(ValueError, match="expected booleans in column 'flag', as in training"):
        schema.read(pd.DataFrame({"flag": ["True"]}))


def test_text_where_training_had_numbers_is_refused():
    schema = read_schema(np.array([[1.0], [2.0]]))
    with pytest.raises(ValueError, match="expected numbers in column '0', as in training, got 'a'"):
        schema.read(np.array([["a"]], dtype=object))


def test_infinity_is_refused():
    X = np.array([[1.0], [np.inf]])
    with pytest.raises(ValueError, match="in column '0', got inf"):
        read_schema(X).read(X)
