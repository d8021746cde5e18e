r"""The SVM dual in the signed variable, recomputed from its definition.

.. math::
    D(\beta) = p'\beta - \epsilon \|\beta\|_1 - \tfrac12 \beta' K \beta, \qquad
    l \le \beta \le u, \quad \textstyle\sum_i \beta_i = 0 \text{ if there is an intercept}

    P(\beta, c) = \tfrac12 \beta' K \beta
    + \textstyle\sum_i u_i (r_i - \epsilon)_+ + (-l_i) (-r_i - \epsilon)_+,
    \qquad r = p - K\beta - c

With sum(beta) = 0 (or c = 0) the gap is a sum over the points,
``P - D = sum_i u_i (r_i - eps)_+ - l_i (-r_i - eps)_+ + eps |beta_i| - r_i beta_i``,
and no term is negative on the box. For a psd K it bounds the distance of D to its maximum.
"""

import math
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np

from kernelfit.tasks.task import Task

FLOAT64_ROUNDOFF = 2.0**-53
FLOAT32_ROUNDOFF = 2.0**-24


@dataclass(frozen=True)
class DualProblem:
    """The data of one dual; ``lower <= 0 <= upper`` elementwise."""

    K: np.ndarray
    p: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: float = 0.0
    fit_intercept: bool = True

    @property
    def n(self):
        """Number of variables."""
        return len(self.p)

    @property
    def bound(self):
        """The largest size that each variable may have (the C_i of the point)."""
        return np.maximum(self.upper, -self.lower)

    @property
    def task(self):
        """Everything but K, as kernelfit takes it."""
        total = 0.0 if self.fit_intercept else None
        return Task(self.p, self.lower, self.upper, self.epsilon, total=total)

    @property
    def terms(self):
        """Everything but K, by the names of the solver's arguments."""
        return {field: value for field, value in vars(self).items() if field != "K"}

    @property
    def task_terms(self):
        """Everything but K, by the names of the arguments of a task."""
        terms = self.terms
        total = 0.0 if terms.pop("fit_intercept") else None
        return {**terms, "total": total}

    def permuted(self, order):
        """Return the problem with its points reordered."""
        K = self.K[np.ix_(order, order)]
        return self.replace(K=K, p=self.p[order], lower=self.lower[order], upper=self.upper[order])

    def replace(self, **changes):
        """Return a copy with some fields changed."""
        return replace(self, **changes)


def svc_problem(K, y, C, fit_intercept=True):
    """Classification: ``p = y`` and the box between 0 and ``y_i C_i``."""
    yC = y * np.broadcast_to(C, y.shape)
    return DualProblem(K, y, np.minimum(yC, 0.0), np.maximum(yC, 0.0), 0.0, fit_intercept)


def svr_problem(K, y, C, epsilon, fit_intercept=True):
    """Regression: ``p = y`` and the box ``[-C_i, C_i]``."""
    C = np.array(np.broadcast_to(C, y.shape), dtype=np.float64)
    return DualProblem(K, y, -C, C, epsilon, fit_intercept)


def decision(problem, beta):
    """``K beta``, each row summed without rounding errors."""
    K = np.asarray(problem.K, dtype=np.float64)
    return np.array([math.fsum(K[i] * beta) for i in range(problem.n)])


def dual_value(problem, beta):
    """``D(beta)``."""
    linear = math.fsum(problem.p * beta) - problem.epsilon * math.fsum(abs(beta))
    return linear - 0.5 * math.fsum(beta * decision(problem, beta))


def _losses(problem, r, total=math.fsum):
    above = problem.upper * np.maximum(r - problem.epsilon, 0.0)
    below = -problem.lower * np.maximum(-r - problem.epsilon, 0.0)
    return total(above + below)


def best_intercept(problem, beta):
    """Minimise the losses over c by trying every breakpoint and every midpoint between two.

    The losses are piecewise linear in c, so a breakpoint suffices in exact arithmetic. On a flat
    piece the midpoint is exactly zero where its ends may be off by one rounding.
    """
    residual = problem.p - decision(problem, beta)
    breaks = np.sort(np.concatenate([residual - problem.epsilon, residual + problem.epsilon]))
    candidates = np.concatenate([breaks, (breaks[1:] + breaks[:-1]) / 2])
    if problem.n > 100:  # no term is negative, so plain sums rule out nearly all without error
        rough = np.array([_losses(problem, residual - c, np.sum) for c in candidates])
        candidates = candidates[rough <= (1 + 1e-9) * rough.min()]
    return min(candidates, key=lambda c: _losses(problem, residual - c))


def primal_value(problem, beta, intercept=None):
    """``P(beta, intercept)``; without an intercept given, its minimum over the intercept."""
    if intercept is None:
        intercept = best_intercept(problem, beta) if problem.fit_intercept else 0.0
    f = decision(problem, beta)
    return 0.5 * math.fsum(beta * f) + _losses(problem, problem.p - f - intercept)


def duality_gap(problem, beta, intercept=None):
    """``P - D``, the certificate."""
    return primal_value(problem, beta, intercept) - dual_value(problem, beta)


def rounding_error(problem, beta, roundoff=FLOAT64_ROUNDOFF):
    """Bound the error of any careful float evaluation of P, D or the gap at beta.

    A dot product of n terms is off by at most about ``n u sum |terms|``. In P the residual of
    point i (terms ``p_i, eps, c, K_ij beta_j``) is multiplied by at most ``C_i``, in D by
    ``|beta_i| <= C_i``. With an intercept p may be centred, which leaves a rounding of its largest
    entry in the intercept. A gap smaller than this cannot be seen in the given precision.
    """
    absolute_sums = np.array([math.fsum(abs(row * beta)) for row in problem.K])
    c = best_intercept(problem, beta) if problem.fit_intercept else 0.0
    centre = abs(problem.p).max() if problem.fit_intercept else 0.0
    residual_terms = absolute_sums + abs(problem.p) + problem.epsilon + abs(c) + centre
    return 2 * (problem.n + 8) * roundoff * math.fsum(problem.bound * residual_terms)


def _one_sided(problem, beta):
    """Slopes of D when beta_i grows or shrinks, and the room before the box or the kink at 0."""
    g = problem.p - decision(problem, beta)
    slope_up = np.where(beta >= 0, g - problem.epsilon, g + problem.epsilon)
    slope_down = np.where(beta <= 0, -g - problem.epsilon, -g + problem.epsilon)
    room_up = np.where(beta >= 0, problem.upper - beta, -beta)
    room_down = np.where(beta <= 0, beta - problem.lower, beta)
    return slope_up, slope_down, room_up, room_down


def kkt_violation(problem, beta, slack=0.0):
    """Largest slope of D along a feasible direction that moves one pair (or one variable).

    Zero if and only if beta is stationary. A variable within ``slack`` of the end of its room
    counts as being there.
    """
    slope_up, slope_down, room_up, room_down = _one_sided(problem, beta)
    ups = [slope_up[i] for i in range(problem.n) if room_up[i] > slack]
    downs = [slope_down[i] for i in range(problem.n) if room_down[i] > slack]
    if problem.fit_intercept:
        # A pair of equal indices has slope -2 eps or 0 and never counts.
        return max(0.0, max(ups) + max(downs)) if ups and downs else 0.0
    return max([0.0, *ups, *downs])


def best_step_gain(problem, beta):
    """Return the most that D gains by one exact step along a pair (or one variable).

    A step t along slope s with curvature a gains ``t s - a t^2 / 2``. At a point with gap g no
    step can gain more than g: this is what the certificate says about the KKT conditions.
    """
    slope_up, slope_down, room_up, room_down = _one_sided(problem, beta)
    K = np.asarray(problem.K, dtype=np.float64)

    def gain(slope, room, curvature):
        if slope <= 0.0 or room <= 0.0:
            return 0.0
        t = room if curvature * room <= slope else slope / curvature
        return t * slope - 0.5 * curvature * t * t

    gains = [0.0]
    for i in range(problem.n):
        if not problem.fit_intercept:
            gains.append(gain(slope_up[i], room_up[i], K[i, i]))
            gains.append(gain(slope_down[i], room_down[i], K[i, i]))
            continue
        for j in range(problem.n):
            if i != j:
                curvature = K[i, i] + K[j, j] - 2 * K[i, j]
                room = min(room_up[i], room_down[j])
                gains.append(gain(slope_up[i] + slope_down[j], room, curvature))
    return max(gains)


def cvxpy_solution(problem):
    """Maximise D with an interior-point method; return the objective and beta."""
    beta = cp.Variable(problem.n)
    dual = (
        problem.p @ beta
        - problem.epsilon * cp.norm1(beta)
        - 0.5 * cp.quad_form(beta, cp.psd_wrap(problem.K))
    )
    constraints = [problem.lower <= beta, beta <= problem.upper]
    if problem.fit_intercept:
        constraints.append(cp.sum(beta) == 0)
    model = cp.Problem(cp.Maximize(dual), constraints)
    model.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(model.value), np.clip(beta.value, problem.lower, problem.upper)


def hard_margin_value(X, y):
    """``min 1/2 ||w||^2`` subject to ``y_i (w'x_i + b) >= 1``, on separable data."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    model = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w)), [cp.multiply(y, X @ w + b) >= 1])
    model.solve(solver=cp.CLARABEL)
    return float(model.value)
