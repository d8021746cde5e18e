r"""The additive (ANOVA) kernel: sums of products over small sets of features.

With :math:`z_j = \exp(-\gamma (x_j - y_j)^2)` of d features and the elementary symmetric
polynomials :math:`e_q`, the sums of the products of all sets of q of them,

.. math:: k(x, y) = \frac1p \sum_{q=1}^p e_q(z_1, \ldots, z_d) \Big/ \binom dq

with p the `order` is the mean over the orders of the mean over the sets (Duvenaud, Nickisch and
Rasmussen, "Additive Gaussian processes", NeurIPS 2011, with equal weights of the orders). The
polynomials are those of :math:`\prod_j (1 + z_j t)`, multiplied out factor by factor: sums of
positive terms, where the Newton-Girard formulas would subtract.
"""

from dataclasses import dataclass
from functools import partial
from math import comb

import numpy as np

from kernelfit.kernels.base import HasWidths, KernelFunction, Widths
from kernelfit.kernels.distances import Array, Data, fill_in_blocks
from kernelfit.kernels.exponential import scaled_exp


@dataclass(frozen=True)
class Additive(HasWidths, KernelFunction):
    """The additive kernel, for dense data; see the module's head.

    Parameters
    ----------
    gamma : float or sequence of float
        Of the Gaussian of one feature.
    order : int, default=2
        The largest number of features in a product, from 1 on; where there are fewer features,
        their number.

    Examples
    --------
    >>> from kernelfit.kernels.additive import Additive
    >>> Additive(gamma=1.0, order=1)([[0.0, 0.0]], [[0.0, 9.0]])
    array([[0.5]])
    """

    gamma: Widths
    order: int = 2

    def __post_init__(self) -> None:
        """Check the order."""
        super().__post_init__()
        if not (isinstance(self.order, int) and self.order >= 1):
            raise ValueError(f"expected order to be an integer from 1 on, got {self.order!r}")

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        kernel, X, Y = self.with_one_width(np.asarray(X), None if Y is None else np.asarray(Y))
        XT = np.ascontiguousarray(X.T, dtype=np.float64)
        YT = None if Y is None else np.ascontiguousarray(Y.T, dtype=np.float64)
        return fill_in_blocks(partial(_fill, gamma=kernel.gamma, order=self.order), XT, YT)

    def diag(self, X: Data) -> Array:
        """Return k(x, x) = 1 for every row x of X."""
        return np.ones(np.shape(X)[0])


def _fill(XT: Array, YT: Array, out: Array, gamma: float, order: int) -> None:
    """Write the kernel between the columns of XT and those of YT."""
    d = len(XT)
    order = min(order, d)
    sums = np.zeros((order, *out.shape))  # e_1 .. e_order of the features so far
    z, term = np.empty(out.shape), np.empty(out.shape)
    for j in range(d):
        np.subtract(XT[j][:, None], YT[j], out=z)
        with np.errstate(over="ignore"):  # exp(-inf) is 0
            np.multiply(z, z, out=z)
        scaled_exp(z, -gamma, out=z)
        for q in range(min(j, order - 1), 0, -1):
            np.multiply(sums[q - 1], z, out=term)
            sums[q] += term
        sums[0] += z
    out[...] = 0.0
    for q in range(order):
        sums[q] /= comb(d, q + 1)
        out += sums[q]
    out /= order
