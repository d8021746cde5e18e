"""Several affinities as one: a consensus of graphs and bandwidths."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]


class MixedAffinity:
    """The mean of several affinities, each divided by the roots of its degrees.

    The division brings graphs and kernels of any density to one scale: every part has the largest
    eigenvalue one and about as much to say in every row. The interface is that of
    `kernelfit.clustering.affinities`.

    Parameters
    ----------
    parts : sequence of affinities
    """

    advice = ""
    by_distance = False  # the parts are: one look at the units of the features is enough

    def __init__(self, parts: Any) -> None:
        self.parts = list(parts)

    def fit(self, X: Array, counts: Array, multiply: Any) -> Any:
        """Return the affinity matrix of the rows of X."""
        self.X, self.counts = X, counts
        self.roots = []
        matrices = [part.fit(X, counts, multiply) for part in self.parts]
        for K in matrices:
            degrees = K @ counts
            positive = degrees > 0
            self.roots.append(np.where(positive, np.where(positive, degrees, 1.0) ** -0.5, 0.0))
        return self._mean(matrices)

    def matrix(self) -> Any:
        """Return the affinity matrix of the training points."""
        return self._mean([part.matrix() for part in self.parts])

    def _mean(self, matrices: list[Any]) -> Any:
        scaled = []
        for K, root in zip(matrices, self.roots, strict=True):
            if sparse.issparse(K):
                D = sparse.diags_array(root)
                scaled.append(sparse.csr_array(D @ K @ D))
            else:
                scaled.append(K * root[:, None] * root)
        return _average(scaled)

    def cross(self, X: Array, relative: bool = False) -> Any:
        """Return the affinities of the rows of X to the training points; those of a row sum to one.

        The rows of the matrix itself have sums near one.
        """
        scaled = []
        for part, root in zip(self.parts, self.roots, strict=True):
            C = part.cross(X, relative=True)
            sums = C @ (root * self.counts)
            share = np.where(sums > 0, 1.0 / np.where(sums > 0, sums, 1.0), 0.0)
            if sparse.issparse(C):
                C = sparse.csr_array(sparse.diags_array(share) @ C @ sparse.diags_array(root))
            else:
                C = C * share[:, None] * root
            scaled.append(C)
        return _average(scaled)


def _average(matrices: list[Any]) -> Any:
    """Return the mean, sparse where all are."""
    if all(sparse.issparse(K) for K in matrices):
        mean = sparse.csr_array(sum(matrices[1:], start=matrices[0])) / len(matrices)
        mean.sort_indices()
        return mean
    total = np.zeros(matrices[0].shape)
    for K in matrices:
        if sparse.issparse(K):
            rows = np.repeat(np.arange(K.shape[0]), np.diff(K.indptr))
            np.add.at(total, (rows, K.indices), K.data)
        else:
            total += K
    total /= len(matrices)
    return total
