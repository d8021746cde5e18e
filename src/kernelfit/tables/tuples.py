"""Columns of text with several numbers in one form: "52.5, 13.4", "120/80", "POINT (3 4)"."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelfit.tables.frames import Column
from kernelfit.tables.number_text import MISSING_WORDS
from kernelfit.tables.parsing import present
from kernelfit.tables.roles import NUMBER

# A point is a mark of decimals where there is one alone, as in no version and no address.
_NUMBER = re.compile(r"((?:(?<!\w)-)?(?<![\d.])\d+\.\d+(?![\d.])|(?:(?<!\w)-)?\d+)")
_CODE = re.compile(r"0\d\d+")


@dataclass(frozen=True)
class TupleReader:
    """Reads one column of text as the numbers in it; text of another form is missing.

    Attributes
    ----------
    form : tuple of str
        What stands before, between and behind the numbers.
    note : str
    """

    form: tuple[str, ...]
    note: str = ""

    kind: ClassVar[str] = "numbers"

    @property
    def roles(self) -> tuple[int, ...]:
        """Roles of the parsed features."""
        return (NUMBER,) * (len(self.form) - 1)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Names of the parsed features, behind that of the column."""
        return tuple(f"number {k + 1}" for k in range(len(self.form) - 1))

    def read(self, column: Column) -> NDArray[np.float64]:
        """Return the numbers in the text, of shape (n, k)."""
        none = [np.nan] * len(self.roles)
        known = {value: _take_apart(value) for value in present(column)}
        rows = (known.get(value, ((), none)) for value in column.values.tolist())
        found = [numbers if form == self.form else none for form, numbers in rows]
        return np.array(found).reshape(-1, len(none))


def _take_apart(value: Any) -> tuple[tuple[str, ...], list[float]]:
    """Return what stands around the numbers of a text, and the numbers."""
    parts = _NUMBER.split(value.strip()) if isinstance(value, str) else [""]
    return tuple(parts[::2]), [float(part) for part in parts[1::2]]


def read_tuples(column: Column, most_odd: float) -> TupleReader | None:
    """Return the reader of a column where nearly all text has the same form, or None."""
    values = present(column)
    if any(_CODE.fullmatch(p) for v in values if isinstance(v, str) for p in _NUMBER.split(v)):
        return None
    forms = Counter(
        _take_apart(value)[0]
        for value in column.values.tolist()
        if value in values and str(value).strip().lower() not in MISSING_WORDS
    )
    form, n = forms.most_common(1)[0]
    if len(form) < 3 or forms.total() - n > most_odd:
        return None
    shown = "#".join(form)
    return TupleReader(form, f"numbers in {shown[:40]!r}")
