"""Agreement with LIBSVM, and certificates, on the real benchmark sets; skipped without these."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC, SVR

from kernelfit import DANKClassifier, DANKRegressor, KernelSVC, KernelSVR
from tests.reference import dank
from tests.reference.svm import duality_gap, svc_problem, svr_problem

BINARY = [
    "abalone", "breast_cancer", "breast_cancer_diagnostic", "climate", "diabetic", "fertility",
    "fourclass", "german", "haberman", "heart", "hill_valley", "ionosphere", "liver", "monks1",
    "monks2", "monks3", "pima", "sonar", "spambase", "spect", "splice", "svmguide1", "transfusion",
]  # fmt: skip
REGRESSION = [
    "abalone", "airfoil", "bodyfat", "housing", "mg_part", "mpg", "pyrim", "space_ga", "triazines",
]  # fmt: skip

# Those of the DANK paper's tables.
DANK_CLASSES = [
    "diabetic", "fertility", "glass", "haberman", "heart", "ionosphere", "monks1", "monks2",
    "monks3", "sonar", "spect", "wine",
]  # fmt: skip
DANK_TARGETS = ["bodyfat", "cpusmall", "housing", "mpg", "pyrim", "space_ga", "triazines"]


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


@pytest.mark.parametrize("tau", [0.0, 0.01])
@pytest.mark.parametrize(("C", "sigma"), [(1.0, 0.5), (32.0, 2.0)])
@pytest.mark.parametrize("name", DANK_CLASSES + DANK_TARGETS)
def test_gap_of_dank_recomputed(benchmark_data, name, C, sigma, tau):
    """Of at most 300 rows, by a dense eigenvalue problem and the definitions."""
    arrays = benchmark_data(name)
    rows = np.random.default_rng(0).permutation(len(arrays["y"]))[:300]
    X, y, gamma = (
        minmax_scale(arrays["X"].astype(np.float64)[rows]),
        arrays["y"][rows],
        0.5 / sigma**2,
    )
    K = rbf_kernel(X, gamma=gamma)
    if name in DANK_TARGETS:
        y = minmax_scale(y.astype(np.float64))
        model = DANKRegressor(C=C, gamma=gamma, tau=tau, epsilon=0.01).fit(X, y)
        problem = svr_problem(K, y, C, 0.01)
    else:
        classes, counts = np.unique(y, return_counts=True)
        y = np.where(y == classes[counts.argmax()], 1.0, -1.0)
        model = DANKClassifier(C=C, gamma=gamma, tau=tau).fit(X, y)
        problem = svc_problem(K, y, C)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    gap = duality_gap(dank.saddle_problem(problem, beta, model.eta_, tau, "dank"), beta)
    assert model.converged_ and -1e-12 <= gap / model.objective_ <= 1e-6
