r"""Gram matrices and responses of the tessellated basis without z on a device.

With the tails :math:`t_i`, what is left of the box above a point in each coordinate, the volume of
the box above two points is :math:`V_{ij} = \prod_k \min(t_{ik}, t_{jk})`. Gram matrices are
:math:`V \circ g g^\top` plus products of few columns (:mod:`kernelfit.families.psd.volume_gram`),
responses are products :math:`V B`. V is kept on the device where it fits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelfit.families.psd.box_points import BoxFunctions
from kernelfit.kernels.device import locality_order
from kernelfit.kernels.device_gram import DeviceGram
from kernelfit.kernels.monomials import Array, IntArray
from kernelfit.utils.torch_device import Tensor, load_torch, planned_bytes

_MAX_ENTRIES = 2**26  # of one temporary array
_SHARE = 0.4  # of the memory at hand that volumes may take


class DeviceVolumes:
    """The matrix V of some points on a device, for products from the left.

    Parameters
    ----------
    tails : ndarray of shape (m, n)
    device : str
    host_bytes : float
        Memory to plan with where the device has none of its own.
    """

    __array_ufunc__ = None  # a product B @ self is ours

    def __init__(self, tails: Array, device: str, host_bytes: float) -> None:
        self.torch, self.device = load_torch(device)
        points = self.torch.as_tensor(tails, device=self.device)
        self.order = locality_order(points)
        self.tails = points[self.torch.as_tensor(self.order, device=self.device)]
        self.m = len(tails)
        self.budget = planned_bytes(self.device, host_bytes)
        self._whole: Tensor | None = None
        if 8.0 * self.m**2 <= _SHARE * self.budget:
            self._whole = self._compute(self.tails, self.tails)
            self.budget -= 8.0 * self.m**2

    def _compute(self, rows: Tensor, columns: Tensor) -> Tensor:
        shape = (*rows.shape[:-1], columns.shape[-2])
        V = self.torch.ones(shape, dtype=rows.dtype, device=self.device)
        for k in range(self.tails.shape[1]):
            V *= self.torch.minimum(rows[..., :, None, k], columns[..., None, :, k])
        return V

    def values(self, rows: Any, columns: Any) -> Tensor:
        """Return V between some points, in the order of `order`; stacks of index arrays too."""
        if self._whole is None:
            return self._compute(self.tails[rows], self.tails[columns])
        if isinstance(rows, slice):
            return self._whole[rows][:, columns]
        return self._whole[rows[..., :, None], columns[..., None, :]]

    def __getitem__(self, points: IntArray) -> "_SomeVolumes":
        """Return the rows of V of some points."""
        return _SomeVolumes(self, points)

    def __rmatmul__(self, B: Array) -> Array:
        """Return ``B @ V`` in the order of the points, for few rows of B."""
        right = self.torch.as_tensor(np.ascontiguousarray(B.T[self.order]), device=self.device)
        out = np.empty((self.m, len(B)))
        step = max(1, _MAX_ENTRIES // self.m)
        for start in range(0, self.m, step):
            part = slice(start, start + step)
            product = self.values(part, slice(None)) @ right
            out[self.order[part]] = product.cpu().numpy()
        return out.T


@dataclass(frozen=True)
class _SomeVolumes:
    """The rows of V of some points."""

    whole: DeviceVolumes
    points: IntArray
    __array_ufunc__ = None

    def __rmatmul__(self, B: Array) -> Array:
        full = np.zeros((len(B), self.whole.m))
        full[:, self.points] = B
        return full @ self.whole


class _BoxSource:
    """The values of one Gram matrix, as `DeviceGram` asks for them, always in float64.

    Its entries share a large part, which differences of a pair take away: float32 leaves nothing.
    """

    tiled, single = False, False

    def __init__(
        self, functions: BoxFunctions, volumes: DeviceVolumes, update: Array | None
    ) -> None:
        self.torch, self.device, self.volumes = volumes.torch, volumes.device, volumes
        self.n, self.order = volumes.m, volumes.order
        H, F, g = functions.H, functions.F, functions.g
        L = np.empty((len(H), 0)) if update is None else update
        left, right = np.hstack([H, F, L]), np.hstack([F, H, L])
        own = functions.tails.prod(axis=1)
        self.diagonal = np.einsum("ij,ij->i", left, right) + own * np.einsum("ij,ij->i", g, g)
        self.diagonal = self.diagonal[self.order]
        self._parts = tuple(
            self.torch.as_tensor(array[self.order], device=self.device)
            for array in (left, right, g)
        )

    def values(self, rows: Any, columns: Any, dtype: Any = None) -> Tensor:
        """Return K between some points."""
        left, right, g = self._parts
        K = self.torch.matmul(g[rows], g[columns].mT)
        K *= self.volumes.values(rows, columns)
        K += left[rows] @ right[columns].mT
        return K

    def product(self, beta: Tensor) -> Tensor:
        """Return ``K beta`` from exact values."""
        out = self.torch.zeros_like(beta)
        support = beta.nonzero()[:, 0]
        columns = slice(None) if 2 * len(support) > self.n else support
        step = max(1, _MAX_ENTRIES // self.n)
        for start in range(0, self.n, step):
            part = slice(start, start + step)
            out[part] = self.values(part, columns) @ beta[columns]
        return out


def box_gram(functions: BoxFunctions, volumes: DeviceVolumes, update: Array | None) -> DeviceGram:
    """Return the Gram matrix K + L L' of functions without z.

    Parameters
    ----------
    functions : BoxFunctions
        Of m points.
    volumes : DeviceVolumes
        Of the same points.
    update : ndarray of shape (m, j) or None
        L.

    Returns
    -------
    DeviceGram
    """
    return DeviceGram(_BoxSource(functions, volumes, update), volumes.budget)
