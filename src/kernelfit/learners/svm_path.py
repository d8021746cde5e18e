"""The solutions of one SVM problem along a sequence of costs.

Symbols: ``beta`` is the signed dual variable of :mod:`kernelfit.solvers.svm_dual`, the box of row i
is ``C weight_i`` times that of ``C = 1``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.solvers.gram import DenseGram, RowGram
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.svm_dual import solve_svm_dual


@dataclass(frozen=True)
class PathResult:
    """Solutions along a path.

    Attributes
    ----------
    coef : ndarray of shape (n_costs, n)
        The signed dual variables.
    intercept : ndarray of shape (n_costs,)
    converged : ndarray of shape (n_costs,)
    """

    coef: FloatArray
    intercept: FloatArray
    converged: NDArray[np.bool_]


def solve_path(
    gram: DenseGram | RowGram,
    p: FloatArray,
    weight: FloatArray,
    Cs: FloatArray,
    *,
    epsilon: float | None = None,
    **options: Any,
) -> PathResult:
    r"""Solve for increasing costs, each from the solution before.

    A solution stays feasible when C grows, and so does its multiple by up to the ratio of the two
    costs, which is right where most variables sit at their bounds. The start is the best multiple
    in between,

    .. math:: t = \frac{p^\top\beta - \epsilon\|\beta\|_1}{\beta^\top K \beta}

    clipped to that range. Once no variable is at its bound, the solution is that of every larger
    cost.

    Parameters
    ----------
    gram : DenseGram or RowGram
        The kernel matrix of the n rows.
    p : ndarray of shape (n,)
        Labels -1 and 1, or targets.
    weight : ndarray of shape (n,)
        Positive factors of the cost.
    Cs : ndarray of shape (n_costs,)
        Increasing and positive.
    epsilon : float, optional
        Half the width of the tube in regression; None means classification.
    **options
        Passed to :func:`kernelfit.solvers.svm_dual.solve_svm_dual`.

    Returns
    -------
    PathResult
    """
    classify = epsilon is None
    tube = 0.0 if epsilon is None else epsilon
    unit_upper = weight * (p > 0.0) if classify else weight
    unit_lower = unit_upper - weight if classify else -weight
    coef = np.zeros((len(Cs), p.size))
    intercept = np.zeros(len(Cs))
    converged = np.ones(len(Cs), dtype=bool)
    start = None
    for k, C in enumerate(Cs):
        result = solve_svm_dual(
            gram, p, C * unit_lower, C * unit_upper, epsilon=tube, warm_start=start, **options
        )
        beta = result.x
        if np.all(np.abs(beta) < C * weight):
            coef[k:] = beta
            intercept[k:] = result.intercept
            converged[k:] = result.converged
            break
        coef[k], intercept[k], converged[k] = beta, result.intercept, result.converged
        if k + 1 < len(Cs):
            curvature = float(beta @ result.decision)
            gain = float(p @ beta) - tube * float(np.abs(beta).sum())
            ratio = Cs[k + 1] / C
            start = beta * min(max(gain / curvature, 1.0), ratio) if curvature > 0.0 else beta
    return PathResult(coef, intercept, converged)
