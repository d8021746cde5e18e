"""Choices that rounding does not decide: of values that are equal up to it, the first is taken."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROUNDING = 1e-9  # relative; above that of any sum here, below any difference that matters


def first_least(values: ArrayLike) -> int:
    """Return the index of the least value, of those equal to it up to rounding the first.

    Parameters
    ----------
    values : array-like of shape (n,)

    Returns
    -------
    int

    Examples
    --------
    >>> from kernelfit.clustering.ties import first_least
    >>> first_least([3.0, 1.0 + 1e-12, 1.0])
    1
    """
    values = np.asarray(values)
    least = values.min()
    return int(np.argmax(values <= least + ROUNDING * abs(least)))


def first_least_columns(
    values: NDArray[np.float64], scale: NDArray[np.float64] | float
) -> NDArray[np.intp]:
    """Return the column of the least value of every row, of equal ones the first.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Finite or positive infinity.
    scale : float or ndarray of shape (n, 1)
        Size of the terms that the values are sums of: values that differ by less than 1e-9 of it
        are equal.

    Returns
    -------
    ndarray of shape (n,)
    """
    limit = values.min(axis=1, keepdims=True) + ROUNDING * scale
    return np.asarray((values <= limit).argmax(axis=1))
