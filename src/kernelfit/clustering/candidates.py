"""The graphs that `KernelClustering` chooses among."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernelfit.clustering.affinities import (
    NeighbourAffinity,
    RBFAffinity,
    SelfRepresentationAffinity,
    SelfTuningAffinity,
)
from kernelfit.clustering.mixture import MixedAffinity
from kernelfit.clustering.mutual import MutualAffinity

_MAX_DENSE = 5000  # points of which all pairs are compared
_MIN_FEATURES = 64  # with few, any few points represent any other


@dataclass(frozen=True)
class Graph:
    """One way to say how alike points are.

    Attributes
    ----------
    name : str
    words : str
        What it is good for, in the words of an explanation.
    make : callable
        ``make(n_jobs)`` returns the affinity.
    """

    name: str
    words: str
    make: Callable[[int | None], Any]


NEIGHBOURS = tuple(
    Graph(
        f"{k} neighbours", f"every row is linked to its {k} nearest", partial(NeighbourAffinity, k)
    )
    for k in (5, 10, 20)
)
MUTUAL = tuple(
    Graph(
        f"{k} mutual neighbours",
        f"rows are linked that are among the {k} nearest of each other",
        partial(MutualAffinity, k),
    )
    for k in (10, 20)
)
SELF_TUNING = Graph(
    "self-tuning",
    "a Gaussian kernel with a width of its own for every row, its distance to the seventh nearest",
    lambda n_jobs: SelfTuningAffinity(),
)
GAUSSIAN = Graph(
    "gaussian",
    "a Gaussian kernel as wide as the median distance",
    lambda n_jobs: RBFAffinity("median", 1),
)
SUBSPACES = Graph(
    "subspaces",
    "every row is linked to the five that represent it best as their weighted sum",
    lambda n_jobs: SelfRepresentationAffinity(5),
)


def _consensus(parts: tuple[Graph, ...]) -> Graph:
    return Graph(
        "consensus",
        "the mean of " + ", ".join(part.name for part in parts),
        lambda n_jobs: MixedAffinity(part.make(n_jobs) for part in parts),
    )


def candidate_graphs(n_points: int, n_features: int) -> tuple[Graph, ...]:
    """Return the graphs to try on so many points of so many features.

    Parameters
    ----------
    n_points, n_features : int

    Returns
    -------
    tuple of Graph
        The last one is the consensus of the others, but for the subspaces.
    """
    graphs = NEIGHBOURS + MUTUAL
    if n_points > _MAX_DENSE:
        return (*graphs, _consensus(graphs))
    graphs += (SELF_TUNING, GAUSSIAN)
    consensus = _consensus(graphs)
    return (*graphs, *((SUBSPACES,) if n_features >= _MIN_FEATURES else ()), consensus)
