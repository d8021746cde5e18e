"""Views: scales, ranks, categories and missing values, from training rows alone."""

import numpy as np
import pytest
from scipy.special import ndtri

from kernelfit.tables.roles import CIRCLE, TEXT
from kernelfit.tables.views import learn_view

NUMBER, CATEGORY = np.array([0]), np.array([1])


def column(*values):
    return np.array(values, dtype=float)[:, None]


def view_of(X, roles=NUMBER, shape="standard", weight=None):
    return learn_view(X, roles, np.ones(len(X)) if weight is None else weight, shape)


def test_standard_view():
    X = np.random.default_rng(0).normal(3.0, 5.0, (50, 3))
    Z = view_of(X, np.zeros(3, int))(X)
    np.testing.assert_allclose(Z, (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-12)


def test_ranks_are_gaussian_scores_and_ignore_the_unit():
    X = column(1.0, 2.0, 4.0, 1000.0)
    Z = view_of(X, shape="ranks")(X)
    score = ndtri([0.125, 0.375, 0.625, 0.875])
    np.testing.assert_allclose(Z[:, 0], score / score.std(), atol=1e-12)
    np.testing.assert_allclose(view_of(np.exp(X / 1e3), shape="ranks")(np.exp(X / 1e3)), Z)
    far = view_of(X, shape="ranks")(column(-1e9, 1e9))
    np.testing.assert_allclose(far[:, 0], Z[[0, 3], 0])  # beyond the training values


@pytest.mark.parametrize("shape", ["standard", "ranks", "given"])
def test_a_weight_is_a_repeated_row(shape):
    rng = np.random.default_rng(1)
    X, count = rng.normal(size=(20, 2)), rng.integers(1, 4, 20)
    X[3, 0] = np.nan
    mask = np.zeros(2, int)
    weighted = view_of(X, mask, shape, count.astype(float))
    repeated = view_of(np.repeat(X, count, axis=0), mask, shape)
    np.testing.assert_allclose(weighted(X), repeated(X), atol=1e-12)


def test_missing_numbers_are_the_mean_and_marked():
    X = column(1.0, 3.0, np.nan)
    np.testing.assert_allclose(view_of(X)(X), [[-1, 0], [1, 0], [0, np.sqrt(2)]])
    # Missing for the first time: the mean, and no mark.
    np.testing.assert_allclose(view_of(X[:2])(X), [[-1], [1], [0]])


@pytest.mark.parametrize("shape", ["standard", "given"])
def test_columns_of_rounding_are_left_out_beside_others(shape):
    mask = np.zeros(2, int)
    noise, steps = 1.0 + 1e-15 * np.arange(6.0), np.array([0.0, 3.0, 5.0, 40.0, 41.0, 45.0])
    X = np.column_stack([noise, steps])
    np.testing.assert_array_equal(view_of(X, mask, shape).sources, [1])
    far = 1e15 + 0.125 * steps[:, None]
    Z, plain = view_of(far, shape=shape)(far), view_of(0.125 * steps[:, None])(far - 1e15)
    np.testing.assert_allclose(Z if shape == "standard" else view_of(Z)(Z), plain, atol=0.05)
    np.testing.assert_array_equal(view_of(np.hstack([far, X]), np.zeros(3, int)).sources, [2])
    last = 1.0 + np.finfo(float).eps * np.array([[0.0], [1.0], [2.0], [0.0]])
    np.testing.assert_array_equal(view_of(last, shape=shape)(last), 0.0)


def test_numbers_as_given_stay_and_missing_ones_are_the_mean():
    X = np.array([[1.0, 7.0], [3.0, 7.0], [8.0, 7.0]])  # a constant column is left out
    view = view_of(X, np.zeros(2, int), "given")
    np.testing.assert_array_equal(view(X), X[:, :1])
    np.testing.assert_array_equal(view(np.array([[np.nan, 1.0]])), [[4.0]])


def test_categories_are_at_squared_distance_two():
    X = column(0, 1, 2, 0)
    Z = view_of(X, CATEGORY)(X)
    D = ((Z[:, None] - Z) ** 2).sum(axis=2)
    np.testing.assert_allclose(D, 2.0 * (X != X.T))


def test_new_and_missing_categories():
    seen = column(0, 1, 0)
    new = column(-1, np.nan, 1)
    np.testing.assert_allclose(view_of(seen, CATEGORY)(new), [[0, 0], [0, 0], [0, 1]])
    with_missing = column(0, 1, np.nan)
    Z = view_of(with_missing, CATEGORY)(new)
    np.testing.assert_allclose(Z, [[0, 0, 1], [0, 0, 1], [0, 1, 0]])


def test_rare_categories_share_a_column():
    X = column(*range(100), *range(10))
    view = view_of(X, CATEGORY)
    Z = view(X)
    assert Z.shape[1] == 31
    np.testing.assert_allclose(Z.sum(axis=1), 1.0)
    assert Z[:10, -1].sum() == 0.0  # the frequent ones have their own


def test_constant_and_repeated_columns_are_left_out():
    x = np.arange(5.0)
    X = np.column_stack([x, np.full(5, 7.0), x, np.full(5, np.nan), x**2])
    view = view_of(X, np.zeros(5, int))
    np.testing.assert_array_equal(view.sources, [0, 4])
    assert view(X).shape == (5, 2)


def test_nothing_that_varies_gives_one_column_of_zeros():
    X = np.ones((4, 2))
    np.testing.assert_array_equal(view_of(X, np.zeros(2, int))(X), np.zeros((4, 1)))


def test_extreme_numbers_do_not_overflow():
    X = column(1e300, -1e300, 1e299)
    Z = view_of(X)(X)
    assert np.isfinite(Z).all()
    np.testing.assert_allclose(Z.std(), 1.0)


def test_places_on_a_circle():
    X = column(0.0, 0.25, 0.5, 1.0, np.nan)
    Z = view_of(X, np.array([CIRCLE]))(X)
    D = ((Z[:4, None, :2] - Z[:4, :2]) ** 2).sum(axis=2)
    np.testing.assert_allclose(D[0], [0, 1, 2, 0], atol=1e-12)  # opposite: as two categories
    np.testing.assert_allclose(Z[4], [0, 0, np.sqrt(2)])


@pytest.mark.parametrize("shape", ["standard", "ranks", "given"])
def test_text_keeps_its_distances_whatever_the_shape(shape):
    X = np.random.default_rng(0).normal(size=(30, 4)) * [4.0, 2.0, 1.0, 0.5]
    roles = np.array([TEXT, TEXT, TEXT + 1, TEXT + 1])
    Z = view_of(X, roles, shape)(X)
    for block in (slice(0, 2), slice(2, 4)):
        assert Z[:, block].var(axis=0).sum() == pytest.approx(2.0)
        ratio = Z[:, block].std(axis=0) / X[:, block].std(axis=0)
        np.testing.assert_allclose(ratio, ratio[0])
