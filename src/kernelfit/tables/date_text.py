"""Dates, clock times and durations as text writes them, and as Python's own objects."""

import datetime
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from kernelfit.tables.number_text import MISSING_WORDS
from kernelfit.utils.values import is_number

_DAY = 86400.0
_MONTHS = {
    name: k // 2 + 1
    for k, name in enumerate(
        "jan january feb february mar march apr april may may jun june jul july aug august "
        "sep september oct october nov november dec december".split()
    )
} | {"sept": 9}
_CLOCK = r"(\d{1,3}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?(?:\s*([AaPp])\.?[Mm]\.?)?"
_TIME = rf"(?:(?:T|,?\s+){_CLOCK}(?:\s*(?:Z|UTC|GMT|[+-]\d{{2}}(?::?\d{{2}})?))?)?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_NAME = r"([a-z]{3,9})\.?"
_YEAR = r"(\d{4}|\d{2})"
# The order in which a pattern gives year, month and day.
_PATTERNS = {
    "ymd": (rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}", (1, 3, 4)),
    "compact": (rf"(\d{{4}})(\d{{2}})(\d{{2}}){_TIME}", (1, 2, 3)),
    "ym": (rf"(\d{{4}})[-/](\d{{1,2}}){_TIME}", (1, 2, None)),
    "dmy": (rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2{_YEAR}{_TIME}", (4, 3, 1)),
    "mdy": (rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2{_YEAR}{_TIME}", (4, 1, 3)),
    "day, month": (
        rf"{_WEEKDAY}(\d{{1,2}})(?:st|nd|rd|th)?[-\s./]*{_NAME}[-\s,./]*{_YEAR}{_TIME}",
        (3, 2, 1),
    ),
    "month, day": (
        rf"{_WEEKDAY}{_NAME}\s*(\d{{1,2}})(?:st|nd|rd|th)?,?\s+{_YEAR}{_TIME}",
        (3, 1, 2),
    ),
    "month, year": (rf"{_NAME}[-\s,]*(\d{{4}}){_TIME}", (2, 1, None)),
}
# Forms that a column may mix; of day and month in digits, one order alone.
_FORMS = ("ymd", "day, month", "month, day", "month, year")
_MIXED = {"mixed dmy": (*_FORMS, "dmy"), "mixed mdy": (*_FORMS, "mdy")}
_COMPILED = {name: re.compile(one, re.IGNORECASE) for name, (one, _) in _PATTERNS.items()}
_POINTS = re.compile(r"\d{1,2}\.\d")
_CLOCK_ALONE = re.compile(_CLOCK)
_DURATION = re.compile(
    r"(?:(\d+)\s*d(?:ays?)?,?)?\s*(?:(\d+)\s*h(?:ours?|rs?)?)?\s*(?:(\d+)\s*m(?:in(?:ute)?s?)?)?"
    r"\s*(?:(\d+(?:\.\d+)?)\s*s(?:ec(?:ond)?s?)?)?(?:\s*[+]?(\d+):(\d{2}):(\d{2}(?:\.\d+)?))?",
    re.IGNORECASE,
)


class Orders(NamedTuple):
    """How a column of text writes dates, and whether the order of day and month is a guess."""

    order: str
    guessed: bool


def date_in(value: Any, order: str) -> float | None:
    """Return the days since 1970 of a date, nan where it is missing, None where it is none."""
    if order == "compact" and is_number(value):
        value = f"{value:.0f}"
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in MISSING_WORDS or text.startswith("0000"):
            return np.nan
        for one in _MIXED.get(order, (order,)):
            found = _COMPILED[one].fullmatch(text)
            if found is not None:
                return _days(found, one)
        return None
    if hasattr(value, "start_time"):  # a period of pandas
        value = value.start_time
    if isinstance(value, np.datetime64):
        return float((value - np.datetime64(0, "s")) / np.timedelta64(1, "D"))
    if isinstance(value, datetime.date):
        day = float(value.toordinal() - 719163)
        return day + _of_day(value.time()) / _DAY if isinstance(value, datetime.datetime) else day
    return None


def _days(found: re.Match[str], order: str) -> float | None:
    year, month, day = (None if at is None else found[at] for at in _PATTERNS[order][1])
    if month is None or year is None:
        return None
    if year == "9999":  # for "without end"
        return np.nan
    number = int(month) if month.isdigit() else _MONTHS.get(month.lower())
    y = int(year) if len(year) == 4 else int(year) + (2000 if int(year) < 69 else 1900)
    clock = _seconds(found.groups()[-5:])
    try:
        date = datetime.date(y, number or 0, 1 if day is None else int(day))
    except ValueError:
        return None
    return None if clock is None or clock > _DAY else date.toordinal() - 719163 + clock / _DAY


def _seconds(parts: tuple[str | None, ...]) -> float | None:
    """Return the seconds of hours, minutes, seconds, their fraction, and whether it is a.m."""
    hours, minutes, seconds, fraction, half = parts
    if hours is None or minutes is None:
        return 0.0
    h, m, s = int(hours), int(minutes), int(seconds or 0)
    if m > 59 or s > 59 or (half and not 1 <= h <= 12):
        return None
    if half:
        h = h % 12 + (12 if half in "pP" else 0)
    return 3600.0 * h + 60.0 * m + s + float(f"0.{fraction or 0}")


def find_order(values: Iterable[str]) -> Orders | None:
    """Return how those values that are dates write them, or None where not in the same way."""
    # Forms that are clear may be mixed, such as 2024-03-01 and 2 March 2024.
    present = [
        text
        for text in (value.strip() for value in values)
        if text.lower() not in MISSING_WORDS
        and any(date_in(text, order) is not None for order in _PATTERNS)
    ]
    if not present:
        return None
    fits = [
        order
        for order in (*_PATTERNS, *_MIXED)
        if all(date_in(text, order) is not None for text in present)
        and not all(np.isnan(date_in(text, order) or 0.0) for text in present)
    ]
    if not fits:
        return None
    first, other = fits[0], fits[0].replace("dmy", "mdy")
    if other == first or other not in fits:
        return Orders(first, False)
    guessed = any(date_in(text, first) != date_in(text, other) for text in present)
    if not any(_POINTS.match(text) for text in present):
        first = other  # points put the day first, other marks the month
    return Orders(first, guessed)


def clock_in(value: Any) -> float | None:
    """Return the seconds of a clock time, nan where it is missing, None where it is none."""
    if isinstance(value, datetime.time):
        return _of_day(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text.lower() in MISSING_WORDS:
        return np.nan
    found = _CLOCK_ALONE.fullmatch(text)
    return None if found is None else _seconds(found.groups())


def _of_day(time: datetime.time) -> float:
    return 3600.0 * time.hour + 60.0 * time.minute + time.second + 1e-6 * time.microsecond


def duration_in(value: Any) -> float | None:
    """Return the days of a duration, nan where it is missing, None where it is none."""
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "D"))
    if hasattr(value, "total_seconds"):
        return float(value.total_seconds()) / _DAY
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text.lower() in MISSING_WORDS:
        return np.nan
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        return None
    d, h, m, s, hours, minutes, seconds = (float(part or 0.0) for part in found.groups())
    return d + (3600.0 * (h + hours) + 60.0 * (m + minutes) + s + seconds) / _DAY
