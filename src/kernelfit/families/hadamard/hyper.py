r"""Regression of a learned kernel matrix in a hyper-reproducing kernel space.

A hyper-kernel H is a kernel of pairs of points, each section of which, for one pair fixed, is a
kernel of points [1]_. The method of [2]_ fits the learned matrix M by sections with coefficients
that are not negative, so that the fit f is a kernel of any points:

.. math::

    \min_{B \ge 0} \sum_{i,j} \Big(M_{ij} - \sum_a B_a H(a, (x_i, x_j))\Big)^2
    + r \sum_{a,b} B_a B_b H(a, b) .

The DANK papers, which compare with it, name neither H nor its width nor r. Here K is Gaussian,

.. math::

    H((p, q), (x, z)) = K(p, q) K(x, z) \big(1 + K(p, x) K(q, x) K(p, z) K(q, z)\big)

is a Gaussian in the differences and in the midpoints of the pairs, and one without the latter, both
of the width of K, and r is 1e-3. For a fixed pair it is a multiple of K times ``1 + u(x) u(z)``.
All pairs of n points would be n^2 / 2 coefficients. The pairs are those of at most 32 landmarks,
rows with large coefficients that are far apart, and one far from everything, whose section is K.
M is fitted on all rows, or on 200 that are chosen in the same way. A point of weight m counts as m
points.

References
----------
.. [1] C. S. Ong, A. J. Smola, R. C. Williamson. Learning the kernel with hyperkernels. Journal of
   Machine Learning Research 6, 2005.
.. [2] B. Pan, W.-S. Chen, B. Chen, C. Xu, J. Lai. Out-of-sample extensions for non-parametric
   kernel methods. IEEE Transactions on Neural Networks and Learning Systems 28, 2017.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import nnls

from kernelfit.families.hadamard.base import FloatArray, Indices

_LANDMARKS, _TARGETS = 32, 200
_RIDGE = 1e-3
_LEAST = 0.1  # of the pivots: rows without a coefficient, beside that with the largest


@dataclass(frozen=True, eq=False)
class HyperKernel:
    """The fit: ``K(x, z) (sum of shares + sum over pairs of shares u(x) u(z))``.

    Parameters
    ----------
    root : callable
        The initial kernel K.
    points : array or CSR matrix of shape (n, d)
        The training points.
    pairs : ndarray of shape (2, n_pairs)
        Training points.
    shares : ndarray of shape (n_pairs,)
        Products of the coefficients and the kernel of the pairs.
    constant : float
        The share of the pair far from everything.
    """

    root: Callable[..., FloatArray]
    points: Any = field(repr=False)
    pairs: Indices = field(repr=False)
    shares: FloatArray = field(repr=False)
    constant: float

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        """Return the Gram matrix between the rows of X and those of Y."""
        Y = X if Y is None else Y
        return np.asarray(self.root(X, Y) * self._factor(X, Y))

    def multiply(self, K: FloatArray, X: Any, rows: Indices) -> FloatArray:
        """Return the kernel with some training points, given that of the root."""
        return np.asarray(K * self._factor(X, self.points[rows]))

    def _factor(self, X: Any, Y: Any) -> FloatArray:
        left, right = (_bumps(self.root, A, self.points, self.pairs) for A in (X, Y))
        return np.asarray(self.constant + self.shares.sum() + (left * self.shares) @ right.T)


def fit_hyper_kernel(
    root: Callable[..., FloatArray],
    points: Any,
    coef: FloatArray,
    weight: FloatArray,
    factor: Callable[[Indices], FloatArray],
) -> HyperKernel:
    """Return the kernel of the regression.

    Parameters
    ----------
    root : callable
        The initial kernel, Gaussian.
    points : array or CSR matrix of shape (n, d)
    coef, weight : ndarray of shape (n,)
        Coefficients of single copies, and multiplicities.
    factor : callable
        From rows to the learned factor between them.

    Returns
    -------
    HyperKernel
    """
    size = np.abs(coef)
    pivots = _spread(root, points, _LEAST + size / (size.max(initial=0.0) or 1.0))
    landmarks, n = pivots[:_LANDMARKS], len(size)
    rows = np.arange(n) if n <= _TARGETS else pivots
    pairs = landmarks[np.array(np.triu_indices(len(landmarks)))]
    of_pairs = np.append(_between(root, points, pairs), 1.0)
    K = root(points[rows], points[rows])
    i, j = np.triu_indices(len(rows))
    root_weight = np.sqrt(weight[rows[i]] * weight[rows[j]] * np.where(i == j, 1.0, 2.0))
    U = np.pad(_bumps(root, points[rows], points, pairs), ((0, 0), (0, 1)))
    A = (root_weight * K[i, j])[:, None] * (1.0 + U[i] * U[j]) * of_pairs
    target = root_weight * (K * factor(rows))[i, j]
    ends = [np.pad(_bumps(root, points[end], points, pairs), ((0, 1), (0, 1))) for end in pairs]
    H = np.outer(of_pairs, of_pairs) * (1.0 + ends[0] * ends[1])
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    norm = np.sqrt(_RIDGE * np.maximum(values, 0.0))[:, None] * vectors.T
    Q, R = np.linalg.qr(np.vstack([A, norm]))
    B = nnls(R, Q[: len(target)].T @ target, maxiter=30 * R.shape[1])[0]
    shares, used = B * of_pairs, np.flatnonzero(B[:-1])
    return HyperKernel(root, points, pairs[:, used], shares[used], float(shares[-1]))


def _bumps(root: Any, X: Any, points: Any, pairs: Indices) -> FloatArray:
    """Return u(x) = K(p, x) K(q, x) of all pairs, of shape (len(X), n_pairs)."""
    ends, place = np.unique(pairs, return_inverse=True)
    K = root(X, points[ends]) if len(ends) else np.zeros((X.shape[0], 0))
    first, second = place.reshape(pairs.shape)
    return np.asarray(K[:, first] * K[:, second])


def _between(root: Any, points: Any, pairs: Indices) -> FloatArray:
    """Return K(p, q) of all pairs."""
    ends, place = np.unique(pairs, return_inverse=True)
    first, second = place.reshape(pairs.shape)
    return np.asarray(root(points[ends], points[ends])[first, second])


def _spread(root: Any, points: Any, size: FloatArray) -> Indices:
    """Return rows that are large and far apart: the pivots of a Cholesky decomposition."""
    left, found, factors = size**2, [], np.zeros((0, len(size)))
    for _ in range(min(_TARGETS, len(size))):
        pivot = int(left.argmax())
        if left[pivot] <= 1e-10 * size.max() ** 2:
            break
        column = root(points[[pivot]], points)[0] * size * size[pivot]
        row = (column - factors[:, pivot] @ factors) / np.sqrt(left[pivot])
        factors = np.vstack([factors, row])
        left = np.maximum(left - row**2, 0.0)
        left[pivot] = 0.0
        found.append(pivot)
    return np.array(found, dtype=np.intp)
