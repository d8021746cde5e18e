r"""Fully corrective steps over the convex hull of many kernels.

A few kernels are held at a time. Their best weights are found to a certified gap
(:mod:`kernelfit.solvers.saddle.kernel_weights`); the machines then say which kernels outside have a
larger form, those are added, and the weights are found anew: Frank-Wolfe with all weights corrected
in every step, or column generation. It ends where no kernel outside is better by more than the
tolerance.
"""

from collections.abc import Iterator
from typing import Any

from kernelfit.solvers.saddle.kernel_weights import KERNEL_WEIGHTS
from kernelfit.solvers.saddle.problem import Array, SaddleProblem, SaddleSolver, solve_saddle
from kernelfit.solvers.saddle.progress import Pair, Progress

# The gap of the weights, as a fraction of the present gap and of the tolerance.
_INNER, _INNER_LEAST, _INNER_MOST = 0.1, 0.3, 0.1
_INNER_STEPS = 1000


def column_generation_steps(
    problem: SaddleProblem, progress: Progress, start: tuple[Array, Any] | None
) -> Iterator[Pair]:
    """Yield the pairs of the best weights of the kernels held.

    Parameters
    ----------
    problem : SaddleProblem
    progress : Progress
    start : (beta, theta) or None

    Yields
    ------
    Pair
    """
    family: Any = problem.family
    beta, theta = (None, None) if start is None else start
    theta = family.initial if theta is None else theta
    tol = _INNER_MOST
    while True:
        restricted = SaddleProblem(family.restricted(theta), problem.tasks)
        held = solve_saddle(
            restricted,
            KERNEL_WEIGHTS,
            tol=tol,
            max_iter=_INNER_STEPS,
            start=None if beta is None else (beta, theta.weights),
        )
        theta = family.reweighted(theta, held.theta)
        if held.witness is not held.x:
            yield Pair(held.x, theta, family.respond(held.x))
        beta = held.witness
        response = family.respond(beta)
        yield Pair(beta, theta, response)
        larger = family.grown(theta, response)
        done = len(larger.weights) == len(theta.weights)
        smallest = _INNER_LEAST * progress.tol
        if done and tol <= smallest:
            return
        theta = larger
        tol = max(min(_INNER * progress.relative_gap, tol), smallest)
        if done:
            tol = smallest


COLUMN_GENERATION = SaddleSolver(
    "column_generation",
    column_generation_steps,
    needs=("initial", "restricted", "reweighted", "grown"),
)
