r"""The semidefinite relaxation of maximum margin clustering, by an interior point method.

Of all labels y in {-1, 1} with :math:`|c'y| \le \ell`, those are wanted whose support vector
machine has the least objective,

.. math:: \min_y \max_{0 \le \alpha \le C}\; 1'\alpha - \tfrac12 \alpha'(K \circ yy')\alpha.

Relaxing yy' to a positive semidefinite M with a unit diagonal and :math:`c'Mc \le \ell^2` [1]_
gives a convex problem, whose dual is

.. math:: \max_{\alpha, z, v}\; 1'\alpha - \tfrac12 (1'z + \ell^2 v) \quad\text{s.t.}\quad
    S = \operatorname{diag}(z) + v\,cc' - \operatorname{diag}(\alpha) K \operatorname{diag}(\alpha)
    \succeq 0,\; 0 \le \alpha \le C,\; v \ge 0.

Every feasible point of it bounds the objective of all labels from below. The logarithm of det S is
concave in all variables together, as S is the Schur complement of a matrix linear in them. On the
central path M is 2/t times the inverse of S.

The source asks for :math:`-\ell \le Mc \le \ell` instead, which :math:`c'Mc \le \ell^2` implies:
the bound here is at least as high.

References
----------
.. [1] L. Xu, J. Neufeld, B. Larson, D. Schuurmans. "Maximum margin clustering". Advances in Neural
   Information Processing Systems 17 (2004).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from kernelfit.kernels.distances import Array

# Factor of t from one point near the central path to the next. With 8 Newton's steps run along the
# border of the feasible set, hundreds of them for 200 points.
_FASTER = 2.0
_NEAR = 1e-2  # half the squared Newton decrement at which a point is near the path
_MAX_STEPS = 1000
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class MarginBound:
    """Outcome of the relaxation.

    Attributes
    ----------
    bound : float
        No labels within the limit of balance have a lower objective.
    M : ndarray of shape (n, n)
        In the place of yy', with a unit diagonal.
    alpha, z : ndarray of shape (n,)
    v : float
        The feasible point of the dual that proves the bound.
    converged : bool
        Whether the bound is as tight as asked for.
    """

    bound: float
    M: Array
    alpha: Array
    z: Array
    v: float
    converged: bool


def relax_margin(
    K: Array, cost: Array, counts: Array, imbalance: float, *, tol: float = 1e-6
) -> MarginBound:
    """Bound the objective of maximum margin clustering from below.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite, with a positive entry on the diagonal.
    cost : ndarray of shape (n,)
        C of every point, positive.
    counts : ndarray of shape (n,)
        The vector c of the balance.
    imbalance : float
        The limit l, positive.
    tol : float, default=1e-6
        Relative distance of the bound to the optimum of the relaxation.

    Returns
    -------
    MarginBound
    """
    # In units in which the entries of K and of c are about one; alpha scales like 1 / K.
    unit = float(np.diag(K).max())
    state = _State(K / unit, cost * unit, counts / counts.mean(), imbalance / counts.mean())
    n = len(K)
    weight = 4 * n + 1  # of the barrier: S with its Schur complement, two bounds of alpha, one of v
    t = state.start
    converged = False
    for _ in range(_MAX_STEPS):
        near = state.step(t)
        if near is None:  # rounding ends the path
            break
        if near:
            if weight / t <= tol * abs(state.value()):
                converged = True
                break
            t *= _FASTER
    P = cho_solve((state.factor, True), np.eye(n))
    root = np.sqrt(np.diag(P))
    # The factor of S exists up to its rounding, which a raise of z makes up for.
    z = state.z + 4.0 * n * _EPS * (np.abs(state.z).max() + state.v * (state.c @ state.c))
    bound = state.alpha.sum() - 0.5 * (z.sum() + state.limit**2 * state.v)
    return MarginBound(
        bound=float(bound) / unit,
        M=P / np.outer(root, root),
        alpha=state.alpha / unit,
        z=z / unit,
        v=state.v / unit / counts.mean() ** 2,
        converged=converged,
    )


class _State:
    """A strictly feasible point, with the factor of S."""

    def __init__(self, K: Array, cost: Array, c: Array, limit: float) -> None:
        self.K, self.cost, self.c, self.limit = K, cost, c, limit
        # For small t the central path is at half of small costs and z = 2/t: S is nearly diag(z).
        self.alpha = 0.5 * np.minimum(cost, 1.0)
        largest = float((self.alpha * (np.abs(K) @ self.alpha)).max())
        self.start = min(0.5 / largest, 4.0 * len(K) / float(self.alpha.sum()))
        self.z = np.full(len(K), 2.0 / self.start)
        self.v = 2.0 / (self.start * limit**2)
        factor = self._factor(self.alpha, self.z, self.v)
        if factor is None:  # pragma: no cover - a dominant diagonal has a factor
            raise np.linalg.LinAlgError("no feasible point")
        self.factor = factor

    def _factor(self, alpha: Array, z: Array, v: float) -> Array | None:
        inside = v > 0 and alpha.min() > 0 and (self.cost - alpha).min() > 0
        if not inside:
            return None
        S = np.diag(z) + v * np.outer(self.c, self.c) - alpha[:, None] * self.K * alpha
        factor, info = lapack.dpotrf(S, lower=1)
        return None if info else np.asarray(factor)

    def value(self) -> float:
        """Return the objective of the dual."""
        return float(self.alpha.sum() - 0.5 * (self.z.sum() + self.limit**2 * self.v))

    def _barrier(self, t: float, alpha: Array, z: Array, v: float, factor: Array) -> float:
        value = alpha.sum() - 0.5 * (z.sum() + self.limit**2 * v)
        logs = 2.0 * np.log(np.diag(factor)).sum() + np.log(v)
        return float(t * value + logs + np.log(alpha).sum() + np.log(self.cost - alpha).sum())

    def step(self, t: float) -> bool | None:
        """Take a Newton step; return whether the point was near the path, None without one."""
        K, c, alpha, n = self.K, self.c, self.alpha, len(self.K)
        P = cho_solve((self.factor, True), np.eye(n))
        Q = P @ (alpha[:, None] * K)
        R = (K * alpha) @ Q
        Pc = P @ c
        room = self.cost - alpha
        gradient = np.concatenate((
            t - 2.0 * (K * P) @ alpha + 1.0 / alpha - 1.0 / room,
            np.diag(P) - 0.5 * t,
            [c @ Pc - 0.5 * t * self.limit**2 + 1.0 / self.v],
        ))  # fmt: skip
        H = np.empty((2 * n + 1, 2 * n + 1))  # the negated Hessian
        a, d, e = slice(n), slice(n, 2 * n), 2 * n
        H[a, a] = 2.0 * (K * P + Q * Q.T + R * P)
        H[a, a] += np.diag(1.0 / alpha**2 + 1.0 / room**2)
        H[d, d] = P * P
        H[d, a] = -2.0 * P * Q
        H[a, d] = H[d, a].T
        H[e, a] = H[a, e] = -2.0 * Pc * (c @ Q)
        H[e, d] = H[d, e] = Pc**2
        H[e, e] = (c @ Pc) ** 2 + 1.0 / self.v**2
        scale = 1.0 / np.sqrt(np.diag(H))
        try:
            factor = cho_factor(H * np.outer(scale, scale), lower=True)
        except np.linalg.LinAlgError:
            return None
        direction = scale * cho_solve(factor, scale * gradient)
        decrement = float(gradient @ direction)
        now = self._barrier(t, alpha, self.z, self.v, self.factor)
        size = 1.0
        while size > 1e-10:
            move = size * direction
            new = alpha + move[a], self.z + move[d], self.v + float(move[e])
            found = self._factor(*new)
            if found is not None and (
                self._barrier(t, *new, found) >= now + 0.1 * size * decrement - 1e-9 * abs(now)
            ):
                self.alpha, self.z, self.v = new
                self.factor = found
                return 0.5 * decrement <= _NEAR
            size *= 0.5
        return None
