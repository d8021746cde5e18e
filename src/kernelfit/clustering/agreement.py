"""How far two partitions of the same points agree."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


def adjusted_rand(first: Labels, second: Labels, counts: Array) -> float:
    """Return the adjusted Rand index of two partitions: 1 for equal ones, 0 for chance.

    Parameters
    ----------
    first, second : ndarray of shape (n,)
        Cluster numbers.
    counts : ndarray of shape (n,)
        How many times every point counts.

    Returns
    -------
    float
        1 as well where both put all points into one cluster, or every point into its own.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.clustering.agreement import adjusted_rand
    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]), np.ones(4))
    1.0
    """
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), counts)
    both = _pairs(table)
    of_first, of_second = _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0))
    expected = of_first * of_second / max(_pairs(counts.sum()), 1e-300)
    largest = 0.5 * (of_first + of_second)
    if abs(largest - expected) <= 1e-12 * max(abs(largest), 1.0):
        return 1.0
    return float((both - expected) / (largest - expected))


def _pairs(sizes: Array | float) -> float:
    """Return the number of pairs within groups of these sizes."""
    return float(np.sum(np.multiply(sizes, np.subtract(sizes, 1.0)))) / 2.0
