"""Folds of a cross-validation."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GroupKFold, KFold

from kernelfit.utils.folds import check_folds, missing_classes, split_folds


def test_numbers_lists_and_masks_are_rows():
    mask = np.arange(6) < 2
    folds = check_folds(iter([([2, 3], (0, 1)), (~mask, mask), ([], [5])]), 6)
    assert_array_equal(folds[0][0], [2, 3])
    assert_array_equal(folds[1][1], [0, 1])
    assert folds[2][0].size == 0
    assert all(part.dtype == np.intp for fold in folds for part in fold)


def test_splitters_and_numbers_give_their_folds():
    X, y = np.zeros((6, 1)), np.arange(6) % 2
    for cv, classifier, groups in ((3, True, None), (KFold(2), False, None), (None, False, None)):
        folds = split_folds(cv, X, y, groups, classifier)
        assert len(folds) == (5 if cv is None else 3 if cv == 3 else 2)
    assert len(split_folds(GroupKFold(2), X, y, [0, 0, 0, 1, 1, 1])) == 2


@pytest.mark.parametrize(
    ("folds", "got"),
    [
        ([(np.arange(5), np.arange(500, 600))], "row 500$"),
        ([([0, 1], [-1])], "row -1$"),
        ([(np.arange(5.0), [5])], "rows of type float64$"),
        ([(["a"], [5])], "rows of type <U1$"),
        ([(1, 2, 3)], r"\(1, 2, 3\)$"),
        ([(1, 2)], "1 as rows$"),
        ([1, 2], "1$"),
        ([([0, 1], [[2, 3]])], r"\[\[2, 3\]\] as rows$"),
        ([([0, [1, 2]], [3])], r"\[0, \[1, 2\]\]$"),
        ([(np.ones(5, dtype=bool), [1])], "a mask of 5 rows$"),
    ],
)
def test_other_things_are_refused_in_one_sentence(folds, got):
    expected = "^expected cv to give pairs of training and test rows between 0 and 59, got " + got
    with pytest.raises(ValueError, match=expected):
        check_folds(folds, 60)


def test_no_fold_is_refused():
    with pytest.raises(ValueError, match="at least one fold"):
        check_folds([], 5)


def test_classes_missing_from_a_training_part_are_named():
    y = np.array(["a", "a", "b", "b", "c", "c"])
    rows = np.arange(6)
    whole = (rows[::2], rows[1::2])
    assert missing_classes(y, [whole, (rows[:4:2], rows[1:4:2])]) == ""  # c is not tested either
    lacking = (rows[:4], rows[4:])
    found = missing_classes(y, [whole, lacking, lacking])
    assert found.startswith(
        "class c is missing from the training part of fold 2 (other folds that lack"
    )
    with pytest.raises(ValueError, match=r"part of fold 2: expected at least two classes, .*: a$"):
        missing_classes(y, [whole, (rows[:2], rows[2:])])
