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
from math import comb

import numpy as np

from kernelfit.kernels.base import HasWidths, KernelFunction, Widths
from kernelfit.kernels.distances import Array, Data

_BLOCK_BYTES = 2**18  # of one array of the rows that are worked on at a time: a few stay in cache


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
        YT = XT if Y is None else np.ascontiguousarray(Y.T, dtype=np.float64)
        K = np.empty((XT.shape[1], YT.shape[1]))
        step = max(1, _BLOCK_BYTES // (8 * max(1, K.shape[1])))
        for start in range(0, len(K), step):
            rows = slice(start, start + step)
            _fill(XT[:, rows], YT, kernel.gamma, self.order, K[rows])
        return K

    def diag(self, X: Data) -> Array:
        """Return k(x, x) = 1 for every row x of X."""
        return np.ones(np.shape(X)[0])


def _fill(XT: Array, YT: Array, gamma: float, order: int, out: Array) -> None:
    """Write the kernel between the columns of XT and those of YT."""
    d = len(XT)
    order = min(order, d)
    sums = np.zeros((order, *out.shape))  # e_1 .. e_order of the features so far
    z, term = np.empty(out.shape), np.empty(out.shape)
    for j in range(d):
        np.subtract(XT[j][:, None], YT[j], out=z)
        with np.errstate(over="ignore"):  # exp(-inf) is 0
            np.multiply(z, z, out=z)
            np.multiply(z, -gamma, out=z)
        np.exp(z, out=z)
        for q in range(min(j, order - 1), 0, -1):
            np.multiply(sums[q - 1], z, out=term)
            sums[q] += term
        sums[0] += z
    out[...] = 0.0
    for q in range(order):
        sums[q] /= comb(d, q + 1)
        out += sums[q]
    out /= order
