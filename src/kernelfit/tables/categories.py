"""Columns of categories: their values, each of which has a number."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelfit.tables.frames import Column
from kernelfit.tables.number_text import number_in
from kernelfit.tables.parsing import present
from kernelfit.tables.roles import CATEGORY, UNKNOWN
from kernelfit.utils.values import is_missing, is_number

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CategoryReader:
    """Reads one column of categories.

    Attributes
    ----------
    values : tuple
        The categories, in the order of their numbers.
    note : str
    kind : {"category", "constant"}
    """

    values: tuple[Any, ...]
    note: str = ""
    kind: str = "category"

    roles: ClassVar[tuple[int, ...]] = (CATEGORY,)
    suffixes: ClassVar[tuple[str, ...]] = ("",)

    def read(self, column: Column) -> Array:
        """Return the numbers of the categories, of shape (n, 1).

        Where training had numbers and a table has text that writes them, or the other way round,
        they are the same categories.
        """
        exact = {value: float(k) for k, value in enumerate(self.values)}
        alike: dict[Any, float] = {}
        for value, k in exact.items():
            key = (not isinstance(value, str), _written(value))
            alike[key] = UNKNOWN if key in alike else k  # two texts of one number: neither
        number = {}
        for value in present(column):
            key = (isinstance(value, str), _written(value))
            number[value] = exact.get(as_plain_value(value), alike.get(key, UNKNOWN))
        out = [np.nan if is_missing(value) else number[value] for value in column.values.tolist()]
        return np.array(out, dtype=np.float64)[:, None]


def read_categories(column: Column, note: str = "", kind: str = "category") -> CategoryReader:
    """Return the categories of a column, in an order that does not depend on that of the rows."""
    values = {as_plain_value(value) for value in present(column)}
    return CategoryReader(tuple(sorted(values, key=lambda v: (type(v).__name__, v))), note, kind)


def as_plain_value(value: Any) -> Any:
    """Return a value as a number or text, which files can hold."""
    if isinstance(value, Decimal):
        return float(value)
    return value if is_number(value) or isinstance(value, str) else str(value)


def _written(value: Any) -> Any:
    """Return the number that a value is or writes; a text of anything else."""
    number = None if isinstance(value, bool | np.bool_) else number_in(value)
    return str(value) if number is None or np.isnan(number) else number
