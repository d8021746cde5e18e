"""Our answer to every printed figure: a value, a state, and what is known of the cause."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import fmean, pstdev
from typing import Any

from kernelfit.papers.printed import Figure, published
from kernelfit.papers.protocol import Protocol

Lines = Mapping[tuple[str, str, str], Mapping[str, Any]]
Printed = Mapping[tuple[str, str, str, str], Figure]

STATES = {
    "within": "closer to the printed figure than the larger of the two standard deviations, or "
    "than .03 (3 points, of ranks and seconds 3 %) where none is printed",
    "better": "better than that, for a reason that an experiment showed",
    "worse": "worse than that, for a reason that an experiment showed",
    "open": "further away, and what was tried did not show why",
    "not run": "not measured, for the reason given",
    "not printed": "the paper says that it has no figure",
}
_LOWER_IS_BETTER = frozenset({"test error", "train error", "MSE", "rank", "seconds"})
_PLAIN = 0.03
_SIZES = frozenset({"rank", "seconds"})
_PERCENT = frozenset({"test accuracy", "train accuracy"})
_OTHER_MACHINE = "Another machine and other programs."


@dataclass(frozen=True)
class Answer:
    """What we have for a printed figure.

    Attributes
    ----------
    figure : Figure
    state : str
        One of `STATES`.
    ours, deviation : float or None
        Mean and standard deviation over the splits.
    n_splits : int
    edges : tuple of (str, int)
        Parameters, and in how many splits their choice is an end of the grid.
    stale : bool
        Whether the settings have changed since it was measured.
    remark : str
    code : str
        Version or commit that it was measured with.
    """

    figure: Figure
    state: str
    ours: float | None = None
    deviation: float | None = None
    n_splits: int = 0
    edges: tuple[tuple[str, int], ...] = ()
    stale: bool = False
    remark: str = ""
    code: str = ""


def answers(
    figures: Iterable[Figure],
    protocols: Mapping[tuple[str, str], Protocol],
    lines: Lines,
) -> list[Answer]:
    """Return our answers to some figures.

    Parameters
    ----------
    figures : iterable of Figure
    protocols : dict of (str, str) to Protocol
        By paper and table.
    lines : dict of (str, str, str) to dict
        What was measured, by protocol, set and method.

    Returns
    -------
    list of Answer
    """
    printed = {(one.paper, one.set, one.method, one.measure): one for one in published()}
    return [
        _answer(figure, protocols.get((figure.paper, figure.table)), lines, printed)
        for figure in figures
    ]


def _answer(figure: Figure, protocol: Protocol | None, lines: Lines, printed: Printed) -> Answer:
    remarks = [remark for remark in _remarks() if _fits(remark, figure)]
    if figure.value is None:
        return Answer(figure, "not printed")
    line = lines.get((protocol.name, figure.set, figure.method)) if protocol else None
    if protocol is None or line is None or figure.measure not in line["scores"]:
        return Answer(figure, "not run", remark=_words(remarks, "not run"))
    values = line["scores"][figure.measure]
    ours, deviation = fmean(values), pstdev(values)
    found: dict[str, Any] = {
        "ours": ours,
        "deviation": deviation if len(values) > 1 else None,
        "n_splits": len(values),
        "edges": tuple((name, len(splits)) for name, splits in line["edges"].items()),
        "stale": line["stamp"] != protocol.stamp(figure.set, figure.method),
        "code": line["code"],
    }
    if abs(ours - figure.value) <= _tolerance(figure, deviation):
        return Answer(figure, "within", **found)
    lower = figure.measure in _LOWER_IS_BETTER
    side = "better" if (ours < figure.value) == lower else "worse"
    cause = _words(remarks, "cause") or _as_the_baseline(figure, protocol, lines, printed, ours)
    if figure.measure == "seconds":
        cause = cause or _OTHER_MACHINE
    if cause:
        return Answer(figure, side, remark=cause, **found)
    return Answer(figure, "open", remark=_words(remarks, "tried"), **found)


def _as_the_baseline(
    figure: Figure, protocol: Protocol, lines: Lines, printed: Printed, ours: float
) -> str:
    """Return that a baseline on the same splits is off its printed figure alike, if so."""
    for name in protocol.baselines:
        theirs = printed.get((figure.paper, figure.set, name, figure.measure))
        line = lines.get((protocol.name, figure.set, name))
        if name == figure.method or not (line and theirs and theirs.value and figure.value):
            continue
        values = line["scores"][figure.measure]
        off = fmean(values) - theirs.value
        # One that agrees with print explains nothing.
        if abs(off) <= _tolerance(theirs, pstdev(values)):
            continue
        if abs(ours - figure.value - off) <= _tolerance(figure, 0.0):
            return (
                f"As {name} on the same splits, whose figure differs alike: the differences to it "
                "are within the tolerance of each other."
            )
    return ""


def _tolerance(figure: Figure, deviation: float) -> float:
    if figure.deviation is not None:
        return max(figure.deviation, deviation)
    if figure.measure in _SIZES and figure.value is not None:
        return max(deviation, _PLAIN * figure.value)
    return max(deviation, 100.0 * _PLAIN if figure.measure in _PERCENT else _PLAIN)


@cache
def _remarks() -> tuple[dict[str, str], ...]:
    text = files("kernelfit.papers").joinpath("remarks.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def _fits(remark: Mapping[str, str], figure: Figure) -> bool:
    """Return whether a remark is about a figure; an empty field is about all."""
    keys = ("paper", "table", "set", "method", "measure")
    return all(not remark[key] or getattr(figure, key) in remark[key].split("; ") for key in keys)


def _words(remarks: list[dict[str, str]], kind: str) -> str:
    return " ".join(remark["text"] for remark in remarks if remark["kind"] == kind)
