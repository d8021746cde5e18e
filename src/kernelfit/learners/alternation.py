r"""Alternation between the machine and the kernel factor.

Both keep a full factor Theta and the machine's solution beta(Theta) for ``Theta o K``.

* Damped: ``Theta <- Theta + t (Theta*(beta) - Theta)`` with t at the minimum of the convex function
``R(Theta) + J(Theta o K)`` on the segment, whose derivative is ``R'(Theta)[d] - 1/2 beta(Theta)'(d
o K) beta(Theta)``: proximal gradient steps. * Plain, Algorithm 2 of KNPL [1]_: t = 1. Its inner
problem is solved in closed form, or by the paper's ADMM (Algorithm 1 there, with the projection
onto ``G 1 = n 1`` in place of its Eq. (20), which is singular at the solution). It need not
converge.

References
----------
.. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Nonlinear Pairwise Layer and Its Training for
   Kernel Learning". AAAI Conference on Artificial Intelligence, 2018.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from kernelfit.families.hadamard import Response
from kernelfit.learners.saddle import SaddleProblem, falling_root
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.svm_dual import solve_svm_dual

_ADMM_ROUNDS = 15
_ADMM_TOL = 1e-4
_ADMM_GROWTH = 1.1


def alternating_steps(
    problem: SaddleProblem, beta: FloatArray, scheme: Literal["damped", "closed", "admm"]
) -> Iterator[Response]:
    """Yield the responses to the machines' solutions.

    Parameters
    ----------
    problem : SaddleProblem
        Its kernel matrix must be in memory.
    beta : ndarray of shape (n,)
        The machine's solution for the kernel K, Theta = 11'.
    scheme : {"damped", "closed", "admm"}

    Yields
    ------
    Response
    """
    K = problem.gram.matrix
    if K is None:
        raise ValueError("expected a kernel matrix in memory for this solver; raise cache_size")
    theta = np.ones(K.shape)
    while True:
        response = problem.respond(beta)
        yield response
        if scheme == "admm":
            theta = _admm(problem, response, K)
            beta = _machine(problem, theta * K, beta)
        elif scheme == "closed":
            theta = response.matrix(K)
            beta = _machine(problem, theta * K, beta)
        else:
            theta, beta = _damped(problem, theta, response.matrix(K) - theta, beta, K)


def _machine(problem: SaddleProblem, K: FloatArray, beta: FloatArray) -> FloatArray:
    return solve_svm_dual(
        K,
        problem.p,
        problem.lower,
        problem.upper,
        epsilon=problem.epsilon,
        fit_intercept=problem.fit_intercept,
        tol=1e-10,
        warm_start=beta,
        assume_psd=True,
    ).x


def _damped(
    problem: SaddleProblem,
    theta: FloatArray,
    direction: FloatArray,
    beta: FloatArray,
    K: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    current, base = theta, beta

    def fall(t: float) -> float:
        nonlocal current, beta
        if t > 0.0:
            current = theta + t * direction
            beta = _machine(problem, current * K, base)
        gain = 0.5 * float(beta @ ((direction * K) @ beta))
        return gain - problem.family.penalty_slope(current, direction)

    rate = fall(0.0)
    if rate > 0.0:
        falling_root(fall, rate)
    return current, beta


def _admm(problem: SaddleProblem, response: Response, K: FloatArray) -> FloatArray:
    """Project Gamma onto {G psd, G1 = n1} as the paper does, with its copies counted."""
    root = np.sqrt(response.weight)
    scaled = response.beta / root
    gamma = response.rate * scaled[:, None] * K * scaled
    outer = np.outer(root, root)
    total = float(root @ root)
    Q, Z, penalty = outer.copy(), outer.copy(), 1.0
    for _ in range(_ADMM_ROUNDS):
        values, vectors = np.linalg.eigh((penalty * Q + Z + gamma) / (1.0 + penalty))
        G = (vectors * np.maximum(values, 0.0)) @ vectors.T
        wanted = (penalty * G - Z + gamma) / (1.0 + penalty)
        means = wanted @ root / total
        previous = Q
        Q = wanted - np.outer(means, root) - np.outer(root, means)
        Q += outer * (1.0 + float(root @ means) / total)
        change = penalty * (G - Q)
        Z = Z - change
        penalty = min(_ADMM_GROWTH * penalty, 1e8)
        if max(np.linalg.norm(Q - previous), np.linalg.norm(change)) <= _ADMM_TOL:
            break
    return np.asarray(G / outer)
