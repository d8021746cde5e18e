"""Targets of any kind and size as columns of numbers, for transformers that learn from them."""

import numpy as np
from sklearn.utils.multiclass import type_of_target

from kernelfit.utils.validation import check_targets


def kind_of_targets(y):
    """Return scikit-learn's type of the targets, without a complaint of numbers beyond integers.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)

    Returns
    -------
    str
    """
    with np.errstate(invalid="ignore"):
        return type_of_target(y, input_name="y")


def in_unit(values):
    """Return numbers in units of a power of two near the largest, and the unit's exponent.

    Squares of the numbers then neither overflow nor vanish; all else is the same, bit by bit.

    Parameters
    ----------
    values : ndarray

    Returns
    -------
    ndarray
    exponent : int
    """
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ldexp(values, -exponent), exponent


def target_columns(y, task):
    """Return labels as one column of zeros and ones a class, numbers as they are.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    task : {"auto", "classification", "regression"}
        With "auto", y has labels unless it has floats that are not integers.

    Returns
    -------
    columns : ndarray of shape (n_samples, n_columns)
        Two classes have one column.
    labelled : bool
        Whether y has labels.
    """
    if task == "auto":
        kind = kind_of_targets(y)
        if kind == "unknown":
            raise ValueError("Unknown label type: expected labels or numbers as targets")
        task = "regression" if kind.startswith("continuous") else "classification"
    outputs = y.reshape(len(y), -1).T
    if task == "regression":
        return np.column_stack([check_targets(output) for output in outputs]), False
    blocks = []
    for output in outputs:
        labels = np.unique(output)
        blocks.append(output[:, None] == (labels[-1:] if len(labels) <= 2 else labels))
    return np.hstack(blocks).astype(np.float64), True
