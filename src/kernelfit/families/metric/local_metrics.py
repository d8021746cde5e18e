r"""Nadaraya-Watson regression: its leave-one-out error, and metrics that reduce its bias.

The estimate at x is the average of the targets with weights :math:`s_i \exp(-\gamma d(x, x_i))`. To
the first order its bias is :math:`\mathrm{tr}\,A^{-1}B` for the metric A of determinant one, where

.. math:: B = \tfrac12 (a b' + b a'), \qquad a = \nabla \log p(x), \quad b = \nabla y(x).

For normal data :math:`a = -\Sigma^{-1}(x - \mu)` and :math:`b = \Sigma^{-1}\Sigma_{xy}` [1]_. B has
one eigenvalue of each sign, so :math:`A = |B|` has no bias: in the directions
:math:`\hat a, \hat b` of the two gradients it is proportional to
:math:`\tfrac12(\hat a\hat a' + \hat b\hat b')`, to which a multiple of the identity is added for
the other directions. The metric changes with x through the density; its mean over the points is a
metric for all.

References
----------
.. [1] Y.-K. Noh, M. Sugiyama, K.-E. Kim, F. C. Park, D. D. Lee. Generative local metric learning
   for kernel regression. Advances in Neural Information Processing Systems 30, 2017.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from kernelfit.families.metric.points import Points
from kernelfit.families.metric.result import LearnedMetric, symmetric_factor
from kernelfit.kernels.distances import products, squared_distances, squared_norms

Array = NDArray[Any]

SHARES = (0.01, 0.1, 1.0)  # of the identity in the metric, among which the error decides
_GRID = 2.0 ** np.arange(-6, 12)  # of widths in units of the inverse median distance
_RIDGE = 1e-6  # of the covariance, relative to its mean diagonal


@dataclass(frozen=True)
class Gradients:
    """The gradients of normal data: the slope of the targets and that of the log density.

    Attributes
    ----------
    centre : ndarray of shape (d,)
    precision : ndarray of shape (d, d)
        Inverse of the covariance.
    slope : ndarray of shape (d,)
        Unit vector along which the targets change most, zero where they do not.
    """

    centre: Array
    precision: Array
    slope: Array

    def density(self, X: Array) -> Array:
        """Return unit vectors along the gradient of the log density at points, or zeros."""
        return _unit((self.centre - X) @ self.precision)


def fit_gradients(X: Array, Y: Array, weight: Array) -> Gradients:
    """Return the gradients of the normal distribution with the moments of the points.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    Y : ndarray of shape (n, c)
        Of several targets the leading direction of their slopes is taken.
    weight : ndarray of shape (n,)

    Returns
    -------
    Gradients
    """
    mass = weight / weight.sum()
    centre = mass @ X
    X = X - centre
    covariance = X.T @ (mass[:, None] * X)
    ridge = _RIDGE * float(np.trace(covariance)) / len(centre)
    covariance[np.diag_indices_from(covariance)] += ridge if ridge > 0.0 else 1.0
    precision = np.linalg.inv(covariance)
    slopes = precision @ (X.T @ (mass[:, None] * Y))
    vectors, values, _ = np.linalg.svd(slopes, full_matrices=False)
    return Gradients(centre, precision, vectors[:, 0] * (values[0] > 0.0))


def local_distances(X: Array, points: Array, gradients: Gradients, share: float) -> Array:
    """Return the squared distances from each x, under its own metric, to points.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    points : ndarray of shape (n, d)
    gradients : Gradients
    share : float
        Of the identity in the metrics, whose determinants are one.

    Returns
    -------
    ndarray of shape (m, n)
    """
    d = X.shape[1]
    a, b = gradients.density(X), gradients.slope
    cosine = a @ b
    D = share * squared_distances(X, points)
    D += 0.5 * (products(a, points) - np.einsum("ij,ij->i", a, X)[:, None]) ** 2
    D += 0.5 * (points @ b - (X @ b)[:, None]) ** 2
    # The metric has the eigenvalues share + (1 +- cosine) / 2, and share for all other directions;
    # in one dimension there is one.
    length = 0.5 * (squared_norms(a) + float(b @ b))
    if d == 1:
        return np.asarray(D / (share + length)[:, None])
    spread = 0.5 * np.sqrt(0.25 * (squared_norms(a) - float(b @ b)) ** 2 + cosine**2)
    logdet = np.log(share + length / 2 + spread) + np.log(share + length / 2 - spread)
    return np.asarray(D / np.exp((logdet + (d - 2) * np.log(share)) / d)[:, None])


def mean_metric(X: Array, gradients: Gradients, weight: Array, share: float) -> Array:
    """Return the mean of the metrics at points.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    gradients : Gradients
    weight : ndarray of shape (n,)
    share : float
        Of the identity.

    Returns
    -------
    ndarray of shape (d, d)
    """
    a, b = gradients.density(X), gradients.slope
    spread = a.T @ ((weight / weight.sum())[:, None] * a)
    return np.asarray(share * np.eye(X.shape[1]) + 0.5 * (spread + np.outer(b, b)))


def learn_mean_metric(points: Points) -> LearnedMetric:
    """Return the mean metric, its share of the identity and its scale of the least error.

    Parameters
    ----------
    points : Points

    Returns
    -------
    LearnedMetric
        Its history are the errors for the shares tried.
    """
    X, Y, weight = points.X, points.Y, points.weight
    rows = np.arange(len(X))
    gradients = fit_gradients(X, Y, weight)
    found = []
    for share in SHARES:
        factor = symmetric_factor(mean_metric(X, gradients, weight, share)) * points.varies
        D = squared_distances(X @ factor.T)
        if len(X) > 1:
            np.fill_diagonal(D, np.inf)
        gamma, error = choose_width(D, rows, Y, weight)
        found.append((error, np.sqrt(gamma) * factor))
    error, factor = min(found, key=lambda one: one[0])
    return LearnedMetric(factor, error, tuple(one[0] for one in found))


def average(D: Array, Y: Array, weight: Array, gamma: float) -> Array:
    """Return Nadaraya-Watson averages of targets.

    Parameters
    ----------
    D : ndarray of shape (m, n)
        Squared distances of new points to points; infinity leaves a point out.
    Y : ndarray of shape (n, c)
    weight : ndarray of shape (n,)
    gamma : float
        Width of the Gaussian kernel.

    Returns
    -------
    ndarray of shape (m, c)
        Far from all points, the mean target of the nearest.
    """
    nearest = D.min(axis=1, keepdims=True)
    K = np.exp(-gamma * (D - nearest))
    K *= weight
    return np.asarray((K @ Y) / K.sum(axis=1, keepdims=True))


def choose_width(D: Array, rows: Array, Y: Array, weight: Array) -> tuple[float, float]:
    """Return the width of the least leave-one-out error, and that error.

    Parameters
    ----------
    D : ndarray of shape (m, n)
        Squared distances of some of the points to all, infinite to themselves.
    rows : ndarray of shape (m,)
        Which points they are.
    Y : ndarray of shape (n, c)
    weight : ndarray of shape (n,)

    Returns
    -------
    gamma : float
    error : float
        Mean of the squared errors at these points.
    """
    mass = weight[rows] / weight[rows].sum()

    def error(gamma: float) -> float:
        miss = average(D, Y, weight, gamma) - Y[rows]
        return float(mass @ np.einsum("ij,ij->i", miss, miss))

    known = D[np.isfinite(D)]
    unit = float(np.median(known)) if known.size else 1.0
    unit = 1.0 / unit if unit > 0.0 else 1.0
    errors = [error(unit * factor) for factor in _GRID]
    best = int(np.argmin(errors))
    found = minimize_scalar(
        lambda step: error(unit * _GRID[best] * 2.0**step),
        bounds=(-1.0, 1.0),
        method="bounded",
        options={"xatol": 0.05},
    )
    if found.fun < errors[best]:
        return unit * float(_GRID[best] * 2.0**found.x), float(found.fun)
    return unit * float(_GRID[best]), errors[best]


def _unit(vectors: Array) -> Array:
    """Return rows of length one, zero where they are zero."""
    lengths = np.sqrt(squared_norms(vectors))[:, None]
    return np.divide(vectors, lengths, out=np.zeros(vectors.shape), where=lengths > 0.0)
