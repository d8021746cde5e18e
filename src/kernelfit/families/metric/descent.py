r"""Minimisation of the leave-one-out error over the widths of the features and the ridge.

With the widths :math:`w_j = v_j e^{c + m_j}`, v at the start, L-BFGS minimises over
:math:`(\log r, c, m)`

.. math::

    \log L(w, r) + \frac2n \sum_j \log\Big(1 + \frac{m_j^2}{\tau^2}\Big),

where L is the leave-one-out error (`kernelfit.families.metric.leave_one_out`). For normal errors
n/2 times this is the negative log likelihood of the left-out targets and of a Cauchy prior on the
moves m: most ratios of widths stay near their start, which keeps the many from following the noise,
and a few widths may go anywhere. The common scale c is free: without it every width would have to
move against the prior where the scale of the start is wrong.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from kernelfit.families.metric.device import DeviceLeaveOneOut
from kernelfit.families.metric.leave_one_out import PROFILES, LeaveOneOut
from kernelfit.families.metric.points import Points

Array = NDArray[Any]

_START_SCALES = 4.0 ** np.arange(-2, 2)  # of equal widths, in units of 1/d
_START_RIDGES = 10.0 ** np.arange(-3, 1)
_START_POINTS = 200
_MIN_RIDGE = 1e-7  # relative to the largest weight: then A has a Cholesky factor in any rounding
_MAX_RIDGE = 1e4
_REACH = 15.0  # of the logarithm of a width from its start
_PERFECT = 1e-20  # errors below are taken for this, so that they have a logarithm


@dataclass(frozen=True)
class Descent:
    """Result of the steps.

    Attributes
    ----------
    widths : ndarray
    ridge : float
    error : float
        Leave-one-out error, as a fraction of the variance of the targets.
    history : tuple of float
        The objective at the start and after every step.
    """

    widths: Array
    ridge: float
    error: float
    history: tuple[float, ...]


def leave_one_out(
    points: Points, kernel: str, device: str | None = None
) -> LeaveOneOut | DeviceLeaveOneOut:
    """Return the leave-one-out error of a kernel on some points, as a function of the widths."""
    if device is None:
        return LeaveOneOut(points.X, points.Y, points.weight, PROFILES[kernel])
    return DeviceLeaveOneOut(points.X, points.Y, points.weight, kernel, device)


def rounding_ridge(points: Points, widths: Array) -> float:
    """Return the ridge below which rounding of the distances may leave no Cholesky factor.

    Distances are differences of squared norms, which great widths make so large that points next to
    each other seem apart.

    Parameters
    ----------
    points : Points
    widths : ndarray of shape (d,)

    Returns
    -------
    float
    """
    largest = float(np.max(points.X**2 @ widths))
    return 4.0 * np.finfo(float).eps * len(points.X) * largest * float(points.weight.max())


def learn_scale(
    points: Points,
    *,
    kernel: str,
    scale: float,
    ridge: float,
    tol: float,
    device: str | None = None,
) -> tuple[float, float, float]:
    """Return the common width of all features and the ridge that minimise the error, and the error.

    Parameters
    ----------
    points : Points
    kernel : {"rbf", "exponential"}
    scale, ridge : float
        Start.
    tol : float
        The steps end when one lowers the logarithm of the error by less.
    device : str, default=None

    Returns
    -------
    scale, ridge, error : float
    """
    start = np.full(points.X.shape[1], scale)
    found = minimise_error(
        points, start, ridge, kernel, tied=True, tol=tol, max_iter=20, device=device
    )
    return float(found.widths[0]), found.ridge, found.error


def choose_start(points: Points, kernel: str) -> tuple[float, float]:
    """Return the width, equal for all features, and the ridge of the least error on few points."""
    few = points.first(_START_POINTS)
    error = leave_one_out(few, kernel)
    d = max(1, int(points.varies.sum()))
    ridges = np.maximum(_START_RIDGES, _MIN_RIDGE * few.weight.max())
    values = [
        [value for value, _ in error.fits(np.full(points.X.shape[1], scale / d), ridges)]
        for scale in _START_SCALES
    ]
    i, j = np.unravel_index(np.argmin(values), (len(_START_SCALES), len(ridges)))
    return float(_START_SCALES[i]) / d, float(_START_RIDGES[j])


def minimise_error(
    points: Points,
    start: Array,
    ridge: float,
    kernel: str,
    *,
    tied: bool = False,
    tau: float = np.inf,
    tol: float,
    max_iter: int,
    device: str | None,
) -> Descent:
    """Minimise over a common scale of the widths, their moves from the start, and the ridge.

    Parameters
    ----------
    points : Points
    start : ndarray of shape (d,)
        Widths.
    ridge : float
        Start of the ridge.
    kernel : {"rbf", "exponential"}
    tied : bool
        Whether the widths keep their ratios, so that only their scale changes.
    tau : float
        Scale of the prior on the moves.
    tol : float
        The steps end when one lowers the objective by less, relative to it where it is beyond 1.
    max_iter : int
    device : str or None

    Returns
    -------
    Descent
    """
    n, d = points.X.shape
    n_moves = 0 if tied else d
    error = leave_one_out(points, kernel, device)
    history: list[float] = []

    def widths(t: Array) -> Array:
        move = t[2:] if n_moves else 0.0
        return np.asarray(start * np.exp(t[1] + move))

    def objective(t: Array) -> tuple[float, Array]:
        r, w, move = np.exp(t[0]), widths(t), t[2:]
        found = error(w, max(float(r), rounding_ridge(points, w)))
        value = max(found.value / n, _PERFECT)
        slope = w * found.widths
        slope = np.concatenate([[r * found.ridge, slope.sum()], slope[:n_moves]]) / (n * value)
        cost, cost_slope = _prior(move, tau)
        slope[2:] += 2.0 / n * cost_slope
        total = float(np.log(value) + 2.0 / n * cost)
        if not history:
            history.append(total)
        return total, slope

    least = _MIN_RIDGE * points.weight.max()
    result = minimize(
        objective,
        np.append(np.log(max(ridge, least)), np.zeros(1 + n_moves)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(np.log(least), np.log(_MAX_RIDGE))] + [(-_REACH, _REACH)] * (1 + n_moves),
        callback=lambda intermediate_result: history.append(float(intermediate_result.fun)),
        options={"maxiter": max_iter, "ftol": tol, "gtol": 0.0},
    )
    cost, _ = _prior(result.x[2:], tau)
    return Descent(
        widths(result.x),
        float(np.exp(result.x[0])),
        float(np.exp(result.fun - 2.0 / n * cost)),
        tuple(history),
    )


def _prior(move: Array, tau: float) -> tuple[float, Array]:
    """Return the negative logarithm of the density of moves and its gradient."""
    squares = (move / tau) ** 2
    return float(np.log1p(squares).sum()), 2.0 * move / (tau**2 * (1.0 + squares))
