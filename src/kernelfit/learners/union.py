"""The learner of a kernel in the convex hull of several families."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelfit.families.multiple.kernels import WeightedSum
from kernelfit.families.union.family import UnionFamily
from kernelfit.learners.learner import Learned, Rows, Tasks, path_by_starts
from kernelfit.solvers.result import Callback, FloatArray
from kernelfit.solvers.saddle.column_generation import COLUMN_GENERATION
from kernelfit.solvers.saddle.kernel_weights import sparsest
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle


@dataclass(frozen=True, eq=False)
class UnionLearner:
    """The learner.

    Parameters
    ----------
    family : UnionFamily
        On the training rows.
    tol : float
        Relative gap.
    max_iter : int
        Largest number of rounds in which kernels are added.
    """

    family: UnionFamily
    tol: float
    max_iter: int

    def learn(
        self,
        rows: Rows,
        tasks: Tasks,
        *,
        start: tuple[FloatArray, Any] | None = None,
        callback: Callback | None = None,
    ) -> Learned:
        """Learn one kernel for tasks on all rows; see `kernelfit.learners.learner.Learner`.

        The theta of the result is the weights of the kernels in use. A start without them is none:
        they say which kernels to hold.
        """
        problem = SaddleProblem(self.family, tasks)
        result = solve_saddle(
            problem, COLUMN_GENERATION, tol=self.tol, max_iter=self.max_iter, callback=callback
        )
        result = sparsest(problem, result, self.tol)
        used = np.flatnonzero(result.theta.weights)
        weights = result.theta.weights[used]
        return Learned.of(
            result,
            intercept=result.intercept,
            witness=result.witness,
            kernel=WeightedSum(tuple(result.theta.members[j] for j in used), weights),
            theta=weights,
        )

    def path(
        self, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
    ) -> Iterator[Learned]:
        """Yield the kernels for increasing costs."""
        return path_by_starts(self, rows, tasks_at, Cs)
