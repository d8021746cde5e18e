r"""Tessellated kernels by numerical integration of their definition.

.. math::
    k(x, y) = (b - a)^{-n} \int_{[a,b]^n} N(z, x)' P N(z, y) dz

N is smooth except at z_k = x_k and z_k = y_k, so Gauss-Legendre rules between these are exact.
"""

from itertools import combinations_with_replacement, pairwise, product

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
                for lo, hi in pairwise(knots)
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


def closed_products(x, y, degree, variables, delta):
    """G(x, y) by the closed form of the paper (Corollary 12), divided by the box volume."""
    n, b = len(x), 1 + delta
    powers = exponent_list(n, degree)
    monomials = [
        (np.array(d), np.array(g))
        for g in (powers if variables == "xz" else [(0,) * n])
        for d in powers
        if sum(d) + sum(g) <= degree
    ]

    def T(low, zeta):
        return np.prod((b**zeta - np.power(low, zeta)) / zeta)

    q = len(monomials)
    G = np.empty((2 * q, 2 * q))
    for i, (d, g) in enumerate(monomials):
        for j, (e, h) in enumerate(monomials):
            factor, zeta = np.prod(x**d) * np.prod(y**e), g + h + 1
            both = factor * T(np.maximum(x, y), zeta)
            first, second = factor * T(x, zeta) - both, factor * T(y, zeta) - both
            G[i, j], G[i, q + j], G[q + i, j] = both, first, second
            G[q + i, q + j] = factor * T(np.full(n, -delta), zeta) - both - first - second
    return G / (1 + 2 * delta) ** n


def closed_table(X, degree, variables, delta):
    """G for every pair of points by the closed form."""
    return np.array([[closed_products(x, y, degree, variables, delta) for y in X] for x in X])
