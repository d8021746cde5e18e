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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Indices = NDArray[np.intp]


class KernelMatrix(Protocol):
    """The kernel matrix as a family reads it."""

    n: int

    def diagonal(self) -> FloatArray:
        """Return the diagonal."""

    def block(self, idx: Indices, exact: bool = False) -> FloatArray:
        """Return K[idx][:, idx]."""

    def parts(
        self, idx: Indices, exact: bool = False
    ) -> Iterator[tuple[Indices, NDArray[Any], Indices]]:
        """Yield (positions, source, places) such that K[idx[positions]] is source[places]."""


def products(K: KernelMatrix, idx: Indices, coef: FloatArray, power: int = 1) -> FloatArray:
    """Return ``K[:, idx] @ coef``, or with the entries of K squared for ``power=2``."""
    out = np.zeros((K.n, *coef.shape[1:]))
    for positions, source, places in K.parts(idx, exact=True):
        in_order = np.array_equal(places, np.arange(len(source)))
        rows = source if in_order else source[places]
        if power == 2:
            rows = np.square(rows, dtype=np.float64)  # not rounded where K is in float32
        out += rows.T @ coef[positions]
    return out


@dataclass(frozen=True, eq=False)
class Response(ABC):
    """The factor Theta*(beta) of a kernel matrix and what follows from it.

    Attributes
    ----------
    beta, weight : ndarray of shape (n,)
    eta : float
    energy : float
        The convex function of the module's head at beta.
    decision : ndarray of shape (n,)
        Its gradient ``(Theta o K) beta``, the decision values on the training points.
    """

    beta: FloatArray
    weight: FloatArray
    eta: float
    energy: float
    decision: FloatArray

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
        used = np.flatnonzero(shares.sum(axis=0))
        return np.asarray(shares[:, used] @ self.rows(used, K_rows(used)))

    def compact(self) -> Self:
        """Return the response on the support and one more point, which stands for all others.

        Rows of Theta off the support are equal, so this holds all of it.
        """
        support = self.support

        def take(values: FloatArray) -> FloatArray:
            return np.append(values[support], 0.0)

        small = replace(self, beta=take(self.beta), decision=take(self.decision))
        return replace(small, weight=np.append(self.weight[support], 1.0))

    @abstractmethod
    def diagonal(self, K_diagonal: FloatArray) -> FloatArray:
        """Return the diagonal of Theta; `K_diagonal` is that of K."""

    def matrix(self, K: FloatArray) -> FloatArray:
        """Return Theta as an n x n array."""
        return self.rows(np.arange(len(self.beta)), K)

    @abstractmethod
    def spectrum(self, K: KernelMatrix) -> FloatArray:
        """Return the non-zero eigenvalues of Theta with its copies counted, largest first."""

    def rank(self, K: KernelMatrix) -> int:
        """Return the numerical rank of Theta."""
        values = self.spectrum(K)
        limit = values.max(initial=0.0) * len(self.beta) * np.finfo(np.float64).eps
        return int(np.count_nonzero(values > limit))

    def ridge(self, K: KernelMatrix) -> FloatArray:
        """Return D. With tau = 0, ``(F o K) beta = (K + diag(D)) beta``: a local ridge."""
        support = self.support
        squares = self.beta[support] ** 2 / self.weight[support]
        return self.rate * products(K, support, squares, power=2) / self.weight

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


@dataclass(frozen=True)
class HadamardFamily(ABC):
    """A family of factors: its penalty and its response.

    Parameters
    ----------
    eta : float
        Weight of the penalty, > 0; infinity switches the adaptation off.
    weight : ndarray of shape (n,)
        Multiplicities of the points, > 0.
    """

    eta: float
    weight: FloatArray

    @property
    def neutral(self) -> float:
        """The entries of the response to beta = 0, all equal: the factor without adaptation."""
        return 1.0

    @abstractmethod
    def respond(self, K: KernelMatrix, beta: FloatArray) -> Response:
        """Return the response to beta."""

    def penalty_slope(self, theta: FloatArray, direction: FloatArray) -> float:
        """Return the derivative of the penalty at Theta, an n x n array, along a direction."""
        quadratic = self.weight @ ((theta - 1.0) * direction) @ self.weight
        return 2.0 * self.eta * float(quadratic)


def quartic_parts(K: KernelMatrix, beta: FloatArray, weight: FloatArray) -> tuple[FloatArray, ...]:
    """Return ``u = K beta``, ``q`` and ``(K o K) q``."""
    support = np.flatnonzero(beta)
    squares = beta * beta / weight
    u = products(K, support, beta[support])
    return u, squares, products(K, support, squares[support], power=2)
