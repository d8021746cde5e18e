"""How decision values of the tessellated basis depend on P; symbols are those of `tessellated`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelfit.kernels.monomials import Array
from kernelfit.linalg.symmetric import DenseMatrix

MOMENT_BYTES = 2**21  # of moments held at a time: they stay near the processor


@dataclass(frozen=True)
class BoxResponse:
    """The matrices W_i with (K_P beta)_i = <W_i, P>, in compact form.

    Row (delta, gamma) and column (delta', gamma') of W_i is x_i^delta times a sum over the second
    point of beta_j x_j^delta' times the moment gamma + gamma' of a box.

    Attributes
    ----------
    basis : TessellatedBasis
    Z : ndarray of shape (m, n_x)
        The monomials of the first point.
    both : ndarray of shape (m, :)
        Sums over the boxes above both points.
    first : ndarray of shape (m, n_moments)
        Moments of the boxes above the first point.
    second : ndarray of shape (n_x, n_moments)
        Sums over the boxes above the second point.
    total : ndarray of shape (n_x,)
        Sums of beta times monomial.
    """

    basis: Any
    Z: Array
    both: Array
    first: Array
    second: Array
    total: Array

    def form(self, weight: Array) -> DenseMatrix:
        """Return sum_i weight_i W_i, which is D(beta) for weight = beta.

        Parameters
        ----------
        weight : ndarray of shape (m,)

        Returns
        -------
        DenseMatrix of order n_P
        """
        basis = self.basis
        delta, gamma = basis._monomials.T
        table, place = basis._moments[2], basis._pair_moments[1]
        zeta = table[np.ix_(gamma, gamma)]
        A = weight[:, None] * self.Z
        own = A.sum(axis=0)
        both = (A.T @ self.both)[delta[:, None], place[gamma]]
        first = (A.T @ self.first)[delta[:, None], zeta] * self.total[delta]
        second = own[delta, None] * self.second[delta, zeta]
        box = np.outer(own[delta], self.total[delta]) * basis._box_moments[zeta]
        q = len(delta)
        W = np.empty((2 * q, 2 * q))
        W[:q, :q], W[:q, q:] = both, first - both
        W[q:, :q], W[q:, q:] = second - both, box - first - second + both
        return DenseMatrix(0.5 * (W + W.T))

    def mix(self, other: "BoxResponse", t: float) -> "BoxResponse":
        """Return the response to (1 - t) beta + t other_beta."""
        return replace(
            self,
            both=(1.0 - t) * self.both + t * other.both,
            second=(1.0 - t) * self.second + t * other.second,
            total=(1.0 - t) * self.total + t * other.total,
        )

    def contract(self, left: Array, right: Array) -> Array:
        """Return left'W_i right for symmetric W_i, at every point.

        Parameters
        ----------
        left : ndarray of shape (n_P, a)
        right : ndarray of shape (n_P, b)

        Returns
        -------
        ndarray of shape (m, a, b)
        """
        a, b = left.shape[1], right.shape[1]
        out = np.empty((len(self.Z), a, b))
        for part, mine, other in self._polynomials(np.hstack([left, right])):
            half = np.swapaxes(mine[:, :, :a], 1, 2) @ other[:, :, a:]
            half += np.swapaxes(other[:, :, :a], 1, 2) @ mine[:, :, a:]
            out[part] = 0.5 * half
        return out

    def decision(self, U: Array | float) -> Array:
        """Return <W_i, U U'> at every point.

        Parameters
        ----------
        U : ndarray of shape (n_P, r) or float
            A number is that multiple of the identity.

        Returns
        -------
        ndarray of shape (m,)
        """
        U = U * np.eye(self.basis.size) if isinstance(U, float) else U
        out = np.empty(len(self.Z))
        for part, mine, other in self._polynomials(U):
            out[part] = np.einsum("izr,izr->i", mine, other)
        return out

    def _polynomials(self, sides: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield, for parts of the points, two factors of sides'W_i sides, of shape (:, 2 n_z, r).

        They are contracted over their second axis; the product is W_i before it is made symmetric.
        """
        basis = self.basis
        q, n_z = len(basis._monomials), len(basis._z_powers)
        delta, gamma = basis._monomials.T
        table, place = basis._moments[2][:, gamma], basis._pair_moments[1]
        m, r = len(self.Z), sides.shape[1]
        # The first point's polynomials in x for every gamma, above the point and elsewhere.
        coefficients = np.zeros((len(basis._x_powers), 2, n_z, r))
        coefficients[delta, 0, gamma] = sides[:q]
        coefficients[delta, 1, gamma] = sides[q:]
        own = (self.Z @ coefficients.reshape(len(coefficients), -1)).reshape(m, 2, n_z, r)
        second = self.second[delta, table]
        box = self.total[delta] * basis._box_moments[table]
        above, elsewhere = sides[:q], sides[q:]
        size = max(1, MOMENT_BYTES // (8 * n_z * max(q, 2 * r)))
        for start in range(0, m, size):
            part = slice(start, start + size)
            both = self.both[part][:, place]
            first = self.first[part][:, table] * self.total[delta]
            other = np.stack(
                [
                    both @ (above - elsewhere) + first @ elsewhere,
                    both @ (elsewhere - above)
                    + (second @ above + (box - second) @ elsewhere)
                    - first @ elsewhere,
                ],
                axis=1,
            )
            mine = own[part].reshape(len(both), 2 * n_z, -1)
            yield part, mine, other.reshape(len(both), 2 * n_z, -1)
