r"""Sets of kernels that answer which of them has the largest form :math:`\beta^\top K \beta`.

The answer is all that the convex hull of their union needs. The sets:

* `WidthAtoms`, the Gaussians of a fine grid of widths on some of the features;
* `MatrixAtoms`, the kernels of rank-one matrices P, tessellated or of a feature map: the form is
  largest for the top eigenvector of D, and their hull is the whole family;
* `BankAtoms`, given kernels.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from kernelfit.families.multiple.bank import Array, Bank, Source, from_matrix
from kernelfit.families.multiple.kernels import BankKernel
from kernelfit.families.psd.family import PositiveMatrixFamily
from kernelfit.kernels.distances import squared_distances
from kernelfit.kernels.rows import KernelRows
from kernelfit.kernels.standard import RBF

_DIRECTIONS = 3  # eigenvectors of D that are offered at a time


@dataclass(frozen=True)
class Atom:
    """A kernel that a set offers.

    Attributes
    ----------
    key : hashable
        What tells it from the others of its set.
    form : float
        Its ``sum_t beta_t'K beta_t``.
    make : callable
        Returns the kernel ``k(X, Y)`` on raw data and the source of its matrix.
    """

    key: Hashable
    form: float
    make: Callable[[], tuple[Any, Source]]


class AtomSet(Protocol):
    """A set of kernels on the training points."""

    def offer(self, beta: Array) -> list[Atom]:
        """Return kernels to add for dual solutions, the one with the largest form first."""


@dataclass(frozen=True, eq=False)
class Widths:
    """What a set of Gaussians holds.

    Attributes
    ----------
    gammas : ndarray
    features : tuple of int or None
        The columns that they see; None for all.
    """

    gammas: Array
    features: tuple[int, ...] | None


class WidthAtoms:
    """The Gaussians of some widths on a group of features.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    gammas : ndarray
        Ascending.
    features : tuple of int or None, default=None
    """

    def __init__(self, X: Array, gammas: Array, features: tuple[int, ...] | None = None) -> None:
        self.gammas, self.features = gammas, features
        self._seen = BankKernel(RBF(1.0), features).select(X)

    def forms(self, beta: Array) -> Array:
        """Return the form of every width, from the support of beta alone."""
        support = np.flatnonzero(beta.any(axis=0))
        if not support.size:
            return np.zeros(len(self.gammas))
        b = beta[:, support]
        pairs = np.triu_indices(len(support), 1)  # the others mirror them, the diagonal is one
        distances = squared_distances(self._seen[support])[pairs]
        products = (2.0 * (b.T @ b))[pairs]
        K = np.empty_like(distances)
        out = np.empty(len(self.gammas))
        for j, gamma in enumerate(self.gammas):
            np.multiply(distances, -gamma, out=K)
            np.exp(K, out=K)
            out[j] = products @ K
        return np.asarray(np.maximum(out + np.sum(b**2), 0.0))

    def offer(self, beta: Array) -> list[Atom]:
        """Return the widths at which the form has a maximum."""
        forms = self.forms(beta)
        padded = np.concatenate([[-np.inf], forms, [-np.inf]])
        peaks = np.flatnonzero((forms >= padded[:-2]) & (forms > padded[2:]))
        order = peaks[np.argsort(-forms[peaks], kind="stable")]
        return [Atom(int(j), float(forms[j]), partial(self._make, int(j))) for j in order]

    def _make(self, j: int) -> tuple[BankKernel, Source]:
        kernel = RBF(float(self.gammas[j]))
        rows = KernelRows(kernel, self._seen)
        source = Source(
            rows.diagonal(), lambda i: rows.rows(np.array([i]))[0], lambda: kernel(self._seen)
        )
        return BankKernel(kernel, self.features), source


class MatrixAtoms:
    """The kernels of rank-one matrices of trace n_P.

    Parameters
    ----------
    family : PositiveMatrixFamily
        Its matrices are in memory.
    """

    def __init__(self, family: PositiveMatrixFamily) -> None:
        self.family = family

    def offer(self, beta: Array) -> list[Atom]:
        """Return the leading eigenvectors of D."""
        size = self.family.size
        values, vectors = self.family.respond(beta).D.leading(min(_DIRECTIONS, size))
        return [
            Atom(v.tobytes(), size * max(float(value), 0.0), partial(self._make, v))
            for value, v in zip(values, vectors.T, strict=True)
        ]

    def _make(self, v: Array) -> tuple[Any, Source]:
        U = np.sqrt(self.family.size) * v[:, None]
        gram = self.family.gram(U)
        return self.family.kernel(U), from_matrix(np.array(gram.rows(np.arange(gram.n))))


class BankAtoms:
    """Given kernels.

    Parameters
    ----------
    bank : Bank
    members : tuple of callable
        The kernels on raw data.
    """

    def __init__(self, bank: Bank, members: tuple[Any, ...]) -> None:
        self.bank, self.members = bank, members

    def offer(self, beta: Array) -> list[Atom]:
        """Return all of them, the one with the largest form first."""
        forms = self.bank.respond(beta).forms()
        order = np.argsort(-forms, kind="stable")
        return [Atom(int(m), float(forms[m]), partial(self._make, int(m))) for m in order]

    def _make(self, m: int) -> tuple[Any, Source]:
        matrix = self.bank.select(m).combine(np.ones(1))
        return self.members[m], from_matrix(matrix, self.bank.dtype)
