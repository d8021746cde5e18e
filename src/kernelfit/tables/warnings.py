"""Warnings about tables, each of which has a code; `docs/warnings.md` explains them."""

import warnings
from typing import Any

from kernelfit.tables.dates import DateReader
from kernelfit.tables.doubts import leaking_columns, share_at_odds
from kernelfit.tables.frames import columns_of
from kernelfit.tables.kinds import AS_TOLD
from kernelfit.tables.plan import Plan

_NAMED = 5  # columns, at most, in one warning
_AT_ODDS = 0.1  # share of rows that equal one of another class


class TableWarning(UserWarning):
    """A warning about a table. Its text begins with its code, by which it can be silenced.

    Parameters
    ----------
    code : str
        Such as "KF001".
    text : str
        What is wrong, and what to do.

    Examples
    --------
    >>> import warnings
    >>> from kernelfit.tables import TableWarning
    >>> warnings.filterwarnings("ignore", message="KF001", category=TableWarning)
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


def warn(code: str, text: str, stacklevel: int) -> None:
    """Warn from a caller that many levels up."""
    warnings.warn(TableWarning(code, text), stacklevel=stacklevel + 1)


def warn_of_plan(plan: Plan, stacklevel: int) -> None:
    """Warn of columns dropped as ids or read as text, and of dates whose order is a guess."""
    texts = []
    for name, reader in zip(plan.names, plan.readers, strict=True):
        if reader.kind == "id":
            code, said, kind, does = "KF001", f"is dropped, {reader.note}", "text", "keeps it"
        elif reader.kind == "text" and reader.note != AS_TOLD:
            texts.append(repr(name))
            continue
        elif getattr(reader, "guessed", False):
            other = "month first" if reader.order.endswith("dmy") else "day first"
            code, said, kind, does = "KF007", f"has dates {reader.note}", other, "reads them so"
        else:
            continue
        text = f"column {name!r} {said}; column_kinds={{{name!r}: {kind!r}}} {does}"
        warn(code, text, stacklevel + 1)
    if texts:
        more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
        warn("KF002", f"read as text: {', '.join(texts[:_NAMED])}{more}", stacklevel + 1)


def warn_of_data(plan: Plan, table: Any, targets: Any, labels: Any | None, stacklevel: int) -> None:
    """Warn of columns that are the target in other words, and of equal rows of several classes."""
    for j in leaking_columns(table, plan.sources, targets, labels):
        if labels is None and plan.readers[j].kind in ("date", "time"):
            continue  # as a trend does
        name = plan.names[j]
        text = f"column {name!r} tells the target alone; column_kinds={{{name!r}: 'drop'}} leaves"
        warn("KF003", f"{text} it out, unless it is known before the target", stacklevel + 1)
    share = 0.0 if labels is None else share_at_odds(table, labels)
    if share > _AT_ODDS:
        text = f"{100 * share:.0f} % of the rows equal a row of another class"
        warn("KF004", f"{text}: no model can be right in all of them", stacklevel + 1)


def warn_of_dates(plan: Plan, X: Any, stacklevel: int) -> None:
    """Warn of dates outside those of training."""
    if not any(isinstance(reader, DateReader) for reader in plan.readers):
        return
    for reader, column in zip(plan.readers, columns_of(X), strict=True):
        if isinstance(reader, DateReader) and reader.is_beyond(column):
            text = f"column {column.name!r} has dates outside those of training, of which the"
            warn("KF005", f"{text} first or last takes the place in trends", stacklevel + 1)
