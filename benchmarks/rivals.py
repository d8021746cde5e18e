"""scikit-learn's SVC and SVR, stopped at a given duality gap as recomputed here.

LIBSVM stops on the violation of the optimality conditions. To compare at one relative gap, its
`tol` is lowered from 1 by factors of sqrt(10) until the gap of its solution, recomputed in float64,
is small enough; the time is that of the last fit alone, which no user could have known to ask for.
"""

import numpy as np
from sklearn.svm import SVC, SVR

TOLERANCES = 10.0 ** -np.arange(0.0, 7.1, 0.5)


def relative_gap(K, p, lower, upper, epsilon, beta):
    """Return (primal - dual) / dual of the SVM problem at beta, from scratch."""
    support = np.flatnonzero(beta)
    f = K[:, support] @ beta[support]
    quadratic = beta @ f
    points = np.concatenate(((p - f - epsilon)[upper > 0], (p - f + epsilon)[lower < 0]))
    weights = np.concatenate((upper[upper > 0], -lower[lower < 0]))
    order = np.argsort(points)
    crossing = np.searchsorted(np.cumsum(weights[order]), upper.sum() * (1 - 1e-12))
    r = p - f - points[order][min(crossing, len(order) - 1)]
    loss = (upper * np.maximum(r - epsilon, 0) - lower * np.maximum(-r - epsilon, 0)).sum()
    dual = p @ beta - epsilon * np.abs(beta).sum() - 0.5 * quadratic
    return (0.5 * quadratic + loss - dual) / dual


def box(p, C, epsilon):
    """Return the bounds of beta: classification where epsilon is None."""
    if epsilon is None:
        return np.minimum(p * C, 0.0), np.maximum(p * C, 0.0)
    return np.full(len(p), -float(C)), np.full(len(p), float(C))


def dual_variable(model, n):
    """Return beta of a fitted binary classifier or regressor, with the sign of ours."""
    beta = np.zeros(n)
    beta[model.support_] = np.ravel(model.dual_coef_)
    return beta


def rival(C, epsilon, tol):
    options = {"C": C, "kernel": "precomputed", "tol": tol, "cache_size": 1000}
    return SVC(**options) if epsilon is None else SVR(epsilon=epsilon, **options)


def sufficient_tolerance(K, p, C, epsilon, target):
    """Return the largest `tol` with which the rival reaches the gap, and the gap it reaches.

    Its cached rows are single precision, which can put the target out of reach: where a tenfold
    smaller `tol` hardly reduces the gap, the first tolerance within 10% of the best gap is
    returned.
    """
    lower, upper = box(p, C, epsilon)
    tried = []
    for tol in TOLERANCES:
        beta = dual_variable(rival(C, epsilon, tol).fit(K, p), len(p))
        gap = relative_gap(K, p, lower, upper, epsilon or 0.0, beta)
        tried.append((tol, gap))
        if gap <= target:
            return tol, gap
        if len(tried) > 4 and gap > 0.5 * tried[-3][1]:
            break
    best = min(gap for _, gap in tried)
    return next((tol, gap) for tol, gap in tried if gap <= 1.1 * best)
