"""Single values of a table: missing or not, a number or not, and what to call the others."""

import datetime
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

# How a complaint about dates ends.
DATES = "got dates or durations: turn them into numbers such as days, months or weekdays first"

_NUMBERS = (bool, int, float, np.number, np.bool_, Decimal, Fraction)
_NO_NUMBER = frozenset({"", "nan", "na", "n/a", "none", "null"})  # missing, in a text of numbers
_CODE = re.compile(r"[+-]?0\d+")
_DATE = re.compile(
    r"(\d{4}-\d{2}-\d{2})([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[+-]\d{2}(:?\d{2})?)?)?"
)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, nan, NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def is_number(value: Any) -> bool:
    """Return whether a value is a number or a boolean, and no text."""
    return isinstance(value, _NUMBERS) and not isinstance(value, np.timedelta64)


def is_date(value: Any) -> bool:
    """Return whether a value is a date or a duration, and no text."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return True
    return hasattr(value, "year") or hasattr(value, "total_seconds")


def number_in(value: Any) -> float | None:
    """Return the number that a value is, or that a text writes; None where it is none.

    Parameters
    ----------
    value : object

    Returns
    -------
    float or None
        nan for words such as "nan" and "NA", and for an empty text.
    """
    if not isinstance(value, str):
        return float(value) if is_number(value) else None
    text = value.strip()
    if text.lower() in _NO_NUMBER:
        return np.nan
    try:
        return None if "_" in text else float(text)  # Python reads 1_000
    except ValueError:
        return None


def is_code(value: Any) -> bool:
    """Return whether a text is digits that begin with a zero, as those of codes do."""
    return isinstance(value, str) and _CODE.fullmatch(value.strip()) is not None


def writes_date(value: Any) -> bool:
    """Return whether a text is a date as ISO 8601 writes it, perhaps with a time."""
    found = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return False
    try:
        datetime.date.fromisoformat(found[1])
    except ValueError:
        return False
    return True


def what_is_odd(value: Any) -> str | None:
    """Return what to call values of a kind that no column may hold; None for any other."""
    if is_number(value) or isinstance(value, str | bytes | np.generic):
        return None
    name = type(value).__name__
    return {"ndarray": "arrays", "Series": "arrays"}.get(name, f"{name}s")
