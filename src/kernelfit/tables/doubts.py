"""What is doubtful about parsed features and targets: columns that tell all, equal rows at odds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_FEWEST_ROWS = 50  # fewer show nothing
_FEWEST_MISSING = 5  # in a row of chances, fewer values may be missing in one class alone


def leaking_columns(
    table: Array, sources: Array, targets: Array, labels: Array | None
) -> list[int]:
    """Return the columns that are the target in other words.

    In regression, numbers in the order of the target or its reverse, ties included, or with one
    value for each of its values. In classification, columns with one value a class, or with values
    in one of two classes alone.

    Parameters
    ----------
    table : ndarray of shape (n, d)
        Parsed features.
    sources : ndarray of int of shape (d,)
        The column of each.
    targets : ndarray of shape (n, k)
    labels : ndarray of int of shape (n,) or None
        Class numbers; None in regression.

    Returns
    -------
    list of int
    """
    if len(table) < _FEWEST_ROWS:
        return []
    same = _tells_number if labels is None else _tells_class
    truth = targets[:, 0] if labels is None else labels
    return sorted({int(sources[j]) for j in range(table.shape[1]) if same(table[:, j], truth)})


def _tells_number(x: Array, y: Array) -> bool:
    if np.isnan(x).any() or x.min() == x.max():
        return False
    (values, codes), (others, truth) = (np.unique(v, return_inverse=True) for v in (x, y))
    k = len(values)
    if k != len(others):
        return False
    if np.array_equal(codes, truth) or np.array_equal(codes, k - 1 - truth):
        return True
    # Two rows a value, on average, that agree are no chance.
    return 2 * k <= len(x) and len(np.unique(codes * k + truth)) == k


def _tells_class(x: Array, labels: Array) -> bool:
    missing = np.isnan(x).astype(float)
    rare = min(missing.sum(), len(x) - missing.sum()) < _FEWEST_MISSING
    return _is_one_to_one(x, labels) or (not rare and _is_one_to_one(missing, labels))


def _is_one_to_one(x: Array, labels: Array) -> bool:
    values, codes = np.unique(x, return_inverse=True)
    n_classes = int(labels.max()) + 1
    if len(values) != n_classes or n_classes < 2:
        return False
    return len(np.unique(codes * n_classes + labels)) == n_classes


def share_at_odds(table: Array, labels: Array) -> float:
    """Return the share of rows that equal a row of another class."""
    if len(table) < _FEWEST_ROWS or not table.shape[1]:
        return 0.0
    rows = np.ascontiguousarray(np.nan_to_num(table, nan=np.inf) + 0.0)
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    group = np.unique(keys, return_inverse=True)[1]
    n_groups = int(group.max()) + 1
    low, high = np.full(n_groups, np.iinfo(np.int64).max), np.full(n_groups, -1)
    np.minimum.at(low, group, labels)
    np.maximum.at(high, group, labels)
    return float((low < high)[group].mean())
