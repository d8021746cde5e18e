"""Monotone spectral projected gradient for a smooth function on a convex set."""

from collections.abc import Callable

import numpy as np

from kernelfit.solvers.result import FloatArray, SolverResult

_SUFFICIENT_DECREASE = 1e-4
_MAX_HALVINGS = 40


def projected_gradient(
    value_and_gradient: Callable[[FloatArray], tuple[float, FloatArray]],
    project: Callable[[FloatArray], FloatArray],
    x: FloatArray,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> SolverResult:
    """Minimise a smooth function, convex or not, over a convex set.

    The step along the projected direction ``project(x - t g) - x`` has the Barzilai-Borwein length
    t and is halved until the function decreases sufficiently, so no iterate is worse than the one
    before it, and the result is never worse than the start.

    Parameters
    ----------
    value_and_gradient : callable
        ``value_and_gradient(x) -> (value, gradient)``.
    project : callable
        Euclidean projection onto the set.
    x : ndarray of shape (n,)
        A feasible start.
    tol : float, default=1e-6
        Stop when the largest entry of ``project(x - t g) - x``, t chosen to make the largest
        entry of ``t g`` one, is at most `tol`.
    max_iter : int, default=100
        Bound on the number of steps.

    Returns
    -------
    SolverResult
        ``converged`` also when rounding allows no further decrease; ``gap`` is nan.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.clustering.projected_gradient import projected_gradient
    >>> centre = np.array([2.0, 0.5])
    >>> def distance(x):
    ...     return float((x - centre) @ (x - centre)), 2 * (x - centre)
    >>> projected_gradient(distance, lambda x: x.clip(0, 1), np.zeros(2)).x
    array([1. , 0.5])
    """
    value, g = value_and_gradient(x)
    history = [(value, np.nan)]
    step = 0.0
    converged = False
    n_iter = 0
    while n_iter < max_iter:
        unit = 1.0 / max(float(np.abs(g).max()), np.finfo(float).tiny)
        if float(np.abs(project(x - unit * g) - x).max()) <= tol:
            converged = True
            break
        direction = project(x - (step if step > 0 else unit) * g) - x
        slope = float(g @ direction)
        t = 1.0
        for _ in range(_MAX_HALVINGS):
            new_x = x + t * direction
            new_value, new_g = value_and_gradient(new_x)
            if new_value <= value + _SUFFICIENT_DECREASE * t * slope:
                break
            t *= 0.5
        else:
            converged = True  # the slope is lost in the rounding of the values
            break
        n_iter += 1
        moved, bent = new_x - x, new_g - g
        curvature = float(moved @ bent)
        step = float(moved @ moved) / curvature if curvature > 0 else 10.0 * step
        x, value, g = new_x, new_value, new_g
        history.append((value, np.nan))
    return SolverResult(x, value, np.nan, n_iter, converged, tuple(history))
