r"""Majorised Newton steps for the saddle-point problem of one task.

The energy's Hessian at beta is bounded by a matrix Q from the family: first a cheap one whose rows
can be computed on demand; where steps with it gain too little, a dearer one that is nearly the
Hessian. The quadratic model with Q is the dual of a task, solved from beta; the step goes to the
maximum of h = kappa - E on the segment towards its solution.

The energy may be quartic in beta: where K has low rank or a threshold leaves no factor, Q says
nothing of the curvature that a long step meets. As much as a step met beyond Q is added to the
diagonal of the next Q, in the metric of the family, and taken back by full steps.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelfit.kernels.gram import exact_decision
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.saddle.line_search import falling_root, follow
from kernelfit.solvers.saddle.problem import SaddleProblem, SaddleSolver, assess, first_machines
from kernelfit.solvers.saddle.progress import Assessment, Pair, Progress
from kernelfit.tasks.task import Task

# The model is solved to this fraction of the present gap, unless rounding prevents it.
_INNER_ACCURACY = 0.01
_INNER_ROUNDS = 30
# A full step that leaves at most this fraction of the gap is taken as it is.
_ENOUGH = 0.8
# Objectives that differ by this fraction count as equal.
_ROUNDOFF = 1e-11
# What a full step leaves of the damping.
_RELAXATION = 0.1
# Steps that leave more than this fraction of the gap call for the tighter bound on the Hessian.
_SLOW = 0.4


def newton_steps(
    problem: SaddleProblem, progress: Progress, start: Pair | tuple[FloatArray, Any] | None
) -> Iterator[Pair]:
    """Yield the pair of the start and those of the Newton steps from it.

    Parameters
    ----------
    problem : SaddleProblem
        Of one task.
    progress : Progress
    start : Pair, (beta, theta) or None
        A feasible beta, such as the solution of the machine with the initial kernel, with the
        family's response to it or with any theta, which is not used.

    Yields
    ------
    Pair
        Of a point and the family's response to it.
    """
    family: Any = problem.family
    if len(problem.tasks) != 1:
        raise ValueError(f"expected one task for solver 'newton', got {len(problem.tasks)}")
    (task,) = problem.tasks
    metric = family.metric
    # Only a bound made from a matrix that is there as a whole is written into space of ours.
    wants_space = getattr(getattr(family, "source", None), "whole", None) is not None
    if isinstance(start, Pair):
        yield start
    else:
        (beta,), _ = first_machines(problem, start, progress.machine_tol)
        yield _pair(family, beta)
    here = progress.latest
    previous, tight, damping, space = np.inf, False, 0.0, None
    while True:
        beta, decision = here.beta[0], here.response.decision(here.theta)[0]
        tight = tight or here.gap > _SLOW * previous
        previous = here.gap
        if space is None and wants_space:
            space = np.empty((task.n, task.n))  # once: its pages are costly at first touch
        Q = family.curvature(here.response, tight, damping * metric, space)
        Q_beta = exact_decision(Q, beta)
        model = task.with_linear(task.p - decision + Q_beta)
        if not np.isfinite(model.p).all():  # overflow where eta is tiny
            return
        value = model.kappa(beta) - 0.5 * float(beta @ Q_beta)
        tol = min(max(_INNER_ACCURACY * here.gap / max(abs(value), here.gap), 1e-15), 1e-2)
        move = solve_dual(Q, model, tol=tol, max_iter=_INNER_ROUNDS, start=beta, assume_psd=True).x
        full = assess(problem, _pair(family, move))
        rises = full.lower >= here.lower - _ROUNDOFF * abs(here.lower)
        if rises and full.gap <= _ENOUGH * here.gap:
            found: Pair = full
            length, rate = 1.0, 0.0
        else:
            rate, length, found = _line_search(task, family, here, full)
        if length == 0.0:  # rounding hides what is left to gain
            return
        if length == 1.0:
            damping *= _RELAXATION
        else:  # the mean curvature that the search met, beyond that of the model
            change = move - beta
            damping += (1.0 / length - 1.0) * rate / float(change @ (metric * change))
        yield found
        here = progress.latest


def _pair(family: Any, beta: FloatArray) -> Pair:
    response = family.respond(beta[None])
    return Pair(beta[None], response.theta, response)


def _line_search(
    task: Task, family: Any, start: Assessment, end: Assessment
) -> tuple[float, float, Pair]:
    """Return the rate at which h rises at the start, and where on the segment it is largest.

    Returns
    -------
    rate : float
    length : float
        Of the way to the end; 0 where h does not rise.
    pair : Pair
    """
    direction = end.beta[0] - start.beta[0]
    current: Pair = start

    def slope(t: float) -> float:
        nonlocal current
        if t == 1.0:
            current = end
        elif t > 0.0:
            current = _pair(family, start.beta[0] + t * direction)
        beta = current.beta[0]
        decision = current.response.decision(current.theta)[0]
        return task.kappa_slope(beta, direction) - float(decision @ direction)

    rate = slope(0.0)
    if rate <= 0.0:
        return rate, 0.0, current
    length = follow(falling_root(rate), slope)
    return rate, length, current


NEWTON = SaddleSolver("newton", newton_steps, needs=("initial", "curvature", "metric"))
