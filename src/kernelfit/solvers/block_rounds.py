"""The rounds of the dual solvers: blocks of variables, improved in place.

A block holds all free variables and the worst violators. Its part of K is gathered into a
contiguous array, on which pair steps (:mod:`kernelfit.solvers.pair_steps`) and Newton steps
(:mod:`kernelfit.solvers.newton_steps`) alternate; the rows of the variables that changed then
update the whole gradient. Variables outside the blocks cost nothing, which is what shrinking
achieves elsewhere. Symbols are those of :mod:`kernelfit.solvers.svm_dual`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from kernelfit.solvers.gram import DenseGram, RowGram
from kernelfit.solvers.newton_steps import BLOCKED, newton_step
from kernelfit.solvers.pair_steps import one_sided_rates, pair_steps, single_steps
from kernelfit.solvers.projections import project_box_plane
from kernelfit.solvers.result import FloatArray
from kernelfit.utils.threads import threads_for

Gram = DenseGram | RowGram

# Blocks hold at least this many variables, and at most four times as many.
BLOCK = 1024
# A block is solved until its violation is this fraction of the violation at the round's start.
_REDUCTION = 0.1
# Pair steps that cost about as much as a factorisation of f variables: f^3 / FLOPS_PER_STEP.
FLOPS_PER_STEP = 5e4
MAX_NEWTON_VARIABLES = 2048
# Newton's ridge as a fraction of the trace. A matrix that fails at the last one is indefinite
# beyond the rounding of its entries, as is one with a relative curvature below minus the last one.
_RIDGES = {np.dtype(np.float64): (1e-13, 1e-9), np.dtype(np.float32): (1e-13, 1e-6)}
# A blocked Newton step on f variables is repeated about _NEWTON_REPEATS / f times, and after a few
# alternations on a block ever more often: where K has low rank, bounds are met one by one.
_NEWTON_REPEATS = 400
_PATIENT_ALTERNATIONS = 6
MAX_ALTERNATIONS = 50
POLISH_ROUNDS = 3
MAX_POLISH_VARIABLES = 512
# Rounds without progress after which rounding is taken to prevent it.
_PATIENCE = 100
_PSD_SAMPLE = 300


def stands_still(history: list[tuple[float, float]]) -> bool:
    """Return whether many rounds have changed nothing but rounding errors."""
    if len(history) <= _PATIENCE:
        return False
    (before, gap_before), (objective, gap) = history[-_PATIENCE - 1], history[-1]
    return objective - before <= 1e-12 * abs(objective) and gap >= 0.9 * gap_before


def feasible(
    start: FloatArray, lower: FloatArray, upper: FloatArray, fit_intercept: bool
) -> FloatArray:
    """Return the feasible point closest to the start."""
    start = np.asarray(start, dtype=np.float64)
    if not fit_intercept:
        return np.clip(start, lower, upper)
    in_box = np.all((lower <= start) & (start <= upper))
    if in_box and abs(start.sum()) <= 1e-14 * np.abs(start).sum():
        return start.copy()
    return project_box_plane(start, lower, upper)


def is_free(
    beta: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float
) -> npt.NDArray[np.bool_]:
    """Return which variables are neither at a bound nor at the kink of the l1 term."""
    inside: npt.NDArray[np.bool_] = (beta > lower) & (beta < upper)
    return inside & (beta != 0.0) if epsilon > 0.0 else inside


@njit(cache=True, nogil=True)
def _most_room(beta: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[int, float]:
    """Return the variable with most room to both sides, and how much that is.

    In regression a variable at 0 must stay there: it has none.
    """
    roomiest, most = 0, -1.0
    for i in range(beta.size):
        room = min(upper[i] - beta[i], beta[i] - lower[i], abs(beta[i]))
        if room > most:
            roomiest, most = i, room
    return roomiest, most


def restore_sum(beta: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    """Take the rounding error of many steps out of the sum, at the variable with most room."""
    roomiest, room = _most_room(beta, lower, upper)
    error = beta.sum()
    if abs(error) <= room:
        beta[roomiest] = min(max(beta[roomiest] - error, lower[roomiest]), upper[roomiest])


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


class BlockSolver:
    """The rounds of the quadratic dual: choose a block and improve it in place."""

    def __init__(
        self,
        gram: Gram,
        lower: FloatArray,
        upper: FloatArray,
        epsilon: float,
        fit_intercept: bool,
    ) -> None:
        self.gram, self.lower, self.upper = gram, lower, upper
        self.epsilon, self.fit_intercept = epsilon, fit_intercept
        self.diagonal = gram.diagonal()
        self.convex = bool(np.all(self.diagonal >= 0.0))
        self.steps = pair_steps if fit_intercept else single_steps
        self.ridges = _RIDGES[gram.dtype]

    def count_free(self, beta: FloatArray) -> int:
        """Return the number of free variables."""
        return int(np.count_nonzero(is_free(beta, self.lower, self.upper, self.epsilon)))

    def _note(self, curvature: float) -> None:
        """Remember that K is indefinite where a curvature is negative beyond rounding."""
        self.convex &= curvature >= -self.ridges[-1]

    def improve(self, beta: FloatArray, g: FloatArray, wanted: float, polish: bool) -> bool:
        """Improve one block; ``wanted`` is the reduction of the violation that would suffice.

        Returns False when nothing could be changed.
        """
        up, down = one_sided_rates(g, beta, self.lower, self.upper, self.epsilon)
        highest, lowest = (up.max(), down.min()) if self.fit_intercept else (0.0, 0.0)
        violation = highest - lowest if self.fit_intercept else max(up.max(), -down.min())
        n = beta.size
        matrix = self.gram.matrix
        if matrix is not None and n <= BLOCK:
            # One block holds everything: no coordination between blocks to wait for.
            target = violation * min(max(wanted, 1e-4), _REDUCTION)
            return self._solve(matrix, None, beta, g, target, polish)
        if matrix is not None and not beta.any():
            # From zero, most variables settle at a bound within a few steps each: reading rows of
            # the whole matrix is then cheaper than gathering blocks.
            curvature = self.steps(
                matrix,
                self.diagonal,
                g,
                beta,
                self.lower,
                self.upper,
                self.epsilon,
                1e-2 * violation,
                n,
            )[2]
            self._note(curvature)
            return bool(beta.any())
        index = self._choose(beta, up, down, highest, lowest)
        target = violation * max(wanted, _REDUCTION)
        return self._solve(self.gram.block(index), index, beta, g, target, polish)

    def _choose(
        self, beta: FloatArray, up: FloatArray, down: FloatArray, highest: float, lowest: float
    ) -> npt.NDArray[np.intp]:
        """Return the sorted indices of the free variables and the worst violators of both kinds."""
        free = is_free(beta, self.lower, self.upper, self.epsilon)
        n_free = int(np.count_nonzero(free))
        size = min(max(BLOCK, n_free + n_free // 4), 4 * BLOCK)
        chosen = np.zeros(beta.size, dtype=bool)
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

    def _solve(
        self,
        K: npt.NDArray[Any],
        index: npt.NDArray[np.intp] | None,
        beta: FloatArray,
        g: FloatArray,
        target: float,
        polish: bool,
    ) -> bool:
        """Alternate pair and Newton steps on a block until its violation is down to the target."""
        part: Any = slice(None) if index is None else index
        sub_beta, sub_g = beta[part].copy(), g[part].copy()
        lower, upper, diagonal = self.lower[part], self.upper[part], self.diagonal[part]
        for alternation in range(MAX_ALTERNATIONS):
            n_free = int(np.count_nonzero(is_free(sub_beta, lower, upper, self.epsilon)))
            if 0 < n_free <= MAX_NEWTON_VARIABLES and (alternation > 0 or polish):
                self._newton(K, sub_g, sub_beta, lower, upper, n_free, alternation)
            budget = sub_beta.size + int(min(n_free, MAX_NEWTON_VARIABLES) ** 3 / FLOPS_PER_STEP)
            _, violation, curvature = self.steps(
                K, diagonal, sub_g, sub_beta, lower, upper, self.epsilon, target, budget
            )
            self._note(curvature)
            if violation <= target:
                break
        changed = np.flatnonzero(sub_beta != beta[part])
        if index is None:
            g[:] = sub_g
        elif changed.size:
            rows = index[changed]
            self.gram.accumulate(rows, sub_beta[changed] - beta[rows], g)
        beta[part] = sub_beta
        return bool(changed.size)

    def _newton(
        self,
        K: npt.NDArray[Any],
        g: FloatArray,
        beta: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        n_free: int,
        alternation: int,
    ) -> None:
        """Take Newton steps, noting when the free part of K is indefinite."""
        doublings = max(alternation - _PATIENT_ALTERNATIONS, 0)
        repeats = min(n_free, (1 + _NEWTON_REPEATS // n_free) << doublings)
        problem = (K, g, beta, lower, upper, self.epsilon, self.fit_intercept)
        with threads_for(n_free):
            for ridge in self.ridges:
                try:
                    status = newton_step(*problem, ridge, False)
                    for _ in range(repeats):
                        if status != BLOCKED:
                            break
                        status = newton_step(*problem, ridge, True)
                    return
                except np.linalg.LinAlgError:
                    continue
        self.convex = False
