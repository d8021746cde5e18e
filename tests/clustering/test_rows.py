"""Equal rows and their marks, against loops over the rows."""

import numpy as np
import pytest
from scipy import sparse

from kernelfit.clustering.rows import KnownRows, distinct_affinities, row_marks
from kernelfit.utils.distinct import distinct_points


def data(seed=0, n=60, d=3):
    return np.random.default_rng(seed).integers(-2, 2, (n, d)) / 2.0


def test_distinct_points_ascend():
    X = data()
    X[0] = -0.0
    X[1] = 0.0
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    weight[:2] = 1.0
    rows = distinct_points(X, weight)
    kept = [tuple(row) for row, w in zip(X, weight, strict=True) if w > 0]
    assert [tuple(row) for row in X[rows.first]] == sorted(set(kept))
    for i, (row, w) in enumerate(zip(X, weight, strict=True)):
        if w == 0:
            assert rows.place[i] == -1
        else:
            np.testing.assert_array_equal(X[rows.first[rows.place[i]]], row)
    expected = [sum(weight[rows.place == k]) for k in range(len(rows.first))]
    np.testing.assert_array_equal(rows.counts, expected)
    np.testing.assert_array_equal(
        rows.sizes, [sum(rows.place == k) for k in range(len(rows.first))]
    )


@pytest.mark.parametrize("scale", [1e-310, 1.0, 1e300])
def test_order_is_that_of_the_numbers(scale):
    X = scale * np.random.default_rng(2).standard_normal((50, 2))
    X[:10, 0] = 0.0
    order = np.lexsort((X[:, 1], X[:, 0]))
    np.testing.assert_array_equal(distinct_points(X, np.ones(50)).first, order)


def test_order_of_the_rows_does_not_matter():
    X = data()
    order = np.random.default_rng(3).permutation(len(X))
    given, shuffled = distinct_points(X, np.ones(60)), distinct_points(X[order], np.ones(60))
    np.testing.assert_array_equal(X[given.first], X[order][shuffled.first])
    np.testing.assert_array_equal(given.counts, shuffled.counts)
    np.testing.assert_array_equal(given.place[order], shuffled.place)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_distinct_affinities_keep_their_order(form):
    place = np.array([2, 0, 1, 0, 2, 3])
    K = np.array([[1.0, 0, 0.5, 0], [0, 2, 0, 0], [0.5, 0, 1, 0], [0, 0, 0, 0]])[place][:, place]
    weight = np.array([1.0, 0.5, 2, 1.5, 3, 0])
    rows = distinct_affinities(form(K), weight, row_marks(form(K)))
    np.testing.assert_array_equal(rows.first, [0, 1, 2])
    np.testing.assert_array_equal(rows.place, [0, 1, 2, 1, 0, -1])
    np.testing.assert_array_equal(rows.counts, [4.0, 2.0, 2.0])


def test_marks_tell_rows_apart():
    """Rows that differ in one entry, in its place alone, or by the order of entries."""
    X = np.zeros((200, 64))
    X[np.arange(64), np.arange(64)] = 1.0
    X[np.arange(64, 128), np.arange(64)] = 1.0 + 2.0**-52
    X[128:192] = np.random.default_rng(0).permuted(np.tile(np.arange(64.0), (64, 1)), axis=1)
    X[192:, 0] = [-1.0, 0.5, 2.0, 1e-310, -1e-310, 1e300, -1e300, 3.0]
    assert len(np.unique(row_marks(X), axis=0)) == 200


def test_marks_of_sparse_dense_and_signed_zeros_agree():
    X = data(4)
    sparse_marks = row_marks(sparse.csr_array(X))
    np.testing.assert_array_equal(row_marks(X), sparse_marks)
    np.testing.assert_array_equal(row_marks(np.where(X == 0, -0.0, X)), sparse_marks)
    stored = sparse.csr_array(np.ones_like(X))
    stored.data = X.ravel().copy()  # zeros among them
    np.testing.assert_array_equal(row_marks(stored), sparse_marks)


def test_known_rows():
    X = np.unique(data(5, 300, 4), axis=0)
    order = np.random.default_rng(6).permutation(len(X))
    known = KnownRows(row_marks(X[order[:100]]))
    np.testing.assert_array_equal(known.find(X[order[:100]]), range(100))
    np.testing.assert_array_equal(known.find(X[order[100:]]), -1)
