r"""Weights of an ensemble as a convex problem on the simplex, solved to a certified gap.

.. math::

    \min_w\; F(w) = L(w) + \tfrac{\rho}{2} \|w - \tfrac1m \mathbf 1\|^2,
    \qquad w \ge 0,\; \mathbf 1'w = 1

L is the mean loss of the mixed out-of-fold predictions: half the squared error, or the log loss of
the mixed probabilities. As F is convex, every w bounds the optimum from below by its linear model,

.. math:: F(w) - F^* \le \nabla F(w)'w - \min_j \nabla F(w)_j,

which is the certificate of Frank and Wolfe (1956), and which anyone can recompute.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

FloatArray = NDArray[np.float64]

_FLOOR = 1e-15  # of a probability, so that no single row rules a member out
_MAX_NEWTON_STEPS = 100


@dataclass(frozen=True)
class Stack:
    """The weights of an ensemble.

    Attributes
    ----------
    weights : ndarray of shape (n_members,)
        Not negative, of sum one.
    objective : float
        F at the weights.
    gap : float
        An upper bound of its distance to the optimum.
    n_iter : int
        Quadratic programmes solved.
    pull : float
        The factor rho.
    """

    weights: FloatArray
    objective: float
    gap: float
    n_iter: int
    pull: float


def stack_squared(predictions: FloatArray, y: FloatArray, weight: FloatArray, pull: float) -> Stack:
    """Return the weights that minimise the mean squared error of the mixture.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n)
        Of rows that the member was not trained on.
    y : ndarray of shape (n,)
    weight : ndarray of shape (n,)
        Weights of the rows.
    pull : float
        The factor of the pull to equal weights, not negative.

    Returns
    -------
    Stack

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.ensemble.stacking import stack_squared
    >>> y = np.array([0.0, 1.0, 2.0])
    >>> stack = stack_squared(np.stack([y + 1.0, y - 3.0]), y, np.ones(3), pull=0.0)
    >>> stack.weights
    array([0.75, 0.25])
    """
    m = len(predictions)
    share = weight / weight.sum()
    # As the weights sum to one, the residual of the mixture is the mixture of residuals.
    residual = predictions - y
    H = (residual * share) @ residual.T + pull * np.eye(m)
    c = np.full(m, pull / m)
    start = np.zeros(m)
    start[np.argmin(H.diagonal())] = 1.0
    w, n_iter = solve_simplex_qp(H, c, start)
    gradient = H @ w - c
    objective = 0.5 * w @ H @ w - c @ w + 0.5 * pull / m
    return Stack(w, float(objective), _frank_wolfe_gap(w, gradient), n_iter, pull)


def stack_log(
    probabilities: FloatArray, weight: FloatArray, pull: float, *, tol: float = 1e-8
) -> Stack:
    """Return the weights that minimise the log loss of the mixed probabilities.

    Newton's method: every step minimises the quadratic model on the simplex exactly.

    Parameters
    ----------
    probabilities : ndarray of shape (n_members, n)
        Of the true class, for rows that the member was not trained on.
    weight : ndarray of shape (n,)
        Weights of the rows.
    pull : float
        The factor of the pull to equal weights, not negative.
    tol : float, default=1e-8
        The gap at which to stop.

    Returns
    -------
    Stack

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.ensemble.stacking import stack_log
    >>> p = np.array([[0.9, 0.9, 0.1], [0.1, 0.9, 0.9], [0.1, 0.1, 0.1]])
    >>> stack_log(p, np.ones(3), pull=0.0).weights.round(3)
    array([0.5, 0.5, 0. ])
    """
    m = len(probabilities)
    share = weight / weight.sum()
    p = np.maximum(probabilities, _FLOOR)
    w = np.full(m, 1.0 / m)

    def value(w: FloatArray) -> float:
        return float(-share @ np.log(w @ p) + 0.5 * pull * np.sum((w - 1.0 / m) ** 2))

    def derivatives(w: FloatArray) -> tuple[FloatArray, FloatArray]:
        ratio = p / (w @ p)
        gradient = pull * (w - 1.0 / m) - ratio @ share
        return gradient, (ratio * share) @ ratio.T + pull * np.eye(m)

    return Stack(*_newton_on_simplex(value, derivatives, w, tol), pull)


def _newton_on_simplex(
    value: Callable[[FloatArray], float],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    w: FloatArray,
    tol: float,
) -> tuple[FloatArray, float, float, int]:
    """Minimise a convex function on the simplex by Newton steps with an Armijo rule.

    Return the weights, the objective, the gap and the number of steps.
    """
    objective = value(w)
    for step in range(1, _MAX_NEWTON_STEPS + 1):
        gradient, hessian = derivatives(w)
        gap = _frank_wolfe_gap(w, gradient)
        if gap <= tol:
            return w, objective, gap, step - 1
        target, _ = solve_simplex_qp(hessian, hessian @ w - gradient, w)
        direction = target - w
        slope = gradient @ direction
        length = 1.0
        while value(w + length * direction) > objective + 1e-4 * length * slope:
            length *= 0.5
            if length < 1e-12:  # rounding: no step lowers the objective any more
                return w, objective, gap, step
        w = np.maximum(w + length * direction, 0.0)
        w /= w.sum()
        objective = value(w)
    gap = _frank_wolfe_gap(w, derivatives(w)[0])
    return w, objective, gap, _MAX_NEWTON_STEPS


def solve_simplex_qp(H: FloatArray, c: FloatArray, start: FloatArray) -> tuple[FloatArray, int]:
    r"""Minimise :math:`\tfrac12 w'Hw - c'w` over the simplex by a primal active set.

    Every step solves the equations of the positive weights exactly, so the method ends after
    finitely many with the solution, up to rounding.

    Parameters
    ----------
    H : ndarray of shape (m, m)
        Positive semidefinite.
    c : ndarray of shape (m,)
    start : ndarray of shape (m,)
        In the simplex.

    Returns
    -------
    w : ndarray of shape (m,)
    n_iter : int
        How many systems were solved.
    """
    m = len(c)
    # Equal members make H singular: this much on the diagonal is below its rounding.
    H = H + (m * np.finfo(float).eps * float(np.trace(H)) or np.finfo(float).tiny) * np.eye(m)
    w, free = start.copy(), start > 0.0
    n_iter = 0
    while n_iter < 50 * (m + 1):
        n_iter += 1
        x, level = _on_face(H, c, free)
        if (x[free] < 0.0).any():  # to the first bound on the way, which becomes active
            falling = np.flatnonzero(free & (x < 0.0))
            length = w[falling] / (w[falling] - x[falling])
            first = falling[np.argmin(length)]
            w = np.maximum(w + length.min() * (x - w), 0.0)
            w[first] = 0.0
            free[first] = False
            continue
        w = x
        slack = np.where(free, 0.0, H @ w - c - level)
        entering = int(np.argmin(slack))
        if slack[entering] >= -1e-13 * (np.abs(c).max() + np.abs(H).max()):
            break
        free[entering] = True
    w = np.maximum(w, 0.0)
    return w / w.sum(), n_iter


def _on_face(H: FloatArray, c: FloatArray, free: NDArray[Any]) -> tuple[FloatArray, float]:
    """Return the minimiser over the plane of the face, and the derivative that all share there."""
    factor = cho_factor(H[np.ix_(free, free)])
    ones = np.ones(int(free.sum()))
    toward, shift = cho_solve(factor, c[free]), cho_solve(factor, ones)
    level = (1.0 - toward.sum()) / shift.sum()
    x = np.zeros(len(c))
    x[free] = toward + level * shift
    return x, float(level)


def _frank_wolfe_gap(w: FloatArray, gradient: FloatArray) -> float:
    return float(max(gradient @ w - gradient.min(), 0.0))
