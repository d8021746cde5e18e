"""Kernel ridge regressions on one kernel matrix."""

import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

Array = NDArray[Any]


def solve_ridges(
    K: Array, Y: Array, weight: Array, ridges: Sequence[float]
) -> Iterator[tuple[Array, Array] | None]:
    r"""Yield coefficients and intercepts for one ridge after the other.

    .. math:: (K + r\,\mathrm{diag}(1/s))\,a = y - b, \qquad \mathbf 1'a = 0

    A Cholesky factor a ridge: for fewer than ten ridges that is faster than one eigendecomposition.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite, in C order. The last ridge overwrites it.
    Y : ndarray of shape (n, k)
    weight : ndarray of shape (n,)
        s, positive.
    ridges : sequence of float

    Yields
    ------
    (coef, intercept) or None
        Of shapes (n, k) and (k,); None where rounding leaves no Cholesky factor.
    """
    n = len(K)
    right = np.asfortranarray(np.column_stack([Y, np.ones(n)]))
    for number, ridge in enumerate(ridges):
        A = (K if number == len(ridges) - 1 else K.copy()).T  # symmetric, and in Fortran's order
        A[np.diag_indices(n)] += ridge / weight
        factor, info = dpotrf(A, lower=1, overwrite_a=1, clean=0)
        if info:
            yield None
            continue
        solution, _ = dpotrs(factor, right, lower=1)
        coef, ones = solution[:, :-1], solution[:, -1]
        intercept = coef.sum(axis=0) / ones.sum()
        yield coef - ones[:, None] * intercept, intercept


def relative_gap(
    decision: Array, coef: Array, intercept: Array, Y: Array, weight: Array, ridge: float
) -> float:
    r"""Return the duality gap of regressions, relative to their objective: the largest of all.

    .. math::

        \tfrac12 a'Ka + \tfrac1{2r} \sum_i s_i (y_i - (Ka)_i - b)^2
        \;\ge\; y'a - \tfrac12 a'Ka - \tfrac r2 \sum_i a_i^2 / s_i \quad\text{if } \mathbf 1'a = 0

    Parameters
    ----------
    decision : ndarray of shape (n, k)
        K a.
    coef : ndarray of shape (n, k)
    intercept : ndarray of shape (k,)
    Y : ndarray of shape (n, k)
    weight : ndarray of shape (n,)
    ridge : float

    Returns
    -------
    float
    """
    energy = np.sum(coef * decision, axis=0)
    error = weight @ (Y - decision - intercept) ** 2 / (2.0 * ridge)
    upper = 0.5 * energy + error
    lower = (
        np.sum(Y * coef, axis=0)
        - 0.5 * energy
        - 0.5 * ridge * np.sum(coef**2 / weight[:, None], axis=0)
    )
    scale = np.maximum(upper, np.finfo(float).tiny)
    return float(np.max(np.abs(upper - lower) / scale))


def forecast_seconds(operations: float) -> float:
    """Return how long so many operations of a Cholesky factorisation take here, about."""
    return operations / _speed()


@cache
def _speed() -> float:
    """Measure operations a second."""
    n, best = 500, 0.0
    for _ in range(3):
        A = np.asfortranarray(np.eye(n))
        began = time.perf_counter()
        dpotrf(A, lower=1, overwrite_a=1)
        best = max(best, n**3 / 3.0 / (time.perf_counter() - began))
    return best
