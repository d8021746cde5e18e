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

from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelfit.linalg.symmetric import project_simplex, spectral_factor
from kernelfit.solvers.saddle.frank_wolfe import frank_wolfe_steps
from kernelfit.solvers.saddle.problem import Array, SaddleProblem, SaddleSolver, first_pair
from kernelfit.solvers.saddle.progress import Pair, Progress

_BALANCE = 0.5  # 1 / (tau n)
_HANDOVER, _PATIENCE = 1e-2, 50  # relative gap or steps at which the hybrid leaves Frank-Wolfe


def primal_dual_steps(
    problem: SaddleProblem, progress: Progress, start: tuple[Array, Any] | None
) -> Iterator[Pair]:
    """Yield the pairs of proximal steps in P and beta.

    Parameters
    ----------
    problem : SaddleProblem
    progress : Progress
    start : (beta, U) or None

    Yields
    ------
    Pair
    """
    family: Any = problem.family
    n = family.size
    pair = first_pair(problem, progress, start, lambda response: response.broad)
    yield pair
    P = pair.theta @ pair.theta.T
    x = x_before = 0.5 * pair.response.D.entries
    while True:
        square = 2.0 * float(np.trace(x))  # L^2
        if square <= 0.0:
            return
        inverse_tau = _BALANCE * n
        sigma = inverse_tau / square
        values, vectors = np.linalg.eigh(P + sigma * (2.0 * x - x_before))
        values = project_simplex(values, n)
        P = (vectors * values) @ vectors.T
        root = np.linalg.cholesky(P + inverse_tau * np.eye(n))
        shift = inverse_tau * pair.response.decision(1.0)
        beta = problem.train(root, pair.beta, progress.model_tol, shift=shift)
        pair = Pair(beta, spectral_factor(values, vectors), family.respond(beta))
        yield pair
        x_before, x = x, 0.5 * pair.response.D.entries


def hybrid_steps(
    problem: SaddleProblem, progress: Progress, start: tuple[Array, Any] | None
) -> Iterator[Pair]:
    """Yield Frank-Wolfe's pairs up to a coarse gap, then those of APD (Algorithm 6 of [1]_).

    Parameters
    ----------
    problem, progress, start
        As for `primal_dual_steps`.

    Yields
    ------
    Pair
    """
    for pair in frank_wolfe_steps(problem, progress, start):
        yield pair
        coarse = progress.gap <= _HANDOVER * abs(progress.lower)
        if coarse or len(progress.history) >= _PATIENCE:
            break
    best = progress.best
    yield from primal_dual_steps(problem, progress, (best.beta, best.theta))


APD = SaddleSolver("apd", primal_dual_steps, needs=("initial", "size"))
HYBRID = SaddleSolver("hybrid", hybrid_steps, needs=("initial", "mix", "size"))
