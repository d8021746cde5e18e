"""Rules for the bandwidth of the Gaussian kernel."""

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from kernelfit.kernels.distances import Array, Data, squared_distances


def bandwidth_gamma(X: Data, rule: str, max_rows: int = 2000) -> float:
    r"""Return gamma of the kernel :math:`\exp(-\gamma\|x-y\|^2)` by a rule on pairwise distances.

    The points are best distinct: repeated ones are at distance zero from each other.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    rule : {"median", "variance"}
        Which statistic of the distances is the bandwidth tau: their median, or their variance (as
        in Yang and Li). Then :math:`\gamma = 1/(2\tau^2)`. The variance is a squared length, so
        it does not scale with the data: on data in small units the kernel becomes the identity.
    max_rows : int, default=2000
        Distances are taken between this many rows at most, evenly spaced in X.

    Returns
    -------
    float
        1.0 when all the points are equal, infinite when they are too close to square a distance.
    """
    n = X.shape[0]
    if n > max_rows:
        X = X[np.linspace(0, n - 1, max_rows).astype(np.intp)]
    distances = np.sqrt(squared_distances(X)[np.triu_indices(X.shape[0], 1)])
    if distances.size == 0 or distances.max() == 0.0:
        return 1.0 if _all_equal(X) else np.inf
    tau = float(np.median(distances) if rule == "median" else distances.var())
    if tau == 0.0:  # more than half of the pairs are equal, or all distances are
        tau = float(distances.mean())
    return 1.0 / (2.0 * tau**2) if tau**2 > 0.0 else np.inf


def _all_equal(X: Data) -> bool:
    dense = X.toarray() if sparse.issparse(X) else X
    return bool(np.all(dense == dense[:1]))


def reconstruction_gamma(X: Array, max_rows: int = 1000) -> float:
    r"""Return gamma by which the other points best reconstruct every point (SC-MS).

    The bandwidth minimises the sum over i of the distance of x_i to the average of the other
    points, weighted by :math:`\exp(-\gamma\|x_i-x_j\|^2)`: a search on a logarithmic grid around
    the median rule, then by golden section.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    max_rows : int, default=1000
        Only this many rows are used at most, evenly spaced in X.

    Returns
    -------
    float
        1.0 when all the points are equal, infinite when they are too close to square a distance.
    """
    n = X.shape[0]
    if n > max_rows:
        X = X[np.linspace(0, n - 1, max_rows).astype(np.intp)]
    D2 = squared_distances(X)
    np.fill_diagonal(D2, np.inf)  # a point does not reconstruct itself
    nearest = D2.min(axis=1, keepdims=True)
    if not np.isfinite(nearest).all():
        return 1.0
    if D2[np.isfinite(D2)].max() == 0.0:
        return 1.0 if _all_equal(X) else np.inf

    def error(log_gamma: float) -> float:
        W = np.exp(-np.exp(log_gamma) * (D2 - nearest))  # scaled by row: no row vanishes
        W /= W.sum(axis=1, keepdims=True)
        return float(np.linalg.norm(X - W @ X, axis=1).sum())

    grid = np.log(bandwidth_gamma(X, "median")) + np.linspace(-3.0, 7.0, 21)
    best = int(np.argmin([error(g) for g in grid]))
    bracket = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(error, bounds=bracket, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x))
