r"""Losses from their textbook formulas, and the general dual that covers them all.

A loss is written in the decision value f = K beta + b of a point; the machine is

.. math::
    \min_{\beta, b}\; \tfrac12 \beta' K \beta + \textstyle\sum_i \ell_i(f_i) + \text{total}\, b

    \max_\beta\; p'\beta - \epsilon \|\beta\|_1 - \tfrac12 \beta' (K + \operatorname{diag} r) \beta,
    \qquad l \le \beta \le u, \quad \textstyle\sum_i \beta_i = \text{total}

and :math:`\ell_i(f) = \max_{l \le s \le u} s t - \epsilon |s| - \tfrac12 r s^2` at
:math:`t = p_i - f`. Without an intercept b = 0, and the sum is free (total None).
"""

import math
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np

from tests.reference.svm import FLOAT64_ROUNDOFF

LOSSES = ("hinge", "tube", "squared hinge", "pinball", "squared", "one-class")
EPSILON, LEVEL, NU = 0.1, 0.3, 0.4


@dataclass(frozen=True)
class LossProblem:
    """The data of one dual; ``lower <= 0 <= upper``, infinite only where ``ridge > 0``."""

    K: np.ndarray
    p: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: float
    ridge: np.ndarray | None
    total: float | None

    @property
    def n(self):
        """Number of variables."""
        return len(self.p)

    @property
    def ridges(self):
        """The ridge, with zeros where there is none."""
        return np.zeros(self.n) if self.ridge is None else self.ridge

    @property
    def task_terms(self):
        """Everything but K, by the names of the arguments of a task."""
        return {field: value for field, value in vars(self).items() if field != "K"}

    def replace(self, **changes):
        """Return a copy with some fields changed."""
        return replace(self, **changes)


def loss_problem(name, K, y, C, fit_intercept=True):
    """Return the dual of a loss with costs C, by the table of losses.

    A cost of 0 is an empty box: the ridge of such a point does not matter.
    """
    n = len(y)
    C = np.array(np.broadcast_to(C, (n,)), dtype=np.float64)
    zero, total = np.zeros(n), 0.0 if fit_intercept else None
    infinite = np.where(C > 0.0, np.inf, 0.0)
    ridge = np.divide(1.0, 2.0 * C, out=np.zeros(n), where=C > 0.0)
    positive, negative = y > 0, y < 0
    lower, upper, epsilon, r = {
        "hinge": (-C * negative, C * positive, 0.0, None),
        "tube": (-C, C, EPSILON, None),
        "squared hinge": (
            np.where(negative, -infinite, 0.0),
            np.where(positive, infinite, 0.0),
            0.0,
            ridge,
        ),
        "pinball": (-(1 - LEVEL) * C, LEVEL * C, 0.0, None),
        "squared": (-infinite, infinite, 0.0, ridge),
        "one-class": (zero, C / (NU * n), 0.0, None),
    }[name]
    if name == "one-class":
        y, total = zero, 1.0 if fit_intercept else None
    return LossProblem(K, np.asarray(y, dtype=np.float64), lower, upper, epsilon, r, total)


def textbook_losses(name, y, C, f, pos=lambda x: np.maximum(x, 0.0), times=np.multiply):
    """The loss of every point at the decision values f, an array or an expression of cvxpy."""
    r, margin = y - f, times(y, f)
    losses = {
        "hinge": pos(1.0 - margin),
        "tube": pos(r - EPSILON) + pos(-r - EPSILON),
        "squared hinge": pos(1.0 - margin) ** 2,
        "pinball": LEVEL * pos(r) + (1 - LEVEL) * pos(-r),
        "squared": r**2,
        "one-class": pos(-f) / (NU * len(y)),
    }
    return times(C, losses[name])


def decision(problem, beta):
    """``K beta``, each row summed without rounding errors."""
    return np.array([math.fsum(row * beta) for row in problem.K])


def dual_value(problem, beta):
    """The dual objective."""
    linear = math.fsum(problem.p * beta) - problem.epsilon * math.fsum(abs(beta))
    return linear - 0.5 * math.fsum(beta * (decision(problem, beta) + problem.ridges * beta))


def best_terms(problem, t):
    """The s of every point that attains its loss at the residual t.

    Between the bounds and the kink at 0 the maximum is where the derivative vanishes: the best of
    these few places, each put into the box.
    """
    r = problem.ridges
    places = [np.zeros(problem.n)]
    for kink in (-problem.epsilon, problem.epsilon):
        places.append(np.divide(t - kink, r, out=np.zeros(problem.n), where=r > 0.0))
    for bound in (problem.lower, problem.upper):
        places.append(np.where(np.isfinite(bound), bound, 0.0))
    places = [np.clip(s, problem.lower, problem.upper) for s in places]
    values = [s * t - problem.epsilon * abs(s) - 0.5 * r * s * s for s in places]
    return np.choose(np.argmax(values, axis=0), places)


def conjugate_losses(problem, t):
    """The loss of every point at the residual t, by its definition as a maximum."""
    s = best_terms(problem, t)
    return s * t - problem.epsilon * abs(s) - 0.5 * problem.ridges * s * s


def grid_losses(problem, t, size=20001):
    """The same by a search over a grid of s; and a bound on what lies between its points."""
    reach = (abs(t) + problem.epsilon) / np.where(problem.ridges > 0.0, problem.ridges, 1.0)
    low = np.where(np.isfinite(problem.lower), problem.lower, -reach)
    high = np.where(np.isfinite(problem.upper), problem.upper, reach)
    s = low + np.linspace(0.0, 1.0, size)[:, None] * (high - low)
    s = np.concatenate([np.clip(s, low, high), np.zeros((1, problem.n))])
    values = s * t - problem.epsilon * abs(s) - 0.5 * problem.ridges * s * s
    return values.max(axis=0), 0.125 * problem.ridges * ((high - low) / (size - 1)) ** 2


def primal_value(problem, beta, intercept, losses=conjugate_losses):
    """The primal objective at beta and b, the losses as maxima over s."""
    f = decision(problem, beta)
    value = 0.5 * math.fsum(beta * f) + math.fsum(losses(problem, problem.p - f - intercept))
    return value + (problem.total or 0.0) * intercept


def duality_gap(problem, beta, intercept):
    """Primal minus dual value."""
    return primal_value(problem, beta, intercept) - dual_value(problem, beta)


def rounding_error(problem, beta, intercept):
    """Bound the error of any careful float evaluation of the two values or of the gap at beta.

    As in `tests.reference.svm`: the residual of a point is a sum whose terms are known to a
    rounding each, and it is multiplied by beta_i or by the s_i that attains the loss. An error e
    of the residual changes s_i by at most e / r_i, within the box, and the loss by e s_i.
    """
    u = 2 * (problem.n + 8) * FLOAT64_ROUNDOFF
    sizes = np.array([math.fsum(abs(row * beta)) for row in problem.K])
    terms = sizes + abs(problem.p) + problem.epsilon + abs(intercept)
    r, bound = problem.ridges, np.maximum(problem.upper, -problem.lower)
    s = abs(best_terms(problem, problem.p - decision(problem, beta) - intercept))
    s = np.minimum(np.divide(u * terms, r, out=bound.copy(), where=r > 0.0) + s, bound)
    largest = np.maximum(s, abs(beta))
    return u * math.fsum(largest * (terms + r * largest))


def cvxpy_dual(problem):
    """Maximise the dual with an interior-point method."""
    beta = cp.Variable(problem.n)
    H = problem.K + np.diag(problem.ridges)
    value = problem.p @ beta - problem.epsilon * cp.norm1(beta)
    value = value - 0.5 * cp.quad_form(beta, cp.psd_wrap(H))
    constraints = []
    for sign, bound in ((1.0, problem.upper), (-1.0, -problem.lower)):
        finite = np.flatnonzero(np.isfinite(bound))
        if len(finite):
            constraints.append(sign * beta[finite] <= bound[finite])
    if problem.total is not None:
        constraints.append(cp.sum(beta) == problem.total)
    return _solved(cp.Problem(cp.Maximize(value), constraints))


def cvxpy_primal(name, K, y, C, fit_intercept=True):
    """Minimise the primal of a textbook loss over the function and the intercept."""
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))  # f = root w has the norm |w|
    w, b = cp.Variable(len(y)), cp.Variable() if fit_intercept else 0.0
    C = np.array(np.broadcast_to(C, (len(y),)), dtype=np.float64)
    value = 0.5 * cp.sum_squares(w) + cp.sum(
        textbook_losses(name, y, C, root @ w + b, cp.pos, cp.multiply)
    )
    if name == "one-class":
        value = value + b
    return _solved(cp.Problem(cp.Minimize(value)))


def _solved(model):
    model.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(model.value)
