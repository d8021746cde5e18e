"""The solutions of one DANK problem for costs and multiples of the squared norm.

For every cost the plain machine comes from the path of :mod:`kernelfit.learners.svm_path`; it
defines the unit of eta, and every machine with a factor starts from it.
"""

from typing import Any

import numpy as np

from kernelfit.families.adaptive import AdaptiveFamily
from kernelfit.families.hadamard import Indices
from kernelfit.learners.dank import learn_factor, squared_norm
from kernelfit.learners.saddle import Gram, SaddleResult
from kernelfit.learners.svm_path import PathResult, meets_tolerance, solve_path, unit_box
from kernelfit.solvers.result import FloatArray


def solve_dank_path(
    gram: Gram,
    p: FloatArray,
    weight: FloatArray,
    Cs: FloatArray,
    *,
    etas: FloatArray,
    tau: float = 0.0,
    groups: Indices | None = None,
    epsilon: float | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-3,
    **options: Any,
) -> PathResult:
    """Solve for increasing costs and every multiple.

    Parameters
    ----------
    gram, p, weight, Cs, epsilon, fit_intercept, tol, **options
        As for :func:`kernelfit.learners.svm_path.solve_path`.
    etas : ndarray of shape (n_etas,)
        Multiples of :func:`kernelfit.learners.dank.squared_norm`; infinity is the plain machine,
        with the kernel that a nuclear norm leaves.
    tau : float, default=0
        Weight of the nuclear norm.
    groups : ndarray of shape (n,), optional
        As for :func:`kernelfit.learners.dank.squared_norm`.

    Returns
    -------
    PathResult
        Of all multiples for the first cost, then for the second, and so on. Coefficients and
        intercepts are those for predictions with the kernel itself: the former are multiplied with
        the factor without adaptation, which suits new points.
    """
    options = {**options, "fit_intercept": fit_intercept, "tol": tol}
    plain = solve_path(gram, p, weight, Cs, epsilon=epsilon, **options)
    tube = 0.0 if epsilon is None else epsilon
    unit_lower, unit_upper = unit_box(p, weight, epsilon)
    latest: list[SaddleResult | None] = [None] * len(etas)
    shape = (len(Cs), len(etas))
    coef = np.empty((*shape, p.size))
    intercept, converged = np.empty(shape), np.empty(shape, dtype=bool)
    for k, C in enumerate(Cs):
        for j, multiple in enumerate(etas):
            if np.isinf(multiple) and tau == 0.0:
                coef[k, j] = plain.coef[k]
                intercept[k, j], converged[k, j] = plain.intercept[k], plain.converged[k]
                continue
            box = C * unit_lower, C * unit_upper
            result = latest[j] if k > 0 and np.array_equal(*plain.coef[k - 1 : k + 1]) else None
            if result is None or not meets_tolerance(result, p, *box, tube, fit_intercept, tol):
                with np.errstate(over="ignore", invalid="ignore"):  # such machines score badly
                    result = learn_factor(
                        gram,
                        p,
                        *box,
                        weight=weight,
                        eta=multiple * squared_norm(plain.coef[k], weight, groups),
                        relative=False,
                        tau=tau,
                        epsilon=tube,
                        warm_start=plain.coef[k],
                        **options,
                    )
            latest[j] = result
            coef[k, j] = result.x
            intercept[k, j], converged[k, j] = result.neutral_intercept, result.converged
    coef *= AdaptiveFamily(np.inf, weight, tau).neutral
    return PathResult(coef.reshape(-1, p.size), intercept.ravel(), converged.ravel())
