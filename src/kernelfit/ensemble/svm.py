"""Support vector machines on one kernel matrix, one class against the rest."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge

Array = NDArray[Any]

_TOL = 1e-3  # relative duality gap, from which polishing goes on


def solve_svms(
    K: Array, Y: Array, weight: Array, ridges: Sequence[float]
) -> Iterator[tuple[Array, Array, float]]:
    """Yield coefficients, intercepts and the largest relative gap, for one ridge after the other.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite.
    Y : ndarray of shape (n, k)
        Labels -1 and 1.
    weight : ndarray of shape (n,)
        Positive.
    ridges : sequence of float
        Inverse costs: C = weight / ridge.

    Yields
    ------
    (coef, intercept, gap)
        Of shapes (n, k) and (k,). The solution for one cost is where the next larger one starts.
    """
    n, k = Y.shape
    coef = np.zeros((len(ridges), n, k))
    intercept, gap = np.zeros((len(ridges), k)), np.zeros(len(ridges))
    for c in range(k):
        start = None
        for j in np.argsort(ridges)[::-1]:
            if Y[:, c].min() == Y[:, c].max():  # a class that these rows have not
                intercept[j, c] = Y[0, c]
                continue
            task = hinge(Y[:, c], weight / ridges[j])
            found = solve_dual(K, task, tol=_TOL, start=start, assume_psd=True, polish=True)
            start = found.x
            coef[j, :, c], intercept[j, c] = found.x, found.intercept
            gap[j] = max(gap[j], found.gap / max(found.objective, np.finfo(float).tiny))
    for j in range(len(ridges)):
        yield coef[j], intercept[j], float(gap[j])
