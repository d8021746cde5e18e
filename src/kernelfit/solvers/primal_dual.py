r"""The accelerated primal-dual method (APD) for the saddle-point problem, and the hybrid.

.. math::

    S &= (1 + \theta_k)\, x_k - \theta_k\, x_{k-1}, \qquad x_k = \tfrac12 D(\beta_k) \\
    P_{k+1} &= \operatorname{proj}(P_k + \sigma_k S) \\
    \beta_{k+1} &= \arg\max\; \kappa(\beta) - \tfrac12 \beta^\top K_{P_{k+1}} \beta
    - \tfrac{1}{2\tau_k} \|\beta - \beta_k\|^2

(Algorithm 4 of [1]_ with its extrapolation). The projection onto the matrices of trace n cuts shifted
eigenvalues at zero. Steps are admissible while sigma tau L^2 <= 1 for L the Lipschitz constant of x;
the constant of [1]_ bounds it by the sum of all squares and makes steps that are far too short. Here L
is the norm of the derivative, the linear map d -> sum_i d_i W_i, measured where the method
is, with a margin.

References
----------
.. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
   learning", Journal of Machine Learning Research 25 (2024), Appendix B.
"""

import numpy as np

from kernelfit.solvers.frank_wolfe import frank_wolfe
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.saddle import (
    Array,
    Callback,
    Progress,
    Response,
    SaddleProblem,
    SaddleResult,
    assess,
    factor,
    project_simplex,
    starting_point,
)

_POWER_STEPS = 8
_MARGIN = 1.2
_HANDOVER = 1e-2  # relative gap at which the hybrid leaves Frank-Wolfe


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
    progress = Progress(tol, callback)
    n = problem.size
    response: Response
    if start is None:
        beta, response, P = starting_point(problem, min(1e-3, 0.1 * tol))
    else:
        beta = start[0]
        response, P = problem.respond(beta), start[1] @ start[1].T
    done = progress.add(assess(problem, beta, factor(P), response))
    x = x_before = 0.5 * response.matrix(beta)
    balance = n / max(float(np.linalg.norm(beta)), 1e-300)  # typical sizes of P over beta
    while not done and len(progress.history) < max_iter:
        L = _MARGIN * _derivative_norm(response, beta)
        if L <= 0.0:
            break
        sigma, tau = balance / L, 1.0 / (balance * L)
        values, vectors = np.linalg.eigh(P + sigma * (2.0 * x - x_before))
        values, _ = project_simplex(values, n)
        P = (vectors * values) @ vectors.T
        U = factor(P)
        beta = problem.train(
            U, beta, min(1e-4, max(0.01 * progress.relative_gap, 1e-11)), ridge=1.0 / tau
        )
        response = problem.respond(beta)
        x_before, x = x, 0.5 * response.matrix(beta)
        done = progress.add(assess(problem, beta, U, response))
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
    coarse = max(tol, _HANDOVER)
    first = frank_wolfe(
        problem, tol=coarse, max_iter=max_iter, start=start, callback=callback
    )  # fmt: skip
    left = max_iter - first.n_iter
    if tol >= coarse or left <= 0:
        return first
    return accelerated_primal_dual(
        problem, tol=tol, max_iter=left, start=(first.x, first.factor), callback=callback
    )


def _derivative_norm(response: Response, beta: Array) -> float:
    """Return the norm of d -> sum_i d_i W_i by power iterations from beta."""
    direction: FloatArray = beta / max(float(np.linalg.norm(beta)), 1e-300)
    norm = 0.0
    for _ in range(_POWER_STEPS):
        M = response.matrix(direction)
        norm = float(np.linalg.norm(M))
        if norm == 0.0:
            return 0.0
        # The adjoint: <W_i, M> for every point, by the eigenvectors of M.
        values, vectors = np.linalg.eigh(M)
        kept = np.abs(values) > 1e-8 * np.abs(values).max()
        back = np.einsum("tirr,r->ti", response.contract(vectors[:, kept], vectors[:, kept]),
                         values[kept])  # fmt: skip
        direction = back / np.linalg.norm(back)
    return norm
