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
INNER = np.array([0.4, 0.3, 0.2, 0.1])
OUTER = np.array([[0.5, 0.2, 0.2, 0.1], [0.1, 0.3, 0.2, 0.4]])


def bank():
    return make_bank(len(X), map(from_matrix, MATRICES), np.inf)


def combined(inner, outer):
    K = sum(w * K for w, K in zip(inner, MATRICES, strict=True))
    n = len(K)
    for linear, gaussian, quadratic, cubic in outer:
        last, K = K, np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                k = last[i, j]
                K[i, j] = linear * k + quadratic * (1 + k) ** 2 / 4 + cubic * (1 + k) ** 3 / 8
                K[i, j] += gaussian * np.exp(2 * k - last[i, i] - last[j, j])
    return K


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


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_span_estimate_is_that_of_the_definition(layers):
    outer = OUTER[: layers - 1]
    K = combined(INNER, outer)
    beta = solve_dual(K, hinge(SIGN, 2.0), tol=1e-8).x
    value, *_ = span_estimate(bank(), (hinge(SIGN, 2.0),), INNER, outer, [beta])
    assert_allclose(value, naive_span(K, abs(beta)), rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_slopes_are_differences(intercept):
    tasks = tuple(hinge(s, 2.0, fit_intercept=intercept) for s in (SIGN, -np.sign(X[:, 0])))
    betas = [solve_dual(combined(INNER, OUTER), task, tol=1e-8).x for task in tasks]
    _, *slopes = span_estimate(bank(), tasks, INNER, OUTER, betas)
    h = 1e-6
    for layer, slope in enumerate(slopes):
        for m in np.ndindex(slope.shape):
            ends = []
            for sign in (h, -h):
                weights = [INNER.copy(), OUTER.copy()]
                weights[layer][m] += sign
                ends.append(span_estimate(bank(), tasks, *weights, betas)[0])
            assert_allclose((ends[0] - ends[1]) / (2 * h), slope[m], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_estimate_falls_and_weights_stay_on_the_simplex(layers):
    tasks = (hinge(SIGN, 2.0),)
    inner, outer, machines, values = descend(bank(), tasks, layers, tol=1e-6, max_iter=50)
    assert len(values) > 1 and np.all(np.diff(values) < 0.0)
    assert outer.shape == (layers - 1, 4)
    for weights in (inner, *outer):
        assert np.all(weights >= 0.0)
        assert_allclose(weights.sum(), 1.0, rtol=1e-12)
    final = naive_span(combined(inner, outer), abs(machines[0].x))
    assert_allclose(final, values[-1], rtol=1e-6)


def test_outer_kernels_are_positive_semidefinite():
    d = np.diag(MATRICES[3])
    parts = outer_kernels(MATRICES[3], d[:, None] + d)
    assert all(np.linalg.eigvalsh(K)[0] > -1e-10 for K in parts)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_kernel_is_one_of_layers_normalised_one_by_one(layers):
    entries = [{"kernel": "rbf", "gamma": 0.7}, {"kernel": "poly", "degree": (2, 3), "coef0": 1.0}]
    bank = [*entries, {"kernel": "linear"}]
    model = MKLClassifier(kernels=bank, combination="deep", n_layers=layers).fit(X, Y)
    points = np.vstack([X[:5], np.zeros(2), 3.0 * X[20:23]])
    scale = 1.0 / (2.0 * X.var())

    def normalised(K):
        d = np.diag(K)
        return K / np.where(np.outer(d, d) > 0.0, np.sqrt(np.outer(d, d)), 1.0)

    P = points @ points.T
    first = [np.exp(-0.7 * ((points[:, None] - points) ** 2).sum(axis=2)), (1 + scale * P) ** 2]
    first += [(1 + scale * P) ** 3, P]
    K = sum(w * normalised(k) for w, k in zip(model.weights_, first, strict=True))
    for weights in model.kernel_.outer:
        d = np.diag(K)
        layer = [K, np.exp(2 * K - d[:, None] - d), (1 + K) ** 2 / 4, (1 + K) ** 3 / 8]
        rest = [i for i in range(9) if i != 5]  # without the point of norm 0
        for part in layer:
            part = part[np.ix_(rest, rest)]
            assert_allclose(part, normalised(part), atol=1e-12)
        K = sum(w * part for w, part in zip(weights, layer, strict=True))
    assert model.kernel_.outer.shape == (layers - 1, 4)
    assert_allclose(model.kernel_(points), K, atol=1e-12)
    assert_allclose(model.kernel_(points, points[:3]), K[:, :3], atol=1e-12)


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
        assert_allclose(kernel.outer.sum(axis=1), 1.0)


def test_given_matrices_are_refused():
    model = MKLClassifier(kernels="precomputed", combination="deep")
    with pytest.raises(ValueError, match="expected kernels on points for combination='deep'"):
        model.fit(np.stack(MATRICES, axis=-1), Y)


def test_values_whose_squares_overflow_are_named():
    model = MKLClassifier(kernels=["linear", "rbf"], combination="deep", normalize=False)
    for unit in (1e60, 1e150):
        with pytest.raises(ValueError, match=r"expected kernel values up to 1e\+50 .* scale the"):
            model.fit(unit * X, Y)
    model.set_params(normalize=True)
    expected = model.fit(X, Y).decision_function(X)
    assert_allclose(model.fit(1e60 * X, Y).decision_function(1e60 * X), expected, rtol=1e-6)
