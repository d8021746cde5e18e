r"""Deep multiple kernel learning (DMKL) by the span bound [1]_.

One to three layers of kernels: a sum of the bank, and sums of kernels in the feature space of the
layer before,

.. math::

    k_1 = \sum_m \mu_m k_m, \qquad
    k_{l+1} = \nu_{l1} k_l + \nu_{l2} \exp(-\|\phi_l(x) - \phi_l(y)\|^2)
    + \nu_{l3} \frac{(1 + k_l)^2}{4} + \nu_{l4} \frac{(1 + k_l)^3}{8}

with all weights >= 0 and each layer's summing to one. The authors' code has these four kinds in
every layer, each divided by the norms of the points. Where the bank is, all layers are: then
k_l(x, x) = 1. It takes the width of the first layer's Gaussian for all of them; here it is 1.

The weights descend the smoothed span estimate of the leave-one-out error [2]_,

.. math::

    T = \sum_p \Psi(\alpha_p S_p^2 - 1), \qquad
    S_p^2 = \frac{1}{(\tilde K^{-1})_{pp}} - \frac{\eta}{\alpha_p}, \qquad
    \tilde K = \begin{pmatrix} K + \operatorname{diag}(\eta / \alpha) & 1 \\ 1 & 0 \end{pmatrix}

over the support vectors, by exponentiated gradients with the dual solution held, and the machine is
trained anew for every trial: a step is taken where T falls. T is not convex in the weights. The
paper's text has a sigmoid for the cubic kernel; it is not positive semidefinite.

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
    n_layers : int
    """

    bank: Bank
    members: tuple[Any, ...]
    tol: float
    max_iter: int
    n_layers: int

    def learn(
        self,
        rows: Rows,
        tasks: Tasks,
        *,
        start: tuple[FloatArray, Any] | None = None,
        callback: Callback | None = None,
    ) -> Learned:
        """Learn all layers for tasks on all rows; see `kernelfit.learners.learner.Learner`."""
        inner, outer, machines, _ = descend(
            self.bank, tasks, self.n_layers, tol=self.tol, max_iter=self.max_iter
        )
        kernel = DeepKernel(WeightedSum(self.members, inner), outer)
        return join(machines, kernel, inner)

    def path(
        self, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
    ) -> Iterator[Learned]:
        """Yield the results for increasing costs."""
        return path_by_starts(self, rows, tasks_at, Cs)


def descend(
    bank: Bank, tasks: Tasks, n_layers: int, *, tol: float, max_iter: int
) -> tuple[Array, Array, list[DualResult], list[float]]:
    """Descend the span estimate from equal weights.

    Parameters
    ----------
    bank : Bank
    tasks : tuple of Task
        Of classification.
    n_layers : int
    tol : float
        Relative gap of the machines.
    max_iter : int

    Returns
    -------
    inner : ndarray of shape (n_kernels,)
    outer : ndarray of shape (n_layers - 1, 4)
    machines : list of DualResult
    values : list of float
        T before and after every step, falling.
    """
    inner, outer = np.full(bank.size, 1.0 / bank.size), np.full((n_layers - 1, 4), 0.25)
    machines = _train(bank, tasks, inner, outer, None, tol)
    value, *slopes = span_estimate(bank, tasks, inner, outer, _solutions(machines))
    values, step = [value], _STEP
    while len(values) <= max_iter and step > _SHORTEST:
        moved = [_exponentiated(*layer, step) for layer in zip(outer, slopes[1], strict=True)]
        new = _exponentiated(inner, slopes[0], step), np.reshape(moved, outer.shape)
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
    gram = DenseGram(_layers(bank, inner, outer)[-1][0])
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


def _layers(bank: Bank, inner: Array, outer: Array) -> list[tuple[Array, Array]]:
    """Return each layer's kernel matrix, and the kernels of the next layer, none after the last."""
    K, found = bank.combine(inner), []
    for weights in outer:
        d = np.diag(K)
        parts = outer_kernels(K, d[:, None] + d)
        found.append((K, parts))
        K = np.tensordot(weights, parts, 1)
    return [*found, (K, K[:0])]


def span_estimate(
    bank: Bank, tasks: Tasks, inner: Array, outer: Array, betas: Sequence[Array]
) -> tuple[float, Array, Array]:
    """Return T, summed over the tasks, and its slopes by both layers with the betas held.

    Parameters
    ----------
    bank : Bank
    tasks : tuple of Task
    inner, outer : ndarray
        The weights of the layers.
    betas : sequence of ndarray of shape (n,)
        Dual solutions.

    Returns
    -------
    value : float
    inner_slope : ndarray of shape (n_kernels,)
    outer_slope : ndarray of shape (n_layers - 1, 4)
    """
    layers = _layers(bank, inner, outer)
    K = layers[-1][0]
    total, A = 0.0, np.zeros_like(K)
    for task, beta in zip(tasks, betas, strict=True):
        value, support, slope = _span(K, task, np.abs(beta))
        total += value
        A[np.ix_(support, support)] += slope
    outer_slope = np.zeros_like(outer)
    for layer in reversed(range(len(outer))):
        K, parts = layers[layer]
        linear, gaussian, quadratic, cubic = outer[layer]
        outer_slope[layer] = np.tensordot(parts, A, 2)
        # Of the Gaussian, exp(2 K_ij - K_ii - K_jj), also through the diagonals.
        G = gaussian * A * parts[1]
        A = A * (linear + quadratic * (0.5 + 0.5 * K) + 1.5 * cubic * parts[2]) + 2.0 * G
        A[np.diag_indices_from(A)] -= 2.0 * G.sum(axis=1)
    return total, bank.inner_products(A), outer_slope


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
