"""The solutions of one DANK problem for costs and multiples of the squared norm.

For every cost the plain machine comes from the path of :mod:`kernelfit.learners.svm_path`; it
defines the unit of eta, and every machine with a factor starts from it.
"""

from typing import Any

import numpy as np

from kernelfit.families.adaptive import AdaptiveFamily
from kernelfit.learners.dank import learn_factor, squared_norm
from kernelfit.learners.saddle import Gram
from kernelfit.learners.svm_path import PathResult, solve_path
from kernelfit.solvers.result import FloatArray


def solve_dank_path(
    gram: Gram,
    p: FloatArray,
    weight: FloatArray,
    Cs: FloatArray,
    *,
    etas: FloatArray,
    tau: float = 0.0,
    epsilon: float | None = None,
    **options: Any,
) -> PathResult:
    """Solve for increasing costs and every multiple.

    Parameters
    ----------
    gram, p, weight, Cs, epsilon, **options
        As for :func:`kernelfit.learners.svm_path.solve_path`.
    etas : ndarray of shape (n_etas,)
        Multiples of :func:`kernelfit.learners.dank.squared_norm`; infinity is the plain machine,
        with the kernel that a nuclear norm leaves.
    tau : float, default=0
        Weight of the nuclear norm.

    Returns
    -------
    PathResult
        Of all multiples for the first cost, then for the second, and so on. Coefficients and
        intercepts are those for predictions with the kernel itself: the former are multiplied with
        the factor without adaptation, which suits new points.
    """
    plain = solve_path(gram, p, weight, Cs, epsilon=epsilon, **options)
    shape = (len(Cs), len(etas))
    coef = np.empty((*shape, p.size))
    intercept, converged = np.empty(shape), np.empty(shape, dtype=bool)
    for k, C in enumerate(Cs):
        for j, multiple in enumerate(etas):
            if np.isinf(multiple) and tau == 0.0:
                coef[k, j] = plain.coef[k]
                intercept[k, j], converged[k, j] = plain.intercept[k], plain.converged[k]
                continue
            if k > 0 and np.array_equal(plain.coef[k], plain.coef[k - 1]):
                if np.all(np.abs(coef[k - 1, j]) < Cs[k - 1] * weight):
                    # No bound was met, here or there: a larger cost changes nothing.
                    coef[k, j] = coef[k - 1, j]
                    intercept[k, j], converged[k, j] = intercept[k - 1, j], converged[k - 1, j]
                    continue
            upper = C * weight * (p > 0.0) if epsilon is None else C * weight
            with np.errstate(over="ignore", invalid="ignore"):  # such machines score badly
                result = learn_factor(
                    gram,
                    p,
                    upper - C * weight if epsilon is None else -upper,
                    upper,
                    weight=weight,
                    eta=multiple * squared_norm(plain.coef[k], weight),
                    relative=False,
                    tau=tau,
                    epsilon=0.0 if epsilon is None else epsilon,
                    warm_start=plain.coef[k],
                    **options,
                )
            coef[k, j] = result.x
            intercept[k, j], converged[k, j] = result.neutral_intercept, result.converged
    coef *= AdaptiveFamily(np.inf, weight, tau).neutral
    return PathResult(coef.reshape(-1, p.size), intercept.ravel(), converged.ravel())
