r"""Tessellated kernels by numerical integration of their definition.

.. math::
    k(x, y) = (b - a)^{-n} \int_{[a,b]^n} N(z, x)' P N(z, y) dz

N is smooth except at z_k = x_k and z_k = y_k, so Gauss-Legendre rules on the pieces between are exact.
"""

from itertools import combinations_with_replacement, product

import numpy as np


def all_monomials(values, degree):
    """Return the monomials of degree <= `degree` in the given numbers."""
    return [
        float(np.prod([values[i] for i in choice]))
        for total in range(degree + 1)
        for choice in combinations_with_replacement(range(len(values)), total)
    ]


def exponent_list(n, degree):
    """Return the exponents of the same monomials, as tuples."""
    return [
        tuple(choice.count(i) for i in range(n))
        for total in range(degree + 1)
        for choice in combinations_with_replacement(range(n), total)
    ]


def basis_function(z, x, degree, variables):
    """N(z, x), with the z-monomials as the slow index and the x-monomials as the fast one."""
    n = len(x)
    powers = exponent_list(n, degree)
    Z = []
    for gamma in powers if variables == "xz" else [(0,) * n]:
        for delta in powers:
            if sum(gamma) + sum(delta) <= degree:
                Z.append(np.prod(np.power(x, delta)) * np.prod(np.power(z, gamma)))
    above = all(z[k] >= x[k] for k in range(n))
    Z = np.array(Z)
    return np.concatenate([Z * above, Z * (not above)])


def basis_products(x, y, degree, variables, delta):
    """G(x, y), the integral of N(z, x) N(z, y)' over the box divided by its volume."""
    nodes, weights = np.polynomial.legendre.leggauss(degree + 1)
    axes = []
    for k in range(len(x)):
        knots = np.unique([-delta, x[k], y[k], 1 + delta])
        axes.append(
            [
                ((lo + hi) / 2 + (hi - lo) / 2 * t, w * (hi - lo) / 2)
                for lo, hi in zip(knots[:-1], knots[1:], strict=True)
                for t, w in zip(nodes, weights, strict=True)
            ]
        )
    total = 0.0
    for point in product(*axes):
        z = np.array([t for t, _ in point])
        weight = np.prod([w for _, w in point])
        N_x = basis_function(z, x, degree, variables)
        N_y = basis_function(z, y, degree, variables)
        total = total + weight * np.outer(N_x, N_y)
    return total / (1 + 2 * delta) ** len(x)


def product_table(X, degree, variables, delta):
    """G for every pair of points, of shape (m, m, n_P, n_P)."""
    return np.array([[basis_products(x, y, degree, variables, delta) for y in X] for x in X])
