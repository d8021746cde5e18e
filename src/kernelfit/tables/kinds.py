"""What a column holds, as a careful analyst would say, and the reader for it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from kernelfit.tables.block import read_block
from kernelfit.tables.categories import read_categories
from kernelfit.tables.date_text import Orders, clock_in, date_in, duration_in, find_order
from kernelfit.tables.dates import read_dates
from kernelfit.tables.frames import Column
from kernelfit.tables.labels import LabelReader
from kernelfit.tables.number_text import MISSING_WORDS, find_number_format, is_code, number_in
from kernelfit.tables.numbers import ClockReader, DurationReader, NumberReader
from kernelfit.tables.parsing import parsed, present
from kernelfit.tables.text import read_text, shares_pieces
from kernelfit.tables.tuples import read_tuples
from kernelfit.utils.values import is_missing, is_number

Array = NDArray[Any]

AS_TOLD = "as told"  # note of a column whose kind was given
_MANY = 20  # different numbers written as text: more than that are hardly categories
_FEW = 30  # different texts: up to that they are categories
_LABELS = 0.5  # share of different values up to which text is labels
_UNIQUE = 0.9  # share of different values from which on text without shared pieces is an id
_ID_NAME = re.compile(
    r"(?i:id|index|unnamed: 0|rownames?|row_?(?:id|nr|number)|uuid|key)|.*_(?i:id)|.*[a-z]I[Dd]"
)
_COMPACT = (-25567.0, 47482.0)  # 1900 to 2100: digits beyond are no dates
_FEWEST_IDS = 20
_ODD = 0.1  # share of values that may be no numbers, or dates, and are then missing
_WHOLE_DAY = 18 * 3600.0  # span of clock times that are those of a day


# Whatever a column without values holds later says nothing.
_EMPTY = NumberReader("empty", lenient=True, note="no values")


@dataclass(frozen=True)
class DroppedReader:
    """Reads nothing: of an id, or a column that the user leaves out.

    Attributes
    ----------
    kind : {"id", "drop"}
    note : str
    """

    kind: str
    note: str = ""

    roles: ClassVar[tuple[int, ...]] = ()
    suffixes: ClassVar[tuple[str, ...]] = ()

    def read(self, column: Column) -> Array:
        """Return an array of shape (n, 0)."""
        return np.empty((len(column.values), 0))


def reader_of(column: Column, kind: str | None = None) -> Any:
    """Return the reader of a column, of a given kind or of the one that its values show."""
    if kind is not None:
        told = KINDS[kind](column)
        return told if getattr(told, "guessed", False) else replace(told, note=AS_TOLD)
    values = column.values
    if issparse(values):
        return read_block(column)
    if column.is_category:
        return read_categories(column)
    if values.dtype.kind == "c":
        raise ValueError(f"expected real numbers, got complex data in column {column.name!r}")
    if values.dtype.kind == "m":
        return DurationReader()
    if values.dtype.kind == "M":
        return _EMPTY if np.isnat(values).all() else read_dates(column, "ymd")
    if values.dtype.kind == "b":
        return NumberReader("boolean")
    return _of_numbers(column, values) if values.dtype.kind in "iuf" else _of_objects(column)


def _of_numbers(column: Column, values: Array) -> Any:
    """Return the reader of numbers: of what they count, of dates such as 20260301, or of an id."""
    numbers = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    distinct = np.unique(numbers)
    if len(distinct) == 1 and len(numbers) == len(values):
        return NumberReader("constant", note=f"always {distinct[0]:g}")
    if not len(distinct):
        return _EMPTY
    if not np.isfinite(distinct).all() or (distinct != np.round(distinct)).any():
        return NumberReader()
    if len(distinct) > _MANY and distinct[0] >= 19000101 and distinct[-1] <= 21001231:
        if all(date_in(value, "compact") is not None for value in distinct):
            return read_dates(column, "compact", "digits of year, month and day")
    if len(distinct) == len(values) >= _FEWEST_IDS and _ID_NAME.fullmatch(column.name):
        return DroppedReader("id", "a number of its own in every row, by its name an id")
    return NumberReader()


def _of_objects(column: Column) -> Any:
    """Return the reader of objects: numbers, dates, times, durations or text."""
    values = present(column)
    n = sum(not is_missing(value) for value in column.values.tolist())
    if all(isinstance(v, str) and v.strip().lower() in MISSING_WORDS for v in values):
        return _EMPTY
    if all(isinstance(value, bool | np.bool_) for value in values):
        return NumberReader("boolean")
    if all(is_number(value) for value in values):
        return _of_numbers(column, np.array([number_in(v) for v in column.values.tolist()]))
    found = _of_text_of_dates(values, n, column) or _of_text_of_numbers(values, n, column)
    if found is not None:
        return found
    if all(clock_in(value) is not None for value in values):
        return _clock(column)
    if all(duration_in(value) is not None for value in values):
        return DurationReader()
    return _of_text(column, values, n)


def _of_text_of_dates(values: set[Any], n: int, column: Column) -> Any:
    """Return the reader of text that writes dates, or of objects that are dates, or None."""
    texts = [value for value in values if isinstance(value, str)]
    found = find_order(texts) if texts else Orders("ymd", False)
    if found is None or (found.order == "compact" and not _are_recent(texts)):
        return None
    note = _note_of_odd({v for v in values if date_in(v, found.order) is None}, n, column)
    return None if note is None else _dates(column, found, note)


def _of_text_of_numbers(values: set[Any], n: int, column: Column) -> Any:
    """Return the reader of text that writes numbers, or None."""
    if any(is_code(value) for value in values):
        return None
    read: Any
    for read in (find_number_format(v for v in values if isinstance(v, str)), number_in):
        numbers = {value: read(value) for value in values} if read is not None else {}
        there = {v: x for v, x in numbers.items() if x is not None and not np.isnan(x)}
        note = _note_of_odd({v for v, x in numbers.items() if x is None}, n, column)
        if not there or note is None:
            continue
        many = len(values) > _MANY or 2 * len(values) > n
        plain = all(number_in(value) == x for value, x in there.items())
        units = [repr(unit) for unit in getattr(read, "units", ()) if unit]
        if (plain or "'th'" in units) and not many and all(x.is_integer() for x in there.values()):
            return None  # 1, 2 and 3, or 1st, 2nd and 3rd, are categories
        notes = [f"numbers with {' '.join(units)}"] * bool(units) + [note] * bool(note)
        known = None if plain else read
        return NumberReader(format=known, lenient=bool(note), note="; ".join(notes))
    return None


def _note_of_odd(odd: set[Any], n: int, column: Column) -> str | None:
    """Return a note of values that will be missing, empty for none, None where they are many."""
    if not odd:
        return ""
    n_odd = sum(value in odd for value in column.values.tolist() if not is_missing(value))
    if n <= _MANY or n_odd > _ODD * n:
        return None
    return f"{n_odd} others, such as {min(map(str, odd))!r}, are missing"


def _of_text(column: Column, values: set[Any], n: int) -> Any:
    """Return the reader of text: of categories, labels, text, or none of an id."""
    m = len(values)
    if m == 1 and n == len(column.values):
        return read_categories(column, f"always {str(*values)[:40]!r}", "constant")
    if m <= _FEW:
        return read_categories(column)
    found = read_tuples(column, _ODD * n)
    if found is not None:
        return found
    if not shares_pieces(sorted(map(str, values))):
        if m >= _UNIQUE * n:
            return DroppedReader("id", "text of its own in nearly every row, without shared pieces")
        return read_categories(column, "many values")
    if m <= _LABELS * n:
        return LabelReader(read_categories(column), read_text(column))
    return read_text(column)


def _are_recent(texts: list[str]) -> bool:
    days = np.array([date_in(text, "compact") for text in texts], dtype=np.float64)
    days = days[~np.isnan(days)]
    return len(days) > _MANY and _COMPACT[0] <= days.min() and days.max() <= _COMPACT[1]


def _dates(column: Column, found: Orders, note: str = "") -> Any:
    lenient = bool(note)
    if found.guessed:
        first = "day" if found.order.endswith("dmy") else "month"
        note = "; ".join([f"taken as {first} first, which no value shows", *[note] * lenient])
    return read_dates(column, found.order, note, found.guessed, lenient)


def _clock(column: Column) -> ClockReader:
    seconds = parsed(column, clock_in, "clock times")
    low, high = np.nanmin(seconds), np.nanmax(seconds)
    return ClockReader(bool(high - low >= _WHOLE_DAY and high <= 86400.0))


def _number(column: Column) -> NumberReader:
    if column.values.dtype.kind in "biufmM":
        return NumberReader()
    texts = [value for value in present(column) if isinstance(value, str)]
    return NumberReader(format=find_number_format(texts))


def _date(column: Column) -> Any:
    texts = [value for value in present(column) if isinstance(value, str)]
    found = find_order(texts) if texts else Orders("ymd", False)
    if found is None:
        raise ValueError(f"expected dates in column {column.name!r}, written in one way")
    return _dates(column, found)


KINDS: dict[str, Callable[[Column], Any]] = {
    "number": _number,
    "category": read_categories,
    "text": read_text,
    "date": _date,
    "day first": lambda column: read_dates(column, "dmy"),
    "month first": lambda column: read_dates(column, "mdy"),
    "unix": lambda column: read_dates(column, "unix"),
    "duration": lambda column: DurationReader(),
    "time": _clock,
    "drop": lambda column: DroppedReader("drop"),
}
