r"""The spline (ANOVA) kernel of the unit cube: products of features of any order, with kinks.

.. math::

    k(x, y) \propto \prod_j \big(1 + \gamma\, s(x_j, y_j)\big), \qquad
    s(u, v) = \tfrac13 - \max(u, v) + \tfrac12 (u^2 + v^2)

where s reproduces functions of mean 0 on [0, 1] under the inner product of their derivatives
(Wahba, "Spline models for observational data", SIAM 1990, chapter 10). Multiplied out, the product
is a sum over all sets of features: main effects, interactions of two, of three and so on, each
:math:`\gamma` times lighter than the one before. Functions bend where data are, along the axes, as
those of trees do. Divided by the root of both diagonals, so that k(x, x) = 1.
"""

from dataclasses import dataclass

import numpy as np

from kernelfit.kernels.base import KernelFunction
from kernelfit.kernels.distances import Array, Data, fill_in_blocks


@dataclass(frozen=True)
class Spline(KernelFunction):
    """The spline kernel, for dense data in the unit cube; see the module's head.

    Parameters
    ----------
    gamma : float
        Positive: the weight of an effect of one more feature.

    Examples
    --------
    >>> from kernelfit.kernels.spline import Spline
    >>> Spline(gamma=1.0)([[0.0]], [[0.0], [1.0]]).round(3)
    array([[1.   , 0.625]])
    """

    gamma: float

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        XT = np.ascontiguousarray(np.transpose(X), dtype=np.float64)
        YT = None if Y is None else np.ascontiguousarray(np.transpose(Y), dtype=np.float64)
        return fill_in_blocks(self._fill, XT, YT)

    def _fill(self, XT: Array, YT: Array, out: Array) -> None:
        """Write the kernel between the columns of XT and those of YT."""
        gamma = self.gamma
        out[...] = 1.0
        factor = np.empty(out.shape)
        for u, v in zip(XT, YT, strict=True):
            # Every factor is divided by its own diagonals: no product leaves [0, 1].
            left, right = 1.0 / np.sqrt(self._diagonal(u)), 1.0 / np.sqrt(self._diagonal(v))
            np.maximum(u[:, None], v, out=factor)
            factor *= -gamma
            factor += (1.0 + gamma * (1.0 / 3.0 + 0.5 * u * u))[:, None]
            factor += 0.5 * gamma * v * v
            factor *= left[:, None]
            factor *= right
            out *= factor

    def _diagonal(self, u: Array) -> Array:
        return np.asarray(1.0 + self.gamma * (1.0 / 3.0 - u + u * u))

    def diag(self, X: Data) -> Array:
        """Return k(x, x) = 1 for every row x of X."""
        return np.ones(np.shape(X)[0])

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return True
