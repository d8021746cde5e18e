"""The tasks of the usual losses; :mod:`kernelfit.tasks.task` has their table."""

from typing import Any

import numpy as np
import numpy.typing as npt

from kernelfit.tasks.certificate import FloatArray
from kernelfit.tasks.task import Task

# Of a point in a squared loss: products with the ridge of a smaller one could overflow.
LEAST_COST = 1e-150


def _cost(y: FloatArray, C: Any) -> FloatArray:
    if isinstance(C, np.ndarray) and C.shape == y.shape:
        return C
    return np.full(y.shape, C, dtype=np.float64)


def _labels(y: npt.ArrayLike) -> FloatArray:
    p = np.ascontiguousarray(y, dtype=np.float64)
    wrong = p * p != 1.0
    if np.count_nonzero(wrong):
        raise ValueError(f"expected labels -1 and 1, got {p[wrong][0]:g}")
    return p


def _ridge(p: FloatArray, C: Any) -> FloatArray:
    return 0.5 / np.maximum(_cost(p, C), LEAST_COST)


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
    p = _labels(y)
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


def squared_hinge(y: npt.ArrayLike, C: float | FloatArray, *, fit_intercept: bool = True) -> Task:
    """Return the task of classification by the squared hinge loss.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels -1 and 1.
    C : float or ndarray of shape (n,)
        Cost of each point, > 0.
    fit_intercept : bool, default=True

    Returns
    -------
    Task
    """
    p = _labels(y)
    lower, upper = np.where(p < 0.0, -np.inf, 0.0), np.where(p > 0.0, np.inf, 0.0)
    return Task(p, lower, upper, 0.0, _ridge(p, C), 0.0 if fit_intercept else None)


def squared_tube(
    y: npt.ArrayLike, C: float | FloatArray, epsilon: float, *, fit_intercept: bool = True
) -> Task:
    """Return the task of regression by the squared epsilon-insensitive loss.

    Parameters
    ----------
    y : array-like of shape (n,)
        Targets.
    C : float or ndarray of shape (n,)
        Cost of each point, > 0.
    epsilon : float
        Half the width of the tube, >= 0; without a tube it is the squared loss.
    fit_intercept : bool, default=True

    Returns
    -------
    Task
    """
    p = np.ascontiguousarray(y, dtype=np.float64)
    free = np.full(p.shape, np.inf)
    return Task(p, -free, free, epsilon, _ridge(p, C), 0.0 if fit_intercept else None)


def squared(y: npt.ArrayLike, C: float | FloatArray, *, fit_intercept: bool = True) -> Task:
    """Return the task of regression, or classification, by the squared loss: kernel ridge.

    Parameters
    ----------
    y : array-like of shape (n,)
        Targets, or labels -1 and 1.
    C : float or ndarray of shape (n,)
        Cost of each point, > 0.
    fit_intercept : bool, default=True

    Returns
    -------
    Task
    """
    return squared_tube(y, C, 0.0, fit_intercept=fit_intercept)


def pinball(
    y: npt.ArrayLike, C: float | FloatArray, quantile: float, *, fit_intercept: bool = True
) -> Task:
    """Return the task of a conditional quantile by the pinball loss.

    Parameters
    ----------
    y : array-like of shape (n,)
        Targets.
    C : float or ndarray of shape (n,)
        Cost of each point, >= 0.
    quantile : float
        The level, in (0, 1).
    fit_intercept : bool, default=True

    Returns
    -------
    Task
    """
    p = np.ascontiguousarray(y, dtype=np.float64)
    cost = _cost(p, C)
    total = 0.0 if fit_intercept else None
    return Task(p, (quantile - 1.0) * cost, quantile * cost, total=total)


def one_class(weight: npt.ArrayLike, nu: float) -> Task:
    """Return the task of the support of a distribution, in its nu form.

    Parameters
    ----------
    weight : array-like of shape (n,)
        Weight of each point, >= 0.
    nu : float
        In (0, 1]: at most this share of the weight is outside.

    Returns
    -------
    Task
    """
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    zero = np.zeros(weight.shape)
    return Task(zero, zero, weight / (nu * weight.sum()), total=1.0)
