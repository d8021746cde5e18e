"""DANK and KNPL from their definitions: dense matrices, weights as copies, conic programmes."""

import cvxpy as cp
import numpy as np

from tests.reference.svm import DualProblem

# The optimum to 1e-8 gives theta to about the root of that, R being strongly convex.
ACCURACY = {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8}


def copies(weight):
    """Return, for whole weights, the index of the point that each copy stands for."""
    return np.repeat(np.arange(len(weight)), np.asarray(weight, dtype=int))


def gamma_matrix(K, beta, eta):
    """``(beta beta' o K) / (4 eta)``."""
    return np.outer(beta, beta) * K / (4 * eta)


def adaptive_matrix(K, beta, eta, tau):
    """Eigenvalue soft threshold of ``11' + Gamma`` at ``tau / 2``."""
    values, vectors = np.linalg.eigh(1.0 + gamma_matrix(K, beta, eta))
    return (vectors * np.maximum(values - tau / 2, 0.0)) @ vectors.T


def pairwise_matrix(K, beta, eta):
    """``11' + P Gamma P``."""
    n = len(beta)
    P = np.eye(n) - 1.0 / n
    return 1.0 + P @ gamma_matrix(K, beta, eta) @ P


def pairwise_matrix_admm(K, beta, eta, n_iter=5000, penalty=1.0):
    """Project Gamma onto {G psd, G1 = n1} by ADMM with an unchanging penalty."""
    gamma = gamma_matrix(K, beta, eta)
    n = len(beta)
    Q, Z = np.ones((n, n)), np.zeros((n, n))
    P = np.eye(n) - 1.0 / n
    for _ in range(n_iter):
        values, vectors = np.linalg.eigh((penalty * Q + Z + gamma) / (1 + penalty))
        G = (vectors * np.maximum(values, 0.0)) @ vectors.T
        Q = 1.0 + P @ ((penalty * G - Z + gamma) / (1 + penalty)) @ P
        Z = Z - penalty * (G - Q)
    return Q


def penalty(theta, eta, tau, method):
    """``R(theta)``, for a psd theta."""
    if method == "knpl":
        return eta * np.sum(theta**2)
    return eta * np.sum((theta - 1.0) ** 2) + tau * eta * np.trace(theta)


def response(K, beta, eta, tau, method):
    """The best response to beta."""
    if method == "knpl":
        return pairwise_matrix(K, beta, eta)
    return adaptive_matrix(K, beta, eta, tau)


def energy(K, beta, eta, tau, method):
    """``1/2 beta'(theta o K)beta - R(theta)`` at the best response, 0 at beta = 0."""

    def at(b):
        theta = response(K, b, eta, tau, method)
        return 0.5 * b @ (theta * K) @ b - penalty(theta, eta, tau, method)

    return at(beta) - at(np.zeros(len(beta)))


def weighted_response(K, beta, weight, eta, tau, method):
    """The response with point i standing for weight[i] copies, and the energy."""
    index = copies(weight)
    first = np.searchsorted(index, np.arange(len(weight)))
    expanded = K[np.ix_(index, index)]
    coef = (beta / weight)[index]
    theta = response(expanded, coef, eta, tau, method)
    return theta[np.ix_(first, first)], energy(expanded, coef, eta, tau, method)


def saddle_problem(problem, beta, eta, tau, method):
    """Return the SVM dual whose gap at beta certifies the saddle problem."""
    theta = response(problem.K, beta, eta, tau, method)
    return problem.replace(K=theta * problem.K)


def objective(problem, beta, eta, tau, method):
    """``h(beta)``."""
    linear = problem.p @ beta - problem.epsilon * np.abs(beta).sum()
    return linear - energy(problem.K, beta, eta, tau, method)


def solve_sdp(problem: DualProblem, eta, tau, method):
    """Minimise ``R(theta) + J(theta o K)`` over theta; J by its own dual, a matrix fraction.

    Returns the optimum, shifted so that beta = 0 has the value 0, and theta.
    """
    n = problem.n
    H = cp.Variable((n, n), symmetric=True)  # theta - 11', without the large constant in R
    theta = 1.0 + H
    over, under = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    slack = cp.Variable(n)
    z = problem.p - over + under + slack
    constraints = [cp.abs(slack) <= problem.epsilon]
    if problem.fit_intercept:
        z = z - cp.Variable()
    # Row by row: cvxpy 1.6 and 1.7 take the squares of a symmetric variable for other ones.
    R = eta * sum(cp.sum_squares(H[i]) for i in range(n))
    if method == "knpl":  # G psd and G1 = n1 mean H psd and H1 = 0
        constraints += [H >> 0, cp.sum(H, axis=1) == 0]
    else:
        constraints.append(theta >> 0)
        R = R + tau * eta * cp.trace(H) + eta * tau**2 / 4
    J = 0.5 * cp.matrix_frac(z, cp.multiply(theta, problem.K))
    J = J + problem.upper @ over - problem.lower @ under
    model = cp.Problem(cp.Minimize(R + J), constraints)
    model.solve(solver="CLARABEL", **ACCURACY)
    return model.value, theta.value
