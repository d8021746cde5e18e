r"""What the two families of entrywise factors, DANK's F and KNPL's G, have in common.

The learned kernel is ``Theta o K`` with a psd matrix Theta, and for a dual variable beta the saddle
problem leaves

    h(beta) = kappa(beta) - energy(beta),
    energy  = max over Theta of  1/2 beta'(Theta o K)beta - R(Theta),  shifted to energy(0) = 0,

which is convex with gradient ``(Theta* o K) beta``, Theta* being the maximiser, the *response*.

Sample weights are multiplicities. A point of weight m stands for m copies whose coefficients are
all ``beta_i / m``, and whose rows of Theta are equal, since the problem is concave in beta and
symmetric in the copies. In the penalties a copy counts like any point, so that all depends on

==========  ===========================  ================================================
symbol      code                         meaning
==========  ===========================  ================================================
w, N        ``weight``, ``total``        weights and their sum
a           ``root``                     ``sqrt(w)``: the vector 1 of the copies
c           ``coef``                     ``beta / w``: the coefficient of a single copy
x           ``scaled``                   ``beta / a``; ``||x||^2`` is ``||alpha||^2`` of the copies
q           ``squares``                  ``x o x``
rate        ``rate``                     ``1 / (4 eta)``
Gamma                                    ``rate (c c' o K)``; DANK's Eq. (8), KNPL's Lemma 1
Gamma~                                   ``rate (x x' o K)``, Gamma with the copies counted
D           ``ridge``                    ``rate ((K o K) q) / w``
==========  ===========================  ================================================

References
----------
.. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Learning Data-adaptive Non-parametric Kernels".
   Journal of Machine Learning Research 21, 2020. http://jmlr.org/papers/v21/19-900.html
.. [2] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Nonlinear Pairwise Layer and Its Training for
   Kernel Learning". AAAI Conference on Artificial Intelligence, 2018.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.gram import DenseGram, Gram, RowGram
from kernelfit.tasks.task import Task

FloatArray = NDArray[np.float64]
Indices = NDArray[np.intp]

# Up to this order the tighter bound on the Hessian, some products of n x n matrices, pays.
_MAX_TIGHT = 5000
_CACHE_BYTES = 2**28
_CHUNK = 64


@dataclass(frozen=True, eq=False)
class HadamardResponse(ABC):
    """The factor Theta*(beta) of a kernel matrix and what follows from it.

    Attributes
    ----------
    beta, weight : ndarray of shape (n,)
    eta, tau : float
    energy : float
        The convex function of the module's head at beta.
    values : ndarray of shape (n,)
        Its gradient ``(Theta o K) beta``, the decision values on the training points.
    gram : Gram or None
        The kernel matrix; None in a compact response, which is kept without it.
    kernel_values : ndarray of shape (n,) or None
        ``K beta``, where it was computed on the way.
    """

    beta: FloatArray
    weight: FloatArray
    eta: float
    tau: float
    energy: float
    values: FloatArray
    gram: Gram | None = field(repr=False)
    kernel_values: FloatArray | None = field(default=None, kw_only=True, repr=False)

    @property
    def theta(self) -> Self:
        """The factor, which the response itself stands for."""
        return self

    def decision(self, theta: Any) -> FloatArray:
        """Return ``(Theta o K) beta``, of shape (1, n), for a response or an n x n array."""
        if theta is self:
            return np.asarray(self.values[None])
        K = whole(self.gram)
        return np.asarray(((dense(theta, K) * K) @ self.beta)[None])

    def excess(self, theta: Any) -> float:
        """Return by how much another factor falls short of the energy.

        Up to a constant what is maximised is ``-eta ||Theta - A||^2 - tau eta tr Theta`` with
        ``A = 11' + Gamma``, copies counted.
        """
        if theta is self:
            return 0.0
        K = whole(self.gram)
        A = 1.0 + self.rate * np.outer(self.coef, self.coef) * K

        def short(factor: FloatArray) -> float:
            square = float(self.weight @ ((factor - A) ** 2) @ self.weight)
            return self.eta * (square + self.tau * float(self.weight @ np.diagonal(factor)))

        return short(dense(theta, K)) - short(dense(self, K))

    @property
    def rate(self) -> float:
        """``1 / (4 eta)``."""
        return 0.25 / self.eta

    @property
    def coef(self) -> FloatArray:
        """The coefficient of a single copy of every point."""
        return np.asarray(self.beta / self.weight)

    @property
    def support(self) -> Indices:
        """The points with a coefficient."""
        return np.flatnonzero(self.beta)

    @abstractmethod
    def rows(self, idx: Indices, K_rows: FloatArray) -> FloatArray:
        """Return Theta[idx]; `K_rows` is K[idx], of which columns off the support do not matter."""

    def averages(self, shares: Any, K_rows: Callable[[Indices], FloatArray]) -> FloatArray:
        """Return ``shares @ Theta`` for a dense or sparse array; `K_rows` returns rows of K."""
        used = np.flatnonzero(abs(shares).sum(axis=0))
        return np.asarray(shares[:, used] @ self.rows(used, K_rows(used)))

    def compact(self) -> Self:
        """Return the response on the support and one more point, which stands for all others.

        Rows of Theta off the support are equal, so this holds all of it.
        """
        support = self.support

        def take(values: FloatArray) -> FloatArray:
            return np.append(values[support], 0.0)

        weight = np.append(self.weight[support], 1.0)
        return replace(
            self,
            beta=take(self.beta),
            values=take(self.values),
            weight=weight,
            gram=None,
            kernel_values=None,
        )

    @abstractmethod
    def diagonal(self, K_diagonal: FloatArray) -> FloatArray:
        """Return the diagonal of Theta; `K_diagonal` is that of K."""

    def matrix(self, K: FloatArray) -> FloatArray:
        """Return Theta as an n x n array."""
        return np.asarray(self.rows(np.arange(len(self.beta)), K))

    def ridge(self, K: Gram) -> FloatArray:
        """Return D. With tau = 0, ``(F o K) beta = (K + diag(D)) beta``: a local ridge."""
        support = self.support
        squares = self.beta[support] ** 2 / self.weight[support]
        return self.rate * K.product(support, squares, power=2) / self.weight

    def curvature_rows(self, idx: Indices, K_rows: FloatArray, ridge: FloatArray) -> FloatArray:
        """Return rows of a bound on the Hessian of the energy: ``(Theta + Gamma) o K + diag(D)``.

        Along a direction d the response changes by the derivative of a projection, which is at
        most that of its argument: ``2 eta (||Gamma'||^2 + <Theta, Gamma''>)`` bounds the second
        derivative, with equality for DANK at tau = 0.
        """
        coef = self.coef
        out = self.rows(idx, K_rows)
        out += (self.rate * coef[idx])[:, None] * (coef * K_rows)
        out *= K_rows
        out[np.arange(len(idx)), idx] += ridge[idx]
        return out

    def curvature(self, K: FloatArray, ridge: FloatArray) -> FloatArray:
        """Return a bound on the Hessian as an n x n array, tighter than its rows on demand."""
        return self.curvature_rows(np.arange(len(self.beta)), K, ridge)

    def curvature_diagonal(self, K_diagonal: FloatArray, ridge: FloatArray) -> FloatArray:
        """Return the diagonal of that bound."""
        gamma = self.rate * self.coef**2 * K_diagonal
        return np.asarray((self.diagonal(K_diagonal) + gamma) * K_diagonal + ridge)


def dense(theta: Any, K: FloatArray) -> FloatArray:
    """Return a factor, given as a response or as an array, as an n x n array."""
    matrix: FloatArray = theta if isinstance(theta, np.ndarray) else theta.matrix(K)
    return matrix


def whole(gram: Gram | None) -> FloatArray:
    """Return the kernel matrix as an array.

    Parameters
    ----------
    gram : Gram or None

    Returns
    -------
    ndarray of shape (n, n)
    """
    if gram is None or gram.whole is None:
        raise ValueError("expected a kernel matrix in memory for this solver; raise cache_size")
    return np.asarray(gram.whole, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class HadamardFamily(ABC):
    """A family of factors: its penalty and its response.

    Parameters
    ----------
    source : Gram
        The kernel matrix K.
    weight : ndarray of shape (n,)
        Multiplicities of the points, > 0.
    eta : float
        Weight of the penalty, > 0; infinity switches the adaptation off.
    extend : callable, default=None
        From a response to the kernel on new points, for `kernel`.
    """

    source: Gram
    weight: FloatArray
    eta: float
    extend: Callable[[Any], Callable[..., FloatArray]] | None = None

    @property
    def tau(self) -> float:
        """Weight of the nuclear norm relative to eta."""
        return 0.0

    @property
    def neutral(self) -> float:
        """The entries of the response to beta = 0, all equal: the factor without adaptation."""
        return 1.0

    @abstractmethod
    def respond_to(self, beta: FloatArray) -> HadamardResponse:
        """Return the response to the dual solution of one task."""

    def respond(self, beta: FloatArray) -> HadamardResponse:
        """Return the response to the dual solution of the only task, of shape (1, n)."""
        if len(beta) != 1:
            raise ValueError(f"expected one task for an entrywise factor, got {len(beta)}")
        return self.respond_to(beta[0])

    @property
    def initial(self) -> FloatArray:
        """The factor without adaptation as an n x n array."""
        return np.full((self.source.n, self.source.n), self.neutral)

    def neutral_decision(self, response: HadamardResponse) -> FloatArray:
        """Return the decision values with the factor without adaptation, ``neutral K beta``."""
        values = response.kernel_values
        if values is None:
            support = response.support
            values = self.source.product(support, response.beta[support])
        return np.asarray(self.neutral * values)

    def gram(self, theta: Any, update: FloatArray | None = None, few: bool = False) -> DenseGram:
        """Return ``Theta o K`` for a response or an n x n array, plus L L' for an update L."""
        K = whole(self.source)
        learned = dense(theta, K) * K
        return DenseGram(learned if update is None else learned + update @ update.T)

    def penalty(self, theta: Any) -> float:
        """Return ``eta ||Theta - 11'||^2 + tau eta tr Theta``, less its least value."""
        factor = dense(theta, whole(self.source))
        change = factor - self.neutral
        square = float(self.weight @ (change**2) @ self.weight)
        rows = float(self.weight @ change @ self.weight)
        trace = float(self.weight @ np.diagonal(change))
        return self.eta * (square + 2.0 * (self.neutral - 1.0) * rows + self.tau * trace)

    def penalty_slope(self, theta: FloatArray, direction: FloatArray) -> float:
        """Return the derivative of the penalty at Theta, an n x n array, along a direction."""
        quadratic = float(self.weight @ ((theta - 1.0) * direction) @ self.weight)
        trace = float(self.weight @ np.diagonal(direction))
        return self.eta * (2.0 * quadratic + self.tau * trace)

    def dense(self, response: HadamardResponse) -> FloatArray:
        """Return a response as an n x n array."""
        return dense(response, whole(self.source))

    def kernel(self, theta: Any) -> Callable[..., FloatArray]:
        """Return the kernel on new points, by the rule that the family was given."""
        if self.extend is None:
            raise ValueError("expected a family with a rule for new points")
        return self.extend(theta)

    def lipschitz(self, task: Task, projected: bool) -> float:
        """Return the Lipschitz constant of the gradient, as the DANK paper bounds it.

        Parameters
        ----------
        task : Task
        projected : bool
            Whether for Eq. (17) of [1]_ or for its Algorithms 1 and 2, of the journal version.

        Returns
        -------
        float
            With weights counted as copies.
        """
        K = whole(self.source)
        n = float(self.weight.sum())
        C = float((np.maximum(task.upper, -task.lower) / self.weight).max())
        if projected:
            L = n + n * C**2 / (4.0 * self.eta) * float(np.linalg.eigvalsh(K)[-1])
        elif task.epsilon > 0.0:
            L = 2.0 * (n + 9.0 * n * C**2 * float(np.linalg.norm(K)) / (4.0 * self.eta))
        else:
            L = n + 3.0 * n * C**2 * float(np.linalg.norm(K)) / (4.0 * self.eta)
        return L * float(np.abs(K).max()) / float(self.weight.min())

    @property
    def metric(self) -> FloatArray:
        """The scale of the curvature at every point, ``diag(K) / w``."""
        return np.asarray(self.source.diagonal() / self.weight)

    def curvature(
        self,
        response: HadamardResponse,
        tight: bool,
        damping: FloatArray,
        space: FloatArray | None,
    ) -> Gram:
        """Return a bound on the Hessian of the energy, damped on its diagonal.

        Parameters
        ----------
        response : HadamardResponse
        tight : bool
            Whether to take a dearer and tighter bound where that pays.
        damping : ndarray of shape (n,)
        space : ndarray of shape (n, n) or None
            Where to write the bound; None for rows on demand.

        Returns
        -------
        Gram
        """
        gram = self.source
        ridge = response.ridge(gram)
        if tight and gram.n <= _MAX_TIGHT:
            K = gram.block(np.arange(gram.n), exact=True) if gram.whole is None else gram.whole
            Q = response.curvature(K, ridge)
            Q[np.diag_indices_from(Q)] += damping
            return DenseGram(Q)
        ridge += damping
        if gram.whole is not None and space is not None:
            for first in range(0, gram.n, _CHUNK):  # so that what is passing stays in cache
                idx = np.arange(first, min(first + _CHUNK, gram.n))
                space[idx] = response.curvature_rows(idx, gram.rows(idx), ridge)
            return DenseGram(space)

        def rows(idx: Indices) -> FloatArray:
            return response.curvature_rows(idx, gram.rows(idx), ridge)

        diagonal = response.curvature_diagonal(gram.diagonal(), ridge)
        return RowGram(rows, diagonal, _CACHE_BYTES, np.float64)


def quartic_parts(K: Gram, beta: FloatArray, weight: FloatArray) -> tuple[FloatArray, ...]:
    """Return ``u = K beta``, ``q`` and ``(K o K) q``."""
    support = np.flatnonzero(beta)
    squares = beta * beta / weight
    u, s = np.zeros(len(beta)), np.zeros(len(beta))
    K.accumulate_squares(support, beta[support], squares[support], u, s, exact=True)
    return u, squares, s
