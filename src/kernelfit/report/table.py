"""Arrays and frames alike: names, columns, rows, and a column with other rows' values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]


def n_rows(X: Any) -> int:
    """Return the number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def as_table(X: Any) -> Any:
    """Return frames and sparse matrices as they are, anything else as an array."""
    return X if hasattr(X, "columns") or sparse.issparse(X) else np.asarray(X)


def column_names(X: Any) -> list[str]:
    """Return the names of the columns; x0, x1, ... where they have none."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    return [f"x{j}" for j in range(X.shape[1])]


def column(X: Any, j: int) -> Array:
    """Return a column as an array: of floats if it holds numbers, else of objects."""
    if hasattr(X, "iloc"):
        values = X.iloc[:, j]
        values = values.astype(object) if str(values.dtype) == "category" else values
        values = values.to_numpy(dtype=object, na_value=None)
    elif hasattr(X, "columns"):
        values = np.array(X[X.columns[j]].to_list(), dtype=object)
    elif sparse.issparse(X):
        values = X[:, [j]].toarray().ravel()
    else:
        values = X[:, j]
    try:
        numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
    except (TypeError, ValueError):
        return np.asarray(values, dtype=object)
    return numbers


def row_names(X: Any, rows: Any) -> tuple[str, list[str]]:
    """Return what rows are called, and their names: by the index of a frame, else their places."""
    if hasattr(X, "iloc"):
        return str(X.index.name or "row"), [str(label) for label in X.index[rows]]
    return "row", [str(int(row)) for row in rows]


def take(X: Any, rows: Any) -> Any:
    """Return some rows."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[np.asarray(rows).tolist()] if hasattr(X, "columns") else X[rows]


def with_values_of(X: Any, rows: Any, j: int, sources: Any) -> Any:
    """Return some rows whose column j has the values that other rows have there.

    Parameters
    ----------
    X : array or frame
    rows, sources : ndarray of int
    j : int

    Returns
    -------
    array or frame
        Of the same types.
    """
    out = take(X, rows)
    if hasattr(X, "iloc"):
        out = out.reset_index(drop=True)
        out.isetitem(j, X.iloc[sources, j].array)
        return out
    if hasattr(X, "columns"):
        return out.with_columns(X[X.columns[j]][np.asarray(sources).tolist()])
    out[:, j] = X[sources, j]
    return out


def is_missing(values: Array) -> NDArray[np.bool_]:
    """Return which values of a column are missing."""
    if values.dtype == object:
        return np.array([value is None or value != value for value in values], dtype=bool)
    return np.isnan(values)
