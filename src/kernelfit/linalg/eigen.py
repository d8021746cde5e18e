"""Leading eigenpairs of a symmetric matrix, repeated eigenvalues included.

A single-vector Lanczos process sees one vector of every eigenspace and finds the others by rounding
alone, if at all. A block of vectors sees as many of them as it is wide.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigh_tridiagonal, eigvalsh_tridiagonal, qr

FloatArray = NDArray[np.float64]

_MAX_DENSE = 300  # a dense decomposition takes some 20 ms at this size
_MAX_DEGREE = 40
_GAIN = 1e5  # wanted from one filter: of the k-th eigenvalue over those filtered out
_MAX_GAIN = 1e10  # of the first over those filtered out: beyond it rounding hides the k-th
_MIN_GAP = 1e-3  # between the k-th eigenvalue and those filtered out, of the whole spectrum
_LANCZOS_STEPS = 12


@dataclass(frozen=True)
class EigenResult:
    """Leading eigenpairs.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Ritz values in descending order, the `k` wanted first, then those of the guard vectors.
    vectors : ndarray of shape (n, m)
        Orthonormal Ritz vectors; the block to start the next, similar problem from.
    residual : float
        The largest of the norms ``||A v - value v||`` of the wanted pairs.
    n_iter : int
        Number of filters applied; 0 for a dense decomposition.
    converged : bool
        Whether the residual met the tolerance.
    """

    values: FloatArray
    vectors: FloatArray
    residual: float
    n_iter: int
    converged: bool


def leading_eigenpairs(
    A: Any, k: int, start: FloatArray, *, tol: float = 1e-8, max_iter: int = 200
) -> EigenResult:
    """Return the `k` algebraically largest eigenpairs by a filtered block iteration.

    Every round applies a Chebyshev polynomial of A to the block, which damps the eigenvalues below
    the block's last Ritz value and amplifies those above it, and solves the problem projected onto
    the old and the new block (Rayleigh-Ritz). As the old block is kept, the Ritz values never fall
    below those of `start`: a minimisation that alternates with this eigensolver descends even
    where the solver stops early.

    Parameters
    ----------
    A : ndarray, sparse matrix or operator of shape (n, n)
        Symmetric. An operator needs ``A @ V``.
    k : int
        Number of pairs wanted, at most n.
    start : ndarray of shape (n, m)
        The first block, of full rank, k <= m <= n. Columns beyond `k` are guard vectors: they
        speed up convergence and catch eigenvalues of multiplicity up to m.
    tol : float, default=1e-8
        Bound on the residual norms, absolute.
    max_iter : int, default=200
        Bound on the number of rounds.

    Returns
    -------
    EigenResult

    References
    ----------
    .. [1] Y. Zhou, Y. Saad, M. L. Tiago, J. R. Chelikowsky. "Self-consistent-field calculations
       using Chebyshev-filtered subspace iteration". Journal of Computational Physics 219 (2006).
       https://doi.org/10.1016/j.jcp.2006.03.017

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.linalg.eigen import leading_eigenpairs
    >>> A = np.diag([1.0, 3.0, 3.0, 2.0])
    >>> leading_eigenpairs(A, 2, np.eye(4)[:, :2]).values.round(12)
    array([3., 3.])
    """
    n, m = start.shape
    if n <= _MAX_DENSE or 2 * m >= n:
        values, vectors = eigh(A @ np.eye(n), subset_by_index=(n - m, n - 1))
        values, vectors = values[::-1], vectors[:, ::-1]
        residual = _residual(A @ vectors[:, :k], vectors[:, :k], values[:k])
        return EigenResult(values, vectors, residual, 0, True)

    lowest, slack = smallest_ritz(A, start[:, -1])
    lowest -= slack
    V = _orthonormal(start)
    values, V, AV = _rayleigh_ritz(V, A @ V, m)
    residual = _residual(AV[:, :k], V[:, :k], values[:k])
    n_iter = 0
    while residual > tol and n_iter < max_iter:
        n_iter += 1
        W = _filtered(A, V, AV, lowest, values, k)
        # Twice is enough: the second pass removes what rounding left of the first.
        for _ in range(2):
            W = _orthonormal(W - V @ (V.T @ W))
        values, V, AV = _rayleigh_ritz(np.hstack((V, W)), np.hstack((AV, A @ W)), m)
        residual = _residual(AV[:, :k], V[:, :k], values[:k])
    return EigenResult(values, V, residual, n_iter, residual <= tol)


def _filtered(
    A: Any, V: FloatArray, AV: FloatArray, lowest: float, values: FloatArray, k: int
) -> FloatArray:
    """Return p(A) V for the Chebyshev polynomial p that is small between lowest and a cut.

    The cut is the last Ritz value of the block, or somewhat below the k-th: the two agree where
    the block ends within a multiple eigenvalue.
    """
    # Lanczos steps that start in the range of a singular matrix do not see its zeros; the block
    # does. An interval that is not wider than rounding would amplify without bound.
    lowest = min(lowest, values[-1]) - np.finfo(np.float64).eps * np.abs(values).max()
    cut = min(values[-1], values[k - 1] - _MIN_GAP * (values[k - 1] - lowest))
    centre, half = 0.5 * (cut + lowest), 0.5 * (cut - lowest)
    # cosh(degree * arccosh(x)) is the value of the polynomial at x > 1, where |p| <= 1 on [-1, 1].
    rates = np.arccosh(np.maximum((values[[0, k - 1]] - centre) / half, 1.0 + 1e-12))
    wanted, allowed = np.arccosh(_GAIN) / rates[1], np.arccosh(_MAX_GAIN) / rates[0]
    degree = int(np.clip(np.ceil(min(wanted, allowed)), 2, _MAX_DEGREE))
    previous, current = V, (AV - centre * V) / half
    for _ in range(degree - 1):
        following = A @ current
        following -= centre * current
        following *= 2.0 / half
        following -= previous
        previous, current = current, following
    return np.asarray(current / np.linalg.norm(current, axis=0))


def smallest_ritz(
    A: Any, v: FloatArray, *, tol: float = 0.0, max_iter: int = _LANCZOS_STEPS
) -> tuple[float, float]:
    """Return an estimate of the smallest eigenvalue from a few Lanczos steps.

    Parameters
    ----------
    A : ndarray, sparse matrix or operator of shape (n, n)
        Symmetric.
    v : ndarray of shape (n,)
        Start of the Lanczos process, best a random vector.
    tol : float, default=0.0
        Stop when the residual ``||A x - value x||`` of the Ritz pair is at most this: an
        eigenvalue is as close then, and much closer where the others keep a distance.
    max_iter : int, default=12
        Bound on the number of steps.

    Returns
    -------
    value : float
        The smallest Ritz value, never below the spectrum.
    residual : float
        Norm of the last step: ``value - residual`` is below the spectrum in all but contrived
        cases.
    """
    diagonal, off = [], []
    q, previous, beta = v / np.linalg.norm(v), np.zeros_like(v), 0.0
    for _ in range(max_iter):
        w = A @ q - beta * previous
        diagonal.append(float(q @ w))
        w -= diagonal[-1] * q
        beta = float(np.linalg.norm(w))
        off.append(beta)
        if beta <= 1e-12 or (tol > 0 and _pair_residual(diagonal, off) <= tol):
            break
        previous, q = q, w / beta
    if len(diagonal) == 1:  # which older versions of scipy refuse, here and below
        return diagonal[0], off[-1]
    ritz = eigvalsh_tridiagonal(np.array(diagonal), np.array(off[:-1]))
    return float(ritz[0]), off[-1]


def _pair_residual(diagonal: list[float], off: list[float]) -> float:
    """Return the residual norm of the smallest Ritz pair of a Lanczos process."""
    if len(diagonal) == 1:
        return off[-1]
    _, vectors = eigh_tridiagonal(diagonal, off[:-1], select="i", select_range=(0, 0))
    return off[-1] * abs(float(vectors[-1, 0]))


def _rayleigh_ritz(
    Q: FloatArray, AQ: FloatArray, m: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the leading m Ritz values, Ritz vectors V and A V of an orthonormal basis Q."""
    H = Q.T @ AQ
    width = H.shape[0]
    values, W = eigh(0.5 * (H + H.T), subset_by_index=(width - m, width - 1))
    W = W[:, ::-1]
    return values[::-1], Q @ W, AQ @ W


def _orthonormal(V: FloatArray) -> FloatArray:
    Q: FloatArray = qr(V, mode="economic", check_finite=False)[0]
    return Q


def _residual(AV: FloatArray, V: FloatArray, values: FloatArray) -> float:
    return float(np.linalg.norm(AV - V * values, axis=0).max())
