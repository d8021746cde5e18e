"""Symmetric matrices that are asked for their restriction to a span and their leading eigenpairs.

`DenseMatrix` holds the entries, `LowRankMatrix` factors of few columns, for which everything costs
O(n) unless the entries are asked for. Both have ``entries``, ``trace``, ``restrict(V) = V'AV`` and
``leading(k)``, whose first value is an upper bound on the largest eigenvalue up to rounding.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky

from kernelfit.linalg.eigen import leading_eigenpairs

Array = NDArray[Any]

_MAX_DENSE = 300  # the order up to which all eigenpairs are computed
_GUARDS = 4  # vectors beyond those wanted in the block iteration
_MAX_ROUNDS = 10  # beyond which all eigenpairs cost less; most often one to four are enough
_RESIDUAL = 1e-8  # of eigenvectors found by iteration, as a fraction of the trace
_RANK_TOL = 1e-12  # eigenvalues below this fraction of the trace are left out of a factor


class SymmetricMatrix(Protocol):
    """A symmetric matrix."""

    @property
    def entries(self) -> Array:
        """The matrix as an array, which may be large."""

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues."""

    def restrict(self, V: Array) -> Array:
        """Return V'AV."""

    def leading(self, k: int) -> tuple[Array, Array]:
        """Return up to k leading eigenvalues, descending, and their eigenvectors.

        The first value is an upper bound on the largest eigenvalue.
        """


@dataclass(frozen=True)
class DenseMatrix:
    """A positive semidefinite matrix by its entries.

    Parameters
    ----------
    entries : ndarray of shape (n, n)
    """

    entries: Array

    def __add__(self, other: "DenseMatrix") -> "DenseMatrix":
        return DenseMatrix(self.entries + other.entries)

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues."""
        return float(np.trace(self.entries))

    def restrict(self, V: Array) -> Array:
        """Return V'AV."""
        return np.asarray(V.T @ self.entries @ V)

    @cached_property
    def _eigenpairs(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.entries)
        return values[::-1], vectors[:, ::-1]

    def leading(self, k: int) -> tuple[Array, Array]:
        """Return at most k leading eigenvalues, descending, and their eigenvectors.

        Large matrices are not decomposed where few pairs are wanted. An iteration finds eigenvalues
        from below; the first one is therefore raised by its possible error and proved to be a bound
        by a Cholesky factorisation of ``bound I - A``.

        Parameters
        ----------
        k : int

        Returns
        -------
        values : ndarray of shape (k,)
        vectors : ndarray of shape (n, k)
        """
        A = self.entries
        n, width = len(A), k + _GUARDS
        if n > _MAX_DENSE and 4 * width < n and "_eigenpairs" not in vars(self):
            start = A[:, np.argsort(-np.diagonal(A), kind="stable")[:width]]
            scale = max(self.trace, np.finfo(float).tiny)
            tol = _RESIDUAL * scale
            found = leading_eigenpairs(A, k, start, tol=tol, max_iter=_MAX_ROUNDS)
            # Errors of eigenvalues are of the order of residual^2 unless others are close.
            for error in (_RESIDUAL**1.5 * scale, found.residual):
                values = found.values[:k] + error * np.eye(1, k)[0]
                if found.converged and _bounds(values[0], A):
                    return values, found.vectors[:, :k]
        values, vectors = self._eigenpairs
        return values[:k], vectors[:, :k]


def _bounds(bound: float, A: Array) -> bool:
    """Return whether ``bound I - A`` is positive definite."""
    shifted = -A
    shifted[np.diag_indices_from(shifted)] += bound
    try:
        cholesky(shifted, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


@dataclass(frozen=True)
class LowRankMatrix:
    """The matrix (L R' + R L') / 2, positive semidefinite or asked for its restriction alone.

    Parameters
    ----------
    left, right : ndarray of shape (n, j)
        L and R.
    """

    left: Array
    right: Array

    def __add__(self, other: "LowRankMatrix") -> "LowRankMatrix":
        return LowRankMatrix(
            np.hstack([self.left, other.left]), np.hstack([self.right, other.right])
        )

    @property
    def entries(self) -> Array:
        """The matrix itself."""
        A = self.left @ self.right.T
        return np.asarray(0.5 * (A + A.T))

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues."""
        return float(np.sum(self.left * self.right))

    def restrict(self, V: Array) -> Array:
        """Return V'AV."""
        A = (V.T @ self.left) @ (self.right.T @ V)
        return np.asarray(0.5 * (A + A.T))

    def leading(self, k: int) -> tuple[Array, Array]:
        """Return at most k leading eigenvalues, descending, and their eigenvectors.

        As many as there are factors at most: the others are zero.
        """
        Q = np.linalg.qr(np.hstack([self.left, self.right]))[0]
        values, vectors = np.linalg.eigh(self.restrict(Q))
        count = min(k, self.left.shape[1])
        return values[: -count - 1 : -1], Q @ vectors[:, : -count - 1 : -1]


def spectral_factor(values: Array, vectors: Array) -> NDArray[np.float64]:
    """Return U with U U' proportional to a matrix of given eigenpairs, and of trace n.

    Eigenvalues that are zero up to rounding are left out. Of a matrix that vanishes, all are
    rounding errors of either sign: the positive ones give a valid U.

    Parameters
    ----------
    values : ndarray of shape (k,)
        At least one of them positive.
    vectors : ndarray of shape (n, k)

    Returns
    -------
    ndarray of shape (n, rank)
    """
    values = values / values.max()  # of any size, however small
    kept = values > _RANK_TOL * np.maximum(values, 0.0).sum()
    U = vectors[:, kept] * np.sqrt(values[kept])
    return np.asarray(U * np.sqrt(len(vectors) / np.sum(U * U)))


def project_simplex(v: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Project onto the numbers >= 0 with a given sum.

    Parameters
    ----------
    v : ndarray of shape (n,)
    total : float
        Positive.

    Returns
    -------
    ndarray of shape (n,)
        ``max(v - shift, 0)`` for the shift that gives the sum.
    """
    # A common shift changes nothing, and large numbers would hide the total.
    v = v - v.max()
    ordered = np.sort(v)[::-1]
    shifts = (np.cumsum(ordered) - total) / np.arange(1, v.size + 1)
    return np.asarray(np.maximum(v - shifts[np.flatnonzero(ordered > shifts)[-1]], 0.0))
