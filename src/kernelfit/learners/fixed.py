r"""Machines with a fixed kernel: one for a task, or the path of growing costs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelfit.learners.learner import Indices, Learned, Rows, Tasks
from kernelfit.learners.training import DeviceTraining, TrainingGram
from kernelfit.solvers.dual.device import solver_for
from kernelfit.solvers.dual.partition import partition_start
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.solvers.result import Callback, DualResult, FloatArray
from kernelfit.tasks.task import Task

_BLOCK_TOL = 1e-3  # relative gap of blocks that the whole starts from


@dataclass(frozen=True, eq=False)
class FixedLearner:
    """The learner of a fixed kernel.

    Parameters
    ----------
    gram : TrainingGram or DeviceTraining
    kernel : callable or None
        None where the kernel matrix was given.
    assume_psd : bool
        Whether the kernel is known to be positive semidefinite.
    tol : float
        Relative duality gap.
    max_iter : int
        Largest number of rounds for one task.
    polish : bool, default=True
        Whether to go on towards the exact solution once the tolerance is met.
    blocks : ndarray of shape (n,), default=None
        The block of every row: a solution starts from those of the blocks.
    n_jobs : int, default=None
        Blocks solved at a time, in threads.
    """

    gram: TrainingGram | DeviceTraining
    kernel: Callable[..., FloatArray] | None
    assume_psd: bool
    tol: float
    max_iter: int
    polish: bool = True
    blocks: Indices | None = None
    n_jobs: int | None = None

    def learn(
        self,
        rows: Rows,
        tasks: Tasks,
        *,
        start: tuple[FloatArray, Any] | None = None,
        callback: Callback | None = None,
    ) -> Learned:
        """Train the machine of one task; see `kernelfit.learners.learner.Learner`."""
        (task,) = tasks
        x = None if start is None else start[0][0]
        gram: Any = self.gram.part(rows)
        if x is None and self.blocks is not None:

            def solve_block(K: FloatArray, part: Task) -> DualResult:
                return solve_dual(
                    K, part, tol=_BLOCK_TOL, max_iter=self.max_iter, assume_psd=self.assume_psd
                )

            x = partition_start(gram, task, self.blocks[rows], solve_block, self.n_jobs)
        return self._wrap(self._solve(gram, task, x, callback))

    def _solve(
        self, gram: Any, task: Task, start: FloatArray | None, callback: Callback | None = None
    ) -> DualResult:
        options: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "start": start,
            "assume_psd": self.assume_psd,
            "polish": self.polish,
            "callback": callback,
        }
        return solver_for(gram)(gram, task, **options)

    def path(
        self, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
    ) -> Iterator[Learned]:
        """Yield the machines of one task for increasing costs; see `dual_path`."""
        gram = self.gram.part(rows)
        for result in dual_path(self._solve, gram, tasks_at, Cs, self.tol):
            yield self._wrap(result)

    def _wrap(self, result: DualResult) -> Learned:
        x = result.x[None]
        intercept = np.array([result.intercept])
        return Learned.of(
            result, x=x, intercept=intercept, witness=x, kernel=self.kernel, theta=None
        )


def dual_path(
    solve: Callable[[Any, Task, FloatArray | None], DualResult],
    gram: Any,
    tasks_at: Callable[[float], Tasks],
    Cs: Sequence[float],
    tol: float,
) -> Iterator[DualResult]:
    r"""Yield the solutions of one task for increasing costs, each from the solution before.

    A solution stays feasible when C grows, and so does its multiple by up to the ratio of the two
    costs, which is right where most variables sit at their bounds. The start is the best multiple
    in between,

    .. math:: t = \frac{p^\top\beta - \epsilon\|\beta\|_1}{\beta^\top K \beta}

    clipped to that range. A solution without variables at their bounds that meets the tolerance for
    the next cost, too, is taken for it.

    Parameters
    ----------
    solve : callable
        ``solve(gram, task, start)``.
    gram : Gram
    tasks_at : callable
        From a cost to the only task.
    Cs : sequence of float
        Increasing and positive.
    tol : float

    Yields
    ------
    DualResult
    """
    result: DualResult | None = None
    start, solved, inside = None, 0.0, False
    for C in Cs:
        (task,) = tasks_at(C)
        if result is not None:
            known = carried_over(result, task, tol) if inside else None
            if known is not None:
                result = known
                yield result
                continue
            beta, curvature = result.x, float(result.x @ result.decision)
            gain = task.kappa(beta)
            start = beta * min(max(gain / curvature, 1.0), C / solved) if curvature > 0.0 else beta
        result = solve(gram, task, start)
        solved, inside = C, is_inside(task, result.x)
        yield result


def is_inside(task: Task, beta: FloatArray) -> bool:
    """Return whether no variable is at the bound that the cost sets."""
    return not np.count_nonzero(np.abs(beta) >= np.maximum(task.upper, -task.lower))


def carried_over(result: DualResult, task: Task, tol: float) -> DualResult | None:
    """Return a solution for a smaller cost with the task's certificate; None if it misses tol."""
    centred, shift = task.centred()
    gap, objective, intercept, _ = centred.certificate(result.x, result.decision)
    if not gap <= tol * abs(objective):
        return None
    gap = gap if result.status == "proved" else np.nan
    # The same array of coefficients, by which a caller knows it.
    return replace(result, objective=objective, gap=gap, intercept=intercept + shift)


def meets_tolerance(
    task: Task, beta: FloatArray, decision: FloatArray, objective: float, tol: float
) -> bool:
    """Return whether a solution for a smaller cost is one for the task, too."""
    return bool(task.certificate(beta, decision).gap <= tol * abs(objective))
