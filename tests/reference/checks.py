"""What every result of the dual solver must satisfy, stated on `tests.reference.svm`.

Tolerances. A relative gap of ``tol`` promises ``D* - D <= tol |D|``. D is strongly concave in the
norm of K, so ``|f_i - f*_i| <= sqrt(2 gap K_ii)`` for decision values without intercept. Two float
evaluations of one certificate differ by at most `rounding_error`. Nothing else is allowed for.
"""

import math

import numpy as np

from tests.reference.svm import (
    FLOAT64_ROUNDOFF,
    decision,
    dual_value,
    duality_gap,
    rounding_error,
)


def assert_feasible(problem, beta):
    """The box holds exactly, the plane up to the rounding of the sum and of its largest terms."""
    assert beta.shape == (problem.n,) and beta.dtype == np.float64
    assert np.all(problem.lower <= beta) and np.all(beta <= problem.upper)
    if problem.fit_intercept:
        limit = 1e-12 * math.fsum(abs(beta)) + 2.0**-50 * np.max(problem.bound)
        assert abs(math.fsum(beta)) <= limit


def assert_certificate_true(problem, result):
    """Every reported number is what a recomputation from beta alone gives."""
    assert_feasible(problem, result.x)
    error = rounding_error(problem, result.x)
    objective = dual_value(problem, result.x)
    gap = duality_gap(problem, result.x)
    assert result.status == "proved"
    assert gap >= -max(1e-9 * abs(objective), error)
    assert result.gap >= 0.0
    assert abs(result.gap - gap) <= error
    assert abs(result.objective - objective) <= error
    assert problem.fit_intercept or result.intercept == 0.0
    assert duality_gap(problem, result.x, result.intercept) - gap <= error
    # A solver may carry the residual p - f: f is then as exact as its largest term, p included.
    terms = np.array([math.fsum(abs(row * result.x)) for row in problem.K]) + abs(problem.p)
    decision_error = 2 * (problem.n + 8) * FLOAT64_ROUNDOFF * terms
    assert np.all(abs(result.decision - decision(problem, result.x)) <= decision_error)


def assert_certified(problem, result, tol):
    """The certificate is true and closed to tol."""
    assert_certificate_true(problem, result)
    error = rounding_error(problem, result.x)
    objective = dual_value(problem, result.x)
    assert duality_gap(problem, result.x) <= tol * abs(objective) + error
    limit = tol * abs(result.objective)
    # Only an optimum of 0 may count as met by a gap that is nothing but rounding.
    met = result.gap <= limit or (not result.x.any() and result.gap <= error)
    assert result.converged == met
    if error <= 0.1 * tol * abs(objective):
        assert result.converged  # otherwise rounding alone may hide the last of the gap


def assert_same_optimum(problem, first, second, order=None, sign=1.0):
    """Two certified results differ by what their gaps allow.

    ``first`` solves ``problem``, ``second`` the same with its points reordered or its sign changed.
    """
    x, f = sign * second.x, sign * second.decision
    if order is not None:
        inverse = np.argsort(order)
        x, f = x[inverse], f[inverse]
    error = rounding_error(problem, first.x) + rounding_error(problem, x)
    assert abs(first.objective - second.objective) <= max(first.gap, second.gap) + error
    radius = math.sqrt(2 * first.gap + error) + math.sqrt(2 * second.gap + error)
    assert np.all(abs(first.decision - f) <= radius * np.sqrt(np.diag(problem.K)))
