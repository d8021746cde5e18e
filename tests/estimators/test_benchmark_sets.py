"""Agreement with LIBSVM on the real benchmark sets; skipped where they are not at hand."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from kernelfit import KernelSVC, KernelSVR

BINARY = [
    "abalone", "breast_cancer", "breast_cancer_diagnostic", "climate", "diabetic", "fertility",
    "fourclass", "german", "haberman", "heart", "hill_valley", "ionosphere", "liver", "monks1",
    "monks2", "monks3", "pima", "sonar", "spambase", "spect", "splice", "svmguide1", "transfusion",
]  # fmt: skip
REGRESSION = [
    "abalone", "airfoil", "bodyfat", "housing", "mg_part", "mpg", "pyrim", "space_ga", "triazines",
]  # fmt: skip


def standardised(arrays):
    X = arrays["X"].astype(np.float64)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def dual_objective(model, X, p, epsilon=0.0):
    """Evaluate the dual in float64 from the coefficients alone."""
    beta, S = np.ravel(model.dual_coef_), X[model.support_]
    gamma = 1.0 / (X.shape[1] * X.var())
    quadratic = 0.0
    for i in range(len(S)):
        quadratic += beta[i] * (np.exp(-gamma * ((S - S[i]) ** 2).sum(axis=1)) @ beta)
    return p[model.support_] @ beta - epsilon * np.abs(beta).sum() - 0.5 * quadratic


@pytest.mark.parametrize("name", BINARY)
def test_binary_sets(benchmark_data, name):
    arrays = benchmark_data(name)
    X, y = standardised(arrays), arrays["y"]
    if name == "abalone":
        y = (y > np.median(y)).astype(int)
    p = np.where(y == np.unique(y)[1], 1.0, -1.0)
    ours, theirs = KernelSVC(tol=1e-6).fit(X, y), SVC(tol=1e-8).fit(X, y)
    objective = dual_objective(theirs, X, p)
    assert ours.dual_gap_ <= 1e-6 * ours.objective_
    assert ours.objective_ == pytest.approx(dual_objective(ours, X, p), rel=1e-9)
    assert ours.objective_ == pytest.approx(objective, rel=1e-6)
    clear = np.abs(theirs.decision_function(X)) >= 1e-3
    np.testing.assert_array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])


@pytest.mark.parametrize("name", REGRESSION)
def test_regression_sets(benchmark_data, name):
    arrays = benchmark_data(name)
    X = standardised(arrays)
    y = (arrays["y"] - arrays["y"].mean()) / arrays["y"].std()
    ours, theirs = KernelSVR(tol=1e-6).fit(X, y), SVR(tol=1e-8).fit(X, y)
    objective = dual_objective(theirs, X, y, 0.1)
    assert ours.dual_gap_ <= 1e-6 * ours.objective_
    assert ours.objective_ == pytest.approx(dual_objective(ours, X, y, 0.1), rel=1e-9)
    assert ours.objective_ == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
