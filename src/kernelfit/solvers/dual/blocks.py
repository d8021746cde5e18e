"""A point of a dual problem in memory, improved in place, a block of variables a round.

The rounds are those of :mod:`kernelfit.solvers.dual.rounds`. A block holds all free variables and
the worst violators. Its part of K is gathered into a contiguous array, on which pair steps
(:mod:`kernelfit.solvers.dual.pair_steps`) and Newton steps
(:mod:`kernelfit.solvers.dual.newton_steps`) alternate; the rows of the variables that changed then
update the whole gradient. Variables outside the blocks cost nothing, which is what shrinking
achieves elsewhere. Symbols are those of :mod:`kernelfit.solvers.dual.solve`.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelfit.kernels.gram import Gram
from kernelfit.solvers.dual.pair_steps import one_sided_rates
from kernelfit.solvers.dual.rounds import Rounds
from kernelfit.solvers.dual.small_round import shift_sum
from kernelfit.solvers.result import DualResult, FloatArray
from kernelfit.tasks.task import Certificate, Task
from kernelfit.utils.threads import threads_for

# Blocks hold at least this many variables, and at most four times as many; a matrix in memory with
# up to so many rows is one block.
BLOCK, WHOLE = 1024, 1536
# A block is solved until its violation is this fraction of the violation at the round's start.
_REDUCTION = 0.1
# Pair steps that cost about as much as a factorisation of f variables: f^3 / _FLOPS_PER_STEP.
_FLOPS_PER_STEP = 5e4
_MAX_NEWTON_VARIABLES = 2048
# Newton's ridges, the first as a fraction of the diagonal, the last one of the trace. A matrix that
# fails at the last one is indefinite beyond the rounding of its entries, as is one with a relative
# curvature below minus the last one.
_RIDGES = {np.dtype(np.float64): (1e-13, 1e-9), np.dtype(np.float32): (1e-13, 1e-6)}
_MAX_ALTERNATIONS = 50
_PSD_SAMPLE = 300
_GOLDEN = 0.618  # whose multiples have parts after the point that are spread evenly
ROUNDOFF = 8.0 * float(np.finfo(np.float64).eps)


class DualState(ABC):
    """A point of a dual problem, kept with its gradient, and how to improve it block by block.

    Parameters
    ----------
    gram : Gram
    task : Task
    beta : ndarray of shape (n,)
        A feasible point, which is changed in place.
    psd : bool
        Whether K is known to be positive semidefinite; else a part of it is tested.

    Attributes
    ----------
    convex : bool
        False once negative curvature was met: beta then tends to a stationary point only.
    exact, rounds_a_pass, patience
        See :class:`kernelfit.solvers.dual.rounds.Point`.
    """

    patience = 100

    def __init__(self, gram: Gram, task: Task, beta: FloatArray, psd: bool) -> None:
        self.gram, self.task, self.beta = gram, task, beta
        self.diagonal = gram.diagonal()
        if task.ridge is not None:
            self.diagonal += task.ridge
        self.ridges = _RIDGES[gram.dtype]
        self.convex = bool(np.minimum.reduce(self.diagonal) >= 0.0) and (psd or sample_is_psd(gram))
        self.exact = np.count_nonzero(beta) == 0
        self.rounds_a_pass = -(-task.n // WHOLE)
        self.sweeps = 0  # over blocks of neighbours

    @abstractmethod
    def gradient(self) -> FloatArray:
        """Return the gradient of the smooth part of the minimised problem."""

    @abstractmethod
    def recompute(self) -> None:
        """Compute the gradient from beta and exact rows."""

    @abstractmethod
    def certificate(self) -> Certificate:
        """Return the certificate of beta."""

    @abstractmethod
    def exact_decision(self) -> FloatArray:
        """Return the decision values of beta, just recomputed."""

    @abstractmethod
    def solve_block(self, K: npt.NDArray[Any], index: Any, target: float, polish: bool) -> bool:
        """Improve a block until its violation is down to the target; None stands for all of it."""

    @abstractmethod
    def sweep(self, K: npt.NDArray[Any], target: float) -> None:
        """Take pair steps on the whole of K, at most one a variable."""

    def is_zero(self) -> bool:
        """Return whether all variables are 0."""
        return not np.count_nonzero(self.beta)

    def count_free(self) -> int:
        """Return the number of free variables."""
        return self.task.count_free(self.beta)

    def copy(self) -> FloatArray:
        """Return a copy of the variables."""
        return self.beta.copy()

    def go_to(self, copy: FloatArray) -> None:
        """Return to a point that was copied, with an exact gradient."""
        self.beta[:] = copy
        self.recompute()

    def is_due(self, rounds: int) -> bool:
        """Return whether to refresh in any case: where that costs less than a wrong turn."""
        return self.task.n <= WHOLE

    def sharpen(self) -> bool:
        """Return that there is no higher precision."""
        return False

    def refresh(self) -> None:
        """Take the rounding errors of many steps out of beta and its gradient."""
        if not self.exact:
            restore_sum(self.beta, self.task)
            self.recompute()
            self.exact = True

    def improve(self, wanted: float, polish: bool) -> bool:
        """Improve one block; ``wanted`` is the reduction of the violation that would suffice.

        Returns False when nothing could be changed.
        """
        task, beta = self.task, self.beta
        up, down, highest, lowest, size = self._rates()
        violation = self._violation(highest, lowest)
        whole = self.gram.whole
        rounding = ROUNDOFF * size  # a smaller violation may be out of reach
        self.exact = False
        if whole is not None and task.n <= WHOLE:
            # One block holds everything: no coordination between blocks to wait for.
            target = max(violation * whole_reduction(wanted), rounding)
            return self.solve_block(self._ridged(whole, None), None, target, polish)
        if whole is not None and task.ridge is None and not beta.any():
            # From zero, most variables settle at a bound within a few steps each: reading rows of
            # the whole matrix is then cheaper than gathering blocks.
            self.sweep(whole, 1e-2 * violation)
            return bool(beta.any())
        target = max(violation * max(wanted, _REDUCTION), rounding)
        changed = False
        if self.gram.order is not None:
            for index in self._neighbours(up, down, target):
                changed |= self._solve_rows(index, target, polish=False)
            up, down, highest, lowest, _ = self._rates()
        index = self._choose(up, down, highest, lowest)
        return self._solve_rows(index, target, polish) or changed

    def _rates(self) -> tuple[FloatArray, FloatArray, float, float, float]:
        task, g = self.task, self.gradient()
        rates: tuple[FloatArray, FloatArray, float, float, float] = one_sided_rates(
            g, self.beta, task.lower, task.upper, task.epsilon
        )
        return rates

    def _violation(self, highest: float, lowest: float) -> float:
        return highest - lowest if self.task.has_intercept else max(highest, -lowest)

    def _solve_rows(self, index: npt.NDArray[np.intp], target: float, polish: bool) -> bool:
        """Improve a block of rows."""
        return self.solve_block(self._ridged(self.gram.block(index), index), index, target, polish)

    def _neighbours(
        self, up: FloatArray, down: FloatArray, target: float
    ) -> list[npt.NDArray[np.intp]]:
        """Return blocks of neighbours among the free variables and the violators.

        Where the kernel is narrow, blocks hardly know of each other, and small ones are solved
        fastest.
        """
        order: Any = self.gram.order
        level = self.certificate().intercept
        excess = np.maximum(up - level, level - down)
        index = order[(self.task.is_free(self.beta) | (excess > 0.5 * target))[order]]
        n_blocks = -(-len(index) // BLOCK)
        if n_blocks <= 1:
            return []
        self.sweeps += 1  # boundaries between blocks are others every time
        index = np.roll(index, int(_GOLDEN * self.sweeps % 1.0 * BLOCK))
        return [
            part
            for part in np.array_split(index, n_blocks)
            if self._violation(up[part].max(), down[part].min()) > target
        ]

    def _ridged(self, K: npt.NDArray[Any], index: Any) -> npt.NDArray[Any]:
        """Return K plus the task's ridge; a block of its own is changed in place."""
        ridge = self.task.ridge
        if ridge is None:
            return K
        K = K.astype(np.float64) if index is None else K
        K[np.diag_indices_from(K)] += ridge if index is None else ridge[index]
        return K

    def _choose(
        self, up: FloatArray, down: FloatArray, highest: float, lowest: float
    ) -> npt.NDArray[np.intp]:
        """Return the sorted indices of the free variables and the worst violators of both kinds."""
        if not self.task.has_intercept:
            highest, lowest = 0.0, 0.0
        free = self.task.is_free(self.beta)
        n_free = int(np.count_nonzero(free))
        size = min(max(BLOCK, n_free + n_free // 4), 4 * BLOCK)
        chosen = np.zeros(free.size, dtype=bool)
        if n_free <= size - size // 5:
            chosen[free] = True
        room = (size - int(np.count_nonzero(chosen))) // 2
        for score in (np.where(up > lowest, up, -np.inf), np.where(down < highest, -down, -np.inf)):
            score[chosen] = -np.inf
            candidates = np.flatnonzero(score > -np.inf)
            if candidates.size > room:
                worst = score[candidates]
                if worst.min() == worst.max():  # as at beta = 0: take them evenly
                    pick = np.linspace(0, candidates.size - 1, room).astype(np.intp)
                else:
                    pick = np.argpartition(-worst, room)[:room]
                candidates = candidates[pick]
            chosen[candidates] = True
        return np.flatnonzero(chosen)

    def outcome(self, rounds: Rounds) -> DualResult:
        """Return what the rounds have found."""
        decision = self.exact_decision()
        return rounds.result(self.task, self.beta, decision, rounds.found, self.convex)

    def note_curvature(self, curvature: float) -> None:
        """Remember that K is indefinite where a curvature is negative beyond rounding."""
        self.convex &= curvature >= -self.ridges[-1]


def whole_reduction(wanted: float) -> float:
    """Return the fraction to which one block that holds everything reduces the violation."""
    return min(max(wanted, 1e-4), _REDUCTION)


def alternate(newton: Any, steps: Any, task: Task, beta: FloatArray, polish: bool) -> None:
    """Alternate Newton and pair steps on a block until the latter reach their target.

    Parameters
    ----------
    newton : callable
        ``newton(n_free, alternation)`` takes Newton steps.
    steps : callable
        ``steps(budget)`` takes pair steps, at most so many, and returns whether they suffice.
    task : Task
        Of the block.
    beta : ndarray
        The block's variables, which both change in place.
    polish : bool
        Whether to begin with Newton steps.
    """
    for alternation in range(_MAX_ALTERNATIONS):
        n_free = task.count_free(beta)
        if 0 < n_free <= _MAX_NEWTON_VARIABLES and (alternation > 0 or polish):
            newton(n_free, alternation)
        budget = beta.size + int(min(n_free, _MAX_NEWTON_VARIABLES) ** 3 / _FLOPS_PER_STEP)
        if steps(budget):
            return


def restore_sum(beta: FloatArray, task: Task) -> None:
    """Take the rounding error of many steps out of the sum."""
    error = 0.0 if task.total is None else float(np.add.reduce(beta)) - task.total
    if error != 0.0:
        shift_sum(beta, task.lower, task.upper, error)


def sample_is_psd(gram: Gram) -> bool:
    """Test a principal submatrix: K is indefinite if any of them is."""
    index = np.linspace(0, gram.n - 1, min(gram.n, _PSD_SAMPLE)).astype(np.intp)
    sample = gram.block(index)
    ridge = _RIDGES[gram.dtype][-1] * abs(np.trace(sample))
    sample[np.diag_indices_from(sample)] += ridge + np.finfo(float).tiny
    with threads_for(len(index)):
        try:
            np.linalg.cholesky(sample)
        except np.linalg.LinAlgError:
            return False
    return True
