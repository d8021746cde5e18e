"""The figures that the papers print, in ``published.csv``: one row a figure."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

PAPERS = {
    "dank": "Liu, Huang, Gong, Yang, Li: Learning Data-adaptive Non-parametric Kernels, "
    "JMLR 21 (2020)",
    "knpl": "Liu, Huang, Gong, Yang, Li: Nonlinear Pairwise Layer and Its Training for Kernel "
    "Learning, AAAI (2018)",
    "tkl": "Talitckii, Colbert, Peet: Efficient Convex Algorithms for Universal Kernel Learning, "
    "JMLR 25 (2024)",
    "cds": "Yang, Li: Discriminative Similarity for Data Clustering, ICLR (2022)",
}


@dataclass(frozen=True)
class Figure:
    """A figure as a paper prints it.

    Attributes
    ----------
    paper : {"dank", "knpl", "tkl", "cds"}
    table : str
        "table 1", or "section 6.3.1" for figures in the text.
    set : str
        Name of the data.
    method : str
        Behind it the setting, where a table has several: "DANK tau=0.1", "LogDet exact".
    measure : str
        "test accuracy" and "train accuracy" in percent, "test error" and "train error" relative to
        the variance, "MSE", "AC", "NMI", "rank" or "seconds".
    value : float or None
        None where the paper says that there is none.
    deviation : float or None
        None where none is printed.
    """

    paper: str
    table: str
    set: str
    method: str
    measure: str
    value: float | None
    deviation: float | None


def published(paper: str | None = None) -> list[Figure]:
    """Return what the papers print, in their order.

    Parameters
    ----------
    paper : {"dank", "knpl", "tkl", "cds"} or None
        One paper's figures; by default all. The preprint of DANK prints the figures of the journal.

    Returns
    -------
    list of Figure

    Examples
    --------
    >>> from kernelfit.papers import published
    >>> heart = [figure for figure in published("knpl") if figure.set == "heart"]
    >>> heart[-1].method, heart[-1].measure, heart[-1].value
    ('KNPL', 'test accuracy', 87.47)
    """
    return [figure for figure in _all() if paper in (None, figure.paper)]


def choose(
    paper: str,
    tables: Iterable[str] | None = None,
    sets: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
) -> list[Figure]:
    """Return some figures of a paper; ValueError where it has none of such a name."""
    if paper not in PAPERS:
        raise ValueError(f"expected paper to be among {', '.join(PAPERS)}, got {paper!r}")
    figures = published(paper)
    for key, chosen in (("table", tables), ("set", sets), ("method", methods)):
        if chosen is None:
            continue
        wanted, known = list(chosen), [*dict.fromkeys(getattr(one, key) for one in figures)]
        unknown = [name for name in wanted if name not in known]
        if unknown or not wanted:
            got = ", ".join(unknown) or "none"
            raise ValueError(f"expected {key}s among {', '.join(known)}, got {got}")
        figures = [figure for figure in figures if getattr(figure, key) in wanted]
    return figures


@cache
def _all() -> tuple[Figure, ...]:
    text = files("kernelfit.papers").joinpath("published.csv").read_text(encoding="utf-8")
    _, *rows = csv.reader(text.splitlines())
    return tuple(
        Figure(paper, table, name, method, measure, _number(value), _number(deviation))
        for paper, table, name, method, measure, value, deviation in rows
    )


def _number(text: str) -> float | None:
    return float(text) if text else None
