"""Tables as they come: frames and arrays turned into numbers, category by category.

A `Schema` is read off the training table: which columns are numbers, which are categories, and the
values of the latter. It turns any table with these columns into a float64 array, in which nan is
missing, a category is its number, and -1 one that training had not. What depends on how values are
distributed (imputation, scales) is not here but in `kernelfit.utils.views`: that is learned in
the training part of every fold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

Array = NDArray[Any]

UNKNOWN = -1.0  # a category that training had not


@dataclass(frozen=True)
class Schema:
    """How to read a table.

    Attributes
    ----------
    names : tuple of str
        What messages call the columns.
    categories : mapping from int to tuple
        The values of the columns that hold categories, in the order of their numbers.
    """

    names: tuple[str, ...]
    categories: Mapping[int, tuple[Any, ...]]

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
                out[:, j] = _numbers_of(column, self.categories[j])
            else:
                out[:, j] = _as_floats(column, self.names[j])
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
    categories = {}
    for j, column in enumerate(columns):
        if j in named or _holds_categories(X, j, column, names[j]):
            categories[j] = _distinct(column)
    return Schema(names, categories)


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
    if hasattr(X, "columns"):
        X = validate_data(estimator, X, reset=reset, skip_check_array=True)
        if len(X) < min_rows:
            raise ValueError(f"expected at least {min_rows} rows, got {len(X)}")
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


def _columns(X: Any) -> list[Array]:
    """Return the columns of a table as arrays."""
    if hasattr(X, "columns"):
        columns = [X[name] for name in X.columns]
        return [np.asarray(getattr(c, "to_numpy", lambda c=c: c)()) for c in columns]
    return list(np.asarray(X).T)


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
        raise ValueError(
            f"expected numbers or categories, got dates or durations in column {name!r}: turn "
            "them into numbers such as days, months or weekdays first"
        )
    if column.dtype.kind in "biuf":
        return False
    if column.dtype.kind == "c":
        raise ValueError(f"expected real numbers, got complex data in column {name!r}")
    present = [value for value in column.tolist() if not _is_missing(value)]
    if all(isinstance(value, bool | int | float | np.number | np.bool_) for value in present):
        return False
    for value in present:
        if hasattr(value, "year") or hasattr(value, "total_seconds"):
            raise ValueError(
                f"expected numbers or categories, got dates or durations in column {name!r}: turn "
                "them into numbers such as days, months or weekdays first"
            )
        if not isinstance(value, str | bytes | bool | int | float | np.generic):
            raise TypeError(
                f"argument must be a string or a real number, not {type(value).__name__!r}, "
                f"in column {name!r}"
            )
    return True


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _distinct(column: Array) -> tuple[Any, ...]:
    """Return the values that are there, in an order that does not depend on that of the rows."""
    present = {value for value in column.tolist() if not _is_missing(value)}
    return tuple(sorted(present, key=lambda value: (type(value).__name__, value)))


def _numbers_of(column: Array, values: tuple[Any, ...]) -> Array:
    number = {value: float(k) for k, value in enumerate(values)}
    return np.array(
        [np.nan if _is_missing(v) else number.get(v, UNKNOWN) for v in column.tolist()],
        dtype=np.float64,
    )


def _as_floats(column: Array, name: str) -> Array:
    if column.dtype.kind in "biuf":
        values = column.astype(np.float64)
    else:
        try:
            values = np.array(
                [np.nan if _is_missing(v) else float(v) for v in column.tolist()], dtype=np.float64
            )
        except (TypeError, ValueError):
            raise ValueError(
                f"expected numbers in column {name!r}, as in training, got {_odd(column)!r}"
            ) from None
    if np.isinf(values).any():
        raise ValueError(f"expected finite numbers or nan, got inf in column {name!r}")
    return values


def _odd(column: Array) -> Any:
    """Return the first value that is no number."""
    for value in column.tolist():
        if not _is_missing(value) and not isinstance(value, int | float | np.number):
            return value
    return column[0]
