"""The certified SVM dual solver: one problem for classification and regression.

    max over beta   p'beta - epsilon ||beta||_1 - 1/2 beta'K beta
    s.t.            lower <= beta <= upper,   sum(beta) = 0 (with an intercept)

Symbols: ``beta`` is the signed dual variable (``y_i alpha_i`` in classification),
``g = K beta - p`` the gradient of the smooth part of the minimised problem. The box contains 0.

Each round improves a block of variables (:mod:`kernelfit.solvers.block_rounds`) and then evaluates
the duality gap.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelfit.solvers.block_rounds import (
    BLOCK,
    MAX_POLISH_VARIABLES,
    POLISH_ROUNDS,
    BlockSolver,
    Gram,
    feasible,
    restore_sum,
    sample_is_psd,
    stands_still,
)
from kernelfit.solvers.certificate import duality_gap
from kernelfit.solvers.gram import DenseGram
from kernelfit.solvers.result import FloatArray, SvmDualResult

Callback = Callable[[int, float, float], Any]


def solve_svm_dual(
    K: npt.NDArray[Any] | Gram,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    epsilon: float = 0.0,
    fit_intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int = 1000,
    warm_start: FloatArray | None = None,
    assume_psd: bool = False,
    polish: bool = False,
    callback: Callback | None = None,
) -> SvmDualResult:
    r"""Solve the SVM dual to a relative duality gap.

    .. math::

        \max_\beta\; p^\top\beta - \epsilon\|\beta\|_1 - \tfrac12 \beta^\top K \beta
        \quad\text{s.t.}\quad l \le \beta \le u,\; \mathbf 1^\top\beta = 0

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram source
        The symmetric positive semidefinite kernel matrix (float64 or float32), or
        an object of :mod:`kernelfit.solvers.gram` that gives its rows on demand.
    p : ndarray of shape (n,)
        The linear term: labels in {-1, 1}, or targets.
    lower, upper : ndarray of shape (n,)
        The box, ``lower <= 0 <= upper``.
    epsilon : float, default=0.0
        Half the width of the insensitive tube; 0 in classification.
    fit_intercept : bool, default=True
        Whether the model has an intercept, which gives the constraint ``sum(beta) = 0``.
    tol : float, default=1e-3
        Stop when the duality gap is at most ``tol`` times the objective. Where rounding errors keep
        it above, stop without convergence.
    max_iter : int, default=1000
        Largest number of rounds.
    warm_start : ndarray of shape (n,), optional
        Start from the feasible point closest to this one.
    assume_psd : bool, default=False
        Whether K is known to be positive semidefinite, as for the usual kernels; it is tested
        otherwise (see Notes).
    polish : bool, default=False
        Once ``tol`` is met, go on for up to three rounds towards the exact solution, which Newton
        steps reach as soon as the set of free variables is right and of moderate size.
    callback : callable, optional
        Called as ``callback(n_iter, objective, gap)`` at the end of every round.

    Returns
    -------
    SvmDualResult
        Solution and certificate. Where negative curvature shows that K is indefinite the
        result is a stationary point, ``certified`` is False and ``gap`` is nan.

    Notes
    -----
    The gap proves optimality for a positive semidefinite K. Unless that is assumed, up to 300
    evenly spaced rows and columns of K (all, if there are no more) must have a Cholesky factor.
    Negative curvature on a pair or a free set that the solver meets is always noticed; a larger
    matrix whose negative part escapes all of these is taken for positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.solvers.svm_dual import solve_svm_dual
    >>> y = np.array([-1.0, 1.0])
    >>> result = solve_svm_dual(np.eye(2), y, np.minimum(9 * y, 0), np.maximum(9 * y, 0))
    >>> result.x, result.objective, result.gap
    (array([-1.,  1.]), 1.0, 0.0)
    """
    gram = DenseGram(K) if isinstance(K, np.ndarray) else K
    p = np.ascontiguousarray(p, dtype=np.float64)
    lower = np.ascontiguousarray(lower, dtype=np.float64)
    upper = np.ascontiguousarray(upper, dtype=np.float64)
    n = p.size
    # With sum(beta) = 0 a constant in p only moves the intercept: without it nothing cancels.
    shift = 0.5 * (p.min() + p.max()) if fit_intercept else 0.0
    p = p - shift
    beta = np.zeros(n) if warm_start is None else feasible(warm_start, lower, upper, fit_intercept)
    decision, g = np.zeros(n), -p
    recompute = n <= BLOCK
    support = np.flatnonzero(beta)
    if support.size and not recompute:
        gram.accumulate(support, beta[support], g)
    block = BlockSolver(gram, lower, upper, epsilon, fit_intercept)
    block.convex &= assume_psd or sample_is_psd(gram)
    history: list[tuple[float, float]] = []
    fresh = support.size == 0  # whether g was computed from beta in one go, from exact rows
    converged = stalled = False
    rounds, polish_rounds = 0, POLISH_ROUNDS if polish else 0
    while True:
        if recompute and not fresh:
            # The updates of g were rounded, as were cached rows.
            if fit_intercept:
                restore_sum(beta, lower, upper)
            decision = gram.exact_decision(beta)
            g = decision - p
            fresh = True
        gap, objective, intercept, resolution = duality_gap(
            g, p, beta, lower, upper, epsilon, fit_intercept
        )
        # An optimum of 0 is met to rounding.
        met = gap <= tol * abs(objective) or (gap <= resolution and not beta.any())
        done = met and (polish_rounds == 0 or block.count_free(beta) > MAX_POLISH_VARIABLES)
        stop = done or gap <= resolution or stalled or rounds == max_iter
        if (stop or (met and not converged)) and not fresh:
            recompute = True  # and judge again
            continue
        recompute = n <= BLOCK
        converged = met
        if rounds > 0 or stop:
            history.append((objective, gap))
            if callback is not None:
                callback(len(history), objective, gap)
        if stop:
            break
        polish_rounds -= converged
        wanted = 0.0 if converged else 0.3 * tol * abs(objective) / gap
        stalled = not block.improve(beta, g, wanted, polish=converged)
        stalled |= stands_still(history)
        rounds += 1
        fresh = False
    convex = block.convex
    return SvmDualResult(
        x=beta,
        objective=objective,
        gap=gap if convex else np.nan,
        n_iter=len(history),
        converged=bool(converged),
        history=tuple(history),
        intercept=float(intercept + shift),
        decision=decision,
        certified=convex,
    )


def solve_svc_dual(
    K: npt.NDArray[Any] | Gram, y: FloatArray, C: float | FloatArray, **options: Any
) -> SvmDualResult:
    """Solve the classification dual: ``p = y``, box between 0 and ``y_i C_i``.

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram source
        The kernel matrix.
    y : ndarray of shape (n,)
        Labels -1 and 1.
    C : float or ndarray of shape (n,)
        Upper bound of each point's coefficient, >= 0.
    **options
        Passed to :func:`solve_svm_dual`.

    Returns
    -------
    SvmDualResult
    """
    bound = y * C
    return solve_svm_dual(K, y, np.minimum(bound, 0.0), np.maximum(bound, 0.0), **options)


def solve_svr_dual(
    K: npt.NDArray[Any] | Gram,
    y: FloatArray,
    C: float | FloatArray,
    epsilon: float,
    **options: Any,
) -> SvmDualResult:
    """Solve the regression dual: ``p = y``, box between ``-C_i`` and ``C_i``.

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram source
        The kernel matrix.
    y : ndarray of shape (n,)
        Targets.
    C : float or ndarray of shape (n,)
        Bound on the magnitude of each point's coefficient, >= 0.
    epsilon : float
        Half the width of the insensitive tube.
    **options
        Passed to :func:`solve_svm_dual`.

    Returns
    -------
    SvmDualResult
    """
    bound = np.broadcast_to(np.asarray(C, dtype=np.float64), np.shape(y))
    return solve_svm_dual(K, y, -bound, bound, epsilon=epsilon, **options)
