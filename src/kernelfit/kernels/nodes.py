"""Nodes and weights of integrals over boxes, for kernels that are integrals.

Features that depend on a variable z, N(z, x), make the kernel ``integral N(z, x)'P N(z, y) dz``.
The integral is a sum over nodes: a rule of Gauss for few dimensions, random points for many.
"""

from itertools import product

import numpy as np

from kernelfit.kernels.monomials import Array


def box_nodes(low: Array, high: Array, order: int) -> tuple[Array, Array]:
    """Return the nodes of Gauss and Legendre in a box, and weights that sum to its volume.

    Parameters
    ----------
    low, high : array-like of shape (d,)
        The ends of the box.
    order : int
        Number of nodes in each of the d coordinates; polynomials up to degree 2 order - 1 in each
        are integrated exactly.

    Returns
    -------
    nodes : ndarray of shape (order ** d, d)
    weights : ndarray of shape (order ** d,)

    Examples
    --------
    >>> from kernelfit.kernels.nodes import box_nodes
    >>> z, weights = box_nodes([0.0, 0.0], [1.0, 2.0], order=2)
    >>> round(float(weights @ (z[:, 0] * z[:, 1] ** 2)), 6)  # 1/2 times 8/3
    1.333333
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    t, w = np.polynomial.legendre.leggauss(order)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    nodes = middle + half * np.array(list(product(t, repeat=len(low))))
    weights = np.prod(np.array(list(product(w, repeat=len(low)))), axis=1) * np.prod(half)
    return nodes, weights


def random_nodes(low: Array, high: Array, n_nodes: int, seed: int = 0) -> tuple[Array, Array]:
    """Return uniform random nodes in a box, and equal weights that sum to its volume.

    Parameters
    ----------
    low, high : array-like of shape (d,)
        The ends of the box.
    n_nodes : int
    seed : int, default=0

    Returns
    -------
    nodes : ndarray of shape (n_nodes, d)
    weights : ndarray of shape (n_nodes,)
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    nodes = np.random.default_rng(seed).uniform(low, high, (n_nodes, len(low)))
    return nodes, np.full(n_nodes, np.prod(high - low) / n_nodes)
