r"""Kernel ridge regression on landmarks, for more rows than a kernel matrix has room for.

.. math::

    \min_{a, b}\; \sum_i s_i (y_i - k_i'a - b)^2 + r\, a'K_{mm}\,a

over functions spanned by m of the points. They are drawn by approximate ridge leverage scores [1]_,

.. math:: \ell_i = \tfrac{s_i}{r}\, \big(k_{ii} - k_{iu} (K_{uu} + r\,S_u^{-1})^{-1} k_{ui}\big),

with a uniform sample u: points that the others do not explain are taken more often.

References
----------
.. [1] C. Musco, C. Musco. Recursive sampling for the Nystrom method. NeurIPS 2017.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

Array = NDArray[Any]
# From two sets of points to the kernel between them.
Kernel = Callable[[Array, Array], Array]

_UNIFORM = 400  # points of the first sample
_JITTER = 1e-10  # on the diagonal, so that rounding leaves a Cholesky factor
_CHUNK_BYTES = 2**26  # of kernel values at a time


def choose_landmarks(
    kernel: Kernel, points: Array, weight: Array, ridge: float, size: int, seed: int
) -> Array:
    """Return the places of points drawn by their leverage.

    Parameters
    ----------
    kernel : callable
        Of value one on the diagonal.
    points : ndarray of shape (n, d)
    weight : ndarray of shape (n,)
        Positive.
    ridge : float
    size : int
        How many, at most n.
    seed : int

    Returns
    -------
    ndarray of int of shape (size,)
        Increasing.
    """
    rng = np.random.default_rng(seed)
    n = len(points)
    first = rng.choice(n, min(_UNIFORM, n), replace=False)
    K = kernel(points[first], points[first])
    K[np.diag_indices_from(K)] += ridge / weight[first] * (n / len(first))
    factor = cho_factor(K, lower=True, overwrite_a=True)
    left = np.empty(n)
    for rows in _chunks(n, len(first)):
        across = kernel(points[rows], points[first])
        left[rows] = 1.0 - np.einsum("ij,ji->i", across, cho_solve(factor, across.T))
    leverage = np.maximum(weight * left, 1e-12)
    return np.sort(rng.choice(n, size, replace=False, p=leverage / leverage.sum()))


def solve_on_landmarks(
    kernel: Kernel,
    points: Array,
    landmarks: Array,
    Y: Array,
    weight: Array,
    ridge: float,
    rows: Array | None = None,
    left_out: Array | None = None,
) -> tuple[Array, Array]:
    """Return the coefficients of the landmarks and the intercepts.

    Parameters
    ----------
    kernel : callable
    points : ndarray of shape (n, d)
    landmarks : ndarray of shape (m, d)
    Y : ndarray of shape (n, k)
    weight : ndarray of shape (n,)
        Positive.
    ridge : float
    rows : ndarray of int, default=None
        Some of the points.
    left_out : ndarray of shape (n_rows, k), default=None
        Filled with what the machine on the same landmarks, trained without one of these points,
        says of it.

    Returns
    -------
    coef : ndarray of shape (m, k)
    intercept : ndarray of shape (k,)
    """
    m, mass = len(landmarks), weight.sum()
    K = kernel(landmarks, landmarks)
    K[np.diag_indices(m)] += _JITTER
    root = cholesky(K, lower=True, overwrite_a=True)
    # In the basis of the features k_i' L^-T the penalty is r |w|^2: normal equations of K itself
    # would square its condition.
    A, right = np.zeros((m, m)), np.zeros((m, Y.shape[1]))
    mean, centre = np.zeros(m), weight @ Y / mass
    for some in _chunks(len(points), m):
        F = solve_triangular(root, kernel(points[some], landmarks).T, lower=True)
        weighted = F * weight[some]
        A += weighted @ F.T
        mean += weighted.sum(axis=1) / mass
        right += weighted @ (Y[some] - centre)
    A -= mass * np.outer(mean, mean)  # the intercept takes the mean of every feature
    A[np.diag_indices(m)] += ridge + _JITTER * np.trace(A) / m
    factor = cho_factor(A, lower=True, overwrite_a=True)
    w = cho_solve(factor, right)
    if rows is not None and left_out is not None:
        F = solve_triangular(root, kernel(points[rows], landmarks).T, lower=True) - mean[:, None]
        spread = np.einsum("ij,ij->j", F, cho_solve(factor, F))
        influence = weight[rows] * (1.0 / mass + spread)  # the diagonal of the hat matrix
        residual = Y[rows] - (centre + F.T @ w)
        left_out[:] = Y[rows] - residual / (1.0 - influence)[:, None]
    return solve_triangular(root, w, lower=True, trans="T"), centre - mean @ w


def _chunks(n: int, width: int) -> list[slice]:
    step = max(1, _CHUNK_BYTES // (8 * width))
    return [slice(start, start + step) for start in range(0, n, step)]
