r"""Discriminative similarities of clustering: a weight for every point makes a similarity.

Symbols

=========  ==========================================================================
K, S       affinity, symmetric and non-negative; general similarity, of any signature
b          weights of the points, mean one (b = n alpha for alpha in the simplex)
mu         lambda / n, strength of the quadratic term
d, s       K1 and 1'K1
W(b)       (b_i + b_j - mu b_i b_j) K_ij, equation (8) up to the factor 2/n
D          diagonal of W1, the degrees
Z          n x c, one column a cluster (indicators, or relaxed to any n x c matrix)
sigma      max(0, -l) for the smallest eigenvalue l of diag(d)^-1/2 K diag(d)^-1/2
=========  ==========================================================================

A similarity offers the normalised matrix D^-1/2 W D^-1/2, the normalised cut
Tr((Z'DZ)^-1 Z'(D - W)Z) and the penalty, the latter two with their gradients in b. With indicators
Z the trace is the normalised cut of the partition; its minimum over all Z of rank c is the sum of
the c smallest eigenvalues of the normalised Laplacian, and is attained at the eigenvectors.

References
----------
.. [1] Y. Yang, P. Li. "Discriminative Similarity for Data Clustering". International Conference on
   Learning Representations (2022). https://arxiv.org/abs/2109.08675
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelfit.clustering.matrices import LowRank, Multiply, Operator, multiply
from kernelfit.linalg.eigen import smallest_ritz

Array = NDArray[np.float64]
ValueAndGradient = tuple[float, Array]

_MIN_DEGREE = 1e-6  # of the mean
_MATRIX_BYTES = 2**29  # up to which a second dense matrix is formed, for speed
_CACHED_ROWS = 16  # on which one operation after the other finds them in the cache
_SIGMA_TOL = 1e-3
_SIGMA_STEPS = 300


class _ScaledSimilarity:
    """D^-1/2 W(b) D^-1/2 as an operator: one product with K, of twice as many columns.

    It serves where the matrix itself would take too much memory.
    """

    def __init__(self, K: Any, b: Array, mu: float, scale: Array, multiply: Multiply) -> None:
        self.K, self.b, self.mu, self.scale, self.multiply = K, b, mu, scale, multiply

    def __matmul__(self, V: Array) -> Array:
        b, scale = self.b[:, None], self.scale[:, None]
        U = scale * V.reshape(len(V), -1)
        KU, KbU = np.hsplit(self.multiply(self.K, np.hstack((U, b * U))), 2)
        return np.asarray(scale * (b * KU + (1.0 - self.mu * b) * KbU)).reshape(V.shape)


class KernelSimilarity:
    """The similarity of a kernel, equations (8) and (9) of [1]_.

    The quadratic part of the penalty must be positive semidefinite, or it rewards uneven weights
    by itself: graphs without self-loops have as much negative as positive spectrum. The bound
    behind (6) allows every splitting of K into two positive semidefinite parts and penalises
    their sum. Here it is (K + sigma D) - sigma D with D = diag(d), scaled to the row sums of K:
    (K + 2 sigma D) / (1 + 2 sigma), which is K itself where K is positive semidefinite. Here
    sigma = max(0, -l), where l is the smallest eigenvalue of D^-1/2 K D^-1/2. Lanczos steps from a
    fixed vector find l to within 1e-3; half of sigma would make the penalty positive semidefinite,
    so that is exact enough. At mu = 1/2 uniform weights minimise the penalty.

    Parameters
    ----------
    K : ndarray, csr_array or LowRank of shape (n, n)
        As `counted` returns it, where points count several times.
    mu : float
    multiply : callable
        ``multiply(K, V)``, the product of K with a vector or a matrix.
    """

    def __init__(self, K: Any, mu: float, multiply: Multiply = multiply) -> None:
        self.K, self.mu, self.multiply = K, mu, multiply
        self.n: int = K.shape[0]
        self.d: Array = multiply(K, np.ones(self.n))
        self.s = float(self.d.sum())

    @cached_property
    def sigma(self) -> float:
        """How negative the spectrum of the normalised K is."""
        if isinstance(self.K, LowRank):
            return 0.0
        # Squares spread over all frequencies: cos(i) itself is nearly an eigenvector of a ring.
        start = np.cos(np.arange(self.n, dtype=np.float64) ** 2)
        N = self.normalised(np.ones(self.n))[0]
        return max(0.0, -smallest_ritz(N, start, tol=_SIGMA_TOL, max_iter=_SIGMA_STEPS)[0])

    def degrees(self, b: Array) -> Array:
        """Return W(b) 1."""
        Kb = self.multiply(self.K, b)
        return np.asarray(b * self.d + (1.0 - self.mu * b) * Kb)

    def normalised(self, b: Array) -> tuple[Any, Array]:
        """Return D^-1/2 W(b) D^-1/2 and D^-1/2, zero for a point without similarity."""
        scale = _inverse_root(self.degrees(b))
        K, mu = self.K, self.mu
        if sparse.issparse(K):
            i = np.repeat(np.arange(self.n), np.diff(K.indptr))
            j = K.indices
            data = K.data * ((b[i] + b[j] - mu * b[i] * b[j]) * (scale[i] * scale[j]))
            N = sparse.csr_array((data, j, K.indptr), shape=K.shape)
            return Operator(N, self.multiply), scale
        if isinstance(K, LowRank) or K.nbytes > _MATRIX_BYTES:
            return _ScaledSimilarity(K, b, mu, scale, self.multiply), scale
        N, v = np.empty_like(K), 1.0 - mu * b
        for first in range(0, self.n, _CACHED_ROWS):
            part = slice(first, first + _CACHED_ROWS)
            rows = N[part]
            np.multiply(b[part, None], v, out=rows)
            rows += b
            rows *= K[part]
            rows *= scale[part, None]
            rows *= scale
        return Operator(N, self.multiply), scale

    def cuts(self, Zs: Sequence[Array]) -> list["KernelCut"]:
        """Return the normalised cut of every Z as a function of b."""
        products = self._product_by_parts(Zs)
        return [KernelCut(self, Z, KZ) for Z, KZ in zip(Zs, products, strict=True)]

    def values(self, cuts: Sequence["KernelCut"], b: Array, rho: float) -> list[float]:
        """Return the values of cuts at b; one product with K serves all."""
        Kb = self.multiply(self.K, b)
        products = self._product_by_parts([b[:, None] * cut.Z for cut in cuts])
        return [
            rho * cut.trace(b, Kb, KbZ)[0] + self.penalty(b, Kb)[0]
            for cut, KbZ in zip(cuts, products, strict=True)
        ]

    def penalty(self, b: Array, Kb: Array) -> ValueAndGradient:
        """Return (-d'b + mu b'(K + 2 sigma D)b / (1 + 2 sigma)) / s and its gradient."""
        quadratic = (Kb + 2.0 * self.sigma * self.d * b) / (1.0 + 2.0 * self.sigma)
        value = float(b @ (self.mu * quadratic - self.d)) / self.s
        return value, (2.0 * self.mu * quadratic - self.d) / self.s

    def _product_by_parts(self, parts: Sequence[Array]) -> list[Array]:
        """Return K times every part: one wide product is faster than many narrow ones."""
        ends = np.cumsum([part.shape[1] for part in parts])[:-1]
        return np.hsplit(self.multiply(self.K, np.hstack(parts)), ends)


class KernelCut:
    """rho times the normalised cut of Z plus the penalty, in b, with the gradient.

    With A = (Z'DZ)^-1, H = Z'(D - W)Z and q_i = z_i'(A - AHA)z_i the gradient of the cut is
    2 (K o T)(1 - mu b), T_ij = (q_i + q_j)/2 - z_i'A z_j: one product of K with c + 2 columns.
    """

    def __init__(self, similarity: KernelSimilarity, Z: Array, KZ: Array) -> None:
        self.similarity, self.Z, self.KZ = similarity, Z, KZ

    def trace(self, b: Array, Kb: Array, KbZ: Array) -> tuple[float, Array, Array]:
        """Return the cut, q and ZA at b from K b and K diag(b) Z."""
        v = 1.0 - self.similarity.mu * b
        degrees = b * self.similarity.d + v * Kb
        return _trace(self.Z, degrees, b[:, None] * self.KZ + v[:, None] * KbZ)

    def __call__(self, b: Array, rho: float) -> ValueAndGradient:
        """Return value and gradient at b."""
        of, column = self.similarity, b[:, None]
        products = of.multiply(of.K, np.hstack((column, column * self.Z)))
        Kb, KbZ = products[:, 0], products[:, 1:]
        value, q, ZA = self.trace(b, Kb, KbZ)
        Kv, KvZ = of.d - of.mu * Kb, self.KZ - of.mu * KbZ
        Kqv = of.multiply(of.K, q * (1.0 - of.mu * b))
        gradient = q * Kv + Kqv - 2.0 * np.einsum("ij,ij->i", ZA, KvZ)
        penalty, penalty_gradient = of.penalty(b, Kb)
        return rho * value + penalty, rho * gradient + penalty_gradient


class GeneralSimilarity:
    """The similarity of a general, possibly indefinite matrix, equations (6) and (7) of [1]_.

    W(b) = max((b_i + b_j) S_ij - mu b_i b_j M_ij, 0), where |S| has the absolute eigenvalues of S.
    M is |S|, but where S is positive it is at most S: strongly negative similarities make |S| large
    and would else leave similar points without any similarity. Both the cut at zero and this can
    only enlarge W, so the bound behind (6) still holds. Dense: all n x n matrices are formed.

    Parameters
    ----------
    S : ndarray of shape (n, n)
        Symmetric with a positive entry; as `counted` returns it, where points count several times.
    mu : float
    counts : ndarray of shape (n,) or float, default=1.0
        How many times every point counts.
    multiply : callable
        ``multiply(S, V)``, the product of S with a vector or a matrix.
    """

    def __init__(
        self, S: Array, mu: float, counts: Array | float = 1.0, multiply: Multiply = multiply
    ) -> None:
        self.S, self.mu, self.multiply = S, mu, multiply
        self.n = len(S)
        # The eigenvectors of repeated points, with the norm that they have there.
        root = np.sqrt(np.broadcast_to(counts, self.n))[:, None]
        values, vectors = np.linalg.eigh(S / root / root.T)
        vectors *= root
        absolute = multiply(vectors * np.abs(values), vectors.T)
        self.absolute = 0.5 * (absolute + absolute.T)
        self.capped = np.where(S > 0.0, np.minimum(self.absolute, S), self.absolute)
        self.d: Array = S.sum(axis=1)
        # Zero up to rounding, of either sign, where the rows of S sum to zero.
        rounding = float(np.finfo(np.float64).eps * np.abs(self.absolute).sum())
        self.s = max(float(self.absolute.sum()), rounding)

    def similarity(self, b: Array) -> Array:
        """Return W(b)."""
        W: Array = np.add.outer(b, b) * self.S - self.mu * np.outer(b, b) * self.capped
        np.maximum(W, 0.0, out=W)
        return W

    def normalised(self, b: Array) -> tuple[Operator, Array]:
        """Return D^-1/2 W(b) D^-1/2 and D^-1/2, zero for a point without similarity."""
        W = self.similarity(b)
        scale = _inverse_root(W.sum(axis=1))
        W *= scale[:, None]
        W *= scale
        return Operator(W, self.multiply), scale

    def cuts(self, Zs: Sequence[Array]) -> list["GeneralCut"]:
        """Return the normalised cut of every Z as a function of b."""
        return [GeneralCut(self, Z) for Z in Zs]

    def values(self, cuts: Sequence["GeneralCut"], b: Array, rho: float) -> list[float]:
        """Return the values of cuts at b."""
        return [cut(b, rho)[0] for cut in cuts]


class GeneralCut:
    """As `KernelCut`, where entries clipped at zero do not move."""

    def __init__(self, similarity: GeneralSimilarity, Z: Array) -> None:
        self.of, self.Z = similarity, Z

    def __call__(self, b: Array, rho: float) -> ValueAndGradient:
        """Return value and gradient at b."""
        of, Z = self.of, self.Z
        W = of.similarity(b)
        value, q, ZA = _trace(Z, W.sum(axis=1), of.multiply(W, Z))
        T = 0.5 * np.add.outer(q, q) - of.multiply(ZA, Z.T)
        T[W == 0.0] = 0.0
        gradient = 2.0 * ((T * of.S).sum(axis=1) - of.mu * of.multiply(T * of.capped, b))
        quadratic = of.multiply(of.absolute, b)
        penalty = float(b @ (of.mu * quadratic - of.d)) / of.s
        penalty_gradient = (2.0 * of.mu * quadratic - of.d) / of.s
        return rho * value + penalty, rho * gradient + penalty_gradient


def _trace(Z: Array, degrees: Array, WZ: Array) -> tuple[float, Array, Array]:
    """Return Tr((Z'DZ)^-1 Z'(D - W)Z), q and Z (Z'DZ)^-1.

    Points without similarity get a small degree, so that a cluster of such points alone has a
    volume; it counts as cut off entirely, like their eigenvalue zero of D^-1/2 W D^-1/2.
    """
    degrees = np.where(degrees > 0, degrees, _MIN_DEGREE * degrees.mean())
    G = Z.T @ (degrees[:, None] * Z)
    H = G - Z.T @ WZ
    H = 0.5 * (H + H.T)
    A = np.linalg.inv(G)
    ZA = Z @ (0.5 * (A + A.T))
    q = np.einsum("ij,ij->i", ZA, Z) - np.einsum("ij,ij->i", ZA @ H, ZA)
    return float(np.sum(A * H)), q, ZA


def _inverse_root(degrees: Array) -> Array:
    positive = degrees > 0
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, degrees, 1.0)), 0.0)
