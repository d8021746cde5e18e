"""The kernels of a bank, and their weighted sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.base import diagonal

Array = NDArray[Any]


@dataclass(frozen=True)
class BankKernel:
    """A kernel of a bank: a multiple of a kernel on some of the features.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Y)``.
    features : tuple of int or None, default=None
        The columns that it sees; None for all.
    scale : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.families.multiple.kernels import BankKernel
    >>> from kernelfit.kernels.standard import Linear
    >>> BankKernel(Linear(), features=(1,), scale=0.5)(np.array([[7.0, 2.0]]))
    array([[2.]])
    """

    kernel: Callable[..., Array]
    features: tuple[int, ...] | None = None
    scale: float = 1.0

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the kernel matrix between the rows of X and those of Y."""
        X = self.select(X)
        K = np.asarray(self.kernel(X, X if Y is None else self.select(Y)), dtype=np.float64)
        return K if self.scale == 1.0 else self.scale * K

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row x of X."""
        return self.scale * diagonal(self.kernel, self.select(X))

    def select(self, X: Array) -> Array:
        """Return the columns that the kernel sees."""
        if self.features is None:
            return X
        if X.shape[1] <= max(self.features):
            raise ValueError(
                f"expected points with more than {max(self.features)} features, got {X.shape[1]}"
            )
        return np.ascontiguousarray(X[:, list(self.features)])


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A weighted sum of kernels on raw data.

    Parameters
    ----------
    members : tuple of callable
    weights : ndarray of shape (n_members,)
        Kernels of weight 0 are not evaluated.
    """

    members: tuple[Callable[..., Array], ...]
    weights: Array

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the kernel matrix between the rows of X and those of Y."""
        X = np.asarray(X, dtype=np.float64)
        Y = X if Y is None else np.asarray(Y, dtype=np.float64)
        total = np.zeros((X.shape[0], Y.shape[0]))
        for m in np.flatnonzero(self.weights):
            total += self.weights[m] * self.members[m](X, Y)
        return total

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row x of X."""
        X = np.asarray(X, dtype=np.float64)
        total = np.zeros(X.shape[0])
        for m in np.flatnonzero(self.weights):
            total += self.weights[m] * diagonal(self.members[m], X)
        return total


@dataclass(frozen=True, eq=False)
class DeepKernel:
    """A weighted sum of kernels in the feature space of a kernel; see `outer_kernels`.

    Parameters
    ----------
    inner : WeightedSum
    outer : ndarray of shape (3,)
    """

    inner: WeightedSum
    outer: Array

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the kernel matrix between the rows of X and those of Y."""
        rows = self.inner.diag(X)
        columns = rows if Y is None else self.inner.diag(Y)
        parts = outer_kernels(self.inner(X, Y), rows, columns)
        return np.asarray(np.tensordot(self.outer, parts, 1))


def outer_kernels(K: Array, rows: Array, columns: Array) -> Array:
    """Return the linear, the Gaussian and the quadratic kernel in the feature space of a kernel.

    Parameters
    ----------
    K : ndarray of shape (m, n)
    rows, columns : ndarray
        Of the kernel, k(x, x) of the points in the rows and in the columns.

    Returns
    -------
    ndarray of shape (3, m, n)
    """
    distances = np.maximum(rows[:, None] + columns - 2.0 * K, 0.0)
    return np.stack([K, np.exp(-distances), 0.25 * (1.0 + K) ** 2])


@dataclass(frozen=True, eq=False)
class StackSum:
    """A weighted sum of given kernel matrices, stacked along the last axis.

    Parameters
    ----------
    weights : ndarray of shape (n_kernels,)
    """

    weights: Array

    def from_geometry(self, stack: Array) -> Array:
        """Return the sum for matrices of shape (m, n, n_kernels)."""
        return np.asarray(stack @ self.weights)
