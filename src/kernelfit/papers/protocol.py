"""How the figures of some tables are measured, and what one fit of a protocol gives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelfit.utils.digest import digest


@dataclass(frozen=True)
class Measured:
    """What one method gives on one split of one set.

    Attributes
    ----------
    scores : dict of str to float
        By the names of printed measures; "seconds" only where the same problem is timed.
    chosen : dict of str to float
        What a search chose.
    edges : tuple of str
        The parameters whose choice is an end of their grid.
    """

    scores: dict[str, float]
    chosen: dict[str, float] = field(default_factory=dict)
    edges: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Protocol:
    """How the figures of some tables are measured.

    Attributes
    ----------
    name : str
        Also of the folder of its results.
    answers : tuple of (str, str)
        Papers and tables whose figures it measures.
    sets : dict of str to dict
        Settings by set.
    methods : dict of str to dict
        Settings by method. What is in no printed table is measured by name alone.
    settings : dict
        Settings of all: the splits, the scaling, a number that rises when the code of the protocol
        gives other figures.
    measure : callable
        Takes a set, the number of a split and a method; returns `Measured`.
    n_splits : callable
        Takes a set; returns how many splits the table needs.
    left_out : frozenset of (str, str)
        Sets and methods that are not run; what the remarks say of them is the reason.
    baselines : tuple of str
        Methods that the others are compared with split by split: the first that a set has.
    """

    name: str
    answers: tuple[tuple[str, str], ...]
    sets: Mapping[str, Mapping[str, Any]]
    methods: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any]
    measure: Callable[[str, int, str], Measured]
    n_splits: Callable[[str], int]
    left_out: frozenset[tuple[str, str]] = frozenset()
    baselines: tuple[str, ...] = ()

    def stamp(self, name: str, method: str) -> str:
        """Return what stamps a result: it changes with any setting that a figure depends on."""
        return digest(self.settings, self.sets[name], self.methods[method])[:12]


def at_edges(chosen: Mapping[str, float], grids: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """Return the parameters whose choice is an end of their grid.

    Parameters
    ----------
    chosen : dict of str to float
    grids : dict of str to array-like
        By the names of parameters; a grid of one or two values has no inside.

    Returns
    -------
    tuple of str
    """
    return tuple(
        name
        for name, grid in grids.items()
        if len(grid) > 2 and name in chosen and chosen[name] in (min(grid), max(grid))
    )
