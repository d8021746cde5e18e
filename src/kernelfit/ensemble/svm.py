"""Support vector machines on one kernel matrix, one class against the rest."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.learners.fixed import dual_path
from kernelfit.solvers.dual.device import solver_for
from kernelfit.solvers.result import DualResult
from kernelfit.tasks.losses import hinge
from kernelfit.tasks.task import Task

Array = NDArray[Any]

_TOL = 1e-3  # relative duality gap, from which polishing goes on


def solve_svms(
    K: Array | DeviceGram, Y: Array, weight: Array, ridges: Sequence[float]
) -> Iterator[tuple[Array, Array, float]]:
    """Yield coefficients, intercepts and the largest relative gap, for one ridge after the other.

    Parameters
    ----------
    K : ndarray of shape (n, n) or DeviceGram
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
        Of shapes (n, k) and (k,).
    """
    n, k = Y.shape
    coef = np.zeros((len(ridges), n, k))
    intercept, gap = np.zeros((len(ridges), k)), np.zeros(len(ridges))
    order = np.argsort(ridges)[::-1]  # growing costs
    costs = [1.0 / ridges[j] for j in order]

    def solve(gram: Any, task: Task, start: Array | None) -> DualResult:
        options = {"tol": _TOL, "assume_psd": True, "polish": True}
        return solver_for(gram)(gram, task, start=start, **options)

    for c, y in enumerate(Y.T):
        if y.min() == y.max():  # a class that these rows have not
            intercept[:, c] = y[0]
            continue
        path = dual_path(solve, K, partial(_task, y, weight), costs, _TOL)
        for j, found in zip(order, path, strict=True):
            coef[j, :, c], intercept[j, c] = found.x, found.intercept
            gap[j] = max(gap[j], found.gap / max(found.objective, np.finfo(float).tiny))
    for j in range(len(ridges)):
        yield coef[j], intercept[j], float(gap[j])


def _task(y: Array, weight: Array, C: float) -> tuple[Task]:
    return (hinge(y, C * weight),)
