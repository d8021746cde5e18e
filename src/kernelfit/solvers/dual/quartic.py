r"""The certified solver of the dual that an adaptive kernel leaves, a quartic.

    max over beta   p'beta - epsilon ||beta||_1 - 1/2 beta'K beta - 1/(16 eta) q'(K o K)q
    s.t.            lower <= beta <= upper,   sum(beta) = 0 (with an intercept)

with ``q_i = beta_i^2 / weight_i``: DANK without its nuclear norm, from which the matrix ``F = 11' +
(c c' o K) / (4 eta)``, ``c = beta / weight``, has been eliminated. The gradient is that of an SVM
with the kernel ``F o K``, so the duality gap of that machine bounds the distance to the optimum.

Blocks are those of :mod:`kernelfit.solvers.dual.blocks`: free variables and worst violators, on
which pair and Newton steps alternate. Only rows of K are read, F is never formed, and the state is
two vectors, ``K beta`` and ``(K o K) q``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelfit.kernels.gram import DenseGram, Gram
from kernelfit.solvers.dual.blocks import DualState, alternate
from kernelfit.solvers.dual.newton_steps import BLOCKED, newton_step
from kernelfit.solvers.dual.quartic_steps import (
    move_along,
    quartic_hessian,
    quartic_pair_steps,
    quartic_single_steps,
)
from kernelfit.solvers.dual.rounds import run_rounds
from kernelfit.solvers.result import Callback, DualResult, FloatArray
from kernelfit.tasks.task import Certificate, Task

# From a machine's solution the right block changes little from round to round: solved further than
# for the machine, it needs to be gathered less often.
_DEEPER = 0.3
# A blocked Newton step is repeated as long as a factorisation is cheap.
_NEWTON_REPEATS = 400
_MAX_REPEATS = 20


@dataclass(frozen=True)
class QuarticResult(DualResult):
    """Outcome of :func:`solve_quartic_dual`; ``decision`` is ``(F o K) @ x``.

    Attributes
    ----------
    kernel_values : ndarray
        ``K @ x``.
    """

    kernel_values: FloatArray


def solve_quartic_dual(
    K: npt.NDArray[Any] | Gram,
    task: Task,
    eta: float,
    *,
    weight: FloatArray | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: FloatArray | None = None,
    assume_psd: bool = False,
    polish: bool = False,
    callback: Callback | None = None,
) -> QuarticResult:
    r"""Solve the quartic dual to a relative duality gap.

    .. math::

        \max_\beta\; p^\top\beta - \epsilon\|\beta\|_1 - \tfrac12 \beta^\top K \beta
        - \tfrac1{16\eta} \sum_{ij} q_i q_j K_{ij}^2
        \quad\text{s.t.}\quad l \le \beta \le u,\; \mathbf 1^\top\beta = 0

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram
    task : Task
        Without ridge.
    eta : float
        Weight of the penalty on F, > 0; infinity gives the SVM.
    weight : ndarray of shape (n,), optional
        Multiplicities of the points, > 0; ones when None.
    tol, max_iter, start, assume_psd, polish, callback
        As for :func:`kernelfit.solvers.dual.solve.solve_dual`.

    Returns
    -------
    QuarticResult

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.solvers.dual.quartic import solve_quartic_dual
    >>> from kernelfit.tasks.losses import hinge
    >>> result = solve_quartic_dual(np.eye(2), hinge([-1.0, 1.0], C=9.0), eta=0.25, tol=1e-9)
    >>> result.x.round(4)  # beta + beta^3 = 1
    array([-0.6823,  0.6823])
    """
    gram = DenseGram(K) if isinstance(K, np.ndarray) else K
    task, shift = task.centred()
    weight = np.ones(task.n) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    state = _QuarticState(gram, task, task.start(start), assume_psd, weight, 0.25 / eta)
    result = run_rounds(state, tol=tol, max_iter=max_iter, polish=polish, callback=callback)
    return QuarticResult.of(
        result,
        intercept=result.intercept + shift,
        decision=result.decision,
        kernel_values=state.v + task.p,
    )


class _QuarticState(DualState):
    """A point of the quartic dual with ``v = K beta - p`` and ``s = (K o K) q``."""

    def __init__(
        self,
        gram: Gram,
        task: Task,
        beta: FloatArray,
        psd: bool,
        weight: FloatArray,
        rate: float,
    ) -> None:
        super().__init__(gram, task, beta, psd)
        self.weight, self.rate = weight, rate
        self.steps = quartic_pair_steps if task.has_intercept else quartic_single_steps
        self._restart(exact=False)

    def _restart(self, exact: bool) -> None:
        beta = self.beta
        self.v, self.s = -self.task.p, np.zeros(beta.size)
        support = np.flatnonzero(beta)
        squares = beta[support] ** 2 / self.weight[support]
        self.gram.accumulate_squares(support, beta[support], squares, self.v, self.s, exact)

    def recompute(self) -> None:
        """Compute ``v`` and ``s`` from beta and exact rows."""
        self._restart(exact=True)

    def exact_decision(self) -> FloatArray:
        """Return ``(F o K) beta``."""
        return self.gradient() + self.task.p

    def gradient(self) -> FloatArray:
        """Return ``(F o K) beta - p``."""
        return self.v + self.rate * (self.beta / self.weight) * self.s

    def certificate(self) -> Certificate:
        """Return the certificate of beta: the gap is that of the machine with the kernel F o K."""
        beta, task = self.beta, self.task
        found = task.certificate_at(beta, self.gradient())
        quadratic = float(beta @ (self.v + task.p))
        quartic = float((beta * beta / self.weight) @ self.s)
        objective = task.kappa(beta) - 0.5 * quadratic - 0.25 * self.rate * quartic
        return found._replace(objective=objective)

    def sweep(self, K: npt.NDArray[Any], target: float) -> None:
        """Take pair steps on the whole of K, at most one a variable."""
        everything = slice(None)
        self._steps(K, everything, self.task, self.beta, self.v, self.s, target, self.task.n)

    def _steps(
        self,
        K: npt.NDArray[Any],
        part: Any,
        task: Task,
        beta: FloatArray,
        v: FloatArray,
        s: FloatArray,
        target: float,
        budget: int,
    ) -> bool:
        box = task.lower, task.upper
        numbers: Any = (self.rate, task.epsilon, target, budget)
        found = self.steps(K, self.diagonal[part], v, s, beta, *box, self.weight[part], *numbers)
        return bool(found <= target)

    def solve_block(self, K: npt.NDArray[Any], index: Any, target: float, polish: bool) -> bool:
        """Improve a block until its violation is down to the target."""
        part: Any = slice(None) if index is None else index
        target *= _DEEPER if index is not None else 1.0
        task = self.task if index is None else self.task.take(index)
        beta, v, s = self.beta[part].copy(), self.v[part].copy(), self.s[part].copy()

        def newton(n_free: int, alternation: int) -> None:
            self._newton(K, part, task, beta, v, s, n_free)

        def steps(budget: int) -> bool:
            return self._steps(K, part, task, beta, v, s, target, budget)

        alternate(newton, steps, task, beta, polish)
        changed = np.flatnonzero(beta != self.beta[part])
        if index is None:
            self.v, self.s = v, s
        elif changed.size:
            rows = index[changed]
            change = beta[changed] - self.beta[rows]
            squares = (beta[changed] ** 2 - self.beta[rows] ** 2) / self.weight[rows]
            self.gram.accumulate_squares(rows, change, squares, self.v, self.s)
        self.beta[part] = beta
        return bool(changed.size)

    def _newton(
        self,
        K: npt.NDArray[Any],
        part: Any,
        task: Task,
        beta: FloatArray,
        v: FloatArray,
        s: FloatArray,
        n_free: int,
    ) -> None:
        """Go to the quartic's minimum on the way to the Newton point, a few times if blocked."""
        weight = self.weight[part]
        box = task.lower, task.upper, task.epsilon, task.has_intercept
        for repeat in range(1 + min(_NEWTON_REPEATS // n_free, _MAX_REPEATS)):
            hessian = quartic_hessian(K, s, beta, weight, self.rate)
            target = beta.copy()
            g = v + self.rate * (beta / weight) * s
            for ridge, by_trace in zip(self.ridges, (False, True), strict=True):
                try:
                    status = newton_step(hessian, g, target, *box, ridge, by_trace, min(repeat, 1))
                    break
                except np.linalg.LinAlgError:
                    continue
            else:
                self.convex = False
                return
            length = move_along(K, v, s, beta, target, weight, self.rate, task.epsilon)
            if status != BLOCKED or length < 1.0:
                return
