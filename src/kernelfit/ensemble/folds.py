"""Folds that are balanced in the classes or in the values of a target."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def balanced_parts(y: Array, n_parts: int, is_class: bool, rng: np.random.Generator) -> Array:
    """Deal rows out to parts of nearly equal size, so that each has its share of every value.

    Sorted by value, and at random among equals, each run of `n_parts` rows is dealt out in random
    order. Unlike scikit-learn's stratified folds this works for targets that are numbers, and for
    classes with fewer rows than parts.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Class numbers, or targets.
    n_parts : int
    is_class : bool
        Whether the values are classes.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int of shape (n,)
        The part of every row.
    """
    n = len(y)
    order = np.lexsort((rng.random(n), y))
    deal = np.tile(np.arange(n_parts), -(-n // n_parts))[:n]
    if not is_class:
        for start in range(0, n, n_parts):
            stop = min(start + n_parts, n)
            deal[start:stop] = rng.permutation(n_parts)[: stop - start]
    part = np.empty(n, dtype=np.intp)
    part[order] = deal
    return part
