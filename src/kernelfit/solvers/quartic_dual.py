r"""The certified solver of the dual that an adaptive kernel leaves, a quartic.

    max over beta   p'beta - epsilon ||beta||_1 - 1/2 beta'K beta - 1/(16 eta) q'(K o K)q
    s.t.            lower <= beta <= upper,   sum(beta) = 0 (with an intercept)

with ``q_i = beta_i^2 / weight_i``: DANK without its nuclear norm, from which the matrix ``F = 11' +
(c c' o K) / (4 eta)``, ``c = beta / weight``, has been eliminated. The gradient is that of an SVM
with the kernel ``F o K``, so the duality gap of that machine bounds the distance to the optimum.

The rounds are those of :mod:`kernelfit.solvers.block_rounds`: blocks of free variables and worst
violators, on which pair and Newton steps alternate. Only rows of K are read, F is never formed, and
the state is two vectors, ``K beta`` and ``(K o K) q``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from kernelfit.solvers.block_rounds import (
    BLOCK,
    FLOPS_PER_STEP,
    MAX_ALTERNATIONS,
    MAX_NEWTON_VARIABLES,
    MAX_POLISH_VARIABLES,
    POLISH_ROUNDS,
    BlockSolver,
    Gram,
    feasible,
    is_free,
    restore_sum,
    sample_is_psd,
    stands_still,
)
from kernelfit.solvers.certificate import duality_gap
from kernelfit.solvers.gram import DenseGram
from kernelfit.solvers.newton_steps import BLOCKED, newton_step
from kernelfit.solvers.quartic_steps import (
    move_along,
    quartic_hessian,
    quartic_pair_steps,
    quartic_single_steps,
)
from kernelfit.solvers.result import FloatArray, SvmDualResult
from kernelfit.solvers.svm_dual import Callback

# From a machine's solution the right block changes little from round to round: solved further than
# for the machine, it needs to be gathered less often.
_DEEPER = 0.3
# A blocked Newton step is repeated as long as a factorisation is cheap.
_NEWTON_REPEATS = 400
_MAX_REPEATS = 20


@dataclass(frozen=True)
class QuarticDualResult(SvmDualResult):
    """Outcome of :func:`solve_quartic_dual`.

    Attributes
    ----------
    kernel_decision : ndarray
        ``K @ x``, while ``decision`` is ``(F o K) @ x``.
    """

    kernel_decision: FloatArray


def solve_quartic_dual(
    K: npt.NDArray[Any] | Gram,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    eta: float,
    *,
    weight: FloatArray | None = None,
    epsilon: float = 0.0,
    fit_intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int = 1000,
    warm_start: FloatArray | None = None,
    assume_psd: bool = False,
    polish: bool = False,
    callback: Callback | None = None,
) -> QuarticDualResult:
    r"""Solve the quartic dual to a relative duality gap.

    .. math::

        \max_\beta\; p^\top\beta - \epsilon\|\beta\|_1 - \tfrac12 \beta^\top K \beta
        - \tfrac1{16\eta} \sum_{ij} q_i q_j K_{ij}^2
        \quad\text{s.t.}\quad l \le \beta \le u,\; \mathbf 1^\top\beta = 0

    Parameters
    ----------
    K, p, lower, upper
        As for :func:`kernelfit.solvers.svm_dual.solve_svm_dual`.
    eta : float
        Weight of the penalty on F, > 0; infinity gives the SVM.
    weight : ndarray of shape (n,), optional
        Multiplicities of the points, > 0; ones when None.
    epsilon, fit_intercept, tol, max_iter, warm_start, assume_psd, polish, callback
        As for :func:`kernelfit.solvers.svm_dual.solve_svm_dual`.

    Returns
    -------
    QuarticDualResult

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.solvers.quartic_dual import solve_quartic_dual
    >>> y = np.array([-1.0, 1.0])
    >>> result = solve_quartic_dual(
    ...     np.eye(2), y, np.minimum(9 * y, 0), np.maximum(9 * y, 0), eta=0.25, tol=1e-9
    ... )
    >>> result.x.round(4)  # beta + beta^3 = 1
    array([-0.6823,  0.6823])
    """
    gram = DenseGram(K) if isinstance(K, np.ndarray) else K
    p = np.ascontiguousarray(p, dtype=np.float64)
    lower = np.ascontiguousarray(lower, dtype=np.float64)
    upper = np.ascontiguousarray(upper, dtype=np.float64)
    n = p.size
    # With sum(beta) = 0 a constant in p only moves the intercept.
    shift = 0.5 * (p.min() + p.max()) if fit_intercept else 0.0
    p = p - shift
    weight = np.ones(n) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    rate = 0.25 / eta
    beta = np.zeros(n) if warm_start is None else feasible(warm_start, lower, upper, fit_intercept)
    block = _QuarticBlockSolver(gram, lower, upper, epsilon, fit_intercept, p, weight, rate)
    block.convex &= assume_psd or sample_is_psd(gram)
    block.recompute(beta, exact=False)
    fresh = not beta.any()
    history: list[tuple[float, float]] = []
    converged = stalled = False
    rounds, polish_rounds = 0, POLISH_ROUNDS if polish else 0
    while True:
        g = block.gradient(beta)
        gap, _, intercept, resolution = duality_gap(
            g, p, beta, lower, upper, epsilon, fit_intercept
        )
        objective = block.objective(beta)
        met = gap <= tol * abs(objective) or (gap <= resolution and not beta.any())
        done = met and (polish_rounds == 0 or block.count_free(beta) > MAX_POLISH_VARIABLES)
        stop = done or gap <= resolution or stalled or rounds == max_iter
        if (stop or (met and not converged)) and not fresh:
            if fit_intercept:
                restore_sum(beta, lower, upper)
            block.recompute(beta, exact=True)
            fresh = True
            continue
        converged = met
        if rounds > 0 or stop:
            history.append((objective, gap))
            if callback is not None:
                callback(len(history), objective, gap)
        if stop:
            break
        polish_rounds -= converged
        wanted = 0.0 if converged else 0.3 * tol * abs(objective) / gap
        stalled = not block.improve(beta, g, wanted, polish=converged)
        stalled |= stands_still(history)
        rounds += 1
        fresh = False
    return QuarticDualResult(
        x=beta,
        objective=objective,
        gap=gap if block.convex else np.nan,
        n_iter=len(history),
        converged=bool(converged),
        history=tuple(history),
        intercept=float(intercept + shift),
        decision=g + p,
        certified=block.convex,
        kernel_decision=block.v + p,
    )


class _QuarticBlockSolver(BlockSolver):
    """The rounds of :func:`solve_quartic_dual`.

    Its state is ``v = K beta - p`` and ``s = (K o K) q``.
    """

    def __init__(
        self,
        gram: Gram,
        lower: FloatArray,
        upper: FloatArray,
        epsilon: float,
        fit_intercept: bool,
        p: FloatArray,
        weight: FloatArray,
        rate: float,
    ) -> None:
        super().__init__(gram, lower, upper, epsilon, fit_intercept)
        self.p, self.weight, self.rate = p, weight, rate
        self.quartic_steps = quartic_pair_steps if fit_intercept else quartic_single_steps
        self.v, self.s = -p, np.zeros(p.size)

    def recompute(self, beta: FloatArray, exact: bool) -> None:
        """Compute the state anew."""
        self.v, self.s = -self.p, np.zeros(beta.size)
        support = np.flatnonzero(beta)
        self._add(support, beta[support], beta[support] ** 2 / self.weight[support], exact)

    def gradient(self, beta: FloatArray) -> FloatArray:
        """Return ``(F o K) beta - p``."""
        return self.v + self.rate * (beta / self.weight) * self.s

    def objective(self, beta: FloatArray) -> float:
        """Return the maximised objective."""
        linear = float(self.p @ beta) - self.epsilon * float(np.abs(beta).sum())
        quadratic = float(beta @ (self.v + self.p))
        quartic = float((beta * beta / self.weight) @ self.s)
        return linear - 0.5 * quadratic - 0.25 * self.rate * quartic

    def improve(self, beta: FloatArray, g: FloatArray, wanted: float, polish: bool) -> bool:
        """Improve one block; at the start, a little of everything that rows in memory allow."""
        matrix = self.gram.matrix
        if matrix is None or beta.any() or beta.size <= BLOCK:
            return super().improve(beta, g, wanted, polish)
        spread = float(np.abs(g).max())
        self._steps(matrix, slice(None), beta, self.v, self.s, 1e-2 * spread, beta.size)
        return bool(beta.any())

    def _add(
        self, idx: npt.NDArray[np.intp], change: FloatArray, squares: FloatArray, exact: bool
    ) -> None:
        for positions, source, places in self.gram.parts(idx, exact):
            _accumulate_both(source, places, change[positions], squares[positions], self.v, self.s)

    def _steps(
        self,
        K: npt.NDArray[Any],
        part: Any,
        beta: FloatArray,
        v: FloatArray,
        s: FloatArray,
        target: float,
        budget: int,
    ) -> float:
        return float(
            self.quartic_steps(
                K,
                self.diagonal[part],
                v,
                s,
                beta,
                self.lower[part],
                self.upper[part],
                self.weight[part],
                self.rate,
                self.epsilon,
                target,
                budget,
            )
        )

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
        target *= _DEEPER if index is not None else 1.0
        sub, v, s = beta[part].copy(), self.v[part].copy(), self.s[part].copy()
        lower, upper = self.lower[part], self.upper[part]
        for alternation in range(MAX_ALTERNATIONS):
            n_free = int(np.count_nonzero(is_free(sub, lower, upper, self.epsilon)))
            if 0 < n_free <= MAX_NEWTON_VARIABLES and (alternation > 0 or polish):
                self._newton_on(K, part, sub, v, s, n_free)
            budget = sub.size + int(min(n_free, MAX_NEWTON_VARIABLES) ** 3 / FLOPS_PER_STEP)
            if self._steps(K, part, sub, v, s, target, budget) <= target:
                break
        changed = np.flatnonzero(sub != beta[part])
        if index is None:
            self.v, self.s = v, s
        elif changed.size:
            rows = index[changed]
            change = sub[changed] - beta[rows]
            squares = (sub[changed] ** 2 - beta[rows] ** 2) / self.weight[rows]
            self._add(rows, change, squares, exact=False)
        beta[part] = sub
        return bool(changed.size)

    def _newton_on(
        self,
        K: npt.NDArray[Any],
        part: Any,
        beta: FloatArray,
        v: FloatArray,
        s: FloatArray,
        n_free: int,
    ) -> None:
        """Go to the quartic's minimum on the way to the Newton point, a few times if blocked."""
        weight, lower, upper = self.weight[part], self.lower[part], self.upper[part]
        for repeat in range(1 + min(_NEWTON_REPEATS // n_free, _MAX_REPEATS)):
            hessian = quartic_hessian(K, s, beta, weight, self.rate)
            target = beta.copy()
            g = v + self.rate * (beta / weight) * s
            for ridge in self.ridges:
                try:
                    status = newton_step(
                        hessian,
                        g,
                        target,
                        lower,
                        upper,
                        self.epsilon,
                        self.fit_intercept,
                        ridge,
                        repeat > 0,
                    )
                    break
                except np.linalg.LinAlgError:
                    continue
            else:
                self.convex = False
                return
            length = move_along(K, v, s, beta, target, weight, self.rate, self.epsilon)
            if status != BLOCKED or length < 1.0:
                return


@njit(cache=True, nogil=True)
def _accumulate_both(
    source: npt.NDArray[Any],
    places: npt.NDArray[np.intp],
    change: FloatArray,
    squares: FloatArray,
    v: FloatArray,
    s: FloatArray,
) -> None:
    """Add ``source[places].T @ change`` to v, and with squared entries ``squares`` to s."""
    m = len(places)
    r = 0
    while r + 2 <= m:  # two rows for each pass over v and s
        row0, row1 = source[places[r]], source[places[r + 1]]
        a0, a1, b0, b1 = change[r], change[r + 1], squares[r], squares[r + 1]
        for k in range(v.size):
            x, y = np.float64(row0[k]), np.float64(row1[k])
            v[k] += a0 * x + a1 * y
            s[k] += b0 * (x * x) + b1 * (y * y)
        r += 2
    if r < m:
        row0 = source[places[r]]
        a0, b0 = change[r], squares[r]
        for k in range(v.size):
            x = np.float64(row0[k])
            v[k] += a0 * x
            s[k] += b0 * (x * x)
