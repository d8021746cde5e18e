"""What is said of affinities and data that cannot show the clusters."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from kernelfit.clustering.diagnosis import (
    diagnose,
    diagnose_landmarks,
    diagnose_scales,
    lone_points,
    n_pieces,
    with_own_pieces,
)
from kernelfit.clustering.matrices import counted
from kernelfit.kernels.distances import squared_distances


def points(n=30, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


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


def test_entries_that_cancel_are_no_link():
    data, columns, begins = np.array([1.0, -1.0, 1.0, -1.0]), [1, 1, 0, 0], [0, 2, 4]
    assert n_pieces(sparse.csr_array((data, columns, begins), shape=(2, 2))) == 2


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


def test_copies_are_alike():
    """A diagonal matrix of points that are there several times is in pieces, not diagonal."""
    assert "almost diagonal" in diagnose(np.eye(4), 2)
    assert "in 4 pieces" in diagnose(np.eye(4), 2, sizes=np.full(4, 3))


def test_lone_points_become_pieces():
    K = np.kron(np.diag([1.0, 1.0, 0.0]), np.ones((3, 3)))
    K[6, 7] = K[7, 6] = -1.0
    counts = np.ones(9)
    for form in (np.asarray, sparse.csr_array):
        np.testing.assert_array_equal(lone_points(form(K)), np.arange(9) >= 6)
        given = form(K)
        assert with_own_pieces(given, 4, counts) is given  # in five pieces
        found = with_own_pieces(given, 5, counts) @ np.eye(9)
        np.testing.assert_array_equal(found, K + np.diag(np.where(np.arange(9) >= 6, 3.0, 0.0)))
    assert "3 of the 9 points have no similarity" in diagnose(K, 4)
    assert "5 of the 11 points" in diagnose(K, 4, sizes=np.repeat([1, 3, 1], [8, 1, 0]))
    assert "in 5 pieces" in diagnose(K, 1)
    assert diagnose(K, 5) is None
    connected = np.exp(-squared_distances(points()))
    assert with_own_pieces(connected, 3, np.ones(30)) is connected


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_degree_of_a_lone_point_that_counts_several_times(form):
    """Each of its copies has the mean degree of the copies of the others."""
    copies = np.array([2, 1, 3])
    K = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]])
    counts = copies.astype(float)
    found = with_own_pieces(form(counted(K, counts)), 3, counts) @ np.eye(3)
    place = np.repeat(range(3), copies)
    degrees = K[place][:, place].sum(axis=1)
    assert found[2, 2] / counts[2] == pytest.approx(degrees[:3].mean())


def test_advice_ends_the_diagnosis():
    for K in (np.eye(5), np.kron(np.eye(4), np.ones((3, 3)))):
        assert diagnose(K, 2, "do this").endswith("; do this")


def test_diagnosis_of_landmarks():
    X = np.repeat([[0.0], [1.0], [50.0], [51.0], [100.0]], 3, axis=0) + 0.1 * points(15, 1)
    C = np.exp(-squared_distances(X, X[[0, 3, 6, 12]]))
    assert diagnose_landmarks(C, 3) is None
    assert "in 3 pieces" in diagnose_landmarks(C, 2)
    assert "3 of the 15 points are unlike every landmark" in diagnose_landmarks(C[:, :3], 2)


@pytest.mark.parametrize(
    ("load", "told"),
    [
        (load_wine, "one feature makes up 99.8% of the squared distances, so the other 12 hardly"),
        (load_breast_cancer, "2 features make up 99.1% of the squared distances, so the other 28"),
        (load_iris, None),
        (load_digits, None),
    ],
)
def test_features_of_very_different_scale(load, told):
    """Raw units drown the rest; pixels and lengths do not; standardised features never do."""
    X = load().data
    found = diagnose_scales(X, np.ones(len(X)))
    assert found is None if told is None else told in found
    assert diagnose_scales(StandardScaler().fit_transform(X), np.ones(len(X))) is None


def test_share_of_a_feature_in_the_distances():
    """The share is that of the mean squared distance between two points, by its definition."""
    X = points(20, 3) * [30.0, 1.0, 2.0]
    squares = np.array([(X[i] - X[j]) ** 2 for i in range(20) for j in range(20)]).mean(axis=0)
    share = squares[0] / squares.sum()
    assert share > 0.99
    assert f"makes up {share:.1%} of the squared distances" in diagnose_scales(X, np.ones(20))
    assert diagnose_scales(X[:, 1:], np.ones(20)) is None


def test_scales_count_repeated_points():
    X = points(12, 3) * [9.0, 1.0, 1.0]
    counts = np.arange(1.0, 13.0)
    repeated = np.repeat(X, np.arange(1, 13), axis=0)
    for factor in np.geomspace(1.0, 4.0, 9):
        found = diagnose_scales(X * [factor, 1, 1], counts)
        assert found == diagnose_scales(repeated * [factor, 1, 1], np.ones(78))
    assert found is not None


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e150])
def test_constant_features_and_units_do_not_alarm(scale):
    X = make_blobs(50, n_features=3, random_state=0)[0] / 10.0
    X = np.hstack((X, np.full((50, 40), 0.1)))
    assert diagnose_scales(scale * X, np.ones(50)) is None
    assert diagnose_scales(scale * X[:, :1], np.ones(50)) is None
    assert diagnose_scales(np.zeros((5, 3)), np.ones(5)) is None
