r"""The accelerated primal-dual method (APD) for the saddle-point problem, and the hybrid.

.. math::

    S &= (1 + \theta)\, x_k - \theta\, x_{k-1}, \qquad x_k = \tfrac12 D(\beta_k) \\
    P_{k+1} &= \operatorname{proj}(P_k + \sigma S) \\
    \beta_{k+1} &= \arg\max\; \kappa(\beta) - \tfrac12 \beta^\top K_{P_{k+1}} \beta
    - \tfrac{1}{2\tau} \|\beta - \beta_k\|^2_{K_I}

(Algorithm 4 of [1]_ with its extrapolation, :math:`\theta = 1`). The projection onto the matrices
of trace n shifts the eigenvalues and cuts them at zero. Distances of beta are those of the kernel
of P = I, which costs nothing, since :math:`K_P + K_I/\tau` is the kernel of :math:`P + I/\tau`. In
this norm :math:`\|D(\beta, d)\|_F \le \sqrt{\operatorname{tr} D(\beta)}\, \|d\|`, so the Lipschitz
constant of x is at most the norm L of beta, and the steps are admissible where
:math:`\sigma \tau L^2 \le 1`; the constants of [1]_ are larger by orders of magnitude.

References
----------
.. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
   learning", Journal of Machine Learning Research 25 (2024), Appendix B.
"""

from dataclasses import replace

import numpy as np

from kernelfit.solvers.frank_wolfe import frank_wolfe
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.saddle import (
    Array,
    Callback,
    Progress,
    SaddleProblem,
    SaddleResult,
    assess,
    factor,
    initial_pair,
    project_simplex,
)

_BALANCE = 0.5  # 1 / (tau n)
_HANDOVER, _PATIENCE = 1e-2, 50  # relative gap or steps at which the hybrid leaves Frank-Wolfe


def accelerated_primal_dual(
    problem: SaddleProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: tuple[Array, Array] | None = None,
    callback: Callback | None = None,
) -> SaddleResult:
    """Solve the saddle-point problem by proximal steps in P and beta.

    Parameters
    ----------
    problem : SaddleProblem
    tol : float, default=1e-3
        Stop when the gap is at most this fraction of the objective.
    max_iter : int, default=1000
    start : (beta, U), default=None
        A pair to start from.
    callback : callable, default=None
        Called as ``callback(n_iter, objective, gap)`` after every step.

    Returns
    -------
    SaddleResult
    """
    n = problem.size
    beta, response, U = initial_pair(problem, start, min(1e-3, 0.1 * tol))
    progress = Progress(tol, callback, assess(problem, beta, U, response))
    P = U @ U.T
    x = x_before = 0.5 * response.form(beta).entries
    while not progress.finished and len(progress.history) < max_iter:
        square = 2.0 * float(np.trace(x))  # L^2
        if square <= 0.0:
            break
        inverse_tau = _BALANCE * n
        sigma = inverse_tau / square
        values, vectors = np.linalg.eigh(P + sigma * (2.0 * x - x_before))
        values = project_simplex(values, n)
        P = (vectors * values) @ vectors.T
        shift = inverse_tau * response.decision(1.0)
        gap = progress.relative_gap
        beta = problem.train(
            _root(P + inverse_tau * np.eye(n)), beta, min(1e-4, max(0.01 * gap, 1e-11)), shift=shift
        )
        response = problem.respond(beta)
        pair = assess(problem, beta, factor(values, vectors), response)
        progress.add(pair)
        x_before, x = x, 0.5 * pair.D.entries
    return progress.result()


def hybrid(
    problem: SaddleProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: tuple[Array, Array] | None = None,
    callback: Callback | None = None,
) -> SaddleResult:
    """Solve by Frank-Wolfe to a coarse gap, then by APD (Algorithm 6 of [1]_).

    Parameters
    ----------
    problem, tol, max_iter, start, callback
        As for `accelerated_primal_dual`.

    Returns
    -------
    SaddleResult
    """
    first = frank_wolfe(
        problem,
        tol=max(tol, _HANDOVER),
        max_iter=min(max_iter, _PATIENCE),
        start=start,
        callback=callback,
    )
    left = max_iter - first.n_iter
    converged = first.gap <= tol * abs(first.objective)
    if converged or left <= 0:
        return replace(first, converged=converged)
    second = accelerated_primal_dual(
        problem, tol=tol, max_iter=left, start=(first.x, first.factor), callback=callback
    )
    return replace(
        second, n_iter=first.n_iter + second.n_iter, history=first.history + second.history
    )


def _root(A: Array) -> FloatArray:
    """Return U with A = U U' for a positive definite A."""
    return np.asarray(np.linalg.cholesky(A))
