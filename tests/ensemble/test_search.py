"""The search beyond the edge of a grid."""

import numpy as np
import pytest

from kernelfit.ensemble.assemble import assemble, balanced_folds, leave_out
from kernelfit.ensemble.features import Data
from kernelfit.ensemble.members import Recipe
from kernelfit.ensemble.outcome import log_losses


@pytest.fixture
def linear():
    """Rows whose classes lie on either side of a plane: the widest Gaussian is the best."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    labels = (X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=90) > 0).astype(int)
    return Data(X, np.zeros(3, dtype=bool), 2.0 * labels[:, None] - 1.0, labels, np.ones(90))


def search(data, recipe):
    return assemble(data, balanced_folds(data, 3, 0), [recipe], seed=0).found[0]


def test_svms_are_sought_beyond_the_edge_of_their_grid(linear):
    found = search(linear, Recipe("gaussian", widths=(1.0, 4.0), ridges=(1.0, 10.0), loss="hinge"))
    best = found.members[0]
    assert best.width < 1.0
    assert len(found.tried) > 4
    inside = min(log_losses(found.scores[:4], linear.labels, linear.weight))
    assert found.losses[0] < inside


def test_ridge_machines_keep_to_their_grid(linear):
    found = search(linear, Recipe("gaussian", widths=(1.0, 4.0), ridges=(1.0, 10.0)))
    assert len(found.tried) == 4


def test_a_best_member_within_the_grid_is_taken_as_it_is(linear):
    widths, ridges = tuple(4.0 ** np.arange(-8, 3)), tuple(10.0 ** np.arange(-8, 3))
    found = search(linear, Recipe("gaussian", widths=widths, ridges=ridges, loss="hinge"))
    assert len(found.tried) == len(widths) * len(ridges)


def test_folds_without_one_of_them():
    folds = balanced_folds(
        Data(np.empty((12, 1)), np.array([False]), np.arange(12.0)[:, None], None, np.ones(12)),
        3,
        0,
    )
    rows, others = leave_out(folds, 1)
    np.testing.assert_array_equal(rows, folds[1][0])
    assert len(others) == 2
    for (train, test), k in zip(others, (0, 2), strict=True):
        np.testing.assert_array_equal(rows[test], folds[k][1])
        np.testing.assert_array_equal(rows[train], np.setdiff1d(rows, folds[k][1]))
    assert leave_out(folds[:1], 0)[1] == []
    half = np.arange(12) < 6
    two = [
        (np.flatnonzero(half), np.flatnonzero(~half)),
        (np.flatnonzero(~half), np.flatnonzero(half)),
    ]
    assert leave_out(two, 0)[1] == []  # no rows are left to train on
