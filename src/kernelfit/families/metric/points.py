"""Training points of a metric: distinct, few enough, in units of their spread."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.utils.distinct import distinct_points

Array = NDArray[Any]

# A spread below this fraction of the largest value of a feature is rounding.
_CONSTANT = 1e-12


@dataclass(frozen=True)
class Points:
    """Distinct points with their targets.

    Equal rows are one point with the mean of their targets, so leaving one out leaves no copy of it
    behind, and a row of weight 2 equals a repeated row.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Of mean 0 and variance 1 in every feature that is not constant, 0 in the others.
    Y : ndarray of shape (n, c)
        Of mean 0; the variances of the columns sum to one, unless all are constant.
    weight : ndarray of shape (n,)
        Positive, of mean one.
    spread : ndarray of shape (d,)
        Standard deviations of the features before, 0 where constant.
    rows : ndarray of shape (n,)
        A row of the data that each point is.
    """

    X: Array
    Y: Array
    weight: Array
    spread: Array
    rows: NDArray[np.intp]

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Which features are not constant."""
        return self.spread > 0.0

    def in_units_of_the_data(self, factor: Array) -> Array:
        """Return the map of the data from one of standardised features, its diagonal or whole."""
        return np.asarray(factor * self.varies / np.where(self.varies, self.spread, 1.0))

    def first(self, size: int) -> "Points":
        """Return the first points, in random order if a subsample was drawn."""
        weight = self.weight[:size]
        return Points(
            self.X[:size], self.Y[:size], weight / weight.mean(), self.spread, self.rows[:size]
        )


def draw_points(X: Array, Y: Array, weight: Array, max_points: int, seed: int) -> Points:
    """Return the distinct points of some data, at most so many, in random order.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    Y : ndarray of shape (n, c)
    weight : ndarray of shape (n,)
        Not negative, not all zero.
    max_points : int
        All distinct points are equally likely to be drawn where there are more.
    seed : int
        Of the random order, which does not depend on the order of the rows.

    Returns
    -------
    Points
    """
    X, Y, counts, rows = merge_points(X, Y, weight)
    chosen = np.random.default_rng(seed).permutation(len(X))[:max_points]
    counts = counts[chosen] / counts[chosen].mean()
    mass = counts / len(counts)
    # In units of the largest, so that no square overflows.
    targets = Y[chosen] / np.maximum(np.abs(Y[chosen]).max(initial=0.0), np.finfo(float).tiny)
    points, spread = _standardise(X[chosen], mass)
    # Differences first: those of constant targets are exactly zero.
    targets = targets - targets[0]
    targets -= mass @ targets
    variance = float(mass @ np.einsum("ij,ij->i", targets, targets))
    if variance > 0.0:
        targets /= np.sqrt(variance)
    return Points(points, targets, counts, spread, rows[chosen])


def merge_points(X: Array, Y: Array, weight: Array) -> tuple[Array, Array, Array, NDArray[np.intp]]:
    """Return the distinct points in ascending order, their mean targets and their weights.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    Y : ndarray of shape (n, c)
    weight : ndarray of shape (n,)
        Not negative, not all zero. Points of weight zero are left out.

    Returns
    -------
    X : ndarray of shape (m, d)
    Y : ndarray of shape (m, c)
    weight : ndarray of shape (m,)
    rows : ndarray of shape (m,)
        The first row of the data that each point is.
    """
    rows = distinct_points(X, weight)
    return X[rows.first], _mean_targets(Y, weight, rows.first, rows.place), rows.counts, rows.first


def _mean_targets(Y: Array, weight: Array, first: Array, place: Array) -> Array:
    """Return the mean of the targets of equal rows, to the last bit where they are equal."""
    kept = place >= 0
    place, base = place[kept], Y[first]
    excess = weight[kept, None] * (Y[kept] - base[place])
    mass = np.bincount(place, weights=weight[kept])
    return np.column_stack(
        [base[:, c] + np.bincount(place, weights=excess[:, c]) / mass for c in range(Y.shape[1])]
    )


def _standardise(X: Array, mass: Array) -> tuple[Array, Array]:
    """Return centred points in units of their spread, and the spread."""
    size = np.abs(X).max(axis=0, initial=0.0)
    unit = np.where(size > 0.0, size, 1.0)
    X = X / unit  # so that no square overflows
    X -= mass @ X
    spread = np.sqrt(mass @ (X * X))
    spread[spread <= _CONSTANT] = 0.0
    X = np.where(spread > 0.0, X / np.where(spread > 0.0, spread, 1.0), 0.0)
    return X, spread * unit
