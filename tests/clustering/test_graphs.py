"""Affinities against their definitions, and what is said of useless ones."""

import numpy as np
import pytest
from scipy import sparse

from kernelfit.clustering.graphs import (
    bandwidth_gamma,
    diagnose,
    diagnose_landmarks,
    diagnose_points,
    local_scales,
    lone_points,
    n_pieces,
    nearest_rows,
    neighbour_graph,
    reconstruction_gamma,
    self_tuning,
    symmetrised,
    with_own_pieces,
)
from kernelfit.clustering.self_representation import lasso_representation, matching_pursuit
from kernelfit.kernels.distances import squared_distances


def points(n=30, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def pairwise(X):
    return [np.linalg.norm(X[i] - X[j]) for i in range(len(X)) for j in range(i)]


def test_bandwidth_rules():
    X = points()
    assert bandwidth_gamma(X, "median") == pytest.approx(1 / (2 * np.median(pairwise(X)) ** 2))
    assert bandwidth_gamma(X, "variance") == pytest.approx(1 / (2 * np.var(pairwise(X)) ** 2))


def test_only_the_median_rule_is_scale_equivariant():
    X = points()
    D = squared_distances(X)
    median = [bandwidth_gamma(s * X, "median") * s**2 * D for s in (1.0, 1e-3)]
    np.testing.assert_allclose(*median, rtol=1e-10)
    assert np.exp(-bandwidth_gamma(1e-3 * X, "variance") * 1e-6 * D).sum() < 1.01 * len(X)


@pytest.mark.parametrize("rule", ["median", "variance"])
def test_bandwidth_of_equal_points(rule):
    assert bandwidth_gamma(np.ones((5, 2)), rule) == 1.0
    assert np.isfinite(bandwidth_gamma(np.array([[0.0], [0.0], [0.0], [1.0]]), rule))


def test_bandwidth_of_many_points_uses_some():
    X = points(500)
    whole, some = bandwidth_gamma(X, "median"), bandwidth_gamma(X, "median", max_rows=200)
    assert some != whole and some == pytest.approx(whole, rel=0.1)


def test_reconstruction_gamma_minimises_the_error():
    X = points(40, 2, 3)

    def error(gamma):
        total = 0.0
        for i in range(len(X)):
            others = np.delete(X, i, axis=0)
            w = np.exp(-gamma * ((others - X[i]) ** 2).sum(axis=1))
            total += np.linalg.norm(X[i] - w @ others / w.sum())
        return total

    best = reconstruction_gamma(X)
    for factor in (0.2, 0.8, 1.25, 5.0):
        assert error(best) <= error(factor * best) + 1e-6


def test_self_tuning():
    X = points(12)
    D = np.sqrt(squared_distances(X))
    nearest = np.sort(D, axis=1)[:, 1:4]
    scales = local_scales(nearest)
    np.testing.assert_array_equal(scales, nearest[:, -1])
    K = self_tuning(D**2, scales, scales)
    assert K[2, 7] == pytest.approx(np.exp(-(D[2, 7] ** 2) / (scales[2] * scales[7])))


def test_local_scales_of_repeated_points_are_positive():
    scales = local_scales(np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 4.0]]))
    assert scales[0] > 0
    np.testing.assert_array_equal(scales[1:], [2.0, 4.0])
    assert local_scales(np.zeros((3, 2))).min() > 0


def test_neighbour_graph():
    graph = neighbour_graph(
        np.array([[1, 2], [0, 2], [1, 0]]), np.array([[1, 2], [3, 4], [5, 6]]), 3
    )
    expected = np.array([[0, 1, 2], [3, 0, 4], [6, 5, 0]])
    np.testing.assert_array_equal(graph.toarray(), expected)
    mean = symmetrised(graph)
    assert sparse.issparse(mean)
    np.testing.assert_array_equal(mean.toarray(), 0.5 * (expected + expected.T))


def test_nearest_rows_take_the_first_of_equal_entries():
    D = np.random.default_rng(0).integers(0, 4, (50, 7)).astype(float)
    expected = np.argsort(D, axis=0, kind="stable")[:9].T
    np.testing.assert_array_equal(nearest_rows(D, 9), expected)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_pieces(make):
    """In any order of the points; a chain is one piece, and so is a point without any link."""
    blocks = np.zeros((9, 9))
    blocks[:4, :4] = np.diag([1.0, 1.0, 1.0], 1) + np.diag([1.0, 1.0, 1.0], -1)
    blocks[4:8, 4:8] = 0.3
    blocks[3, 4] = blocks[4, 3] = -1.0
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(9)
        assert n_pieces(make(blocks[order][:, order])) == 3


def test_links_that_no_eigensolver_sees_are_none():
    blocks = np.kron(np.eye(3), np.ones((4, 4)))
    assert n_pieces(1e-3 * (blocks + 1e-14)) == 3
    assert n_pieces(1e-3 * (blocks + 1e-6)) == 1
    scale = np.repeat([1e-9, 1.0, 1e9], 4)
    assert n_pieces(np.outer(scale, scale) * (blocks + 1e-6)) == 1


def test_diagnosis():
    near_identity = np.eye(5) + 1e-9
    assert "almost diagonal" in diagnose(near_identity, 2)
    pieces = np.kron(np.eye(4), np.ones((3, 3)))
    for K in (pieces, sparse.csr_array(pieces)):
        assert "in 4 pieces" in diagnose(K, 2)
        assert diagnose(K, 4) is None
    assert diagnose(np.exp(-squared_distances(points())), 2) is None
    assert diagnose(np.eye(1), 1) is None
    assert "only 2 of the points" in diagnose(np.kron(np.eye(2), np.ones((4, 4))) + 1, 3)


def test_lone_points_become_pieces():
    K = np.kron(np.diag([1.0, 1.0, 0.0]), np.ones((3, 3)))
    K[6, 7] = K[7, 6] = -1.0
    for form in (np.asarray, sparse.csr_array):
        np.testing.assert_array_equal(lone_points(form(K)), np.arange(9) >= 6)
        given = form(K)
        assert with_own_pieces(given, 4) is given  # in five pieces
        found = with_own_pieces(given, 5) @ np.eye(9)
        np.testing.assert_array_equal(found, K + np.diag(np.where(np.arange(9) >= 6, 3.0, 0.0)))
    assert "3 of the 9 points have no similarity" in diagnose(K, 4)
    assert "in 5 pieces" in diagnose(K, 1)
    assert diagnose(K, 5) is None
    connected = np.exp(-squared_distances(points()))
    assert with_own_pieces(connected, 3) is connected


def test_advice_ends_the_diagnosis():
    for K in (np.eye(5), np.kron(np.eye(4), np.ones((3, 3)))):
        assert diagnose(K, 2, "do this").endswith("; do this")


def test_diagnosis_of_points():
    X = np.repeat([[0.0, 1.0], [-0.0, 1.0], [2.0, 3.0]], 4, axis=0)
    assert "only 2 of the points" in diagnose_points(X, 3)
    assert diagnose_points(X, 2) is None


def test_diagnosis_of_landmarks():
    X = np.repeat([[0.0], [1.0], [50.0], [51.0], [100.0]], 3, axis=0) + 0.1 * points(15, 1)
    C = np.exp(-squared_distances(X, X[[0, 3, 6, 12]]))
    assert diagnose_landmarks(C, 3) is None
    assert "in 3 pieces" in diagnose_landmarks(C, 2)
    assert "3 of the 15 points are unlike every landmark" in diagnose_landmarks(C[:, :3], 2)


def pursuit(x, atoms, k):
    """Orthogonal matching pursuit by its definition, one point, unit vectors."""
    chosen, left = [], x
    for _ in range(k):
        j = max(
            (j for j in range(len(atoms)) if j not in chosen), key=lambda j: abs(atoms[j] @ left)
        )
        chosen.append(j)
        coefs = np.linalg.lstsq(atoms[chosen].T, x, rcond=None)[0]
        left = x - coefs @ atoms[chosen]
    return chosen, coefs


@pytest.mark.parametrize("chunk_bytes", [2**26, 1])
def test_matching_pursuit(chunk_bytes):
    X = points(25, 8, 4)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    indices, coefs = matching_pursuit(X, X, 3, exclude_self=True, chunk_bytes=chunk_bytes)
    for i in range(len(X)):
        others = unit.copy()
        others[i] = 0.0
        chosen, expected = pursuit(unit[i], others, 3)
        np.testing.assert_array_equal(indices[i], chosen)
        np.testing.assert_allclose(coefs[i], expected, atol=1e-9)


def test_matching_pursuit_of_repeated_and_zero_points():
    X = np.array([[1.0, 0, 0], [2.0, 0, 0], [0, 1, 0], [0, 0, 0]])
    indices, coefs = matching_pursuit(X, X, 3, exclude_self=True)
    assert np.isfinite(coefs).all()
    assert indices[0, 0] == 1 and coefs[0, 0] == pytest.approx(1.0)
    np.testing.assert_array_equal(coefs[0, 1:], 0.0)
    np.testing.assert_array_equal(coefs[3], 0.0)
    for row in indices:
        assert len(set(row)) == len(row)


@pytest.mark.parametrize("scale", [1e-160, 1e-200, 1e-305])
def test_small_points_are_represented_as_large_ones(scale):
    X = points(30, 6)
    for found, expected in zip(
        matching_pursuit(scale * X, scale * X, 3, exclude_self=True),
        matching_pursuit(X, X, 3, exclude_self=True),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_points_of_a_subspace_represent_each_other():
    rng = np.random.default_rng(5)
    bases = rng.standard_normal((2, 3, 20))
    X = np.vstack([rng.standard_normal((15, 3)) @ basis for basis in bases])
    indices, coefs = matching_pursuit(X, X, 3, exclude_self=True)
    for i in range(30):
        assert np.all(indices[i][coefs[i] != 0] // 15 == i // 15)


def test_lasso_representation_is_optimal():
    """Subgradients: |a_j'(x - sum of c_k a_k)| <= lambda, with equality where c_j != 0."""
    X = points(20, 6, 6)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    coefs = lasso_representation(X, X, 0.1, exclude_self=True)
    for i in range(len(X)):
        assert coefs[i, i] == 0.0
        others = np.delete(np.arange(len(X)), i)
        limit = 0.1 * np.abs(unit[others] @ unit[i]).max()
        left = unit[others] @ (unit[i] - coefs[i] @ unit)
        active = coefs[i, others] != 0
        assert active.any() and not active.all()
        assert np.abs(left).max() <= limit + 1e-3
        np.testing.assert_allclose(
            left[active], limit * np.sign(coefs[i, others][active]), atol=1e-3
        )
