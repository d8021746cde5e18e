"""Single values of a table: missing or not, a number or not, a date or not."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

_NUMBERS = (bool, int, float, np.number, np.bool_, Decimal, Fraction)


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
