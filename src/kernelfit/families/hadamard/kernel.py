"""The kernels of entrywise factors for new points.

A factor Theta is known between training points only. For a new point every rule takes an average of
its rows, with the shares of :mod:`kernelfit.families.hadamard.neighbours`; a training point has its
own row. So the learned kernel is ``k(x, y) = shares(x)' Theta shares(y) K(x, y)``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from kernelfit.families.hadamard.base import FloatArray, HadamardResponse, Indices
from kernelfit.families.hadamard.neighbours import knn_shares, reciprocal_neighbours, smooth_shares
from kernelfit.kernels.distances import squared_distances

Kernel = Callable[..., FloatArray]
_RANK_TOL = 1e-10


@dataclass(frozen=True, eq=False)
class LearnedFactor:
    """A factor as an estimator keeps it: on the support, and for one point off it.

    Parameters
    ----------
    response : HadamardResponse
        Compact; its last point stands for all off the support.
    support : ndarray of int
        The points of the support among all n of the problem.
    n : int
    neutral : float
        The factor without adaptation.
    blocks : ndarray of int, default=None
        The blocks of the support, between which the factor is one (Lemma 5 of the DANK paper, where
        it is printed as zero).
    """

    response: HadamardResponse = field(repr=False)
    support: Indices = field(repr=False)
    n: int
    neutral: float
    blocks: Indices | None = field(default=None, repr=False)

    @property
    def eta(self) -> float:
        """The weight of the penalty."""
        return self.response.eta

    @property
    def place(self) -> Indices:
        """Which row of the compact factor each point has."""
        place = np.full(self.n, len(self.support))
        place[self.support] = np.arange(len(self.support))
        return place

    def own(self, K: FloatArray, rows: Any = slice(None)) -> FloatArray:
        """Return the kernel between some points of the support and all of it, 0 between blocks."""
        return K if self.blocks is None else K * (self.blocks[rows][:, None] == self.blocks)

    def matrix(self, K: FloatArray, rows: Any = slice(None)) -> FloatArray:
        """Return the factor on all points, or some; K is the kernel on the support."""
        compact = self.response.matrix(np.pad(self.own(K), (0, 1)))
        return compact[np.ix_(self.place[rows], self.place[rows])]

    def rank(self, K: FloatArray) -> int:
        """Return the numerical rank of the factor; K is the kernel on the support.

        Eigenvalues below 1e-10 of the largest do not count: rounding decides on them.
        """
        compact = self.response.matrix(np.pad(self.own(K), (0, 1)))
        if len(self.support) == self.n:  # every point is a support vector
            compact = compact[:-1, :-1]
        values = np.abs(np.linalg.eigvalsh(compact))
        return int(np.count_nonzero(values > _RANK_TOL * values.max(initial=0.0)))


@dataclass(frozen=True, eq=False)
class ScaledKernel:
    """A kernel times a number.

    Parameters
    ----------
    root : callable
        The initial kernel.
    factor : float
    """

    root: Kernel
    factor: float

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        """Return the Gram matrix between the rows of X and those of Y."""
        return np.asarray(self.factor * self.root(X, X if Y is None else Y))

    def multiply(self, K: FloatArray, X: Any, rows: Indices) -> FloatArray:
        """Return the kernel with some training points, given that of the root."""
        return np.asarray(self.factor * K)


@dataclass(frozen=True, eq=False)
class BlockKernel:
    """A kernel that vanishes between points of different blocks.

    Parameters
    ----------
    base : callable
        The kernel within a block.
    root : callable
        The initial kernel: `base` itself, or what that multiplies.
    centres : array or CSR matrix of shape (n_centres, d)
        A point belongs to the block of the nearest one.
    labels : ndarray of shape (n_centres,)
        The block of every centre.
    points : ndarray of shape (n, d)
        The training points.
    """

    base: Any
    root: Kernel
    centres: Any = field(repr=False)
    labels: Indices = field(repr=False)
    points: Any = field(repr=False)

    def block(self, X: Any) -> Indices:
        """Return the block of every point."""
        return np.asarray(self.labels[squared_distances(X, self.centres).argmin(axis=1)])

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        """Return the Gram matrix between the rows of X and those of Y."""
        Y = X if Y is None else Y
        return np.asarray(self.base(X, Y) * (self.block(X)[:, None] == self.block(Y)))

    def multiply(self, K: FloatArray, X: Any, rows: Indices) -> FloatArray:
        """Return the kernel with some training points, given that of the root."""
        if self.base is not self.root:
            K = self.base.multiply(K, X, rows)
        return np.asarray(K * (self.block(X)[:, None] == self.block(self.points[rows])))


@dataclass(frozen=True, eq=False)
class HadamardKernel:
    """The kernel of a learned factor, extended to new points by a rule.

    Parameters
    ----------
    root : callable
        The initial kernel K.
    factor : LearnedFactor
    points : array or CSR matrix of shape (n, d)
        The training points.
    weight : ndarray of shape (n,)
        How many points each of them counts as.
    rule : {"knn", "nearest", "reciprocal", "smooth"}
    n_neighbors : int
        For "knn".
    """

    root: Kernel
    factor: LearnedFactor
    points: Any = field(repr=False)
    weight: FloatArray = field(repr=False)
    rule: str
    n_neighbors: int

    def __post_init__(self) -> None:
        """Refuse a factor of other points."""
        n = self.points.shape[0]
        if not n == self.factor.n == len(self.weight):
            raise ValueError(f"expected a factor of {n} points, got one of {self.factor.n}")

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        """Return the Gram matrix between the rows of X and those of Y."""
        Y = X if Y is None else Y
        return np.asarray(self.root(X, Y) * self._between(self._shares(X), self._shares(Y)))

    def multiply(self, K: FloatArray, X: Any, rows: Indices) -> FloatArray:
        """Return the kernel with some training points, given that of the root."""
        return np.asarray(K * self._between(self._shares(X), self._indicators(rows)))

    def _indicators(self, rows: Indices) -> Any:
        """Return the shares of training points: each has its own row of the factor."""
        entries = np.ones(len(rows)), (np.arange(len(rows)), self.factor.place[rows])
        return sparse.csr_array(entries, shape=(len(rows), len(self.factor.support) + 1))

    def _between(self, left: Any, right: Any) -> FloatArray:
        """Return the factor between points, from their shares."""
        theta = self.factor.response.averages(left, self._support_rows) @ right.T
        # Where a point resembles none, the factor is that without adaptation.
        alone = 1.0 - np.outer(left.sum(axis=1), right.sum(axis=1))
        return np.asarray(theta + self.factor.neutral * alone)

    def _support_rows(self, rows: Indices) -> FloatArray:
        """Return rows of the initial kernel on the support and one point far away."""
        support = self.factor.support
        K = np.zeros((len(rows), len(support) + 1))
        near = rows < len(support)
        chosen = support[rows[near]]
        if len(chosen):
            values = self.root(self.points[chosen], self.points[support])
            K[near, :-1] = self.factor.own(values, rows[near])
        return K

    def _shares(self, X: Any) -> Any:
        """Return every point's shares of the support and, last, of all others.

        A point that equals training points has theirs, in proportion to their weights.
        """
        n = self.points.shape[0]
        if self.rule == "smooth":
            shares = sparse.csr_array(smooth_shares(self.root(X, self.points), self.weight))
        elif self.rule == "reciprocal":
            shares = reciprocal_neighbours(squared_distances(X, self.points))
        else:
            count = 1 if self.rule == "nearest" else self.n_neighbors
            shares = knn_shares(squared_distances(X, self.points), self.weight, count)
        known = _equal_rows(X, self.points)
        counts = np.array([len(mine) for mine in known], dtype=np.intp)
        rows = np.repeat(np.arange(len(known)), counts)
        columns = np.array([i for mine in known for i in mine], dtype=np.intp)
        parts = self.weight[columns] / np.bincount(rows, self.weight[columns])[rows]
        own = sparse.csr_array((parts, (rows, columns)), shape=(len(known), n))
        shares = sparse.diags_array((counts == 0).astype(np.float64)) @ shares + own
        return shares @ self._indicators(np.arange(n))


def row_keys(X: Any) -> list[Any]:
    """Return a key for every row of an array or CSR matrix, equal for equal rows."""
    if isinstance(X, np.ndarray):
        return [row.tobytes() for row in np.ascontiguousarray(X + 0.0)]  # no negative zeros
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [(X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in ends]


def _equal_rows(X: Any, points: Any) -> list[list[int]]:
    """Return, for every row of X, the points that equal it."""
    places: dict[Any, list[int]] = {}
    for i, key in enumerate(row_keys(points)):
        places.setdefault(key, []).append(i)
    return [places.get(key, []) for key in row_keys(X)]
