r"""The family of kernels parameterised by a positive semidefinite matrix.

.. math::

    k_P(x, y) = s \sum_{ij} P_{ij}\, G_{ij}(x, y), \qquad P \succeq 0,\; \operatorname{tr} P = n_P

(Eq. (3) of [1]_) over a basis that says what the :math:`G_{ij}` are:
:mod:`kernelfit.families.tessellated` or :mod:`kernelfit.families.features`. P is kept as a factor
U with P = U U', of as many columns as its rank. The dual objective is linear in P,
:math:`\kappa(\beta) - \frac12 \langle D(\beta), P \rangle`, so the best response to beta is
:math:`n_P\, v v^\top` with v the top eigenvector of D.

References
----------
.. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
   learning", Journal of Machine Learning Research 25 (2024).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelfit.families.features import FeatureBasis, FeatureResponse
from kernelfit.families.tessellated import BoxResponse, TessellatedBasis
from kernelfit.kernels.monomials import Array, IntArray
from kernelfit.kernels.tessellated import mirror

Basis = TessellatedBasis | FeatureBasis
Response = BoxResponse | FeatureResponse
_ROWS = 128  # rows of a symmetric matrix computed before they are mirrored


@dataclass(frozen=True)
class UnitScaling:
    """Scale every feature that varies to [0, 1] and leave out the others.

    Parameters
    ----------
    kept : ndarray of int
        The features that vary.
    low, high : ndarray of shape (len(kept),)
        Their bounds.
    n_features : int
        The number of features, those left out included.
    """

    kept: IntArray
    low: Array
    high: Array
    n_features: int

    @classmethod
    def fit(cls, X: Array) -> "UnitScaling":
        """Return the scaling by the smallest and largest values in X."""
        low, high = X.min(axis=0), X.max(axis=0)
        kept = np.flatnonzero(low < high)
        return cls(kept, low[kept], high[kept], X.shape[1])

    def __call__(self, X: Array) -> Array:
        """Return the scaled features; values beyond the bounds leave [0, 1]."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"expected points of {self.n_features} features as in training, "
                f"got an array of shape {X.shape}"
            )
        if not np.isfinite(X).all():
            raise ValueError("expected points of finite numbers, got nan or infinity")
        X = X[:, self.kept]
        with np.errstate(over="ignore"):
            width = self.high - self.low
            # Halves keep the difference of the largest numbers finite.
            half = np.where(np.isfinite(width), 1.0, 0.5)
            low, high = half * self.low, half * self.high
            return np.ascontiguousarray((half * X - low) / (high - low))


@dataclass(frozen=True)
class PositiveMatrixKernel:
    """A kernel of the family, as a picklable callable on raw data.

    Parameters
    ----------
    basis : TessellatedBasis or FeatureBasis
    U : ndarray of shape (n_P, r)
        Factor of P = U U'.
    scale : float
        Factor of all values.
    scaling : UnitScaling
        Applied to the data first.
    """

    basis: Basis
    U: Array = field(repr=False)
    scale: float
    scaling: UnitScaling = field(repr=False)

    psd = True  # by construction

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        rows = self._functions(X)
        if Y is None:
            return symmetric_gram(self.basis, rows)
        out = np.empty((len(rows), len(Y)))
        self.basis.fill(rows, self._functions(Y), 0, out)
        return out

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row x of X."""
        return diagonal(self.basis, self._functions(X))

    def _functions(self, X: Array) -> Any:
        return self.basis.functions(self.scaling(X), np.sqrt(self.scale) * self.U)


class PositiveMatrixFamily:
    """The family on given points.

    Parameters
    ----------
    basis : TessellatedBasis or FeatureBasis
    X : ndarray of shape (m, n)
        The points, scaled.
    scale : float
        Factor of all kernel values.

    Attributes
    ----------
    volumes : ndarray of shape (m, m) or None
        What kernel matrices and responses have in common, once `keep_volumes` was called and
        where there is such a thing.
    """

    def __init__(self, basis: Basis, X: Array, scale: float) -> None:
        self.basis, self.X, self.scale = basis, X, scale
        self.volumes: Array | None = None

    def keep_volumes(self) -> None:
        """Compute the volumes for all uses."""
        if isinstance(self.basis, TessellatedBasis) and self.basis.z_degree == 0:
            self.volumes = self.basis.volumes(self.X)

    @property
    def size(self) -> int:
        """The order n_P of the matrix P, which is also its trace."""
        return self.basis.size

    def take(self, rows: IntArray | slice) -> "PositiveMatrixFamily":
        """Return the family on some of the points."""
        return PositiveMatrixFamily(self.basis, self.X[rows], self.scale)

    def functions(self, U: Array | float) -> Any:
        """Return the functions of a factor at the points, from which the basis fills rows."""
        return self.basis.functions(self.X, float(np.sqrt(self.scale)) * U)

    def gram(self, U: Array, out: Array | None = None) -> Array:
        """Return the Gram matrix of a factor U of shape (n_P, r), float64 or as `out` is."""
        return symmetric_gram(self.basis, self.functions(U), out)

    def response(self, beta: Array, rows: IntArray | slice = slice(None)) -> Response:
        """Return how the decision values at the rows depend on P, for the dual solution beta."""
        support = np.flatnonzero(beta)
        scaled = self.scale * beta[support]
        if self.volumes is None or not isinstance(self.basis, TessellatedBasis):
            return self.basis.response(self.X[rows], self.X[support], scaled)
        if 2 * len(support) > len(beta):  # zeros cost less than a copy of the others
            return self.basis.response(
                self.X[rows], self.X, self.scale * beta, self.volumes[:, rows]
            )
        volumes = self.volumes[support][:, rows]
        return self.basis.response(self.X[rows], self.X[support], scaled, volumes)

    def response_matrix(self, beta: Array) -> Array:
        """Return D(beta), with <D(beta), P> = beta'K_P beta (Eq. (10) of [1]_)."""
        support = np.flatnonzero(beta)
        return self.response(beta, support).form(beta[support]).entries


def symmetric_gram(
    basis: Basis, functions: Any, out: Array | None = None, update: Array | None = None
) -> Array:
    """Return the Gram matrix of the points, each pair computed once.

    Parameters
    ----------
    basis : TessellatedBasis or FeatureBasis
    functions : object
        Of the basis at the points.
    out : ndarray of shape (m, m), default=None
        Where to write it; a new float64 array when None.
    update : ndarray of shape (m, j), default=None
        L, to add L L'.

    Returns
    -------
    ndarray of shape (m, m)
    """
    m = len(functions)
    out = np.empty((m, m)) if out is None else out
    for first in range(0, m, _ROWS):
        last = min(first + _ROWS, m)
        basis.fill(functions.take(slice(first, last)), functions, first, out[first:last])
        if update is not None:
            out[first:last, first:] += update[first:last] @ update[first:].T
        mirror(out, first, last)
    return out


def diagonal(basis: Basis, functions: Any) -> Array:
    """Return the diagonal of the Gram matrix of the points.

    Parameters
    ----------
    basis : TessellatedBasis or FeatureBasis
    functions : object
        Of the basis at the points.

    Returns
    -------
    ndarray of shape (m,)
    """
    out = np.empty(len(functions))
    for first in range(0, len(out), 32):
        part = functions.take(slice(first, first + 32))
        block = np.empty((len(part), len(part)))
        basis.fill(part, part, 0, block)
        out[first : first + 32] = np.diagonal(block)
    return out


def mean_one_scale(basis: Basis, X: Array, weight: Array) -> float:
    """Return the factor that makes the weighted mean of k(x, x) at P = I one.

    Parameters
    ----------
    basis : TessellatedBasis or FeatureBasis
    X : ndarray of shape (m, n)
        Scaled points.
    weight : ndarray of shape (m,)

    Returns
    -------
    float
        Infinite where all of k vanishes, 0 where it overflows.
    """
    with np.errstate(over="ignore", divide="ignore"):
        return float(weight.sum() / (weight @ basis.identity_diagonal(X)))
