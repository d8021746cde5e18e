r"""The standard kernels, with scikit-learn's names, parameters and formulas.

=============  ===============================================
`Linear`       :math:`x'y`
`Polynomial`   :math:`(\gamma\, x'y + c_0)^{\mathrm{degree}}`
`RBF`          :math:`\exp(-\gamma \|x - y\|_2^2)`
`Laplacian`    :math:`\exp(-\gamma \|x - y\|_1)`
=============  ===============================================

A kernel is a frozen, picklable callable ``k(X, Y=None)`` that returns the Gram matrix between the
rows of X and those of Y. ``diag(X)`` is its diagonal, and ``psd`` is True when the kernel is known
to be positive semidefinite.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernelfit.kernels.distances import (
    Array,
    Data,
    as_data,
    manhattan_distances,
    products,
    squared_distances,
    squared_norms,
)


class StandardKernel(ABC):
    """A kernel that is an elementwise function of a geometry: inner products or distances.

    The geometry does not depend on the kernel's parameters, so one matrix of it serves them all.
    """

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        G = self.geometry(X, Y)
        return self.from_geometry(G, out=G)

    @staticmethod
    @abstractmethod
    def geometry(X: Data, Y: Data | None = None) -> Array:
        """Return the inner products or distances between the rows of X and those of Y."""

    @abstractmethod
    def from_geometry(self, G: Array, out: Array | None = None) -> Array:
        """Return kernel values from the geometry; ``out=G`` works in place."""

    @abstractmethod
    def diag(self, X: Data) -> Array:
        """Return k(x, x) for every row x of X."""

    @property
    @abstractmethod
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""


@dataclass(frozen=True)
class Linear(StandardKernel):
    """The linear kernel."""

    geometry = staticmethod(products)

    def from_geometry(self, G: Array, out: Array | None = None) -> Array:
        """Return kernel values from inner products; ``out=G`` works in place."""
        return G if out is G else np.positive(G, out=out)

    def diag(self, X: Data) -> Array:
        """Return k(x, x) for every row x of X."""
        return squared_norms(as_data(X))

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return True


@dataclass(frozen=True)
class Polynomial(StandardKernel):
    """The polynomial kernel.

    Parameters
    ----------
    degree : float
    gamma : float
    coef0 : float
    """

    degree: float
    gamma: float
    coef0: float
    geometry = staticmethod(products)

    def from_geometry(self, G: Array, out: Array | None = None) -> Array:
        """Return kernel values from inner products, infinite ones where they overflow.

        ``out=G`` works in place.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            out = np.multiply(G, self.gamma, out=out)
            out += self.coef0
            return np.power(out, self.degree, out=out)

    def diag(self, X: Data) -> Array:
        """Return k(x, x) for every row x of X."""
        return self.from_geometry(squared_norms(as_data(X)))

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        whole = self.degree >= 0 and float(self.degree).is_integer()
        return whole and self.gamma > 0 and self.coef0 >= 0


@dataclass(frozen=True)
class _Exponential(StandardKernel):
    """exp(-gamma * distance)."""

    gamma: float

    def from_geometry(self, G: Array, out: Array | None = None) -> Array:
        """Return kernel values from distances; ``out=G`` works in place."""
        with np.errstate(over="ignore"):  # exp(-inf) is 0
            out = np.multiply(G, -self.gamma, out=out)
        return np.exp(out, out=out)

    def diag(self, X: Data) -> Array:
        """Return k(x, x) = 1 for every row x of X."""
        return np.ones(X.shape[0])

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return self.gamma >= 0


@dataclass(frozen=True)
class RBF(_Exponential):
    """The Gaussian kernel; its geometry is the squared Euclidean distance.

    Parameters
    ----------
    gamma : float
    """

    geometry = staticmethod(squared_distances)


@dataclass(frozen=True)
class Laplacian(_Exponential):
    """The Laplacian kernel, for dense data; its geometry is the l1 distance.

    Parameters
    ----------
    gamma : float
    """

    geometry = staticmethod(manhattan_distances)


def kernel_from_name(name: str, *, gamma: float, degree: float, coef0: float) -> StandardKernel:
    """Return the standard kernel that scikit-learn knows by this name.

    Parameters
    ----------
    name : {"linear", "poly", "polynomial", "rbf", "laplacian"}
    gamma, degree, coef0 : float
        The parameters; those the kernel does not have are ignored.

    Returns
    -------
    StandardKernel
    """
    match name:
        case "linear":
            return Linear()
        case "poly" | "polynomial":
            return Polynomial(degree=degree, gamma=gamma, coef0=coef0)
        case "rbf":
            return RBF(gamma=gamma)
        case "laplacian":
            return Laplacian(gamma=gamma)
    raise ValueError(f"expected kernel 'linear', 'poly', 'rbf' or 'laplacian', got {name!r}")


def scale_gamma(X: Data, sample_weight: Array | None = None) -> float:
    r"""Return scikit-learn's ``gamma="scale"``, :math:`1 / (d \operatorname{Var}(X))`.

    The variance is over all entries of X, each row counted with its weight: a weight of 2 equals
    a repeated row and a weight of 0 a missing one.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    sample_weight : ndarray of shape (n,), default=None
        Non-negative, not all zero; ones when None.

    Returns
    -------
    float
        1.0 when the variance is zero; 0 or infinity where it is beyond float64.
    """
    X = as_data(X)
    n, d = X.shape
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    # In units near the largest numbers no square or product overflows or vanishes; as these units
    # are powers of two, nothing else changes.
    weight = np.ldexp(weight, -_exponent(weight))
    mass = d * weight.sum()
    if sparse.issparse(X):
        entry_weight = np.repeat(weight, np.diff(X.indptr))
        data, entry_weight = X.data[entry_weight > 0], entry_weight[entry_weight > 0]
        exponent = _exponent(data)
        data = np.ldexp(data, -exponent)
        mean = entry_weight @ data / mass
        squares = entry_weight @ (data - mean) ** 2 + (mass - entry_weight.sum()) * mean**2
    else:
        X = X[weight > 0]
        weight = weight[weight > 0]
        exponent = _exponent(X)
        X = np.ldexp(X, -exponent)
        shifted = X - X[0, 0]  # all zeros for constant data, whatever the rounding of the mean
        shifted -= weight @ shifted.sum(axis=1) / mass
        squares = weight @ squared_norms(shifted)
    variance = squares / mass
    with np.errstate(over="ignore"):
        return float(np.ldexp(1.0 / (d * variance), -2 * exponent)) if variance > 0 else 1.0


def _exponent(values: Array) -> int:
    """Return the exponent of the largest magnitude, 0 where all values are zero."""
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])
