r"""A start for a large problem from the solutions of its parts.

The points are divided into blocks of neighbours; each is solved alone, and the solutions side by
side are feasible for the whole. Without an intercept their dual value falls short of the optimum by
at most

.. math:: \sum_{\pi(i) \ne \pi(j)} C_i C_j |K_{ij}|

with :math:`\pi` the block of a point and :math:`C_i` the largest magnitude of its variable: little
where the kernel is narrow. With an intercept every block has one of its own, and there is no such
bound.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from kernelfit.kernels.gram import Gram
from kernelfit.solvers.result import DualResult, FloatArray
from kernelfit.tasks.task import Task

Indices = npt.NDArray[np.intp]


def partition_start(
    gram: Gram,
    task: Task,
    blocks: Indices,
    solve: Callable[[npt.NDArray[Any], Task], DualResult],
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the solutions of the blocks side by side, a feasible point.

    Parameters
    ----------
    gram : Gram
    task : Task
        With a sum of 0, or without an intercept.
    blocks : ndarray of shape (n,)
        The block of every point.
    solve : callable
        ``solve(K, task)`` returns the solution of one block.
    n_jobs : int, default=None
        Blocks solved at a time, in threads.

    Returns
    -------
    ndarray of shape (n,)
    """
    order = np.argsort(blocks, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(blocks[order])) + 1)

    def solve_block(K: npt.NDArray[Any], rows: Indices) -> FloatArray:
        return solve(K, task.take(rows)).x

    # One matrix at a time for each thread: the generator is read as threads become free.
    jobs = (delayed(solve_block)(gram.block(rows), rows) for rows in members)
    parallel = Parallel(n_jobs=n_jobs, require="sharedmem", pre_dispatch="n_jobs")
    beta = np.zeros(task.n)
    for rows, x in zip(members, parallel(jobs), strict=True):
        beta[rows] = x
    return beta
