r"""The standard kernels that are functions of a distance.

====================  ==========================================  ==============================
`RBF`                 :math:`\exp(-\gamma \|x - y\|_2^2)`
`Laplacian`           :math:`\exp(-\gamma \|x - y\|_1)`           dense data
`Exponential`         :math:`\exp(-s)`                            :math:`s = \gamma \|x - y\|_2`,
                                                                  dense data
`Matern`, order 3/2   :math:`(1 + \sqrt3 s) \exp(-\sqrt3 s)`      same s
`Matern`, order 5/2   :math:`(1 + t + t^2/3) \exp(-t)`            :math:`t = \sqrt5 s`
`RationalQuadratic`   :math:`(1 + \gamma \|x - y\|_2^2
                      / \alpha)^{-\alpha}`                        :math:`\alpha > 0`
====================  ==========================================  ==============================

`gamma` may be one number a feature: :math:`\gamma \|x - y\|_2^2` then stands for :math:`\sum_j
\gamma_j (x_j - y_j)^2`, :math:`\gamma \|x - y\|_1` for :math:`\sum_j \gamma_j |x_j - y_j|`, and
:math:`\gamma \|x - y\|_2` for :math:`(\sum_j \gamma_j^2 (x_j - y_j)^2)^{1/2}`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelfit.kernels.base import HasWidths, StandardKernel, Widths
from kernelfit.kernels.distances import (
    Array,
    Data,
    euclidean_distances,
    manhattan_distances,
    squared_distances,
)
from kernelfit.kernels.exponential import scaled_exp

_LARGEST = float(np.finfo(np.float64).max)
_FAR = 800.0  # exp(-800) is 0, and so is its product with a square


class _Radial(HasWidths, StandardKernel):
    """A function of a distance that is 1 at 0."""

    def diag(self, X: Data) -> Array:
        """Return k(x, x) = 1 for every row x of X."""
        return np.ones(X.shape[0])


class _Decay(_Radial):
    """exp(-gamma * distance)."""

    def from_geometry(self, G: Array, out: Array | None = None) -> Array:
        """Return kernel values from distances; ``out=G`` works in place."""
        return scaled_exp(G, -self.gamma, out)


@dataclass(frozen=True)
class RBF(_Decay):
    """The Gaussian kernel; its geometry is the squared Euclidean distance.

    Parameters
    ----------
    gamma : float or sequence of float
    """

    gamma: Widths
    takes_sparse: ClassVar[bool] = True
    geometry = staticmethod(squared_distances)


@dataclass(frozen=True)
class Laplacian(_Decay):
    """The Laplacian kernel, for dense data; its geometry is the l1 distance.

    Parameters
    ----------
    gamma : float or sequence of float
    """

    gamma: Widths
    power: ClassVar[float] = 1.0
    geometry = staticmethod(manhattan_distances)


@dataclass(frozen=True)
class Exponential(_Decay):
    """The exponential kernel, for dense data; its geometry is the Euclidean distance.

    It has a kink at distance 0, where squared distances by inner products would be too rough.

    Parameters
    ----------
    gamma : float or sequence of float
    """

    gamma: Widths
    power: ClassVar[float] = 1.0
    geometry = staticmethod(euclidean_distances)


@dataclass(frozen=True)
class Matern(_Radial):
    """The Matern kernel of order 3/2 or 5/2; its geometry is the squared Euclidean distance.

    Parameters
    ----------
    gamma : float or sequence of float
        Inverse length.
    order : {1.5, 2.5}, default=1.5
        Functions of order 3/2 have one derivative, those of order 5/2 two.
    """

    gamma: Widths
    order: float = 1.5
    power: ClassVar[float] = 1.0
    takes_sparse: ClassVar[bool] = True
    geometry = staticmethod(squared_distances)

    def __post_init__(self) -> None:
        """Check the order."""
        super().__post_init__()
        if self.order not in (1.5, 2.5):
            raise ValueError(f"expected order 1.5 or 2.5, got {self.order}")

    def from_geometry(self, G: Array, out: Array | None = None) -> Array:
        """Return kernel values from squared distances; ``out=G`` works in place."""
        t = np.sqrt(G, out=out)
        with np.errstate(over="ignore"):
            # Infinity times a distance of zero is not a number.
            t *= min(np.sqrt(2.0 * self.order) * self.gamma, _LARGEST)
        np.minimum(t, _FAR, out=t)
        decay = np.exp(-t)
        if self.order == 2.5:
            t += t * t / 3.0
        t += 1.0
        t *= decay
        return t


@dataclass(frozen=True)
class RationalQuadratic(_Radial):
    """The rational quadratic kernel; its geometry is the squared Euclidean distance.

    A mean of Gaussian kernels of many widths, and for a large alpha the Gaussian of this gamma.

    Parameters
    ----------
    gamma : float or sequence of float
    alpha : float, default=1.0
        Positive.
    """

    gamma: Widths
    alpha: float = 1.0
    takes_sparse: ClassVar[bool] = True
    geometry = staticmethod(squared_distances)

    def __post_init__(self) -> None:
        """Check alpha."""
        super().__post_init__()
        if not self.alpha > 0.0:
            raise ValueError(f"expected alpha > 0, got {self.alpha}")

    def from_geometry(self, G: Array, out: Array | None = None) -> Array:
        """Return kernel values from squared distances; ``out=G`` works in place."""
        with np.errstate(over="ignore"):
            out = np.multiply(G, min(self.gamma / np.float64(self.alpha), _LARGEST), out=out)
            np.log1p(out, out=out)
            out *= -self.alpha
        return np.exp(out, out=out)
