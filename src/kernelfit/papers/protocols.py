"""The protocols by name, and by the tables that they answer.

Each is in a module of its own, which is imported on first use.
"""

from functools import cache
from importlib import import_module

from kernelfit.papers.protocol import Protocol

# By name: where the protocol is.
HOMES: dict[str, str] = {
    "cds": "kernelfit.papers.cds_tables",
    "dank": "kernelfit.papers.dank_tables",
    "dank-functions": "kernelfit.papers.dank_functions",
    "dank-large": "kernelfit.papers.dank_large",
    "tkl": "kernelfit.papers.tkl_tables",
    "tkl-programme": "kernelfit.papers.tkl_programme",
}


@cache
def protocol(name: str) -> Protocol:
    """Return the protocol of a name."""
    found: Protocol = import_module(HOMES[name]).PROTOCOL
    return found


def by_table() -> dict[tuple[str, str], Protocol]:
    """Return the protocols by the papers and tables whose figures they measure."""
    return {table: protocol(name) for name in HOMES for table in protocol(name).answers}
