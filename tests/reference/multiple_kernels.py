"""Weights of kernels by the formulas of their papers, in loops and with a general solver."""

import cvxpy as cp
import numpy as np
from sklearn.svm import SVC, SVR


def centred(K):
    """Return K with features centred, entry by entry."""
    n = len(K)
    out = np.empty_like(K)
    for i in range(n):
        for j in range(n):
            out[i, j] = K[i, j] - K[i].mean() - K[:, j].mean() + K.mean()
    return out


def alignments(matrices, Y):
    """Return rho(K_m, Y) by Definition 4 of Cortes et al. (2012), up to a common factor."""
    matrices = [centred(K) for K in matrices]
    return np.array([np.sum(K * Y) / np.linalg.norm(K) for K in matrices])


def largest_alignment(matrices, Y):
    """Return the weights >= 0 whose sum of kernels has the largest alignment with Y.

    As a cone programme: the largest <sum v_m K_m, Y> for a sum of norm at most one.
    """
    matrices = [centred(K) for K in matrices]
    v = cp.Variable(len(matrices), nonneg=True)
    flat = np.stack([K.ravel() for K in matrices], axis=1)
    value = (flat.T @ Y.ravel()) @ v
    cp.Problem(cp.Maximize(value), [cp.norm2(flat @ v) <= 1]).solve(solver=cp.CLARABEL)
    return v.value / v.value.sum()


def signed_alignment(matrices, Y):
    """Return the sum of centred kernels, of any sign, with the largest alignment with Y.

    That is the projection of Y on their span, which is unique where the weights are not.
    """
    flat = np.stack([centred(K).ravel() for K in matrices], axis=1)
    flat = flat / np.linalg.norm(flat, axis=0)
    return (flat @ np.linalg.lstsq(flat, Y.ravel(), rcond=1e-9)[0]).reshape(Y.shape)


def easy(matrices, y, lam):
    """Return the weights of Algorithm 1 of Aiolli and Donini (2015), normalised to sum one."""
    gamma = cp.Variable(len(y), nonneg=True)
    Y = np.diag(y)
    total = Y @ sum(matrices) @ Y
    root = np.linalg.cholesky(total + 1e-12 * np.trace(total) * np.eye(len(y)))
    value = (1 - lam) * cp.sum_squares(root.T @ gamma) + lam * cp.sum_squares(gamma)
    constraints = [cp.sum(gamma[y > 0]) == 1, cp.sum(gamma[y < 0]) == 1]
    cp.Problem(cp.Minimize(value), constraints).solve(solver=cp.CLARABEL)
    g = gamma.value
    parts = np.array([g @ Y @ K @ Y @ g for K in matrices])
    return parts / parts.sum()


def accuracies(matrices, y, C, folds):
    """Return the accuracy of each kernel alone over folds."""
    found = []
    for K in matrices:
        right = 0
        for k in np.unique(folds):
            a, b = folds != k, folds == k
            model = SVC(C=C, kernel="precomputed", tol=1e-6).fit(K[np.ix_(a, a)], y[a])
            right += np.sum(model.predict(K[np.ix_(b, a)]) == y[b])
        found.append(right / len(y))
    return np.array(found)


def squared_errors(matrices, y, C, epsilon, folds):
    """Return the mean squared error of each kernel alone over folds."""
    found = []
    for K in matrices:
        total = 0.0
        for k in np.unique(folds):
            a, b = folds != k, folds == k
            model = SVR(C=C, epsilon=epsilon, kernel="precomputed", tol=1e-6)
            prediction = model.fit(K[np.ix_(a, a)], y[a]).predict(K[np.ix_(b, a)])
            total += np.sum((prediction - y[b]) ** 2)
        found.append(total / len(y))
    return np.array(found)
