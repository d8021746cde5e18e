"""Metrics by the definitions, with loops and refits."""

import numpy as np


def kernel_matrix(X, w, kernel):
    """The kernel of points under widths, entry by entry."""
    n = len(X)
    K = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            distance = sum(w * (X[i] - X[j]) ** 2)
            K[i, j] = np.exp(-distance if kernel == "rbf" else -np.sqrt(distance))
    return K


def leave_one_out_error(X, Y, weight, w, ridge, kernel):
    """The weighted sum of squared errors of n ridge regressions, each without one point."""
    K = kernel_matrix(X, w, kernel)
    total = 0.0
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        A = K[np.ix_(rest, rest)] + ridge * np.diag(1.0 / weight[rest])
        error = Y[i] - K[i, rest] @ np.linalg.solve(A, Y[rest])
        total += weight[i] * error @ error
    return total


def gradient_outer_product(X, Y, weight, scale, ridge, kernel, step=1e-6):
    """The sum of outer products of the gradients of ridge regressions, by differences."""
    d = X.shape[1]
    w = np.full(d, scale)
    K = kernel_matrix(X, w, kernel)
    coef = np.linalg.solve(K + ridge * np.diag(1.0 / weight), Y)

    def predict(x):
        distance = np.array([sum(w * (x - z) ** 2) for z in X])
        return np.exp(-distance if kernel == "rbf" else -np.sqrt(distance)) @ coef

    total = np.zeros((d, d))
    for x, s in zip(X, weight, strict=True):
        J = np.array(
            [(predict(x + step * e) - predict(x - step * e)) / (2 * step) for e in np.eye(d)]
        )
        total += s * J @ J.T
    return total
