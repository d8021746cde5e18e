r"""DANK and KNPL: a machine together with the entrywise factor of its kernel matrix.

.. math::

    \max_\beta \min_\Theta\; \kappa(\beta) - \tfrac12 \beta^\top (\Theta \circ K)\beta + R(\Theta)

======  ============================  ==================================================
method  Theta                         R
======  ============================  ==================================================
dank    F psd                         ``eta ||F - 11'||_F^2 + tau eta ||F||_*``
knpl    G psd, ``G 1 = n 1``          ``eta ||G||_F^2``
======  ============================  ==================================================

========================  =============================================================
solver                    what it is
========================  =============================================================
"quartic"                 DANK with tau = 0: blocked coordinate descent, rows on demand
"newton"                  majorised Newton steps
"damped"                  damped alternation of machine and factor
"alternating", "admm"     KNPL's plain alternation, its factor in closed form or by ADMM
"nesterov",               Algorithms 1 and 2 of the DANK paper, corrected, and their monotone
"nesterov_monotone",      variant; its Eq. (17)
"projected_gradient"
========================  =============================================================
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kernelfit.families.hadamard.base import HadamardFamily
from kernelfit.families.hadamard.dank import AdaptiveFamily, neutral_factor
from kernelfit.families.hadamard.knpl import PairwiseFamily
from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.kernels.gram import Gram
from kernelfit.solvers.dual.device import solver_for
from kernelfit.solvers.dual.device_quartic import solve_quartic_on_device
from kernelfit.solvers.dual.quartic import solve_quartic_dual
from kernelfit.solvers.result import Callback, FloatArray
from kernelfit.solvers.saddle.alternation import ADMM, ALTERNATING, DAMPED
from kernelfit.solvers.saddle.gradient import GRADIENT_SOLVERS
from kernelfit.solvers.saddle.newton import NEWTON
from kernelfit.solvers.saddle.problem import SaddleProblem, SaddleSolver, assess, solve_saddle
from kernelfit.solvers.saddle.progress import Assessment, Pair, SaddleResult
from kernelfit.tasks.task import Task

SOLVERS: dict[str, SaddleSolver] = {
    "newton": NEWTON,
    "damped": DAMPED,
    "alternating": ALTERNATING,
    "admm": ADMM,
    **GRADIENT_SOLVERS,
}
Method = Literal["dank", "knpl"]
_START_ACCURACY = 1e-3


@dataclass(frozen=True)
class Penalty:
    """How strongly the factor is held.

    Attributes
    ----------
    method : {"dank", "knpl"}
    eta : float
        Weight of the penalty, or a multiple of :func:`squared_norm` of the plain machine.
    relative : bool
        Whether eta is such a multiple.
    tau : float, default=0
        Weight of the nuclear norm; DANK only.
    """

    method: Method
    eta: float
    relative: bool
    tau: float = 0.0

    def family(self, gram: Gram, weight: FloatArray) -> HadamardFamily:
        """Return the family on a kernel matrix, for an absolute eta."""
        if self.method == "knpl":
            return PairwiseFamily(gram, weight, self.eta)
        return AdaptiveFamily(gram, weight, self.eta, tau=self.tau)

    def neutral(self, weight: FloatArray) -> float:
        """Return the factor without adaptation."""
        return neutral_factor(self.tau, weight)

    def absolute(
        self,
        beta: FloatArray,
        weight: FloatArray,
        repeats: npt.NDArray[np.intp] | None,
    ) -> "Penalty":
        """Return the penalty with its eta resolved, given the plain machine's solution."""
        if not self.relative:
            return self
        unit = squared_norm(beta, weight, repeats)
        return replace(self, eta=self.eta * unit, relative=False)


def learn_factor(
    gram: Gram | DeviceGram,
    task: Task,
    penalty: Penalty,
    *,
    weight: FloatArray,
    repeats: npt.NDArray[np.intp] | None = None,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 1000,
    polish: bool = False,
    start: FloatArray | None = None,
    assume_psd: bool = False,
    callback: Callback | None = None,
) -> SaddleResult:
    """Solve the saddle problem of one task.

    Parameters
    ----------
    gram : Gram or DeviceGram
        The latter for the solver "quartic".
    task : Task
    penalty : Penalty
    weight : ndarray of shape (n,)
        Multiplicities of the points, > 0.
    repeats : ndarray of shape (n,), optional
        Equal for points that repeat each other, for :func:`squared_norm`.
    solver : str
        See the module's head. "auto" is "quartic" where it applies, else "newton".
    tol, max_iter, polish, start, assume_psd, callback
        As for :func:`kernelfit.solvers.dual.solve.solve_dual`.

    Returns
    -------
    SaddleResult
    """
    smooth = penalty.method == "dank" and penalty.tau == 0.0 and task.ridge is None
    if solver == "auto":
        solver = "quartic" if smooth else "newton"
    task, shift = task.centred()
    proved = assume_psd
    # The plain machine also tests whether K is psd, which the quartic solver does by itself.
    if penalty.relative or (solver != "quartic" and (start is None or not assume_psd)):
        plain = solver_for(gram)(
            gram,
            task,
            tol=tol,
            max_iter=max_iter,
            start=start,
            assume_psd=assume_psd,
            polish=polish,
        )
        proved = plain.status == "proved"
        penalty = penalty.absolute(plain.x, weight, repeats)
        start = plain.x if start is None else start
    source: Any = gram
    family = penalty.family(source, weight)
    problem = SaddleProblem(family, (task,))
    if solver == "quartic":
        result = _quartic(problem, start, tol, max_iter, polish, assume_psd, callback)
    else:
        beta = task.start(start)
        first: Any = beta[None], np.ones((gram.n, gram.n)) if solver == "damped" else None
        if solver == "newton":
            first = _better_start(problem, beta)
        result = solve_saddle(
            problem,
            SOLVERS[solver],
            tol=tol,
            max_iter=max_iter,
            start=first,
            polish=polish,
            status="proved" if proved else "stationary",
            callback=callback,
        )
    return replace(result, intercept=result.intercept + shift)


def neutral_intercept(task: Task, family: HadamardFamily, result: SaddleResult) -> float:
    """Return the intercept that minimises the losses with the factor without adaptation."""
    centred, shift = task.centred()
    return centred.intercept(family.neutral_decision(result.response)) + shift


def squared_norm(
    beta: FloatArray, weight: FloatArray, repeats: npt.NDArray[np.intp] | None = None
) -> float:
    """Return ``||alpha||^2`` of the machine whose weights are spelled out as copies.

    Copies of a point share its coefficient evenly. The machine's dual leaves open how rows that
    repeat each other share theirs, so these are put together first; 1 where beta is zero.

    Parameters
    ----------
    beta, weight : ndarray of shape (n,)
    repeats : ndarray of shape (n,), optional
        Equal for rows that repeat each other.

    Returns
    -------
    float
    """
    if repeats is not None:
        repeats = np.unique(repeats, return_inverse=True)[1]
        beta = np.bincount(repeats, beta).astype(np.float64)
        weight = np.bincount(repeats, weight).astype(np.float64)
    return float(np.sum(beta**2 / weight)) or 1.0


def _better_start(problem: SaddleProblem, beta: FloatArray) -> Pair:
    """Return the pair of beta, or of the solution of DANK with tau = 0 where its gap is less.

    The quartic solver finds that at about the cost of a plain machine. It saves most of the steps,
    unless tau is so large that no adaptation is left.
    """
    family: HadamardFamily = problem.family  # type: ignore[assignment]
    (task,) = problem.tasks

    def assessed(beta: FloatArray) -> Assessment:
        response = family.respond_to(beta)
        return assess(problem, Pair(beta[None], response.theta, response))

    given = assessed(beta)
    if given.gap <= _START_ACCURACY * abs(given.lower) or task.ridge is not None:
        return given
    smooth = assessed(
        solve_quartic_dual(
            family.source,
            task,
            family.eta,
            weight=family.weight,
            tol=_START_ACCURACY,
            start=beta,
            assume_psd=True,
        ).x
    )
    return smooth if smooth.gap < given.gap else given


def _quartic(
    problem: SaddleProblem,
    start: FloatArray | None,
    tol: float,
    max_iter: int,
    polish: bool,
    assume_psd: bool,
    callback: Callback | None,
) -> SaddleResult:
    family: AdaptiveFamily = problem.family  # type: ignore[assignment]
    (task,) = problem.tasks
    source: Any = family.source
    on_device = isinstance(source, DeviceGram)
    found = (solve_quartic_on_device if on_device else solve_quartic_dual)(
        source,
        task,
        family.eta,
        weight=family.weight,
        tol=tol,
        max_iter=max_iter,
        start=start,
        assume_psd=assume_psd,
        polish=polish,
        callback=callback,
    )
    energy = task.kappa(found.x) - found.objective
    response = family.smooth_response(found.x, energy, found.decision, found.kernel_values)
    return SaddleResult.of(
        found,
        x=found.x[None],
        theta=response,
        response=response,
        intercept=np.array([found.intercept]),
        witness=found.x[None],
    )
