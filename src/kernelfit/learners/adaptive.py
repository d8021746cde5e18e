"""The learner of DANK and KNPL: a factor for every task, blocks, and a rule for new points."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.families.hadamard.hyper import fit_hyper_kernel
from kernelfit.families.hadamard.kernel import (
    BlockKernel,
    HadamardKernel,
    LearnedFactor,
    ScaledKernel,
)
from kernelfit.learners.fixed import dual_path, meets_tolerance
from kernelfit.learners.hadamard import Penalty, learn_factor, neutral_intercept
from kernelfit.learners.learner import Learned, Rows, Tasks, path_by_starts
from kernelfit.learners.partition import learn_blocks
from kernelfit.learners.training import DeviceTraining, TrainingGram
from kernelfit.solvers.dual.device import solver_for
from kernelfit.solvers.result import Callback, DualResult, FloatArray
from kernelfit.solvers.saddle.progress import SaddleResult
from kernelfit.tasks.task import Task

Indices = NDArray[np.intp]
# Of the papers' eta: where training fails at a larger one, the data is why.
_SMALL_MULTIPLE = 1e-8


@dataclass(frozen=True)
class Extension:
    """How the factor is extended to new points.

    Attributes
    ----------
    rule : {"neutral", "knn", "nearest", "reciprocal", "smooth", "hyper"}
    n_neighbors : int
        For "knn".
    points : array or CSR matrix of shape (n, d)
        The training points.
    weight : ndarray of shape (n,)
        How many points each of them counts as.
    """

    rule: str
    n_neighbors: int
    points: Any
    weight: FloatArray


@dataclass(frozen=True)
class Division:
    """A division of the rows into blocks that are solved alone.

    Attributes
    ----------
    blocks : ndarray of shape (n,)
        The block of every row.
    centres : array or CSR matrix of shape (n_centres, d)
        A new point belongs to the block of the nearest one, for "nearest".
    labels : ndarray of shape (n_centres,)
        The block of every centre.
    combine : {"global", "concatenate", "nearest"}
    centre_targets : bool
        Whether the mean of the targets stands for the intercept that blocks do not have.
    n_jobs : int or None
    """

    blocks: Indices
    centres: Any
    labels: Indices
    combine: str
    centre_targets: bool
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class AdaptiveLearner:
    """The learner of an entrywise factor of the kernel matrix.

    Parameters
    ----------
    gram : TrainingGram or DeviceTraining
        The latter without a division, for the solver "quartic".
    kernel : callable or None
        The initial kernel; None where its matrix was given.
    weight : ndarray of shape (n,)
        Multiplicities of the rows.
    penalty : Penalty
    extension : Extension
    assume_psd : bool
    tol : float
    max_iter : int
    repeats : ndarray of shape (n,), default=None
        Equal for rows that repeat each other.
    division : Division, default=None
    solver : str, default="auto"
    polish : bool, default=True
    etas : sequence of float, default=()
        Multiples of the plain machine's squared norm to try along a path.
    """

    gram: TrainingGram | DeviceTraining
    kernel: Callable[..., FloatArray] | None
    weight: FloatArray
    penalty: Penalty
    extension: Extension
    assume_psd: bool
    tol: float
    max_iter: int
    repeats: Indices | None = None
    division: Division | None = None
    solver: str = "auto"
    polish: bool = True
    etas: Sequence[float] = ()

    def learn(
        self,
        rows: Rows,
        tasks: Tasks,
        *,
        start: tuple[FloatArray, Any] | None = None,
        callback: Callback | None = None,
    ) -> Learned:
        """Learn the factor of one task; see `kernelfit.learners.learner.Learner`."""
        (task,) = tasks
        gram = self.gram.part(rows)
        beta = None if start is None else start[0][0]
        penalty = self.penalty
        if self.division is not None:
            divided, mean = self._learn_blocks(self.division, gram, task, rows)
            if self.division.combine != "global":
                result = replace(divided, intercept=np.array([mean]))
                own = replace(self, penalty=replace(penalty, tau=0.0))
                return own._wrap(result, rows, mean, self.division.blocks[rows])
            penalty = replace(penalty, eta=divided.response.eta, relative=False)
            beta = divided.x[0]
        result = self._factor(gram, task, rows, penalty, beta, callback)
        self._check_eta(result)
        return self._wrap(result, rows, self._neutral_intercept(result, task))

    def _neutral_intercept(self, result: SaddleResult, task: Task) -> float:
        weight = result.response.weight
        family = replace(self.penalty, eta=result.response.eta).family(result.response.gram, weight)
        return neutral_intercept(task, family, result)

    def _factor(
        self,
        gram: Any,
        task: Task,
        rows: Rows,
        penalty: Penalty,
        beta: FloatArray | None,
        callback: Callback | None = None,
    ) -> SaddleResult:
        with np.errstate(over="ignore", invalid="ignore"):  # checked by the caller
            return learn_factor(
                gram,
                task,
                penalty,
                weight=self.weight[rows],
                repeats=None if self.repeats is None else self.repeats[rows],
                solver=self.solver,
                tol=self.tol,
                max_iter=self.max_iter,
                polish=self.polish,
                start=beta,
                assume_psd=self.assume_psd,
                callback=callback,
            )

    def _learn_blocks(
        self, division: Division, gram: Any, task: Task, rows: Rows
    ) -> tuple[SaddleResult, float]:
        """Return the blocks' solutions, and what they take for the intercept.

        Blocks have no intercept: the mean of the targets stands for it, so that a shift of the
        targets changes nothing.
        """
        weight = self.weight[rows]
        centred = division.centre_targets and task.has_intercept
        mean = float(np.average(task.p, weights=weight)) if centred else 0.0
        result = learn_blocks(
            gram,
            task.with_linear(task.p - mean),
            division.blocks[rows],
            self.penalty,
            weight=weight,
            repeats=None if self.repeats is None else self.repeats[rows],
            tol=self.tol,
            max_iter=self.max_iter,
            assume_psd=self.assume_psd,
            n_jobs=division.n_jobs,
            source=None if isinstance(self.gram, DeviceTraining) else self.gram.blocks(rows),
        )
        return result, mean

    def _check_eta(self, result: SaddleResult) -> None:
        """Complain of an eta so small that rounding or overflow leave no solution.

        Signs of it: numbers that are not finite, a psd kernel that seems indefinite, and a method
        that cannot go on although the bounds on the optimum leave everything open.
        """
        if self.penalty.eta >= (_SMALL_MULTIPLE if self.penalty.relative else 1.0):
            return
        stuck = result.ending == "rounding"
        lost = not np.isfinite(result.objective)
        lost = lost or (self.assume_psd and result.status != "proved")
        if lost or (stuck and result.gap > result.objective):
            raise ValueError(
                f"expected a larger eta, got one of {result.response.eta:.1e}, for which rounding "
                "or overflow leave no solution"
            )

    def _wrap(
        self,
        result: SaddleResult,
        rows: Rows,
        neutral_intercept: float,
        blocks: Indices | None = None,
    ) -> Learned:
        response, extension = result.response, self.extension
        weight = self.weight[rows]
        neutral = self.penalty.neutral(weight)
        support = response.support
        own = None if blocks is None else blocks[support]
        factor = LearnedFactor(response.compact(), support, len(weight), neutral, own)
        intercept = result.intercept
        kernel: Any = self.kernel
        if extension.rule == "neutral":
            intercept = np.array([neutral_intercept])
            if kernel is not None and neutral != 1.0:
                kernel = ScaledKernel(kernel, neutral)
        else:
            points, counts = extension.points[rows], extension.weight[rows]
            if extension.rule == "hyper":
                K = kernel(points[support], points[support])
                between = functools.partial(factor.matrix, K)
                kernel = fit_hyper_kernel(kernel, points, response.coef, counts, between)
            else:
                kernel = HadamardKernel(
                    kernel, factor, points, counts, extension.rule, extension.n_neighbors
                )
        if self.division is not None and self.division.combine == "nearest":
            root: Any = self.kernel
            division, points = self.division, extension.points[rows]
            kernel = BlockKernel(kernel, root, division.centres, division.labels, points)
        return Learned.of(
            result,
            intercept=intercept,
            witness=result.witness,
            kernel=kernel,
            theta=factor,
            scale=neutral,
        )

    def path(
        self, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
    ) -> Iterator[Learned]:
        """Yield the machines of one task for increasing costs and, for each, all multiples.

        For every cost the plain machine comes from its own path; it defines the unit of eta, and
        every machine with a factor starts from it. Results predict with the neutral factor.
        Without multiples to try, each result starts from the one before.
        """
        if not self.etas:
            yield from path_by_starts(self, rows, tasks_at, Cs)
            return
        gram, weight = self.gram.part(rows), self.weight[rows]
        repeats = None if self.repeats is None else self.repeats[rows]
        neutral = self.penalty.neutral(weight)

        def solve(gram: Any, task: Task, start: FloatArray | None) -> DualResult:
            options: dict[str, Any] = {
                "tol": self.tol,
                "max_iter": self.max_iter,
                "polish": self.polish,
                "assume_psd": self.assume_psd,
            }
            return solver_for(gram)(gram, task, start=start, **options)

        latest: list[SaddleResult | None] = [None] * len(self.etas)
        before: FloatArray | None = None
        for C, plain in zip(Cs, dual_path(solve, gram, tasks_at, Cs, self.tol), strict=True):
            (task,) = tasks_at(C)
            unit = Penalty(self.penalty.method, 1.0, True).absolute(plain.x, weight, repeats).eta
            for j, multiple in enumerate(self.etas):
                if np.isinf(multiple) and neutral == 1.0:
                    yield self._candidate(plain, plain.x, plain.intercept, 1.0)
                    continue
                known = latest[j] if plain.x is before else None
                if known is None or not meets_tolerance(
                    task, known.x[0], known.response.values, known.objective, self.tol
                ):
                    penalty = replace(self.penalty, eta=multiple * unit, relative=False)
                    known = self._factor(gram, task, rows, penalty, plain.x)
                latest[j] = known
                intercept = self._neutral_intercept(known, task)
                yield self._candidate(known, known.x[0], intercept, neutral)
            before = plain.x

    def _candidate(self, result: Any, x: FloatArray, intercept: float, scale: float) -> Learned:
        return Learned.of(
            result,
            x=x[None],
            intercept=np.array([intercept]),
            witness=x[None],
            kernel=self.kernel,
            theta=None,
            scale=scale,
        )
