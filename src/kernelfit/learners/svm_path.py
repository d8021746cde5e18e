"""The solutions of one SVM problem along a sequence of costs.

Symbols: ``beta`` is the signed dual variable of :mod:`kernelfit.solvers.svm_dual`, the box of row i
is ``C weight_i`` times that of ``C = 1``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.solvers.certificate import duality_gap
from kernelfit.solvers.gram import DenseGram, RowGram
from kernelfit.solvers.result import FloatArray, SvmDualResult
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


def unit_box(
    p: FloatArray, weight: FloatArray, epsilon: float | None
) -> tuple[FloatArray, FloatArray]:
    """Return the bounds for C = 1; `epsilon` is None in classification."""
    upper = weight * (p > 0.0) if epsilon is None else weight
    return (upper - weight if epsilon is None else -weight), upper


def meets_tolerance(
    result: SvmDualResult,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    fit_intercept: bool,
    tol: float,
) -> bool:
    """Return whether a solution is one for a larger box, too."""
    gap = duality_gap(result.decision - p, p, result.x, lower, upper, epsilon, fit_intercept)[0]
    return bool(gap <= tol * abs(result.objective))


def solve_path(
    gram: DenseGram | RowGram,
    p: FloatArray,
    weight: FloatArray,
    Cs: FloatArray,
    *,
    epsilon: float | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-3,
    **options: Any,
) -> PathResult:
    r"""Solve for increasing costs, each from the solution before.

    A solution stays feasible when C grows, and so does its multiple by up to the ratio of the two
    costs, which is right where most variables sit at their bounds. The start is the best multiple
    in between,

    .. math:: t = \frac{p^\top\beta - \epsilon\|\beta\|_1}{\beta^\top K \beta}

    clipped to that range. A solution without variables at their bounds that meets the tolerance for
    the next cost, too, is taken for it.

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
    fit_intercept, tol, **options
        Passed to :func:`kernelfit.solvers.svm_dual.solve_svm_dual`.

    Returns
    -------
    PathResult
    """
    tube = 0.0 if epsilon is None else epsilon
    unit_lower, unit_upper = unit_box(p, weight, epsilon)
    coef = np.zeros((len(Cs), p.size))
    intercept = np.zeros(len(Cs))
    converged = np.ones(len(Cs), dtype=bool)
    result, solved, start, inside = None, 0.0, None, False
    for k, C in enumerate(Cs):
        lower, upper = C * unit_lower, C * unit_upper
        if result is not None:
            if inside and meets_tolerance(result, p, lower, upper, tube, fit_intercept, tol):
                coef[k], intercept[k], converged[k] = (
                    coef[k - 1],
                    intercept[k - 1],
                    converged[k - 1],
                )
                continue
            beta, curvature = result.x, float(result.x @ result.decision)
            gain = float(p @ beta) - tube * float(np.abs(beta).sum())
            start = beta * min(max(gain / curvature, 1.0), C / solved) if curvature > 0.0 else beta
        result = solve_svm_dual(
            gram,
            p,
            lower,
            upper,
            epsilon=tube,
            fit_intercept=fit_intercept,
            tol=tol,
            warm_start=start,
            **options,
        )
        coef[k], intercept[k], converged[k] = result.x, result.intercept, result.converged
        solved, inside = C, bool(np.all(np.abs(result.x) < C * weight))
    return PathResult(coef, intercept, converged)
