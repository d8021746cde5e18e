"""How much a column matters: the loss out of fold when it is shuffled."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.ensemble.features import Data

Array = NDArray[Any]

_ROWS = 500  # that are shuffled in a fold, at most


def shuffled_losses(
    machines: Sequence[Any],
    folds: Sequence[tuple[Array, Array]],
    data: Data,
    combination: Any,
    rng: np.random.Generator,
    columns: Sequence[Array],
    device: str | None = None,
) -> Array:
    """Return the rise of the mean loss when one column is shuffled among the test rows of a fold.

    Parameters
    ----------
    machines : sequence of Machines
        One a fold.
    folds : sequence of (train, test)
    data : Data
    combination : callable
        From scores to predictions or probabilities.
    rng : numpy.random.Generator
    columns : sequence of ndarray of int
        The parsed features of each column, which are shuffled together.
    device : str, default=None
        Where to compute; the processor when None.

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    rise, mass = np.zeros(len(columns)), 0.0
    for machine, (_, test) in zip(machines, folds, strict=True):
        part = data.take(test[:_ROWS])
        order = rng.permutation(len(part.weight))
        base = _loss(combination(machine(part.table, device)), part)
        for j, parsed in enumerate(columns):
            if not len(parsed):
                continue
            table = part.table.copy()
            table[:, parsed] = table[np.ix_(order, parsed)]
            rise[j] += part.weight.sum() * (_loss(combination(machine(table, device)), part) - base)
        mass += part.weight.sum()
    return rise / mass


def _loss(predicted: Array, data: Data) -> float:
    """Return the mean squared error, or the mean log loss."""
    if data.labels is None:
        errors = (predicted - data.targets[:, 0]) ** 2
    else:
        truth = predicted[np.arange(len(predicted)), data.labels]
        errors = -np.log(np.maximum(truth, 1e-15))
    return float(errors @ data.weight / data.weight.sum())
