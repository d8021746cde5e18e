r"""Exact nearest neighbours among many points of many features.

All distances of 70,000 images take 8 Tflop, and nearly all are computed for nothing. Let P hold the
coordinates of the points in a few orthonormal directions that carry most of their spread, and r the
lengths of what is left of them. Then

.. math:: \|x - y\|^2 \;\ge\; \|p_x - p_y\|^2 + (r_x - r_y)^2,

by the inequality of Cauchy and Schwarz. The right side is the distance of two short vectors, which
a matrix product in single precision gives for all pairs. Only pairs whose bound, less all that
rounding may have added, is within the distance of the k-th neighbour have to be looked at. So the
neighbours are exact, whatever the directions, and the same bits for any number of threads.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.utils.jit import inner, jit

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_MIN_POINTS = 4096  # below, all distances take less time than the bounds
_MIN_FEATURES = 64
_MAX_DIRECTIONS = 128
_SAMPLE = 4096  # points that the directions are found from
_TRIED = 32  # points whose pairs are counted to see whether the bounds pay
_MAX_SHARE = 0.02  # of the pairs that may be looked at; beyond it, all distances are cheaper
_BLOCK_BYTES = 2**24  # of bounds computed at a time


class BoundedSearch:
    """Search for nearest neighbours by lower bounds on the distances.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        The points among which neighbours are searched.
    """

    def __init__(self, Y: Array) -> None:
        self.Y = Y
        self.centre = Y.mean(axis=0)
        self.directions = _main_directions(Y, self.centre)
        short = self._short(Y)
        self.unit = max(float(np.sqrt(np.einsum("ij,ij->i", short, short).max())), 1e-300)
        self.short, self.norms = self._in_units(short)

    def _short(self, X: Array) -> Array:
        """Return the coordinates in the main directions, and the length of what is left."""
        out = np.empty((len(X), self.directions.shape[1] + 1))
        step = max(1, _BLOCK_BYTES // (8 * X.shape[1]))
        for first in range(0, len(X), step):
            part = slice(first, first + step)
            centred = X[part] - self.centre
            np.matmul(centred, self.directions, out=out[part, :-1])
            left = np.einsum("ij,ij->i", centred, centred)
            left -= np.einsum("ij,ij->i", out[part, :-1], out[part, :-1])
            out[part, -1] = np.sqrt(np.maximum(left, 0.0))
        return out

    def _in_units(self, short: Array) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return short vectors in single precision, and squared norms less what rounding adds.

        A product of m numbers is wrong by at most m 2^-24 |u| |v|, and twice that by at most
        m 2^-24 (|u|^2 + |v|^2). So each norm gives way by that share of itself; twice as much
        covers the sums around it and the rounding of the vectors.
        """
        small = (short / self.unit).astype(np.float32)
        norms = np.einsum("ij,ij->i", small, small, dtype=np.float64)
        slack = (small.shape[1] + 16) * 2.0**-23
        return small, ((1.0 - slack) * norms - 1e-30).astype(np.float32)

    def pays(self, k: int) -> bool:
        """Return whether few pairs have to be looked at, judged by a few of the points."""
        rows = np.linspace(0, len(self.Y) - 1, _TRIED).astype(np.intp)
        looked = self._search(self.Y[rows], rows, k)[1]
        return looked <= _MAX_SHARE * len(self.Y) * len(rows)

    def search(self, X: Array | None, k: int, n_threads: int) -> Index:
        """Return the k nearest points of every row of X, of equally near ones the first.

        Parameters
        ----------
        X : ndarray of shape (m, d) or None
            None for the points themselves, none of which is its own neighbour.
        k : int
            At most n, or n - 1 where X is None.
        n_threads : int

        Returns
        -------
        ndarray of shape (m, k)
            In ascending order of the distances.
        """
        points = self.Y if X is None else X
        step = max(1, _BLOCK_BYTES // (4 * len(self.Y)))
        parts = [slice(first, first + step) for first in range(0, len(points), step)]

        def part_of(part: slice) -> Index:
            size = len(points[part])
            own = np.arange(part.start, part.start + size) if X is None else np.full(size, -1)
            return self._search(points[part], own, k)[0]

        if n_threads == 1:
            return np.concatenate([part_of(part) for part in parts])
        with ThreadPoolExecutor(n_threads) as pool:
            return np.concatenate(list(pool.map(part_of, parts)))

    def _search(self, X: Array, own: Index, k: int) -> tuple[Index, int]:
        """Return the neighbours of some points, and how many pairs were looked at."""
        small, norms = self._in_units(self._short(X))
        bounds = small @ self.short.T
        nearest = np.empty((len(X), k), dtype=np.intp)
        scale = 1.0 / self.unit
        looked: Any = _choose(bounds, norms, self.norms, X, self.Y, own, scale, nearest)
        return nearest, int(looked)


def bounded_search(Y: Array, k: int) -> BoundedSearch | None:
    """Return a search by bounds, or None where it would not pay.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
    k : int
        Number of neighbours that will be asked for.

    Returns
    -------
    BoundedSearch or None
    """
    n, d = Y.shape
    if n < max(_MIN_POINTS, 16 * k) or d < _MIN_FEATURES:
        return None
    found = BoundedSearch(Y)
    return found if found.pays(k) else None


def _main_directions(Y: Array, centre: Array) -> Array:
    """Return orthonormal directions of large spread, by two steps of subspace iteration."""
    n, d = Y.shape
    Z = Y[np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp)] - centre
    Z /= max(float(np.abs(Z).max()), 1e-300)
    width = min(_MAX_DIRECTIONS, d // 4)
    V = np.random.default_rng(0).standard_normal((d, width))
    for _ in range(2):
        V = np.linalg.qr(Z.T @ (Z @ V))[0]
    return V


@inner()
def _squared_distance(x: Array, y: Array) -> float:
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - y[j]) ** 2
    return total


@inner()
def _insert(value: float, index: int, values: Any, indices: Any) -> None:
    """Put an entry that is less than the last one into its place, behind equal ones."""
    at = len(values) - 1
    while at > 0 and value < values[at - 1]:
        values[at] = values[at - 1]
        indices[at] = indices[at - 1]
        at -= 1
    values[at] = value
    indices[at] = index


@jit()
def _choose(
    products: NDArray[np.float32],
    x_norms: NDArray[np.float32],
    y_norms: NDArray[np.float32],
    X: Array,
    Y: Array,
    own: Index,
    scale: float,
    nearest: Index,
) -> int:
    """Write the nearest rows of Y, none of which is `own`; return how many were looked at."""
    k = nearest.shape[1]
    n = len(y_norms)
    bounds = np.empty(n, dtype=np.float32)
    lowest = np.empty(k, dtype=np.float32)
    distances = np.empty(k)
    looked = 0
    for i in range(len(products)):
        for j in range(n):
            bounds[j] = y_norms[j] - np.float32(2.0) * products[i, j]
        if own[i] >= 0:
            bounds[own[i]] = np.inf
        # The true distances of the points with the k lowest bounds bound that of the k-th one.
        lowest[:] = np.inf
        for j in range(n):
            if bounds[j] < lowest[k - 1]:
                _insert(bounds[j], j, lowest, nearest[i])
        radius = 0.0
        for r in range(k):
            radius = max(radius, _squared_distance(X[i], Y[nearest[i, r]]))
        # In units of the bounds, from which the norm of the point itself was left out.
        limit = np.float32(radius * scale * scale * (1.0 + 1e-6) - x_norms[i]) + np.float32(1e-30)
        distances[:] = np.inf
        for j in range(n):
            if bounds[j] <= limit:
                looked += 1
                distance = _squared_distance(X[i], Y[j])
                if distance < distances[k - 1]:
                    _insert(distance, j, distances, nearest[i])
    return looked
