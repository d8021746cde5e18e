"""Monomials of several variables, and sums of them evaluated in a fixed order."""

from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.utils.jit import jit

Array = NDArray[Any]
IntArray = NDArray[np.intp]


def exponents(n: int, degree: int) -> IntArray:
    """Return the exponents of all monomials in n variables up to a degree, the lowest first.

    Parameters
    ----------
    n, degree : int

    Returns
    -------
    ndarray of shape (binom(n + degree, degree), n)

    Examples
    --------
    >>> from kernelfit.kernels.monomials import exponents
    >>> exponents(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    tables = []
    for total in range(degree + 1):
        rows = np.array(list(combinations_with_replacement(range(n), total)), dtype=np.intp)
        table = np.zeros((count(n, degree=total) - count(n, degree=total - 1), n), dtype=np.intp)
        np.add.at(table, (np.arange(len(table))[:, None], rows.reshape(len(table), total)), 1)
        tables.append(table)
    return np.concatenate(tables)


def count(n: int, degree: int) -> int:
    """Return the number of monomials in n variables up to a degree, without listing them."""
    return comb(n + degree, n) if degree >= 0 else 0


def monomials(X: Array, powers: IntArray) -> Array:
    """Evaluate monomials at the rows of X.

    Parameters
    ----------
    X : ndarray of shape (m, n)
    powers : ndarray of shape (q, n)
        Their exponents.

    Returns
    -------
    ndarray of shape (m, q)
    """
    columns = np.ascontiguousarray(X.T)
    Z = np.ones((len(powers), X.shape[0]))
    for row, k in zip(*np.nonzero(powers), strict=True):
        for _ in range(powers[row, k]):
            Z[row] *= columns[k]
    return np.ascontiguousarray(Z.T)


@jit()
def ordered_product(A: Array, B: Array) -> Array:
    """Return A @ B, every entry summed from first to last term.

    A row of the result depends on that row of A alone, bit for bit, whatever the other rows are;
    the blocked products of a BLAS do not promise that.

    Parameters
    ----------
    A : ndarray of shape (m, q)
    B : ndarray of shape (q, r)

    Returns
    -------
    ndarray of shape (m, r)
    """
    out = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            factor, row = A[i, k], B[k]
            for j in range(B.shape[1]):
                out[i, j] += factor * row[j]
    return out
