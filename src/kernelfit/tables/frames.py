"""Tables of every origin as named columns of numpy: frames by narwhals, arrays, lists of dicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

Array = NDArray[Any]

_DENSE = 100  # columns of a sparse matrix that are made dense, at most
_BACKENDS = ("pandas", "polars", "pyarrow")  # that can hold lists of dicts and structured arrays


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n,), or sparse matrix
        Numbers, dates or durations of numpy, or objects; or all columns of a sparse matrix.
    is_category : bool
        Whether its type says that it holds categories.
    """

    name: str
    values: Array
    is_category: bool = False


def is_frame(X: Any) -> bool:
    """Return whether a table is a frame in memory, of any library that narwhals reads."""
    return bool(nw.dependencies.is_into_dataframe(X))


def as_table(X: Any) -> Any:
    """Return a table as an array without a mask, a sparse matrix, or a frame in memory."""
    known = nw.from_native(X, pass_through=True)
    if isinstance(known, nw.LazyFrame):  # of dask, or of polars
        known = known.collect()
    if isinstance(known, nw.DataFrame):
        return known.to_native()
    if isinstance(X, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(X)
        X = np.ma.getdata(X)
        if hidden.any():
            X = X.astype(np.float64 if X.dtype.kind in "iuf" else object)
            X[hidden] = np.nan if X.dtype.kind == "f" else None
    if isinstance(X, np.ndarray) and X.dtype.names:
        return _frame({name: X[name] for name in X.dtype.names})
    if isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        names = dict.fromkeys(name for row in X for name in row)
        return _frame({name: [row.get(name) for row in X] for name in names})
    return X


def _frame(columns: dict[str, Any]) -> Any:
    for backend in _BACKENDS:
        if find_spec(backend) is not None:
            return nw.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]
    raise TypeError(
        "expected pandas, polars or pyarrow to be installed, which structured arrays and lists of "
        "dicts need"
    )


def columns_of(X: Any) -> list[Column]:
    """Return the columns of a table; those of a wide sparse matrix are one."""
    X = as_table(X)
    if issparse(X) and X.shape[1] > _DENSE:
        return [Column(f"columns 0 to {X.shape[1] - 1}", X)]
    X = X.toarray() if issparse(X) else X
    if not is_frame(X):
        return [Column(str(j), values) for j, values in enumerate(np.asarray(X).T)]
    frame = nw.from_native(X, eager_only=True)
    return [_column(series) for series in frame.iter_columns()]


def _column(series: Any) -> Column:
    name, dtype = str(series.name), series.dtype
    if isinstance(dtype, nw.List | nw.Struct | nw.Array):
        raise odd_values(name, f"{type(dtype).__name__.lower()}s")
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = series.dt.replace_time_zone(None)  # the clock on the wall
    values = np.asarray(series.to_numpy())
    if values.ndim != 1:
        raise odd_values(name, "arrays")
    return Column(name, values, isinstance(dtype, nw.Categorical | nw.Enum))


def take_rows(X: Any, rows: Array) -> Any:
    """Return some rows of a table, as `as_table` returns it."""
    return nw.from_native(X)[rows].to_native() if is_frame(X) else X[rows]


def odd_values(name: str, kind: str) -> TypeError:
    """Return the error of a column that holds neither numbers nor text nor dates."""
    # In words that scikit-learn's checks of estimators look for.
    return TypeError(
        f"expected numbers, categories, dates or text in column {name!r}, got {kind}: an argument "
        "must be a string or a number"
    )


def check_table(estimator: Any, X: Any, *, reset: bool, min_rows: int = 1) -> Any:
    """Return a table that a `Plan` may read; keep or compare number and names of its columns.

    Parameters
    ----------
    estimator : estimator
        Whose `n_features_in_` and `feature_names_in_` are set, or compared with.
    X : array, sparse matrix or frame of shape (n, d)
    reset : bool
        Whether they are set.
    min_rows : int, default=1
        How many rows there have to be.

    Returns
    -------
    array, sparse matrix or frame of shape (n, d)
    """
    X = as_table(X)
    if not is_frame(X):
        return validate_data(
            estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan",
            ensure_min_samples=min_rows, accept_sparse="csr",
        )  # fmt: skip
    X = validate_data(estimator, X, reset=reset, skip_check_array=True)
    if not X.shape[1]:
        raise ValueError("expected a table with at least one column, got none")
    if len(X) < min_rows:
        rows = "one row" if min_rows == 1 else f"{min_rows} rows"
        raise ValueError(f"expected at least {rows}, got {len(X)}")
    return X
