"""Tables to try things on: made-up raw ones, and public benchmark sets from OpenML."""

from typing import TYPE_CHECKING

from kernelfit.utils.on_first_use import on_first_use

if TYPE_CHECKING:
    from kernelfit.datasets.made_up import load_flats, load_tickets
    from kernelfit.datasets.openml import fetch_benchmark

__all__ = ["fetch_benchmark", "load_flats", "load_tickets"]

_HOME = {
    "fetch_benchmark": "kernelfit.datasets.openml",
    "load_flats": "kernelfit.datasets.made_up",
    "load_tickets": "kernelfit.datasets.made_up",
}

__getattr__, __dir__ = on_first_use(__name__, _HOME)
