r"""Alternation between the machine and theta, for families with a dense theta.

All keep a theta and the machine's solution beta(theta) for its kernel.

* Damped: ``theta <- theta + t (theta*(beta) - theta)`` with t at the minimum of the convex function
  ``R(theta) + J(K_theta)`` on the segment, whose derivative is ``R'(theta)[d]`` less
  ``1/2 beta'K_d beta``: proximal gradient steps where R is quadratic.
* Plain, Algorithm 2 of KNPL [1]_: t = 1, with the response in closed form or by the paper's ADMM.
  It need not converge, and ends where it goes back and forth between two solutions.

References
----------
.. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Nonlinear Pairwise Layer and Its Training for
   Kernel Learning". AAAI Conference on Artificial Intelligence, 2018.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kernelfit.solvers.saddle.line_search import falling_root, follow
from kernelfit.solvers.saddle.problem import Array, SaddleProblem, SaddleSolver, first_machines
from kernelfit.solvers.saddle.progress import Pair, Progress

_MACHINE_TOL = 1e-10
# Two steps that lead back to a solution, except for this fraction of one step, are a cycle. Nothing
# more will happen where they return up to rounding.
_CYCLE, _RETURN = 0.1, 1e-6


def _alternate(
    problem: SaddleProblem,
    start: tuple[Array, Any] | None,
    advance: Callable[[Any, Pair], tuple[Any, Array]],
) -> Iterator[Pair]:
    """Yield the responses to the machines' solutions; `advance` gives the next theta and beta."""
    family: Any = problem.family
    beta, theta = first_machines(problem, start, _MACHINE_TOL)
    while True:
        response = family.respond(beta)
        pair = Pair(beta, response.theta, response)
        yield pair
        theta, beta = advance(theta, pair)


def damped_steps(
    problem: SaddleProblem, progress: Progress, start: tuple[Array, Any] | None
) -> Iterator[Pair]:
    """Yield the pairs of damped alternation.

    Parameters
    ----------
    problem : SaddleProblem
    progress : Progress
    start : (beta, theta) or None
        Theta is an array, and beta the machines' solution for its kernel.

    Yields
    ------
    Pair
    """
    family: Any = problem.family

    def advance(theta: Any, pair: Pair) -> tuple[Any, Array]:
        direction = family.dense(pair.response) - theta
        K = family.gram(direction)
        current, beta = theta, pair.beta

        def fall(t: float) -> float:
            nonlocal current, beta
            if t > 0.0:
                current = theta + t * direction
                beta = problem.train(current, pair.beta, _MACHINE_TOL)
            energy = sum(float(b @ K.product(np.arange(b.size), b)) for b in beta)
            return 0.5 * energy - float(family.penalty_slope(current, direction))

        rate = fall(0.0)
        if rate > 0.0:
            follow(falling_root(rate), fall)
        return current, beta

    return _alternate(problem, start, advance)


def plain_steps(
    problem: SaddleProblem, progress: Progress, start: tuple[Array, Any] | None
) -> Iterator[Pair]:
    """Yield the pairs of plain alternation, theta in closed form.

    Parameters
    ----------
    problem, progress, start
        As for `damped_steps`.

    Yields
    ------
    Pair
    """
    family: Any = problem.family
    return _plain(problem, progress, start, family.dense)


def admm_steps(
    problem: SaddleProblem, progress: Progress, start: tuple[Array, Any] | None
) -> Iterator[Pair]:
    """Yield the pairs of plain alternation, theta by ADMM.

    Parameters
    ----------
    problem, progress, start
        As for `damped_steps`.

    Yields
    ------
    Pair
    """
    family: Any = problem.family
    return _plain(problem, progress, start, family.admm)


def _plain(
    problem: SaddleProblem,
    progress: Progress,
    start: tuple[Array, Any] | None,
    respond: Callable[[Any], Any],
) -> Iterator[Pair]:
    """Yield the pairs of plain alternation until it is seen to cycle."""

    def advance(theta: Any, pair: Pair) -> tuple[Any, Array]:
        theta = respond(pair.response)
        return theta, problem.train(theta, pair.beta, _MACHINE_TOL)

    before: Any = np.inf
    last: Any = np.inf
    for pair in _alternate(problem, start, advance):
        yield pair
        returned, step = np.abs(pair.beta - before).max(), np.abs(pair.beta - last).max()
        progress.ending = "cycle" if returned < _CYCLE * step else "rounding"
        if returned < _RETURN * step:
            return
        before, last = last, pair.beta


DAMPED = SaddleSolver("damped", damped_steps, needs=("initial", "dense", "penalty_slope"))
ALTERNATING = SaddleSolver("alternating", plain_steps, needs=("initial", "dense"))
ADMM = SaddleSolver("admm", admm_steps, needs=("initial", "admm"))
