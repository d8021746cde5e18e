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


@dataclass(frozen=True)
class Linear:
    """The linear kernel."""

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        return products(X, Y)

    def diag(self, X: Data) -> Array:
        """Return k(x, x) for every row x of X."""
        return squared_norms(as_data(X))

    def from_products(self, P: Array, out: Array | None = None) -> Array:
        """Return kernel values from inner products; ``out=P`` works in place."""
        return np.positive(P, out=out)

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return True


@dataclass(frozen=True)
class Polynomial:
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

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        P = products(X, Y)
        return self.from_products(P, out=P)

    def diag(self, X: Data) -> Array:
        """Return k(x, x) for every row x of X."""
        return self.from_products(squared_norms(as_data(X)))

    def from_products(self, P: Array, out: Array | None = None) -> Array:
        """Return kernel values from inner products; ``out=P`` works in place."""
        out = np.multiply(P, self.gamma, out=out)
        out += self.coef0
        return np.power(out, self.degree, out=out)

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        whole = self.degree >= 0 and float(self.degree).is_integer()
        return whole and self.gamma > 0 and self.coef0 >= 0


@dataclass(frozen=True)
class RBF:
    """The Gaussian kernel.

    Parameters
    ----------
    gamma : float
    """

    gamma: float

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        D = squared_distances(X, Y)
        return self.from_squared_distances(D, out=D)

    def diag(self, X: Data) -> Array:
        """Return k(x, x) = 1 for every row x of X."""
        return np.ones(X.shape[0])

    def from_squared_distances(self, D: Array, out: Array | None = None) -> Array:
        """Return kernel values from squared distances, so that one matrix D serves every gamma.

        Parameters
        ----------
        D : ndarray
        out : ndarray, default=None
            Where to write the result, ``out=D`` to work in place; a new array when None.
        """
        out = np.multiply(D, -self.gamma, out=out)
        return np.exp(out, out=out)

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return self.gamma >= 0


@dataclass(frozen=True)
class Laplacian:
    """The Laplacian kernel, for dense data.

    Parameters
    ----------
    gamma : float
    """

    gamma: float

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        D = manhattan_distances(X, Y)
        D *= -self.gamma
        return np.exp(D, out=D)

    def diag(self, X: Array) -> Array:
        """Return k(x, x) = 1 for every row x of X."""
        return np.ones(X.shape[0])

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return self.gamma >= 0


StandardKernel = Linear | Polynomial | RBF | Laplacian


def kernel_from_name(name: str, *, gamma: float, degree: float, coef0: float) -> StandardKernel:
    """Return the standard kernel that scikit-learn knows by this name.

    Parameters
    ----------
    name : {"linear", "poly", "polynomial", "rbf", "laplacian"}
    gamma, degree, coef0 : float
        The parameters; those the kernel does not have are ignored.
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
        1.0 when the variance is zero.
    """
    X = as_data(X)
    n, d = X.shape
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    mass = d * weight.sum()
    if sparse.issparse(X):
        entry_weight = np.repeat(weight, np.diff(X.indptr))
        mean = entry_weight @ X.data / mass
        squares = entry_weight @ (X.data - mean) ** 2 + (mass - entry_weight.sum()) * mean**2
    else:
        X = X[weight > 0]
        weight = weight[weight > 0]
        shifted = X - X[0, 0]  # all zeros for constant data, whatever the rounding of the mean
        shifted -= weight @ shifted.sum(axis=1) / mass
        squares = weight @ squared_norms(shifted)
    variance = squares / mass
    return float(1.0 / (d * variance)) if variance > 0 else 1.0
