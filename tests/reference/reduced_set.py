"""Reduced sets by least squares, every candidate tried at every step."""

import numpy as np


def project(K, a, chosen):
    """Return the coefficients of the projection onto some points."""
    return np.linalg.lstsq(K[np.ix_(chosen, chosen)], K[chosen] @ a, rcond=None)[0]


def squared_distance(K, a, b, chosen):
    """Return the squared norm of the difference of two functions."""
    difference = np.array(a, dtype=float)
    difference[chosen] -= b
    return difference @ K @ difference


def pursue(K, coef, n_points):
    """Return the points that lessen the sum of the squared distances most, one by one."""
    chosen = []
    for _ in range(n_points):
        totals = {}
        for candidate in set(range(len(K))) - set(chosen):
            trial = [*chosen, candidate]
            totals[candidate] = sum(
                squared_distance(K, a, project(K, a, trial), trial) for a in coef
            )
        chosen.append(min(totals, key=totals.get))
    return chosen
