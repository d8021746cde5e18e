r"""Fewer points for functions of a kernel, with a proof of how little that changes them.

Functions :math:`f_p = \sum_i a_{pi}\, k(x_i, \cdot)` are projected onto the span of a subset S of
their own points, in the Hilbert space of the kernel. Points are chosen one by one (orthogonal
matching pursuit [1]_): the next is the one that lessens the squared distances most,

.. math::

    \arg\max_i \frac{\sum_p r_p(x_i)^2}{v_i}, \qquad r_p = f_p - f_{p,S},
    \quad v_i = k(x_i, x_i) - k_{iS} K_{SS}^{-1} k_{Si},

which the rows of a Cholesky factor of :math:`K_{SS}`, continued to all points, update. A step takes
one row of K and O(n \|S\|) operations. The change of all values is bounded by

.. math:: |f_p(x) - f_{p,S}(x)| \le \|f_p - f_{p,S}\| \sqrt{k(x, x)}.

What the steps subtract is not that distance but tells only when to stop: it is a small difference
of large numbers. The distance is computed anew from the coefficients b as they are kept,

.. math:: \|f - f_S\|^2 = a^\top K a - 2\, b^\top K_{S\cdot}\, a + b^\top K_{SS}\, b,

plus some epsilons times the same sum of absolute values: what rounding of the kernel values and of
the sums may hide is part of the bound.

References
----------
.. [1] P. Vincent, Y. Bengio. "Kernel matching pursuit". Machine Learning 48 (2002).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from kernelfit.kernels.gram import Gram

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)  # of a kernel value and of sums of them
# Of k(x, x). Below the first, rounding decides on the conditional variance of a point. It is an
# error of at most about eps / sqrt(v) by the smallest v that was divided by. Below the second, no
# rounding explains it.
_LEAST_VARIANCE, _NEGATIVE_VARIANCE = 1e-10, -1e-6
_CHUNK_BYTES = 2**26  # of kernel values at a time
_FIRST_ROWS = 64  # of the factor that memory is taken for
_TIGHTER = 0.8  # how much closer to go where a distance is not proved yet


@dataclass(frozen=True)
class ReducedSet:
    """Functions on fewer points.

    Attributes
    ----------
    chosen : ndarray of shape (m,)
        The points that are kept, increasing.
    coef : ndarray of shape (n_functions, m)
        Their coefficients.
    distances : ndarray of shape (n_functions,)
        Bounds on the distances in the kernel's Hilbert space, rounding included.
    resolution : ndarray of shape (n_functions,)
        How much of them is rounding.
    """

    chosen: Indices
    coef: Array
    distances: Array
    resolution: Array


def reduce_support(gram: Gram, coef: Array, max_distance: float, max_points: int) -> ReducedSet:
    """Return functions on fewer points that are close to given ones.

    Parameters
    ----------
    gram : Gram
        Of the points; positive semidefinite.
    coef : ndarray of shape (n_functions, n)
    max_distance : float
        What no distance may exceed, unless `max_points` are not enough.
    max_points : int
        How many points to keep at most.

    Returns
    -------
    ReducedSet
        Of all points with the coefficients as they were, where no fewer are proved to do.

    Raises
    ------
    ValueError
        Where the matrix is found to be indefinite.
    """
    needed = np.flatnonzero(coef.any(axis=0))
    may_keep_all = len(needed) <= max_points
    pursuit = _Pursuit(gram, coef)
    found = pursuit.measure()
    far = found.distances > max_distance
    goal = np.full(len(coef), max_distance)  # of the distances that the steps tell
    while far.any():
        # Where rounding alone forbids a proof, more points do not help.
        hopeless = (found.resolution[far] >= max_distance).any()
        enough = hopeless if may_keep_all else len(pursuit.chosen) == max_points
        if enough or not pursuit.add(far):
            return _unchanged(needed, coef) if may_keep_all else pursuit.measure()
        far = pursuit.squares > goal**2
        if not far.any():
            found = pursuit.measure()
            far = found.distances > max_distance
            goal *= _TIGHTER
    return found


def _unchanged(needed: Indices, coef: Array) -> ReducedSet:
    nothing = np.zeros(len(coef))
    return ReducedSet(needed, coef[:, needed], nothing, nothing)


class _Pursuit:
    """The points chosen so far, and what they leave.

    Attributes
    ----------
    chosen : list of int
        In their order.
    squares : ndarray of shape (n_functions,)
        Squared distances, by subtraction.
    """

    def __init__(self, gram: Gram, coef: Array) -> None:
        self.chosen: list[int] = []
        self._gram, self._coef = gram, coef
        self._diagonal = gram.diagonal()
        self._values, self._sizes = _values(gram, coef)
        self.squares = np.einsum("pi,pi->p", coef, self._values)
        self._residual, self._variance = self._values.copy(), self._diagonal.copy()
        self._factor = np.empty((_FIRST_ROWS, gram.n))  # its rows; [chosen] is upper triangular
        self._shares: list[Array] = []  # of the functions in the orthonormal basis

    def add(self, functions: NDArray[np.bool_]) -> bool:
        """Choose one more point for some of the functions; return False where none is left."""
        free = self._variance > _LEAST_VARIANCE * self._diagonal
        gains = np.einsum("pi,pi->i", self._residual[functions], self._residual[functions])
        gains = np.divide(gains, self._variance, out=np.zeros_like(gains), where=free)
        best = int(np.argmax(gains))
        if not gains[best] > 0.0:
            return False
        m = len(self.chosen)
        if m == len(self._factor):
            self._factor = np.concatenate([self._factor, np.empty_like(self._factor)])
        known = self._factor[:m]
        row = self._gram.rows(np.array([best]))[0] - known[:, best] @ known
        if row[best] <= 0.0:
            raise _indefinite()
        row /= np.sqrt(row[best])
        share = self._residual[:, best] / row[best]
        self._factor[m] = row
        self._residual -= share[:, None] * row
        self._variance -= row**2
        if np.any(self._variance < _NEGATIVE_VARIANCE * self._diagonal):
            raise _indefinite()
        self._variance[best] = 0.0
        self.squares -= share**2
        self._shares.append(share)
        self.chosen.append(best)
        return True

    def measure(self) -> ReducedSet:
        """Return the projections and their proved distances."""
        chosen = np.array(self.chosen, dtype=np.intp)
        shares = np.array(self._shares).reshape(len(chosen), len(self._coef))
        triangle = self._factor[: len(chosen), chosen]
        a, b = self._coef, np.zeros((len(self._coef), 0))
        if len(chosen):
            b = solve_triangular(triangle, shares).T
        order = np.argsort(chosen)
        chosen, b = chosen[order], np.ascontiguousarray(b[:, order])
        K = self._gram.block(chosen, exact=True)
        values, sizes = self._values, self._sizes
        squares = _sums(a, values) - 2.0 * _sums(b, values[:, chosen]) + _sums(b, b @ K)
        a, b_size = np.abs(a), np.abs(b)
        sums = _sums(a, sizes) + 2.0 * _sums(b_size, sizes[:, chosen])
        hidden = _ROUNDING * (sums + _sums(b_size, b_size @ np.abs(K)))
        if np.any(squares < -hidden):
            raise _indefinite()
        lengths = np.sqrt(self._diagonal)
        evaluation = _ROUNDING * (a @ lengths + b_size @ lengths[chosen])  # of f and f_S at a point
        distances = np.sqrt(np.maximum(squares, 0.0) + hidden) + evaluation
        return ReducedSet(chosen, b, distances, np.sqrt(hidden) + evaluation)


def _values(gram: Gram, coef: Array) -> tuple[Array, Array]:
    """Return coef K, and the same of absolute values."""
    values, sizes = np.empty_like(coef), np.empty_like(coef)
    step = max(1, _CHUNK_BYTES // (8 * gram.n))
    for first in range(0, gram.n, step):
        part = slice(first, min(first + step, gram.n))
        rows = gram.rows(np.arange(part.start, part.stop))
        values[:, part] = coef @ rows.T
        sizes[:, part] = np.abs(coef) @ np.abs(rows).T
    return values, sizes


def _sums(first: Array, second: Array) -> Array:
    """Return the inner products of the rows of two matrices."""
    return np.asarray(np.einsum("pi,pi->p", first, second))


def _indefinite() -> ValueError:
    return ValueError(
        "expected a positive semidefinite kernel, got one that is indefinite on the support "
        "vectors (by itself, or by rounding where features are far from zero)"
    )
