"""Generalised kernel learning with a user's functions, against sums over nodes and an SDP."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelfit import GPKClassifier, GPKClassifierCV, GPKRegressor, TKLRegressor, load, save
from kernelfit.families.psd.family import PositiveMatrixFamily, UnitScaling
from kernelfit.families.psd.features import FeatureBasis
from kernelfit.inspection import audit
from kernelfit.kernels.nodes import box_nodes, random_nodes
from tests.families.psd.test_conformance import PositiveMatrixConformance
from tests.reference.kernel_learning import bounds

CENTRES, WEIGHTS = box_nodes([0.0, 0.0], [1.0, 1.0], order=4)


def bump(z, x):
    """N(z, x): a bump at z, alone and with each coordinate of x."""
    return np.exp(-30.0 * np.sum((x - z) ** 2)) * np.array([1.0, *x])


class Bumps:
    """The user's code."""

    def __init__(self, nodes=CENTRES, weights=WEIGHTS):
        self.nodes, self.weights = nodes, weights

    def size(self, n_features):
        return 1 + n_features

    def features(self, X):
        distance = ((X[:, None] - self.nodes) ** 2).sum(axis=2)
        bumps = np.sqrt(self.weights) * np.exp(-30.0 * distance)
        return bumps[:, :, None] * np.insert(X, 0, 1.0, axis=1)[:, None]


def table(X):
    """G for every pair of points, a sum over the nodes."""
    G = np.zeros((len(X), len(X), 3, 3))
    for z, weight in zip(CENTRES, WEIGHTS, strict=True):
        N = np.array([bump(z, x) for x in X])
        G += weight * np.einsum("ia,jb->ijab", N, N)
    return G


class TestBumps(PositiveMatrixConformance):
    @staticmethod
    def basis(n):
        return FeatureBasis(n, Bumps())

    @staticmethod
    def products(family):
        return table(family.X)


class TestBumpsOfTwoTasks(TestBumps):
    n_tasks = 2


def test_responses_are_the_sums_of_the_definition():
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(12, 2))
    family = PositiveMatrixFamily(FeatureBasis(2, Bumps()), X, 1.7)
    beta, weight = rng.standard_normal((2, 12))
    W = 1.7 * np.einsum("j,ijab->iab", beta, table(X))
    W = 0.5 * (W + W.transpose(0, 2, 1))
    response = family.respond_to(beta)
    form = response.form(weight).restrict(np.eye(3))
    assert_allclose(form, np.einsum("i,iab->ab", weight, W), rtol=0, atol=1e-13 * abs(W).max())
    left, right = rng.standard_normal((3, 2)), rng.standard_normal((3, 4))
    expected = np.einsum("iab,ak,bl->ikl", W, left, right)
    assert_allclose(response.contract(left, right), expected, rtol=0, atol=1e-12)
    for U, P in ((left, left @ left.T), (1.5, 2.25 * np.eye(3))):
        expected = np.einsum("iab,ab->i", W, P)
        assert_allclose(response.decision(U), expected, rtol=0, atol=1e-12)


def data(m=30):
    X = np.random.default_rng(0).uniform(size=(m, 2))
    return X, np.sin(6.0 * X[:, 0]) + abs(X[:, 1] - 0.5) * 3.0


def largest_dual_value(X, y, C, epsilon):
    """Return the largest kappa(b) - 3/2 lambda_max(T'T), T_j = sum_i b_i N(z_j, x_i), as an SDP."""
    values = np.array([[bump(z, x) for z in CENTRES] for x in X]) * np.sqrt(WEIGHTS)[:, None]
    b, top = cp.Variable(len(X)), cp.Variable()
    T = cp.hstack([cp.reshape(values[:, :, a].T @ b, (16, 1), order="C") for a in range(3)])
    bound = cp.bmat([[top * np.eye(3), T.T], [T, np.eye(16)]])
    value = y @ b - epsilon * cp.norm1(b) - 1.5 * top
    constraints = [bound >> 0, cp.abs(b) <= C, cp.sum(b) == 0]
    return float(cp.Problem(cp.Maximize(value), constraints).solve(solver=cp.CLARABEL))


def test_optimum_is_that_of_the_semidefinite_programme():
    X, y = data()
    model = GPKRegressor(5.0, epsilon=0.1, feature_map=Bumps(), normalize=False, tol=1e-7)
    model.fit(X, y)
    G = table(UnitScaling.fit(X)(X))
    problem = y, np.full(30, -5.0), np.full(30, 5.0), 0.1
    optimum = largest_dual_value(UnitScaling.fit(X)(X), y, 5.0, 0.1)
    assert_allclose(model.objective_, optimum, rtol=1e-5)
    beta, witness = np.zeros((2, 30))
    beta[model.support_], witness[model.support_] = model.dual_coef_[0], model.witness_coef_[0]
    low, high = bounds(G, *problem, beta, model.P_, witness)
    assert_allclose([low, high], [model.objective_, model.objective_ + model.dual_gap_], rtol=1e-8)
    # Not the plain kernel of P = n I, which would be optimal for a feature map.
    assert high < 0.99 * bounds(G, *problem, beta, np.eye(3), witness)[1]


def test_a_tessellated_kernel_by_nodes_is_that_of_tkl():
    """Of degree 0 in one dimension; the sum over many equal steps is near the integral."""
    edges = np.linspace(-0.5, 1.5, 4001)
    z = 0.5 * (edges[1:] + edges[:-1])

    class Steps:
        def size(self, n_features):
            return 2

        def features(self, X):
            return np.sqrt(2.0 / len(z)) * np.stack([z >= X, z < X], axis=-1)

    X = np.random.default_rng(1).uniform(size=(40, 1))
    y = np.where(X[:, 0] > 0.4, 1.0, 0.0) + X[:, 0]
    mine = GPKRegressor(10.0, feature_map=Steps(), tol=1e-6).fit(X, y)
    tkl = TKLRegressor(10.0, degree=0, tol=1e-6).fit(X, y)
    assert_allclose(mine.objective_, tkl.objective_, rtol=1e-3)
    assert_allclose(mine.predict(X), tkl.predict(X), atol=0.01)
    assert_allclose(mine.P_, tkl.P_, atol=0.01)


def test_search_certificate_and_file(tmp_path):
    X, y = data(80)
    sign = y > np.median(y)
    search = GPKClassifierCV(feature_map=Bumps(), Cs=[1.0, 100.0], cv=3).fit(X, sign)
    assert search.best_estimator_.converged_ and search.best_score_ > 0.8
    model = GPKClassifier(10.0, feature_map=Bumps()).fit(X, sign)
    assert audit(model, X, sign).confirmed
    path = save(model, tmp_path / "model", classes=[Bumps])
    again = load(path, classes=[Bumps])
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="an object of your class Bumps: name it in classes"):
        load(path)
    with pytest.raises(ValueError, match="expected parts of kernelfit's own"):
        save(model, tmp_path / "model")


def test_nodes_integrate():
    low, high = [-1.0, 0.0, 2.0], [1.0, 3.0, 2.5]
    exact = 2.0 / 3.0 * 9.0 * (2.5**4 - 2.0**4) / 4.0  # of z_1^2 z_2^2 z_3^3
    for (z, weights), tol in (
        (box_nodes(low, high, 2), 1e-12),
        (random_nodes(low, high, 10**5), 0.02),
    ):
        assert_allclose(weights @ (z[:, 0] ** 2 * z[:, 1] ** 2 * z[:, 2] ** 3), exact, rtol=tol)
        assert np.all((z >= low) & (z <= high))
    assert_array_equal(random_nodes(low, high, 5, seed=3)[0], random_nodes(low, high, 5, seed=3)[0])
