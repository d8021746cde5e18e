r"""Bayesian multiple kernel learning (BMKL) by variational inference [1]_.

Every task t has coefficients :math:`a_t` of the points, intermediate outputs of every kernel and a
bias; the weights e of the kernels are shared:

.. math::

    a_{ti} \sim N(0, \lambda_{ti}^{-1}), \quad g_{tm} \sim N(K_m a_t, \upsilon^{-1} I), \quad
    e_m \sim N(0, \omega_m^{-1}), \quad b_t \sim N(0, \gamma_t^{-1}), \quad
    f_{ti} \sim N(e^\top g_{t \cdot i} + b_t, \epsilon^{-1})

In classification :math:`y_i f_i > \nu` and :math:`\epsilon = 1`; in regression f is the target. All
precisions have Gamma priors of shape and rate one. Each factor of the approximate posterior is
updated in closed form, the others fixed, so the evidence bound never falls. New points have the
mean :math:`\sum_m e_m k_m(x, \cdot)^\top a + b`.

These priors have a unit, for which the paper standardises its data: here the targets of a
regression get mean zero and variance one, and the kernels are divided by the mean of all their
k(x, x). The result is stated for targets and kernels as they came, the bound as that of the density
of these targets.

References
----------
.. [1] M. Gönen, "Bayesian efficient multiple kernel learning", International Conference on Machine
   Learning (2012).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammaln, log_ndtr, psi

from kernelfit.families.multiple.bank import Array, Bank
from kernelfit.learners.learner import Learned, Rows, Tasks
from kernelfit.solvers.result import Callback, FloatArray

_SHAPE, _RATE = 1.0, 1.0  # of the Gamma priors
_MARGIN = 1.0  # nu: neither class has the values in between
_RISE = 0.01  # of the tolerance: the largest relative rise of the bound in the last round
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class BayesLearner:
    """The learner of BMKL, on which costs have no bearing.

    Parameters
    ----------
    bank : Bank
        On the training rows.
    make_kernel : callable
        From weights to the kernel for new points.
    classify : bool
    tol : float
    max_iter : int
        Largest number of rounds.
    """

    bank: Bank
    make_kernel: Callable[[Array], Any]
    classify: bool
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
        """Fit the posterior of tasks on all rows; see `kernelfit.learners.learner.Learner`."""
        targets = np.stack([task.p for task in tasks])
        result = fit_bayes(
            self.bank,
            targets,
            self.classify,
            tol=_RISE * self.tol,
            max_iter=self.max_iter,
            callback=callback,
        )
        return Learned(
            x=result.coef,
            objective=result.bounds[-1],
            gap=np.nan,
            n_iter=len(result.bounds),
            converged=result.converged,
            history=tuple((bound, np.nan) for bound in result.bounds),
            status="non-convex",
            ending="tolerance" if result.converged else "max_iter",
            intercept=result.intercept,
            witness=result.coef,
            kernel=self.make_kernel(result.weights),
            theta=result.weights,
        )

    def path(
        self, rows: Rows, tasks_at: Callable[[float], Tasks], Cs: Sequence[float]
    ) -> Iterator[Learned]:
        """Yield the same result for every cost."""
        result = self.learn(rows, tasks_at(Cs[0]))
        yield from (result for _ in Cs)


@dataclass(frozen=True)
class BayesResult:
    """Outcome of `fit_bayes`.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
        The mean of e.
    coef : ndarray of shape (n_tasks, n)
        The means of a.
    intercept : ndarray of shape (n_tasks,)
        The means of b.
    bounds : list of float
        The evidence bound after every round.
    converged : bool
    """

    weights: Array
    coef: Array
    intercept: Array
    bounds: list[float]
    converged: bool


def fit_bayes(
    bank: Bank,
    targets: Array,
    classify: bool,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> BayesResult:
    """Run rounds of updates until the bound rises by at most a fraction.

    Parameters
    ----------
    bank : Bank
    targets : ndarray of shape (n_tasks, n)
        Labels -1 and 1, or targets.
    classify : bool
    tol : float
        Largest relative rise of the last round.
    max_iter : int
    callback : callable, default=None
        Called as ``callback(n_iter, bound, nan)``.

    Returns
    -------
    BayesResult
    """
    T, n = targets.shape
    centre, scale = (np.zeros(T), np.ones(T)) if classify else _location(targets)
    state = _Posterior(bank, (targets - centre[:, None]) / scale[:, None], classify)
    change = n * float(np.log(scale).sum())  # of the density, to that of the targets as they came
    bounds: list[float] = []
    converged = False
    while not converged and len(bounds) < max_iter:
        bounds.append(state.update() - change)
        if callback is not None:
            callback(len(bounds), bounds[-1], np.nan)
        rise = np.inf if len(bounds) == 1 else bounds[-1] - bounds[-2]
        converged = rise <= tol * abs(bounds[-1] + change)  # the same in all units
    coef = state.a * (scale * state.unit)[:, None]
    return BayesResult(state.be[T:], coef, centre + scale * state.be[:T], bounds, converged)


def _location(targets: Array) -> tuple[Array, Array]:
    """Return the mean and the standard deviation, one for constants, of the targets of each task.

    Both are found in units of the range, so that no square vanishes or overflows.
    """
    low, span = targets.min(axis=1), np.ptp(targets, axis=1)
    span[span == 0.0] = 1.0
    parts = (targets - low[:, None]) / span[:, None]
    deviation = parts.std(axis=1)
    deviation[deviation == 0.0] = 1.0
    return low + span * parts.mean(axis=1), span * deviation


class _Gamma:
    """Gamma posteriors of some precisions."""

    def __init__(self, shape: Any, rate: Any) -> None:
        self.shape, self.rate = shape, rate

    @property
    def mean(self) -> Any:
        return self.shape / self.rate

    @property
    def log(self) -> Any:
        """The mean of the logarithm."""
        return psi(self.shape) - np.log(self.rate)

    @property
    def divergence(self) -> float:
        """The divergence from the prior, summed."""
        a, r = self.shape, self.rate
        value = (a - _SHAPE) * psi(a) - gammaln(a) + gammaln(_SHAPE)
        return float(np.sum(value + _SHAPE * np.log(r / _RATE) + a * (_RATE - r) / r))


def _given(count: float, squares: Any) -> _Gamma:
    """Return the posterior of a precision with so many values of a given sum of squares."""
    return _Gamma(_SHAPE + 0.5 * count, _RATE + 0.5 * squares)


class _Posterior:
    """The factors of the approximate posterior; T tasks, R kernels, n points."""

    def __init__(self, bank: Bank, targets: Array, classify: bool) -> None:
        self.bank, self.y, self.classify = bank, targets, classify
        T, n = targets.shape
        R = bank.size
        self.unit = 1.0 / float(bank.diagonals().mean())
        self.squares = bank.sum_of_squares(self.unit)
        # Its eigenvalues are known up to this rounding, beyond which none is negative.
        self.squares[np.diag_indices(n)] += _EPS * np.trace(self.squares)
        # Every kernel begins with the whole of f as its output and an equal share in it.
        self.f = targets * (1.0 + _MARGIN) if classify else targets.copy()
        self.G = np.repeat(self.f[:, None], R, axis=1)
        self.be = np.concatenate([np.zeros(T), np.full(R, 1.0 / R)])
        self.be_cov = np.zeros((T + R, T + R))
        prior = _SHAPE / _RATE
        self.lam = _Gamma(np.full((T, n), prior), np.ones((T, n)))
        self.upsilon, self.epsilon = _Gamma(prior, 1.0), _Gamma(prior, 1.0)
        self.omega = _Gamma(np.full(R, prior), np.ones(R))
        self.gamma = _Gamma(np.full(T, prior), np.ones(T))
        self.a = np.zeros((T, n))

    @property
    def _noise(self) -> float:
        return 1.0 if self.classify else float(self.epsilon.mean)

    def update(self) -> float:
        """Update every factor once; return the bound."""
        T, n = self.y.shape
        R = self.bank.size
        total = 0.0
        # a and its precisions.
        upsilon = float(self.upsilon.mean)
        variance = np.empty((T, n))
        left = 0.0  # sum over tasks of tr(sum_m K_m^2 Cov(a))
        for t in range(T):
            precision = upsilon * self.squares
            precision[np.diag_indices(n)] += self.lam.mean[t]
            factor = cho_factor(precision, lower=True)
            right = self.unit * self.bank.sum_products(self.G[t])
            self.a[t] = cho_solve(factor, upsilon * right)
            covariance = cho_solve(factor, np.eye(n))
            variance[t] = np.diag(covariance)
            left += float(np.sum(self.squares * covariance))
            total += 0.5 * n - float(np.log(np.diag(factor[0])).sum())
        squares = variance + self.a**2
        self.lam = _given(1.0, squares)
        total += 0.5 * float(np.sum(self.lam.log - self.lam.mean * squares)) - self.lam.divergence
        # The outputs of the kernels.
        Ka = self.bank.respond(self.unit * self.a).values(np.arange(R))
        e, e_second = self.be[T:], self._second()[T:, T:]
        noise = self._noise
        G_cov = np.linalg.inv(upsilon * np.eye(R) + noise * e_second)
        for t in range(T):
            pull = self.f[t] * e[:, None] - self._second()[t, T:][:, None]
            self.G[t] = G_cov @ (upsilon * Ka[t] + noise * pull)
        total += 0.5 * T * n * (np.linalg.slogdet(G_cov)[1] + R)
        distance = float(np.sum((self.G - Ka) ** 2)) + left + T * n * float(np.trace(G_cov))
        self.upsilon = _given(T * n * R, distance)
        total += 0.5 * T * n * R * float(self.upsilon.log)
        total -= 0.5 * float(self.upsilon.mean) * distance + self.upsilon.divergence
        # Biases and weights.
        G_second = np.einsum("tmi,tli->ml", self.G, self.G) + T * n * G_cov
        precision = np.zeros((T + R, T + R))
        sums = self.G.sum(axis=2)
        precision[:T, :T] = np.diag(self.gamma.mean + noise * n)
        precision[:T, T:], precision[T:, :T] = noise * sums, noise * sums.T
        precision[T:, T:] = np.diag(self.omega.mean) + noise * G_second
        self.be_cov = np.linalg.inv(precision)
        right = np.concatenate([self.f.sum(axis=1), np.einsum("tmi,ti->m", self.G, self.f)])
        self.be = noise * self.be_cov @ right
        total += 0.5 * (np.linalg.slogdet(self.be_cov)[1] + T + R)
        second = np.diag(self._second())
        self.gamma, self.omega = _given(1.0, second[:T]), _given(1.0, second[T:])
        for precisions, values in ((self.gamma, second[:T]), (self.omega, second[T:])):
            total += 0.5 * float(np.sum(precisions.log - precisions.mean * values))
            total -= precisions.divergence
        return float(total + self._fit_outputs(G_cov))

    def _second(self) -> Array:
        """Return the second moments of biases and weights."""
        return self.be_cov + np.outer(self.be, self.be)

    def _fit_outputs(self, G_cov: Array) -> float:
        """Update f, or the noise; return their part of the bound."""
        T, n = self.y.shape
        b, e = self.be[:T], self.be[T:]
        mean = np.einsum("m,tmi->ti", e, self.G) + b[:, None]
        second = self._second()
        energy = 0.0  # sum of the second moments of e'g + b
        for t in range(T):
            energy += float(np.sum(second[T:, T:] * (n * G_cov + self.G[t] @ self.G[t].T)))
            energy += 2.0 * float(second[t, T:] @ self.G[t].sum(axis=1)) + n * second[t, t]
        if self.classify:
            z = self.y * mean - _MARGIN
            log_mass = log_ndtr(z)
            self.f = mean + self.y * np.exp(-0.5 * z**2 - log_mass) / np.sqrt(2.0 * np.pi)
            return float(log_mass.sum()) - 0.5 * (energy - float(np.sum(mean**2)))
        distance = float(np.sum(self.y**2 - 2.0 * self.y * mean)) + energy
        self.epsilon = _given(T * n, distance)
        fit = T * n * (float(self.epsilon.log) - np.log(2.0 * np.pi))
        value = 0.5 * fit - 0.5 * float(self.epsilon.mean) * distance
        return float(value - self.epsilon.divergence)
