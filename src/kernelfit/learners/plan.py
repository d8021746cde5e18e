"""What a fit does once the data are checked: which kernels to learn, for which tasks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from kernelfit.learners.learner import Learned, Learner, Tasks
from kernelfit.solvers.result import FloatArray
from kernelfit.tasks.multiclass import Problem
from kernelfit.tasks.task import Task

Indices = NDArray[np.intp]
Group = tuple[Problem, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """The problems of a machine on its training rows; nothing in it depends on C.

    Attributes
    ----------
    learner : Learner
        On the rows.
    groups : tuple of tuple of Problem
        The problems; those of a group share one kernel.
    unit_cost : ndarray of shape (n_rows,)
        The cost of each row for C = 1.
    make_task : callable
        ``make_task(problem, cost)`` from a problem and the costs of its rows to its task.
    shape : (int, int)
        Number of problems and of layers of coefficients.
    take_turns : bool
        Whether the groups share a cache and must not be learned at the same time.
    """

    learner: Learner
    groups: tuple[Group, ...]
    unit_cost: FloatArray
    make_task: Callable[[Problem, FloatArray], Task]
    shape: tuple[int, int]
    take_turns: bool = False

    def tasks(self, group: Group, C: float) -> Tasks:
        """Return the tasks of a group for a cost."""
        return tuple(self.make_task(q, C * self.unit_cost[q.rows]) for q in group)

    def tasks_at(self, group: Group) -> Callable[[float], Tasks]:
        """Return the function from a cost to the tasks of a group."""
        return partial(self.tasks, group)

    def learn(
        self,
        C: float,
        *,
        coef: FloatArray | None = None,
        thetas: list[Any] | None = None,
        n_jobs: int | None = None,
        callback: Callable[[int, int, float, float], Any] | None = None,
    ) -> Iterator[Learned]:
        """Learn the kernels of all groups, up to `n_jobs` at a time in threads.

        Parameters
        ----------
        C : float
        coef : ndarray of shape (n_layers, n_rows), default=None
            Layers of solutions to start from.
        thetas : list, default=None
            The learned parameters to start from, one a group.
        n_jobs : int, default=None
            As in joblib.
        callback : callable, default=None
            Called as ``callback(group, n_iter, objective, gap)``.

        Yields
        ------
        Learned
            In the order of the groups.
        """

        def job(number: int, group: Group) -> Learned:
            start = None
            if coef is not None:
                x = np.stack([coef[q.layer, q.rows] for q in group])
                start = x, None if thetas is None else thetas[number]
            return self.learner.learn(
                group[0].rows,
                self.tasks(group, C),
                start=start,
                callback=None if callback is None else partial(callback, number),
            )

        # Threads, whatever the backend in force: the kernel matrix is shared.
        parallel = Parallel(
            n_jobs=1 if self.take_turns else n_jobs, require="sharedmem", return_as="generator"
        )
        yield from parallel(delayed(job)(*item) for item in enumerate(self.groups))
