"""Kernel ridge regression by the bordered linear system, and leave-one-out by refits."""

import numpy as np


def solve(K, Y, ridge, weight, fit_intercept=True):
    """Return the coefficients and the intercepts."""
    n, m = Y.shape
    A = K + np.diag(ridge / weight)
    if not fit_intercept:
        return np.linalg.solve(A, Y), np.zeros(m)
    system = np.block([[A, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.vstack([Y, np.zeros((1, m))]))
    return solution[:n], solution[n]


def errors_left_out(K, Y, ridge, weight, rows, fit_intercept=True):
    """Return the errors at some rows of the machine trained on all others."""
    rest = np.setdiff1d(np.arange(len(Y)), rows)
    coef, intercept = solve(K[np.ix_(rest, rest)], Y[rest], ridge, weight[rest], fit_intercept)
    return Y[rows] - K[np.ix_(rows, rest)] @ coef - intercept


def leave_one_out(K, Y, ridge, weight, fit_intercept=True):
    """Return the errors of n refits."""
    rows = ([i] for i in range(len(Y)))
    return np.vstack([errors_left_out(K, Y, ridge, weight, row, fit_intercept) for row in rows])
