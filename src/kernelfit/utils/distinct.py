"""Equal rows count as one point."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_SIGN = np.uint64(1 << 63)
_CHUNK_BYTES = 2**19  # of keys made at a time: they stay in the cache


@dataclass(frozen=True)
class Rows:
    """The distinct rows of some data.

    Attributes
    ----------
    first : ndarray of shape (m,)
        One row of the data for every distinct row.
    place : ndarray of shape (n,)
        The distinct row that each row of the data is; -1 for a row of weight zero.
    counts : ndarray of shape (m,)
        Sums of the weights of the equal rows, positive.
    """

    first: Index
    place: Index
    counts: Array

    @property
    def sizes(self) -> Index:
        """How many rows of the data each distinct row stands for."""
        return np.bincount(self.place[self.place >= 0], minlength=len(self.first))


def distinct_points(X: Array, weight: Array) -> Rows:
    """Return the distinct points in ascending order, by the first feature, then the second, ...

    So the distinct points, and all that is computed from them, do not depend on the order in
    which the points are given, nor on whether a point is repeated or has a weight.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    weight : ndarray of shape (n,)
        Not negative, not all zero. Points of weight zero are left out.

    Returns
    -------
    Rows

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.utils.distinct import distinct_points
    >>> rows = distinct_points(np.array([[3.0], [1.0], [3.0], [7.0]]), np.array([1.0, 1, 1, 0]))
    >>> rows.first, rows.place, rows.counts
    (array([1, 0]), array([ 1,  0,  1, -1]), array([1., 2.]))
    """
    kept = np.flatnonzero(weight > 0)
    keys = _sortable(X[kept] if len(kept) < len(X) else X)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    return group_rows(kept[order], np.append(True, keys[1:] != keys[:-1]), weight)


def group_rows(order: Index, new: NDArray[np.bool_], weight: Array) -> Rows:
    """Return the rows from an order in which equal rows follow each other, the first one first."""
    place = np.full(len(weight), -1, dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    counts = np.bincount(place[order], weights=weight[order]).astype(np.float64)
    return Rows(order[new], place, counts)


def _sortable(X: Array) -> NDArray[np.void]:
    """Return one key a row, in the order of whose bytes the rows ascend."""
    n, d = X.shape
    keys = np.empty((n, d), dtype=">u8")
    step = max(1, _CHUNK_BYTES // (8 * d))
    for start in range(0, n, step):
        bits = (X[start : start + step] + 0.0).view(np.uint64)  # -0.0 becomes 0.0
        # Numbers ascend with their bits, but negative ones descend, and come last.
        bits ^= (bits.view(np.int64) >> 63).view(np.uint64) | _SIGN
        keys[start : start + step] = bits
    return keys.view(np.dtype((np.void, 8 * d))).ravel()
