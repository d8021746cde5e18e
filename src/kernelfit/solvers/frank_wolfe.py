r"""Frank-Wolfe for the saddle-point problem, with an exact line search.

.. math::

    P \leftarrow P + t\,(n v v^\top - P), \qquad v \text{ the top eigenvector of } D(\beta(P))

The value at P, the maximum over beta, is convex in P with gradient -1/2 D(beta(P)) (Danskin), so
along the segment its derivative is -1/2 <D(beta), n v v' - P>, and the line search looks for a root
of an increasing function by dual solutions that start from each other (Algorithms 1 and 2 of [1]_).

References
----------
.. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
   learning", Journal of Machine Learning Research 25 (2024).
"""

import numpy as np

from kernelfit.solvers.saddle import (
    Array,
    Assessment,
    Callback,
    Progress,
    SaddleProblem,
    SaddleResult,
    assess,
    factor,
    initial_pair,
)

_LEFT = 10.0  # the line search ends where at most so many times its gain is left to gain
_TRIALS = 8  # and after this many trial points at the latest


def frank_wolfe(
    problem: SaddleProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: tuple[Array, Array] | None = None,
    callback: Callback | None = None,
) -> SaddleResult:
    """Solve the saddle-point problem by Frank-Wolfe steps.

    Parameters
    ----------
    problem : SaddleProblem
    tol : float, default=1e-3
        Stop when the gap is at most this fraction of the objective.
    max_iter : int, default=1000
        Largest number of trained kernels, those of the line searches included.
    start : (beta, U), default=None
        A pair to start from.
    callback : callable, default=None
        Called as ``callback(n_iter, objective, gap)`` after every training.

    Returns
    -------
    SaddleResult
    """
    n = problem.size
    beta, response, U = initial_pair(problem, start, min(1e-3, 0.1 * tol))
    progress = Progress(tol, callback, assess(problem, beta, U, response))
    if progress.finished:
        return progress.result()

    def visit(U: Array) -> Assessment:
        """Train with P = U U' and note the certificate."""
        nonlocal beta
        beta = problem.train(U, beta, min(1e-3, max(0.1 * progress.relative_gap, 0.01 * tol)))
        assessment = assess(problem, beta, U, problem.respond(beta))
        progress.add(assessment)
        return assessment

    if start is None:  # the first atom is the best response to the first dual solutions
        U = U[:, :1] * np.sqrt(n / np.sum(U[:, 0] ** 2))
    here = visit(U)
    while not progress.finished and len(progress.history) < max_iter:
        atom = np.sqrt(n) * here.D.leading(1)[1]
        first = _slope(here, U, atom)
        if first >= 0.0:
            break
        low, high, low_slope, high_slope, t = 0.0, 1.0, first, np.nan, 0.5
        best, value = here, here.upper
        for _ in range(_TRIALS):
            trial = visit(_mixture(U, atom, t))
            slope = _slope(trial, U, atom)
            # By convexity nothing between the trial and the end of the bracket is lower by more.
            left = slope * (t - low) if slope > 0.0 else -slope * (high - t)
            if best is here or trial.upper < best.upper:
                best = trial
            small = left <= _LEFT * (value - trial.upper)
            if small or progress.finished or len(progress.history) >= max_iter:
                break
            if slope < 0.0:
                low, low_slope = t, slope
            else:
                high, high_slope = t, slope
            if np.isnan(high_slope):
                t = min(2.0 * t, 1.0)
                continue
            t = low - low_slope * (high - low) / (high_slope - low_slope)
            if not 0.1 * (high - low) <= t - low <= 0.9 * (high - low):
                t = 0.5 * (low + high)  # where one slope is far steeper, the chord says little
        here, U = best, best.U
    return progress.result()


def _slope(place: Assessment, U: Array, atom: Array) -> float:
    """Return the derivative of the value from P towards the atom, -1/2 <D, n v v' - P>."""
    return -0.5 * float(np.trace(place.D.restrict(atom)) - np.trace(place.D.restrict(U)))


def _mixture(U: Array, atom: Array, t: float) -> Array:
    """Return a factor of (1 - t) P + t n v v'."""
    vectors, roots, _ = np.linalg.svd(
        np.hstack([np.sqrt(1.0 - t) * U, np.sqrt(t) * atom]), full_matrices=False
    )
    return factor(roots**2, vectors)
