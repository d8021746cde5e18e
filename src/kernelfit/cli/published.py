"""The figures that the papers print, in ``published.json``: sets, methods, means and deviations."""

import json
from importlib.resources import files
from typing import Any


def published(paper: str) -> dict[str, Any]:
    """Return what a paper prints: its title, and the figures by set, method and part."""
    text = files("kernelfit.cli").joinpath("published.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)[paper]
    return found
