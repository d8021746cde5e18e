"""What the tessellated basis knows of points; symbols are those of `tessellated`."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kernelfit.kernels.monomials import Array, IntArray


@dataclass(frozen=True)
class BoxFunctions:
    """The functions of a factor U at some points.

    Attributes
    ----------
    X, tails : ndarray of shape (m, n)
        The points, and what is left of the box above them in each coordinate.
    g : ndarray of shape (m, r)
        The part of g that is constant in z.
    slope : ndarray of shape (m, r, n)
        Its linear part, for degree 2; of shape (r, n) for degree 1. From degree 3 on all
        coefficients of g in z, of shape (m, r, n_z).
    Q : ndarray of shape (r, n, n)
        Its quadratic part.
    H, F : ndarray of shape (m, r * n_z)
    """

    X: Array
    tails: Array
    g: Array
    slope: Array
    Q: Array
    H: Array
    F: Array

    def __len__(self) -> int:
        return len(self.X)

    def take(self, rows: IntArray | slice) -> "BoxFunctions":
        """Return the functions at some of the points."""
        return replace(
            self,
            X=self.X[rows],
            tails=self.tails[rows],
            g=self.g[rows],
            slope=self.slope[rows] if self.slope.ndim == 3 else self.slope,
            H=self.H[rows],
            F=self.F[rows],
        )

    @cached_property
    def columns(self) -> tuple[Array, ...]:
        """X, tails, g, H and F with the points in columns."""
        arrays = (self.X, self.tails, self.g, self.H, self.F)
        return tuple(np.ascontiguousarray(array.T) for array in arrays)

    @cached_property
    def slope_columns(self) -> Array:
        """The slopes from degree 2 on with the points in columns."""
        return np.ascontiguousarray(np.moveaxis(self.slope, 0, -1))


@dataclass(frozen=True)
class IdentityFunctions:
    """All functions of the basis, for the kernel of a multiple of P = I.

    Attributes
    ----------
    X, tails, Z : ndarray
        As in `BoxPoints`.
    even : ndarray of shape (m, d + 1)
        Sums of the even moments on the boxes above the points, by degree.
    factor : float
        The multiple.
    """

    X: Array
    tails: Array
    Z: Array
    even: Array
    factor: float

    def __len__(self) -> int:
        return len(self.X)

    def take(self, rows: IntArray | slice) -> "IdentityFunctions":
        """Return the functions at some of the points."""
        return replace(
            self, X=self.X[rows], tails=self.tails[rows], Z=self.Z[rows], even=self.even[rows]
        )


@dataclass(frozen=True)
class BoxPoints:
    """Points with what all factors and responses need of them.

    Attributes
    ----------
    X : ndarray of shape (m, n)
        The points, in the box.
    tails : ndarray of shape (m, n)
        What is left of the box above them in each coordinate.
    Z : ndarray of shape (m, n_x)
        Their monomials.
    moments : ndarray of shape (m, n_moments)
        On the boxes above them.
    """

    X: Array
    tails: Array
    Z: Array
    moments: Array

    def take(self, rows: IntArray) -> "BoxPoints":
        """Return some of the points."""
        return BoxPoints(self.X[rows], self.tails[rows], self.Z[rows], self.moments[rows])
