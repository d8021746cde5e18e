r"""Algorithms 4 and 5 of Talitckii, Colbert and Peet, step by step, from the products G alone.

The dual is that of a tube: maximise p'b - epsilon |b|_1 - 1/2 b'K_P b over a box, with sum(b) = 0.
"""

import cvxpy as cp
import numpy as np


def form(G, beta):
    """Return D(beta)."""
    D = np.einsum("i,j,ijab->ab", beta, beta, G)
    return 0.5 * (D + D.T)


def kernel_matrix(G, P):
    """Return K_P."""
    K = np.einsum("ijab,ab->ij", G, P)
    return 0.5 * (K + K.T)


def proximal_machine(G, P, p, bound, epsilon, centre, metric, tau):
    """Return the dual solution with the proximal term 1 / (2 tau) |b - centre|^2 in the metric."""
    root = np.linalg.cholesky(kernel_matrix(G, P) + metric / tau)
    linear = p + metric @ centre / tau
    b = cp.Variable(len(p))
    value = linear @ b - epsilon * cp.norm1(b) - 0.5 * cp.sum_squares(root.T @ b)
    model = cp.Problem(cp.Maximize(value), [cp.abs(b) <= bound, cp.sum(b) == 0])
    precise = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
    model.solve(solver=cp.CLARABEL, **precise)
    return b.value


def projection(A):
    """Return the closest P, positive semidefinite with trace n: Algorithm 5, its update righted."""
    n = len(A)
    values, vectors = np.linalg.eigh(A)
    low, high = values.min() - n, values.max()
    for _ in range(200):
        y = 0.5 * (low + high)
        if np.maximum(values - y, 0.0).sum() >= n:
            low = y
        else:
            high = y
    return (vectors * np.maximum(values - low, 0.0)) @ vectors.T


def accelerated_primal_dual(G, p, bound, epsilon, beta, P, metric, tau, mu, n_iter):
    """Return the iterates (beta_k, P_k) of Algorithm 4, and whether its sigma was ever lowered.

    sigma_0 is 1 / (tau_0 L^2). L is the norm of the largest beta so far, so sigma is lowered where
    a larger one appears; without that, these are the printed steps.
    """
    found, lowered = [(beta, P)], False
    x = x_before = 0.5 * form(G, beta)
    sigma_before = 1.0 / (tau * (beta @ metric @ beta))
    gamma = sigma_before / tau
    for _ in range(n_iter):
        allowed = 1.0 / (tau**2 * (beta @ metric @ beta))
        lowered = lowered or bool(allowed < gamma * (1.0 - 1e-9))
        gamma = min(gamma, allowed)
        sigma = gamma * tau  # 1
        theta = sigma_before / sigma
        x = 0.5 * form(G, beta)  # 2
        S = (1.0 + theta) * x - theta * x_before  # 3
        P = projection(P + sigma * S)  # 4
        beta = proximal_machine(G, P, p, bound, epsilon, beta, metric, tau)  # 5
        next_gamma = gamma * (1.0 + mu * tau)  # 6
        tau, gamma = tau * np.sqrt(gamma / next_gamma), next_gamma
        x_before, sigma_before = x, sigma
        found.append((beta, P))
    return found, lowered
