r"""The saddle-point solver for weights of given kernels.

For a centre c and a weight rho of a proximal term, the relative entropy,

    max over beta   kappa(beta) - psi(d(beta)),     d_m = sum_t beta_t'K_m beta_t,
    psi(d) = max over theta   1/2 theta'd - rho sum_m theta_m log(theta_m / c_m),

is smooth. Its second-order model in beta is the dual problem of a support vector machine whose
kernel matrix is K_theta plus a matrix of as low a rank as there are kernels in use; the solution
gives the direction of an exact line search, along which d is quadratic and costs nothing. Once
these Newton steps have found a machine, its weights are the next centre, for a smaller rho: the
exponential method of multipliers. Where the energy itself is smooth the family answers with that,
and these are Newton's own steps.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from kernelfit.solvers.saddle.line_search import falling_root, follow
from kernelfit.solvers.saddle.problem import Array, SaddleProblem, SaddleSolver, assess
from kernelfit.solvers.saddle.progress import Pair, Progress, SaddleResult

# rho as a fraction of half the largest form: at first, at most and at least, and what a new centre
# leaves of it.
_WEIGHT, _MAX_WEIGHT, _MIN_WEIGHT, _SHRINK = 0.5, 10.0, 1e-6, 0.2
# The machines are exact enough for a new centre where their gap is this fraction of the excess.
_ENOUGH = 0.5
_SHORT_STEP = 0.1
_OPEN = 0.1  # the share of equal weights in the first centre
# Where more steps than these are needed for a centre, rho is kept, or raised. Several tasks are
# coupled by 1 / rho and trained one after the other.
_FEW_STEPS, _MANY_STEPS = 6, 12
# A model is solved to this fraction of the present gap.
_INNER_ACCURACY = 0.01
_FLAT = 1e-13  # of the objective: what a slope is off by rounding
# Weights below these fractions of the largest one are set to zero where the tolerance allows.
_NEGLIGIBLE = (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6)


def kernel_weight_steps(
    problem: SaddleProblem, progress: Progress, start: tuple[Array, Any] | None
) -> Iterator[Pair]:
    """Yield the pairs of Newton steps.

    Parameters
    ----------
    problem : SaddleProblem
    progress : Progress
    start : (beta, theta) or None
        Without a theta, equal weights.

    Yields
    ------
    Pair
    """
    family: Any = problem.family
    beta, theta = (None, None) if start is None else start
    theta = family.initial if theta is None else theta
    beta = problem.train(theta, beta, progress.machine_tol)
    response = family.respond(beta)
    yield Pair(beta, theta, response)
    # The best multiple: machines of an average kernel are far too large for the best one.
    kappa = problem.kappa(beta)
    if 0.0 < kappa < 2.0 * response.energy:
        t = kappa / (2.0 * response.energy)
        beta, response = t * beta, response.mix(family.respond(np.zeros_like(beta)), 1.0 - t)
    # Weights of zero come back from a start only through the centre.
    centre, weight = family.mix(theta, family.initial, _OPEN), _WEIGHT
    while True:
        top = float(response.forms.max())
        if top <= 0.0:
            return
        soft = family.soften(centre, 0.5 * weight * top)
        for number in itertools.count(1):
            direction = _model_step(problem, soft, beta, response, progress.latest.gap)
            other = family.respond(direction)
            t = _line_search(problem, soft, response, other, beta, direction)
            beta = (1.0 - t) * beta + t * direction
            response = other if t == 1.0 else response.mix(other, t)
            theta = soft.weights(response.forms)
            yield Pair(beta, theta, response)
            excess = response.excess(theta)
            if progress.latest.gap - excess <= _ENOUGH * excess:
                centre = theta
                if number <= _FEW_STEPS:
                    weight = max(_SHRINK * weight, _MIN_WEIGHT)
                elif number > _MANY_STEPS:
                    weight = min(2.0 * weight, _MAX_WEIGHT)
                break
            if t <= _SHORT_STEP:
                weight = min(2.0 * weight, _MAX_WEIGHT)
                break


def _model_step(problem: SaddleProblem, soft: Any, beta: Array, response: Any, gap: float) -> Array:
    """Return the maximiser of the second-order model at beta."""
    theta = soft.weights(response.forms)
    update = response.curvature(soft.root(response.forms))
    # The value of the model at beta as the dual solver sees it, to which its gap is relative.
    inner = np.einsum("tir,ti->r", update, beta)
    value = problem.kappa(beta) - 0.5 * float(theta @ response.forms) + 0.5 * float(inner @ inner)
    tol = min(1e-3, max(_INNER_ACCURACY * gap / max(abs(value), gap), 1e-14))
    return problem.train(theta, beta, tol, update=update)


def _line_search(
    problem: SaddleProblem, soft: Any, start: Any, end: Any, beta: Array, direction: Array
) -> float:
    """Maximise the smooth dual on the segment, where d is quadratic in the position t."""
    first, middle, last = start.forms, start.forms_with(end), end.forms
    move = direction - beta

    def slope(t: float) -> float:
        d = (1.0 - t) ** 2 * first + 2.0 * t * (1.0 - t) * middle + t**2 * last
        change = -2.0 * (1.0 - t) * first + (2.0 - 4.0 * t) * middle + 2.0 * t * last
        energy = 0.5 * float(soft.weights(d) @ change)
        here = beta + t * move
        pairs = zip(problem.tasks, here, move, strict=True)
        return sum(task.kappa_slope(b, m) for task, b, m in pairs) - energy

    rate = slope(0.0)
    if rate > 0.0:
        return follow(falling_root(rate), slope)
    # Near the optimum the slope is rounding error of either sign, and the model knows better.
    return 1.0 if rate >= -_FLAT * abs(problem.kappa(beta)) else 0.0


def sparsest(problem: SaddleProblem, result: SaddleResult, tol: float) -> SaddleResult:
    """Return a result with as many weights of zero as the tolerance allows.

    The machines are trained anew with the large weights alone; they give the upper bound, and the
    old witness the lower one.

    Parameters
    ----------
    problem : SaddleProblem
        Over weights that sum to one.
    result : SaddleResult
    tol : float
        Relative gap.

    Returns
    -------
    SaddleResult
    """
    if not result.converged:
        return result
    family: Any = problem.family
    old = family.weights_of(result.theta)
    count = len(old)
    for fraction in _NEGLIGIBLE:
        large = old >= fraction * old.max()
        if np.count_nonzero(large) == count:
            continue
        count = int(np.count_nonzero(large))
        weights = np.where(large, old, 0.0)
        theta = family.reweighted(result.theta, weights / weights.sum())
        beta = problem.train(theta, result.x, 0.1 * tol)
        found = assess(problem, Pair(beta, theta, problem.family.respond(beta)))
        lower, witness = result.objective, result.witness
        if found.lower > lower:
            lower, witness = found.lower, beta
        gap = max(found.upper - lower, found.resolution)
        if gap <= tol * abs(lower):
            return replace(
                result,
                x=beta,
                theta=theta,
                response=found.response,
                intercept=found.intercept,
                objective=lower,
                gap=gap,
                witness=witness,
                n_iter=result.n_iter + 1,
                history=(*result.history, (lower, gap)),
            )
    return result


KERNEL_WEIGHTS = SaddleSolver(
    "kernel_weights", kernel_weight_steps, needs=("initial", "mix", "soften")
)
