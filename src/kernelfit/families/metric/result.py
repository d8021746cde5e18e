"""What the learners of a metric return."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class LearnedMetric:
    r"""A metric.

    Attributes
    ----------
    factor : ndarray of shape (d,) or (d, d)
        L, with which the distance of standardised features is :math:`\|L(x - z)\|`: its diagonal,
        or rows in the order of descending norms. Zero in constant features.
    error : float
        Leave-one-out error of the regression learned with, as a fraction of the variance of the
        targets.
    history : tuple of float
        What was minimised, at the start and after every step.
    ridge : float
        Ridge of the regression, nan where it has none.
    """

    factor: Array
    error: float
    history: tuple[float, ...]
    ridge: float = np.nan


def symmetric_factor(M: Array) -> Array:
    """Return L with L'L = M, its rows orthogonal, in the order of descending norms.

    Parameters
    ----------
    M : ndarray of shape (d, d)
        Positive semidefinite up to rounding.

    Returns
    -------
    ndarray of shape (d, d)
        The largest entry of every row is positive.
    """
    values, vectors = np.linalg.eigh(M)
    L = (np.sqrt(np.maximum(values, 0.0)) * vectors).T[::-1]
    largest = L[np.arange(len(L)), np.abs(L).argmax(axis=1)]
    return np.asarray(np.where(largest < 0.0, -1.0, 1.0)[:, None] * L)
