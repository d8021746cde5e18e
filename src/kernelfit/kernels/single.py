r"""The Gaussian kernel in float32, for prediction, with a bound on its rounding error.

Points become :math:`z = \sqrt\gamma\,(x - \bar y)`, rounded to float32, where :math:`\bar y` is the
mean of the fixed points. Let u be half the machine epsilon of float32, d the number of features,
:math:`Y = \max |z|` over the fixed points and s the distance of two points, so that k is
:math:`e^{-s^2}`. A point at the distance s of a fixed one has a length of up to :math:`Y + s`. The
rounding of points changes :math:`s^2` by at most :math:`2 u s (2 Y + s)`. Summing differences adds
:math:`(d + 3)\,u s^2`; by inner products all of it is at most
:math:`(d + 7)\,u\,(3 Y^2 + 2 s^2)`. The exponential adds 4 u of its value and 2 u of its argument.
As :math:`s e^{-s^2} \le 0.43` and :math:`s^2 e^{-s^2} \le 0.37`, values are off by at most

.. math::

    \begin{aligned}
    & u\,(1.72\,Y + 0.37\,d + 7) && \text{by differences},\\
    & u\,((d + 7)(3\,Y^2 + 0.74) + 5) && \text{by inner products},
    \end{aligned}

wherever the other point is. Sums over such values are in float64.
"""

from typing import Any

import numpy as np

from kernelfit.kernels.distances import (
    MAX_DIRECT_FEATURES,
    Array,
    expand_squares,
    pad_features,
    sum_squared_differences,
)
from kernelfit.kernels.exponential import scaled_exp
from kernelfit.kernels.radial import RBF

_UNIT = 0.5 * float(np.finfo(np.float32).eps)
_SECOND_ORDER = 1.1  # what is left out above, up to the error below
_MAX_ERROR = 0.1
_MAX_LENGTH = 1e9  # of a feature in units of the width: squares of longer ones might overflow


class SingleGaussian:
    """The values of a Gaussian kernel between any points and fixed ones, in float32.

    Parameters
    ----------
    kernel : RBF
        With gamma >= 0.
    Y : ndarray of shape (m, d)

    Attributes
    ----------
    error : float
        Bound on the difference of any value from that of exact arithmetic.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.kernels.single import SingleGaussian
    >>> from kernelfit.kernels.standard import RBF
    >>> k = SingleGaussian(RBF(0.5), np.array([[0.0], [2.0]]))
    >>> k(np.array([[0.0]])).round(4)
    array([[1.    , 0.1353]], dtype=float32)
    >>> k.error < 1e-6
    True
    """

    def __init__(self, kernel: RBF, Y: Array) -> None:
        plain, stretched = kernel.with_one_width(Y)
        self._kernel, self._root = kernel, float(np.sqrt(plain.gamma))
        self._centre = stretched.mean(axis=0)
        Z = self._scaled(Y)
        self._direct = Z.shape[1] <= MAX_DIRECT_FEATURES
        self._points = pad_features(np.ascontiguousarray(Z.T)) if self._direct else Z
        self._norms = _squared_norms(Z)
        self.error = _bound(float(np.sqrt(self._norms.max())), Z.shape[1], self._direct)

    def _scaled(self, X: Array) -> Array:
        Z = self._root * (self._kernel.with_one_width(X)[1] - self._centre)
        return np.asarray(np.clip(Z, -_MAX_LENGTH, _MAX_LENGTH), dtype=np.float32)

    def __call__(self, X: Any) -> Array:
        """Return the values between the rows of X and the fixed points, of shape (n, m)."""
        Z = self._scaled(X)
        if self._direct:
            D = np.empty((len(Z), self._points.shape[1]), dtype=np.float32)
            sum_squared_differences(np.ascontiguousarray(pad_features(Z.T).T), self._points, D)
        else:
            D = Z @ self._points.T
            expand_squares(D, _squared_norms(Z), self._norms)
        return scaled_exp(D, -1.0, D)


def _squared_norms(Z: Array) -> Array:
    """Return squared norms, summed in float64 and rounded."""
    return np.asarray(np.einsum("ij,ij->i", Z, Z, dtype=np.float64), dtype=np.float32)


def _bound(Y: float, d: int, direct: bool) -> float:
    """Return the bound of the module's head; 1, which no value can exceed, where it is large."""
    size = 1.72 * Y + 0.37 * d + 7.0 if direct else (d + 7.0) * (3.0 * Y * Y + 0.74) + 5.0
    error = _SECOND_ORDER * _UNIT * size
    return error if error <= _MAX_ERROR else 1.0
