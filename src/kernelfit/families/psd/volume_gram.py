"""Gram matrices of the tessellated basis without z, from volumes computed once."""

import numpy as np

from kernelfit.families.psd.box_points import BoxFunctions
from kernelfit.kernels.monomials import Array, IntArray
from kernelfit.kernels.tessellated import add_product, mirror

_ROWS = 64  # computed before they are mirrored


class VolumeGram:
    """The Gram matrix K + L L' of functions without z, from volumes that are known.

    It is V o (g g') + H F' + F H' + L L', matrix products but for one pass. Unlike `fill`, these do
    not promise the same bits in different blocks.

    Parameters
    ----------
    functions : BoxFunctions
        Of m points.
    volumes : ndarray of shape (m, m)
        V between the points.
    update : ndarray of shape (m, j) or None
        L.
    """

    def __init__(self, functions: BoxFunctions, volumes: Array, update: Array | None) -> None:
        H, F, self._g = functions.H, functions.F, functions.g
        L = np.empty((len(H), 0)) if update is None else update
        self._left, right = np.hstack([H, F, L]), np.hstack([F, H, L])
        self._right, self._gT = np.ascontiguousarray(right.T), np.ascontiguousarray(self._g.T)
        self._volumes = volumes
        self.diagonal = np.einsum("ij,ij->i", self._left, right)
        self.diagonal += np.diagonal(volumes) * np.einsum("ij,ij->i", self._g, self._g)

    def fill(self, out: Array) -> Array:
        """Write the whole matrix into out and return it."""
        for first in range(0, len(out), _ROWS):
            last = min(first + _ROWS, len(out))
            block = out[first:last, first:]
            np.matmul(self._left[first:last], self._right[:, first:], out=block)
            product = self._g[first:last] @ self._gT[:, first:]
            add_product(self._volumes[first:last, first:], product, block)
            mirror(out, first, last)
        return out

    def rows(self, idx: IntArray) -> Array:
        """Return the rows of some points."""
        out = self._left[idx] @ self._right
        add_product(self._volumes[idx], self._g[idx] @ self._gT, out)
        out[np.arange(len(idx)), idx] = self.diagonal[idx]
        return np.asarray(out)

    def block(self, idx: IntArray) -> Array:
        """Return the rows and columns of some points."""
        out = self._left[idx] @ self._right[:, idx]
        add_product(self._volumes[np.ix_(idx, idx)], self._g[idx] @ self._gT[:, idx], out)
        out[np.diag_indices_from(out)] = self.diagonal[idx]
        return np.asarray(out)
