"""Our answer to every printed figure: a value, a state, and what is known of the cause."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import fmean, pstdev
from typing import Any

from kernelfit.papers.figures import Figure
from kernelfit.papers.protocol import Protocol

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
    edges : dict of str to int
        In how many splits the choice of a parameter is an end of its grid.
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
    lines: Mapping[tuple[str, str, str], Mapping[str, Any]],
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
    return [_answer(figure, protocols.get((figure.paper, figure.table)), lines) for figure in figures]


def _answer(figure: Figure, protocol: Protocol | None, lines: Any) -> Answer:
    remarks = [remark for remark in _remarks() if _fits(remark, figure)]
    line = protocol and lines.get((protocol.name, figure.set, figure.method))
    values = (line or {"scores": {}})["scores"].get(figure.measure)
    if figure.value is None:
        return Answer(figure, "not printed")
    if not values or protocol is None:
        reasons = " ".join(r["text"] for r in remarks if r["kind"] == "not run")
        return Answer(figure, "not run", remark=reasons)
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
    cause = _words(remarks, "cause")
    if figure.measure == "seconds":
        cause = cause or _OTHER_MACHINE
    if cause:
        return Answer(figure, side, remark=cause, **found)
    return Answer(figure, "open", remark=_words(remarks, "tried"), **found)


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
    return all(
        not remark[key] or getattr(figure, key) in remark[key].split("; ") for key in keys
    )


def _words(remarks: list[dict[str, str]], kind: str) -> str:
    return " ".join(remark["text"] for remark in remarks if remark["kind"] == kind)
