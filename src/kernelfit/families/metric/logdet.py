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
:math:`1/\xi_c = 1/b_c - \delta_c\lambda_c/\gamma`. It is concave, with the gradient
:math:`\delta_c (p_c - \xi_c)` and the Hessian
:math:`-\delta_c\delta_e (v_c'A v_e)^2 - [c = e]\,\xi_c^2/\gamma`. The papers maximise it in one
multiplier after the other. Here a primal-dual interior-point method does, with multipliers
:math:`\nu` of the signs of :math:`\lambda` and Newton steps towards :math:`\lambda_c\nu_c = \mu`
for falling mu: ten to thirty steps, whatever pairs conflict. For any A the bounds
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
from scipy.linalg import cho_factor, cho_solve

Array = NDArray[Any]

_CENTRING = 0.3  # mu of a step, relative to the mean of the products
_TO_ZERO = 0.95  # of the way to a multiplier of zero, at most, a step
_TO_END = 0.7  # of the way to the end of the domain of the dual function, at most, a step
_SPREAD = 1e-13  # of eigenvalues: beyond, the smallest is rounding
_JITTER = 1e-13  # of the Hessian with ones on its diagonal
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
        The objective at the start and after every step.
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
    constraints: Constraints, *, slack: float = 1.0, tol: float = 1e-4, max_iter: int = 100
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
        The most Newton steps, each cubic in the number of constraints.

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
    # The metric does not depend on the unit of the points: one in which no fourth power overflows,
    # and a power of two, which changes no digit.
    unit = 2.0 ** np.round(0.5 * np.log2(constraints.bound.max(initial=np.finfo(float).tiny)))
    V, bound = constraints.V / unit, constraints.bound / unit / unit
    constraints = Constraints(V, constraints.sign, bound)
    # Inside of the domain: the multipliers change the identity by a quarter at most.
    squares = np.einsum("ij,ij->i", V, V)
    multipliers = 0.25 * np.minimum(1.0 / (max(len(V), 1) * squares), slack / bound)
    nu: Array | None = None
    history: list[float] = []
    while True:
        A, objective, gap = assess(constraints, multipliers, slack)
        history.append(objective)
        converged = gap <= max(tol * objective, _ROUNDING * len(A))
        if converged or len(history) > max_iter:
            break
        try:
            multipliers, nu = _step(constraints, multipliers, nu, slack)
        except np.linalg.LinAlgError:  # rounding prevents more
            break
    multipliers = multipliers / unit / unit
    return LogDetMetric(A, multipliers, objective, gap, tuple(history), converged)


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
    values, vectors = np.linalg.eigh(_inverse(constraints, multipliers))
    A = (vectors / values) @ vectors.T
    logdet = float(np.log(values).sum())
    dual = logdet + slack * float(np.log1p(-sign * multipliers * bound / slack).sum())
    p = np.einsum("ij,ij->i", V @ A, V)
    ratio = np.where(sign > 0, np.maximum(p, bound), np.minimum(p, bound)) / bound
    moved = float(np.sum(ratio - np.log(ratio) - 1.0))
    objective = float(np.sum(1.0 / values - 1.0)) + logdet + slack * moved
    return A, objective, max(objective - dual, 0.0)


def _step(
    constraints: Constraints, multipliers: Array, nu: Array | None, slack: float
) -> tuple[Array, Array]:
    """Return the multipliers and those of their signs after a step."""
    V, sign = constraints.V, constraints.sign
    values, vectors = np.linalg.eigh(_inverse(constraints, multipliers))
    half = V @ (vectors / np.sqrt(values))
    Q = half @ half.T
    xi = 1.0 / (1.0 / constraints.bound - sign * multipliers / slack)
    slope = sign * (Q.diagonal() - xi)
    if nu is None:
        nu = np.maximum(np.abs(slope), 1e-3 * np.abs(slope).max())
    mu = _CENTRING * float(multipliers @ nu) / len(V)
    H = np.outer(sign, sign) * Q**2
    H[np.diag_indices_from(H)] += xi**2 / slack + nu / multipliers
    scale = np.sqrt(H.diagonal())
    H /= np.outer(scale, scale)
    H[np.diag_indices_from(H)] += _JITTER
    right = (slope + mu / multipliers) / scale
    direction = cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), right) / scale
    nu_direction = (mu - nu * direction) / multipliers - nu
    # The eigenvalues of the inverse and the arguments of the logarithms have to stay positive.
    ends = np.linalg.eigvalsh(half.T @ ((sign * direction)[:, None] * half))[0]
    ends = min(float(ends), float(np.min(-sign * direction * xi / slack)))
    length = min(_longest(multipliers, direction), _TO_END / -ends if ends < 0.0 else 1.0)
    moved = multipliers + length * direction
    spectrum = np.linalg.eigvalsh(_inverse(constraints, moved))
    if not spectrum[0] > _SPREAD * spectrum[-1]:
        raise np.linalg.LinAlgError("the smallest eigenvalue is rounding")
    return moved, nu + _longest(nu, nu_direction) * nu_direction


def _longest(x: Array, direction: Array) -> float:
    """Return the longest step up to one that keeps positive numbers positive."""
    worst = float(np.min(direction / x))
    return min(1.0, _TO_ZERO / -worst) if worst < 0.0 else 1.0


def _inverse(constraints: Constraints, multipliers: Array) -> Array:
    """Return the inverse of the metric of multipliers."""
    V = constraints.V
    return np.asarray(np.eye(V.shape[1]) + V.T @ ((constraints.sign * multipliers)[:, None] * V))
