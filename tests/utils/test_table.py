"""Tables of all kinds become the same numbers, and complaints are one sentence."""

import numpy as np
import pandas as pd
import pytest

from kernelfit.utils.table import UNKNOWN, read_schema


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
    with pytest.raises(ValueError, match="got dates or durations in column 'when'"):
        read_schema(pd.DataFrame({"when": column}))


def test_what_is_neither_number_nor_text_is_refused():
    X = np.array([[1.0], [{"a": 1}]], dtype=object)
    with pytest.raises(TypeError, match="must be a string or a real number, not 'dict'"):
        read_schema(X)


def test_text_where_training_had_numbers_is_refused():
    schema = read_schema(np.array([[1.0], [2.0]]))
    with pytest.raises(ValueError, match="expected numbers in column '0', as in training, got 'a'"):
        schema.read(np.array([["a"]], dtype=object))


def test_infinity_is_refused():
    X = np.array([[1.0], [np.inf]])
    with pytest.raises(ValueError, match="got inf in column '0'"):
        read_schema(X).read(X)
