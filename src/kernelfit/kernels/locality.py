r"""Gaussian kernels so narrow that most pairs of many points are too far apart to count.

Rows that are near each other come together in the order of the leaves of a tree. A point is at
least as far from the points of a box as from the box, so that one look at it shows that the kernel
is nothing between the point and a whole tile of others: on covtype (gamma = 32, features in [0, 1])
nine times in ten. What is left out of :math:`K\beta` is below the rounding of its largest entry:
values below :math:`\varepsilon / n` with :math:`\varepsilon` the machine epsilon.
"""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from kernelfit.kernels.distances import Array, Data, as_data
from kernelfit.kernels.rows import TILE_ROWS, Kernel, KernelRows, fits_as_copy, spread_columns
from kernelfit.kernels.standard import RBF
from kernelfit.linalg.indexed import add_rows
from kernelfit.utils.jit import jit

_LEAST_ROWS = 2**14  # from which it pays
_MAX_NEAR = 0.3  # part of all pairs, above which it does not
_SAMPLE, _SAMPLED_ROWS = 2000, 100  # pairs, and rows, that are looked at
_LEAF, _MAX_LEVELS = 128, 48
_TILE = 256  # columns at a time: larger boxes are near more points


class LocalRows:
    """The rows of a Gram matrix most of whose entries are nothing; see `KernelRows`.

    Parameters
    ----------
    kernel : callable
        Gaussian.
    X : ndarray of shape (n, d)
    order : ndarray of int of shape (n,)
        The rows of X in an order in which near ones come together; see `locality_order`.
    dtype : {float64, float32}, default=float64
        Of the rows.
    """

    def __init__(
        self, kernel: Kernel, X: Array, order: Array, dtype: DTypeLike = np.float64
    ) -> None:
        self._whole = KernelRows(kernel, X[order], dtype)
        self.n, self.dtype = self._whole.n, self._whole.dtype
        self._place = np.empty(self.n, dtype=np.intp)
        self._place[order] = np.arange(self.n)
        evaluator: Any = self._whole.evaluator  # of distances between dense points
        self.evaluator = evaluator
        self._low, self._high = _boxes(evaluator.points.whole)
        self._far = _least_exponent(self.n) / evaluator.kernel.gamma

    def unrounded(self) -> "LocalRows | None":
        """Return the provider of float64 rows where they are computed in it, else None."""
        whole = self._whole.unrounded()
        if whole is None or whole is self._whole:
            return None if whole is None else self
        out = copy(self)
        out._whole, out.dtype = whole, whole.dtype
        return out

    def diagonal(self) -> Array:
        """Return the diagonal of the Gram matrix in float64."""
        return self._whole.diagonal()[self._place]

    def block(self, idx: Array) -> Array:
        """Return k(X[idx], X[idx]), of shape (len(idx), len(idx))."""
        return self._whole.block(self._place[idx])

    def rows(self, idx: Array) -> Array:
        """Return k(X[idx], X), of shape (len(idx), n)."""
        places = self._place[idx]
        out = np.zeros((len(idx), self.n), dtype=self.dtype)

        def write(rows: Array, first: int, tile: Array) -> None:
            out[rows, first : first + tile.shape[1]] = tile

        self._visit(places, write)
        out[np.arange(len(idx)), places] = self._whole.diagonal()[places]
        return out[:, self._place]

    def product(self, idx: Array, coef: Array) -> Array:
        """Return k(X, X[idx]) @ coef in float64, without keeping the kernel values."""
        out = np.zeros(self.n)

        def add(rows: Array, first: int, tile: Array) -> None:
            target = out[first : first + tile.shape[1]]
            values = tile.astype(self.dtype, copy=False)
            add_rows(values, np.arange(len(rows)), coef[rows], target)

        self._visit(self._place[idx], add)
        return out[self._place]

    def _visit(self, places: Array, use: Callable[[Array, int, Array], None]) -> None:
        """Call ``use(rows, first, tile)`` with the tiles whose entries may count.

        They are those of some of the places, and of the columns from the first one on.
        """
        evaluator = self.evaluator
        A = np.ascontiguousarray(evaluator.points.columns(places).T)

        def visit(wanted: range) -> None:
            memory = np.empty(TILE_ROWS * _TILE, dtype=A.dtype)
            for first in wanted[::_TILE]:
                columns = slice(first, min(first + _TILE, wanted.stop))
                width = columns.stop - first
                box = first // _TILE
                near = _near(A, self._low[box], self._high[box], self._far)
                for start in range(0, len(near), TILE_ROWS):
                    rows = near[start : start + TILE_ROWS]
                    tile = memory[: len(rows) * width].reshape(len(rows), width)
                    evaluator.measure(
                        A[rows], evaluator.points.whole, first, places[rows], columns, tile
                    )
                    use(rows, first, evaluator.kernel.from_geometry(tile, out=tile))

        spread_columns(visit, len(places) // 8, self.n, _TILE)  # about what is near


def _boxes(points: Array) -> tuple[Array, Array]:
    """Return the lowest and the highest corners around tiles of points, one a column."""
    starts = np.arange(0, points.shape[1], _TILE)
    low = np.minimum.reduceat(points, starts, axis=1).T.astype(np.float64)
    return low, np.maximum.reduceat(points, starts, axis=1).T.astype(np.float64)


def _least_exponent(n: int) -> float:
    """Return gamma times the squared distance from which on n kernel values are nothing."""
    return float(np.log(n / np.finfo(np.float64).eps))


@jit()
def _near(A: Array, low: Array, high: Array, far: float) -> Array:
    """Return the rows of A whose squared distance from a box is below `far`."""
    out = np.empty(len(A), dtype=np.intp)
    count = 0
    for i in range(len(A)):
        distance = 0.0
        for k in range(len(low)):
            apart = max(low[k] - A[i, k], A[i, k] - high[k])
            if apart > 0.0:
                distance += apart * apart
                if distance >= far:
                    break
        if distance < far:
            out[count] = i
            count += 1
    return out[:count]


def locality_order(kernel: Kernel, X: Data) -> Array | None:
    """Return an order of the rows of X in which near ones come together.

    Parameters
    ----------
    kernel : callable
    X : array or CSR matrix of shape (n, d)

    Returns
    -------
    ndarray of int of shape (n,) or None
        None where many of the kernel's values count or no boxes tell far points apart, the kernel
        is not Gaussian, or the data are few, sparse or too large for a copy in this order.
    """
    if not isinstance(kernel, RBF) or not isinstance(X, np.ndarray) or len(X) < _LEAST_ROWS:
        return None
    if not fits_as_copy(X, np.dtype(np.float64)):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        plain, X = kernel.with_one_width(as_data(X))
        first, second = np.random.default_rng(0).integers(len(X), size=(2, _SAMPLE))
        exponents = plain.gamma * np.square(X[first] - X[second]).sum(axis=1)
    least = _least_exponent(len(X))
    if not np.mean(exponents < least) < _MAX_NEAR:
        return None
    order = np.arange(len(X))
    _sort_by_tree(X, order, _LEAF, _MAX_LEVELS)
    # Points may be far apart and their boxes near: many features, none of which tells them apart.
    some = X[:: max(1, len(X) // _SAMPLED_ROWS)]
    boxes = zip(*_boxes(X[order].T), strict=True)
    near = [len(_near(some, *box, least / plain.gamma)) for box in boxes]
    return order if np.mean(near) < _MAX_NEAR * len(some) else None


@jit()
def _sort_by_tree(X: Array, order: Array, leaf: int, max_levels: int) -> None:
    """Sort rows by the leaves of a tree: nodes are divided at the mean of their widest feature."""
    d = X.shape[1]
    mean, spread = np.empty(d), np.empty(d)
    stack = np.empty((max_levels + 1, 3), dtype=np.int64)
    stack[0] = 0, len(order), 0
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        start, end, level = stack[n_waiting]
        if end - start <= leaf or level == max_levels:
            continue
        mean[:] = 0.0
        spread[:] = 0.0
        for i in range(start, end):
            for k in range(d):
                mean[k] += X[order[i], k]
        mean /= end - start
        for i in range(start, end):
            for k in range(d):
                spread[k] += (X[order[i], k] - mean[k]) ** 2
        widest = np.argmax(spread)
        low, high = start, end - 1
        while low <= high:
            if X[order[low], widest] <= mean[widest]:
                low += 1
            else:
                order[low], order[high] = order[high], order[low]
                high -= 1
        if start < low < end:
            stack[n_waiting] = low, end, level + 1
            stack[n_waiting + 1] = start, low, level + 1
            n_waiting += 2
