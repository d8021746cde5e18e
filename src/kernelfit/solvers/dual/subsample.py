r"""A start for a large problem from the solution of a small one.

The m points of an even subsample, each at n / m times its cost, stand for all n: their machine f is
nearly that of the whole, and its residuals :math:`t_i = p_i - f(x_i) - b` say where the variables
of the whole end, by complementary slackness: at :math:`\beta_i = \arg\max_s\, s t_i - \epsilon |s|
- \tfrac12 r_i s^2` within their bounds. The few that are free keep their share of the small
solution. From zero, blocks of a thousand variables move one after the other, and each undoes a
part of what the last one did: on 15,000 points, 140 rounds instead of 5.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from kernelfit.kernels.gram import Gram
from kernelfit.solvers.result import FloatArray
from kernelfit.tasks.certificate import best_dual
from kernelfit.tasks.projection import add_to_sum
from kernelfit.tasks.task import Task

# A quarter of the points, within limits: fewer say too little, and more take too long.
_SHARE, _LEAST, _MOST = 4, 1024, 4096


def subsample_start(gram: Gram, task: Task, solve: Any) -> FloatArray | None:
    """Return a feasible point near the solution, or None where the problem is small.

    Parameters
    ----------
    gram : Gram
    task : Task
    solve : callable
        ``solve(K, task)`` returns the `DualResult` of a small problem, roughly.

    Returns
    -------
    ndarray of shape (n,) or None
    """
    n = task.n
    if n < _SHARE * _LEAST:
        return None
    points = np.linspace(0, n - 1, min(n // _SHARE, _MOST)).astype(np.intp)
    factor = n / len(points)
    small = task.take(points)
    small = replace(
        small,
        lower=small.lower * factor,
        upper=small.upper * factor,
        ridge=None if small.ridge is None else small.ridge / factor,
    )
    result = solve(gram.block(points), small)
    if not np.isfinite(result.x).all():
        return None
    support = np.flatnonzero(result.x)
    decision = np.zeros(n)
    gram.accumulate(points[support], result.x[support], decision)
    residual = task.p - decision - task.intercept(decision)
    beta = best_dual(residual, task)
    if task.ridge is None:
        free = small.is_free(result.x)
        beta[points[free]] = result.x[free] / factor
        _complete_sum(beta, residual, task)
    return task.project(beta)


def _complete_sum(beta: FloatArray, residual: FloatArray, task: Task) -> None:
    """Give beta the required sum by the variables that are least sure of their bound.

    The projection onto all points of this sum would move every variable off its bound.
    """
    if task.total is None:
        return
    order = np.argsort(np.abs(np.abs(residual) - task.epsilon), kind="stable")
    add_to_sum(beta, task.lower, task.upper, task.total - float(beta.sum()), order)
