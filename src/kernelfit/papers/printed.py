"""The figures that the papers print, in ``published.json``: sets, methods, means and deviations."""

import json
from importlib.resources import files
from typing import Any


def published(paper: str) -> dict[str, Any]:
    """Return what a paper prints.

    Parameters
    ----------
    paper : {"dank", "knpl", "tkl", "cds", "mkl"}
        Name of the paper.

    Returns
    -------
    dict
        Title of the paper, and its figures by set, method and part: means, and deviations where
        they are printed.

    Examples
    --------
    >>> from kernelfit.papers import published
    >>> published("knpl")["sets"]["heart"]["KNPL"]["test"][0]
    87.47
    """
    text = files("kernelfit.papers").joinpath("published.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)[paper]
    return found
