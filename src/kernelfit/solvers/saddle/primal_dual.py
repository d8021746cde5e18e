r"""The accelerated primal-dual method (APD) for the saddle-point problem, and the hybrid.

.. math::

    \sigma_k &= \gamma_k \tau_k, \qquad \theta_k = \sigma_{k-1} / \sigma_k \\
    S &= (1 + \theta_k)\, x_k - \theta_k\, x_{k-1}, \qquad x_k = \tfrac12 D(\beta_k) \\
    P_{k+1} &= \operatorname{proj}(P_k + \sigma_k S) \\
    \beta_{k+1} &= \arg\max\; \kappa(\beta) - \tfrac12 \beta^\top K_{P_{k+1}} \beta
    - \tfrac{1}{2\tau_k} \|\beta - \beta_k\|^2_{K_I} \\
    \gamma_{k+1} &= \gamma_k (1 + \mu \tau_k), \qquad
    \tau_{k+1} = \tau_k \sqrt{\gamma_k / \gamma_{k+1}}

(Algorithm 4 of [1]_). The projection onto the matrices of trace n shifts the eigenvalues and cuts
them at zero. Two things differ from the print:

* Distances of beta are those of the kernel of P = I, which Algorithm 3 of [1]_ allows, and cost
  nothing: :math:`K_P + K_I/\tau` is the kernel of :math:`P + I/\tau`. In the Euclidean distance of
  Algorithm 4 the steps are so short that 200 of them do not reduce a gap of 27 % on pima.
* In this norm :math:`\|D(\beta, d)\|_F \le \sqrt{\operatorname{tr} D(\beta)}\, \|d\|`, so
  between two iterates x has the Lipschitz constant L, the larger of their norms, and the steps are
  admissible where :math:`\sigma_k \tau_k L^2 \le 1`. An iterate larger than all before it lowers
  gamma to meet this, which the proof allows: gamma may grow by :math:`1 + \mu \tau_k` at most. The
  constants of [1]_ are larger by orders of magnitude.

The rate :math:`O(1/k^2)` needs a :math:`\mu > 0` with :math:`\kappa(\beta) -
\tfrac12 \beta^\top (K_P - \mu K_I) \beta` concave for every P. Theorem 17 of [1]_ takes it for
granted, but for a hinge or a tube it asks for :math:`P \succeq \mu I`, and no :math:`\mu > 0` holds
on the whole set: it contains matrices of rank one, some of which make K constant. A squared loss
with ridge r has :math:`\mu = r / \lambda_{\max}(K_I)`. With :math:`\mu = 0` the steps are constant
once L is, and the rate is :math:`O(1/k)`.

References
----------
.. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
   learning", Journal of Machine Learning Research 25 (2024), Appendix B.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from kernelfit.linalg.symmetric import project_simplex, spectral_factor
from kernelfit.solvers.saddle.frank_wolfe import frank_wolfe_steps
from kernelfit.solvers.saddle.problem import Array, SaddleProblem, SaddleSolver, first_pair
from kernelfit.solvers.saddle.progress import Pair, Progress

_BALANCE = 0.5  # 1 / (tau_0 n)
_SHORT = 0.25  # start over where sigma tau L^2 is less, as L was that of a distant start


def primal_dual_steps(
    problem: SaddleProblem,
    progress: Progress,
    start: tuple[Array | None, Any] | None,
    mu: float = 0.0,
) -> Iterator[Pair]:
    """Yield the pairs of proximal steps in P and beta.

    Parameters
    ----------
    problem : SaddleProblem
    progress : Progress
    start : (beta, U) or None
    mu : float, default=0
        Modulus of strong convexity in the norm of K_I; see the module's head.

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
    tau, gamma, sigma = 0.0, 0.0, 0.0
    while True:
        square = 2.0 * float(np.trace(x))  # the squared norm of beta
        if square <= 0.0:
            return
        if gamma * tau**2 * square < _SHORT:
            tau, x_before = 1.0 / (_BALANCE * n), x
            gamma = 1.0 / (tau**2 * square)
            sigma = gamma * tau
        gamma = min(gamma, 1.0 / (tau**2 * square))
        theta = sigma / (gamma * tau)
        sigma = gamma * tau
        values, vectors = np.linalg.eigh(P + sigma * ((1.0 + theta) * x - theta * x_before))
        values = project_simplex(values, n)
        P = (vectors * values) @ vectors.T
        root = np.linalg.cholesky(P + np.eye(n) / tau)
        shift = pair.response.decision(1.0) / tau
        beta = problem.train(root, pair.beta, progress.model_tol, shift=shift)
        pair = Pair(beta, spectral_factor(values, vectors), family.respond(beta))
        yield pair
        x_before, x = x, 0.5 * pair.response.D.entries
        growth = 1.0 + mu * tau
        gamma, tau = gamma * growth, tau / np.sqrt(growth)


def hybrid_steps(
    problem: SaddleProblem,
    progress: Progress,
    start: tuple[Array | None, Any] | None,
    handover: float,
    patience: int,
    mu: float,
) -> Iterator[Pair]:
    """Yield Frank-Wolfe's pairs up to a coarse gap, then those of APD (Algorithm 6 of [1]_).

    Parameters
    ----------
    problem, progress, start, mu
        As for `primal_dual_steps`.
    handover, patience
        As for `hybrid`.

    Yields
    ------
    Pair
    """
    for pair in frank_wolfe_steps(problem, progress, start):
        yield pair
        coarse = progress.gap <= handover * abs(progress.lower)
        if coarse or len(progress.history) >= patience:
            break
    best = progress.best
    yield from primal_dual_steps(problem, progress, (best.beta, best.theta), mu)


def apd(mu: float = 0.0) -> SaddleSolver:
    """Return the accelerated primal-dual method.

    Parameters
    ----------
    mu : float, default=0
        Modulus of strong convexity in the norm of K_I, by which the steps in P grow and those in
        beta shrink; see the module's head for where it may be positive.

    Returns
    -------
    SaddleSolver
    """
    if not 0.0 <= mu < np.inf:
        raise ValueError(f"expected a finite mu >= 0, got {mu!r}")
    return SaddleSolver("apd", partial(primal_dual_steps, mu=mu), needs=("initial", "size"))


def hybrid(handover: float = 1e-2, patience: int = 20, mu: float = 0.0) -> SaddleSolver:
    """Return Frank-Wolfe followed by the accelerated primal-dual method.

    Parameters
    ----------
    handover : float, default=1e-2
        Relative gap at which Frank-Wolfe ends.
    patience : int, default=20
        Number of iterations after which Frank-Wolfe ends at the latest.
    mu : float, default=0
        As for `apd`.

    Returns
    -------
    SaddleSolver
    """
    if not handover >= 0.0 or patience < 1:
        raise ValueError(f"expected handover >= 0 and patience >= 1, got {handover}, {patience}")
    steps = partial(hybrid_steps, handover=handover, patience=patience, mu=mu)
    return SaddleSolver("hybrid", steps, needs=("initial", "mix", "size"))


APD, HYBRID = apd(), hybrid()
