"""Tables as they come: what their columns mean, and the features that kernels compare."""

from typing import TYPE_CHECKING

from kernelfit.utils.on_first_use import on_first_use

if TYPE_CHECKING:
    from kernelfit.tables.reader import TableReader
    from kernelfit.tables.warnings import TableWarning

__all__ = ["TableReader", "TableWarning"]

_HOME = {
    "TableReader": "kernelfit.tables.reader",
    "TableWarning": "kernelfit.tables.warnings",
}

__getattr__, __dir__ = on_first_use(__name__, _HOME)
