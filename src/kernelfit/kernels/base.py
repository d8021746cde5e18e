"""What a kernel is: a callable with a diagonal, which sums, products and multiples keep.

A kernel is a picklable callable ``k(X, Y=None)`` that returns the Gram matrix between the rows of X
and those of Y. ``diag(X)`` is its diagonal, and ``psd`` is True when the kernel is known to be
positive semidefinite; sums, products (Schur) and non-negative multiples of such kernels are, too.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from kernelfit.kernels.distances import (
    Array,
    Data,
    SquaredDistances,
    as_data,
    squared_distances,
    write_symmetric,
)

Widths = Any  # float or tuple of float

_DIAGONAL_BLOCK = 64  # rows whose kernel matrix is computed where only its diagonal is wanted


class KernelFunction(ABC):
    """A kernel; see the module's head.

    Examples
    --------
    >>> from kernelfit.kernels.standard import RBF, Linear
    >>> k = 0.5 * RBF(gamma=1.0) + Linear() * RBF(gamma=0.1)
    >>> k([[1.0], [2.0]]).round(3)
    array([[1.5  , 1.994],
           [1.994, 4.5  ]])
    """

    takes_sparse: ClassVar[bool] = False

    @abstractmethod
    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""

    @abstractmethod
    def diag(self, X: Data) -> Array:
        """Return k(x, x) for every row x of X."""

    @property
    @abstractmethod
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""

    def __add__(self, other: Any) -> "Sum":
        if not callable(other):
            return NotImplemented
        return Sum((*_terms(self, Sum), *_terms(other, Sum)))

    def __radd__(self, other: Any) -> "Sum":
        return Sum((other, *_terms(self, Sum))) if callable(other) else NotImplemented

    def __mul__(self, other: Any) -> "Product | Scaled":
        if isinstance(other, Real):
            return Scaled(float(other), self)
        if not callable(other):
            return NotImplemented
        return Product((*_terms(self, Product), *_terms(other, Product)))

    def __rmul__(self, other: Any) -> "Product | Scaled":
        if isinstance(other, Real):
            return Scaled(float(other), self)
        return Product((other, *_terms(self, Product))) if callable(other) else NotImplemented


def _terms(kernel: Any, kind: type["Sum"] | type["Product"]) -> tuple[Any, ...]:
    return kernel.kernels if isinstance(kernel, kind) else (kernel,)


def diagonal(kernel: Callable[..., Array], X: Data) -> Array:
    """Return k(x, x) for every row x of X, also of a kernel that has no `diag`."""
    if hasattr(kernel, "diag"):
        return np.asarray(kernel.diag(X), dtype=np.float64)
    step = _DIAGONAL_BLOCK
    blocks = (slice(start, start + step) for start in range(0, X.shape[0], step))
    return np.concatenate([np.diagonal(kernel(X[block], X[block])) for block in blocks])


def is_psd(kernel: Any) -> bool:
    """Return whether a kernel is known to be positive semidefinite."""
    return isinstance(kernel, KernelFunction) and kernel.psd


@dataclass(frozen=True)
class Scaled(KernelFunction):
    """A multiple of a kernel.

    Parameters
    ----------
    factor : float
    kernel : callable
    """

    factor: float
    kernel: Callable[..., Array]

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        return self.factor * _values(self.kernel, X, Y)

    def diag(self, X: Data) -> Array:
        """Return k(x, x) for every row x of X."""
        return self.factor * diagonal(self.kernel, X)

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return self.factor >= 0.0 and is_psd(self.kernel)


@dataclass(frozen=True)
class _Combination(KernelFunction):
    """Several kernels, combined entry by entry."""

    kernels: tuple[Callable[..., Array], ...]
    _combine: ClassVar[Callable[..., Array]]

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        matrices = (_values(kernel, X, Y) for kernel in self.kernels)
        return np.asarray(reduce(type(self)._combine, matrices))

    def diag(self, X: Data) -> Array:
        """Return k(x, x) for every row x of X."""
        diagonals = (diagonal(kernel, X) for kernel in self.kernels)
        return np.asarray(reduce(type(self)._combine, diagonals))

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return all(is_psd(kernel) for kernel in self.kernels)


@dataclass(frozen=True)
class Sum(_Combination):
    """The sum of some kernels.

    Parameters
    ----------
    kernels : tuple of callable
    """

    _combine: ClassVar[Callable[..., Array]] = np.add


@dataclass(frozen=True)
class Product(_Combination):
    """The entrywise product of some kernels.

    Parameters
    ----------
    kernels : tuple of callable
    """

    _combine: ClassVar[Callable[..., Array]] = np.multiply


def _values(kernel: Callable[..., Array], X: Data, Y: Data | None) -> Array:
    """Return kernel values; one of ours called with one argument knows that they are symmetric."""
    X = X if sparse.issparse(X) else np.asarray(X)
    if Y is None and not isinstance(kernel, KernelFunction):
        Y = X
    return kernel(X) if Y is None else kernel(X, Y if sparse.issparse(Y) else np.asarray(Y))


class StandardKernel(KernelFunction):
    """A kernel that is an elementwise function of a geometry: inner products or distances.

    The geometry does not depend on the kernel's parameters, so one matrix of it serves them all,
    but for kernels with one width a feature.
    """

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        kernel, X, Y = self.with_one_width(X, Y)
        if Y is None and kernel.geometry is squared_distances:
            return _symmetric(kernel, as_data(X))
        G = kernel.geometry(X, Y)
        return np.asarray(kernel.from_geometry(G, out=G))

    def against(self, Y: Data) -> Callable[[Data], Array]:
        """Return the function from X to the Gram matrix between the rows of X and those of Y.

        What depends on Y alone is computed once.
        """
        kernel, Y = self.with_one_width(Y)
        if kernel.geometry is not squared_distances:
            return lambda X: kernel(self.with_one_width(X)[1], Y)
        geometry = SquaredDistances(Y)

        def values(X: Data) -> Array:
            G = geometry(self.with_one_width(X)[1])
            return np.asarray(kernel.from_geometry(G, out=G))

        return values

    @staticmethod
    @abstractmethod
    def geometry(X: Data, Y: Data | None = None) -> Array:
        """Return the inner products or distances between the rows of X and those of Y."""

    @abstractmethod
    def from_geometry(self, G: Array, out: Array | None = None) -> Array:
        """Return kernel values from the geometry; ``out=G`` works in place."""

    def with_one_width(self, *data: Data | None) -> tuple[Any, ...]:
        """Return a kernel with one gamma and the data on which it has the same values."""
        return self, *data


class HasWidths:
    """The part of a kernel that has a gamma: one number, or one a feature.

    Features are then multiplied by a power of their own gamma. A sequence is kept as a tuple.
    """

    gamma: Widths
    power: ClassVar[float] = 0.5  # of gamma, as a factor of the features

    def __post_init__(self) -> None:
        """Turn a sequence of widths into a tuple."""
        if np.ndim(self.gamma):
            gammas = tuple(np.asarray(self.gamma, dtype=np.float64).tolist())
            object.__setattr__(self, "gamma", gammas)

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return bool(np.all(np.asarray(self.gamma) >= 0.0))

    def with_one_width(self, *data: Data | None) -> tuple[Any, ...]:
        """Return a kernel with one gamma and the data on which it has the same values."""
        if not isinstance(self.gamma, tuple):
            return self, *data
        scale = np.asarray(self.gamma) ** self.power
        for X in data:
            if X is not None and np.shape(X)[1] != len(scale):
                raise ValueError(f"expected {len(scale)} features, as gamma has, got {X.shape[1]}")
        plain: Any = replace(self, gamma=1.0)  # type: ignore[type-var]
        return plain, *(None if X is None else _stretch(X, scale) for X in data)


def _stretch(X: Data, scale: Array) -> Data:
    """Return X with its features multiplied; ValueError where that overflows."""
    X = as_data(X)
    with np.errstate(over="ignore"):
        Z = X @ sparse.diags_array(scale) if sparse.issparse(X) else X * scale
    values = Z.data if sparse.issparse(Z) else Z
    # What overflowed has no differences: infinity less infinity is not a number.
    if np.isinf(values).any():
        overflow = np.isinf(Z.toarray() if sparse.issparse(Z) else Z).any(axis=0)
        j = int(np.flatnonzero(overflow)[0])
        raise ValueError(
            f"expected gamma and features of moderate size, got overflow of their product in "
            f"feature {j}"
        )
    return Z


def _symmetric(kernel: StandardKernel, X: Data) -> Array:
    """Return the Gram matrix of a kernel of the distance; half of it is computed."""
    K = np.empty((X.shape[0], X.shape[0]))
    for start, strip in SquaredDistances(X).lower_strips():
        write_symmetric(kernel.from_geometry(strip, out=strip), start, K)
    return K
