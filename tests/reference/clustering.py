"""Objectives of clusterings, entry by entry from their definitions, and moves by trying them."""

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


def kmeans_objective(K, labels, counts):
    """sum_i counts_i ||phi(x_i) - m||^2, m the mean of the cluster of i."""
    total = 0.0
    for label in set(labels.tolist()):
        inside = np.flatnonzero(labels == label)
        share = counts[inside] / counts[inside].sum()
        products = K[np.ix_(inside, inside)] @ share
        distances = K[inside, inside] - 2.0 * products + share @ products
        total += counts[inside] @ distances
    return total


def move_changes(K, labels, counts, n_clusters, i):
    """Change of the objective for every cluster that i may move to; infinite where it is none.

    A point alone in its cluster stays.
    """
    before = kmeans_objective(K, labels, counts)
    changes = np.full(n_clusters, np.inf)
    if np.sum(labels == labels[i]) == 1:
        return changes
    for b in set(range(n_clusters)) - {int(labels[i])}:
        moved = labels.copy()
        moved[i] = b
        changes[b] = kmeans_objective(K, moved, counts) - before
    return changes


def least_change(K, labels, counts, n_clusters):
    """The change of the objective by the best of all single moves."""
    return min(move_changes(K, labels, counts, n_clusters, i).min() for i in range(len(K)))


def single_moves(K, labels, counts, n_clusters):
    """Labels after sweeps in which each point moves where it lowers the objective most."""
    labels, moved = labels.copy(), True
    limit = -1e-9 * np.abs(K).max()
    while moved:
        moved = False
        for i in range(len(K)):
            changes = move_changes(K, labels, counts, n_clusters, i)
            if changes.min() < limit * counts[i]:
                labels[i], moved = changes.argmin(), True
    return labels
