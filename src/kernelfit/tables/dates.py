"""Columns of dates: elapsed time, and where it stands on the circles of year, week and day.

The time that has passed is held at the ends of training: a date beyond is the last one that
training had, as far as the trend goes, and any other as far as its season does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelfit.tables.date_text import date_in
from kernelfit.tables.frames import Column
from kernelfit.tables.parsing import parsed
from kernelfit.tables.roles import CIRCLE, NUMBER

Array = NDArray[np.float64]

_DAYS_OF_A_YEAR = 365.2425
_SECOND = 1.0 / 86400.0
_MARGIN = 0.05  # share of the time of training by which a date may be outside

# What a date may be taken apart into: its role, and its value from the days since 1970.
_PARTS: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "elapsed": (NUMBER, lambda days: days),
    "day of year": (CIRCLE, lambda days: _share_of_year(days)),
    "day of month": (CIRCLE, lambda days: (_day_of_month(days) - 1.0) / 31.0),
    "weekday": (CIRCLE, lambda days: (np.floor(days) + 3.0) % 7.0 / 7.0),  # 0 on Mondays
    "time of day": (CIRCLE, lambda days: days % 1.0),
}


@dataclass(frozen=True)
class DateReader:
    """Reads one column of dates.

    Attributes
    ----------
    order : str
        How text writes dates; "unix" for seconds since 1970.
    parts : tuple of str
        What dates are taken apart into.
    first, last : float
        Days since 1970 of the first and the last date in training.
    guessed : bool
        Whether nothing shows that the day comes first, or the month.
    note : str
    lenient : bool
        Whether what is no date is missing, as some values were in training.
    """

    order: str
    parts: tuple[str, ...]
    first: float
    last: float
    guessed: bool = False
    note: str = ""
    lenient: bool = False

    kind: ClassVar[str] = "date"

    @property
    def roles(self) -> tuple[int, ...]:
        """Roles of the parsed features."""
        return tuple(_PARTS[part][0] for part in self.parts)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Names of the parsed features, behind that of the column."""
        return self.parts

    def read(self, column: Column) -> Array:
        """Return the parts of the dates, of shape (n, n_parts)."""
        days = days_of(column, self.order, self.lenient)
        held = np.clip(days, self.first, self.last)
        parts = [_PARTS[part][1](held if part == "elapsed" else days) for part in self.parts]
        return np.column_stack(parts)

    def is_beyond(self, column: Column) -> bool:
        """Return whether a date lies outside those of training, by more than a margin."""
        days = days_of(column, self.order, self.lenient)
        margin = _MARGIN * (self.last - self.first)
        return bool((days > self.last + margin).any() or (days < self.first - margin).any())


def days_of(column: Column, order: str, lenient: bool = False) -> Array:
    """Return the days since 1970 of a column, nan where a date is missing."""
    values = column.values
    if values.dtype.kind == "M":
        days = (values - np.datetime64(0, "s")) / np.timedelta64(1, "D")
        return np.asarray(days, dtype=np.float64)
    if order == "unix":
        return parsed(column, lambda value: float(value) * _SECOND, "seconds since 1970")
    return parsed(column, partial(date_in, order=order), "dates", lenient)


def read_dates(
    column: Column, order: str, note: str = "", guessed: bool = False, lenient: bool = False
) -> DateReader:
    """Return how to take the dates of a column apart: into what varies among them."""
    days = days_of(column, order, lenient)
    days = days[~np.isnan(days)]
    if not len(days):
        return DateReader(order, ("elapsed",), 0.0, 0.0, guessed, note, lenient)
    first, last = float(days.min()), float(days.max())
    span = last - first
    many_days = len(np.unique(_day_of_month(days))) > 1
    many_seasons = len(np.unique(np.round(_DAYS_OF_A_YEAR * _share_of_year(days)) // 2)) > 1
    varies = {
        "elapsed": True,
        "day of year": span > _DAYS_OF_A_YEAR and many_seasons,
        "day of month": span > 31.0 and many_days,
        "weekday": span > 7.0 and many_days and len(np.unique(np.floor(days) % 7.0)) > 1,
        "time of day": span > 1.0 and len(np.unique(np.round(days % 1.0 / _SECOND))) > 1,
    }
    parts = tuple(part for part in _PARTS if varies[part])
    return DateReader(order, parts, first, last, guessed, note, lenient)


def _share_of_year(days: Array) -> Array:
    """Return the share of its year that has passed at a date."""
    years = _midnights(days).astype("datetime64[Y]")
    start = years.astype("datetime64[D]").astype(np.float64)
    length = (years + 1).astype("datetime64[D]").astype(np.float64) - start
    return (days - start) / length


def _day_of_month(days: Array) -> Array:
    whole = _midnights(days)
    first = whole.astype("datetime64[M]").astype("datetime64[D]")
    return np.where(np.isnan(days), np.nan, (whole - first).astype(np.float64) + 1.0)


def _midnights(days: Array) -> NDArray[np.datetime64]:
    return np.floor(np.nan_to_num(days)).astype("datetime64[D]")
