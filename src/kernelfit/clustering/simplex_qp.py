"""Quadratic programmes on a simplex with bounds, by exact steps in pairs of variables."""

import numpy as np
from numpy.typing import NDArray

from kernelfit.clustering.result import DescentResult
from kernelfit.utils.jit import jit

FloatArray = NDArray[np.float64]


def solve_simplex_qp(
    P: FloatArray,
    q: FloatArray,
    x: FloatArray,
    *,
    lower: float = 0.0,
    upper: float = np.inf,
    tol: float = 1e-8,
    max_iter: int = 1_000_000,
) -> DescentResult:
    r"""Minimise :math:`q'x + \tfrac12 x'Px` over bounded x of a fixed sum.

    Every step moves weight from the variable with the largest derivative to the one that gains
    most from it, by exact minimisation along the pair: to the end point of the segment where the
    curvature is not positive. The objective therefore never rises, for indefinite P too, where the
    result is a point at which no pair violates the first-order conditions.

    Parameters
    ----------
    P : ndarray of shape (n, n)
        Symmetric, of any signature.
    q : ndarray of shape (n,)
    x : ndarray of shape (n,)
        A feasible start; its sum is kept.
    lower, upper : float, default=0 and infinity
        Bounds on every variable.
    tol : float, default=1e-8
        Stop when the derivatives of no two variables between which weight can move differ by more
        than `tol` times the largest derivative of the start.
    max_iter : int, default=1,000,000
        Bound on the number of steps.

    Returns
    -------
    DescentResult

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.clustering.simplex_qp import solve_simplex_qp
    >>> solve_simplex_qp(2 * np.eye(3), np.array([0.0, 0.0, 4.0]), np.array([0.0, 0.0, 1.0])).x
    array([0.5, 0.5, 0. ])
    """
    x = np.array(x, dtype=np.float64)
    P = np.ascontiguousarray(P, dtype=np.float64)
    g = P @ x + q
    start = float(0.5 * x @ (g + q))
    limit = tol * max(float(np.abs(g).max()), np.finfo(float).tiny)
    n_iter, violation = _pair_steps(P, x, g, lower, upper, limit, max_iter)
    objective = float(0.5 * x @ (P @ x) + q @ x)
    return DescentResult(x, objective, n_iter, violation <= limit, (start, objective))


@jit()
def _pair_steps(
    P: FloatArray,
    x: FloatArray,
    g: FloatArray,
    lower: float,
    upper: float,
    limit: float,
    max_iter: int,
) -> tuple[int, float]:
    """Take steps in place until the violation is at most `limit`; return their number and it."""
    n = len(x)
    violation = 0.0
    for step in range(max_iter + 1):
        j = -1  # gives weight
        for k in range(n):
            if x[k] > lower and (j < 0 or g[k] > g[j]):
                j = k
        if j < 0:
            return step, 0.0
        row_j = P[j]
        i = -1  # takes weight: largest decrease of the pair's one-dimensional problem
        best = 0.0
        violation = 0.0
        for k in range(n):
            slope = g[j] - g[k]
            if slope > 0.0 and x[k] < upper:
                violation = max(violation, slope)
                room = min(x[j] - lower, upper - x[k])
                curvature = row_j[j] + P[k, k] - 2.0 * row_j[k]
                t = room if slope >= curvature * room else slope / curvature
                decrease = t * (slope - 0.5 * curvature * t)
                if decrease > best:
                    best = decrease
                    i = k
        if i < 0 or violation <= limit or step == max_iter:
            return step, violation
        slope = g[j] - g[i]
        room = min(x[j] - lower, upper - x[i])
        curvature = row_j[j] + P[i, i] - 2.0 * row_j[i]
        if slope >= curvature * room:  # to the end point, set exactly
            t = room
            if x[j] - lower <= upper - x[i]:
                x[i] += t
                x[j] = lower
            else:
                x[j] -= t
                x[i] = upper
        else:
            t = slope / curvature
            x[i] += t
            x[j] -= t
        row_i = P[i]
        for k in range(n):
            g[k] += t * (row_i[k] - row_j[k])
    return max_iter, violation
