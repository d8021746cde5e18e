"""Choose a graph and a number of clusters without labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from kernelfit.clustering.agreement import adjusted_rand
from kernelfit.clustering.stability import Partitions, partitions, stabilities
from kernelfit.clustering.ties import first_least

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Affinity = Callable[[Array, Array], Any]

_ROUNDING = 1e-9  # of eigenvalues, which are at most one


@dataclass(frozen=True)
class Judgement:
    """What speaks for every graph and number of clusters.

    Attributes
    ----------
    numbers : tuple of int
        Of clusters.
    stability : ndarray of shape (n_graphs, n_numbers)
        Mean adjusted Rand index between the clusters of subsamples and of all points.
    agreement : ndarray of shape (n_graphs, n_numbers)
        Mean adjusted Rand index between the clusters of a graph and of the others.
    balance : ndarray of shape (n_graphs, n_numbers)
        Entropy of the sizes of the clusters, relative to that of equal sizes.
    gap : ndarray of shape (n_graphs, n_numbers)
        Between the last eigenvalue of the clusters and the next, relative to the distance of the
        latter from one: 1 where nothing links the clusters.
    in_pieces : ndarray of bool of shape (n_graphs, n_numbers)
        Whether the graph is in more pieces than clusters, so that some are joined arbitrarily.
    """

    numbers: tuple[int, ...]
    stability: Array
    agreement: Array
    balance: Array
    gap: Array
    in_pieces: NDArray[np.bool_]

    @property
    def score(self) -> Array:
        """Return what a graph is chosen by, for each number of clusters.

        Balance is against graphs that cut off a few outlying points, which subsamples confirm.
        A graph in pieces comes last.
        """
        return (self.stability + self.agreement + self.balance) / 3.0 - self.in_pieces

    @property
    def worth(self) -> Array:
        """Return what a number of clusters is chosen by, on the mean of all graphs.

        One graph alone often confirms too few clusters: parts of the true ones, joined always in
        the same way. Another graph joins others.
        """
        return np.asarray((self.stability * self.balance * (1.0 + self.gap)).mean(axis=0))

    def best(self) -> tuple[int, int]:
        """Return the places of the graph and the number chosen, of equal ones the first."""
        number = first_least(-self.worth)
        return first_least(-self.score[:, number]), number


def judge(
    affinities: Sequence[Affinity],
    points: Array,
    counts: Array,
    numbers: Sequence[int],
    draws: Sequence[Labels],
    n_jobs: int | None = None,
) -> Judgement:
    """Cluster a sample and subsamples of it on every graph, into every number of clusters.

    Parameters
    ----------
    affinities : sequence of callable
        ``affinity(points, counts)`` is the affinity matrix of some points; at least two.
    points : ndarray of shape (n, d)
    counts : ndarray of shape (n,)
        How many times every point counts.
    numbers : sequence of int
        Of clusters, from two to one less than there are points in a subsample.
    draws : sequence of ndarray
        The rows of every subsample.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    Judgement
    """

    def try_graph(affinity: Affinity) -> tuple[Partitions, Array]:
        whole = partitions(affinity(points, counts), counts, numbers)
        return whole, stabilities(affinity, points, counts, whole, numbers, draws).mean(axis=0)

    tried = Parallel(n_jobs, backend="threading")(delayed(try_graph)(a) for a in affinities)
    found = [whole.labels for whole, _ in tried]
    distances = np.maximum(1.0 - np.array([whole.eigenvalues for whole, _ in tried]), 0.0)
    last, following = distances[:, np.array(numbers) - 1], distances[:, np.array(numbers)]
    linked = following > _ROUNDING
    return Judgement(
        tuple(numbers),
        np.array([stable for _, stable in tried]),
        _agreements(found, counts),
        np.array(
            [[_balance(*pair, counts) for pair in zip(one, numbers, strict=True)] for one in found]
        ),
        np.where(linked, 1.0 - last / np.where(linked, following, 1.0), 0.0),
        ~linked,
    )


def _agreements(found: Sequence[Sequence[Labels]], counts: Array) -> Array:
    """Return the mean agreement of each graph with the others, for every number of clusters."""
    out = np.zeros((len(found), len(found[0])))
    for j in range(out.shape[1]):
        for g in range(len(found)):
            for h in range(g):
                index = adjusted_rand(found[g][j], found[h][j], counts)
                out[[g, h], j] += index / (len(found) - 1)
    return out


def _balance(labels: Labels, number: int, counts: Array) -> float:
    share = np.bincount(labels, weights=counts) / counts.sum()
    share = share[share > 0]
    return float(-np.sum(share * np.log(share)) / np.log(number))
