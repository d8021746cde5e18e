"""Our figures beside a paper's, measured by its protocols in one call."""

from collections.abc import Callable, Iterable
from pathlib import Path

from kernelfit.papers.cells import Line, measure_missing
from kernelfit.papers.ledger import Answer, answers
from kernelfit.papers.printed import choose
from kernelfit.papers.protocols import by_table


def reproduce(
    paper: str,
    *,
    tables: Iterable[str] | None = None,
    sets: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    splits: int | None = None,
    folder: str | Path = "kernelfit-results",
    n_jobs: int | None = None,
    report: Callable[[str], None] = print,
) -> list[Answer]:
    """Measure a paper's figures, and return ours beside them.

    The environment variable ``KERNELFIT_DATA`` names the folder with the data: for each set a file
    ``<set>.npz`` with arrays ``X`` and ``y``.

    Parameters
    ----------
    paper : {"dank", "knpl", "tkl", "cds"}
        The paper.
    tables, sets, methods : iterable of str or None
        What to measure of it; by default all that is printed and can be run.
    splits : int, default=None
        How many splits; by default what the table needs.
    folder : str or Path, default="kernelfit-results"
        Results are kept here as soon as they are there, so that a run that was stopped goes on.
    n_jobs : int, default=None
        How many splits are measured at the same time.
    report : callable, default=print
        Told what was done, and how long the rest will take.

    Returns
    -------
    list of Answer
        One a printed figure, in the order of the paper.

    Examples
    --------
    >>> from kernelfit.papers import reproduce
    >>> found = reproduce("dank", tables=["table 2"], sets=["heart"])  # doctest: +SKIP
    >>> [(one.figure.method, one.ours, one.state) for one in found]  # doctest: +SKIP
    """
    if splits is not None and splits < 1:
        raise ValueError(f"expected splits >= 1, got {splits}")
    figures, protocols = choose(paper, tables, sets, methods), by_table()
    lines: dict[tuple[str, str, str], Line] = {}
    for one in dict.fromkeys(protocols.get((figure.paper, figure.table)) for figure in figures):
        if one is None:
            continue
        pairs = dict.fromkeys(
            (figure.set, figure.method)
            for figure in figures
            if protocols.get((figure.paper, figure.table)) is one
        )
        wanted = [pair for pair in pairs if pair not in one.left_out]
        found = measure_missing(one, wanted, Path(folder), report, splits=splits, n_jobs=n_jobs)
        lines |= {(one.name, *pair): line for pair, line in found.items()}
    return answers(figures, protocols, lines)
