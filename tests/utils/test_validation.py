import datetime

import numpy as np
import pytest

from kernelfit.utils.validation import (
    check_kernel_matrix,
    check_labels,
    check_targets,
    check_weights,
)


def symmetric(n, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 4))
    K = X @ X.T
    return (K + K.T) / 2


@pytest.mark.parametrize("n", [1, 2, 5, 64, 131])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_accepts_symmetric_matrices(n, dtype):
    check_kernel_matrix(symmetric(n).astype(dtype), "K")


def test_accepts_rounding_and_zero_matrices():
    K = symmetric(50)
    K[3, 7] *= 1 + 1e-12
    check_kernel_matrix(K, "K")
    check_kernel_matrix(np.zeros((4, 4)), "K")
    hollow = np.abs(symmetric(40))
    np.fill_diagonal(hollow, 0.0)  # no diagonal to compare with
    check_kernel_matrix(hollow, "K")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("i", "j"), [(0, 1), (3, 60), (66, 66), (1, 66)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_names_the_entry_that_is_not_finite(dtype, i, j, value):
    K = symmetric(67).astype(dtype)
    K[j, i] = value
    with pytest.raises(ValueError, match=rf"expected K to be finite, got {value} at \({j}, {i}\)"):
        check_kernel_matrix(K, "K")


@pytest.mark.parametrize(("i", "j"), [(0, 1), (3, 60), (1, 66)])
@pytest.mark.parametrize("size", [1e-6, 1e-2, 1e6])
def test_names_the_pair_that_is_not_symmetric(i, j, size):
    K = symmetric(67)
    K[i, j] += size * np.abs(K.diagonal()).max()
    with pytest.raises(
        ValueError, match=rf"symmetric, got .* at \({i}, {j}\) and .* at \({j}, {i}\)"
    ):
        check_kernel_matrix(K, "K")


def test_names_the_first_of_many_pairs():
    K = np.random.default_rng(0).uniform(size=(30, 30))
    with pytest.raises(ValueError, match=r"at \(0, 1\) and .* at \(1, 0\)"):
        check_kernel_matrix(K, "K")


def test_weights_default_to_ones_and_are_copied():
    np.testing.assert_array_equal(check_weights(None, 3), np.ones(3))
    given = np.array([1.0, 0.0, 2.0])
    assert not np.shares_memory(check_weights(given, 3), given)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], "expected sample_weight >= 0, got -1.0"),
        ([1.0, 1.0, 1.0], r"expected sample_weight of shape \(2,\), got \(3,\)"),
        ([[1.0, 1.0]], r"expected sample_weight of shape \(2,\), got \(1, 2\)"),
        ([0.0, 0.0], "got only zero weights"),
        ([np.nan, 1.0], "sample_weight contains NaN"),
        ([np.inf, 1.0], "sample_weight contains infinity"),
        ("balanced", "expected sample_weight to be 2 numbers or None, got 'balanced'"),
        (2.0, "expected sample_weight to be 2 numbers or None, got 2.0"),
        (["a", "b"], r"expected sample_weight to be 2 numbers or None, got \['a', 'b'\]"),
        ([[1.0], [1.0, 2.0]], "expected sample_weight to be 2 numbers or None"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weight, 2)


def test_targets_become_numbers():
    targets = check_targets(np.array(["1.5", "-2"]))
    assert targets.dtype == np.float64 and targets.tolist() == [1.5, -2.0]
    with pytest.raises(ValueError, match=r"expected targets that are numbers: .* 'a'"):
        check_targets(np.array(["a", "b"]))
    with pytest.raises(ValueError, match="finite numbers, got nan, infinity or None"):
        check_targets(np.array([1.0, None], dtype=object))


@pytest.mark.parametrize(
    "y",
    [
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[ns]"),
        np.array([1, 2], dtype="timedelta64[D]"),
        np.array([datetime.date(2020, 1, 1), None], dtype=object),
    ],
)
def test_dates_are_no_targets(y):
    with pytest.raises(ValueError, match=r"^expected targets that are numbers, got dates or dur"):
        check_targets(y)


def test_labels_have_one_type():
    for y in (np.array(["a", np.str_("b")], dtype=object), np.array([1, 2]), np.array([True])):
        assert check_labels(y) is y
    for labels in ([1, "a", 2.0], ["a", 1, "b"]):
        with pytest.raises(ValueError, match="expected class labels of one type, got int and str"):
            check_labels(np.array(labels, dtype=object))
    with pytest.raises(ValueError, match="expected a class label for every row, got None"):
        check_labels(np.array(["a", None], dtype=object))
