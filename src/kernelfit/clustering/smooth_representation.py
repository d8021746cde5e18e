"""Self-representation that varies smoothly along its own graph: the Laplacian regularised l1-graph.

References
----------
.. [1] Y. Yang, Z. Wang, J. Yang, J. Wang, S. Chang, T. S. Huang. "Data clustering by Laplacian
   regularized l1-graph". AAAI Conference on Artificial Intelligence (2014).
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelfit.clustering.graphs import symmetrised
from kernelfit.clustering.lasso import lasso_representation
from kernelfit.clustering.self_representation import unit_rows
from kernelfit.kernels.distances import Array
from kernelfit.utils.jit import inner, jit

_SWEEPS = 200
_TOL = 1e-4  # of coefficients, whose sizes are mostly 0.1 to 1
_LITTLE = 0.1 * _TOL  # change of what a point's neighbours ask for that it does not answer


def smooth_representation(
    X: Array, ratio: float, smoothness: float, n_rounds: int
) -> tuple[sparse.csr_array, float]:
    r"""Represent points by each other, smoothly on their graph.

    .. math:: \min_C \sum_i \Big( \tfrac12 \|x_i - \sum_j c_{ij} x_j\|^2 + \lambda_i \|c_i\|_1
        \Big) + \frac\gamma4 \sum_{il} W_{il} \|c_i - c_l\|^2, \qquad c_{ii} = 0

    for points of unit length. W are the symmetrised absolute codes of the round before, scaled to
    the mean degree one; the first ones are those without smoothness.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    ratio : float
        In (0, 1): the penalty of a point, as a share of its largest correlation.
    smoothness : float
        Gamma, not negative.
    n_rounds : int
        Number of graphs.

    Returns
    -------
    codes : csr_array of shape (n, n)
        With a zero diagonal.
    scale : float
        The mean degree of the last graph.
    """
    X = unit_rows(X)
    gram = X @ X.T
    codes = lasso_representation(X, X, ratio, exclude_self=True)
    thresholds = ratio * np.abs(gram - np.diag(np.diag(gram))).max(axis=1)
    scale = 1.0
    for _ in range(n_rounds):
        graph = symmetrised(sparse.csr_array(np.abs(codes)))
        scale = float(graph.sum()) / len(X) or 1.0
        codes = lasso_codes(gram, gram, codes, codes, graph / scale, thresholds, smoothness, True)
    return sparse.csr_array(codes), scale


def represent_smoothly(
    X: Array, atoms: Array, codes: sparse.csr_array, scale: float, ratio: float, smoothness: float
) -> sparse.csr_array:
    """Represent new points by those with known codes, whose graph they join by their lasso codes.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    atoms : ndarray of shape (n, d)
    codes : csr_array of shape (n, n)
    scale : float
        As `smooth_representation` returns both.
    ratio, smoothness : float

    Returns
    -------
    csr_array of shape (m, n)
    """
    own = lasso_representation(X, atoms, ratio, exclude_self=False)
    X, atoms = unit_rows(X), unit_rows(atoms)
    correlations = X @ atoms.T
    thresholds = ratio * np.abs(correlations).max(axis=1)
    graph = sparse.csr_array(np.abs(own) / scale)
    known = codes.toarray()
    own = lasso_codes(
        atoms @ atoms.T, correlations, own, known, graph, thresholds, smoothness, False
    )
    return sparse.csr_array(own)


def lasso_codes(
    gram: Array,
    correlations: Array,
    codes: Array,
    neighbours: Array,
    graph: sparse.csr_array,
    thresholds: Array,
    smoothness: float,
    exclude_self: bool,
) -> Array:
    """Return the codes of the least objective, by coordinate descent on one point after the other.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Products of the atoms.
    correlations : ndarray of shape (m, n)
        Products of the points with the atoms.
    codes : ndarray of shape (m, n)
        The start.
    neighbours : ndarray of shape (l, n)
        Codes of the points in the columns of the graph; `codes` itself where they are the same.
    graph : csr_array of shape (m, l)
    thresholds : ndarray of shape (m,)
        Lambda of every point.
    smoothness : float
    exclude_self : bool
        Whether point i is atom i.

    Returns
    -------
    ndarray of shape (m, n)
    """
    joint = neighbours is codes
    codes = codes.copy()
    neighbours = codes if joint else neighbours
    left = correlations - sparse.csr_array(codes) @ gram
    links = graph.indices.astype(np.intp), graph.indptr.astype(np.intp), graph.data
    asked = np.full(len(codes), np.inf)
    for _ in range(_SWEEPS):
        moved = _sweep(
            gram, left, codes, neighbours, *links, thresholds, smoothness, exclude_self, joint,
            asked,
        )  # fmt: skip
        if moved <= _TOL:
            break
    return codes


@jit()
def _sweep(
    gram: Array,
    left: Array,
    codes: Array,
    neighbours: Array,
    indices: NDArray[np.intp],
    starts: NDArray[np.intp],
    weights: Array,
    thresholds: Array,
    smoothness: float,
    exclude_self: bool,
    joint: bool,
    asked: Array,
) -> float:
    """Minimise over the code of every point in turn; return the largest change.

    Points are left out whose neighbours have hardly changed: `asked` bounds, for every point, how
    much the smooth part of its objective did since its turn. Late sweeps move few points.
    """
    m, n = codes.shape
    linear = np.empty(n)
    largest = 0.0
    for i in range(m):
        if asked[i] <= _LITTLE:
            continue
        asked[i] = 0.0
        linear[:] = 0.0
        degree = 0.0
        for at in range(starts[i], starts[i + 1]):
            degree += weights[at]
            for k in range(n):
                linear[k] += smoothness * weights[at] * neighbours[indices[at], k]
        curvature = 1.0 + smoothness * degree
        itself = i if exclude_self else -1
        moved = _solve_point(gram, left[i], codes[i], linear, thresholds[i], curvature, itself)
        largest = max(largest, moved)
        if joint:  # the graph is symmetric
            for at in range(starts[i], starts[i + 1]):
                asked[indices[at]] += smoothness * weights[at] * moved
    return largest


@inner()
def _solve_point(
    gram: Array,
    rest: Array,
    c: Array,
    linear: Array,
    threshold: float,
    curvature: float,
    itself: int,
) -> float:
    """Minimise over one code; `rest` is a_j'(x - sum of c_k a_k). Return the largest change.

    Sweeps over all coordinates alternate with many over those that are not zero, of which alone
    the products are kept up to date meanwhile.
    """
    n = len(c)
    active = np.empty(n, dtype=np.intp)
    now, own = np.empty(n), np.empty(n)
    largest = 0.0
    for _ in range(_SWEEPS):
        moved = 0.0
        for j in range(n):
            if gram[j, j] == 0.0 or j == itself:
                continue
            target = rest[j] + c[j] + linear[j]
            step = np.sign(target) * max(abs(target) - threshold, 0.0) / curvature - c[j]
            if step != 0.0:
                c[j] += step
                moved = max(moved, abs(step))
                for m in range(n):
                    rest[m] -= step * gram[j, m]
        largest = max(largest, moved)
        if moved <= _TOL:
            break
        a = 0
        for j in range(n):
            if c[j] != 0.0:
                active[a] = j
                now[a] = c[j]
                own[a] = rest[j]
                a += 1
        G = np.empty((a, a))
        for k in range(a):
            for m in range(a):
                G[k, m] = gram[active[k], active[m]]
        for _ in range(_SWEEPS):
            moved = 0.0
            for k in range(a):
                target = own[k] + now[k] + linear[active[k]]
                step = np.sign(target) * max(abs(target) - threshold, 0.0) / curvature - now[k]
                if step != 0.0:
                    now[k] += step
                    moved = max(moved, abs(step))
                    for m in range(a):
                        own[m] -= step * G[k, m]
            if moved <= _TOL:
                break
        for k in range(a):
            j = active[k]
            step = now[k] - c[j]
            if step != 0.0:
                c[j] = now[k]
                for m in range(n):
                    rest[m] -= step * gram[j, m]
    return largest
