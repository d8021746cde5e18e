"""KNPL's published protocol: its scores are those of a naive loop with the nearest rule."""

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC

from kernelfit import KNPLClassifier
from kernelfit.papers.knpl_search import ETAS, POWERS, knpl_protocol
from tests.reference import dank


def nearest_rule(model, X, y, points, eta):
    """Predict with the row of the factor of the nearest training point, by its definition."""
    K, beta = rbf_kernel(X, gamma=model.gamma), np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    G = dank.pairwise_matrix(K, beta, eta)
    neighbour = ((points[:, None] - X) ** 2).sum(axis=2).argmin(axis=1)
    values = (G[neighbour] * rbf_kernel(points, X, gamma=model.gamma)) @ beta + model.intercept_
    return np.where(values > 0, y.max(), y.min())


def test_scores_are_those_of_a_naive_loop():
    X, y = make_moons(70, noise=0.35, random_state=3)
    X = minmax_scale(X)
    found = knpl_protocol(X, y, random_state=5)
    folds = StratifiedKFold(5, shuffle=True, random_state=5)

    chosen = found.best_estimator_.C, found.best_estimator_.gamma
    assert chosen[0] in POWERS and chosen[1] in 0.5 / POWERS**2

    def plain_score(C, gamma):
        return cross_val_score(SVC(C=C, gamma=gamma, tol=1e-6), X, y, cv=folds).mean()

    best = max(plain_score(C, 0.5 / sigma**2) for C in POWERS for sigma in POWERS)
    assert plain_score(*chosen) >= best - 0.02

    scores = []
    for multiple in 4.0 ** np.arange(4, -5, -1):
        right = 0
        for train, test in folds.split(X, y):
            plain = SVC(C=chosen[0], gamma=chosen[1], tol=1e-10).fit(X[train], y[train])
            eta = multiple * np.sum(plain.dual_coef_**2)
            model = KNPLClassifier(*chosen[:1], gamma=chosen[1], eta=eta, tol=1e-9)
            model.fit(X[train], y[train])
            right += np.sum(nearest_rule(model, X[train], y[train], X[test], eta) == y[test])
        scores.append(right / len(y))
    # One point at the boundary may change sides.
    assert np.allclose(found.cv_results_["mean_test_score"], scores, atol=1.01 / 70)
    assert len(set(np.round(scores, 6))) > 1 and len(ETAS) == len(scores)
    assert scores[found.best_index_] >= max(scores) - 1.01 / 70
    assert found.best_estimator_.out_of_sample == "nearest"
