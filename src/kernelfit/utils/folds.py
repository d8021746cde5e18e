"""The folds of a cross-validation: from a splitter, a number or the user's own rows."""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

Rows = NDArray[np.intp]


def split_folds(
    cv: Any, X: Any, y: Any, groups: Any = None, classifier: bool = False
) -> list[tuple[Rows, Rows]]:
    """Return the folds that the parameter ``cv`` of scikit-learn stands for.

    Parameters
    ----------
    cv : int, splitter, iterable of pairs or None
    X : {array-like, sparse matrix} of shape (n, ...)
    y : array-like of shape (n, ...)
    groups : array-like of shape (n,), default=None
        For splitters that need them.
    classifier : bool, default=False
        Whether a number of folds means folds of equal shares of the classes.

    Returns
    -------
    list of (ndarray of int, ndarray of int)
        Training and test rows.
    """
    if cv is None or isinstance(cv, Integral) or hasattr(cv, "split"):
        cv = check_cv(cv, y, classifier=classifier).split(X, y, groups)
    return check_folds(cv, X.shape[0])


def check_folds(folds: Iterable[Any], n: int) -> list[tuple[Rows, Rows]]:
    """Return folds as arrays of rows; ValueError where they are not pairs of rows of the data.

    Parameters
    ----------
    folds : iterable of pairs
        Training and test rows, as numbers or as masks.
    n : int
        Number of rows of the data.

    Returns
    -------
    list of (ndarray of int, ndarray of int)
    """
    checked = []
    for fold in folds:
        try:
            train, test = fold
        except (TypeError, ValueError):
            raise _refusal(n, repr(fold)) from None
        checked.append((_rows(train, n), _rows(test, n)))
    if not checked:
        raise ValueError("expected cv to give at least one fold, got none")
    return checked


def missing_classes(y: NDArray[Any], folds: Sequence[tuple[Rows, Rows]]) -> str:
    """Return a warning where a training part lacks a class of its test part.

    ValueError where a training part has only one class.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Class labels.
    folds : sequence of pairs
        Training and test rows.

    Returns
    -------
    str
        Empty where every training part holds the classes that its fold tests.
    """
    lacking = []
    for number, (train, test) in enumerate(folds, start=1):
        present = np.unique(y[train])
        if len(present) == 1:
            raise ValueError(
                f"in the training part of fold {number}: expected at least two classes, got one "
                f"class: {present[0]}"
            )
        missing = np.setdiff1d(y[test], present)
        if len(missing):
            lacking.append(f"class {missing[0]} is missing from the training part of fold {number}")
    if not lacking:
        return ""
    more = f" (other folds that lack one: {len(lacking) - 1})" if len(lacking) > 1 else ""
    return (
        f"{lacking[0]}{more}: what that fold trains cannot predict the class, so scores and "
        "choices count its rows as errors; give folds whose training parts hold every class"
    )


def _rows(part: Any, n: int) -> Rows:
    try:
        rows = np.asarray(part)
    except ValueError:  # lists of different lengths
        raise _refusal(n, repr(part)) from None
    if rows.ndim != 1:
        raise _refusal(n, f"{part!r} as rows")
    if rows.dtype == bool:
        if len(rows) != n:
            raise _refusal(n, f"a mask of {len(rows)} rows")
        return np.flatnonzero(rows)
    if not rows.size:
        return np.empty(0, dtype=np.intp)
    if rows.dtype.kind not in "iu":
        raise _refusal(n, f"rows of type {rows.dtype}")
    outside = rows[(rows < 0) | (rows >= n)]
    if outside.size:
        raise _refusal(n, f"row {outside[0]}")
    return rows.astype(np.intp, copy=False)


def _refusal(n: int, got: str) -> ValueError:
    short = got if len(got) <= 80 else f"{got[:77]}..."
    return ValueError(
        f"expected cv to give pairs of training and test rows between 0 and {n - 1}, got {short}"
    )
