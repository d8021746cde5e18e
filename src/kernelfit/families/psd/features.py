r"""The basis of a user's functions, :math:`k(x, y) = \sum_j w_j N(z_j, x)^\top P\, N(z_j, y)`.

This is generalised kernel learning (Eq. (3) of [1]_) for bounded functions N and any set of z, the
integral over which is a weighted sum over nodes: see :mod:`kernelfit.kernels.nodes`. Without z it
is a finite feature map, :math:`k(x, y) = Z(x)^\top P\, Z(y)`. With the monomials of degree at most
d this is the generalised polynomial kernel (GPK) of [1]_.

Symbols: q functions, the order of P; J nodes; Z are the values of N times the roots of the weights,
of shape (m, J, q), with J = 1 for a feature map.

References
----------
.. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
   learning", Journal of Machine Learning Research 25 (2024).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from kernelfit.kernels.monomials import (
    Array,
    IntArray,
    count,
    exponents,
    monomials,
    ordered_product,
)
from kernelfit.kernels.tessellated import fill_constant
from kernelfit.linalg.symmetric import LowRankMatrix

_MAX_MONOMIAL = 1e100  # products of two, with their coefficients, are finite
_MAX_ORDERED = 64  # columns up to which sums have a fixed order; beyond, a BLAS is far faster


class FeatureMap(Protocol):
    """A finite feature map: two methods are all that a family of kernels needs.

    Examples
    --------
    The trigonometric kernels of one period on the unit interval:

    >>> import numpy as np
    >>> from kernelfit.families.psd.features import FeatureBasis
    >>> class Trigonometric:
    ...     def size(self, n_features):
    ...         return 1 + 2 * n_features
    ...
    ...     def features(self, X):
    ...         angle = 2 * np.pi * X
    ...         return np.hstack([np.ones((len(X), 1)), np.cos(angle), np.sin(angle)])
    >>> basis = FeatureBasis(2, Trigonometric())
    >>> basis.size
    5
    """

    def size(self, n_features: int) -> int:
        """Return the number of features made of `n_features` inputs."""

    def features(self, X: Array) -> Array:
        """Return the features of the rows of X, each from its row alone.

        Of shape (m, size), or (m, n_nodes, size) for an integral: the functions N at the nodes,
        times the roots of the weights.
        """


@dataclass(frozen=True)
class Monomials:
    """The feature map of all monomials up to a degree.

    Parameters
    ----------
    degree : int
    """

    degree: int

    def size(self, n_features: int) -> int:
        """Return the number of monomials."""
        return count(n_features, self.degree)

    def features(self, X: Array) -> Array:
        """Return the monomials of the rows of X; far points are moved to where all are finite."""
        bound = _MAX_MONOMIAL ** (1.0 / max(self.degree, 1))
        return monomials(np.clip(X, -bound, bound), exponents(X.shape[1], self.degree))


@dataclass(frozen=True)
class FeatureFunctions:
    """The values Z(x)'U of a factor at some points, of shape (m, r)."""

    F: Array

    def __len__(self) -> int:
        return len(self.F)

    def take(self, rows: IntArray | slice) -> "FeatureFunctions":
        """Return the values at some of the points."""
        return FeatureFunctions(self.F[rows])

    @cached_property
    def columns(self) -> Array:
        """The values with the points in columns."""
        return np.ascontiguousarray(self.F.T)


@dataclass(frozen=True)
class FeaturePoints:
    """The features Z of some points, of shape (m, J, q)."""

    Z: Array

    def take(self, rows: IntArray) -> "FeaturePoints":
        """Return some of the points."""
        return FeaturePoints(self.Z[rows])


@dataclass(frozen=True)
class FeatureBasis:
    """The kernels of a finite feature map.

    Parameters
    ----------
    n : int
        Number of inputs.
    feature_map : FeatureMap
    """

    n: int
    feature_map: FeatureMap

    volume = 1.0  # the unit of the kernel values

    @property
    def size(self) -> int:
        """The order n_P of the matrix P."""
        return self.feature_map.size(self.n)

    def points(self, X: "Array | FeaturePoints") -> "FeaturePoints":
        """Return points with their features, computed once."""
        return X if isinstance(X, FeaturePoints) else FeaturePoints(self._features(X))

    def functions(self, X: "Array | FeaturePoints", U: Array | float) -> FeatureFunctions:
        """Return the functions of a factor at some points.

        The factor has the shape (n_P, r), or is a number and stands for that multiple of the
        identity.
        """
        Z = self.points(X).Z
        m, n_nodes, size = Z.shape
        if isinstance(U, float):
            return FeatureFunctions(U * Z.reshape(m, n_nodes * size))
        F = ordered_product(Z.reshape(m * n_nodes, size), np.ascontiguousarray(U))
        return FeatureFunctions(F.reshape(m, n_nodes * U.shape[1]))

    def fill(
        self, rows: FeatureFunctions, columns: FeatureFunctions, start: int, out: Array
    ) -> None:
        """Write the kernel between points, from the column `start` on, into out.

        For a factor of few columns, as a learned one is, an entry depends on its two points alone,
        bit for bit.
        """
        F, FT = rows.F, columns.columns
        if F.shape[1] > _MAX_ORDERED:
            out[:, start:] = F @ FT[:, start:]
            return
        none, noneT = np.empty((len(F), 0)), np.empty((0, FT.shape[1]))
        # Halves are exact: 1/2 f(x) f(y) + f(x) 1/2 f(y) is the rounded product.
        fill_constant(none, none, 0.5 * F, F, noneT, noneT, 0.5 * FT, FT, start, out)

    def identity_diagonal(self, X: Array) -> Array:
        """Return k(x, x) for P = I."""
        return np.asarray((self._features(X) ** 2).sum(axis=(1, 2)))

    def response(
        self, rows: "Array | FeaturePoints", X: "Array | FeaturePoints", beta: Array
    ) -> "FeatureResponse":
        """Return how the decision values at the rows depend on P, for the dual solution beta."""
        return FeatureResponse(self.points(rows).Z, np.tensordot(beta, self.points(X).Z, 1))

    def memory(self, m: int) -> int:
        """Return about how many bytes training on m points needs besides K and P."""
        return 8 * 3 * m * self._nodes * self.size

    def seconds(self, m: int) -> float:
        """Return about how long the response to a dual solution of m points takes."""
        return 1e-9 * m * self._nodes * self.size

    @cached_property
    def _nodes(self) -> int:
        """The number of nodes, from the features of one point."""
        if isinstance(self.feature_map, Monomials):
            return 1
        shape = np.shape(self.feature_map.features(np.zeros((1, self.n))))
        return shape[1] if len(shape) == 3 else 1

    def _features(self, X: Array) -> Array:
        # A copy, which the map may change.
        Z = np.asarray(self.feature_map.features(X.copy()))
        ends = Z.shape[:1] + Z.shape[-1:]
        if Z.ndim not in (2, 3) or ends != (len(X), self.size) or Z.dtype.kind not in "biuf":
            raise ValueError(
                f"expected feature_map.features(X) to return numbers of shape {len(X), self.size}, "
                f"or with an axis of nodes in the middle, for X of shape {X.shape} "
                f"and feature_map.size({self.n}) = {self.size}, "
                f"got {Z.dtype} of shape {Z.shape}"
            )
        if not np.isfinite(Z).all():
            raise ValueError(
                "expected feature_map.features(X) to return finite numbers, got nan or infinity "
                f"for points between {X.min():.3g} and {X.max():.3g}"
            )
        Z = Z[:, None] if Z.ndim == 2 else Z
        return np.ascontiguousarray(Z, dtype=np.float64)


@dataclass(frozen=True)
class FeatureResponse:
    """The matrices W_i = (z_i't + t'z_i) / 2 with (K_P beta)_i = <W_i, P>.

    Attributes
    ----------
    Z : ndarray of shape (m, J, q)
    total : ndarray of shape (J, q)
        The sum t of beta times features.
    """

    Z: Array
    total: Array

    def form(self, weight: Array) -> LowRankMatrix:
        """Return sum_i weight_i W_i, which is D(beta) = t't for weight = beta."""
        return LowRankMatrix(np.tensordot(weight, self.Z, 1).T, self.total.T)

    def decision(self, U: Array | float) -> Array:
        """Return <W_i, U U'> at every point; a number is that multiple of the identity."""
        if isinstance(U, float):
            return np.asarray(U**2 * np.tensordot(self.Z, self.total, 2))
        return np.asarray(np.tensordot(self.Z @ U, self.total @ U, 2))

    def mix(self, other: "FeatureResponse", t: float) -> "FeatureResponse":
        """Return the response to (1 - t) beta + t other_beta."""
        return FeatureResponse(self.Z, (1.0 - t) * self.total + t * other.total)

    def contract(self, left: Array, right: Array) -> Array:
        """Return left'W_i right at every point, of shape (m, a, b)."""
        one = np.tensordot(self.Z @ left, self.total @ right, ([1], [0]))
        other = np.tensordot(self.Z @ right, self.total @ left, ([1], [0]))
        return np.asarray(0.5 * (one + np.swapaxes(other, 1, 2)))
