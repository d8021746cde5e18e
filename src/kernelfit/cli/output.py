"""What the command prints: tables for people on a terminal, or one JSON object for programs."""

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np


class Output:
    """Collects what a command has to say.

    Parameters
    ----------
    as_json : bool
        Whether to print one JSON object at the end and nothing else.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.facts: dict[str, Any] = {}

    @property
    def talks(self) -> bool:
        """Whether somebody watches: progress is shown on a terminal alone."""
        return not self.as_json and sys.stderr.isatty()

    def say(self, text: str, **facts: Any) -> None:
        """Print a line for people, and keep its facts for programs."""
        self.facts |= facts
        if not self.as_json:
            print(text, flush=True)

    def progress(self, text: str = "") -> None:
        """Show how far a command is, on one line of a terminal that is written anew."""
        if self.talks:
            print(f"\r{text:<79.79}\r", end="", file=sys.stderr, flush=True)

    def table(
        self,
        title: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        note: str = "",
        texts: int = 1,
    ) -> None:
        """Print a table; the first columns are texts, to the left, and the others numbers."""
        if self.as_json:
            return
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table

        print(f"\n{title}")
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for place, column in enumerate(columns):
            table.add_column(column, justify="left" if place < texts else "right")
        for row in rows:
            table.add_row(*row)
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = 200  # in a file, no line is broken
        console.print(table)
        if note:
            print(note)

    def end(self) -> None:
        """Print the JSON object."""
        if self.as_json:
            print(json.dumps(_finite(self.facts), ensure_ascii=False, default=_plain))


def number(value: float, digits: int = 4) -> str:
    """Return a number with so many digits that count."""
    return "-" if value is None or np.isnan(value) else f"{value:.{digits}g}"


def with_error(value: float, error: float) -> str:
    """Return a mean and its standard error, of which two digits count."""
    if np.isnan(value) or not error > 0.0:
        return number(value)
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def in_words(value: Any) -> str:
    """Return a fact as text: the first of many, and numbers with few digits."""
    if isinstance(value, dict):
        return ", ".join(f"{key} = {in_words(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(in_words, value[:20])) + (", ..." if len(value) > 20 else "")
    return number(value) if isinstance(value, float) else str(value)


def show_columns(output: Output, columns: list[dict[str, Any]], title: str = "columns") -> None:
    """Show what each column of a table became."""
    rows = []
    for one in columns:
        use = "; ".join(text for text in (one["use"], one["note"]) if text)
        rows.append([one["name"], one["kind"], use, str(one["missing"])])
    output.table(title, ["column", "kind", "use", "missing"], rows, texts=3)


def seconds(value: float) -> str:
    """Return a time in words."""
    return f"{value:.1f} s" if value < 100 else f"{value / 60:.1f} min"


def _finite(value: Any) -> Any:
    """Return facts with null in place of what JSON has no number for."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """Return numpy's scalars and arrays as numbers and lists, and anything else as text."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return str(value)
