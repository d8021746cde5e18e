r"""The convex hull of the union of several sets of kernels.

.. math::

    K = \sum_j \theta_j K_j, \qquad \theta \ge 0,\; \sum_j \theta_j = 1,\quad
    K_j \in \mathcal K_1 \cup \dots \cup \mathcal K_s

The best response to beta is the kernel of the largest form in any of the sets, and the energy is
half of that form. With given kernels alone this is multiple kernel learning, with the rank-one
kernels of a basis alone it is TKL or GPK. A theta holds the kernels that it uses.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from kernelfit.families.multiple.bank import Array, Bank, make_bank
from kernelfit.families.multiple.kernels import WeightedSum
from kernelfit.families.multiple.weights import SimplexWeights
from kernelfit.families.union.atoms import Atom, AtomSet
from kernelfit.kernels.gram import DenseGram

_BETTER = 1e-9  # by which a form must exceed another to be of use
_MOST = 3  # kernels of a set that are added at a time
_NEW_WEIGHT = 0.1  # of kernels that are added, all together


@dataclass(frozen=True, eq=False)
class Mixture:
    """A theta: kernels of the sets and their weights.

    Attributes
    ----------
    keys : tuple of (int, hashable)
        The set of every kernel and its key in it.
    members : tuple of callable
        The kernels on raw data.
    bank : Bank
        Their matrices.
    weights : ndarray
    """

    keys: tuple[tuple[int, Hashable], ...]
    members: tuple[Any, ...]
    bank: Bank
    weights: Array


class UnionFamily:
    """The family; see the module's head.

    Parameters
    ----------
    sets : sequence of AtomSet
    n : int
        Number of points.
    max_bytes : float
        Memory for the matrices of kernels in use.
    """

    def __init__(self, sets: Sequence[AtomSet], n: int, max_bytes: float) -> None:
        self.sets, self.n, self.max_bytes = tuple(sets), n, max_bytes

    @cached_property
    def initial(self) -> Mixture:
        """Equal weights of one kernel of each set: the best ones for differences of the points."""
        signs = np.where(np.arange(self.n) % 2 == 0, 1.0, -1.0)[None]
        best = [(s, atoms.offer(signs)[0]) for s, atoms in enumerate(self.sets)]
        empty = make_bank(self.n, [], self.max_bytes)
        mixture = Mixture((), (), empty, np.empty(0))
        mixture = self._with(mixture, best)
        return replace(mixture, weights=np.full(len(best), 1.0 / len(best)))

    def respond(self, beta: Array) -> "UnionResponse":
        """Return the response to dual solutions of shape (n_tasks, n)."""
        return UnionResponse(self, beta)

    def gram(self, theta: Mixture, update: Array | None = None, few: bool = False) -> DenseGram:
        """Return the sum of the matrices, plus L L' for an update L."""
        K = theta.bank.combine(theta.weights)
        return DenseGram(K if update is None else K + update @ update.T, theta.bank.dtype)

    def penalty(self, theta: Mixture) -> float:
        """Return 0: all kernels of the hull are alike."""
        return 0.0

    def kernel(self, theta: Mixture) -> WeightedSum:
        """Return the sum as a picklable callable ``k(X, Y)``."""
        return WeightedSum(theta.members, theta.weights)

    def mix(self, theta: Mixture, other: Mixture, t: float) -> Mixture:
        """Return a kernel between two."""
        places = {key: j for j, key in enumerate(theta.keys)}
        fresh = [j for j, key in enumerate(other.keys) if key not in places]
        weights = np.concatenate([(1.0 - t) * theta.weights, t * other.weights[fresh]])
        for key, weight in zip(other.keys, other.weights, strict=True):
            if key in places:
                weights[places[key]] += t * weight
        return Mixture(
            theta.keys + tuple(other.keys[j] for j in fresh),
            theta.members + tuple(other.members[j] for j in fresh),
            theta.bank.joined(other.bank, fresh),
            weights,
        )

    def restricted(self, theta: Mixture) -> SimplexWeights:
        """Return the family of the kernels that theta holds."""
        return SimplexWeights(theta.bank, partial(WeightedSum, theta.members))

    def weights_of(self, theta: Mixture) -> Array:
        """Return the weights of the kernels that theta holds."""
        return theta.weights

    def reweighted(self, theta: Mixture, weights: Array) -> Mixture:
        """Return the same kernels with other weights."""
        return replace(theta, weights=weights)

    def grown(self, theta: Mixture, response: "UnionResponse") -> Mixture:
        """Return theta with those kernels added whose forms are larger than all of its own.

        Each has a small weight. Theta itself where there is none.
        """
        largest = float(theta.bank.respond(response.beta).forms().max(initial=0.0))
        held, added = set(theta.keys), []
        for s, offers in enumerate(response.offers):
            useful = [a for a in offers[:_MOST] if a.form > (1.0 + _BETTER) * largest]
            added += [(s, atom) for atom in useful if (s, atom.key) not in held]
        if not added:
            return theta
        larger = self._with(theta, added)
        share = np.full(len(added), _NEW_WEIGHT / len(added))
        return replace(larger, weights=np.concatenate([(1.0 - _NEW_WEIGHT) * theta.weights, share]))

    def _with(self, theta: Mixture, added: Sequence[tuple[int, Atom]]) -> Mixture:
        """Return theta with more kernels, whose weights are to be set."""
        made = [atom.make() for _, atom in added]
        bank = make_bank(self.n, [source for _, source in made], self.max_bytes)
        return Mixture(
            theta.keys + tuple((s, atom.key) for s, atom in added),
            theta.members + tuple(kernel for kernel, _ in made),
            theta.bank.joined(bank, range(len(made))),
            theta.weights,
        )


class UnionResponse:
    """The response to dual solutions; see `kernelfit.solvers.saddle.problem.Response`."""

    def __init__(self, family: UnionFamily, beta: Array) -> None:
        self.family, self.beta = family, beta

    @cached_property
    def offers(self) -> list[list[Atom]]:
        """What every set offers."""
        return [atoms.offer(self.beta) for atoms in self.family.sets]

    @cached_property
    def _best(self) -> tuple[int, Atom]:
        return max(
            ((s, offers[0]) for s, offers in enumerate(self.offers)), key=lambda pair: pair[1].form
        )

    @property
    def energy(self) -> float:
        """Half the largest form."""
        return 0.5 * max(self._best[1].form, 0.0)

    @property
    def theta(self) -> Mixture:
        """The kernel of the largest form."""
        empty = Mixture((), (), make_bank(self.family.n, [], np.inf), np.empty(0))
        return replace(self.family._with(empty, [self._best]), weights=np.ones(1))

    def decision(self, theta: Mixture) -> Array:
        """Return K_theta beta, of shape (n_tasks, n)."""
        return theta.bank.respond(self.beta).sums(theta.weights)

    def excess(self, theta: Mixture) -> float:
        """Return how far theta falls short of the energy."""
        forms = theta.bank.respond(self.beta).forms()
        return 0.5 * float(theta.weights @ (2.0 * self.energy - forms))
