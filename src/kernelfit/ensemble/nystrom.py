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
from scipy.linalg import cho_factor, cho_solve

Array = NDArray[Any]
# From two sets of points to the kernel between them.
Kernel = Callable[[Array, Array], Array]

_UNIFORM = 400  # points of the first sample
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
    kernel: Kernel, points: Array, landmarks: Array, Y: Array, weight: Array, ridge: float
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

    Returns
    -------
    coef : ndarray of shape (m, k)
    intercept : ndarray of shape (k,)
    """
    m, mass = len(landmarks), weight.sum()
    A, right = np.zeros((m, m)), np.zeros((m, Y.shape[1]))
    mean, centre = np.zeros(m), weight @ Y / mass
    for rows in _chunks(len(points), m):
        K = kernel(points[rows], landmarks)
        weighted = K * weight[rows, None]
        A += weighted.T @ K
        mean += weighted.sum(axis=0) / mass
        right += weighted.T @ (Y[rows] - centre)
    A -= mass * np.outer(mean, mean)  # the intercept takes the mean of every column
    A += ridge * kernel(landmarks, landmarks)
    # Landmarks that are nearly alike: this much is below the rounding of the sums.
    A[np.diag_indices(m)] += 1e-13 * np.trace(A) + np.finfo(float).tiny
    coef = cho_solve(cho_factor(A, lower=True, overwrite_a=True), right)
    return coef, centre - mean @ coef


def _chunks(n: int, width: int) -> list[slice]:
    step = max(1, _CHUNK_BYTES // (8 * width))
    return [slice(start, start + step) for start in range(0, n, step)]
