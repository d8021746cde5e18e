"""The affinities of published clusterings against their definitions."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelfit import CDSClustering, CDSKClustering
from kernelfit.clustering.lasso import lasso_representation
from kernelfit.clustering.smooth_representation import (
    lasso_codes,
    represent_smoothly,
    smooth_representation,
)
from kernelfit.clustering.sparse_manifold import affine_lasso, manifold_weights

NAMES = [
    *("density", "sparse_manifold", "smooth_representation", "random_forest", "ratio_forest"),
    *("adaptive_widths", "sparse_subspace"),
]


def spectral(affinity, **options):
    return CDSKClustering(2, affinity=affinity, max_iter=0, random_state=0, **options)


@pytest.fixture(scope="module")
def rays():
    """Two bundles of directions: clusters by distance, by subspace and by the tests of trees."""
    rng = np.random.default_rng(0)
    X = np.array([[3.0, 0.4, 0.0], [0.0, 0.5, 3.0]])[np.repeat((0, 1), 60)]
    return X + 0.15 * rng.standard_normal(X.shape), np.repeat((0, 1), 60)


@pytest.mark.parametrize("name", NAMES)
def test_clusters_of_training_and_new_points(name, rays):
    X, y = rays
    model = spectral(name).fit(X[::2])
    assert adjusted_rand_score(y[::2], model.labels_) == 1.0
    assert adjusted_rand_score(y[1::2], model.predict(X[1::2])) == 1.0
    K = model.affinity_matrix_
    K = K if isinstance(K, np.ndarray) else K.toarray()
    np.testing.assert_array_equal(K, K.T)
    assert K.min() >= 0.0


@pytest.mark.parametrize("name", NAMES)
def test_few_points(name):
    model = CDSKClustering(1, affinity=name, max_iter=0).fit([[1.0, 2.0]])
    assert model.labels_.tolist() == [0]
    assert CDSKClustering(2, affinity=name).fit([[1.0, 2.0], [-4.0, 0.5]]).labels_.shape == (2,)


@pytest.mark.parametrize("estimator", [CDSKClustering, CDSClustering])
@pytest.mark.parametrize("name", NAMES)
def test_new_points_of_one_different_point(name, estimator):
    model = estimator(1, affinity=name, random_state=0).fit(np.ones((8, 3)))
    new = np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 0.0]])
    assert np.isfinite(model.transform(new)).all()
    assert not model.predict(new).any()


def test_density_affinity_by_its_definition():
    """Also for a point that counts three times, and the rows of new points up to a factor."""
    X = np.random.default_rng(0).standard_normal((12, 3))
    weight = np.ones(12)
    weight[4] = 3.0

    def gauss(x, y, h):
        return np.exp(-((x - y) ** 2).sum() / (2.0 * h**2))

    h = 0.8
    density = [sum(w * gauss(x, y, h) for y, w in zip(X, weight, strict=True)) for x in X]
    W = np.array([[gauss(x, y, np.sqrt(2.0) * h) for y in X] for x in X])
    W /= np.sqrt(np.outer(density, density))
    model = spectral("density", gamma=1.0 / (2.0 * h**2)).fit(X, None, weight)
    found = model.affinity_matrix_
    np.testing.assert_allclose(found / found[0, 0], W / W[0, 0], rtol=1e-12)
    assert model.gamma_ == 1.0 / (2.0 * h**2)
    new = X[:5] + 0.3
    rows = np.array([[gauss(x, y, np.sqrt(2.0) * h) for y in X] for x in new]) / np.sqrt(density)
    order = np.lexsort(X.T[::-1])  # the affinity holds the points in ascending order
    for relative in (False, True):
        cross = model._affinity.cross(new, relative)
        ratio = cross / rows[:, order]
        np.testing.assert_allclose(ratio, ratio[:, :1] * np.ones(12), rtol=1e-10)
    own = [sum(w * gauss(x, y, h) for y, w in zip(X, weight, strict=True)) for x in new]
    exact = model._affinity.cross(new) * np.sqrt(np.array(own)[:, None]) / rows[:, order]
    np.testing.assert_allclose(exact, exact[0, 0], rtol=1e-10)


@given(seed=st.integers(0, 10_000), k=st.integers(1, 12), d=st.integers(1, 6))
def test_affine_lasso_is_optimal(seed, k, d):
    """There is a multiplier b of the sum with g_j - b in the subdifferential of the penalty."""
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((k, d))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    penalty = rng.uniform(0.05, 1.0, k)
    c = affine_lasso(V @ V.T, penalty)
    assert c.sum() == pytest.approx(1.0, abs=1e-12)
    g = V @ (V.T @ c)
    low = g - np.where(c > 0, -penalty, penalty)  # b is at least g - penalty where c is 0 ...
    high = g + np.where(c < 0, -penalty, penalty)  # ... and at most g + penalty
    assert low.max() <= high.min() + 1e-5


def test_affine_lasso_against_cvxpy():
    rng = np.random.default_rng(1)
    V = rng.standard_normal((15, 4))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    penalty = rng.uniform(0.05, 0.3, 15)
    c = cp.Variable(15)
    cost = 0.5 * cp.sum_squares(V.T @ c) + penalty @ cp.abs(c)
    best = cp.Problem(cp.Minimize(cost), [cp.sum(c) == 1]).solve(solver="CLARABEL")
    found = affine_lasso(V @ V.T, penalty)
    value = 0.5 * ((V.T @ found) ** 2).sum() + penalty @ np.abs(found)
    assert value == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("sparsity", [0.1, 0.01])
def test_affine_lasso_with_a_small_penalty(sparsity):
    """Many neighbours in few dimensions, where steps of pairs are short."""
    rng = np.random.default_rng(2)
    V = rng.standard_normal((50, 6)) + 1.0
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    penalty = sparsity * rng.uniform(0.5, 1.5, 50) / 50
    c = cp.Variable(50)
    cost = 0.5 * cp.sum_squares(V.T @ c) + penalty @ cp.abs(c)
    best = cp.Problem(cp.Minimize(cost), [cp.sum(c) == 1]).solve(solver="CLARABEL")
    found = affine_lasso(V @ V.T, penalty)
    value = 0.5 * ((V.T @ found) ** 2).sum() + penalty @ np.abs(found)
    assert value == pytest.approx(best, rel=1e-5)


def test_options_of_sparse_manifolds():
    """The largest weights up to the mass, symmetrised by the maximum."""
    X = np.random.default_rng(2).standard_normal((15, 2))
    W = np.zeros((15, 15))
    for i, x in enumerate(X):
        near = np.argsort(((X - x) ** 2).sum(axis=1))[1:7]
        weights = manifold_weights(x, X[near], 0.1)
        order = sorted(range(6), key=lambda j, w=weights: -w[j])
        kept, mass = [], 0.0
        while mass < 0.8 - 1e-9:
            kept.append(order[len(kept)])
            mass += weights[kept[-1]]
        W[i, near[kept]] = weights[kept]
    options = {"sparsity": 0.1, "mass": 0.8, "symmetry": "max"}
    model = spectral("sparse_manifold", n_neighbors=6, affinity_params=options).fit(X)
    np.testing.assert_allclose(model.affinity_matrix_.toarray(), np.maximum(W, W.T), atol=1e-5)
    assert np.sum(W > 0) < 0.9 * 6 * 15
    new = model._affinity.cross(X[:3] + 0.01).toarray()
    assert ((new > 0).sum(axis=1) < 6).any() and (new.sum(axis=1) >= 0.8 - 1e-9).all()


def test_options_of_representations(rays):
    X = np.unique(rays[0], axis=0)
    codes = {
        ("self_representation", "penalty", 0.02): lasso_representation(
            X, X, 0.5, exclude_self=True, penalty=0.02
        ),
        ("self_representation", "ratio", 0.3): lasso_representation(X, X, 0.3, exclude_self=True),
        ("self_representation", "errors", True): lasso_representation(
            X, X, 0.05, exclude_self=True, errors=True
        ),
        ("smooth_representation", "ratio", 0.3): smooth_representation(X, 0.3, 0.1, 2)[0],
        ("smooth_representation", "smoothness", 0.9): smooth_representation(X, 0.05, 0.9, 2)[0],
        ("smooth_representation", "n_rounds", 5): smooth_representation(X, 0.05, 0.1, 5)[0],
    }
    for (name, option, value), C in codes.items():
        model = spectral(name, n_nonzero=None, affinity_params={option: value}).fit(X)
        C = np.abs(C.toarray() if sparse.issparse(C) else C)
        np.testing.assert_allclose(model.affinity_matrix_.toarray(), 0.5 * (C + C.T), atol=1e-12)
        assert (
            abs(
                model.affinity_matrix_ - spectral(name, n_nonzero=None).fit(X).affinity_matrix_
            ).max()
            > 1e-3
        )


def test_options_of_forests(rays):
    X, _ = rays
    few = spectral("ratio_forest", affinity_params={"n_trees": 7}).fit(X)
    assert few._affinity.kernel.forest.n_trees == 7
    by_size = spectral("random_forest", affinity_params={"node_weights": "size"}).fit(X)
    K, equal = by_size.affinity_matrix_, spectral("random_forest").fit(X).affinity_matrix_
    assert np.all(K <= equal + 1e-12) and np.abs(K - equal).max() > 0.05  # ways part low down


@pytest.mark.parametrize(
    ("affinity", "options", "message"),
    [
        ("rbf", {"ratio": 0.1}, "expected affinity_params of no options for affinity='rbf', got"),
        ("random_forest", {"mass": 1}, "expected affinity_params of n_trees, node_weights for aff"),
        ("sparse_manifold", {"mass": 1.1}, r"expected mass in affinity_params between 0\.0 and 1"),
        ("sparse_manifold", {"symmetry": "min"}, "expected symmetry in affinity_params 'mean' or"),
        (
            "smooth_representation",
            {"ratio": 1.0},
            r"expected ratio in affinity_params between 0\.0",
        ),
        ("self_representation", {"errors": True}, "expected n_nonzero=None for options of the las"),
        ("ratio_forest", {"node_weights": "size"}, "expected node_weights in affinity_params 'eq"),
    ],
)
def test_options_are_checked(affinity, options, message, rays):
    with pytest.raises(ValueError, match=message):
        spectral(affinity, affinity_params=options).fit(rays[0])


def test_manifold_weights():
    """Scale-free, of sum one, and all on a neighbour that is the point itself."""
    rng = np.random.default_rng(0)
    x, near = rng.standard_normal(3), rng.standard_normal((8, 3))
    weights = manifold_weights(x, near, 10.0)
    assert weights.sum() == pytest.approx(1.0) and weights.min() >= 0.0
    for scale in (1e-170, 1e150):
        np.testing.assert_allclose(manifold_weights(scale * x, scale * near, 10.0), weights)
    near[2] = x
    np.testing.assert_array_equal(manifold_weights(x, near, 10.0), np.eye(8)[2])


def test_sparse_manifold_graph():
    """The weights of the five nearest points, symmetrised by the mean."""
    X = np.random.default_rng(2).standard_normal((15, 2))
    W = np.zeros((15, 15))
    for i, x in enumerate(X):
        near = np.argsort(((X - x) ** 2).sum(axis=1))[1:6]
        W[i, near] = manifold_weights(x, X[near], 10.0)
    model = spectral("sparse_manifold", n_neighbors=5).fit(X)
    np.testing.assert_allclose(model.affinity_matrix_.toarray(), 0.5 * (W + W.T), atol=1e-5)


def test_two_crossing_lines():
    """Where the nearest neighbour may be on the other line, the plane tells them apart."""
    t = np.linspace(-1.0, 1.0, 40)
    X = np.concatenate((np.column_stack((t, 0.01 * t)), np.column_stack((0.01 * t, t + 0.013))))
    y = np.repeat((0, 1), 40)
    model = spectral("sparse_manifold", n_neighbors=20).fit(X)
    plain = spectral("nearest_neighbors", n_neighbors=20).fit(X)
    assert adjusted_rand_score(y, model.labels_) > adjusted_rand_score(y, plain.labels_) + 0.2


def objective(C, X, thresholds, W, smoothness):
    fit = 0.5 * ((X - C @ X) ** 2).sum() + thresholds @ np.abs(C).sum(axis=1)
    pairs = sum(W[i, j] * ((C[i] - C[j]) ** 2).sum() for i in range(len(C)) for j in range(len(C)))
    return fit + 0.25 * smoothness * pairs


def test_smooth_codes_against_cvxpy():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    thresholds, smoothness = rng.uniform(0.05, 0.2, 9), 0.7
    W = rng.uniform(size=(9, 9)) * (rng.uniform(size=(9, 9)) < 0.4)
    W = W + W.T
    np.fill_diagonal(W, 0.0)
    C = cp.Variable((9, 9))
    L = np.diag(W.sum(axis=1)) - W
    root = np.linalg.cholesky(L + 1e-12 * np.eye(9)).T
    cost = (
        0.5 * cp.sum_squares(X - C @ X)
        + thresholds @ cp.sum(cp.abs(C), axis=1)
        + 0.5 * smoothness * cp.sum_squares(root @ C)
    )
    best = cp.Problem(cp.Minimize(cost), [cp.diag(C) == 0]).solve(solver="CLARABEL")
    gram, start = X @ X.T, np.zeros((9, 9))
    graph = sparse.csr_array(W)
    found = lasso_codes(gram, gram, start, start, graph, thresholds, smoothness, True)
    assert objective(found, X, thresholds, W, smoothness) == pytest.approx(best, abs=1e-5)
    assert not np.diag(found).any()
    assert not start.any()


def test_without_smoothness_the_codes_are_those_of_the_lasso():
    X = np.random.default_rng(3).standard_normal((20, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    thresholds = 0.1 * np.abs(X @ X.T - np.eye(20)).max(axis=1)
    codes = smooth_representation(X, 0.1, 0.0, 2)[0].toarray()
    expected = lasso_representation(X, X, 0.1, exclude_self=True)
    values = [objective(C, X, thresholds, np.zeros((20, 20)), 0.0) for C in (codes, expected)]
    assert values[0] == pytest.approx(values[1], rel=1e-3)


def test_a_new_point_is_coded_like_a_training_point(rays):
    """Its code minimises the objective in which all other codes are kept."""
    X, _ = rays
    codes, scale = smooth_representation(X, 0.05, 0.5, 2)
    new = X[:1] + 0.02
    found = represent_smoothly(new, X, codes, scale, 0.05, 0.5).toarray()[0]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    x = new[0] / np.linalg.norm(new[0])
    w = np.abs(lasso_representation(new, X, 0.05, exclude_self=False))[0] / scale
    threshold = 0.05 * np.abs(unit @ x).max()
    c = cp.Variable(len(X))
    pulls = [w[j] * cp.sum_squares(c - codes.toarray()[j]) for j in np.flatnonzero(w)]
    cost = 0.5 * cp.sum_squares(x - unit.T @ c) + threshold * cp.norm1(c) + 0.25 * sum(pulls)
    best = cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL")
    c.value = found
    assert cost.value == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("name", ["random_forest", "ratio_forest"])
def test_forests_see_ranks_alone(name):
    X, _ = make_blobs(60, centers=3, n_features=4, random_state=0)
    K = spectral(name).fit(X).affinity_matrix_
    for Z in (1e150 * X / np.abs(X).max(), X**3):
        np.testing.assert_array_equal(spectral(name).fit(Z).affinity_matrix_, K)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    assert np.ptp(K) > 0.5
