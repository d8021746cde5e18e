r"""DANK's adaptive matrix F.

.. math::

    \min_{F \succeq 0}\; -\tfrac12 \beta^\top (F \circ K) \beta
        + \eta \|F - \mathbf{11}^\top\|_F^2 + \tau\eta \|F\|_*

With ``A = 11' + Gamma``, psd, the response is the eigenvalue soft threshold of A at ``tau / 2``
(Lemma 1 of [1]_, where the constant ``eta (n tau - tau^2 / 4)`` is kept; symbols and references in
:mod:`kernelfit.families.hadamard`).

For tau = 0 nothing needs to be decomposed: ``F = 11' + Gamma`` and
``energy = 1/2 beta'K beta + 1/(16 eta) q'(K o K)q``.

For tau > 0 the matrix ``A~ = a a' + Gamma~`` maps the span of the s support vectors and of the rest
of ``a`` to itself, and vanishes on its complement: an eigenproblem of order s + 1. A Householder
reflection turns ``a`` into the first axis, which leaves ``N e_1 e_1' + B`` with a small matrix B,
so that the shift of the largest eigenvalue against N is computed from B without cancellation: the
energy is exact to rounding although N^2 eta may be 10^11 times larger.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import eigsh

from kernelfit.families.hadamard import (
    FloatArray,
    HadamardFamily,
    Indices,
    KernelMatrix,
    Response,
    products,
    quartic_parts,
)

# Beyond this order a few leading eigenvectors are found by Lanczos iterations.
_MAX_DENSE_ORDER = 1500


@dataclass(frozen=True, eq=False)
class GammaResponse(Response):
    """F for tau = 0, ``F_ij = 1 + rate c_i c_j K_ij``."""

    def rows(self, idx: Indices, K_rows: FloatArray) -> FloatArray:
        """Return F[idx]; `K_rows` is K[idx]."""
        coef = self.coef
        return np.asarray(1.0 + (self.rate * coef[idx])[:, None] * (coef * K_rows))

    def diagonal(self, K_diagonal: FloatArray) -> FloatArray:
        """Return the diagonal of F."""
        return np.asarray(1.0 + self.rate * self.coef**2 * K_diagonal)

    def spectrum(self, K: KernelMatrix) -> FloatArray:
        """Return the non-zero eigenvalues of F with its copies counted, largest first."""
        support = self.support
        B, _ = _reflected(K.block(support), self.beta, self.weight, self.rate)
        B[0, 0] += self.weight.sum()
        return np.asarray(np.linalg.eigvalsh(B)[::-1][: len(self.beta)], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class LowRankResponse(Response):
    """F for tau > 0, ``F_ij = z_i'z_j``.

    Attributes
    ----------
    factors : ndarray of shape (s + 1, rank)
        The vectors z of the support, and last that of all other points.
    eigenvalues : ndarray of shape (rank,)
    """

    factors: FloatArray
    eigenvalues: FloatArray

    def rows(self, idx: Indices, K_rows: FloatArray) -> FloatArray:
        """Return F[idx]."""
        place = _places(self.beta)
        return np.asarray((self.factors[place[idx]] @ self.factors.T)[:, place])

    def diagonal(self, K_diagonal: FloatArray) -> FloatArray:
        """Return the diagonal of F."""
        return np.asarray((self.factors**2).sum(axis=1)[_places(self.beta)])

    def curvature(self, K: FloatArray, ridge: FloatArray) -> FloatArray:
        """Return a bound on the Hessian as an n x n array.

        Between eigenvectors below the threshold nothing changes, so that part is left out; it is
        exact between those above, and only between the two kinds a bound.
        """
        root = np.sqrt(self.weight)[:, None]
        Z = root * self.factors[_places(self.beta)] / np.sqrt(self.eigenvalues)
        return super().curvature(K, ridge) - self.projected_curvature(K, Z)

    def spectrum(self, K: KernelMatrix) -> FloatArray:
        """Return the non-zero eigenvalues of F with its copies counted, largest first."""
        return self.eigenvalues


@dataclass(frozen=True)
class AdaptiveFamily(HadamardFamily):
    """DANK's family: eta, the weights and the threshold tau."""

    tau: float = 0.0

    def respond(self, K: KernelMatrix, beta: FloatArray) -> Response:
        """Return F*(beta)."""
        if self.tau == 0.0:
            return self._respond_smooth(K, beta)
        total = float(self.weight.sum())
        support = np.flatnonzero(beta)
        rate = 0.25 / self.eta
        if rate == 0.0:
            scale = max(1.0 - 0.5 * self.tau / total, 0.0)
            decision = scale * products(K, support, beta[support])
            rank = int(scale > 0.0)
            factors = np.full((len(support) + 1, rank), np.sqrt(scale))
            return LowRankResponse(
                beta,
                self.weight,
                self.eta,
                0.5 * float(beta @ decision),
                decision,
                factors,
                np.full(rank, scale * total),
            )
        B, v = _reflected(K.block(support), beta, self.weight, rate)
        M = B.copy()
        M[0, 0] += total
        values, vectors = _eigenvalues_above(M, 0.5 * self.tau)
        kept = values - 0.5 * self.tau
        root = _roots(beta, self.weight)
        root[-1] = root[-1] or 1.0  # where every point is a support vector, the last row is zero
        factors = (vectors - np.outer(v, v @ vectors)) * np.sqrt(kept) / root[:, None]

        energy = float(kept[1:] @ kept[1:])
        if total > 0.5 * self.tau:
            top = vectors[:, 0]
            shift = float(top @ (B @ top)) - total * float(top[1:] @ top[1:])
            energy += shift * (2.0 * total + shift - self.tau)
        else:
            energy += float(kept[:1] @ kept[:1])
        P = products(K, support, beta[support, None] * factors[:-1])
        decision = np.einsum("ij,ij->i", P, factors[_places(beta)])
        return LowRankResponse(
            beta, self.weight, self.eta, self.eta * energy, decision, factors, kept
        )

    def penalty_slope(self, theta: FloatArray, direction: FloatArray) -> float:
        """Return the derivative of the penalty at F, an n x n array, along a direction."""
        trace = float(self.weight @ np.diagonal(direction))
        return super().penalty_slope(theta, direction) + self.tau * self.eta * trace

    def _respond_smooth(self, K: KernelMatrix, beta: FloatArray) -> Response:
        rate = 0.25 / self.eta
        u, squares, ww = quartic_parts(K, beta, self.weight)
        energy = 0.5 * float(beta @ u) + 0.25 * rate * float(squares @ ww)
        decision = u + rate * (beta / self.weight) * ww
        return GammaResponse(beta, self.weight, self.eta, energy, decision)


def _reflected(
    block: FloatArray, beta: FloatArray, weight: FloatArray, rate: float
) -> tuple[FloatArray, FloatArray]:
    """Return Gamma~ on the support and the rest of ``a``, in axes of which ``a`` is the first.

    The second result v defines the reflection ``I - v v'`` between the axes.
    """
    support = np.flatnonzero(beta)
    scaled = beta[support] / np.sqrt(weight[support])
    size = len(support) + 1
    B = np.zeros((size, size))
    B[:-1, :-1] = rate * scaled[:, None] * block * scaled
    v = _roots(beta, weight)
    v[0] += np.copysign(np.sqrt(v @ v), v[0])  # the sign without cancellation
    v *= np.sqrt(2.0 / (v @ v))
    Bv = B @ v
    Bv -= 0.5 * (v @ Bv) * v
    B -= np.outer(v, Bv) + np.outer(Bv, v)
    return B, v


def _places(beta: FloatArray) -> Indices:
    """Return which row of the factors each point has."""
    support = np.flatnonzero(beta)
    places = np.full(len(beta), len(support))
    places[support] = np.arange(len(support))
    return places


def _roots(beta: FloatArray, weight: FloatArray) -> FloatArray:
    """Return ``a`` on the support, and last its norm on all other points."""
    return np.append(np.sqrt(weight[beta != 0.0]), np.sqrt(weight[beta == 0.0].sum()))


def _eigenvalues_above(M: FloatArray, limit: float) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues above the limit, largest first, and their eigenvectors."""
    order = len(M)
    wanted = 32
    while order > _MAX_DENSE_ORDER and wanted < order // 8:
        start = np.linspace(1.0, 2.0, order)  # fixed, hence reproducible
        values, vectors = eigsh(M, k=wanted, which="LA", v0=start)
        if values[0] <= limit:
            break
        wanted *= 2
    else:
        # All of them: LAPACK's routine for a part of the spectrum fails where that is clustered.
        values, vectors = np.linalg.eigh(M)
    keep = np.flatnonzero(values > limit)[::-1]
    return values[keep], vectors[:, keep]
