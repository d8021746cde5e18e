"""The rounds of the dual solvers: blocks of variables, improved in place under one loop.

A block holds all free variables and the worst violators. Its part of K is gathered into a
contiguous array, on which pair steps (:mod:`kernelfit.solvers.dual.pair_steps`) and Newton steps
(:mod:`kernelfit.solvers.dual.newton_steps`) alternate; the rows of the variables that changed then
update the whole gradient. Variables outside the blocks cost nothing, which is what shrinking
achieves elsewhere. Symbols are those of :mod:`kernelfit.solvers.dual.solve`.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelfit.kernels.gram import Gram
from kernelfit.solvers.dual.pair_steps import one_sided_rates
from kernelfit.solvers.dual.small_round import shift_sum
from kernelfit.solvers.result import Callback, DualResult, Ending, FloatArray
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
POLISH_ROUNDS = 3
MAX_POLISH_VARIABLES = 512
# Rounds without progress after which rounding is taken to prevent it.
_PATIENCE = 100
_PSD_SAMPLE = 300
_GOLDEN = 0.618  # whose multiples have parts after the point that are spread evenly
ROUNDOFF = 8.0 * float(np.finfo(np.float64).eps)

Block = tuple[npt.NDArray[Any], Any, Task]  # K on a block, its place among all, its task


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
    exact : bool
        Whether the gradient was computed from beta in one go, from exact rows.
    """

    def __init__(self, gram: Gram, task: Task, beta: FloatArray, psd: bool) -> None:
        self.gram, self.task, self.beta = gram, task, beta
        self.diagonal = gram.diagonal()
        if task.ridge is not None:
            self.diagonal += task.ridge
        self.ridges = _RIDGES[gram.dtype]
        self.convex = bool(np.minimum.reduce(self.diagonal) >= 0.0) and (psd or sample_is_psd(gram))
        self.exact = np.count_nonzero(beta) == 0
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


def run_rounds(
    state: DualState,
    *,
    tol: float,
    max_iter: int,
    polish: bool,
    callback: Callback | None,
) -> DualResult:
    """Improve a dual point round by round until its certificate meets the tolerance.

    What ends the rounds is judged by an exact gradient, never by one that steps have updated.

    Parameters
    ----------
    state : DualState
    tol : float
        Relative duality gap.
    max_iter : int
        Largest number of passes: as many rounds as take every variable once, a block at a time.
    polish : bool
        Whether to go on for a few rounds towards the exact solution once the tolerance is met.
    callback : callable or None
        Called as ``callback(n_iter, objective, gap)`` at the end of every round.

    Returns
    -------
    DualResult
        Its x is the state's beta, changed in place.
    """
    task, beta = state.task, state.beta
    history: list[tuple[float, float]] = []
    polishing = POLISH_ROUNDS if polish else 0
    max_rounds = max_iter * -(-task.n // WHOLE)
    rounds, was_met, stalled = 0, False, False
    least, best = math.inf, beta
    while True:
        if task.n <= WHOLE:
            state.refresh()  # costs less than a wrong turn
        found = state.certificate()
        met = found.meets(tol, beta)
        enough = met and (polishing == 0 or task.count_free(beta) > MAX_POLISH_VARIABLES)
        # Rounds do not mend a gap that is not a number: products of extreme numbers overflowed.
        hopeless = stalled or math.isnan(found.gap)
        ends = enough or hopeless or found.gap <= found.resolution or rounds == max_rounds
        if not state.exact and (ends or (met and not was_met)):
            state.refresh()
            continue  # and judge again
        # Rounding may lead from good points to worse ones.
        if stalled and not met and least < found.gap:
            beta[:], least = best, math.inf
            state.recompute()
            continue
        if state.exact and found.gap < least:
            least, best = found.gap, beta.copy()
        was_met = met
        if rounds > 0 or ends:
            history.append((found.objective, found.gap))
            if callback is not None:
                callback(len(history), found.objective, found.gap)
        if ends:
            break
        polishing -= met
        wanted = 0.0 if met else 0.3 * tol * abs(found.objective) / found.gap
        stalled = not state.improve(wanted, polish=met) or stands_still(history, _PATIENCE)
        rounds += 1
    ending: Ending = "max_iter" if rounds == max_rounds and not stalled else "rounding"
    decision = state.exact_decision()
    # Where the entries of K are far above the linear term, their rounding makes K indefinite.
    curvature = float(beta @ decision)
    if not curvature >= 0.0 and task.p.any():
        rounding = 2.0 * found.resolution + 1e-3 * float(np.abs(task.p) @ np.abs(beta))
        state.convex &= curvature >= -rounding
    return DualResult(
        x=beta,
        objective=found.objective,
        gap=found.gap if state.convex else np.nan,
        n_iter=len(history),
        converged=met,
        history=tuple(history),
        status="proved" if state.convex else "stationary",
        ending="tolerance" if met else ending,
        intercept=found.intercept,
        decision=decision,
    )


def stands_still(history: list[tuple[float, float]], patience: int) -> bool:
    """Return whether many rounds have changed nothing but rounding errors.

    With costs of very different size the objective may creep up for ever, far below the gap.

    Parameters
    ----------
    history : list of (float, float)
        Objective and gap after every round.
    patience : int
        How many rounds; a fifth of them where the gap is above the objective.

    Returns
    -------
    bool
    """
    if not history:
        return False
    objective, gap = history[-1]
    limits = [(patience, 1e-12 * abs(objective))]
    if gap > abs(objective):
        limits.append((patience // 5, 1e-9 * gap))
    for rounds, little in limits:
        if len(history) > rounds:
            before, gap_before = history[-rounds - 1]
            if objective - before <= little and gap >= 0.9 * gap_before:
                return True
    return False


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
