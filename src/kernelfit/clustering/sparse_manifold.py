"""Sparse manifold clustering: every point as an affine combination of few close points.

References
----------
.. [1] E. Elhamifar, R. Vidal. "Sparse manifold clustering and embedding". Advances in Neural
   Information Processing Systems 24 (2011).
"""

import numpy as np

from kernelfit.kernels.distances import Array
from kernelfit.utils.jit import jit

_TOL = 1e-6  # of slopes; the quadratic part has a unit diagonal
_STEPS = 5000  # at most, for every neighbour: small penalties take many


def manifold_weights(x: Array, neighbours: Array, sparsity: float) -> Array:
    r"""Return the weights of the neighbours of a point (SMCE).

    .. math:: \min_c\; \lambda \sum_j q_j |c_j| + \tfrac12 \Big\| \sum_j c_j
        \frac{x_j - x}{\|x_j - x\|} \Big\|^2 \quad\text{s.t.}\quad \sum_j c_j = 1, \qquad
        q_j = \frac{\|x_j - x\|}{\sum_t \|x_t - x\|}

    The weight of x_j is :math:`|c_j| / \|x_j - x\|`, scaled to the sum one.

    Parameters
    ----------
    x : ndarray of shape (d,)
    neighbours : ndarray of shape (k, d)
        Those equal to x take all the weight.
    sparsity : float
        Lambda, not negative.

    Returns
    -------
    ndarray of shape (k,)
        Not negative, of sum one.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.clustering.sparse_manifold import manifold_weights
    >>> x, near = np.zeros(2), np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]])
    >>> manifold_weights(x, near, 1.0).round(6)
    array([0.5, 0.5, 0. ])
    """
    directions = neighbours - x
    scale = np.abs(directions).max()
    if scale > 0.0:
        directions /= scale
    distances = np.linalg.norm(directions, axis=1)
    same = distances == 0.0
    if same.any():
        return np.asarray(same / same.sum())
    directions /= distances[:, None]
    penalty = sparsity * distances / distances.sum()
    weights = np.abs(affine_lasso(directions @ directions.T, penalty)) / distances
    return np.asarray(weights / weights.sum())


def affine_lasso(G: Array, penalty: Array) -> Array:
    """Minimise ``1/2 c'Gc + sum of penalty_j |c_j|`` over c of sum one, by steps of pairs.

    Parameters
    ----------
    G : ndarray of shape (k, k)
        Positive semidefinite, with a diagonal of about one.
    penalty : ndarray of shape (k,)
        Not negative.

    Returns
    -------
    ndarray of shape (k,)
        No pair can be improved at a rate above 1e-6.
    """
    c = np.zeros(len(G))
    c[penalty.argmin()] = 1.0
    _improve_pairs(np.ascontiguousarray(G), penalty, c, _TOL, _STEPS * len(G))
    return c


@jit()
def _improve_pairs(G: Array, penalty: Array, c: Array, tol: float, max_steps: int) -> None:
    """Move weight from one coefficient to another, as far as the sign of neither changes.

    The one that gains has the least slope, the other one promises the largest decrease: the steps
    of sequential minimal optimisation for the positive and negative parts of c.
    """
    k = len(c)
    g = np.zeros(k)
    for j in range(k):
        for m in range(k):
            g[m] += c[j] * G[j, m]
    for _ in range(max_steps):
        i = 0
        slope = np.inf
        for j in range(k):
            up = g[j] + (penalty[j] if c[j] >= 0.0 else -penalty[j])
            if up < slope:
                slope = up
                i = j
        best = 0.0
        violation = 0.0
        giver = -1
        for j in range(k):
            excess = g[j] + (penalty[j] if c[j] > 0.0 else -penalty[j]) - slope
            if j == i or excess <= 0.0:
                continue
            violation = max(violation, excess)
            curvature = max(G[i, i] + G[j, j] - 2.0 * G[i, j], 1e-12)
            if excess * excess / curvature > best:
                best = excess * excess / curvature
                giver = j
        if giver < 0 or violation <= tol:
            return
        excess = g[giver] + (penalty[giver] if c[giver] > 0.0 else -penalty[giver]) - slope
        step = excess / max(G[i, i] + G[giver, giver] - 2.0 * G[i, giver], 1e-12)
        room = np.inf  # up to the kink of either coefficient
        if c[i] < 0.0:
            room = -c[i]
        if c[giver] > 0.0:
            room = min(room, c[giver])
        step = min(step, room)
        c[i] = 0.0 if c[i] == -step else c[i] + step
        c[giver] = 0.0 if c[giver] == step else c[giver] - step
        for m in range(k):
            g[m] += step * (G[i, m] - G[giver, m])
