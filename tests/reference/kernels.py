"""Kernels by explicit double loops over the rows and a sum over the features."""

import math
from itertools import combinations

import numpy as np


def _gram(k, X, Y):
    return np.array([[k(x, y) for y in Y] for x in X], dtype=np.float64).reshape(len(X), len(Y))


def _dot(x, y):
    return math.fsum(float(a) * float(b) for a, b in zip(x, y, strict=True))


def linear(X, Y):
    """``k(x, y) = x'y``."""
    return _gram(_dot, X, Y)


def polynomial(X, Y, degree=3, gamma=1.0, coef0=1.0):
    """``k(x, y) = (gamma x'y + coef0)^degree``."""
    return _gram(lambda x, y: (gamma * _dot(x, y) + coef0) ** degree, X, Y)


def rbf(X, Y, gamma=1.0):
    """``k(x, y) = exp(-gamma ||x - y||_2^2)``."""
    return _gram(lambda x, y: math.exp(-gamma * _dot(x - y, x - y)), X, Y)


def laplacian(X, Y, gamma=1.0):
    """``k(x, y) = exp(-gamma ||x - y||_1)``."""
    return _gram(lambda x, y: math.exp(-gamma * math.fsum(abs(x - y))), X, Y)


def _distance(x, y, gamma):
    """``(sum_j gamma_j^2 (x_j - y_j)^2)^(1/2)``, for one gamma or one a feature."""
    return math.sqrt(math.fsum((np.multiply(gamma, x - y)) ** 2))


def exponential(X, Y, gamma=1.0):
    """``k(x, y) = exp(-gamma ||x - y||_2)``."""
    return _gram(lambda x, y: math.exp(-_distance(x, y, gamma)), X, Y)


def matern(X, Y, gamma=1.0, order=1.5):
    """The Matern kernel of order 3/2 or 5/2 with the length ``1 / gamma``."""

    def value(x, y):
        t = math.sqrt(2 * order) * _distance(x, y, gamma)
        return (1 + t + (t * t / 3 if order == 2.5 else 0)) * math.exp(-t)

    return _gram(value, X, Y)


def rational_quadratic(X, Y, gamma=1.0, alpha=1.0):
    """``k(x, y) = (1 + gamma ||x - y||^2 / alpha)^-alpha``."""
    return _gram(lambda x, y: (1 + gamma * _dot(x - y, x - y) / alpha) ** -alpha, X, Y)


def additive(X, Y, gamma=1.0, order=2):
    """The mean over orders of the mean over sets of features of products of Gaussians."""

    def value(x, y):
        z = np.exp(-np.multiply(gamma, (x - y) ** 2))
        orders = range(1, min(order, len(z)) + 1)
        means = [np.mean([math.prod(s) for s in combinations(z.tolist(), q)]) for q in orders]
        return float(np.mean(means))

    return _gram(value, X, Y)


def leaf_shares(trees, X, Y):
    """The share of scikit-learn's trees in which two points have one leaf."""
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    return np.mean([t.apply(X)[:, None] == t.apply(Y) for t in trees], axis=0)


def ratio_rf(trees, X, Y):
    """RatioRF: of the tests on either point's way, the share that both answer alike."""
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    K = np.zeros((len(X), len(Y)))
    for t in trees:

        def tests(x, t=t):
            path, node = set(), 0
            while t.children_left[node] >= 0:
                path.add(node)
                left = x[t.feature[node]] <= t.threshold[node]
                node = t.children_left[node] if left else t.children_right[node]
            return path

        def passes(x, node, t=t):
            return x[t.feature[node]] <= t.threshold[node]

        for i, x in enumerate(X):
            for j, y in enumerate(Y):
                union = tests(x) | tests(y)
                alike = [passes(x, node) == passes(y, node) for node in union]
                K[i, j] += np.mean(alike) if union else 1.0
    return K / len(trees)


def path_shares(trees, X, Y, weights=lambda tree: np.ones(tree.node_count)):
    """RAG: the length of the common way from the root over that of the longer way to a leaf."""
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    K = np.zeros((len(X), len(Y)))
    for t in trees:

        def way(x, t=t):
            nodes = [0]
            while t.children_left[nodes[-1]] >= 0:
                left = x[t.feature[nodes[-1]]] <= t.threshold[nodes[-1]]
                nodes.append((t.children_left if left else t.children_right)[nodes[-1]])
            return nodes[1:]  # the root is on every way

        for i, x in enumerate(X):
            for j, y in enumerate(Y):
                a, b, w = set(way(x)), set(way(y)), weights(t)
                longest = max(sum(w[list(a)]), sum(w[list(b)]))
                K[i, j] += sum(w[list(a & b)]) / longest if longest else 1.0
    return K / len(trees)
