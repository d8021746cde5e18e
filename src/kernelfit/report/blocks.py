"""What a report is made of; the template knows how each of these looks."""

from dataclasses import dataclass, field
from typing import Any

NOTHING = "-"  # in place of a value that there is not


@dataclass(frozen=True)
class Figure:
    """A picture as inline SVG, with what it shows in words."""

    svg: str
    caption: str
    kind: str = "figure"


@dataclass(frozen=True)
class Table:
    """A table; cells are text, or `Bar` for a share of the largest in its column."""

    head: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    caption: str
    note: str = ""
    kind: str = "table"


@dataclass(frozen=True)
class Bar:
    """A number in a table with a bar behind it, `share` of the width of its cell."""

    text: str
    share: float


@dataclass(frozen=True)
class Confusion:
    """A table of counts, true classes in rows; shares are of the rows."""

    classes: list[str]
    counts: list[list[int]]
    shares: list[list[float]]
    caption: str
    kind: str = "confusion"


@dataclass(frozen=True)
class Facts:
    """Names and values, as a list of definitions."""

    items: list[tuple[str, str]]
    kind: str = "facts"


@dataclass(frozen=True)
class Section:
    """A chapter: paragraphs, then blocks."""

    name: str
    title: str
    text: list[str] = field(default_factory=list)
    blocks: list[Any] = field(default_factory=list)


def number(value: Any) -> str:
    """Return a number as people write it: three digits, or all of those before the point.

    Parameters
    ----------
    value : float or int

    Returns
    -------
    str

    Examples
    --------
    >>> from kernelfit.report.blocks import number
    >>> [number(x) for x in (1234567, 1234.5, 0.012345, 3e-07, float("nan"))]
    ['1,234,567', '1,234', '0.0123', '3e-07', '-']
    """
    value = float(value)
    if value != value:
        return NOTHING
    if abs(value) >= 1000.0 and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def scored(name: str, value: float) -> str:
    """Return a score with its name, as part of a sentence."""
    return f"{100 * value:.1f} % accuracy" if name == "accuracy" else f"a {name} of {value:.3f}"


def shorten(text: Any, length: int = 32) -> str:
    """Return a text that fits into a label."""
    whole = str(text)
    return whole if len(whole) <= length else whole[: length - 1] + "…"
