r"""Widths of the features by the leave-one-out error of kernel ridge regression.

Over :math:`(\log w, \log r)` L-BFGS minimises

.. math::

    \log L(w, r) + \frac2n \sum_j \log\Big(1 + \frac{\log^2(w_j / w_0)}{\tau^2}\Big),

where L is the leave-one-out error (`kernelfit.families.metric.leave_one_out`). For normal errors
n/2 times this is the negative log likelihood of the left-out targets and of a Cauchy prior on the
logarithms of the widths: most stay near their common start, which keeps the many from following the
noise, and a few may go anywhere. The problem is not convex. It starts from the best of a few equal
widths.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from kernelfit.families.metric.device import DeviceLeaveOneOut
from kernelfit.families.metric.leave_one_out import PROFILES, LeaveOneOut
from kernelfit.families.metric.points import Points
from kernelfit.families.metric.result import LearnedMetric

Array = NDArray[Any]

_START_SCALES = 4.0 ** np.arange(-2, 2)  # of equal widths, in units of 1/d
_START_RIDGES = 10.0 ** np.arange(-3, 1)
_START_POINTS = 200
_MIN_RIDGE = 1e-7  # relative to the largest weight: then A has a Cholesky factor in any rounding
_MAX_RIDGE = 1e4
_REACH = 15.0  # of the logarithm of a width from its start
_PERFECT = 1e-20  # errors below are taken for this, so that they have a logarithm


def learn_widths(
    points: Points,
    *,
    kernel: str = "rbf",
    tau: float = 0.3,
    tol: float = 1e-4,
    max_iter: int = 50,
    device: str | None = None,
) -> LearnedMetric:
    """Return the widths of the features that minimise the leave-one-out error.

    Parameters
    ----------
    points : Points
    kernel : {"rbf", "exponential"}
    tau : float
        Scale of the Cauchy prior on the logarithm of a width.
    tol : float
        The steps end when one lowers the objective by less, relative to it where it is beyond 1.
    max_iter : int
    device : str, default=None
        Where to compute, as torch writes it; None for the processor.

    Returns
    -------
    LearnedMetric
        Its factor is the roots of the widths.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.families.metric.points import draw_points
    >>> from kernelfit.families.metric.widths import learn_widths
    >>> X = np.random.default_rng(0).uniform(-3, 3, (60, 2))
    >>> points = draw_points(X, np.sin(X[:, :1]), np.ones(60), 600, 0)
    >>> factor = learn_widths(points).factor
    >>> bool(factor[0] > 10 * factor[1])
    True
    """
    scale, ridge = choose_start(points, kernel)
    options: dict[str, Any] = {"tau": tau, "tol": tol, "max_iter": max_iter, "device": device}
    t, error, history = _minimise(points, scale, ridge, kernel, **options)
    factor = np.sqrt(scale * np.exp(t[:-1])) * points.varies
    return LearnedMetric(factor, error, history, float(np.exp(t[-1])))


def leave_one_out(
    points: Points, kernel: str, device: str | None = None
) -> LeaveOneOut | DeviceLeaveOneOut:
    """Return the leave-one-out error of a kernel on some points, as a function of the widths."""
    if device is None:
        return LeaveOneOut(points.X, points.Y, points.weight, PROFILES[kernel])
    return DeviceLeaveOneOut(points.X, points.Y, points.weight, kernel, device)


def learn_scale(
    points: Points,
    *,
    kernel: str,
    scale: float,
    ridge: float,
    tol: float = 1e-3,
    device: str | None = None,
) -> tuple[float, float, float]:
    """Return the width, equal for all features, and the ridge that minimise the error, and it.

    Parameters
    ----------
    points : Points
    kernel : {"rbf", "exponential"}
    scale, ridge : float
        Where to start.
    tol : float
        The steps end when one lowers the logarithm of the error by less.
    device : str, default=None

    Returns
    -------
    scale, ridge, error : float
    """
    options: dict[str, Any] = {"tied": True, "tol": tol, "max_iter": 20, "device": device}
    t, error, _ = _minimise(points, scale, ridge, kernel, **options)
    return scale * float(np.exp(t[0])), float(np.exp(t[-1])), error


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


def _minimise(
    points: Points,
    scale: float,
    ridge: float,
    kernel: str,
    *,
    tied: bool = False,
    tau: float = np.inf,
    tol: float,
    max_iter: int,
    device: str | None,
) -> tuple[Array, float, tuple[float, ...]]:
    """Minimise over the logarithms of the widths, relative to the scale, and of the ridge.

    Return them, the error and the history of the objective. Tied widths are one variable.
    """
    n, d = points.X.shape
    error = leave_one_out(points, kernel, device)
    history: list[float] = []

    def objective(t: Array) -> tuple[float, Array]:
        move, r = t[:-1], np.exp(t[-1])
        w = np.broadcast_to(scale * np.exp(move), d)
        found = error(w, float(r))
        value = max(found.value / n, _PERFECT)
        slope = w * found.widths
        slope = np.append(slope.sum() if tied else slope, r * found.ridge) / (n * value)
        cost, cost_slope = _prior(move, tau)
        slope[:-1] += 2.0 / n * cost_slope
        total = float(np.log(value) + 2.0 / n * cost)
        if not history:
            history.append(total)
        return total, slope

    least = _MIN_RIDGE * points.weight.max()
    n_moves = 1 if tied else d
    result = minimize(
        objective,
        np.append(np.zeros(n_moves), np.log(max(ridge, least))),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-_REACH, _REACH)] * n_moves + [(np.log(least), np.log(_MAX_RIDGE))],
        callback=lambda intermediate_result: history.append(float(intermediate_result.fun)),
        options={"maxiter": max_iter, "ftol": tol, "gtol": 0.0},
    )
    cost, _ = _prior(result.x[:-1], tau)
    return result.x, float(np.exp(result.fun - 2.0 / n * cost)), tuple(history)


def _prior(move: Array, tau: float) -> tuple[float, Array]:
    """Return the negative logarithm of the density of moves and its gradient."""
    squares = (move / tau) ** 2
    return float(np.log1p(squares).sum()), 2.0 * move / (tau**2 * (1.0 + squares))
