"""What a fit does once the data are checked: which kernels to learn, for which tasks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.learners.learner import Learned, Learner, Tasks
from kernelfit.solvers.result import FloatArray
from kernelfit.tasks.multiclass import Problem
from kernelfit.tasks.task import Task
from kernelfit.utils.jobs import run_jobs, shares_memory

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
    remake : callable, default=None
        Makes the plan from the data, elsewhere: kernel matrices are not sent.
    """

    learner: Learner
    groups: tuple[Group, ...]
    unit_cost: FloatArray
    make_task: Callable[[Problem, FloatArray], Task]
    shape: tuple[int, int]
    take_turns: bool = False
    remake: Callable[[], "Plan"] | None = None

    def tasks(self, group: Group, C: float) -> Tasks:
        """Return the tasks of a group for a cost."""
        return tuple(self.make_task(q, C * self.unit_cost[q.rows]) for q in group)

    def tasks_at(self, group: Group) -> Callable[[float], Tasks]:
        """Return the function from a cost to the tasks of a group."""
        units = self.tasks(group, 1.0)
        # Squared losses have a least cost, of C times the weight: these tasks are made anew.
        if any(unit.ridge is not None for unit in units):
            return partial(self.tasks, group)
        return lambda C: tuple(unit.times_cost(C) for unit in units)

    def learn(
        self,
        C: float,
        *,
        coef: FloatArray | None = None,
        thetas: list[Any] | None = None,
        n_jobs: int | None = None,
        callback: Callable[[int, int, float, float], Any] | None = None,
    ) -> Iterator[Learned]:
        """Learn the kernels of all groups, up to `n_jobs` at a time.

        In threads, unless a backend of joblib is in force.

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
            Called as ``callback(group, n_iter, objective, gap)``; not from other processes.

        Yields
        ------
        Learned
            In the order of the groups.
        """
        starts: list[Any] = [None] * len(self.groups)
        if coef is not None:
            for number, group in enumerate(self.groups):
                x = np.stack([coef[q.layer, q.rows] for q in group])
                starts[number] = x, None if thetas is None else thetas[number]
        source = PlanSource(self)
        jobs = [(C, number, start) for number, start in enumerate(starts)]
        if len(jobs) == 1 or self.take_turns:
            for job in jobs:
                yield source.learn(*job, callback)
            return
        if not shares_memory():
            callback = None
        found: dict[int, Learned] = {}
        for number, result in run_jobs(
            PlanSource.learn, [(*job, callback) for job in jobs], (source,), n_jobs=n_jobs
        ):
            found[number] = result
            while jobs and jobs[0][1] in found:
                yield source.own(found.pop(jobs.pop(0)[1]))


class PlanSource:
    """A plan, which another process makes anew from the data.

    Parameters
    ----------
    plan : Plan
    """

    def __init__(self, plan: Plan) -> None:
        self._plan: Plan | None = plan
        self._remake, self._here, self._lock = plan.remake, True, Lock()

    def __getstate__(self) -> dict[str, Any]:
        # A plan without data to make it from is sent as it is.
        return {"_remake": self._remake, "_plan": None if self._remake else self._plan}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _here=False, _lock=Lock())

    @property
    def plan(self) -> Plan:
        """The plan."""
        with self._lock:
            if self._plan is None:
                if self._remake is None:
                    raise ValueError("expected a plan, or data to make it from")
                self._plan = self._remake()
            return self._plan

    def learn(
        self, C: float, number: int, start: Any, callback: Callable[..., Any] | None
    ) -> Learned:
        """Learn the kernel of one group."""
        plan = self.plan
        group = plan.groups[number]
        result = plan.learner.learn(
            group[0].rows,
            plan.tasks(group, C),
            start=start,
            callback=None if callback is None else partial(callback, number),
        )
        if self._here or result.kernel is not getattr(plan.learner, "kernel", self):
            return result
        return replace(result, kernel=_shared_kernel)

    def own(self, result: Learned) -> Learned:
        """Return a result of another process with the learner's kernel where that one had it."""
        if result.kernel is _shared_kernel:
            learner: Any = self.plan.learner
            return replace(result, kernel=learner.kernel)
        return result


def _shared_kernel(X: Any, Y: Any) -> FloatArray:
    """Stand for the learner's own kernel on its way between processes."""
    raise NotImplementedError
