r"""Weights of random features by kernel alignment over a ball around the uniform ones.

For features :math:`\phi_m` drawn at random and the alignments
:math:`v_m = \sum_c (\sum_i s_i y_{ic} \phi_m(x_i))^2` with the targets, the weights of the kernel
:math:`\sum_m q_m \phi_m(x)\phi_m(z)` solve [1]_

.. math::

    \max_q\ q'v \quad \text{subject to} \quad q \ge 0,\ 1'q = 1,\
    \tfrac1N \sum_m (N q_m - 1)^2 \le \rho,

a ball of the chi-square divergence. The solution is proportional to :math:`(v - \eta)_+` for the
level at which the ball is met, or uniform on the largest entries where those are inside. Both
:math:`\sum (v - \eta)_+` and :math:`\sum (v - \eta)_+^2` are polynomials of the level between two
entries of v, so after sorting it is the root of a quadratic equation. By duality, for all levels,

.. math:: q'v \le \eta + \sqrt{\tfrac{1 + \rho}{N} \sum_m (v_m - \eta)_+^2} .

References
----------
.. [1] A. Sinha, J. C. Duchi. Learning kernels with random features. Advances in Neural Information
   Processing Systems 29, 2016.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class AlignedWeights:
    """Weights of features.

    Attributes
    ----------
    q : ndarray of shape (n_components,)
        Not negative, of sum one, zero for features that are not used.
    objective : float
        q'v.
    gap : float
        Its largest possible distance from the optimum: rounding.
    """

    q: Array
    objective: float
    gap: float


def align_weights(v: Array, rho: float) -> AlignedWeights:
    """Return the weights of the largest alignment in the ball.

    Parameters
    ----------
    v : ndarray of shape (n_components,)
        Alignments.
    rho : float
        Radius of the ball, >= 0.

    Returns
    -------
    AlignedWeights

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.papers.feature_alignment import align_weights
    >>> align_weights(np.array([3.0, 2.0, 1.0]), 0.5).q
    array([0.62200847, 0.33333333, 0.0446582 ])
    """
    N = len(v)
    if rho == 0.0:
        return AlignedWeights(np.full(N, 1.0 / N), float(v.mean()), 0.0)
    unit = float(np.abs(v).max(initial=0.0)) or 1.0
    u = v / unit
    order = np.argsort(-u, kind="stable")
    level = _level(u[order] - u[order[0]], (1.0 + rho) / N) + u[order[0]]
    above = np.maximum(u - level, 0.0)
    if not above.any():  # the ball holds all weights on the largest entries
        above = (u == u.max()).astype(np.float64)
    q = above / above.sum()
    objective = float(q @ v)
    bound = level + np.sqrt((1.0 + rho) / N * float(np.sum(np.maximum(u - level, 0.0) ** 2)))
    return AlignedWeights(q, objective, max(unit * float(bound) - objective, 0.0))


def _level(u: Array, limit: float) -> float:
    """Return the level where the sum of squares is the limit times the squared sum.

    u descends from zero, so that little cancels where all entries are nearly equal. That ratio
    rises with the level, from 1/N to one over the number of largest entries.
    """
    counts = np.arange(1, len(u) + 1)
    S1, S2 = np.cumsum(u), np.cumsum(u * u)
    # The ratios with k entries above the level, at the level of the next one.
    with np.errstate(invalid="ignore", divide="ignore"):
        total = S1[:-1] - counts[:-1] * u[1:]
        squares = S2[:-1] - 2.0 * u[1:] * S1[:-1] + counts[:-1] * u[1:] ** 2
        ratio = np.where(total > 0.0, squares / total**2, np.inf)
    inside = np.flatnonzero(ratio <= limit)
    k = int(inside[0]) + 1 if inside.size else len(u)
    # For k entries above the level x, variance + (mean - x)^2 = limit k (mean - x)^2.
    mean = S1[k - 1] / k
    variance = max(S2[k - 1] / k - mean**2, 0.0)
    excess = limit * k - 1.0
    return float(mean - np.sqrt(variance / excess)) if excess > 0.0 else float(mean)
