r"""Maximum margin clustering: labels and machines in turns.

.. math:: \min_{y, f} \sum_k \Big( \tfrac12 \|f_k\|^2 + \sum_i C_i \max(0, 1 - y_{ik} f_k(x_i))
    \Big)

over partitions, where y_ik is 1 if point i is in cluster k and -1 if not, with clusters of at least
a given size. Of two clusters one machine tells both. The machines have no intercept, as in [1]_.

References
----------
.. [1] L. Xu, J. Neufeld, B. Larson, D. Schuurmans. "Maximum margin clustering". Advances in Neural
   Information Processing Systems 17 (2004).
.. [2] K. Zhang, I. W. Tsang, J. T. Kwok. "Maximum margin clustering made practical".
   International Conference on Machine Learning (2007).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.distances import Array
from kernelfit.solvers.dual.solve import solve_dual
from kernelfit.tasks.losses import hinge

Labels = NDArray[np.intp]

_LEAST_POWER = -100  # costs below: the objective is their sum, to the last bit
MOST_COST = 2.0**30  # a hinge of the size of rounding then costs 1e-7 of a margin


@dataclass(frozen=True)
class MarginClusters:
    """Outcome of the alternation.

    Attributes
    ----------
    labels : ndarray of shape (n,)
    coef : ndarray of shape (n, n_machines)
        Of the machines, in the points.
    objective : float
        Of labels and machines.
    history : tuple of float
        Objective of the start and after every round; it never rises.
    n_iter : int
        Number of rounds.
    converged : bool
        Whether no labels are better for the machines at hand.
    psd : bool
        Whether the kernel matrix was found positive semidefinite, as the solver requires.
    """

    labels: Labels
    coef: Array
    objective: float
    history: tuple[float, ...]
    n_iter: int
    converged: bool
    psd: bool


def moderate_costs(C: float, counts: Array, exponent: int) -> tuple[Array, int]:
    """Return the costs C counts 2^exponent, for a kernel of values about one, in moderate size.

    Where all are so small that machines vanish beside the hinges, they are raised by a power of
    two, 2^shift, as the objective then is. Costs above `MOST_COST` are lowered to it: a machine
    with coefficients below its costs stays the best one for higher costs.

    Parameters
    ----------
    C : float
        Positive.
    counts : ndarray of shape (n,)
        Between 1e-100 and 2.
    exponent : int

    Returns
    -------
    cost : ndarray of shape (n,)
    shift : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.papers.max_margin import moderate_costs
    >>> moderate_costs(3.0, np.ones(2), 1)
    (array([6., 6.]), 0)
    """
    fraction, power = np.frexp(C)
    power = int(power) + exponent
    raised = max(power, _LEAST_POWER)
    # 2^400 times the least count is above MOST_COST.
    cost = np.ldexp(float(fraction) * counts, min(raised, 400))
    return np.minimum(cost, MOST_COST), raised - power


def signs(labels: Labels, n_clusters: int) -> Array:
    """Return y of every point and machine: one machine for two clusters, else one a cluster."""
    if n_clusters == 2:
        return np.where(labels == 1, 1.0, -1.0)[:, None]
    return np.where(labels[:, None] == np.arange(n_clusters), 1.0, -1.0)


def label_costs(decision: Array, cost: Array) -> Array:
    """Return what every label of every point costs for given machines, up to a constant of it.

    Parameters
    ----------
    decision : ndarray of shape (n, n_machines)
    cost : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n, n_clusters)
    """
    inside = np.maximum(1.0 - decision, 0.0)
    outside = np.maximum(1.0 + decision, 0.0)
    if decision.shape[1] == 1:
        return np.asarray(cost[:, None] * np.concatenate((outside, inside), axis=1))
    return np.asarray(cost[:, None] * (inside - outside))


def balanced_labels(costs: Array, counts: Array, least: float) -> Labels:
    """Return labels of little cost with no cluster smaller than a limit.

    Every point first takes its cheapest label. Then the cheapest chain of moves from a cluster with
    points to spare fills each small cluster, one point at a time. Where all points count alike the
    cost is the least possible: such chains keep it so, as in a transport problem.

    Parameters
    ----------
    costs : ndarray of shape (n, n_clusters)
    counts : ndarray of shape (n,)
        Positive.
    least : float
        At most the sum of the counts over the number of clusters. Where points count differently
        and no move keeps to it, some cluster stays smaller.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit.papers.max_margin import balanced_labels
    >>> balanced_labels(np.array([[0.0, 5.0], [0.0, 1.0], [0.0, 3.0]]), np.ones(3), 1.0)
    array([0, 1, 0])
    """
    n, c = costs.shape
    labels: Labels = costs.argmin(axis=1)
    rows = np.arange(n)
    sizes = np.bincount(labels, counts, c)
    slack = 1e-12 * counts.sum()
    for _ in range(n * c):
        short = np.flatnonzero(sizes < least - slack)
        if short.size == 0:
            break
        moves = costs - costs[rows, labels][:, None]
        # The cheapest point of every cluster to move to every other one.
        price = np.full((c, c), np.inf)
        who = np.zeros((c, c), dtype=np.intp)
        for a in range(c):
            members = np.flatnonzero(labels == a)
            if members.size:
                first = moves[members].argmin(axis=0)
                who[a] = members[first]
                price[a] = moves[who[a], np.arange(c)]
        chain = _cheapest_chain(price, who, counts, sizes, int(short[0]), least - slack)
        if not chain:
            break
        for point, target in chain:
            sizes[labels[point]] -= counts[point]
            sizes[target] += counts[point]
            labels[point] = target
    return labels


def _cheapest_chain(
    price: Array, who: Labels, counts: Array, sizes: Array, target: int, least: float
) -> list[tuple[int, int]]:
    """Return the moves (point, cluster) that bring a point to the target, by Bellman and Ford."""
    c = len(price)
    total = np.full(c, np.inf)  # the cheapest chain from a cluster to the target
    total[target] = 0.0
    following = np.full(c, -1, dtype=np.intp)
    price = price.copy()
    np.fill_diagonal(price, np.inf)
    for _ in range(c - 1):
        through = price + total
        best = through.argmin(axis=1)
        value = through[np.arange(c), best]
        better = value + 1e-12 * np.abs(value) < total
        better[target] = False
        if not better.any():
            break
        total[better], following[better] = value[better], best[better]
    spare = [
        k
        for k in range(c)
        if following[k] >= 0 and sizes[k] - counts[who[k, following[k]]] >= least
    ]
    if not spare:
        return []
    at = min(spare, key=lambda k: total[k])
    moves: list[tuple[int, int]] = []
    while at != target and len(moves) < c:
        moves.append((int(who[at, following[at]]), int(following[at])))
        at = int(following[at])
    return moves


def alternate_margin(
    K: Array,
    labels: Labels,
    n_clusters: int,
    cost: Array,
    counts: Array,
    least: float,
    *,
    max_iter: int,
    tol: float,
    callback: Callable[[int, float], object] | None = None,
) -> MarginClusters:
    """Improve machines and labels in turns.

    A round trains the machines and then takes the labels of the least cost for them, if these have
    a lower objective.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    labels : ndarray of shape (n,)
        The start.
    n_clusters : int
        At least 2.
    cost : ndarray of shape (n,)
        C of every point, positive.
    counts : ndarray of shape (n,)
        How many times every point counts in the size of a cluster.
    least : float
        The size of the smallest cluster allowed.
    max_iter : int
        Bound on the number of rounds.
    tol : float
        Relative duality gap to which the machines are trained, and decrease that counts.
    callback : callable, default=None
        ``callback(n_iter, objective)`` after every round.

    Returns
    -------
    MarginClusters
    """
    coef, decision, objective, psd = _train(K, signs(labels, n_clusters), cost, None, tol)
    history = [objective]
    n_iter, converged = 0, False
    while not converged and n_iter < max_iter:
        n_iter += 1
        new = balanced_labels(label_costs(decision, cost), counts, least)
        if np.array_equal(new, labels):
            converged = True
        else:
            found = _train(K, signs(new, n_clusters), cost, coef, tol)
            if found[2] < objective - tol * abs(objective):
                labels = new
                coef, decision, objective, _ = found
                psd = psd and found[3]
            else:
                converged = True
        history.append(objective)
        if callback is not None:
            callback(n_iter, objective)
    return MarginClusters(labels, coef, objective, tuple(history), n_iter, converged, psd)


def _train(
    K: Array, y: Array, cost: Array, start: Array | None, tol: float
) -> tuple[Array, Array, float, bool]:
    """Return coefficients, decision values and objective of the machines, and whether K is psd."""
    coef, decision = np.empty(y.shape), np.empty(y.shape)
    objective, psd = 0.0, True
    for k in range(y.shape[1]):
        # The sign of a coefficient is that of its label, of which some have changed.
        known = None if start is None else np.abs(start[:, k]) * y[:, k]
        task = hinge(y[:, k], cost, fit_intercept=False)
        result = solve_dual(K, task, tol=tol, start=known)
        coef[:, k], decision[:, k] = result.x, result.decision
        losses = np.maximum(1.0 - y[:, k] * result.decision, 0.0)
        objective += 0.5 * float(result.x @ result.decision) + float(cost @ losses)
        psd = psd and result.status == "proved"
    return coef, decision, objective, psd
