r"""The standard kernels by name; scikit-learn's have its names, parameters and formulas.

====================  ==========================================  ================================
linear                :math:`x'y`                                 `Linear`
poly                  :math:`(\gamma\, x'y + c_0)^{degree}`       `Polynomial`
rbf                   :math:`\exp(-\gamma \|x - y\|_2^2)`        `RBF`
laplacian             :math:`\exp(-\gamma \|x - y\|_1)`          `Laplacian`
exponential           :math:`\exp(-\gamma \|x - y\|_2)`          `kernels.radial.Exponential`
matern32, matern52    see `kernels.radial`                        `kernels.radial.Matern`
rational_quadratic    :math:`1 / (1 + \gamma \|x - y\|_2^2)`      `kernels.radial.RationalQuadratic`
additive              see `kernels.additive`; of order 2          `kernels.additive.Additive`
====================  ==========================================  ================================

`kernelfit.kernels.base` says what a kernel is.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from kernelfit.kernels.additive import Additive
from kernelfit.kernels.base import HasWidths, KernelFunction, StandardKernel, Widths
from kernelfit.kernels.distances import (
    Array,
    Data,
    as_data,
    products,
    squared_norms,
)
from kernelfit.kernels.radial import RBF, Exponential, Laplacian, Matern, RationalQuadratic

__all__ = [
    "KERNEL_NAMES",
    "RBF",
    "SPARSE_NAMES",
    "Laplacian",
    "Linear",
    "Polynomial",
    "StandardKernel",
    "gamma_of_name",
    "kernel_from_name",
    "scale_gamma",
]

_CHUNK_ROWS = 2**16  # read at a time

KERNEL_NAMES = (
    "linear",
    "poly",
    "rbf",
    "laplacian",
    "exponential",
    "matern32",
    "matern52",
    "rational_quadratic",
    "additive",
)
SPARSE_NAMES = ("linear", "poly", "rbf", "matern32", "matern52", "rational_quadratic")


@dataclass(frozen=True)
class Linear(StandardKernel):
    """The linear kernel."""

    takes_sparse: ClassVar[bool] = True
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
class Polynomial(HasWidths, StandardKernel):
    """The polynomial kernel.

    Parameters
    ----------
    degree : float
    gamma : float or sequence of float
    coef0 : float
    """

    degree: float
    gamma: Widths
    coef0: float
    takes_sparse: ClassVar[bool] = True
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
        kernel, X = self.with_one_width(X)
        return np.asarray(kernel.from_geometry(squared_norms(as_data(X))))

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        whole = self.degree >= 0 and float(self.degree).is_integer()
        return whole and super().psd and self.coef0 >= 0


def kernel_from_name(
    name: str, *, gamma: Any, degree: float = 3, coef0: float = 0.0
) -> KernelFunction:
    """Return the standard kernel of a name; see the module's head.

    Parameters
    ----------
    name : str
        One of `KERNEL_NAMES`, or "polynomial" for "poly".
    gamma : float or sequence of float
        One number, or one a feature.
    degree, coef0 : float
        Of the polynomial kernel.

    Returns
    -------
    KernelFunction
    """
    match name:
        case "linear":
            return Linear()
        case "poly" | "polynomial":
            return Polynomial(degree=degree, gamma=gamma, coef0=coef0)
        case "rbf":
            return RBF(gamma)
        case "laplacian":
            return Laplacian(gamma)
        case "exponential":
            return Exponential(gamma)
        case "matern32":
            return Matern(gamma, order=1.5)
        case "matern52":
            return Matern(gamma, order=2.5)
        case "rational_quadratic":
            return RationalQuadratic(gamma)
        case "additive":
            return Additive(gamma)
    names = ", ".join(repr(known) for known in KERNEL_NAMES[:-1])
    raise ValueError(f"expected kernel {names} or {KERNEL_NAMES[-1]!r}, got {name!r}")


def gamma_of_name(name: str, gamma: Any, n_features: int) -> Any:
    """Turn gamma of the Gaussian kernel into that of another kernel on data of the same spread.

    Kernels of the distance itself take its root; the additive kernel, each of whose Gaussians has
    one feature, takes it times the number of features.

    Parameters
    ----------
    name : str
    gamma : float or ndarray
        In units of an inverse square.
    n_features : int

    Returns
    -------
    float or ndarray
    """
    if name in ("exponential", "matern32", "matern52"):
        return np.sqrt(gamma)
    return gamma * n_features if name == "additive" else gamma


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
        if not weight.all():
            X, weight = X[weight > 0], weight[weight > 0]
        # Some rows at a time: data on disk are never in memory as a whole.
        parts = [slice(k, k + _CHUNK_ROWS) for k in range(0, len(X), _CHUNK_ROWS)]
        exponent = _exponent(np.array([np.abs(X[part]).max(initial=0.0) for part in parts]))
        first = np.ldexp(X[0, 0], -exponent)

        def shifted(part: slice) -> Array:
            # All zeros for constant data, whatever the rounding of the mean.
            return np.asarray(np.ldexp(X[part], -exponent) - first)

        mean = sum(float(weight[part] @ shifted(part).sum(axis=1)) for part in parts) / mass
        squares = sum(float(weight[part] @ squared_norms(shifted(part) - mean)) for part in parts)
    variance = squares / mass
    with np.errstate(over="ignore"):
        return float(np.ldexp(1.0 / (d * variance), -2 * exponent)) if variance > 0 else 1.0


def _exponent(values: Array) -> int:
    """Return the exponent of the largest magnitude, 0 where all values are zero."""
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])
