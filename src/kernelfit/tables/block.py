"""Sparse columns together: their places along the main directions, as those of a text."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from kernelfit.tables.frames import Column
from kernelfit.tables.roles import TEXT

Array = NDArray[np.float64]

DIRECTIONS = 100


@dataclass(frozen=True)
class BlockReader:
    """Reads all columns of a sparse matrix at once; it is never made dense.

    Attributes
    ----------
    directions : ndarray of shape (n_columns, k)
        Singular vectors of the matrix in training.
    note : str
    """

    directions: Array
    note: str = ""

    kind: ClassVar[str] = "sparse"

    @property
    def roles(self) -> tuple[int, ...]:
        """Roles of the parsed features."""
        return (TEXT,) * int(self.directions.shape[1])

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Names of the parsed features, behind that of the columns."""
        return direction_names(self.directions)

    def read(self, column: Column) -> Array:
        """Return the places of the rows along the directions, of shape (n, k)."""
        return np.asarray(column.values @ self.directions)


def read_block(column: Column) -> BlockReader:
    """Learn the directions of a sparse matrix."""
    X: Any = column.values.astype(np.float64)
    if not np.isfinite(X.data).all():
        raise ValueError("expected finite numbers in a sparse matrix, got nan or inf")
    return BlockReader(main_directions(X, DIRECTIONS))


def main_directions(X: Any, k: int) -> Array:
    """Return up to k singular vectors of the rows of a matrix, which do not depend on their order.

    Parameters
    ----------
    X : sparse matrix of shape (n, d)
    k : int

    Returns
    -------
    ndarray of shape (d, k)
    """
    k = min(k, X.shape[0] - 1, X.shape[1] - 1)
    if k < 1:
        return np.eye(X.shape[1])
    _, _, V = randomized_svd(X, k, n_iter=4, transpose=False, random_state=0)
    return np.ascontiguousarray(V.T)


def direction_names(directions: Array) -> tuple[str, ...]:
    """Return what the places along directions are called."""
    return tuple(f"direction {k + 1}" for k in range(directions.shape[1]))
