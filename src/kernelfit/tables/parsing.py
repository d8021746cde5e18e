"""Columns of objects, value by value: each different one is parsed once."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.tables.frames import Column, odd_values
from kernelfit.utils.values import is_missing

Array = NDArray[np.float64]


def present(column: Column) -> set[Any]:
    """Return the different values of a column that are not missing."""
    values = set()
    for value in column.values.tolist():
        if not is_missing(value):
            try:
                values.add(value)
            except TypeError:  # it has no hash
                kind = type(value).__name__.removeprefix("nd")
                raise odd_values(column.name, f"{kind}s") from None
    return values


def parsed(
    column: Column, parse: Callable[[Any], float | None], what: str, lenient: bool = False
) -> Array:
    """Return the number of every value, nan where it is missing; ValueError where it has none.

    Parameters
    ----------
    column : Column
    parse : callable
        Turns a value into a number, or None where it is none.
    what : str
        What is expected, for the error.
    lenient : bool, default=False
        Whether a value that is none is missing.

    Returns
    -------
    ndarray of shape (n,)
    """
    if column.values.dtype.kind in "mM":  # of which tolist may make integers
        items = list(column.values)
        distinct = {*column.values[~np.isnat(column.values)]}
    else:
        items, distinct = column.values.tolist(), present(column)
    known = {value: parse(value) for value in distinct}
    for value, number in known.items():
        if number is None and not lenient:
            raise ValueError(
                f"expected {what} in column {column.name!r}, as in training, got {value!r}"
            )
    return np.array(
        [np.nan if is_missing(value) else known[value] for value in items], dtype=np.float64
    )
