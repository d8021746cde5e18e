"""Which groups of features tell something of the targets: a forward selection by F tests."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

Array = NDArray[np.float64]

_CHANCE = 0.05  # of features that tell nothing to be kept


def telling(groups: Mapping[Any, Array], targets: Array, weight: Array) -> set[Any]:
    """Return the names of the groups that explain more of the targets than chance would.

    One by one the group whose F test is surest is taken, and what it explains is taken off the
    targets. The level of a test is shared out among the targets.

    Parameters
    ----------
    groups : mapping to ndarray of shape (n, q)
        Features of each group.
    targets : ndarray of shape (n, k)
    weight : ndarray of shape (n,)
        A weight of 2 equals a repeated row.

    Returns
    -------
    set
    """
    share, n = weight / weight.sum(), float(weight.sum())
    root = np.sqrt(share)[:, None]
    bases = {name: _basis(root * (X - share @ X)) for name, X in groups.items()}
    left = root * (targets - share @ targets)
    found: set[Any] = set()
    while bases:
        chances = {name: _chance(U, left, n) for name, U in bases.items()}
        best = min(bases, key=lambda name: chances[name])
        if chances[best] > _CHANCE:
            break
        U = bases.pop(best)
        left = left - U @ (U.T @ left)
        found.add(best)
    return found


def _basis(X: Array) -> Array:
    """Return an orthonormal basis of the columns."""
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    return np.asarray(U[:, s > 1e-9 * s.max(initial=1e-300)])


def _chance(U: Array, Y: Array, n: float) -> float:
    """Return the probability that features which tell nothing explain as much of a target."""
    q: Any = U.shape[1]
    rest = n - q - 1.0
    total, explained = (Y**2).sum(axis=0), ((U.T @ Y) ** 2).sum(axis=0)
    there = total > 0.0
    if q == 0 or rest <= 0.0 or not there.any():
        return 1.0
    left = np.maximum(total - explained, 1e-15 * total)[there]
    chance = fdtrc(q, rest, explained[there] / q / (left / rest))
    return float(chance.min() * there.sum())
