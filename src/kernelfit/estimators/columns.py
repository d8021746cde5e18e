"""Targets of any kind as columns of numbers, for transformers that learn from them."""

import numpy as np
from sklearn.utils.multiclass import type_of_target

from kernelfit.utils.validation import check_targets


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
        kind = type_of_target(y, input_name="y")
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
