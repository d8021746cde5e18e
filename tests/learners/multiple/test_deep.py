"""Deep multiple kernel learning: its slopes, its descent and its kernel."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC

from kernelfit import MKLClassifier
from kernelfit.families.multiple.bank import from_matrix, make_bank
from kernelfit.families.multiple.kernels import outer_kernels
from kernelfit.inspection import audit
from kernelfit.kernels.standard import RBF, Linear, Polynomial
from kernelfit.learners.multiple.deep import descend, span_estimate
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge

X, Y = make_moons(40, noise=0.3, random_state=0)
SIGN = 2.0 * Y - 1.0
MATRICES = [RBF(2.0)(X), Linear()(X[:, :1]), RBF(0.2)(X[:, 1:]), Polynomial(2, 0.3, 1.0)(X)]
INNER, OUTER = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.5, 0.2, 0.3])


def bank():
    return make_bank(len(X), map(from_matrix, MATRICES), np.inf)


def combined(inner, outer):
    K1 = sum(w * K for w, K in zip(inner, MATRICES, strict=True))
    d = np.diag(K1)
    gaussian = np.array(
        [[np.exp(2 * K1[i, j] - d[i] - d[j]) for j in range(40)] for i in range(40)]
    )
    return outer[0] * K1 + outer[1] * gaussian + outer[2] * (1 + K1) ** 2 / 4


def naive_span(K, alpha):
    """Return the estimate by its definition: the distance of every point to the others' span.

    S_p^2 is the least of ||phi_p - sum_i l_i phi_i||^2 + eta sum_i l_i^2 / alpha_i over l with
    sum one, i and p support vectors.
    """
    total = 0.0
    support = np.flatnonzero(alpha)
    for p in support:
        rest = support[support != p]
        Q = K[np.ix_(rest, rest)] + np.diag(0.1 / alpha[rest])
        system = np.block([[Q, np.ones((len(rest), 1))], [np.ones((1, len(rest))), 0.0]])
        l = np.linalg.solve(system, np.append(K[rest, p], 1.0))[:-1]  # noqa: E741
        span = K[p, p] - 2 * l @ K[rest, p] + l @ Q @ l
        total += 1 / (1 + np.exp(-5 * (alpha[p] * span - 1)))
    return total


def test_span_estimate_is_that_of_the_definition():
    K = combined(INNER, OUTER)
    beta = solve_dual(K, hinge(SIGN, 2.0), tol=1e-8).x
    value, *_ = span_estimate(bank(), (hinge(SIGN, 2.0),), INNER, OUTER, [beta])
    assert_allclose(value, naive_span(K, abs(beta)), rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_slopes_are_differences(intercept):
    tasks = tuple(hinge(s, 2.0, fit_intercept=intercept) for s in (SIGN, -np.sign(X[:, 0])))
    betas = [solve_dual(combined(INNER, OUTER), task, tol=1e-8).x for task in tasks]
    _, *slopes = span_estimate(bank(), tasks, INNER, OUTER, betas)
    h = 1e-6
    for layer, slope in enumerate(slopes):
        for m in range(len(slope)):
            ends = []
            for sign in (h, -h):
                weights = [INNER.copy(), OUTER.copy()]
                weights[layer][m] += sign
                ends.append(span_estimate(bank(), tasks, *weights, betas)[0])
            assert_allclose((ends[0] - ends[1]) / (2 * h), slope[m], rtol=1e-5, atol=1e-7)


def test_the_estimate_falls_and_weights_stay_on_the_simplex():
    inner, outer, machines, values = descend(bank(), (hinge(SIGN, 2.0),), tol=1e-6, max_iter=50)
    assert len(values) > 1 and np.all(np.diff(values) < 0.0)
    for weights in (inner, outer):
        assert np.all(weights >= 0.0)
        assert_allclose(weights.sum(), 1.0, rtol=1e-12)
    final = naive_span(combined(inner, outer), abs(machines[0].x))
    assert_allclose(final, values[-1], rtol=1e-6)


def test_outer_kernels_are_positive_semidefinite():
    parts = outer_kernels(MATRICES[0], np.diag(MATRICES[0]), np.diag(MATRICES[0]))
    assert all(np.linalg.eigvalsh(K)[0] > -1e-10 for K in parts)


@pytest.mark.parametrize("sharing", ["joint", "separate"])
def test_machines(sharing):
    X, y = load_iris(return_X_y=True)
    model = MKLClassifier(C=2.0, kernels=["rbf", "linear"], combination="deep")
    model.set_params(kernel_sharing=sharing).fit(X, y)
    assert model.score(X, y) > 0.95
    found = audit(model, X, y)
    assert all(a.confirmed for a in (found if isinstance(found, list) else [found]))
    if sharing == "joint":
        binary = model.fit(X[:100], y[:100] % 2)
        kernel = pickle.loads(pickle.dumps(binary.kernel_))
        other = SVC(C=2.0, kernel=kernel, tol=1e-8).fit(X[:100], y[:100] % 2)
        assert_allclose(binary.decision_function(X), other.decision_function(X), atol=1e-4)
        assert_allclose(kernel.outer.sum(), 1.0)


def test_given_matrices_are_refused():
    model = MKLClassifier(kernels="precomputed", combination="deep")
    with pytest.raises(ValueError, match="expected kernels on points for combination='deep'"):
        model.fit(np.stack(MATRICES, axis=-1), Y)


def test_values_whose_squares_overflow_are_named():
    model = MKLClassifier(kernels=["linear", "rbf"], combination="deep", normalize=False)
    for unit in (1e60, 1e150):
        with pytest.raises(ValueError, match=r"expected kernel values up to 1e\+75 .* scale the"):
            model.fit(unit * X, Y)
    model.set_params(normalize=True)
    expected = model.fit(X, Y).decision_function(X)
    assert_allclose(model.fit(1e60 * X, Y).decision_function(1e60 * X), expected, rtol=1e-6)
