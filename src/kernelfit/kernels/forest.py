r"""Kernels of a forest of decision trees: how much of its structure two points share.

======================  ==========================================================================
`LeafKernel`            the share of the trees in which both points fall into one leaf
`RatioKernel`           the mean over the trees of the share of the tests on either point's way from
                        the root to its leaf that both points answer alike (RatioRF [1]_)
`PathKernel`            the mean over the trees of the share of the longer way from the root to its
                        leaf that both points go together (RAG [2]_), nodes with weights or alike
======================  ==========================================================================

The first is an inner product of indicators of leaves, and so positive semidefinite. The second is
Tversky's ratio model: two points that part at the last test of a long way are nearly equal.

References
----------
.. [1] M. Bicego, F. Cicalese, A. Mensi. "RatioRF: a novel measure for random forest clustering
   based on the Tversky's ratio model". IEEE Transactions on Knowledge and Data Engineering (2021).
.. [2] X. Zhu, C. C. Loy, S. Gong. "Constructing robust affinity graphs for spectral clustering".
   IEEE Conference on Computer Vision and Pattern Recognition (2014).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelfit.kernels.base import KernelFunction
from kernelfit.kernels.distances import Array, Data
from kernelfit.utils.jit import jit

Indices = NDArray[np.intp]
Counts = NDArray[np.float32]

_BLOCK_BYTES = 2**26  # of kernel values at a time, where they are made of other matrices


@dataclass(frozen=True, eq=False)
class Forest:
    """The tests of a forest: the nodes of its trees, one tree after the other.

    A point goes left from a node where its feature, rounded to float32 as in scikit-learn, is at
    most the threshold.

    Attributes
    ----------
    feature : ndarray of int of shape (n_nodes,)
        -1 at a leaf.
    threshold : ndarray of shape (n_nodes,)
    left, right : ndarray of int of shape (n_nodes,)
        The children; a leaf is its own.
    roots : ndarray of int of shape (n_trees + 1,)
        The first node of each tree, and the number of nodes.
    """

    feature: Indices
    threshold: Array
    left: Indices
    right: Indices
    roots: Indices

    def __post_init__(self) -> None:
        """Refuse nodes among which a point would go astray: compiled loops follow them unchecked.

        Children come after their parent and belong to its tree, each to one parent.
        """
        n, roots = len(self.feature), self.roots
        indices = (self.feature, self.left, self.right, roots)
        good = all(one.dtype == np.intp and one.ndim == 1 for one in indices)
        good = good and self.left.shape == self.right.shape == self.threshold.shape == (n,)
        good = good and len(roots) > 1 and roots[0] == 0 and roots[-1] == n
        good = good and bool((np.diff(roots) > 0).all())
        if good:
            own, end = np.arange(n), np.repeat(roots[1:], np.diff(roots))
            leaf = self.feature < 0
            inner = ~leaf & (own < self.left) & (own < self.right)
            inner &= (self.left < end) & (self.right < end)
            alone = leaf & (self.left == own) & (self.right == own)
            children = np.concatenate([self.left[inner], self.right[inner]])
            good = bool((inner | alone).all())
            good = good and np.array_equal(np.sort(children), np.delete(own, roots[:-1]))
        if not good:
            raise ValueError("expected the nodes of trees, got numbers that form none")

    @classmethod
    def join(cls, trees: Sequence[tuple[Array, Array, Array, Array]]) -> "Forest":
        """Return the forest of some trees.

        Parameters
        ----------
        trees : sequence of (feature, threshold, left, right)
            Each with its own numbers of nodes; children are negative at a leaf.
        """
        roots = np.cumsum([0, *(len(tree[0]) for tree in trees)])
        columns: list[list[Array]] = [[], [], [], []]
        for first, (feature, threshold, left, right) in zip(roots, trees, strict=False):
            own = np.arange(first, first + len(feature))
            leaf = np.asarray(left) < 0
            columns[0].append(np.where(leaf, -1, feature))
            columns[1].append(threshold)
            columns[2].append(np.where(leaf, own, left + first))
            columns[3].append(np.where(leaf, own, right + first))
        feature, threshold, left, right = (np.concatenate(column) for column in columns)
        return cls(feature.astype(np.intp), threshold, left, right, roots.astype(np.intp))

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.roots) - 1

    def leaves(self, X: Array) -> Indices:
        """Return the leaf of every point in every tree, of shape (n, n_trees)."""
        with np.errstate(over="ignore"):  # infinite is beyond all thresholds, too
            X = np.ascontiguousarray(X, dtype=np.float32)
        if X.ndim != 2 or X.shape[1] <= self.feature.max(initial=-1):
            raise ValueError(
                f"expected points of at least {self.feature.max() + 1} features, got an array of "
                f"shape {X.shape}"
            )
        out = np.empty((len(X), self.n_trees), dtype=np.intp)
        _descend(X, self.feature, self.threshold, self.left, self.right, self.roots, out)
        return out

    def parents(self) -> Indices:
        """Return the parent of every node; that of a root is -1."""
        parent = np.full(len(self.feature), -1, dtype=np.intp)
        inner = np.flatnonzero(self.feature >= 0)
        parent[self.left[inner]] = parent[self.right[inner]] = inner
        return parent


@jit()
def _descend(
    X: Array,
    feature: Indices,
    threshold: Array,
    left: Indices,
    right: Indices,
    roots: Indices,
    out: Indices,
) -> None:
    """Write the leaf of every point in every tree."""
    for tree in range(out.shape[1]):  # whose nodes stay near the processor
        for i in range(out.shape[0]):
            node = roots[tree]
            while feature[node] >= 0:
                goes_left = X[i, feature[node]] <= threshold[node]
                node = left[node] if goes_left else right[node]
            out[i, tree] = node


@dataclass(frozen=True, eq=False)
class LeafKernel(KernelFunction):
    """The share of trees in which two points fall into one leaf; see the module's head.

    Parameters
    ----------
    forest : Forest
    """

    forest: Forest

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        leaves = self.forest.leaves(X)
        return cooccurrence(leaves, None if Y is None else self.forest.leaves(Y))

    def diag(self, X: Data) -> Array:
        """Return k(x, x) = 1 for every row x of X."""
        return np.ones(len(X))

    @property
    def psd(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return True


def cooccurrence(leaves: Indices, others: Indices | None = None) -> Array:
    """Return the share of trees in which two points have one leaf.

    One product of sparse indicators: its cost is the number of pairs that share a leaf, summed over
    the trees, and not the number of all pairs.

    Parameters
    ----------
    leaves : ndarray of int of shape (n, n_trees)
        Leaves of different trees have different numbers.
    others : ndarray of int of shape (m, n_trees), default=None
        `leaves` when None.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.kernels.forest import cooccurrence
    >>> cooccurrence(np.array([[0, 2], [0, 3]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    n_trees = leaves.shape[1]
    others = leaves if others is None else others
    width = 1 + max(int(leaves.max(initial=0)), int(others.max(initial=0)))
    B = _indicators(others, width).T.tocsr()
    K = np.empty((len(leaves), len(others)))
    step = max(1, _BLOCK_BYTES // (8 * max(1, len(others))))
    for start in range(0, len(K), step):
        part = slice(start, start + step)
        K[part] = (_indicators(leaves[part], width) @ B).toarray()
    K /= n_trees
    return K


def _indicators(leaves: Indices, width: int) -> Any:
    """Return the sparse matrix that has a one for the leaf of a row in every tree."""
    n, n_trees = leaves.shape
    starts = np.arange(0, n * n_trees + 1, n_trees)
    return sparse.csr_array((np.ones(n * n_trees), leaves.ravel(), starts), shape=(n, width))


@dataclass(frozen=True, eq=False)
class RatioKernel(KernelFunction):
    """RatioRF's similarity; see the module's head.

    Parameters
    ----------
    forest : Forest
    """

    forest: Forest

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the similarities between the rows of X and those of Y."""
        forest, parent = self.forest, self.forest.parents()
        X = np.ascontiguousarray(X, dtype=np.float32)
        Y = X if Y is None else np.ascontiguousarray(Y, dtype=np.float32)
        leaves = forest.leaves(X)
        others = leaves if Y is X else forest.leaves(Y)
        K = np.zeros((len(X), len(Y)))
        for tree, (first, end) in enumerate(zip(forest.roots, forest.roots[1:], strict=False)):
            nodes = slice(first, end)
            up, left = np.maximum(parent[nodes] - first, -1), forest.left[nodes] - first
            feature, threshold = forest.feature[nodes], forest.threshold[nodes, None]
            passed = X.T[feature] <= threshold  # at leaves, not used
            other_passed = passed if Y is X else Y.T[feature] <= threshold
            x, y = leaves[:, tree] - first, others[:, tree] - first
            _add_shares(K, up, left, (x, passed), (y, other_passed))
        K /= forest.n_trees
        return K

    def diag(self, X: Data) -> Array:
        """Return k(x, x) = 1 for every row x of X."""
        return np.ones(len(X))

    @property
    def psd(self) -> bool:
        """False: not known to be positive semidefinite."""
        return False


def _add_shares(
    K: Array,
    parent: Indices,
    left: Indices,
    points: tuple[Array, Array],
    others: tuple[Array, Array],
) -> None:
    """Add the shares of tests answered alike in one tree to K.

    Parameters
    ----------
    K : ndarray of shape (n, m)
    parent, left : ndarray of int of shape (n_nodes,)
    points, others : (leaf, passed)
        The leaf of every point, of shape (n,), and which tests it passes, of shape (n_nodes, n).
    """
    (x, passed), (y, other_passed) = points, others
    if len(parent) == 1:  # a tree without a test says that all points are alike
        K += 1.0
        return
    ways, place = np.unique(x, return_inverse=True)
    depth, alike, together, shared = _walk(parent, left, ways, other_passed)
    other_place, other_depth, alike_back = place, depth, alike
    if other_passed is not passed:
        ways, other_place = np.unique(y, return_inverse=True)
        other_depth, alike_back, *_ = _walk(parent, left, ways, passed)
    # The tests on both ways count once.
    size = depth[:, None] - shared + other_depth[other_place]
    _add_ratios(K, place, other_place, alike - together, np.ascontiguousarray(alike_back.T), size)


@jit()
def _add_ratios(
    K: Array, place: Indices, other_place: Indices, alike: Counts, back: Counts, size: Counts
) -> None:
    """Add to K what is alike on the ways of both points, as a share of their tests."""
    for i in range(K.shape[0]):
        way = place[i]
        for j in range(K.shape[1]):
            K[i, j] += np.float64(alike[way, j] + back[i, other_place[j]]) / size[way, j]


@jit()
def _walk(
    parent: Indices, left: Indices, leaves: Indices, passed: NDArray[np.bool_]
) -> tuple[Counts, Counts, Counts, Counts]:
    """Compare the answers on the way to every leaf with those of all points to the same tests.

    Returns how many tests are on every way; how many of them a point answers like those that go
    it; how many of these before it leaves the way; and how many tests are on both its way and this
    one, which are the latter and the one at which they part.
    """
    n, m = len(leaves), passed.shape[1]
    depth = np.zeros(n, dtype=np.float32)
    alike = np.zeros((n, m), dtype=np.float32)
    together = np.zeros((n, m), dtype=np.float32)
    shared = np.zeros((n, m), dtype=np.float32)
    path = np.empty(len(parent), dtype=np.intp)
    beside = np.empty(m, dtype=np.float32)
    for i in range(n):
        length = 1
        path[0] = leaves[i]
        while parent[path[length - 1]] >= 0:
            path[length] = parent[path[length - 1]]
            length += 1
        depth[i] = length - 1
        beside[:] = 1.0
        for step in range(length - 1, 0, -1):  # from the root
            node = path[step]
            answer = left[node] == path[step - 1]
            row = passed[node]
            for j in range(m):
                same = np.float32(row[j] == answer)
                alike[i, j] += same
                shared[i, j] += beside[j]
                beside[j] *= same
                together[i, j] += beside[j]
    return depth, alike, together, shared


@dataclass(frozen=True, eq=False)
class PathKernel(KernelFunction):
    """The share of the way from the root that points go together; see the module's head.

    Parameters
    ----------
    forest : Forest
    node_weights : ndarray of shape (n_nodes,), default=None
        Positive; that of a root does not count, as all ways begin there. Ones when None.
    """

    forest: Forest
    node_weights: Array | None = None

    def __call__(self, X: Data, Y: Data | None = None) -> Array:
        """Return the similarities between the rows of X and those of Y."""
        forest, parent = self.forest, self.forest.parents()
        weights = np.ones(len(parent)) if self.node_weights is None else self.node_weights
        depth = _depths(parent, weights)
        leaves = forest.leaves(X)
        others = leaves if Y is None else forest.leaves(Y)
        K = np.zeros((len(leaves), len(others)))
        for tree in range(forest.n_trees):
            ways, place = np.unique(leaves[:, tree], return_inverse=True)
            other_ways, other_place = np.unique(others[:, tree], return_inverse=True)
            _add_common_ways(K, parent, depth, ways, other_ways, place, other_place)
        K /= forest.n_trees
        return K

    def diag(self, X: Data) -> Array:
        """Return k(x, x) = 1 for every row x of X."""
        return np.ones(len(X))

    @property
    def psd(self) -> bool:
        """False: not known to be positive semidefinite."""
        return False


@jit()
def _depths(parent: Indices, weights: Array) -> Array:
    """Return the sum of weights from below the root to every node; parents come first."""
    depth = np.zeros(len(parent))
    for node in range(len(parent)):
        if parent[node] >= 0:
            depth[node] = depth[parent[node]] + weights[node]
    return depth


@jit()
def _add_common_ways(
    K: Array,
    parent: Indices,
    depth: Array,
    leaves: Indices,
    others: Indices,
    place: Indices,
    other_place: Indices,
) -> None:
    """Add the common part of the ways to the leaves of all pairs of points in one tree to K.

    A node comes after its parent, so the last common node of two is found by going up from the
    later of them.
    """
    share = np.empty((len(leaves), len(others)))
    for i in range(len(leaves)):
        for j in range(len(others)):
            a, b = leaves[i], others[j]
            longer = max(depth[a], depth[b])
            while a != b:
                if a > b:
                    a = parent[a]
                else:
                    b = parent[b]
            share[i, j] = depth[a] / longer if longer > 0 else 1.0
    for i in range(K.shape[0]):
        row = share[place[i]]
        for j in range(K.shape[1]):
            K[i, j] += row[other_place[j]]
