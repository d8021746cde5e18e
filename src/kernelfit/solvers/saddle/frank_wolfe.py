r"""Frank-Wolfe for the saddle-point problem, with an exact line search.

.. math::

    \theta \leftarrow (1 - t)\, \theta + t\, \theta^*(\beta(\theta))

The value at theta, the maximum over beta, is convex with derivative :math:`-\frac12 \beta^\top
K_d\, \beta` along d (Danskin), so the line search looks for a root of an increasing function by
dual solutions that start from each other (Algorithms 1 and 2 of [1]_). Kernels must be linear along
the segment. Then the derivative is the difference of the excesses of its ends.

With a convex penalty R these are the steps of the generalised conditional gradient method [2]_: the
atom minimises R plus the linearised rest. The difference of the excesses is now the derivative of
the value with R replaced by its chord on the segment. That is convex, not below the value and equal
to it at theta, where it falls at the rate of the excess; so what the search gains on it, the value
falls by at least.

References
----------
.. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
   learning", Journal of Machine Learning Research 25 (2024).
.. [2] K. Bredies, D. A. Lorenz, P. Maass, "A generalized conditional gradient method and its
   connection to an iterative shrinkage method", Computational Optimization and Applications 42
   (2009).
"""

from collections.abc import Iterator
from typing import Any

from kernelfit.solvers.saddle.line_search import falling_root
from kernelfit.solvers.saddle.problem import (
    Array,
    SaddleProblem,
    SaddleSolver,
    assess,
    first_pair,
)
from kernelfit.solvers.saddle.progress import Assessment, Pair, Progress

_LEFT = 10.0  # the line search ends where at most so many times its gain is left to gain
_TRIALS = 8  # and after this many trial points at the latest


def frank_wolfe_steps(
    problem: SaddleProblem, progress: Progress, start: tuple[Array | None, Any] | None
) -> Iterator[Pair]:
    """Yield the pair of each iteration, the best trial point of its line search.

    Parameters
    ----------
    problem : SaddleProblem
    progress : Progress
    start : (beta, theta) or None
        With None the first theta is the best response to the dual solutions for ``initial``; that
        of [1]_, P = I, is the start ``(None, np.eye(n))``.

    Yields
    ------
    Pair
    """
    family: Any = problem.family

    def visit(theta: Any, beta: Array) -> Assessment:
        beta = problem.train(theta, beta, progress.machine_tol)
        return assess(problem, Pair(beta, theta, family.respond(beta)))

    first = first_pair(problem, progress, start, lambda response: response.theta)
    yield first
    here = progress.latest
    if start is None or start[0] is not None:  # the dual solutions are not those of theta
        here = visit(first.theta, first.beta)
        yield here
    while True:
        theta, atom, rate = here.theta, here.response.theta, here.response.excess(here.theta)
        if rate <= 0.0:
            return
        best, trial = None, here
        search = falling_root(rate, first=0.5, accuracy=0.0, max_steps=_TRIALS - 2)
        t = next(search)
        low, high = 0.0, 1.0
        while True:
            trial = visit(family.mix(theta, atom, t), trial.beta)
            best = trial if best is None or trial.upper < best.upper else best
            fall = trial.response.excess(theta) - trial.response.excess(atom)
            # By convexity nothing between the trial and the end of the bracket is lower by more.
            left = -fall * (t - low) if fall < 0.0 else fall * (high - t)
            met = best.gap <= progress.tol * abs(best.lower)
            if met or left <= _LEFT * (here.upper - trial.upper):
                break
            low, high = (t, high) if fall > 0.0 else (low, t)
            try:
                t = search.send(fall)
            except StopIteration:
                break
        yield best
        here = best


FRANK_WOLFE = SaddleSolver("frank_wolfe", frank_wolfe_steps, needs=("initial", "mix"))
