"""The discriminative similarity and its objectives, entry by entry from their definitions."""

import numpy as np


def similarity(K, b, mu):
    """(b_i + b_j - mu b_i b_j) K_ij."""
    n = len(K)
    return np.array(
        [[(b[i] + b[j] - mu * b[i] * b[j]) * K[i, j] for j in range(n)] for i in range(n)]
    )


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W


def normalised_cut(W, labels):
    """Sum over the clusters of the weight that leaves them over their volume."""
    total = 0.0
    for label in set(labels):
        inside = np.asarray(labels) == label
        total += W[inside][:, ~inside].sum() / W[inside].sum()
    return total


def eigenvalue_sum(W, c):
    """Sum of the c smallest eigenvalues of the normalised Laplacian."""
    root = 1.0 / np.sqrt(W.sum(axis=1))
    return np.sort(np.linalg.eigvalsh(laplacian(W) * np.outer(root, root)))[:c].sum()


def literal_objective(K, Y, alpha, lambda_, w):
    """w Tr(Y'LY) - sum (alpha_i + alpha_j)/2 K_ij + lambda alpha'K alpha, L of 2(...)K."""
    n = len(K)
    L = laplacian(2.0 * similarity(K, alpha, lambda_))
    linear = sum((alpha[i] + alpha[j]) / 2 * K[i, j] for i in range(n) for j in range(n))
    return w * np.trace(Y.T @ L @ Y) - linear + lambda_ * alpha @ K @ alpha
