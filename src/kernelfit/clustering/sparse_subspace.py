r"""Sparse subspace clustering: points as sparse affine combinations of each other, with errors.

.. math:: \min_{C, E} \|C\|_1 + \lambda_e \|E\|_1 + \frac{\lambda_z}2 \|X - CA - E\|^2
    \quad\text{s.t.}\quad C1 = 1,\; c_{ii} = 0 \text{ where point } i \text{ is atom } i

for points in the rows of X and atoms in those of A. E are the errors of single features.

References
----------
.. [1] E. Elhamifar, R. Vidal. "Sparse subspace clustering: algorithm, theory, and applications".
   IEEE Transactions on Pattern Analysis and Machine Intelligence 35 (2013).
"""

# mypy: allow-untyped-calls

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from kernelfit.clustering.affinities import SelfRepresentationAffinity, check_option
from kernelfit.kernels.distances import Array

_MAX_ROUNDS = 5_000
_RELAX = 1.6  # steps go beyond the solution of a round, which saves rounds
_BALANCE = 20  # rounds, after which the step is adapted
_LEAST = 1e-5  # of the largest coefficient of a point: smaller ones are not zero by rounding alone


def subspace_codes(
    X: Array,
    atoms: Array,
    lambda_z: float,
    lambda_e: float,
    *,
    exclude_self: bool,
    affine: bool = True,
    errors: bool = True,
    tol: float = 1e-4,
) -> Array:
    """Return the coefficients C, by alternating directions.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    atoms : ndarray of shape (n, d)
    lambda_z : float
        Weight of the squared error, positive.
    lambda_e : float
        Weight of the errors of single features, positive.
    exclude_self : bool
        Whether X is `atoms` and no point may represent itself.
    affine : bool, default=True
        Whether the coefficients of a point have sum one.
    errors : bool, default=True
        Whether single features may have errors.
    tol : float, default=1e-4
        Largest violation of a constraint and largest change of an entry in the last round.

    Returns
    -------
    ndarray of shape (m, n)
    """
    m, n = len(X), len(atoms)
    D = np.concatenate((atoms, np.eye(X.shape[1]))) if errors else atoms
    weights = np.where(np.arange(len(D)) < n, 1.0, lambda_e)
    counted = (np.arange(len(D)) < n).astype(float)  # in the sum of the combination
    correlations = X @ D.T
    rho = 0.05 * lambda_z * float(np.square(atoms).sum()) / n or 1.0
    solve = None
    C, U = np.zeros((m, len(D))), np.zeros((m, len(D)))  # U are the scaled multipliers of A = C
    for turn in range(1, _MAX_ROUNDS + 1):
        if solve is None:
            solve = _solver(np.sqrt(lambda_z / rho) * D)
            across = solve(counted[None, :])
            across /= across @ counted
        A = solve((lambda_z / rho) * correlations + C - U)
        if affine:
            A -= (A @ counted - 1.0)[:, None] * across
        ahead = _RELAX * A + (1.0 - _RELAX) * C
        before = C
        C = ahead + U
        C = np.sign(C) * np.maximum(np.abs(C) - weights / rho, 0.0)
        if exclude_self:
            np.fill_diagonal(C, 0.0)
        U += ahead - C
        primal, dual = float(np.abs(A - C).max()), float(np.abs(C - before).max())
        if max(primal, dual) <= tol:
            break
        if turn % _BALANCE == 0 and not 0.1 * dual <= primal <= 10.0 * dual:
            step = 2.0 if primal > dual else 0.5
            rho, U, solve = rho * step, U / step, None
    return C[:, :n]


def _solver(B: Array) -> Callable[[Array], Array]:
    """Return the function that divides rows by I + BB', by the smaller of two factors."""
    n, k = B.shape
    if k >= n:
        factor = cho_factor(np.eye(n) + B @ B.T)
        return lambda R: np.asarray(cho_solve(factor, R.T).T)
    small = cho_factor(np.eye(k) + B.T @ B)
    return lambda R: np.asarray(R - cho_solve(small, (R @ B).T).T @ B.T)


class SparseSubspaceAffinity(SelfRepresentationAffinity):
    r"""Absolute coefficients of sparse subspace clustering, each point's over its largest, CSR.

    Options: `ratio`, `affine` and `errors`. The ratio, which the source has twice, is that of
    lambda_z and of lambda_e to the least values at which no point is represented by nothing: one
    over the least, over the points, of the largest product with another point, and of the largest
    absolute sum of another point. Where a point is within the hull of others its affine
    coefficients are not unique.
    """

    def __init__(self, *, ratio: float = 20.0, affine: bool = True, errors: bool = True) -> None:
        super().__init__(None)
        check_option("ratio", ratio, 1.0, np.inf)
        self.advice, self.ratio, self.least = "", ratio, (0.0, 0.0)
        self.options = {"affine": bool(affine), "errors": bool(errors)}

    def _code(self, X: Array, exclude_self: bool, **options: Any) -> Any:
        unit = float(np.abs(self.X).max()) or 1.0
        X, atoms = X / unit, self.X / unit
        if exclude_self:
            products = np.abs(atoms @ atoms.T)
            np.fill_diagonal(products, 0.0)
            sums = np.sort(np.abs(atoms).sum(axis=1))
            # The largest sum of another point is the largest of all, but for that point itself.
            self.least = products.max(axis=1).min(), sums[-2]
        lambdas = [self.ratio / least if least > 0 else 1.0 for least in self.least]
        C = np.abs(subspace_codes(X, atoms, *lambdas, exclude_self=exclude_self, **self.options))
        largest = C.max(axis=1, keepdims=True)
        C[_LEAST * largest > C] = 0.0
        return sparse.csr_array(C / np.where(largest > 0, largest, 1.0))
