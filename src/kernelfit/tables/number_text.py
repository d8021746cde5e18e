"""Numbers in disguise: money, units, shares, marks of thousands and decimal commas.

A column of text holds numbers where every value is one in the same way: one currency or unit, one
mark of decimals. "12 %" and "3.2 kg" are numbers of their unit; "<5" and "5+" are 5.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelfit.utils.values import is_missing, is_number

MISSING_WORDS = frozenset(
    {"", "?", "-", "--", "na", "n/a", "#n/a", "nan", "nat", "none", "null", "missing"}
)
_CODE = re.compile(r"[+-]?0\d+")
_CURRENCY = r"US\$|[$€£¥₹]|USD|EUR|GBP|JPY|CHF|CAD|AUD|CNY|INR|SEK|NOK|DKK|PLN|BRL|MXN|KRW|ZAR"
_MINUS = "\u2212"
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?:[<>≤≥~≈]=?)?\s*(?P<minus>[-{_MINUS}]|\+)?\s*(?P<front>{_CURRENCY})?\s*"
    rf"(?P<inner>[-{_MINUS}])?(?P<core>\d[\d.,'\u2019\s]*|[.,]\d+)(?P<power>[eE][+-]?\d+)?"
    rf"\s*(?P<back>%|‰|{_CURRENCY}|[°µ]?[A-Za-z][A-Za-z/²³]{{0,9}}|°)?\+?\s*(?P<close>\))?"
)
_GROUPS = {
    ".": re.compile(r"[1-9]\d{0,2}(?:([,'\u2019\s])(?:\d\d\d?\1)*\d{3})(?:\.\d+)?|\d+\.?\d*|\.\d+"),
    ",": re.compile(r"[1-9]\d{0,2}(?:([.'\u2019\s])\d{3}(?:\1\d{3})*)(?:,\d+)?|\d+,?\d*|,\d+"),
}
_MULTIPLES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "m": 1e6, "B": 1e9, "bn": 1e9}
_WHOLE = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})*|0")
_ORDINALS = {"st", "nd", "rd", "th"}
_FEWEST_POINTED = 5
_NO_UNIT = {"am", "pm", "AM", "PM"}  # of a clock time


@dataclass(frozen=True)
class NumberFormat:
    """How the text of a column writes numbers.

    Attributes
    ----------
    decimal : {".", ","}
    units : tuple of str
        What may stand around a number: currencies and units.
    multiples : bool
        Whether K, M and B behind a number multiply it.
    """

    decimal: str
    units: tuple[str, ...]
    multiples: bool

    def __call__(self, value: Any) -> float | None:
        """Return the number that a value is or writes, nan for none, None where it is no number."""
        plain = number_in(value)
        if plain is not None and (self.decimal == "." or not isinstance(value, str)):
            return plain
        found = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is None or not {_front(found), _back(found)} <= {*self.units}:
            return plain if plain is not None and np.isnan(plain) else None
        core = found["core"].strip()
        if _GROUPS[self.decimal].fullmatch(core) is None:
            return None
        digits = re.sub(rf"[^\d{self.decimal}]", "", core).replace(",", ".")
        number = float(digits + (found["power"] or ""))
        if self.multiples:
            number *= _MULTIPLES[_back(found)]
        negative = (found["minus"] or found["inner"] or "+") != "+" or bool(found["open"])
        return -number if negative else number


def _front(found: re.Match[str]) -> str:
    return found["front"] or ""


def _back(found: re.Match[str]) -> str:
    back = found["back"] or ""
    return "th" if back in _ORDINALS else back if back in _MULTIPLES else back.removesuffix("s")


def find_number_format(values: Iterable[str]) -> NumberFormat | None:
    """Return how those values that are numbers write them, or None where not in the same way."""
    cores, fronts, backs = [], set(), set()
    for value in values:
        if value.strip().lower() in MISSING_WORDS:
            continue
        found = _NUMBER.fullmatch(value.strip())
        if found is None:
            continue
        if is_code(value) or (found["open"] is None) != (found["close"] is None):
            return None
        cores.append(found["core"].strip())
        fronts.add(_front(found))
        backs.add(_back(found))
    multiples = len(backs) > 1 and backs <= {*_MULTIPLES}
    if not cores or len(fronts - {""}) > 1 or backs & _NO_UNIT:
        return None
    if len(backs) > 1 and not multiples:
        return None
    # English first: 1,234 is a thousand and more.
    for decimal in "," if _marks_thousands(cores) else ".,":
        if all(_GROUPS[decimal].fullmatch(core) for core in cores):
            return NumberFormat(decimal, tuple(sorted(fronts | backs | {""})), multiples)
    return None


def _marks_thousands(texts: Iterable[str]) -> bool:
    """Return whether points are marks of thousands, as in 999 and 1.000, and not of decimals.

    Where all numbers have three digits behind the point, decimals would be in the others, too.
    """
    numbers = [*texts]
    n_pointed = sum("." in text for text in numbers)
    all_fit = all(_WHOLE.fullmatch(text) for text in numbers)
    return all_fit and _FEWEST_POINTED <= n_pointed < len(numbers)


def number_in(value: Any) -> float | None:
    """Return the number that a value is, or that a text writes plainly; None where it is none.

    Parameters
    ----------
    value : object

    Returns
    -------
    float or None
        nan for words such as "n/a" and "-", and for an empty text.
    """
    if not isinstance(value, str):
        return np.nan if is_missing(value) else float(value) if is_number(value) else None
    text = value.strip()
    if text.lower() in MISSING_WORDS:
        return np.nan
    try:
        return None if "_" in text else float(text)  # Python reads 1_000
    except ValueError:
        return None


def is_code(value: Any) -> bool:
    """Return whether a text is digits that begin with a zero, as those of codes do."""
    return isinstance(value, str) and _CODE.fullmatch(value.strip()) is not None
