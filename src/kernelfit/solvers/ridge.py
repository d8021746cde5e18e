r"""Kernel ridge regression: one factorisation for all ridges and the exact leave-one-out errors.

For weights :math:`w_i > 0`, a ridge :math:`\lambda = 1 / (2 C)` and every column y of the targets,

.. math::

    \min_{f, b}\; \tfrac12 \|f\|^2 + C \sum_i w_i (y_i - f(x_i) - b)^2, \qquad
    (K + \lambda D^{-1}) \beta + b \mathbf 1 = y, \quad \mathbf 1^\top \beta = 0

with :math:`D = \operatorname{diag} w` and f = sum_i beta_i k(x_i, .). In :math:`\beta = D^{1/2} a`,
with :math:`d = D^{1/2} \mathbf 1` and :math:`S = D^{1/2} K D^{1/2}`,

.. math:: (S + \lambda I) a + b d = D^{1/2} y, \qquad d^\top a = 0

so a lies in the complement of d. With orthonormal columns H that span it (one Householder
reflection), :math:`a = H (H^\top S H + \lambda I)^{-1} H^\top D^{1/2} y`: the intercept is exact.
One reduction :math:`H^\top S H = U T U^\top` to a tridiagonal T serves every ridge, as well as
eigenvalues would at half the cost. With Q = HU the inverse of the bordered system has the block
:math:`G = Q (T + \lambda)^{-1} Q^\top`, and for points left out together the errors of the machine
of all others are

.. math:: D_F^{1/2} (y_F - f^{(-F)}(x_F) - b^{(-F)}) = G_{FF}^{-1} a_F

which for one point is :math:`a_i / G_{ii}`; all of these come from one recurrence along the
bidiagonal factor of :math:`T + \lambda`. Without an intercept H = I and b = 0.

References
----------
.. [1] G. C. Cawley, N. L. C. Talbot. "Fast exact leave-one-out cross-validation of sparse
   least-squares support vector machines". Neural Networks 17 (2004).
.. [2] S. An, W. Liu, S. Venkatesh. "Fast cross-validation algorithms for least squares support
   vector machine and kernel ridge regression". Pattern Recognition 40 (2007).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_banded, solveh_banded
from scipy.linalg.lapack import dorgqr, dpotrf, dpotrs, dsytrd, dsytrd_lwork, dtrtri

from kernelfit.utils.jit import jit

FloatArray = NDArray[np.float64]
Indices = NDArray[np.intp]

_ROUNDOFF = float(np.finfo(np.float64).eps)
_BLOCK = 64  # columns that LAPACK reflects at a time


class RidgeSolution(NamedTuple):
    """The machines of one ridge.

    Attributes
    ----------
    coef : ndarray of shape (n, m)
        The coefficients beta, one column a target; their sums are 0 with an intercept.
    intercept : ndarray of shape (m,)
        0 without an intercept.
    """

    coef: FloatArray
    intercept: FloatArray


@dataclass(frozen=True, eq=False)
class RidgePath:
    """The machines of all ridges; made by `ridge_path`.

    Attributes
    ----------
    diagonal : ndarray of shape (r,)
        Of the tridiagonal T; r is n - 1 with an intercept and n without.
    beside : ndarray of shape (r - 1,)
        The entries next to it.
    basis : ndarray of shape (r, n)
        The orthonormal rows Q'.
    targets : ndarray of shape (r, m)
        The targets in this basis, ``Q' D^1/2 Y``.
    root : ndarray of shape (n,)
        The roots of the weights.
    border : ndarray of shape (r,) or None
        ``Q' S d / d'd``, which the intercept is computed from; None without an intercept.
    mean : ndarray of shape (m,)
        The weighted means of the targets; 0 without an intercept.
    """

    diagonal: FloatArray
    beside: FloatArray
    basis: FloatArray
    targets: FloatArray
    root: FloatArray
    border: FloatArray | None
    mean: FloatArray

    def _shifted(self, ridge: float) -> FloatArray:
        """Return the diagonal of T + ridge, or of the least ridge beyond the rounding of T."""
        size = np.abs(self.diagonal).max(initial=0.0) + 2.0 * np.abs(self.beside).max(initial=0.0)
        return np.asarray(self.diagonal + max(ridge, _ROUNDOFF * float(size)))

    def _solve(self, ridge: float, right: FloatArray) -> FloatArray:
        """Return ``(T + ridge)^-1`` times some columns."""
        if len(right) <= 1:
            return np.asarray(right / self._shifted(ridge)[:, None])
        bands = np.zeros((3, len(right)))
        bands[0, 1:] = bands[2, :-1] = self.beside
        bands[1] = self._shifted(ridge)
        try:
            return np.asarray(solveh_banded(bands[:2], right, check_finite=False))
        except LinAlgError:  # K is indefinite
            return np.asarray(solve_banded((1, 1), bands, right, check_finite=False))

    def solve(self, ridge: float) -> RidgeSolution:
        """Return the machines of a ridge, in O(n^2) for each target.

        Parameters
        ----------
        ridge : float
            Positive: 1 / (2 C).

        Returns
        -------
        RidgeSolution
        """
        shrunk = self._solve(ridge, self.targets)
        coef = self.root[:, None] * (self.basis.T @ shrunk)
        return _with_intercept(coef, self.mean, self.border, shrunk, self.root)

    def leave_one_out(self, ridge: float) -> FloatArray:
        """Return the errors at every point of the machine trained on all others, in O(n^2).

        Parameters
        ----------
        ridge : float
            Positive.

        Returns
        -------
        ndarray of shape (n, m)
            The targets minus the predictions. A point is left out with all of its weight. nan
            where no point is left to train on.
        """
        a = self.basis.T @ self._solve(ridge, self.targets)
        G = np.zeros(len(self.root))
        _inverse_diagonal(self._shifted(ridge), self.beside, self.basis, G)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(a / (self.root * G)[:, None])

    def leave_out(self, ridge: float, rows: Indices) -> FloatArray:
        """Return the errors at some points of the machine trained on all the others.

        Parameters
        ----------
        ridge : float
            Positive.
        rows : ndarray of int of shape (f,)
            The points left out together, fewer than all.

        Returns
        -------
        ndarray of shape (f, m)
            The targets minus the predictions.
        """
        basis = self.basis[:, rows]
        damped = self._solve(ridge, basis).T
        errors = np.linalg.solve(damped @ basis, damped @ self.targets)
        return np.asarray(errors / self.root[rows, None])


@jit()
def _inverse_diagonal(
    diagonal: FloatArray, beside: FloatArray, basis: FloatArray, out: FloatArray
) -> None:
    """Add the diagonal of ``Q T^-1 Q'`` for a tridiagonal T = L diag(pivot) L'.

    With ``L Z = Q'`` it is the sum over k of ``z_k^2 / pivot_k``, and the rows of Z follow from
    each other.
    """
    z = np.zeros(out.size)
    pivot, factor = 1.0, 0.0
    for k in range(diagonal.size):
        if k > 0:
            factor = beside[k - 1] / pivot
        pivot = diagonal[k] - factor * beside[k - 1] if k > 0 else diagonal[k]
        row = basis[k]
        weight = 1.0 / pivot
        for i in range(z.size):
            z[i] = row[i] - factor * z[i]
            out[i] += z[i] * z[i] * weight


def ridge_path(
    K: NDArray[Any],
    Y: FloatArray,
    weight: FloatArray | None = None,
    *,
    fit_intercept: bool = True,
) -> RidgePath:
    """Factorise a kernel matrix once, for all ridges.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric positive semidefinite. Not changed.
    Y : ndarray of shape (n, m)
        The targets.
    weight : ndarray of shape (n,), default=None
        Positive; ones when None.
    fit_intercept : bool, default=True

    Returns
    -------
    RidgePath

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.solvers.ridge import ridge_path
    >>> x = np.linspace(0.0, 1.0, 6)
    >>> path = ridge_path(np.outer(x, x), 2.0 * x[:, None] + 1.0)
    >>> path.solve(1e-6).intercept.round(3)
    array([1.])
    >>> bool(np.abs(path.leave_one_out(1e-6)).max() < 1e-4)
    True
    """
    scaled = _Scaled.of(K, Y, weight, fit_intercept)
    S, Z, border = scaled.complement()
    diagonal, beside, U = _tridiagonal(S)
    if border is not None:
        border = border @ U
    basis = np.ascontiguousarray(scaled.expand(U).T)
    return RidgePath(diagonal, beside, basis, U.T @ Z, scaled.root, border, scaled.mean)


def _tridiagonal(S: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return T and the orthogonal U of ``S = U T U'``; S, in C order, is overwritten."""
    r = len(S)
    U = np.eye(r)
    if r <= 1:
        return S.diagonal().copy(), np.empty(0), U
    # The transpose is S in the order that LAPACK writes to.
    lwork = int(dsytrd_lwork(r, lower=1)[0])
    reflectors, diagonal, beside, tau, _ = dsytrd(S.T, lower=1, lwork=lwork, overwrite_a=1)
    inner = np.asfortranarray(reflectors[1:, :-1])
    U[1:, 1:], *_ = dorgqr(inner, tau, lwork=_BLOCK * r, overwrite_a=1)
    return diagonal, beside, U


def ridge_solve(
    K: NDArray[Any],
    Y: FloatArray,
    ridge: float,
    weight: FloatArray | None = None,
    *,
    fit_intercept: bool = True,
) -> RidgeSolution:
    """Return the machines of one ridge, by one Cholesky factor.

    Parameters
    ----------
    K, Y, weight, fit_intercept
        As for `ridge_path`.
    ridge : float
        Positive.

    Returns
    -------
    RidgeSolution
        Where there is no factor, as for an indefinite K, by `ridge_path`.
    """
    scaled = _Scaled.of(K, Y, weight, fit_intercept)
    S, Z, border = scaled.complement()
    S[np.diag_indices_from(S)] += ridge
    try:
        factor = cholesky(S, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return ridge_path(K, Y, weight, fit_intercept=fit_intercept).solve(ridge)
    # Of one point with an intercept nothing is left to solve, which older versions of scipy refuse.
    shrunk = cho_solve((factor, True), Z, check_finite=False) if len(Z) else Z
    coef = scaled.root[:, None] * scaled.expand(shrunk)
    return _with_intercept(coef, scaled.mean, border, shrunk, scaled.root)


def solve_ridges(
    K: FloatArray,
    Y: FloatArray,
    weight: FloatArray,
    ridges: Sequence[float],
    left_out: FloatArray | None = None,
) -> Iterator[RidgeSolution | None]:
    r"""Yield coefficients and intercepts for one ridge after the other.

    .. math:: (K + r\,\mathrm{diag}(1/s))\,a = y - b, \qquad \mathbf 1'a = 0

    A Cholesky factor of this matrix a ridge: for fewer than ten ridges that is several times faster
    than `ridge_path`, which copes with weights of very different size and with an indefinite K.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite, in C order. The last ridge overwrites it.
    Y : ndarray of shape (n, k)
    weight : ndarray of shape (n,)
        s, positive.
    ridges : sequence of float
    left_out : ndarray of shape (n_ridges, n, k), default=None
        Filled with what the machine without a point says of it, which takes twice the time.

    Yields
    ------
    RidgeSolution or None
        None where rounding leaves no Cholesky factor.
    """
    n = len(K)
    right = np.asfortranarray(np.column_stack([Y, np.ones(n)]))
    for number, ridge in enumerate(ridges):
        A = (K if number == len(ridges) - 1 else K.copy()).T  # symmetric, and in Fortran's order
        A[np.diag_indices(n)] += ridge / weight
        factor, info = dpotrf(A, lower=1, overwrite_a=1, clean=0)
        if info:
            yield None
            continue
        solution, _ = dpotrs(factor, right, lower=1)
        coef, ones = solution[:, :-1], solution[:, -1]
        intercept = coef.sum(axis=0) / ones.sum()
        coef = coef - ones[:, None] * intercept
        if left_out is not None:
            inverse = np.tril(dtrtri(factor, lower=1, overwrite_c=1)[0])
            diagonal = np.einsum("ij,ij->j", inverse, inverse)
            left_out[number] = Y - coef / (diagonal - ones**2 / ones.sum())[:, None]
        yield RidgeSolution(coef, intercept)


def _with_intercept(
    coef: FloatArray,
    mean: FloatArray,
    border: FloatArray | None,
    shrunk: FloatArray,
    root: FloatArray,
) -> RidgeSolution:
    """Return the solution; with an intercept its coefficients sum to zero, also after rounding.

    The point of the largest weight makes up for the others: where weights differ by many orders of
    magnitude, its own coefficient is lost in the rounding of theirs.
    """
    if border is None:
        return RidgeSolution(coef, mean.copy())
    heaviest = int(np.argmax(root))
    coef[heaviest] = 0.0
    coef[heaviest] = -coef.sum(axis=0)
    return RidgeSolution(coef, mean - border @ shrunk)


@dataclass(frozen=True, eq=False)
class _Scaled:
    """The problem in the variable a, and the Householder reflection that takes d to an axis."""

    S: FloatArray
    Z: FloatArray
    root: FloatArray
    reflector: FloatArray | None
    mean: FloatArray

    @classmethod
    def of(
        cls, K: NDArray[Any], Y: FloatArray, weight: FloatArray | None, fit_intercept: bool
    ) -> "_Scaled":
        n, m = Y.shape
        root = np.ones(n) if weight is None else np.sqrt(weight)
        S = K * root[:, None]
        S *= root
        mean, reflector = np.zeros(m), None
        if fit_intercept:
            # A constant in the targets moves the intercept alone.
            mean = root**2 @ Y / (root @ root)
            # v = d + |d| e_1 : the reflection I - 2 vv' / v'v takes d to -|d| e_1.
            reflector = root.copy()
            reflector[0] += np.sqrt(root @ root)
            reflector *= np.sqrt(2.0 / (reflector @ reflector))
        return cls(S, root[:, None] * (Y - mean), root, reflector, mean)

    def complement(self) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return ``H'SH``, ``H'Z``, and ``H'S d / d'd``, in place of S."""
        S, Z, v = self.S, self.Z, self.reflector
        if v is None:
            return S, Z, None
        # With P = I - vv' (as v'v = 2): PSP = S - vq' - qv', q = Sv - (v'Sv / 2) v.
        q = S @ v
        q -= 0.5 * (v @ q) * v
        S -= v[:, None] * q
        S -= q[:, None] * v
        Z = Z - v[:, None] * (v @ Z)
        border = -S[1:, 0] / np.sqrt(self.root @ self.root)
        return np.ascontiguousarray(S[1:, 1:]), Z[1:], border

    def expand(self, U: FloatArray) -> FloatArray:
        """Return ``H U``."""
        v = self.reflector
        if v is None:
            return U
        full = np.empty((len(U) + 1, U.shape[1]))
        full[0], full[1:] = 0.0, U
        full -= v[:, None] * (v[1:] @ U)
        return full
