r"""The learner of multiple kernels: weights of given kernels, and the machines on their sum.

"simple" and "lp" learn the weights with the machines, as one convex problem with a certificate.
The others choose the weights by a rule, and the certificate is that of the machines alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelfit.families.multiple.bank import Array
from kernelfit.families.multiple.weights import BallWeights, KernelWeights, SimplexWeights
from kernelfit.learners.learner import Learned, Rows, Tasks, path_by_starts
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.solvers.result import Callback, DualResult, Ending, FloatArray
from kernelfit.solvers.saddle.kernel_weights import KERNEL_WEIGHTS, sparsest
from kernelfit.solvers.saddle.problem import SaddleProblem, solve_saddle

# From a family, tasks and the weights of the rows to weights of the kernels.
Rule = Callable[[KernelWeights, Tasks, Array], Array]


@dataclass(frozen=True, eq=False)
class MultipleLearner:
    """The learner of weights of kernels.

    Parameters
    ----------
    family : KernelWeights
        On the training rows.
    rule : callable or None
        ``rule(family, tasks, weight)`` returns the weights; None to learn them with the machines.
    weight : ndarray of shape (n,)
        Of the training rows.
    tol : float
        Relative gap.
    max_iter : int
        Largest number of steps.
    polish : bool, default=True
        Whether machines on given weights go on towards the exact solution.
    by_cost : bool, default=False
        Whether the weights of the rule depend on the cost.
    """

    family: KernelWeights
    rule: Rule | None
    weight: Array
    tol: float
    max_iter: int
    polish: bool = True
    by_cost: bool = False

    def learn(
        self,
        rows: Rows,
        tasks: Tasks,
        *,
        start: tuple[FloatArray, Any] | None = None,
        callback: Callback | None = None,
    ) -> Learned:
        """Learn weights for tasks on all rows; see `kernelfit.learners.learner.Learner`."""
        if start is not None and len(start[1]) != self.family.bank.size:
            start = start[0], None
        if self.family.bank.size == 1:
            return self._train(self.family.initial, tasks, start, callback)
        if self.rule is not None:
            return self._train(self.rule(self.family, tasks, self.weight), tasks, start, callback)
        problem = SaddleProblem(self.family, tasks)
        result = solve_saddle(
            problem,
            KERNEL_WEIGHTS,
            tol=self.tol,
            max_iter=self.max_iter,
            start=start,
            callback=callback,
        )
        if isinstance(self.family, SimplexWeights):
            result = sparsest(problem, result, self.tol)
        return Learned.of(
            result,
            intercept=result.intercept,
            witness=result.witness,
            kernel=self.family.kernel(result.theta),
            theta=result.theta,
        )

    def path(
        self, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
    ) -> Iterator[Learned]:
        """Yield the results for increasing costs, each started from the one before."""
        learner = self
        if self.rule is not None and not self.by_cost:
            weights = self.rule(self.family, tasks_at(Cs[0]), self.weight)
            learner = replace(self, rule=lambda *_: weights)
        return path_by_starts(learner, rows, tasks_at, Cs)

    def _train(
        self,
        weights: Array,
        tasks: Tasks,
        start: tuple[FloatArray, Any] | None,
        callback: Callback | None,
    ) -> Learned:
        """Train the machines of all tasks on one kernel.

        Weights of both signs may make it indefinite, and a test of the matrix may miss that.
        """
        signed = bool(weights.min() < 0.0)
        gram = self.family.bank.gram(weights)
        results = [
            solve_dual(
                gram,
                task,
                tol=self.tol,
                max_iter=self.max_iter,
                start=None if start is None else start[0][t],
                assume_psd=not signed,
                polish=self.polish,
                callback=callback,
            )
            for t, task in enumerate(tasks)
        ]
        if signed:
            results = [replace(result, status="stationary", gap=np.nan) for result in results]
        return join(results, self.family.kernel(weights), weights)


def join(results: Sequence[DualResult], kernel: Any, weights: Array) -> Learned:
    """Return machines that were trained one by one on one kernel as one result.

    Parameters
    ----------
    results : sequence of DualResult
    kernel : callable or None
    weights : ndarray

    Returns
    -------
    Learned
        Its objective and gap are sums.
    """
    x = np.stack([result.x for result in results])
    missed = [result.ending for result in results if not result.converged]
    ending: Ending = "tolerance"
    if missed:
        ending = "max_iter" if "max_iter" in missed else "rounding"
    longest = max(len(result.history) for result in results)
    padded = [
        np.array(result.history + result.history[-1:] * (longest - len(result.history)))
        for result in results
    ]
    total = np.sum(padded, axis=0)
    return Learned(
        x=x,
        objective=sum(result.objective for result in results),
        gap=sum(result.gap for result in results),
        n_iter=longest,
        converged=not missed,
        history=tuple((float(value), float(gap)) for value, gap in total),
        status="proved" if all(r.status == "proved" for r in results) else "stationary",
        ending=ending,
        intercept=np.array([result.intercept for result in results]),
        witness=x,
        kernel=kernel,
        theta=weights,
    )


def make_family(
    bank: Any, make_kernel: Callable[[Array], Any], combination: str, p: float
) -> KernelWeights:
    """Return the family of a combination.

    Parameters
    ----------
    bank : Bank
    make_kernel : callable
        From weights to the kernel for new points.
    combination : str
    p : float
        The norm for "lp".

    Returns
    -------
    KernelWeights
    """
    if combination == "lp" and 1.0 < p < np.inf:
        return BallWeights(bank, make_kernel, p)
    return SimplexWeights(bank, make_kernel)


def average(family: KernelWeights, tasks: Tasks, weight: Array) -> Array:
    """Return equal weights."""
    return family.initial
