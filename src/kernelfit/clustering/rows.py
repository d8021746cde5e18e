"""Equal rows of affinities count as one, and rows met in training are recognised."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelfit.utils.distinct import Rows, group_rows
from kernelfit.utils.jit import jit

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Marks = NDArray[np.uint64]


def distinct_affinities(K: Any, weight: Array, marks: Marks) -> Rows:
    """Return the distinct rows of an affinity matrix, in the order in which they are given.

    Parameters
    ----------
    K : ndarray or csr_array of shape (n, n)
    weight : ndarray of shape (n,)
        Not negative, not all zero. Rows of weight zero are left out.
    marks : ndarray of shape (n, 2)
        As `row_marks` returns them for K.

    Returns
    -------
    Rows
    """
    kept = np.flatnonzero(weight > 0)
    order = kept[np.lexsort((marks[kept, 1], marks[kept, 0]))]
    new = np.append(True, np.any(marks[order[1:]] != marks[order[:-1]], axis=1))
    rows = group_rows(order, new, weight)
    back = np.argsort(rows.first)
    rank = np.empty_like(back)
    rank[back] = np.arange(len(back))
    place = np.where(rows.place >= 0, rank[rows.place], -1)
    return Rows(rows.first[back], place, rows.counts[back])


def row_marks(X: Any) -> Marks:
    """Return two numbers a row that differ, for all practical purposes, between different rows.

    Each is a sum over the non-zero entries of a row, so that sparse and dense rows have the same
    marks. That two different rows share both numbers has a probability of about 2^-64.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        A sparse matrix is in canonical format.

    Returns
    -------
    ndarray of shape (n, 2)
    """
    keys = np.random.PCG64(0).random_raw(2 * X.shape[1]).reshape(2, -1)
    if sparse.issparse(X):
        data = np.ascontiguousarray(X.data, dtype=np.float64).view(np.uint64)
        return np.asarray(_sparse_marks(data, X.indices, X.indptr, keys))
    return np.asarray(_dense_marks(np.ascontiguousarray(X).view(np.uint64), keys))


@jit()
def _term(bits: np.uint64, key: np.uint64) -> np.uint64:
    """Return the product of the two halves of an entry, each moved by a half of its key.

    The sum over a row is the universal hash function NH of Black et al. (UMAC, 1999).
    """
    half = np.uint64(0xFFFFFFFF)
    low = ((bits & half) + (key & half)) & half
    high = ((bits >> np.uint64(32)) + (key >> np.uint64(32))) & half
    return low * high if (bits << np.uint64(1)) != 0 else np.uint64(0)


@jit()
def _dense_marks(bits: Marks, keys: Marks) -> Marks:
    n, d = bits.shape
    marks = np.zeros((n, 2), dtype=np.uint64)
    for i in range(n):
        a, b = np.uint64(0), np.uint64(0)
        for j in range(d):
            a += _term(bits[i, j], keys[0, j])
            b += _term(bits[i, j], keys[1, j])
        marks[i, 0], marks[i, 1] = a, b
    return marks


@jit()
def _sparse_marks(bits: Marks, indices: Index, starts: Index, keys: Marks) -> Marks:
    n = len(starts) - 1
    marks = np.zeros((n, 2), dtype=np.uint64)
    for i in range(n):
        for at in range(starts[i], starts[i + 1]):
            marks[i, 0] += _term(bits[at], keys[0, indices[at]])
            marks[i, 1] += _term(bits[at], keys[1, indices[at]])
    return marks


class KnownRows:
    """The distinct rows of the training data, by their marks.

    Parameters
    ----------
    marks : ndarray of shape (m, 2)
        Of the distinct rows.
    """

    def __init__(self, marks: Marks) -> None:
        self._order = np.argsort(marks[:, 0], kind="stable")
        self._marks = marks[self._order]

    def find(self, X: Any) -> Index:
        """Return which of the known rows every row of X is, -1 for a new row."""
        marks = row_marks(X)
        at = np.searchsorted(self._marks[:, 0], marks[:, 0])
        at = np.minimum(at, len(self._marks) - 1)
        same = np.all(self._marks[at] == marks, axis=1)
        return np.where(same, self._order[at], -1)
