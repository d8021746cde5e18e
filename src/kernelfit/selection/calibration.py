r"""Probabilities from decision values: one scale, and one offset a class.

.. math::

    P(c \mid x) \propto \exp(a\, s_c(x) + b_c), \qquad
    P(1 \mid x) = \frac{1}{1 + \exp(-a f(x) - b)} \text{ for two classes}

fitted by the (convex) log loss to decision values of points that the machine was not trained on.
One more point, of unknown class and spread over all scores, keeps numbers finite where the classes
are separated.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_MAX_STEPS = 50  # of Newton's method
_SETTLED = 1e-10  # relative length of a step below which it has settled


@dataclass(frozen=True)
class Calibration:
    """Turns scores into probabilities.

    Attributes
    ----------
    scale : float
        Not negative: a larger score is never less probable.
    offset : ndarray of shape (n_classes,)
        That of the first class is 0.
    """

    scale: float
    offset: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return probabilities of shape (n, n_classes).

        Parameters
        ----------
        scores : ndarray of shape (n, n_classes) or (n, 1)
            One column stands for the second of two classes.
        """
        logits = _both(scores) * self.scale + self.offset
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))


def fit_calibration(
    scores: FloatArray,
    labels: NDArray[Any],
    weight: FloatArray,
) -> Calibration:
    """Fit the scale and the offsets.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes) or (n, 1)
        Decision values of points that the machine was not trained on.
    labels : ndarray of int of shape (n,)
        Class indices.
    weight : ndarray of shape (n,)

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.selection.calibration import fit_calibration
    >>> scores = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> calibrated = fit_calibration(scores, np.array([0, 0, 1, 1]), np.ones(4))
    >>> calibrated(np.array([[0.0]])).round(3)
    array([[0.5, 0.5]])
    """
    scores = _both(scores)
    k = scores.shape[1]
    unit = float(np.sqrt(np.mean(scores**2))) or 1.0
    scores = scores / unit
    unknown = weight / weight.sum()  # of the one more point
    targets = np.eye(k)[labels] * weight[:, None] + unknown[:, None] / k
    x = np.append(1.0, np.zeros(k - 1))
    value, gradient, hessian = _loss(scores, targets, x)
    mass = float(targets.sum())
    for _ in range(_MAX_STEPS):
        free = np.ones(k, dtype=bool)
        free[0] = x[0] > 0.0 or gradient[0] < 0.0  # the scale stays at 0 unless that can fall
        step = np.zeros(k)
        # Where all probabilities are 0 or 1 there is no curvature.
        ridge = 1e-12 * (np.trace(hessian) + mass) * np.eye(int(free.sum()))
        step[free] = -np.linalg.solve(hessian[np.ix_(free, free)] + ridge, gradient[free])
        length = 1.0
        while True:  # halve until the loss falls
            trial = x + length * step
            trial[0] = max(trial[0], 0.0)
            found = _loss(scores, targets, trial)
            if found[0] <= value or length < 1e-10:
                break
            length *= 0.5
        settled = np.abs(length * step).max() <= _SETTLED * (1.0 + np.abs(x).max())
        if found[0] <= value:
            x = trial
            value, gradient, hessian = found
        if settled:
            break
    return Calibration(float(x[0]) / unit, np.append(0.0, x[1:]))


def _loss(
    scores: FloatArray, targets: FloatArray, x: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the log loss at ``x = (scale, offsets but the first)``, its gradient and Hessian."""
    logits = x[0] * scores + np.append(0.0, x[1:])
    mass = targets.sum(axis=1)
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    total = p.sum(axis=1)
    p /= total[:, None]
    value = float(mass @ np.log(total) - np.sum(targets * logits))
    weighted = p * mass[:, None]
    change = weighted - targets
    gradient = np.append(np.sum(change * scores), change.sum(axis=0)[1:])
    mean = np.sum(p * scores, axis=1)
    mixed = np.sum(weighted * (scores - mean[:, None]), axis=0)[1:]
    square = float(np.sum(weighted * scores**2) - mass @ mean**2)
    offsets = (np.diag(weighted.sum(axis=0)) - p.T @ weighted)[1:, 1:]
    hessian = np.block([[np.array([[square]]), mixed[None]], [mixed[:, None], offsets]])
    return value, gradient, hessian


def with_largest(p: FloatArray, chosen: NDArray[Any]) -> FloatArray:
    """Return probabilities whose largest is that of the chosen class.

    Where the machine decides for a class that is not quite the most probable, both get their mean.

    Parameters
    ----------
    p : ndarray of shape (n, n_classes)
    chosen : ndarray of int of shape (n,)

    Returns
    -------
    ndarray of shape (n, n_classes)
    """
    p = p.copy()
    top = p.argmax(axis=1)
    rows = np.flatnonzero(top != chosen)
    mean = 0.5 * (p[rows, top[rows]] + p[rows, chosen[rows]])
    p[rows, top[rows]] = mean * (1.0 - 1e-12)
    p[rows, chosen[rows]] = mean * (1.0 + 1e-12)
    return p


def _both(scores: FloatArray) -> FloatArray:
    """Return one column a class."""
    if scores.shape[1] > 1:
        return scores
    return np.hstack([np.zeros(scores.shape), scores])
