r"""The metric nearest to the Euclidean one that keeps classes together and apart.

Over positive definite A and bounds xi, information-theoretic metric learning [1]_ [2]_ minimises

.. math::

    D(A, I) + \gamma \sum_c D(\xi_c, b_c), \qquad
    D(A, B) = \mathrm{tr}\,AB^{-1} - \log\det AB^{-1} - d,

such that :math:`p_c = v_c'A v_c \le \xi_c` for the difference :math:`v_c` of two similar points and
:math:`p_c \ge \xi_c` for that of dissimilar ones. The problem is convex. With signs
:math:`\delta_c = 1` for similar pairs and -1 for others, the dual function of the multipliers is

.. math::

    g(\lambda) = \log\det\Big(I + \sum_c \delta_c \lambda_c v_c v_c'\Big)
        + \gamma \sum_c \log(1 - \delta_c \lambda_c b_c / \gamma),

with :math:`A^{-1} = I + \sum_c \delta_c\lambda_c v_cv_c'` and
:math:`1/\xi_c = 1/b_c - \delta_c\lambda_c/\gamma`. The projections of [1]_ maximise g exactly in
one multiplier after the other: the next one moves by
:math:`\delta_c\,\gamma/(\gamma + 1)\,(1/\xi_c - 1/p_c)`, or to zero. For any A the bounds
:math:`\max(p_c, b_c)` of similar pairs and :math:`\min(p_c, b_c)` of others are feasible, so the
difference to g is a duality gap.

References
----------
.. [1] J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon. Information-theoretic metric learning.
   ICML 2007.
.. [2] P. Jain, B. Kulis, J. V. Davis, I. S. Dhillon. Metric and kernel learning using a linear
   transformation. Journal of Machine Learning Research 13, 2012.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.utils.jit import jit

Array = NDArray[Any]

_SWEEPS = 10  # over the constraints between looks at the gap
_ROUNDING = 1e-13  # of the gap, a feature
_NEAR, _FAR = 5.0, 95.0  # percentiles of the distances that are the bounds


@dataclass(frozen=True)
class Constraints:
    """Bounds on squared distances.

    Attributes
    ----------
    V : ndarray of shape (m, d)
        Differences of pairs of points, none zero.
    sign : ndarray of shape (m,)
        1 for similar pairs, -1 for dissimilar ones.
    bound : ndarray of shape (m,)
        Upper bounds of similar pairs, lower bounds of others; positive.
    """

    V: Array
    sign: Array
    bound: Array


@dataclass(frozen=True)
class LogDetMetric:
    """A metric and its certificate.

    Attributes
    ----------
    A : ndarray of shape (d, d)
    multipliers : ndarray of shape (m,)
    objective : float
        The value of the primal problem.
    gap : float
        Its largest possible distance from the optimum.
    history : tuple of float
        The objective at every look at the gap.
    converged : bool
    """

    A: Array
    multipliers: Array
    objective: float
    gap: float
    history: tuple[float, ...]
    converged: bool


def draw_constraints(
    X: Array, labels: Array, n_pairs: int, seed: int
) -> tuple[Constraints, NDArray[np.intp]]:
    """Return bounds on the distances of random pairs, half of one class and half of two.

    They are the 5th and the 95th percentile of the squared distances of random pairs [1]_.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Distinct points.
    labels : ndarray of shape (n,)
    n_pairs : int
    seed : int

    Returns
    -------
    constraints : Constraints
        Fewer than asked for where all points have one class, or each its own.
    pairs : ndarray of shape (m, 2)
    """
    n = len(X)
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, n, (max(100 * n_pairs, 1000), 2))
    first, second = pairs.T
    distances = np.einsum("ij,ij->i", X[first] - X[second], X[first] - X[second])
    apart = distances > 0.0
    equal = labels[first] == labels[second]
    similar = np.flatnonzero(apart & equal)[: n_pairs // 2]
    others = np.flatnonzero(apart & ~equal)[: n_pairs - n_pairs // 2]
    near, far = np.percentile(distances[apart], [_NEAR, _FAR]) if apart.any() else (1.0, 1.0)
    chosen = np.concatenate([similar, others])
    sign = np.repeat([1.0, -1.0], [len(similar), len(others)])
    V = X[first[chosen]] - X[second[chosen]]
    return Constraints(V, sign, np.where(sign > 0, near, far)), pairs[chosen]


def learn_logdet(
    constraints: Constraints, *, slack: float = 1.0, tol: float = 1e-4, max_iter: int = 10_000
) -> LogDetMetric:
    """Return the metric nearest to the Euclidean one under constraints.

    Parameters
    ----------
    constraints : Constraints
    slack : float
        The weight gamma of moving a bound: the larger, the more nearly constraints are met.
    tol : float
        Of the duality gap, relative to the objective.
    max_iter : int
        The most sweeps over the constraints.

    Returns
    -------
    LogDetMetric

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.families.metric.logdet import Constraints, learn_logdet
    >>> pairs = Constraints(np.eye(2), np.array([1.0, -1.0]), np.array([0.5, 2.0]))
    >>> found = learn_logdet(pairs, slack=1e6)
    >>> np.diag(found.A).round(3)
    array([0.5, 2. ])
    """
    V, sign = np.ascontiguousarray(constraints.V), constraints.sign
    multipliers = np.zeros(len(V))
    xi = constraints.bound.copy()
    history: list[float] = []
    while True:
        A, objective, gap = assess(constraints, multipliers, slack)
        history.append(objective)
        converged = gap <= max(tol * objective, _ROUNDING * len(A))
        left = max_iter - (len(history) - 1) * _SWEEPS
        if converged or left <= 0:
            return LogDetMetric(A, multipliers, objective, gap, tuple(history), converged)
        # Sweeps change the matrix by ranks of one; from the exact one each time, no errors add up.
        _sweep(A, V, sign, xi, multipliers, slack, min(_SWEEPS, left))


def assess(
    constraints: Constraints, multipliers: Array, slack: float
) -> tuple[Array, float, float]:
    """Return the metric of multipliers, the value of the primal problem there and the gap.

    Parameters
    ----------
    constraints : Constraints
    multipliers : ndarray of shape (m,)
        Not negative, in the domain of the dual function.
    slack : float

    Returns
    -------
    A : ndarray of shape (d, d)
    objective, gap : float
    """
    V, sign, bound = constraints.V, constraints.sign, constraints.bound
    d = V.shape[1]
    inverse = np.eye(d) + V.T @ ((sign * multipliers)[:, None] * V)
    values, vectors = np.linalg.eigh(inverse)
    A = (vectors / values) @ vectors.T
    logdet = float(np.log(values).sum())
    dual = logdet + slack * float(np.log1p(-sign * multipliers * bound / slack).sum())
    p = np.einsum("ij,jk,ik->i", V, A, V, optimize=True)
    ratio = np.where(sign > 0, np.maximum(p, bound), np.minimum(p, bound)) / bound
    moved = float(np.sum(ratio - np.log(ratio) - 1.0))
    objective = float(np.sum(1.0 / values - 1.0)) + logdet + slack * moved
    return A, objective, max(objective - dual, 0.0)


@jit(fastmath={"reassoc", "contract"})
def _sweep(
    A: Array, V: Array, sign: Array, xi: Array, multipliers: Array, slack: float, n_sweeps: int
) -> None:
    """Maximise the dual function in one multiplier after the other, in place."""
    m, d = V.shape
    Av = np.empty(d)
    for _ in range(n_sweeps):
        for c in range(m):
            v = V[c]
            p = 0.0
            for i in range(d):
                total = 0.0
                for j in range(d):
                    total += A[i, j] * v[j]
                Av[i] = total
                p += total * v[i]
            step = sign[c] * slack / (slack + 1.0) * (1.0 / xi[c] - 1.0 / p)
            step = max(step, -multipliers[c])
            if step == 0.0:
                continue
            multipliers[c] += step
            xi[c] = 1.0 / (1.0 / xi[c] - sign[c] * step / slack)
            scale = sign[c] * step / (1.0 + sign[c] * step * p)
            for i in range(d):
                for j in range(d):
                    A[i, j] -= scale * Av[i] * Av[j]
