r"""Weighted sums of given kernels, :math:`K_\theta = \sum_m \theta_m K_m`: multiple kernels.

With :math:`d_m = \sum_t \beta_t^\top K_m \beta_t` the energy is the largest
:math:`\frac12 \theta^\top d` over the allowed weights:

=================  ============================  ===================================
family             weights >= 0                  energy
=================  ============================  ===================================
`SimplexWeights`   sum to one [1]_               half the largest d_m
`BallWeights`      p-norm at most r [2]_         r / 2 times the q-norm of d
=================  ============================  ===================================

with 1/p + 1/q = 1 and :math:`r = R^{1/p - 1}` for R kernels: equal weights 1/R are on the surface
of every ball, and p from 1 to infinity leads from the simplex to the average of the kernels.

References
----------
.. [1] A. Rakotomamonjy, F. R. Bach, S. Canu, Y. Grandvalet, "SimpleMKL", Journal of Machine
   Learning Research 9 (2008).
.. [2] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, "Lp-norm multiple kernel learning", Journal of
   Machine Learning Research 12 (2011).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelfit.families.multiple.bank import Array, Bank, BankProducts
from kernelfit.families.multiple.by_rows import FactoredGram
from kernelfit.kernels.gram import DenseGram, Gram

# Of the largest weight: smaller ones are zero, and centres do not fall below, from where a kernel
# could not come back.
_LEAST = 1e-12


class KernelWeights(ABC):
    """Base of the families; a subclass says which weights are allowed.

    Parameters
    ----------
    bank : Bank
    make_kernel : callable
        From weights to the kernel for new points.
    """

    def __init__(self, bank: Bank, make_kernel: Callable[[Array], Any]) -> None:
        self.bank, self._make_kernel = bank, make_kernel
        self._latest: tuple[Array | None, Gram | None] = None, None

    @abstractmethod
    def best(self, d: Array) -> tuple[Array, float]:
        """Return the weights with the largest 1/2 theta'd, and that value."""

    @abstractmethod
    def soften(self, centre: Array, rho: float) -> "Softened":
        """Return a smooth energy: with a proximal term, or the energy itself if that is smooth."""

    def excess(self, theta: Array, d: Array) -> float:
        """Return how far 1/2 theta'd is below the energy."""
        best, energy = self.best(d)
        return max(0.5 * float((best - theta) @ d), 0.0) if energy > 0.0 else 0.0

    @property
    def initial(self) -> Array:
        """Equal weights."""
        return np.full(self.bank.size, 1.0 / self.bank.size)

    def respond(self, beta: Array) -> "WeightsResponse":
        """Return the response to dual solutions of shape (n_tasks, n)."""
        return WeightsResponse(self, self.bank.respond(beta))

    def gram(self, theta: Array, update: Array | None = None, few: bool = False) -> Gram:
        """Return the sum of the matrices, plus L L' for an update L."""
        latest, gram = self._latest
        if gram is None or latest is not theta:
            gram = self.bank.gram(theta)
            self._latest = theta, gram
        if update is None:
            return gram
        if gram.whole is None:
            return FactoredGram(gram, update.T, np.ones(update.shape[1]))
        return DenseGram(gram.whole + update @ update.T, gram.dtype)

    def penalty(self, theta: Array) -> float:
        """Return 0: all allowed weights are alike."""
        return 0.0

    def weights_of(self, theta: Array) -> Array:
        """Return theta, which is weights."""
        return theta

    def reweighted(self, theta: Array, weights: Array) -> Array:
        """Return the weights."""
        return weights

    def mix(self, theta: Array, other: Array, t: float) -> Array:
        """Return weights between two."""
        return (1.0 - t) * theta + t * other

    def kernel(self, theta: Array) -> Any:
        """Return the sum as a picklable callable ``k(X, Y)``."""
        return self._make_kernel(theta)


class WeightsResponse:
    """The response to dual solutions; see `kernelfit.solvers.saddle.problem.Response`."""

    def __init__(self, family: KernelWeights, products: BankProducts) -> None:
        self.family, self.products = family, products

    @cached_property
    def forms(self) -> Array:
        """The quadratic forms d."""
        return self.products.forms()

    @cached_property
    def _best(self) -> tuple[Array, float]:
        return self.family.best(self.forms)

    @property
    def theta(self) -> Array:
        """The best weights."""
        return self._best[0]

    @property
    def energy(self) -> float:
        """The largest 1/2 theta'd."""
        return self._best[1]

    def decision(self, theta: Array) -> Array:
        """Return K_theta beta, of shape (n_tasks, n)."""
        return self.products.sums(theta)

    def excess(self, theta: Array) -> float:
        """Return how far weights fall short of the energy."""
        return self.family.excess(theta, self.forms)

    def forms_with(self, other: "WeightsResponse") -> Array:
        """Return ``sum_t beta_t'K_m other_t`` for every kernel."""
        return self.products.forms(other.products)

    def curvature(self, root: "Root") -> Array:
        """Return L with L L' the Hessian of the softened energy less K_theta.

        Of shape (n_tasks, n, r): with W the columns K_m beta and J = G G' the derivative of the
        weights by d, it is ``sqrt(2) W G``.
        """
        values = self.products.values(root.kernels)
        return np.asarray(np.sqrt(2.0) * np.einsum("tmi,mr->tir", values, root.G, optimize=True))

    def mix(self, other: "WeightsResponse", t: float) -> "WeightsResponse":
        """Return the response to (1 - t) beta + t other_beta."""
        return WeightsResponse(self.family, self.products.mix(other.products, t))


@dataclass(frozen=True)
class Root:
    """The derivative of weights by d, as G G' on some kernels and 0 elsewhere."""

    kernels: Array
    G: Array


class Softened(ABC):
    """A smooth convex function of d in place of the energy; twice its gradient are weights."""

    @abstractmethod
    def weights(self, d: Array) -> Array:
        """Return the weights at d."""

    @abstractmethod
    def root(self, d: Array) -> Root:
        """Return the derivative of the weights at d."""


class SimplexWeights(KernelWeights):
    """Weights that sum to one."""

    def best(self, d: Array) -> tuple[Array, float]:
        """Return all weight on the kernel with the largest form, and half of that."""
        theta, m = np.zeros(self.bank.size), int(d.argmax())
        theta[m] = 1.0
        return theta, 0.5 * max(float(d[m]), 0.0)

    def excess(self, theta: Array, d: Array) -> float:
        """Return how far 1/2 theta'd is below the energy, without cancellation."""
        return 0.5 * float(theta @ (d.max() - d))

    def soften(self, centre: Array, rho: float) -> "Softened":
        """Return the energy with a proximal term, the entropy relative to a centre."""
        return _Entropic(np.log(np.maximum(centre, _LEAST)), rho)


@dataclass(frozen=True)
class _Entropic(Softened):
    """The largest ``1/2 theta'd - rho sum theta_m log(theta_m / c_m)`` over the simplex.

    Parameters
    ----------
    log_centre : ndarray of shape (n_kernels,)
    rho : float
    """

    log_centre: Array
    rho: float

    def weights(self, d: Array) -> Array:
        """Return weights proportional to ``c exp(d / (2 rho))``; negligible ones are 0."""
        exponents = self.log_centre + d / (2.0 * self.rho)
        theta = np.exp(exponents - exponents.max())
        theta[theta < _LEAST] = 0.0
        return np.asarray(theta / theta.sum())

    def root(self, d: Array) -> Root:
        """Return the root of ``(diag(theta) - theta theta') / (2 rho)``."""
        theta = self.weights(d)
        kernels = np.flatnonzero(theta)
        h = np.sqrt(theta[kernels])
        h /= np.linalg.norm(h)
        G = h[:, None] * (np.eye(len(h)) - np.outer(h, h)) / np.sqrt(2.0 * self.rho)
        return Root(kernels, G)


class BallWeights(KernelWeights):
    """Weights in a ball of the p-norm, 1 < p < infinity.

    Parameters
    ----------
    bank, make_kernel
        As for `KernelWeights`.
    p : float
    """

    def __init__(self, bank: Bank, make_kernel: Callable[[Array], Any], p: float) -> None:
        super().__init__(bank, make_kernel)
        self.p, self.q = p, p / (p - 1.0)
        self.radius = float(self.bank.size) ** (1.0 / p - 1.0)

    def best(self, d: Array) -> tuple[Array, float]:
        """Return the power mean of the forms; equal weights where all of them vanish."""
        d = np.maximum(d, 0.0)
        top = float(d.max())
        if top <= 0.0:
            return self.initial, 0.0
        norm = _norm(d / top, self.q)
        return self.radius * (d / (top * norm)) ** (self.q - 1.0), 0.5 * self.radius * top * norm

    def soften(self, centre: Array, rho: float) -> "Softened":
        """Return the energy itself."""
        return _PowerMean(self)


@dataclass(frozen=True)
class _PowerMean(Softened):
    """The energy ``r / 2 ||d||_q``, smooth where d is not 0."""

    family: BallWeights

    def weights(self, d: Array) -> Array:
        """Return the best weights."""
        return self.family.best(d)[0]

    def root(self, d: Array) -> Root:
        """Return the root of ``r (q - 1) / N diag(u^(q-2)) - ...``, u = d / N, N = ||d||_q.

        With h = u^(q/2), a unit vector, it is ``a (I - h h')`` for the diagonal a of u^((q-2)/2).
        """
        q, kernels = self.family.q, np.flatnonzero(d > 0.0)
        d = d[kernels]
        top = float(d.max())
        norm = _norm(d / top, q)
        u = d / (top * norm)
        h = u ** (0.5 * q)
        a = np.sqrt(self.family.radius * (q - 1.0) / (top * norm)) * u ** (0.5 * q - 1.0)
        return Root(kernels, a[:, None] * (np.eye(len(u)) - np.outer(h, h)))


def _norm(u: Array, q: float) -> float:
    return float(np.sum(u**q) ** (1.0 / q))
