r"""Kernel learning over positive matrices: the family joined to support vector machines.

.. math::

    \min_P\; \sum_t \max_{\beta_t}\; p_t^\top\beta_t - \epsilon\|\beta_t\|_1
    - \tfrac12 \beta_t^\top K_P\, \beta_t, \qquad P \succeq 0,\; \operatorname{tr} P = n_P

over one task, or over the tasks of a multiclass problem that share one kernel.
"""

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelfit.families.positive_matrix import PositiveMatrixFamily, diagonal, symmetric_gram
from kernelfit.families.volume_gram import VolumeGram
from kernelfit.kernels.monomials import Array, IntArray
from kernelfit.linalg.symmetric import DenseMatrix, LowRankMatrix
from kernelfit.solvers.certificate import duality_gap
from kernelfit.solvers.frank_wolfe import frank_wolfe
from kernelfit.solvers.fully_corrective import fully_corrective
from kernelfit.solvers.gram import DenseGram, RowGram
from kernelfit.solvers.primal_dual import accelerated_primal_dual, hybrid
from kernelfit.solvers.result import FloatArray
from kernelfit.solvers.saddle import Callback, SaddleResult
from kernelfit.solvers.svm_dual import solve_svm_dual

SOLVERS: dict[str, Callable[..., SaddleResult]] = {
    "auto": fully_corrective,
    "frank_wolfe": frank_wolfe,
    "fully_corrective": fully_corrective,
    "apd": accelerated_primal_dual,
    "hybrid": hybrid,
}
_MACHINE_ROUNDS = 1000
_FEW = 8  # fewer support vectors than one in so many points: only the rows needed are computed
_MIN_ROWS = 2048  # unless there are fewer points than this
_SWEEPS = 5  # over machines that are coupled


@dataclass(frozen=True)
class TaskResponse:
    """The responses of several tasks on the same points."""

    parts: tuple[Any, ...]  # BoxResponse or FeatureResponse, all of one kind

    def form(self, weight: Array) -> DenseMatrix | LowRankMatrix:
        """Return the sum over tasks and points of weight_i W_i."""
        forms = [part.form(w) for part, w in zip(self.parts, weight, strict=True)]
        total: DenseMatrix | LowRankMatrix = functools.reduce(operator.add, forms)
        return total

    def decision(self, U: Array | float) -> Array:
        """Return <W_i, U U'>, of shape (n_tasks, m)."""
        return np.stack([part.decision(U) for part in self.parts])

    def contract(self, left: Array, right: Array) -> Array:
        """Return left'W_i right, of shape (n_tasks, m, a, b)."""
        return np.stack([part.contract(left, right) for part in self.parts])

    def mix(self, other: "TaskResponse", t: float) -> "TaskResponse":
        """Return the response to (1 - t) beta + t other_beta."""
        pairs = zip(self.parts, other.parts, strict=True)
        return TaskResponse(tuple(mine.mix(theirs, t) for mine, theirs in pairs))


class KernelMachines:
    """The saddle-point problem of one kernel for one or more machines.

    Parameters
    ----------
    family : PositiveMatrixFamily
        On the training points.
    p : ndarray of shape (n_tasks, m)
        The linear terms: labels -1 and 1, or targets.
    lower, upper : ndarray of shape (n_tasks, m)
        The boxes of beta.
    epsilon : float
    fit_intercept : bool
    cache_bytes : float
        Up to this size the Gram matrix is held in memory; otherwise rows are computed on demand.
        Volumes of the basis are held besides where both fit.
    """

    def __init__(
        self,
        family: PositiveMatrixFamily,
        p: Array,
        lower: Array,
        upper: Array,
        *,
        epsilon: float,
        fit_intercept: bool,
        cache_bytes: float,
    ) -> None:
        self.family, self.p, self.lower, self.upper = family, p, lower, upper
        self.epsilon, self.fit_intercept = epsilon, fit_intercept
        self._cache_bytes = cache_bytes
        self._m = p.shape[1]
        matrices = cache_bytes / (8.0 * self._m**2)
        self._buffer = np.empty((self._m, self._m)) if matrices >= 1.0 else None
        if matrices >= 2.0 and family.volumes is None:
            family.keep_volumes()

    @property
    def size(self) -> int:
        """The order n_P of P."""
        return self.family.size

    def train(
        self,
        U: Array | float,
        start: Array | None,
        tol: float,
        *,
        update: Array | None = None,
        shift: Array | None = None,
    ) -> FloatArray:
        """Return the dual solutions for the factor U; see `kernelfit.solvers.saddle`."""
        functions = self.family.functions(U)
        centre = np.zeros_like(self.p) if start is None else start
        beta = centre.copy()
        sweeps = 1 if update is None or len(beta) == 1 else _SWEEPS
        # The sum over the tasks of L'(b - start), by which an update couples the machines.
        moved = np.zeros(0 if update is None else update.shape[-1])
        for _ in range(sweeps):
            for t, p in enumerate(self.p):
                L = None if update is None else update[t]
                p = p if shift is None else p + shift[t]
                if L is not None:
                    moved -= L.T @ (beta[t] - centre[t])
                    p = p + L @ (L.T @ centre[t] - moved)
                few = start is not None and _FEW * np.count_nonzero(beta[t]) < self._m
                beta[t] = solve_svm_dual(
                    self._gram(functions, L, few),
                    p,
                    self.lower[t],
                    self.upper[t],
                    epsilon=self.epsilon,
                    fit_intercept=self.fit_intercept,
                    tol=tol,
                    max_iter=_MACHINE_ROUNDS,
                    warm_start=None if start is None else beta[t],
                    assume_psd=True,
                ).x
                if L is not None:
                    moved += L.T @ (beta[t] - centre[t])
        return beta

    def _gram(self, functions: Any, L: Array | None, few: bool) -> DenseGram | RowGram:
        """Return K + L L', as a matrix or by rows, which is faster if few will be needed."""
        basis = self.family.basis
        if self.family.volumes is not None and self._buffer is not None:
            gram = VolumeGram(functions, self.family.volumes, L)
            if not few or self._m < _MIN_ROWS:
                return DenseGram(gram.fill(self._buffer))
            size = 16.0 * self._m**2 / _FEW  # twice as many rows as there are support vectors
            return RowGram(gram.rows, gram.diagonal, size, np.float64, compute_block=gram.block)
        if self._buffer is not None:
            return DenseGram(symmetric_gram(basis, functions, self._buffer, L))

        diag = diagonal(basis, functions)
        if L is not None:
            diag += np.einsum("ij,ij->i", L, L)

        def values(idx: IntArray, columns: IntArray | slice) -> Array:
            part = functions if isinstance(columns, slice) else functions.take(columns)
            out = np.empty((len(idx), len(part)))
            basis.fill(functions.take(idx), part, 0, out)
            if L is not None:
                out += L[idx] @ L[columns].T
            place = idx if isinstance(columns, slice) else np.arange(len(idx))
            out[np.arange(len(idx)), place] = diag[idx]
            return out

        return RowGram(
            lambda idx: values(idx, slice(None)),
            diag,
            self._cache_bytes,
            compute_block=lambda idx: values(idx, idx),
        )

    def respond(self, beta: Array) -> TaskResponse:
        """Return the response to dual solutions."""
        return TaskResponse(tuple(self.family.response(b) for b in beta))

    def kappa(self, beta: Array) -> float:
        """Return the sum over the tasks of p'beta - epsilon ||beta||_1."""
        return float(np.sum(self.p * beta) - self.epsilon * np.sum(np.abs(beta)))

    def machine_gap(self, beta: Array, decision: Array) -> tuple[float, FloatArray, float]:
        """Return the duality gap of the machines given K beta, best intercepts and resolution."""
        total, intercept, resolution = 0.0, np.zeros(len(beta)), 0.0
        for t, b in enumerate(beta):
            gap, _, intercept[t], rounding = duality_gap(
                decision[t] - self.p[t], self.p[t], b, self.lower[t], self.upper[t],
                self.epsilon, self.fit_intercept,
            )  # fmt: skip
            total += gap
            resolution += rounding
        return total, intercept, resolution


def merge_rows(X: Array, y: Array, weight: Array) -> tuple[IntArray, FloatArray]:
    """Return one row of each set of equal rows of weight > 0, and the weights of the sets.

    Rows are equal where both X and y are. One row of the summed weight is the same problem, and the
    order of the result depends on the values alone, so that repeated rows and weights give the
    same training set.

    Parameters
    ----------
    X : ndarray of shape (m, n)
    y : ndarray of shape (m,)
    weight : ndarray of shape (m,)

    Returns
    -------
    rows : ndarray of int
        The first row of every set.
    total : ndarray of shape (len(rows),)
    """
    used = np.flatnonzero(weight)
    keys = np.column_stack([X[used], y[used]])
    order = np.lexsort(keys.T[::-1])
    keys = keys[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.any(keys[1:] != keys[:-1], axis=1)
    starts = np.flatnonzero(fresh)
    rows = used[order]
    return np.minimum.reduceat(rows, starts), np.add.reduceat(weight[rows], starts)


def learn_kernel(
    machines: KernelMachines,
    *,
    solver: str,
    tol: float,
    max_iter: int,
    start: tuple[Array, Array] | None = None,
    callback: Callback | None = None,
) -> SaddleResult:
    """Learn the kernel of one or more machines.

    Parameters
    ----------
    machines : KernelMachines
    solver : {"auto", "frank_wolfe", "fully_corrective", "apd", "hybrid"}
    tol : float
        Relative gap to stop at.
    max_iter : int
    start : (beta, U), default=None
        Dual solutions and a factor of P to start from.
    callback : callable, default=None
        Called as ``callback(n_iter, objective, gap)``.

    Returns
    -------
    SaddleResult
    """
    return SOLVERS[solver](machines, tol=tol, max_iter=max_iter, start=start, callback=callback)
