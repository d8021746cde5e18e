"""Sparse self-representation: every point as a combination of a few others.

The absolute coefficients are an affinity for points on a union of subspaces: a point is best
represented by points of its own subspace.
"""

import numpy as np

from kernelfit.clustering.matrices import Multiply, multiply
from kernelfit.kernels.distances import Array

_NOTHING_LEFT = 1e-6  # correlations of unit vectors below it are taken for rounding
_SMALL = 1e-140  # rows of smaller entries are scaled before they are squared
_RIDGE = 1e-12  # keeps the normal equations of parallel atoms regular


def matching_pursuit(
    X: Array,
    atoms: Array,
    n_nonzero: int,
    *,
    exclude_self: bool = False,
    chunk_bytes: int = 2**26,
    multiply: Multiply = multiply,
) -> tuple[Array, Array]:
    """Represent the rows of X by few of the atoms, by orthogonal matching pursuit.

    Every step takes the atom most correlated with what is left of the point, then solves least
    squares on the atoms taken; many points are treated at once, so that a step is a matrix
    product. Points and atoms are scaled to unit length.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    atoms : ndarray of shape (n, d)
    n_nonzero : int
        Bound on the number of atoms for a point.
    exclude_self : bool, default=False
        Whether X is `atoms` and no point may represent itself.
    chunk_bytes : int, default=2**26
        Memory for the correlations of the points treated together.
    multiply : callable
        ``multiply(A, V)``, the product of two matrices.

    Returns
    -------
    indices : ndarray of shape (m, n_nonzero)
        Without repetition in a row.
    coefs : ndarray of shape (m, n_nonzero)
        Zero where fewer atoms do.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.clustering.self_representation import matching_pursuit
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0.6, 0.8, 0], [0, 0, 1]])
    >>> indices, coefs = matching_pursuit(X, X, 2, exclude_self=True)
    >>> indices[2], coefs[2].round(6)
    (array([1, 0]), array([0.8, 0.6]))
    """
    X, atoms = unit_rows(X), unit_rows(atoms)
    m, n = X.shape[0], atoms.shape[0]
    n_nonzero = min(n_nonzero, n - exclude_self)
    indices = np.empty((m, n_nonzero), dtype=np.intp)
    coefs = np.zeros((m, n_nonzero))
    step = max(1, chunk_bytes // (8 * max(n, n_nonzero * X.shape[1])))
    for start in range(0, m, step):
        part = slice(start, min(start + step, m))
        itself = np.arange(m)[part] if exclude_self else None
        indices[part], coefs[part] = _pursue(X[part], atoms, n_nonzero, itself, multiply)
    return indices, coefs


def _pursue(
    points: Array, atoms: Array, n_nonzero: int, itself: Array | None, multiply: Multiply
) -> tuple[Array, Array]:
    m = len(points)
    rows = np.arange(m)
    indices = np.zeros((m, n_nonzero), dtype=np.intp)
    used = np.zeros((m, n_nonzero), dtype=bool)
    coefs = np.zeros((m, n_nonzero))
    left = points
    for taken in range(n_nonzero):
        correlations = multiply(left, atoms.T)
        np.abs(correlations, out=correlations)
        if itself is not None:
            correlations[rows, itself] = -1.0
        correlations[rows[:, None], indices[:, :taken]] = -1.0
        best = correlations.argmax(axis=1)
        indices[:, taken] = best
        used[:, taken] = correlations[rows, best] > _NOTHING_LEFT
        if not used[:, taken].any():
            continue  # every point is represented; the places left get distinct indices
        now = slice(taken + 1)
        chosen = atoms[indices[:, now]] * used[:, now, None]
        gram = chosen @ chosen.transpose(0, 2, 1)
        # An unused place is a zero atom: its equation reads coefficient = 0.
        gram[:, range(taken + 1), range(taken + 1)] += np.where(used[:, now], _RIDGE, 1.0)
        right = chosen @ points[:, :, None]
        solved = np.linalg.solve(gram, right)
        coefs[:, now] = solved[:, :, 0]
        left = points - (solved.transpose(0, 2, 1) @ chosen)[:, 0]
    return indices, coefs


def unit_rows(X: Array) -> Array:
    """Return the rows scaled to unit length, but for zero rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)

    Returns
    -------
    ndarray of shape (n, d)
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    largest = np.abs(X).max(axis=1, keepdims=True)
    X = X / np.where((largest > 0) & (largest < _SMALL), largest, 1.0)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(norms > 0, norms, 1.0))
