r"""What families have in common whose kernels are linear in a positive semidefinite matrix.

.. math::

    K_P = \sum_{ij} P_{ij}\, G_{ij}, \qquad P \succeq 0,\; \operatorname{tr} P = n

The quadratic form of the dual is linear in P, :math:`\beta^\top K_P\, \beta = \langle D(\beta), P
\rangle`, so the best response to beta is :math:`n\, v v^\top` with v the top eigenvector of D, and
the energy is :math:`\frac12 n \lambda_{\max}(D)`. With D diagonal this is multiple kernel learning
over the simplex.

P is kept as a factor U with P = U U', of as many columns as its rank.
"""

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.gram import Gram
from kernelfit.linalg.symmetric import SymmetricMatrix, spectral_factor

Array = NDArray[Any]
# Up to this order of P all directions are used from the start, otherwise this many.
_ALL_DIRECTIONS, _FIRST_DIRECTIONS = 64, 12


class TaskResponse(Protocol):
    """The matrices W_i, linear in beta, with (K_P beta)_i = <W_i, P>, for one task."""

    def form(self, weight: Array) -> Any:
        """Return the sum over the points of weight_i W_i, a symmetric matrix of order n."""

    def decision(self, U: Array | float) -> Array:
        """Return <W_i, U U'> at every point; a number U is that multiple of the identity."""

    def contract(self, left: Array, right: Array) -> Array:
        """Return left'W_i right, of shape (m, a, b)."""

    def mix(self, other: Any, t: float) -> Any:
        """Return the response to (1 - t) beta + t other_beta."""


class SpectralResponse:
    """The response to the dual solutions of one or more tasks.

    Parameters
    ----------
    beta : ndarray of shape (n_tasks, m)
    size : int
        The order and trace n of P.
    parts : tuple of TaskResponse
        One a task.
    """

    def __init__(self, beta: Array, size: int, parts: tuple[TaskResponse, ...]) -> None:
        self.beta, self.size, self.parts = beta, size, parts

    def form(self, weight: Array) -> SymmetricMatrix:
        """Return the sum over tasks and points of weight_i W_i, which is D for weight = beta."""
        forms = [part.form(w) for part, w in zip(self.parts, weight, strict=True)]
        total: SymmetricMatrix = functools.reduce(operator.add, forms)
        return total

    def decision(self, U: Array | float) -> Array:
        """Return <W_i, U U'>, of shape (n_tasks, m)."""
        return np.stack([part.decision(U) for part in self.parts])

    def contract(self, left: Array, right: Array) -> Array:
        """Return left'W_i right, of shape (n_tasks, m, a, b)."""
        return np.stack([part.contract(left, right) for part in self.parts])

    def mix(self, other: "SpectralResponse", t: float) -> "SpectralResponse":
        """Return the response to (1 - t) beta + t other_beta."""
        pairs = zip(self.parts, other.parts, strict=True)
        parts = tuple(mine.mix(theirs, t) for mine, theirs in pairs)
        return SpectralResponse((1.0 - t) * self.beta + t * other.beta, self.size, parts)

    @cached_property
    def D(self) -> SymmetricMatrix:
        """The matrix with <D, P> = beta'K_P beta, summed over the tasks."""
        return self.form(self.beta)

    @cached_property
    def energy(self) -> float:
        """The largest value of 1/2 <D, P>."""
        return 0.5 * self.size * max(float(self.D.leading(1)[0][0]), 0.0)

    @property
    def theta(self) -> Array:
        """The factor of n v v', v the top eigenvector of D."""
        return np.asarray(np.sqrt(self.size) * self.D.leading(1)[1])

    def excess(self, U: Array) -> float:
        """Return what 1/2 <D, P> falls short of the energy."""
        return self.energy - 0.5 * float(np.trace(self.D.restrict(U)))

    @property
    def broad(self) -> Array:
        """The factor of D itself, scaled to trace n; of a large D the leading part.

        For beta trained with n I, which is above every feasible P, this pair is often close to the
        optimum, and optimal where D has rank one.
        """
        count = self.size if self.size <= _ALL_DIRECTIONS else _FIRST_DIRECTIONS
        values, vectors = self.D.leading(count)
        if values[0] <= 0.0:
            values, vectors = np.ones(count), np.eye(self.size, count)
        return spectral_factor(values, vectors)

    @property
    def directions(self) -> Array:
        """An orthonormal basis of the directions in which P should be sought at first."""
        if self.size <= _ALL_DIRECTIONS:
            return np.eye(self.size)
        return self.D.leading(_FIRST_DIRECTIONS)[1]


class SpectralFamily(ABC):
    """Base of the families; a subclass says what its Gram matrices and responses are."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The order n of P, which is also its trace."""

    @abstractmethod
    def respond_to(self, beta: Array) -> TaskResponse:
        """Return the response to the dual solution of one task, of shape (m,)."""

    @abstractmethod
    def gram(self, theta: Array | float, update: Array | None = None, few: bool = False) -> Gram:
        """Return K_P for a factor, plus L L' for an update L; by rows if few will be needed."""

    @abstractmethod
    def kernel(self, theta: Array) -> Callable[..., Array]:
        """Return the kernel of a factor as a picklable callable ``k(X, Y)``."""

    @property
    def initial(self) -> float:
        """The factor of n I, which is above every feasible P."""
        return float(np.sqrt(self.size))

    def respond(self, beta: Array) -> SpectralResponse:
        """Return the response to dual solutions of shape (n_tasks, m)."""
        parts = tuple(self.respond_to(b) for b in beta)
        return SpectralResponse(beta, self.size, parts)

    def penalty(self, theta: Array) -> float:
        """Return 0: every P of the family is as good as another."""
        return 0.0

    def mix(self, theta: Array, other: Array, t: float) -> Array:
        """Return a factor of (1 - t) P + t Q."""
        both = np.hstack([np.sqrt(1.0 - t) * theta, np.sqrt(t) * other])
        vectors, roots, _ = np.linalg.svd(both, full_matrices=False)
        return spectral_factor(roots**2, vectors)
