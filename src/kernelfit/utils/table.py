"""Tables as they come: frames and arrays turned into numbers, category by category.

A `Schema` is read off the training table: which columns are numbers, which are categories, and the
values of the latter. It turns any table with these columns into a float64 array, in which nan is
missing, a category is its number, and -1 one that training had not. What depends on how values are
distributed (imputation, scales) is not here but in `kernelfit.utils.views`: that is learned in
the training part of every fold.

Text that writes numbers is read as numbers, unless it looks like codes; see `read_schema`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from kernelfit.utils.values import (
    DATES,
    is_code,
    is_date,
    is_missing,
    is_number,
    number_in,
    what_is_odd,
    writes_date,
)

Array = NDArray[Any]

UNKNOWN = -1.0  # a category that training had not
_MANY = 20  # different values: more than that are hardly categories


@dataclass(frozen=True)
class Schema:
    """How to read a table.

    Attributes
    ----------
    names : tuple of str
        What messages call the columns.
    categories : mapping from int to tuple
        The values of the columns that hold categories, in the order of their numbers.
    booleans : tuple of int, default=()
        The columns of numbers that training had as booleans; for messages.
    """

    names: tuple[str, ...]
    categories: Mapping[int, tuple[Any, ...]]
    booleans: tuple[int, ...] = ()

    @property
    def is_category(self) -> Array:
        """A mask of the columns that hold categories."""
        return np.isin(np.arange(len(self.names)), list(self.categories))

    def read(self, X: Any) -> Array:
        """Return a table as a float64 array of shape (n, d)."""
        columns = _columns(X)
        out = np.empty((len(columns[0]) if columns else 0, len(columns)))
        for j, column in enumerate(columns):
            if j in self.categories:
                out[:, j] = _numbers_of(column, self.categories[j], self.names[j])
            else:
                kind = "booleans" if j in self.booleans else "numbers"
                out[:, j] = _as_floats(column, self.names[j], kind)
        return out


def read_schema(X: Any, categorical: Sequence[Any] | None = None) -> Schema:
    """Find out which columns of a table are categories, and their values.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        A numpy array, or a frame like those of pandas and polars.
    categorical : sequence of str, int or bool, default=None
        Columns to read as categories, by name, place or mask, beside those whose type says so:
        strings, and the category types of frames.

    Returns
    -------
    Schema

    Notes
    -----
    A column of text all of whose values are numbers holds numbers if one of them is not whole, if
    more than 20 of them differ, or more than half; else categories. Digits that begin with a zero,
    as in 01067, are codes, and so categories. Text that is dates in the form of ISO 8601, of which
    as many differ, is refused like dates. What `categorical` names is categories in any case.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.utils.table import read_schema
    >>> X = np.array([[1.5, "red"], [None, "blue"]], dtype=object)
    >>> schema = read_schema(X)
    >>> schema.read(X)
    array([[1.5, 1. ],
           [nan, 0. ]])
    """
    columns = _columns(X)
    names = tuple(str(name) for name in getattr(X, "columns", range(len(columns))))
    named = _named(categorical, names)
    categories: dict[int, tuple[Any, ...]] = {}
    booleans = []
    for j, column in enumerate(columns):
        if j in named or _holds_categories(X, j, column, names[j]):
            categories[j] = _distinct(column, names[j])
        elif _holds_booleans(column):
            booleans.append(j)
    return Schema(names, categories, tuple(booleans))


def as_table(X: Any) -> Any:
    """Return a table without a mask, and with names of columns that all differ.

    Masked entries of an array are missing: nan, or None among values that are no numbers.

    Parameters
    ----------
    X : array or frame of shape (n, d)

    Returns
    -------
    array or frame of shape (n, d)
    """
    if hasattr(X, "column_names"):  # pyarrow's, of which `columns` are not the names
        raise TypeError(
            "expected a numpy array or a frame of pandas or polars, got a pyarrow "
            f"{type(X).__name__}: its method to_pandas makes a frame"
        )
    if hasattr(X, "columns"):
        seen = set()
        for name in X.columns:
            if name in seen:
                raise ValueError(f"expected different names of columns, got {str(name)!r} twice")
            seen.add(name)
    elif isinstance(X, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(X)
        X = np.ma.getdata(X)
        if hidden.any():
            X = X.astype(np.float64 if X.dtype.kind in "iuf" else object)
            X[hidden] = np.nan if X.dtype.kind == "f" else None
    return X


def check_table(estimator: Any, X: Any, *, reset: bool, min_rows: int = 1) -> Any:
    """Return a table that a `Schema` may read; keep or compare number and names of its columns.

    Parameters
    ----------
    estimator : estimator
        Whose `n_features_in_` and `feature_names_in_` are set, or compared with.
    X : array or frame of shape (n, d)
    reset : bool
        Whether they are set.
    min_rows : int, default=1
        How many rows there have to be.

    Returns
    -------
    array or frame of shape (n, d)
    """
    X = as_table(X)
    if hasattr(X, "columns"):
        X = validate_data(estimator, X, reset=reset, skip_check_array=True)
        check_width(X)
        if len(X) < min_rows:
            rows = "one row" if min_rows == 1 else f"{min_rows} rows"
            raise ValueError(f"expected at least {rows}, got {len(X)}")
        return X
    if issparse(X):
        raise TypeError("expected a dense table, got a sparse matrix")
    return validate_data(
        estimator,
        X,
        reset=reset,
        dtype=None,
        ensure_all_finite="allow-nan",
        ensure_min_samples=min_rows,
    )


def check_width(X: Any) -> None:
    """Raise ValueError where a frame has no column."""
    if not len(X.columns):
        raise ValueError("expected a table with at least one column, got none")


def holds_dates(values: set[Any], n: int) -> bool:
    """Return whether a column of text holds dates: so many that they are no categories.

    Parameters
    ----------
    values : set
        Its different values.
    n : int
        How many values it has.

    Returns
    -------
    bool
    """
    return _are_many(values, n) and all(writes_date(value) for value in values)


def _are_many(values: set[Any], n: int) -> bool:
    return len(values) > _MANY or 2 * len(values) > n


def _columns(X: Any) -> list[Array]:
    """Return the columns of a table as arrays."""
    X = as_table(X)
    if not hasattr(X, "columns"):
        return list(np.asarray(X).T)
    columns = []
    for name in X.columns:
        column = X[name]
        values = np.asarray(getattr(column, "to_numpy", lambda column=column: column)())
        if values.ndim != 1 or values.dtype.kind == "V":
            kind = str(getattr(column, "dtype", "array")).partition("(")[0].lower()
            raise _odd_values(str(name), f"{kind}s")
        columns.append(values)
    return columns


def _named(categorical: Sequence[Any] | None, names: tuple[str, ...]) -> set[int]:
    if categorical is None:
        return set()
    chosen = np.asarray(categorical)
    if chosen.dtype == bool and chosen.shape == (len(names),):
        return set(np.flatnonzero(chosen).tolist())
    found = set()
    for name in np.atleast_1d(chosen).tolist():
        if isinstance(name, str) and name in names:
            found.add(names.index(name))
        elif isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(names):
            found.add(name)
        else:
            raise ValueError(
                "expected categorical_features to name columns, by name or place, or to be a mask "
                f"of all {len(names)}, got {name!r}"
            )
    return found


def _holds_categories(X: Any, j: int, column: Array, name: str) -> bool:
    if hasattr(X, "columns"):
        dtype = str(X[X.columns[j]].dtype).lower()
        if dtype.startswith(("category", "categorical", "enum")):
            return True
    if column.dtype.kind in "mM":
        raise _dates(name)
    if column.dtype.kind in "biuf":
        return False
    if column.dtype.kind == "c":
        raise ValueError(f"expected real numbers, got complex data in column {name!r}")
    present = [value for value in column.tolist() if not is_missing(value)]
    if all(is_number(value) for value in present):
        return False
    for value in present:
        if is_date(value):
            raise _dates(name)
        kind = what_is_odd(value)
        if kind is not None:
            raise _odd_values(name, kind)
    return not _is_text_of_numbers(_present(column, name), len(present), name)


def _is_text_of_numbers(values: set[Any], n: int, name: str) -> bool:
    """Return whether a column of text holds numbers; ValueError where it holds dates."""
    if holds_dates(values, n):
        raise _dates(name)
    if any(is_code(value) for value in values):
        return False
    numbers = [number_in(value) for value in values]
    if any(number is None for number in numbers):
        return False
    there = [number for number in numbers if number is not None and not np.isnan(number)]
    whole = all(number.is_integer() for number in there)
    return bool(there) and (not whole or _are_many(values, n))


def _holds_booleans(column: Array) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind == "b"
    present = [value for value in column.tolist() if not is_missing(value)]
    return bool(present) and all(isinstance(value, bool | np.bool_) for value in present)


def _dates(name: str) -> ValueError:
    return ValueError(f"expected numbers or categories in column {name!r}, {DATES}")


def _odd_values(name: str, kind: str) -> TypeError:
    # In words that scikit-learn's checks of estimators look for.
    return TypeError(
        f"expected numbers or categories in column {name!r}, got {kind}: an argument must be a "
        "string or a number"
    )


def _present(column: Array, name: str) -> set[Any]:
    """Return the different values that are there."""
    values = set()
    for value in column.tolist():
        if not is_missing(value):
            try:
                values.add(value)
            except TypeError:  # it has no hash
                raise _odd_values(name, what_is_odd(value) or "others") from None
    return values


def _distinct(column: Array, name: str) -> tuple[Any, ...]:
    """Return the values that are there, in an order that does not depend on that of the rows."""
    present = {float(v) if isinstance(v, Decimal) else v for v in _present(column, name)}
    return tuple(sorted(present, key=lambda value: (type(value).__name__, value)))


def _numbers_of(column: Array, values: tuple[Any, ...], name: str) -> Array:
    """Return the numbers of categories.

    Where training had numbers and a table has text that writes them, or the other way round, they
    are the same categories.
    """
    exact = {value: float(k) for k, value in enumerate(values)}
    alike: dict[Any, float] = {}
    for value, k in exact.items():
        key = (not isinstance(value, str), _written(value))
        alike[key] = UNKNOWN if key in alike else k  # two texts of one number: neither
    number = {
        value: exact.get(value, alike.get((isinstance(value, str), _written(value)), UNKNOWN))
        for value in _present(column, name)
    }
    return np.array(
        [np.nan if is_missing(value) else number[value] for value in column.tolist()],
        dtype=np.float64,
    )


def _written(value: Any) -> Any:
    """Return the number that a value is or writes; a text of anything else."""
    number = None if isinstance(value, bool | np.bool_) else number_in(value)
    return str(value) if number is None or np.isnan(number) else number


def _as_floats(column: Array, name: str, kind: str) -> Array:
    if column.dtype.kind in "mM":
        raise _dates(name)
    if column.dtype.kind in "biuf":
        values = column.astype(np.float64)
    else:
        numbers = [np.nan if is_missing(v) else number_in(v) for v in column.tolist()]
        if None in numbers:
            odd = column.tolist()[numbers.index(None)]
            if is_date(odd):
                raise _dates(name)
            raise ValueError(f"expected {kind} in column {name!r}, as in training, got {odd!r}")
        values = np.array(numbers, dtype=np.float64)
    if np.isinf(values).any():
        raise ValueError(f"expected finite numbers or nan in column {name!r}, got inf")
    return values
