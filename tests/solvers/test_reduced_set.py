"""Reduced sets: the points of a naive search, and a bound that rounding cannot break."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelfit.kernels.gram import DenseGram, RowGram
from kernelfit.kernels.radial import RBF
from kernelfit.kernels.standard import Linear
from kernelfit.solvers.reduced_set import reduce_support
from tests.reference import reduced_set as naive


def functions(n=14, n_functions=2, seed=0, gamma=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, RBF(gamma)(X), rng.normal(size=(n_functions, n))


@pytest.mark.parametrize("n_functions", [1, 3])
@pytest.mark.parametrize("n_points", [1, 2, 5])
def test_points_and_coefficients_are_those_of_a_naive_search(n_functions, n_points):
    _, K, coef = functions(n_functions=n_functions)
    found = reduce_support(DenseGram(K), coef, 0.0, n_points)
    np.testing.assert_array_equal(found.chosen, np.sort(naive.pursue(K, coef, n_points)))
    for a, b, distance in zip(coef, found.coef, found.distances, strict=True):
        expected = naive.project(K, a, found.chosen)
        np.testing.assert_allclose(b, expected, rtol=1e-8, atol=1e-10)
        left = np.sqrt(naive.squared_distance(K, a, expected, found.chosen))
        assert left <= distance <= left + 1e-6


def test_as_few_points_as_the_naive_search_needs():
    _, K, coef = functions(n=20, n_functions=1)
    order = naive.pursue(K, coef, 12)
    left = [
        np.sqrt(naive.squared_distance(K, coef[0], naive.project(K, coef[0], part), part))
        for part in (order[:m] for m in range(1, 13))
    ]
    wanted = 0.1
    found = reduce_support(DenseGram(K), coef, wanted, 20)
    assert len(found.chosen) == 1 + int(np.argmax(np.array(left) <= wanted))
    assert found.distances[0] <= wanted


def test_functions_that_are_close_no_longer_count():
    coef = np.array([[1.0, 0.28, 0.27, 0.0], [0.0, 0.0, 0.0, 0.29]])
    found = reduce_support(DenseGram(np.eye(4)), coef, 0.3, 4)
    np.testing.assert_array_equal(found.chosen, [0, 1])
    np.testing.assert_allclose(found.distances, [0.27, 0.29], rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 25),
    gamma=st.floats(1e-3, 1e2),
    wanted=st.floats(1e-4, 10.0),
    scale=st.floats(1e-3, 1e4),
    seed=st.integers(0, 2**16),
)
def test_no_value_changes_by_more_than_the_bound(n, gamma, wanted, scale, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 2)), 1)  # some are equal
    coef = scale * rng.normal(size=(2, n))
    kernel = RBF(gamma)
    found = reduce_support(DenseGram(kernel(X)), coef, wanted, n)
    assert (found.distances <= wanted).all()
    new = np.concatenate([X, rng.normal(size=(200, 2))])
    before, after = coef @ kernel(X, new), found.coef @ kernel(X[found.chosen], new)
    rounding = 1e-14 * np.abs(coef).sum(axis=1)  # sums in another order, where nothing changed
    assert (np.abs(before - after).max(axis=1) <= found.distances + rounding).all()


@pytest.mark.parametrize("seed", range(5))
def test_bound_holds_in_exact_arithmetic(seed):
    """With a linear kernel of integers all numbers are fractions; the rest is rounding."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, size=(30, 4))
    coef = 1e6 * rng.normal(size=(3, 30))
    found = reduce_support(DenseGram(Linear()(X)), coef, 0.0, 8)
    assert len(found.chosen) <= 4  # the dimension of the space
    K = [[Fraction(int(value)) for value in row] for row in X @ X.T]
    for a, b, distance in zip(coef, found.coef, found.distances, strict=True):
        difference = [Fraction(value) for value in a]
        for i, value in zip(found.chosen, b, strict=True):
            difference[i] -= Fraction(value)
        products = [sum(k * d for k, d in zip(row, difference, strict=True)) for row in K]
        square = sum(d * f for d, f in zip(difference, products, strict=True))
        assert square <= Fraction(distance) ** 2
        assert distance <= 1e-5 * np.abs(a).sum()


def test_equal_points_are_one():
    X, _, coef = functions(n=10)
    twice = RBF(0.5)(np.concatenate([X, X]))
    found = reduce_support(DenseGram(twice), np.tile(coef, 2), 1e-4, 20)
    assert len(found.chosen) <= 10
    assert len(np.unique(found.chosen % 10)) == len(found.chosen)
    assert (found.distances <= 1e-4).all()


def test_a_distance_below_rounding_keeps_everything_as_it_is():
    _, K, coef = functions()
    coef[:, 3] = 0.0
    found = reduce_support(DenseGram(K), coef, 1e-12, 14)
    np.testing.assert_array_equal(found.chosen, np.delete(np.arange(14), 3))
    np.testing.assert_array_equal(found.coef, np.delete(coef, 3, axis=1))
    np.testing.assert_array_equal(found.distances, 0.0)


def test_nothing_is_kept_of_nothing():
    _, K, coef = functions()
    found = reduce_support(DenseGram(K), 0.0 * coef, 0.0, 14)
    assert found.coef.shape == (2, 0)
    np.testing.assert_array_equal(found.distances, 0.0)


def test_one_point():
    found = reduce_support(DenseGram(np.array([[4.0]])), np.array([[3.0]]), 5.0, 1)
    np.testing.assert_array_equal(found.coef, [[3.0]])
    assert found.distances[0] <= 1e-6
    assert len(reduce_support(DenseGram(np.array([[4.0]])), np.array([[3.0]]), 6.1, 1).chosen) == 0


def test_rows_on_demand_give_the_same():
    X, K, coef = functions(n=200)
    rows = RowGram.from_kernel(RBF(0.5), X, 0.0, np.float64)
    first = reduce_support(DenseGram(K), coef, 0.5, 200)
    second = reduce_support(rows, coef, 0.5, 200)
    np.testing.assert_array_equal(first.chosen, second.chosen)
    np.testing.assert_allclose(first.coef, second.coef, rtol=1e-6)


@pytest.mark.parametrize(
    "K",
    [
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.array([[-1.0, 0.0], [0.0, -1.0]]),
        np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.9], [0.9, 0.9, 1.0]]),
    ],
)
def test_indefinite_matrices_are_refused(K):
    with pytest.raises(ValueError, match="expected a positive semidefinite kernel"):
        reduce_support(DenseGram(K), np.ones((1, len(K))), 1e-3, len(K))
