"""Objectives of clusterings, entry by entry from their definitions, and moves by trying them."""

from itertools import chain, combinations

import numpy as np
from scipy.linalg import eigh


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


def quadratic(f, n):
    """P and q of a function f(x) = q'x + x'Px / 2, from its values."""
    e = np.eye(n)
    once, twice = (np.array([f(t * row) for row in e]) for t in (1.0, 2.0))
    q = 2.0 * once - 0.5 * twice
    P = np.array([[f(a + b) for b in e] for a in e]) - once[:, None] - once
    return P, q


def simplex_points(P, q):
    """All stationary points of q'x + x'Px / 2 on the faces of the simplex, with their values."""
    n = len(q)
    for support in chain.from_iterable(combinations(range(n), k) for k in range(1, n + 1)):
        at, k = list(support), len(support)
        A = np.block([[P[np.ix_(at, at)], np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
        x = np.zeros(n)
        x[at] = np.linalg.lstsq(A, np.append(-q[at], 1.0), rcond=None)[0][:k]
        if x.min() >= 0.0 and abs(x.sum() - 1.0) < 1e-9:
            yield x, float(q @ x + 0.5 * x @ P @ x)


def reconstruction_error(alpha, X):
    """The sum over i of ||x_i - sum over j != i of alpha_j x_j||^2."""
    m = alpha @ X
    return sum(np.sum((X[i] - (m - alpha[i] * X[i])) ** 2) for i in range(len(X)))


def literal_embedding(K, c, lambda_, alpha):
    """The minimiser of (11): Y of Y'DY = I, for L = D - S of (8)."""
    S = 2.0 * similarity(K, alpha, lambda_)
    return eigh(laplacian(S), np.diag(S.sum(axis=1)))[1][:, :c]


def algorithm_1(K, c, lambda_, alpha, n_rounds):
    """Rounds of Algorithm 1, the step in alpha to its global minimum; the weights of each."""
    found = [alpha]
    for _ in range(n_rounds):
        Y = literal_embedding(K, c, lambda_, found[-1])
        P, q = quadratic(lambda a, Y=Y: literal_objective(K, Y, a, lambda_, 1.0), len(K))
        found.append(min(simplex_points(P, q), key=lambda point: point[1])[0])
    return found


def softmax_entropy(Y):
    """The mean entropy of the softmax of the rows."""
    p = np.exp(Y - Y.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return float(np.mean([-sum(v * np.log(v) for v in row if v > 0) for row in p]))


def labelling_bound(S, labels, alpha, gamma, delta):
    """The terms of (4) and (5) of the CDS paper, as printed."""
    n, c = len(S), len(set(labels.tolist()))
    values, vectors = np.linalg.eigh(S)
    plus = (vectors * np.clip(values, 0, None)) @ vectors.T
    minus = (vectors * np.clip(-values, 0, None)) @ vectors.T
    R = np.sqrt(max(plus.diagonal().max(), minus.diagonal().max()))
    B = []
    for part in (plus, minus):
        each = [np.where(labels == y, alpha, 0.0) for y in range(c)]
        B.append(np.sqrt(sum(a @ part @ a for a in each)))
    loss = 0.0
    for i in range(n):
        h = [sum(alpha[j] * S[i, j] for j in range(n) if labels[j] == y) for y in range(c)]
        margin = h[labels[i]] - max((h[y] for y in range(c) if y != labels[i]), default=0.0)
        loss += min(1.0, max(0.0, 1.0 - margin / gamma)) / n
    cut = 1.0
    for i in range(n):
        for j in range(n):
            cut -= (alpha[i] + alpha[j]) / 2 * S[i, j] / (n * gamma)
            if i < j and labels[i] != labels[j]:
                cut += 2 * (alpha[i] + alpha[j]) * S[i, j] / (n * gamma)
    complexity = 8 * R * (2 * c - 1) * c * sum(B) / (gamma * np.sqrt(n))
    root = np.sqrt(np.log(4 / delta) / (2 * n))
    deviation = (16 * c * (2 * c - 1) * sum(B) * R**2 / gamma + 1) * root
    return {
        "bound": loss + complexity + deviation, "empirical_loss": loss, "cut_loss": cut,
        "complexity": complexity, "deviation": deviation, "b_plus": B[0], "b_minus": B[1],
    }  # fmt: skip


def squared_error(X, labels, alpha, h, delta):
    """(16), (17) and (18) of the CDS paper, as printed; epsilon makes the probability 1 - delta."""
    n, d = X.shape

    def kernel(i, j, width):
        return np.exp(-np.sum((X[i] - X[j]) ** 2) / (2 * width**2))

    pairs = [(i, j) for j in range(n) for i in range(j)]
    cut = [(i, j) for i, j in pairs if labels[i] != labels[j]]
    whole = [(i, j) for i in range(n) for j in range(n)]
    empirical = 4 * sum((alpha[i] + alpha[j]) * kernel(i, j, h) for i, j in cut)
    empirical -= sum((alpha[i] + alpha[j]) * kernel(i, j, h) for i, j in whole)
    wide = np.sqrt(2) * h
    norm = sum(alpha[i] * alpha[j] * kernel(i, j, wide) for i, j in whole)
    norm -= 4 * sum(alpha[i] * alpha[j] * kernel(i, j, wide) for i, j in cut)
    tau_0, tau_1 = ((2 * np.pi) ** (-d / 2) * width**-d for width in (h, wide))
    epsilon = np.sqrt(np.log(4 * n / delta) / (2 * (n - 1)))
    bound = tau_0 / n * empirical + tau_1 * norm + 2 * tau_0 * (1 / (n - 1) + epsilon)
    return {"bound": bound, "empirical": empirical, "norm": norm}


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
