"""How far two partitions of the same points agree."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


def adjusted_rand(first: Labels, second: Labels, counts: Array) -> float:
    """Return the adjusted Rand index of two partitions: 1 for equal ones, 0 for chance.

    Pairs of points are drawn with replacement, each point in proportion to its count. So the index
    does not depend on the unit of the counts; for many points it is the usual one.

    Parameters
    ----------
    first, second : ndarray of shape (n,)
        Cluster numbers.
    counts : ndarray of shape (n,)
        How many times every point counts.

    Returns
    -------
    float
        1 as well where both put all points into one cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.clustering.agreement import adjusted_rand
    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]), np.ones(4))
    1.0
    """
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), counts / counts.sum())
    both = np.sum(table**2)
    of_first, of_second = np.sum(table.sum(axis=1) ** 2), np.sum(table.sum(axis=0) ** 2)
    expected = of_first * of_second
    largest = 0.5 * (of_first + of_second)
    if largest - expected <= 1e-12:
        return 1.0
    return float((both - expected) / (largest - expected))
