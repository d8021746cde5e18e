r"""Prediction intervals and sets by CV+.

Let :math:`k(i)` be the fold that tests row i, :math:`\mu_k` the machine trained without fold k, and
:math:`R_i = |y_i - \mu_{k(i)}(x_i)|`. The interval at x goes from the :math:`\alpha` quantile of
:math:`\mu_{k(i)}(x) - R_i` to the :math:`1 - \alpha` quantile of :math:`\mu_{k(i)}(x) + R_i` [1]_.
A set holds the classes whose score :math:`1 - p_{k(i)}(c \mid x)` is not larger than
:math:`R_i = 1 - p_{k(i)}(y_i \mid x_i)` for too many rows [2]_. For exchangeable rows, whatever
their distribution, the truth is inside with probability at least :math:`1 - 2\alpha -
\min\{2(1 - 1/K)/(n/K + 1), (1 - K/n)/(K + 1)\}` for K folds; in practice with about
:math:`1 - \alpha`.

References
----------
.. [1] R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani. Predictive inference with the
   jackknife+. Annals of Statistics 49, 2021. Theorem 4.
.. [2] Y. Romano, M. Sesia, E. J. Candes. Classification with valid and adaptive coverage. NeurIPS
   2020. Section 2.3.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_CHUNK = 2**22  # values at a time


def intervals(
    predictions: Array, fold: Array, residuals: Array, weight: Array, alpha: float
) -> Array:
    """Return CV+ intervals.

    Parameters
    ----------
    predictions : ndarray of shape (n_folds, m)
        Of the new points by the machine of every fold.
    fold : ndarray of int of shape (n,)
        The fold that tests a training row.
    residuals : ndarray of shape (n,)
        Absolute out-of-fold errors of the training rows.
    weight : ndarray of shape (n,)
        A row of weight 2 counts as two.
    alpha : float
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (m, 2)
        Infinite ends where there are too few rows for the level.
    """
    m = predictions.shape[1]
    out = np.empty((m, 2))
    step = max(1, _CHUNK // len(fold))
    for start in range(0, m, step):
        centre = predictions[fold, start : start + step].T
        out[start : start + step, 0] = -_upper_quantile(residuals - centre, weight, alpha)
        out[start : start + step, 1] = _upper_quantile(residuals + centre, weight, alpha)
    return out


def sets(probabilities: Array, fold: Array, truth: Array, weight: Array, alpha: float) -> Array:
    """Return CV+ sets of classes.

    Parameters
    ----------
    probabilities : ndarray of shape (n_folds, m, n_classes)
        Of the new points by the machine of every fold.
    fold : ndarray of int of shape (n,)
        The fold that tests a training row.
    truth : ndarray of shape (n,)
        Out-of-fold probabilities of the true class of the training rows.
    weight : ndarray of shape (n,)
        A row of weight 2 counts as two.
    alpha : float
        Between 0 and 1.

    Returns
    -------
    ndarray of bool of shape (m, n_classes)
        The most probable class is in every set.
    """
    outvoted = np.zeros(probabilities.shape[1:])
    for k, p in enumerate(probabilities):
        rows = fold == k
        order = np.argsort(truth[rows])
        mass = np.append(0.0, np.cumsum(weight[rows][order]))
        # The mass of rows that are more probable in their class than x is in this one.
        outvoted += mass[-1] - mass[np.searchsorted(truth[rows][order], p, side="right")]
    inside: Array = outvoted < (1.0 - alpha) * (weight.sum() + 1.0)
    best = probabilities.mean(axis=0).argmax(axis=1)
    inside[np.arange(len(inside)), best] = True
    return inside


def _upper_quantile(values: Array, weight: Array, alpha: float) -> Array:
    """Return for every row the least value with a mass of (1 - alpha)(n + 1) not above it."""
    needed = (1.0 - alpha) * (weight.sum() + 1.0)
    order = np.argsort(values, axis=1)
    mass = np.cumsum(weight[order], axis=1)
    place = (mass < needed * (1.0 - 1e-12)).sum(axis=1)
    values = np.column_stack(
        [np.take_along_axis(values, order, axis=1), np.full(len(values), np.inf)]
    )
    return np.asarray(values[np.arange(len(values)), place])
