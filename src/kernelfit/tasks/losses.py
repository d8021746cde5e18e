"""The tasks of the usual losses; :mod:`kernelfit.tasks.task` has their table."""

from typing import Any

import numpy as np
import numpy.typing as npt

from kernelfit.tasks.certificate import FloatArray
from kernelfit.tasks.task import Task


def _cost(y: FloatArray, C: Any) -> FloatArray:
    if isinstance(C, np.ndarray) and C.shape == y.shape:
        return C
    return np.full(y.shape, C, dtype=np.float64)


def hinge(y: npt.ArrayLike, C: float | FloatArray, *, fit_intercept: bool = True) -> Task:
    """Return the task of classification by the hinge loss.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels -1 and 1.
    C : float or ndarray of shape (n,)
        Cost of each point, >= 0.
    fit_intercept : bool, default=True

    Returns
    -------
    Task
    """
    p = np.ascontiguousarray(y, dtype=np.float64)
    bound = p * _cost(p, C)
    total = 0.0 if fit_intercept else None
    return Task(p, np.minimum(bound, 0.0), np.maximum(bound, 0.0), total=total)


def tube(
    y: npt.ArrayLike, C: float | FloatArray, epsilon: float, *, fit_intercept: bool = True
) -> Task:
    """Return the task of regression by the epsilon-insensitive loss.

    Parameters
    ----------
    y : array-like of shape (n,)
        Targets.
    C : float or ndarray of shape (n,)
        Cost of each point, >= 0.
    epsilon : float
        Half the width of the tube, >= 0.
    fit_intercept : bool, default=True

    Returns
    -------
    Task
    """
    p = np.ascontiguousarray(y, dtype=np.float64)
    bound = _cost(p, C)
    return Task(p, -bound, bound, epsilon, total=0.0 if fit_intercept else None)
