r"""DANK's adaptive matrix F.

.. math::

    \min_{F \succeq 0}\; -\tfrac12 \beta^\top (F \circ K) \beta
        + \eta \|F - \mathbf{11}^\top\|_F^2 + \tau\eta \|F\|_*

With ``A = 11' + Gamma``, psd, the response is the eigenvalue soft threshold of A at ``tau / 2``
(Lemma 1 of [1]_, where the constant ``eta (n tau - tau^2 / 4)`` is kept; symbols and references in
:mod:`kernelfit.families.hadamard.base`).

For tau = 0 nothing needs to be decomposed: ``F = 11' + Gamma`` and
``energy = 1/2 beta'K beta + 1/(16 eta) q'(K o K)q``.

For tau > 0 the matrix ``A~ = a a' + Gamma~`` maps the span of the s support vectors and of the rest
of ``a`` to itself, and vanishes on its complement: an eigenproblem of order s + 1. A Householder
reflection turns ``a`` into the first axis, which leaves ``N e_1 e_1' + B`` with a small matrix B,
so that the shift of the largest eigenvalue against N is computed from B without cancellation: the
energy is exact to rounding although N^2 eta may be 10^11 times larger.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from kernelfit.families.hadamard.base import (
    FloatArray,
    HadamardFamily,
    HadamardResponse,
    Indices,
    quartic_parts,
)

# Beyond this order, some leading eigenvectors are sought by Lanczos iterations before all of them.
# An eigenvalue may be missed that exceeds the threshold by the slack, relative to it.
_MAX_DENSE_ORDER = 400
_LANCZOS_SIZES = (32, 128)
_LANCZOS_RESTARTS = 10
_SLACK = 1e-6
# Of the curvature: eigenvalues below this fraction of the threshold mix with all those above it at
# nearly the same rate; others below are divided into groups whose rates differ by this factor at
# most. For more eigenvectors than order / 8 or more groups than n / (4 rank) that would be slow;
# these are the numbers allowed in any case.
_FAR = 0.2
_SPREAD = 1.25
_MIN_STORED = 32
_MIN_GROUPS = 8


@dataclass(frozen=True, eq=False)
class GammaResponse(HadamardResponse):
    """F for tau = 0, ``F_ij = 1 + rate c_i c_j K_ij``."""

    def rows(self, idx: Indices, K_rows: FloatArray) -> FloatArray:
        """Return F[idx]; `K_rows` is K[idx]."""
        coef = self.coef
        return np.asarray(1.0 + (self.rate * coef[idx])[:, None] * (coef * K_rows))

    def diagonal(self, K_diagonal: FloatArray) -> FloatArray:
        """Return the diagonal of F."""
        return np.asarray(1.0 + self.rate * self.coef**2 * K_diagonal)


@dataclass(frozen=True, eq=False)
class LowRankResponse(HadamardResponse):
    """F for tau > 0, ``F_ij = z_i'z_j``.

    Attributes
    ----------
    factors : ndarray of shape (s + 1, rank)
        The vectors z of the support, and last that of all other points.
    eigenvalues : ndarray of shape (rank,)
        Of F, largest first.
    limit : float
        The threshold ``tau / 2``.
    near : ndarray of shape (s + 1, k)
        Eigenvectors of A~ not far below the threshold, over ``a``; rows as in `factors`.
    near_values : ndarray of shape (k,)
        Their eigenvalues, largest first.
    rest : float
        The next eigenvalue, or the last of `near_values` where it has not been sought.
    """

    factors: FloatArray
    eigenvalues: FloatArray
    limit: float
    near: FloatArray
    near_values: FloatArray
    rest: float

    def compact(self) -> Self:
        """Return the response on the support and one more point, which stands for all others."""
        return replace(super().compact(), near=self.near[:, :0], near_values=self.near_values[:0])

    def rows(self, idx: Indices, K_rows: FloatArray) -> FloatArray:
        """Return F[idx]."""
        place = _places(self.beta)
        return np.asarray((self.factors[place[idx]] @ self.factors.T)[:, place])

    def averages(self, shares: Any, K_rows: Callable[[Indices], FloatArray]) -> FloatArray:
        """Return ``shares @ F``."""
        factors = self.factors[_places(self.beta)]
        return np.asarray((shares @ factors) @ factors.T)

    def diagonal(self, K_diagonal: FloatArray) -> FloatArray:
        """Return the diagonal of F."""
        return np.asarray((self.factors**2).sum(axis=1)[_places(self.beta)])

    def curvature(self, K: FloatArray, ridge: FloatArray) -> FloatArray:
        r"""Return a bound on the Hessian of the energy as an n x n array, nearly the Hessian.

        Between eigenvectors i above the threshold t and j below, the soft threshold changes at the
        rate :math:`(\lambda_i - t) / (\lambda_i - \lambda_j)` times its argument (its divided
        difference), between two above at the rate 1, between two below not at all. With
        ``B = K diag(x)`` and orthonormal eigenvectors v, Gamma~ changes along d by
        ``v_i'Gamma~'v_j = rate d'(v_j o B v_i + v_i o B v_j) / a``. The eigenvectors below are
        taken together in groups of similar rates, so few that the cost is that of some products of
        n x n matrices.
        """
        if not self.eigenvalues.size or self.rate == 0.0:
            return self.matrix(K) * K
        root, place = np.sqrt(self.weight), _places(self.beta)
        support = self.support
        B = K * (self.beta / root)
        V = root[:, None] * self.factors[place] / np.sqrt(self.eigenvalues)
        U = B @ V
        P, BP, BPB = V @ V.T, U @ V.T, U @ U.T  # P projects on what has been dealt with
        out = P * BPB
        out += BP * BP.T

        def add(value: float, P: FloatArray, BP: FloatArray, BPB: FloatArray) -> None:
            """Add the part between V and the projection P on a group below."""
            rates = self.eigenvalues / (self.eigenvalues + (self.limit - value))
            mixed = BP * ((V * rates) @ U.T)
            np.add(out, mixed, out=out)
            np.add(out, mixed.T, out=out)
            np.add(out, P * ((U * rates) @ U.T), out=out)
            np.add(out, BPB * ((V * rates) @ V.T), out=out)

        near = root[:, None] * self.near[place]
        distances = self.eigenvalues[-1] + self.limit - self.near_values
        for group in _groups(distances, max(_MIN_GROUPS, len(K) // (4 * V.shape[1]))):
            v, u = near[:, group], B @ near[:, group]
            parts = v @ v.T, u @ v.T, u @ u.T
            add(self.near_values[group][0], *parts)
            for whole, part in zip((P, BP, BPB), parts, strict=True):
                whole += part
        add(self.rest, np.eye(len(K)) - P, B - BP, B[:, support] @ B[:, support].T - BPB)
        out *= self.rate
        out /= np.outer(root, root)
        return np.asarray(out + self.matrix(K) * K)


@dataclass(frozen=True, eq=False)
class AdaptiveFamily(HadamardFamily):
    """DANK's family: the kernel matrix, the weights, eta and the threshold tau."""

    tau: float = 0.0

    @property
    def neutral(self) -> float:
        """The entries of the response to beta = 0: the threshold of 11'."""
        return neutral_factor(self.tau, self.weight)

    def respond_to(self, beta: FloatArray) -> HadamardResponse:
        """Return F*(beta)."""
        if self.tau == 0.0:
            return self._respond_smooth(beta)
        if self.eta == np.inf:
            return self._respond_neutral(beta)
        K, rate, total = self.source, 0.25 / self.eta, float(self.weight.sum())
        support = np.flatnonzero(beta)
        B, v = _reflected(K.block(support, exact=True), beta, self.weight, rate)
        if not np.isfinite(B).all():
            raise ValueError(f"expected a larger eta, got one of {self.eta:.1e}, and overflow")
        M = B.copy()
        M[0, 0] += total
        limit = 0.5 * self.tau
        values, vectors = _leading_eigenpairs(M, limit)
        rank = int(np.count_nonzero(values > limit))
        most = max(rank, _MIN_STORED, len(M) // 8)
        stored = min(int(np.count_nonzero(values > _FAR * limit)), most)
        unknown = 0.0 if len(values) == len(M) else values[-1]
        rest = float(np.append(values, min(unknown, limit))[stored])
        values, vectors = values[:stored], vectors[:, :stored]
        root = _roots(beta, self.weight)
        root[-1] = root[-1] or 1.0  # where every point is a support vector, the last row is zero
        points = (vectors - np.outer(v, v @ vectors)) / root[:, None]
        kept = values[:rank] - limit
        factors = points[:, :rank] * np.sqrt(kept)

        energy = float(kept[1:] @ kept[1:])
        if total > limit:
            top = vectors[:, 0]
            shift = float(top @ (B @ top)) - total * float(top[1:] @ top[1:])
            energy += shift * (2.0 * total + shift - self.tau)
        else:
            energy += float(kept[:1] @ kept[:1])
        P = K.product(support, beta[support, None] * factors[:-1])
        decision = np.einsum("ij,ij->i", P, factors[_places(beta)])
        below = points[:, rank:], values[rank:], rest
        return self._low_rank(beta, self.eta * energy, decision, factors, kept, *below)

    def _low_rank(
        self,
        beta: FloatArray,
        energy: float,
        decision: FloatArray,
        factors: FloatArray,
        eigenvalues: FloatArray,
        near: FloatArray,
        near_values: FloatArray,
        rest: float,
    ) -> LowRankResponse:
        common = beta, self.weight, self.eta, self.tau, energy, decision, self.source
        limit = 0.5 * self.tau
        return LowRankResponse(*common, factors, eigenvalues, limit, near, near_values, rest)

    def _respond_neutral(self, beta: FloatArray) -> LowRankResponse:
        """Return the factor without adaptation."""
        support = np.flatnonzero(beta)
        decision = self.neutral * self.source.product(support, beta[support])
        rank = int(self.neutral > 0.0)
        factors = np.full((len(support) + 1, rank), np.sqrt(self.neutral))
        values = np.full(rank, self.neutral * float(self.weight.sum()))
        nothing = factors[:, :0], np.zeros(0), 0.0
        energy = 0.5 * float(beta @ decision)
        return self._low_rank(beta, energy, decision, factors, values, *nothing)

    def _respond_smooth(self, beta: FloatArray) -> GammaResponse:
        rate = 0.25 / self.eta
        u, squares, ww = quartic_parts(self.source, beta, self.weight)
        energy = 0.5 * float(beta @ u) + 0.25 * rate * float(squares @ ww)
        decision = u + rate * (beta / self.weight) * ww
        return self.smooth_response(beta, energy, decision, u)

    def smooth_response(
        self, beta: FloatArray, energy: float, decision: FloatArray, u: FloatArray
    ) -> GammaResponse:
        """Return the response for tau = 0 where energy, decision values and K beta are known."""
        common = beta, self.weight, self.eta, 0.0, energy, decision, self.source
        return GammaResponse(*common, kernel_values=u)


def neutral_factor(tau: float, weight: FloatArray) -> float:
    """Return the factor without adaptation, ``1 - tau / (2 n)`` or 0 if that is negative."""
    return max(1.0 - 0.5 * tau / float(weight.sum()), 0.0)


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


def _groups(distances: FloatArray, most: int) -> list[slice]:
    """Divide increasing distances into runs of a bounded ratio, at most so many of them."""
    if not distances.size:
        return []
    ratios = distances / distances[0]
    spread = max(_SPREAD, ratios[-1] ** (1.0 / most))
    steps = np.floor(np.log(ratios) / np.log(spread) * (1.0 - 1e-12))
    starts = np.flatnonzero(np.diff(steps, prepend=-1.0))
    return [slice(*pair) for pair in pairwise([*starts, len(steps)])]


def _leading_eigenpairs(M: FloatArray, limit: float) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues, largest first, and eigenvectors: all above the limit and some below."""
    order, least_rank = len(M), _least_count(M[1:, 1:], limit)
    for wanted in _LANCZOS_SIZES:
        if order <= max(_MAX_DENSE_ORDER, 8 * wanted):
            break
        if 2 * least_rank > wanted:
            continue
        start = np.linspace(1.0, 2.0, order)  # fixed, hence reproducible
        try:
            values, vectors = eigsh(M, k=wanted, which="LA", v0=start, maxiter=_LANCZOS_RESTARTS)
        except ArpackNoConvergence as error:  # in a cluster, most likely of the last of them
            values, vectors = error.eigenvalues, error.eigenvectors
        descending = np.argsort(-values)
        values, vectors = values[descending], vectors[:, descending]
        rank = int(np.count_nonzero(values > limit))
        if 2 * rank <= wanted and _all_found(M, values[:rank], vectors[:, :rank], limit):
            return values, vectors
    # All of them: LAPACK's routine for a part of the spectrum fails where that is clustered.
    values, vectors = np.linalg.eigh(M)
    return values[::-1], vectors[:, ::-1]


def _least_count(M: FloatArray, limit: float) -> float:
    """Return a lower bound on the number r of eigenvalues above the limit, for M psd of order m.

    ``trace(M) <= m limit + sum of those above <= m limit + sqrt(r) ||M||``. By interlacing it holds
    for a matrix of which M is a principal submatrix, too.
    """
    excess = max(float(np.trace(M)) - len(M) * limit, 0.0)
    return (excess / (float(np.linalg.norm(M)) or 1.0)) ** 2


def _all_found(M: FloatArray, values: FloatArray, vectors: FloatArray, limit: float) -> bool:
    """Return whether M has no other eigenvalue above the limit.

    Of an eigenvalue with several eigenvectors the Lanczos process may find one alone.
    """
    rest = (vectors * values) @ vectors.T - M
    rest[np.diag_indices_from(rest)] += limit * (1.0 + _SLACK)
    try:
        np.linalg.cholesky(rest)
    except np.linalg.LinAlgError:
        return False
    return True
