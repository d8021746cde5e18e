r"""What is fitted: one task is the dual problem of one loss on one set of points.

.. math::

    \max_\beta\; p^\top\beta - \epsilon\|\beta\|_1 - \tfrac12 \beta^\top (K + \operatorname{diag} r)
    \beta \quad\text{s.t.}\quad l \le \beta \le u,\; \mathbf 1^\top\beta = \text{total}

================  =======================  =======  ===========  =============
loss              box                      epsilon  ridge r_i    total
================  =======================  =======  ===========  =============
hinge             between 0 and y_i C_i    0        none         0
tube              [-C_i, C_i]              epsilon  none         0
squared hinge     between 0 and y_i inf    0        1 / (2 C_i)  0
pinball, level q  [-(1-q) C_i, q C_i]      0        none         0
squared           unbounded                0        1 / (2 C_i)  0
squared tube      unbounded                epsilon  1 / (2 C_i)  0
one-class         [0, 1 / (nu n)], p = 0   0        none         1
================  =======================  =======  ===========  =============

Without an intercept there is no constraint on the sum: ``total`` is None.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelfit.tasks.certificate import (
    FloatArray,
    certify,
    ridged_gap,
    ridged_intercept,
)
from kernelfit.tasks.projection import is_feasible, project_box_plane

Indices = npt.NDArray[np.intp]


class Certificate(NamedTuple):
    """The bounds on a task's optimum at one point.

    Attributes
    ----------
    gap : float
        Upper minus lower bound, >= 0.
    objective : float
        The dual value, the lower bound.
    intercept : float
        The intercept with the least primal value, the upper bound; 0 without one.
    resolution : float
        A gap below it is rounding error.
    """

    gap: float
    objective: float
    intercept: float
    resolution: float

    def meets(self, tol: float, at_zero: bool) -> bool:
        """Return whether the gap is within a fraction of the objective; at 0, within rounding."""
        return self.gap <= tol * abs(self.objective) or (at_zero and self.gap <= self.resolution)


@dataclass(frozen=True, eq=False)
class Task:
    """One task; see the module's head.

    Parameters
    ----------
    p : ndarray of shape (n,)
        The linear term: labels in {-1, 1}, or targets.
    lower, upper : ndarray of shape (n,)
        The box, ``lower <= 0 <= upper``; infinite where there is a ridge.
    epsilon : float, default=0.0
        Half the width of the tube in which errors cost nothing.
    ridge : ndarray of shape (n,), default=None
        Added to the diagonal of K; None for zeros.
    total : float or None, default=0.0
        The required sum of beta; None without an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.tasks.losses import hinge
    >>> task = hinge(np.array([-1.0, 1.0]), C=9.0)
    >>> beta = np.array([-1.0, 1.0])
    >>> task.kappa(beta), task.certificate(beta, beta).gap
    (2.0, 0.0)
    """

    p: FloatArray
    lower: FloatArray
    upper: FloatArray
    epsilon: float = 0.0
    ridge: FloatArray | None = None
    total: float | None = 0.0

    @property
    def n(self) -> int:
        """The number of points."""
        return self.p.size

    @property
    def has_intercept(self) -> bool:
        """Whether the model has an intercept."""
        return self.total is not None

    def kappa(self, beta: FloatArray) -> float:
        """Return the part of the dual without K: its ridge belongs to it."""
        value = float(self.p @ beta)
        if self.epsilon > 0.0:
            value -= self.epsilon * float(np.abs(beta).sum())
        return value if self.ridge is None else value - 0.5 * float(beta @ (self.ridge * beta))

    def kappa_slope(self, beta: FloatArray, direction: FloatArray) -> float:
        """Return the derivative of kappa at beta along a direction."""
        rate = float(self.p @ direction)
        if self.ridge is not None:
            rate -= float((self.ridge * beta) @ direction)
        if self.epsilon > 0.0:
            sign = np.where(beta != 0.0, np.sign(beta), np.sign(direction))
            rate -= self.epsilon * float(sign @ direction)
        return rate

    def intercept(self, decision: FloatArray) -> float:
        """Return the intercept that minimises the losses, given the decision values K beta."""
        return self.certificate(np.zeros(self.n), decision).intercept

    def certificate(self, beta: FloatArray, decision: FloatArray) -> Certificate:
        """Return the certificate of a feasible point, given ``K beta``."""
        return self.certificate_at(beta, decision - self.p)

    def certificate_at(self, beta: FloatArray, g: FloatArray) -> Certificate:
        """Return the certificate of a feasible point, given ``g = K beta - p``."""
        if self.ridge is None:
            total = np.nan if self.total is None else self.total
            return Certificate(
                *certify(g, self.p, beta, self.lower, self.upper, self.epsilon, total)
            )
        intercept = 0.0 if self.total is None else ridged_intercept(g, self)
        gap, objective, resolution = ridged_gap(g, beta, self, intercept)
        return Certificate(gap, objective, intercept, resolution)

    def project(self, beta: FloatArray) -> FloatArray:
        """Return a copy of the feasible point closest to beta."""
        beta = np.ascontiguousarray(beta, dtype=np.float64)
        if self.total is None:
            return np.clip(beta, self.lower, self.upper)
        if is_feasible(beta, self.lower, self.upper, self.total):
            return beta.copy()
        return project_box_plane(beta, self.lower, self.upper, self.total)

    def start(self, beta: FloatArray | None = None) -> FloatArray:
        """Return the feasible point closest to beta, or to zero where none is given."""
        if beta is not None:
            return self.project(beta)
        zero = np.zeros(self.n)
        return self.project(zero) if self.total else zero

    def is_free(self, beta: FloatArray) -> npt.NDArray[np.bool_]:
        """Return which variables are neither at a bound nor at the kink of the l1 term."""
        inside: npt.NDArray[np.bool_] = (beta > self.lower) & (beta < self.upper)
        return inside & (beta != 0.0) if self.epsilon > 0.0 else inside

    def count_free(self, beta: FloatArray) -> int:
        """Return the number of free variables."""
        return int(np.count_nonzero(self.is_free(beta)))

    def centred(self) -> tuple["Task", float]:
        """Return the task with p around 0, and by how much its intercept is then too small.

        With a fixed sum a constant in p only moves the intercept, and adds a constant to the
        objective where the sum is not 0: without it nothing cancels.
        """
        if self.total != 0.0:
            return self, 0.0
        low, high = float(np.minimum.reduce(self.p)), float(np.maximum.reduce(self.p))
        shift = 0.5 * (low + high)
        return (self.with_linear(self.p - shift), shift) if shift else (self, 0.0)

    def take(self, rows: Indices | slice) -> "Task":
        """Return the task of some of the points."""
        ridge = None if self.ridge is None else self.ridge[rows]
        return Task(
            self.p[rows], self.lower[rows], self.upper[rows], self.epsilon, ridge, self.total
        )

    def times_cost(self, factor: float) -> "Task":
        """Return the task, which has no ridge, with all costs multiplied by a factor."""
        if self.ridge is not None:
            raise ValueError("expected a task without a ridge: the least cost limits these")
        lower, upper = factor * self.lower, factor * self.upper
        return Task(self.p, lower, upper, self.epsilon, None, self.total)

    def with_linear(self, p: FloatArray) -> "Task":
        """Return the task with another linear term."""
        return Task(p, self.lower, self.upper, self.epsilon, self.ridge, self.total)
