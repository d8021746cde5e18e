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

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from kernelfit.families.adaptive import AdaptiveFamily, GammaResponse
from kernelfit.families.hadamard import HadamardFamily
from kernelfit.families.pairwise import PairwiseFamily
from kernelfit.learners.alternation import alternating_steps
from kernelfit.learners.gradient import gradient_steps
from kernelfit.learners.newton import newton_steps
from kernelfit.learners.saddle import Gram, SaddleProblem, SaddleResult, follow, neutral_intercept
from kernelfit.solvers.block_rounds import feasible
from kernelfit.solvers.quartic_dual import solve_quartic_dual
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.svm_dual import Callback, solve_svm_dual

Solver = Literal[
    "auto",
    "quartic",
    "newton",
    "damped",
    "alternating",
    "admm",
    "nesterov",
    "nesterov_monotone",
    "projected_gradient",
]


def learn_factor(
    gram: Gram,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    method: Literal["dank", "knpl"] = "dank",
    weight: FloatArray,
    eta: float,
    relative: bool,
    tau: float = 0.0,
    epsilon: float = 0.0,
    fit_intercept: bool = True,
    solver: Solver = "auto",
    tol: float = 1e-6,
    max_iter: int = 1000,
    polish: bool = False,
    warm_start: FloatArray | None = None,
    groups: npt.NDArray[np.intp] | None = None,
    assume_psd: bool = False,
    callback: Callback | None = None,
) -> SaddleResult:
    """Solve the saddle problem.

    Parameters
    ----------
    gram : DenseGram or RowGram
    p, lower, upper, epsilon, fit_intercept, tol, max_iter, warm_start, assume_psd, callback
        As for :func:`kernelfit.solvers.svm_dual.solve_svm_dual`.
    method : {"dank", "knpl"}
    weight : ndarray of shape (n,)
        Multiplicities of the points, > 0.
    eta : float
        Weight of the penalty, or a multiple of :func:`squared_norm` of the machine with kernel K.
    relative : bool
        Whether eta is such a multiple.
    tau : float, default=0
        Weight of the nuclear norm; DANK only.
    solver : str
        See the module's head. "auto" is "quartic" where it applies, else "newton".
    polish : bool, default=False
        Go on for a few rounds once the tolerance is met.
    groups : ndarray of shape (n,), optional
        Equal for points that are copies of each other, for :func:`squared_norm`.

    Returns
    -------
    SaddleResult
    """
    if solver == "auto":
        solver = "quartic" if method == "dank" and tau == 0.0 else "newton"
    # With sum(beta) = 0 a constant in p only moves the intercept: without it nothing cancels.
    shift = 0.5 * float(p.min() + p.max()) if fit_intercept else 0.0
    p = p - shift
    start, certified = warm_start, assume_psd
    # The plain machine also tests whether K is psd, which the quartic solver does by itself.
    if relative or (solver != "quartic" and (start is None or not assume_psd)):
        machine = solve_svm_dual(
            gram,
            p,
            lower,
            upper,
            epsilon=epsilon,
            fit_intercept=fit_intercept,
            tol=tol,
            max_iter=max_iter,
            warm_start=warm_start,
            assume_psd=assume_psd,
            polish=polish,
        )
        certified = machine.certified
        start = machine.x if start is None else start
        if relative:
            eta *= squared_norm(machine.x, weight, groups)
    family: HadamardFamily = PairwiseFamily(eta, weight)
    if method == "dank":
        family = AdaptiveFamily(eta, weight, tau)
    problem = SaddleProblem(family, gram, p, lower, upper, epsilon, fit_intercept)
    if solver == "quartic":
        result = _quartic(problem, start, tol, max_iter, polish, assume_psd, callback)
        return _shifted(result, shift)
    if start is None:
        raise ValueError("expected a starting point")
    start = feasible(start, lower, upper, fit_intercept)
    match solver:
        case "newton":
            steps = newton_steps(problem, start)
        case "damped":
            steps = alternating_steps(problem, start, "damped")
        case "alternating":
            steps = alternating_steps(problem, start, "closed")
        case "admm":
            steps = alternating_steps(problem, start, "admm")
        case _:
            steps = gradient_steps(problem, solver)
    result = follow(
        problem,
        steps,
        certified=certified,
        tol=tol,
        max_iter=max_iter,
        polish=polish,
        callback=callback,
    )
    return _shifted(result, shift)


def _shifted(result: SaddleResult, shift: float) -> SaddleResult:
    return replace(
        result,
        intercept=result.intercept + shift,
        neutral_intercept=result.neutral_intercept + shift,
    )


def squared_norm(
    beta: FloatArray, weight: FloatArray, groups: npt.NDArray[np.intp] | None = None
) -> float:
    """Return ``||alpha||^2`` of the machine whose weights are spelled out as copies.

    Copies of a point share its coefficient evenly. The machine's dual leaves open how rows that
    repeat each other share theirs, so these are put together first; 1 where beta is zero.

    Parameters
    ----------
    beta, weight : ndarray of shape (n,)
    groups : ndarray of shape (n,), optional
        Equal for rows that repeat each other.

    Returns
    -------
    float
    """
    if groups is not None:
        groups = np.unique(groups, return_inverse=True)[1]
        beta = np.bincount(groups, beta).astype(np.float64)
        weight = np.bincount(groups, weight).astype(np.float64)
    return float(np.sum(beta**2 / weight)) or 1.0


def _quartic(
    problem: SaddleProblem,
    start: FloatArray | None,
    tol: float,
    max_iter: int,
    polish: bool,
    assume_psd: bool,
    callback: Callback | None,
) -> SaddleResult:
    family = problem.family
    result = solve_quartic_dual(
        problem.gram,
        problem.p,
        problem.lower,
        problem.upper,
        family.eta,
        weight=family.weight,
        epsilon=problem.epsilon,
        fit_intercept=problem.fit_intercept,
        tol=tol,
        max_iter=max_iter,
        warm_start=start,
        assume_psd=assume_psd,
        polish=polish,
        callback=callback,
    )
    beta = result.x
    linear = float(problem.p @ beta) - problem.epsilon * float(np.abs(beta).sum())
    response = GammaResponse(
        beta, family.weight, family.eta, linear - result.objective, result.decision
    )
    return SaddleResult(
        x=beta,
        objective=result.objective,
        gap=result.gap,
        n_iter=result.n_iter,
        converged=result.converged,
        history=result.history,
        intercept=result.intercept,
        decision=result.decision,
        certified=result.certified,
        response=response,
        neutral=family.neutral,
        neutral_intercept=neutral_intercept(problem, result.kernel_decision),
    )
