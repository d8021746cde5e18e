"""The kernels of a bank, and their weighted sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.base import KernelFunction, diagonal, is_psd
from kernelfit.kernels.distances import Data

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


@dataclass(frozen=True)
class CosineKernel(KernelFunction):
    """A kernel divided by the norms of its points: k(x, z) / sqrt(k(x, x) k(z, z)), or 0.

    Parameters
    ----------
    kernel : callable
    """

    kernel: Callable[..., Array]

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return is_psd(self.kernel)

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the kernel matrix between the rows of X and those of Y."""
        rows = self._norms(X)
        columns = rows if Y is None else self._norms(Y)
        with np.errstate(invalid="ignore"):
            K = self.kernel(X, X if Y is None else Y) / rows[:, None] / columns
        return np.asarray(K, dtype=np.float64)

    def diag(self, X: Data) -> Array:
        """Return k(x, x) for every row x of X."""
        norms = self._norms(X)
        with np.errstate(invalid="ignore"):
            return np.asarray(diagonal(self.kernel, X) / norms / norms)

    def _norms(self, X: Data) -> Array:
        """Return the norms, infinity where they are 0."""
        with np.errstate(over="ignore"):
            norms = np.sqrt(diagonal(self.kernel, X))
        return np.where(norms > 0.0, norms, np.inf)


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
    """Layers of weighted sums of kernels, each in the feature space of the layer before.

    Parameters
    ----------
    inner : WeightedSum
        The first layer.
    outer : ndarray of shape (n_layers - 1, 4)
        The weights of `outer_kernels` in the further layers.
    """

    inner: WeightedSum
    outer: Array

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the kernel matrix between the rows of X and those of Y."""
        K, rows = self.inner(X, Y), self.inner.diag(X)
        columns = rows if Y is None else self.inner.diag(Y)
        for weights in self.outer:
            K = np.tensordot(weights, outer_kernels(K, rows[:, None] + columns), 1)
            rows, columns = (
                np.tensordot(weights, outer_kernels(d, 2.0 * d), 1) for d in (rows, columns)
            )
        return K


def outer_kernels(K: Array, diagonals: Array) -> Array:
    """Return a linear, a Gaussian, a quadratic and a cubic kernel in the feature space of a kernel.

    They are 1 between equal points where the kernel is.

    Parameters
    ----------
    K : ndarray
        Values k(x, z).
    diagonals : ndarray
        The sums k(x, x) + k(z, z).

    Returns
    -------
    ndarray
        The four along the first axis.
    """
    distances = np.maximum(diagonals - 2.0 * K, 0.0)
    return np.stack([K, np.exp(-distances), (0.5 + 0.5 * K) ** 2, (0.5 + 0.5 * K) ** 3])


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
