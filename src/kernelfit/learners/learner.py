"""What joins a family of kernels and a solver: one learner a published system.

A learner knows the training rows. It learns one kernel for one or more tasks, or the kernels of a
path of costs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kernelfit.solvers.result import Callback, CertifiedResult, FloatArray
from kernelfit.tasks.task import Task

Indices = NDArray[np.intp]
Rows = Indices | slice
Tasks = tuple[Task, ...]


@dataclass(frozen=True)
class Learned(CertifiedResult):
    """One kernel and the machines on it.

    `x` holds the dual solutions, of shape (n_tasks, n_rows).

    Attributes
    ----------
    intercept : ndarray of shape (n_tasks,)
        For predictions with `kernel`.
    witness : ndarray of shape (n_tasks, n_rows)
        The dual solutions of the lower bound; `x` itself where it has both bounds.
    kernel : callable or None
        The kernel ``k(X, Y)`` on new points; None where the kernel matrix was given.
    theta : object
        The learned parameter, small enough to keep; None for a fixed kernel.
    scale : float
        Factor of a kernel matrix that was given, for predictions.
    """

    intercept: FloatArray
    witness: FloatArray
    kernel: Callable[..., FloatArray] | None
    theta: Any
    scale: float = 1.0


class Learner(Protocol):
    """A learner on the training rows."""

    def learn(
        self,
        rows: Rows,
        tasks: Tasks,
        *,
        start: tuple[FloatArray, Any] | None = None,
        callback: Callback | None = None,
    ) -> Learned:
        """Learn one kernel for tasks on some of the rows.

        Parameters
        ----------
        rows : ndarray of int or slice
            The rows of the tasks; a slice stands for all rows.
        tasks : tuple of Task
        start : (x, theta), default=None
            Of an earlier result on these rows.
        callback : callable, default=None
            Called as ``callback(n_iter, objective, gap)``.
        """

    def path(
        self, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
    ) -> Iterator[Learned]:
        """Yield the results for increasing costs: one a cost, or as many for each.

        Parameters
        ----------
        rows : ndarray of int or slice
        tasks_at : callable
            From a cost to the tasks.
        Cs : sequence of float
        """


def path_by_starts(
    learner: Learner, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
) -> Iterator[Learned]:
    """Yield the results for increasing costs, each started from the one before.

    Parameters
    ----------
    learner : Learner
    rows, tasks_at, Cs
        As for `Learner.path`.

    Yields
    ------
    Learned
    """
    start = None
    for C in Cs:
        result = learner.learn(rows, tasks_at(C), start=start)
        start = result.x, result.theta
        yield result
