r"""The leave-one-out error of kernel ridge regression and its gradient for the widths.

For the kernel :math:`k(x, z) = \varphi(S)` of the distance :math:`S = \sum_j w_j (x_j - z_j)^2`,
points of weight s and the ridge r let

.. math::

    A = K + r\,\mathrm{diag}(1/s), \quad a = A^{-1} Y, \quad d = \mathrm{diag}\,A^{-1}, \quad
    e = a / d, \quad L = \sum_i s_i \|e_i\|^2 .

e are the exact errors at every point of the regression without it. With
:math:`g = 2 s e / d` and :math:`h = 2 s \sum_c e_c^2 / d` the differential is

.. math::

    dL = \langle G, dA\rangle, \qquad
    G = A^{-1}\mathrm{diag}(h)A^{-1} - \mathrm{sym}\big((A^{-1} g)\, a'\big),

and with :math:`M = G \circ \varphi'(S)` the derivative for width j is
:math:`2\,[(M1)'x_j^2 - x_j'M x_j]`: one product M X gives all of them. As h is not negative, the
first term of G is a product B B', and every large matrix is symmetric: only lower halves are made.
A call takes 2 n^3 + O(n^2 (d + c)) operations.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymm, dsyr2k, dsyrk
from scipy.linalg.lapack import dpotrf, dpotri

from kernelfit.kernels.exponential import scaled_exp

Array = NDArray[Any]
# From squared distances, in Fortran's order and in place, to the kernel and its derivative.
Profile = Callable[[Array], tuple[Array, Array]]

TINY = 1e-150  # of squared distances, whose roots are divided by


def gaussian(S: Array) -> tuple[Array, Array]:
    """Return exp(-S), in the place of S, and its derivative."""
    scaled_exp(S.T, -1.0, out=S.T)
    return S, -S


def exponential(S: Array) -> tuple[Array, Array]:
    """Return exp(-sqrt(S)), in the place of S, and its derivative, 0 on the diagonal."""
    np.maximum(S, TINY, out=S)
    np.sqrt(S, out=S)
    slope = -0.5 / S
    scaled_exp(S.T, -1.0, out=S.T)
    slope *= S
    np.fill_diagonal(S, 1.0)
    np.fill_diagonal(slope, 0.0)  # where the distance is 0 whatever the widths
    return S, slope


PROFILES: dict[str, Profile] = {"rbf": gaussian, "exponential": exponential}


@dataclass(frozen=True)
class LeaveOneOutError:
    """The error and its derivatives.

    Attributes
    ----------
    value : float
    widths : ndarray of shape (d,)
        Derivative for w.
    ridge : float
        Derivative for r.
    """

    value: float
    widths: Array
    ridge: float


class LeaveOneOut:
    """The leave-one-out error as a function of the widths and the ridge.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred, as distances are computed from inner products.
    Y : ndarray of shape (n, c)
        Targets.
    weight : ndarray of shape (n,)
        Positive.
    profile : callable
        From squared distances to the kernel and its derivative, one of `PROFILES`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.families.metric.leave_one_out import LeaveOneOut, gaussian
    >>> X = np.array([[-1.0], [0.0], [1.0]])
    >>> error = LeaveOneOut(X, X, np.ones(3), gaussian)(np.array([0.1]), 0.1)
    >>> round(error.value, 4)
    1.2546
    """

    def __init__(self, X: Array, Y: Array, weight: Array, profile: Profile) -> None:
        self._X = X
        self._Y = np.asfortranarray(Y)
        self._weight = weight
        self._profile = profile
        self._terms = np.asfortranarray(np.column_stack([X, np.ones(len(X))]))

    def __call__(self, w: Array, ridge: float) -> LeaveOneOutError:
        """Return the error at non-negative widths and a positive ridge.

        `numpy.linalg.LinAlgError` where rounding leaves A without a Cholesky factor.
        """
        s = self._weight
        K, slope = self._profile(self.squared_distances(w))
        inverse, a, d = self._solve(K, ridge)
        e = a / d[:, None]
        squares = s * np.einsum("ij,ij->i", e, e)
        V = dsymm(1.0, inverse, np.asfortranarray((2.0 * s / d)[:, None] * e), lower=1)
        B = inverse + inverse.T
        np.fill_diagonal(B, d)
        B *= np.sqrt(2.0 * squares / d)
        G = dsyrk(1.0, B, lower=1)
        G = dsyr2k(-0.5, V, a, beta=1.0, c=G, lower=1, overwrite_c=1)
        ridge_slope = float(G.diagonal() @ (1.0 / s))
        G *= slope
        product = dsymm(1.0, G, self._terms, lower=1)
        X = self._X
        widths = 2.0 * (product[:, -1] @ (X * X) - np.einsum("ij,ij->j", X, product[:, :-1]))
        return LeaveOneOutError(float(squares.sum()), widths, ridge_slope)

    def fits(self, w: Array, ridges: Sequence[float]) -> Iterator[tuple[float, Array]]:
        """Yield the error and the coefficients for each ridge, in half the time of a call."""
        K, _ = self._profile(self.squared_distances(w))
        for ridge in ridges:
            _, a, d = self._solve(K.copy(order="F"), ridge)
            e = a / d[:, None]
            yield float(self._weight @ np.einsum("ij,ij->i", e, e)), a

    def _solve(self, K: Array, ridge: float) -> tuple[Array, Array, Array]:
        """Return the inverse of A in its lower half, zero above, in the place of K; a; and d."""
        K[np.diag_indices_from(K)] += ridge / self._weight
        factor, info = dpotrf(K, lower=1, clean=1, overwrite_a=1)
        if info:
            raise np.linalg.LinAlgError("the ridge is too small for the kernel")
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
        return inverse, dsymm(1.0, inverse, self._Y, lower=1), inverse.diagonal().copy()

    def slope_products(self, w: Array, coef: Array) -> Iterator[Array]:
        r"""Yield the products of the kernel's derivative with the terms of a sum over points.

        Parameters
        ----------
        w : ndarray of shape (d,)
            Widths.
        coef : ndarray of shape (n, c)

        Yields
        ------
        ndarray of shape (n, d + 1)
            :math:`\varphi'(S)\,(a \circ [X, 1])` for each column a of the coefficients.
        """
        _, slope = self._profile(self.squared_distances(w))
        for a in coef.T:
            yield dsymm(1.0, slope, a[:, None] * self._terms, lower=1)

    def squared_distances(self, w: Array) -> Array:
        """Return the squared distances under the widths: a new array, right in its lower half."""
        Z = np.asfortranarray(self._X * np.sqrt(w))
        S = dsyrk(-2.0, Z, lower=1)
        norms = -0.5 * S.diagonal()
        S += norms[:, None]
        S += norms
        np.maximum(S, 0.0, out=S)
        np.fill_diagonal(S, 0.0)
        return np.asarray(S)
