r"""Deep multiple kernel learning (DMKL) by the span bound [1]_.

Two layers of kernels: a sum of the bank, and a sum of kernels in the feature space of that sum,

.. math::

    k_1 = \sum_m \mu_m k_m, \qquad
    k = \nu_1 k_1 + \nu_2 \exp(-\|\phi_1(x) - \phi_1(y)\|^2) + \nu_3 (1 + k_1)^2 / 4

with all weights >= 0 and each layer's summing to one. The weights descend the smoothed span
estimate of the leave-one-out error [2]_,

.. math::

    T = \sum_p \Psi(\alpha_p S_p^2 - 1), \qquad
    S_p^2 = \frac{1}{(\tilde K^{-1})_{pp}} - \frac{\eta}{\alpha_p}, \qquad
    \tilde K = \begin{pmatrix} K + \operatorname{diag}(\eta / \alpha) & 1 \\ 1 & 0 \end{pmatrix}

over the support vectors, by exponentiated gradients with the dual solution held, and the machine is
trained anew for every trial: a step is taken where T falls. T is not convex in the weights. The
third kernel of the paper, a sigmoid, is left out: it is not positive semidefinite.

References
----------
.. [1] E. V. Strobl, S. Visweswaran, "Deep multiple kernel learning", International Conference on
   Machine Learning and Applications (2013).
.. [2] O. Chapelle, V. Vapnik, O. Bousquet, S. Mukherjee, "Choosing multiple parameters for support
   vector machines", Machine Learning 46 (2002).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from kernelfit.families.multiple.bank import Array, Bank
from kernelfit.families.multiple.kernels import DeepKernel, WeightedSum, outer_kernels
from kernelfit.kernels.gram import DenseGram
from kernelfit.learners.learner import Learned, Rows, Tasks, path_by_starts
from kernelfit.learners.multiple.learner import join
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.solvers.result import Callback, DualResult, FloatArray
from kernelfit.tasks.task import Task

_SMOOTHING = 0.1  # eta
_SLOPE = 5.0  # of Psi(x) = 1 / (1 + exp(-5 x))
_STEP, _SHORTEST, _LONGER = 1.0, 1e-3, 2.0
_LEAST = 1e-9  # of the largest weight: smaller ones are 0
_FALL = 1e-3  # of T: the least that a step must gain


@dataclass(frozen=True, eq=False)
class DeepLearner:
    """The learner.

    Parameters
    ----------
    bank : Bank
        On the training rows.
    members : tuple of callable
        Its kernels on raw data.
    tol : float
        Relative gap of the machines.
    max_iter : int
        Largest number of steps, and of rounds of a machine.
    """

    bank: Bank
    members: tuple[Any, ...]
    tol: float
    max_iter: int

    def learn(
        self,
        rows: Rows,
        tasks: Tasks,
        *,
        start: tuple[FloatArray, Any] | None = None,
        callback: Callback | None = None,
    ) -> Learned:
        """Learn both layers for tasks on all rows; see `kernelfit.learners.learner.Learner`."""
        inner, outer, machines, _ = descend(self.bank, tasks, tol=self.tol, max_iter=self.max_iter)
        kernel = DeepKernel(WeightedSum(self.members, inner), outer)
        return join(machines, kernel, inner)

    def path(
        self, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
    ) -> Iterator[Learned]:
        """Yield the results for increasing costs."""
        return path_by_starts(self, rows, tasks_at, Cs)


def descend(
    bank: Bank, tasks: Tasks, *, tol: float, max_iter: int
) -> tuple[Array, Array, list[DualResult], list[float]]:
    """Descend the span estimate from equal weights.

    Parameters
    ----------
    bank : Bank
    tasks : tuple of Task
        Of classification.
    tol : float
        Relative gap of the machines.
    max_iter : int

    Returns
    -------
    inner : ndarray of shape (n_kernels,)
    outer : ndarray of shape (3,)
    machines : list of DualResult
    values : list of float
        T before and after every step, falling.
    """
    inner, outer = np.full(bank.size, 1.0 / bank.size), np.full(3, 1.0 / 3.0)
    machines = _train(bank, tasks, inner, outer, None, tol)
    value, *slopes = span_estimate(bank, tasks, inner, outer, _solutions(machines))
    values, step = [value], _STEP
    while len(values) <= max_iter and step > _SHORTEST:
        new = _exponentiated(inner, slopes[0], step), _exponentiated(outer, slopes[1], step)
        trial = _train(bank, tasks, *new, _solutions(machines), tol)
        found, *new_slopes = span_estimate(bank, tasks, *new, _solutions(trial))
        if found < value * (1.0 - _FALL):
            inner, outer = new
            machines, value, slopes = trial, found, new_slopes
            values.append(value)
            step *= _LONGER
        else:
            step *= 0.25
    return inner, outer, machines, values


def _solutions(machines: Sequence[DualResult]) -> list[Array]:
    return [machine.x for machine in machines]


def _exponentiated(weights: Array, slope: Array, step: float) -> Array:
    """Return weights that moved against a slope, on the simplex."""
    size = float(np.ptp(slope))
    if size == 0.0:
        return weights
    moved = weights * np.exp(-step * (slope - slope.min()) / size)
    moved[moved < _LEAST * moved.max()] = 0.0
    return np.asarray(moved / moved.sum())


def _train(
    bank: Bank, tasks: Tasks, inner: Array, outer: Array, start: list[Array] | None, tol: float
) -> list[DualResult]:
    K1 = bank.combine(inner)
    gram = DenseGram(np.tensordot(outer, outer_kernels(K1, np.diag(K1), np.diag(K1)), 1))
    return [
        solve_dual(
            gram,
            task,
            tol=tol,
            start=None if start is None else start[t],
            assume_psd=True,
            polish=True,
        )
        for t, task in enumerate(tasks)
    ]


def span_estimate(
    bank: Bank, tasks: Tasks, inner: Array, outer: Array, betas: Sequence[Array]
) -> tuple[float, Array, Array]:
    """Return T, summed over the tasks, and its slopes by both layers with the betas held.

    Parameters
    ----------
    bank : Bank
    tasks : tuple of Task
    inner, outer : ndarray
        The weights of both layers.
    betas : sequence of ndarray of shape (n,)
        Dual solutions.

    Returns
    -------
    value : float
    inner_slope : ndarray of shape (n_kernels,)
    outer_slope : ndarray of shape (3,)
    """
    K1 = bank.combine(inner)
    d = np.diag(K1)
    parts = outer_kernels(K1, d, d)
    K = np.tensordot(outer, parts, 1)
    total, A = 0.0, np.zeros_like(K)
    for task, beta in zip(tasks, betas, strict=True):
        value, support, slope = _span(K, task, np.abs(beta))
        total += value
        A[np.ix_(support, support)] += slope
    outer_slope = np.array([float(np.sum(A * part)) for part in parts])
    # By K_1: of the Gaussian, exp(2 K_1 - d_i - d_j), also through the diagonals.
    gaussian = outer[1] * A * parts[1]
    M = outer[0] * A + 2.0 * gaussian + 0.5 * outer[2] * A * (1.0 + K1)
    M[np.diag_indices_from(M)] -= 2.0 * gaussian.sum(axis=1)
    return total, bank.inner_products(M), outer_slope


def _span(K: Array, task: Task, alpha: Array) -> tuple[float, Array, Array]:
    """Return T of one task, its support vectors and the slope of T by K on them."""
    support = np.flatnonzero(alpha)
    a = alpha[support]
    m = len(support)
    if not m:
        return 0.0, support, np.zeros((0, 0))
    bordered = np.zeros((m + 1, m + 1))
    bordered[:m, :m] = K[np.ix_(support, support)]
    bordered[np.arange(m), np.arange(m)] += _SMOOTHING / a
    if task.has_intercept:
        bordered[m, :m] = bordered[:m, m] = 1.0
    else:
        bordered[m, m] = 1.0
    inverse = np.linalg.inv(bordered)[:m, :m]
    diagonal = np.diag(inverse)
    span = 1.0 / diagonal - _SMOOTHING / a
    psi = expit(_SLOPE * (a * span - 1.0))
    # d(1 / q_p) = (inverse dK inverse)_pp / q_p^2.
    weight = _SLOPE * psi * (1.0 - psi) * a / diagonal**2
    return float(psi.sum()), support, (inverse * weight) @ inverse
