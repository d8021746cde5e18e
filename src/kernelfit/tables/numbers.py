"""Columns of numbers, booleans and durations."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelfit.tables.date_text import clock_in, duration_in
from kernelfit.tables.frames import Column
from kernelfit.tables.number_text import NumberFormat, number_in
from kernelfit.tables.parsing import parsed
from kernelfit.tables.roles import CIRCLE, NUMBER
from kernelfit.utils.values import is_date

Array = NDArray[np.float64]

_DAY = 86400.0


@dataclass(frozen=True)
class NumberReader:
    """Reads one column of numbers, or of text that writes numbers.

    Attributes
    ----------
    kind : {"number", "boolean", "constant", "empty"}
    format : NumberFormat or None
        How text writes numbers; None for plainly.
    lenient : bool
        Whether what is no number is missing, as some values were in training.
    note : str
    """

    kind: str = "number"
    format: NumberFormat | None = None
    lenient: bool = False
    note: str = ""

    roles: ClassVar[tuple[int, ...]] = (NUMBER,)
    suffixes: ClassVar[tuple[str, ...]] = ("",)

    def read(self, column: Column) -> Array:
        """Return the numbers of a column, of shape (n, 1)."""
        values = column.values
        if values.dtype.kind in "biuf":
            out = values.astype(np.float64)
        else:
            out = self._convert(column)
        if np.isinf(out).any():
            raise ValueError(f"expected finite numbers or nan in column {column.name!r}, got inf")
        return out[:, None]

    def _convert(self, column: Column) -> Array:
        number = self.format or number_in
        values = column.values.tolist() if column.values.dtype.kind not in "mM" else column.values
        numbers = [number(value) for value in values]
        if None in numbers and not self.lenient:
            odd = values[numbers.index(None)]
            got = "dates or durations" if is_date(odd) else repr(odd)
            wanted = "booleans" if self.kind == "boolean" else "numbers"
            raise ValueError(
                f"expected {wanted} in column {column.name!r}, as in training, got {got}"
            )
        return np.array(numbers, dtype=np.float64)


@dataclass(frozen=True)
class DurationReader:
    """Reads one column of durations as days."""

    note: str = ""

    kind: ClassVar[str] = "duration"
    roles: ClassVar[tuple[int, ...]] = (NUMBER,)
    suffixes: ClassVar[tuple[str, ...]] = ("",)

    def read(self, column: Column) -> Array:
        """Return the days of a column, of shape (n, 1)."""
        return parsed(column, duration_in, "durations")[:, None]


@dataclass(frozen=True)
class ClockReader:
    """Reads one column of clock times as seconds; those of a whole day as places on a circle, too.

    Attributes
    ----------
    whole_day : bool
    note : str
    """

    whole_day: bool
    note: str = ""

    kind: ClassVar[str] = "time"

    @property
    def roles(self) -> tuple[int, ...]:
        """Roles of the parsed features."""
        return (NUMBER, CIRCLE) if self.whole_day else (NUMBER,)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Names of the parsed features, behind that of the column."""
        return ("", "time of day") if self.whole_day else ("",)

    def read(self, column: Column) -> Array:
        """Return the seconds of a column and their share of the day, of shape (n, 1 or 2)."""
        seconds = parsed(column, clock_in, "clock times")
        columns = [seconds, seconds / _DAY] if self.whole_day else [seconds]
        return np.column_stack(columns)
