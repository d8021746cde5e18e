r"""KNPL's pairwise layer G.

.. math::

    \min_{G \succeq 0,\; G\mathbf 1 = n\mathbf 1}\; -\tfrac12 \beta^\top (G \circ K) \beta
        + \eta \|G\|_F^2

(eta is called gamma in [2]_; symbols and references in :mod:`kernelfit.families.hadamard.base`).
The constraints say ``G = 11' + H`` with H psd and ``H 1 = 0``, so that the projection has the
closed form ``G = 11' + P Gamma P`` with ``P = I - 11'/n``, where the paper iterates by ADMM. With
``u = K beta`` and ``v = Gamma~ a = rate x o u``

    energy = 1/2 beta'K beta + eta ||P Gamma~ P||^2
    ||P Gamma~ P||^2 = ||Gamma~||^2 - 2 ||v||^2 / N + (a'v)^2 / N^2
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kernelfit.families.hadamard.base import (
    FloatArray,
    HadamardFamily,
    HadamardResponse,
    Indices,
    quartic_parts,
    whole,
)

_ADMM_ROUNDS = 15
_ADMM_TOL = 1e-4
_ADMM_GROWTH = 1.1


@dataclass(frozen=True, eq=False)
class PairwiseResponse(HadamardResponse):
    """G: ``G_ij = 1 + Gamma_ij - r_i - r_j + mean``.

    Attributes
    ----------
    row_means : ndarray of shape (n,)
        ``r``, the weighted means of the rows of Gamma.
    mean : float
        Their weighted mean.
    """

    row_means: FloatArray
    mean: float

    def compact(self) -> Self:
        """Return the response on the support and one more point, which stands for all others."""
        row_means = np.append(self.row_means[self.support], 0.0)
        return replace(super().compact(), row_means=row_means)

    def rows(self, idx: Indices, K_rows: FloatArray) -> FloatArray:
        """Return G[idx]; `K_rows` is K[idx]."""
        coef = self.coef
        out = (self.rate * coef[idx])[:, None] * (coef * K_rows)
        out += 1.0 + self.mean - self.row_means
        out -= self.row_means[idx, None]
        return np.asarray(out)

    def diagonal(self, K_diagonal: FloatArray) -> FloatArray:
        """Return the diagonal of G."""
        gamma = self.rate * self.coef**2 * K_diagonal
        return np.asarray(1.0 + self.mean - 2.0 * self.row_means + gamma)

    def curvature(self, K: FloatArray, ridge: FloatArray) -> FloatArray:
        """Return the Hessian of the energy as an n x n array.

        Gamma~ changes along d by a matrix Gamma~', G by ``P Gamma~' P``. With ``B = K diag(x)`` the
        matrix of ``d -> 2 eta ||P Gamma~' P||^2`` is ``rate (P o (B P B') + (B P) o (B P)')`` over
        ``a a'``.
        """
        root, support = np.sqrt(self.weight), self.support
        z = root / np.sqrt(self.weight.sum())  # P = I - z z'
        B = K * (self.beta / root)
        u = B @ z
        rest = B[:, support] @ B[:, support].T - np.outer(u, u)  # B P B'
        B -= np.outer(u, z)
        out = B * B.T - np.outer(z, z) * rest
        out[np.diag_indices_from(out)] += np.diagonal(rest)
        out *= self.rate
        out /= np.outer(root, root)
        return np.asarray(out + self.matrix(K) * K)


@dataclass(frozen=True, eq=False)
class PairwiseFamily(HadamardFamily):
    """KNPL's family: the kernel matrix, the weights and eta."""

    def respond_to(self, beta: FloatArray) -> PairwiseResponse:
        """Return G*(beta)."""
        K, rate, total = self.source, 0.25 / self.eta, float(self.weight.sum())
        u, squares, ww = quartic_parts(K, beta, self.weight)
        coef = beta / self.weight
        row_means = rate * coef * u / total
        mean = float(self.weight @ row_means) / total
        quadratic = float(beta @ u)
        energy = 0.5 * quadratic + 0.25 * rate * (
            float(squares @ ww) - 2.0 / total * float(squares @ (u * u)) + (quadratic / total) ** 2
        )
        support = np.flatnonzero(beta)
        decision = (1.0 + mean - row_means) * u + rate * coef * ww
        decision -= K.product(support, (beta * row_means)[support])
        common = beta, self.weight, self.eta, 0.0, energy, decision, K
        return PairwiseResponse(*common, row_means, mean, kernel_values=u)

    def admm(self, response: HadamardResponse) -> FloatArray:
        """Project Gamma onto {G psd, G1 = n1} as the paper does, with its copies counted.

        Algorithm 1 of [2]_, with the projection onto ``G 1 = n 1`` in place of its Eq. (20), which
        is singular at the solution.
        """
        root = np.sqrt(self.weight)
        scaled = response.beta / root
        gamma = response.rate * scaled[:, None] * whole(self.source) * scaled
        outer = np.outer(root, root)
        total = float(root @ root)
        Q, Z, penalty = outer.copy(), outer.copy(), 1.0
        for _ in range(_ADMM_ROUNDS):
            values, vectors = np.linalg.eigh((penalty * Q + Z + gamma) / (1.0 + penalty))
            G = (vectors * np.maximum(values, 0.0)) @ vectors.T
            wanted = (penalty * G - Z + gamma) / (1.0 + penalty)
            means = wanted @ root / total
            previous = Q
            Q = wanted - np.outer(means, root) - np.outer(root, means)
            Q += outer * (1.0 + float(root @ means) / total)
            change = penalty * (G - Q)
            Z = Z - change
            penalty = min(_ADMM_GROWTH * penalty, 1e8)
            if max(np.linalg.norm(Q - previous), np.linalg.norm(change)) <= _ADMM_TOL:
                break
        return np.asarray(G / outer)
