r"""The family of kernels parameterised by a positive semidefinite matrix.

.. math::

    k_P(x, y) = s \sum_{ij} P_{ij}\, G_{ij}(x, y), \qquad P \succeq 0,\; \operatorname{tr} P = n_P

(Eq. (3) of [1]_) over a basis that says what the :math:`G_{ij}` are:
:mod:`kernelfit.families.psd.tessellated` or :mod:`kernelfit.families.psd.features`. What the
family has in common with others that are linear in a positive matrix stands in
:mod:`kernelfit.families.psd.spectral`.

References
----------
.. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
   learning", Journal of Machine Learning Research 25 (2024).
"""

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from kernelfit.families.psd.box_response import BoxResponse
from kernelfit.families.psd.device import DeviceVolumes, box_gram
from kernelfit.families.psd.features import FeatureBasis, FeatureResponse
from kernelfit.families.psd.spectral import SpectralFamily
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.families.psd.volume_gram import VolumeGram
from kernelfit.kernels.gram import DenseGram, Gram, RowGram
from kernelfit.kernels.monomials import Array, IntArray
from kernelfit.kernels.rows import wide_enough
from kernelfit.kernels.tessellated import mirror

Basis = TessellatedBasis | FeatureBasis
Response = BoxResponse | FeatureResponse
_MIN_ROWS = 2048  # fewer points than this are not worth computing rows on demand
_MAX_KNOTS = 1000  # quantiles of a feature that ranks are interpolated between
_ROWS = 128  # rows of a symmetric matrix computed before they are mirrored


@dataclass(frozen=True)
class UnitScaling:
    """Scale every feature that varies to [0, 1] and leave out the others.

    Parameters
    ----------
    kept : ndarray of int
        The features that vary.
    low, high : ndarray of shape (len(kept),)
        Their bounds.
    n_features : int
        The number of features, those left out included.
    """

    kept: IntArray
    low: Array
    high: Array
    n_features: int

    @classmethod
    def fit(cls, X: Array) -> "UnitScaling":
        """Return the scaling by the smallest and largest values in X."""
        low, high = X.min(axis=0), X.max(axis=0)
        kept = np.flatnonzero(low < high)
        return cls(kept, low[kept], high[kept], X.shape[1])

    def __call__(self, X: Array) -> Array:
        """Return the scaled features; values beyond the bounds leave [0, 1]."""
        X = self._checked(X)
        with np.errstate(over="ignore"):
            width = self.high - self.low
            # Halves keep the difference of the largest numbers finite.
            half = np.where(np.isfinite(width), 1.0, 0.5)
            low, high = half * self.low, half * self.high
            return np.ascontiguousarray((half * X - low) / (high - low))

    def _checked(self, X: Array) -> Array:
        """Return the features that vary, or raise where they are not those of training."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"expected points of {self.n_features} features as in training, "
                f"got an array of shape {X.shape}"
            )
        if not np.isfinite(X).all():
            raise ValueError("expected points of finite numbers, got nan or infinity")
        return X[:, self.kept]


@dataclass(frozen=True)
class RankScaling(UnitScaling):
    """Replace every feature that varies by its rank among the training values, in [0, 1].

    Between quantiles it is linear, and equal values share the mean of their ranks.

    Parameters
    ----------
    knots : ndarray of shape (n_knots, len(kept))
        Quantiles of the features at equal steps, a quarter of them, whose differences are finite.
    """

    knots: Array = field(repr=False)

    @classmethod
    def fit(cls, X: Array) -> "RankScaling":
        """Return the scaling by the quantiles of X."""
        unit = UnitScaling.fit(X)
        levels = np.linspace(0.0, 1.0, min(len(X), _MAX_KNOTS))
        knots = np.quantile(0.25 * X[:, unit.kept], levels, axis=0)
        return cls(unit.kept, unit.low, unit.high, unit.n_features, knots)

    def __post_init__(self) -> None:
        """Refuse knots that do not fit the features."""
        if self.knots.ndim != 2 or self.knots.shape[1] != len(self.kept) or len(self.knots) < 1:
            raise ValueError(
                f"expected quantiles of {len(self.kept)} features, got shape {self.knots.shape}"
            )

    def __call__(self, X: Array) -> Array:
        """Return the ranks; values beyond the bounds have rank 0 or 1."""
        X = 0.25 * self._checked(X)
        levels, out = np.linspace(0.0, 1.0, len(self.knots)), np.empty_like(X)
        for j, knots in enumerate(self.knots.T):
            # Of equal knots one direction finds the last, the other the first.
            last = np.interp(X[:, j], knots, levels)
            first = np.interp(-X[:, j], -knots[::-1], 1.0 - levels[::-1])
            out[:, j] = 0.5 * (last + 1.0 - first)
        return out


SCALINGS: dict[str, type[UnitScaling]] = {"range": UnitScaling, "ranks": RankScaling}


@dataclass(frozen=True)
class PositiveMatrixKernel:
    """A kernel of the family, as a picklable callable on raw data.

    Parameters
    ----------
    basis : TessellatedBasis or FeatureBasis
    U : ndarray of shape (n_P, r)
        Factor of P = U U'.
    scale : float
        Factor of all values.
    scaling : UnitScaling
        Applied to the data first.
    """

    basis: Basis
    U: Array = field(repr=False)
    scale: float
    scaling: UnitScaling = field(repr=False)

    psd = True  # by construction

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together: compiled loops would read beyond their ends."""
        n, size = self.basis.n, self.basis.size
        shapes = {one.shape for one in (self.scaling.kept, self.scaling.low, self.scaling.high)}
        if shapes != {(n,)} or self.U.shape[:1] != (size,) or self.U.ndim != 2:
            raise ValueError(
                f"expected {n} features and a factor of {size} rows, got shapes {shapes} and "
                f"{self.U.shape}"
            )

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix between the rows of X and those of Y."""
        rows = self._functions(X)
        if Y is None:
            return symmetric_gram(self.basis, rows)
        out = np.empty((len(rows), len(Y)))
        self.basis.fill(rows, self._functions(Y), 0, out)
        return out

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row x of X."""
        return diagonal(self.basis, self._functions(X))

    def _functions(self, X: Array) -> Any:
        return self.basis.functions(self.scaling(X), np.sqrt(self.scale) * self.U)


class PositiveMatrixFamily(SpectralFamily):
    """The family on given points.

    Parameters
    ----------
    basis : TessellatedBasis or FeatureBasis
    X : ndarray of shape (m, n)
        The points, scaled.
    scale : float
        Factor of all kernel values.
    scaling : UnitScaling, default=None
        What scaled the points; `kernel` needs it.
    cache_bytes : float, default=infinity
        Up to this size the Gram matrix is held in memory; otherwise rows are computed on demand.
        Volumes of the basis, and the matrix with which training begins, are held besides where they
        fit.
    device : str, default=None
        Where Gram matrices and responses of a tessellated basis without z are computed, by torch;
        None for the processor.
    """

    def __init__(
        self,
        basis: Basis,
        X: Array,
        scale: float,
        scaling: UnitScaling | None = None,
        cache_bytes: float = np.inf,
        device: str | None = None,
    ) -> None:
        self._device = device
        self.basis, self.X, self.scale, self.scaling = basis, X, scale, scaling
        self._cache_bytes, self._local = cache_bytes, threading.local()
        matrices = cache_bytes / (8.0 * max(len(X), 1) ** 2)
        self._in_memory, self._keeps_volumes = matrices >= 1.0, matrices >= 2.0
        self._keeps_identity = matrices >= 3.0
        self._identity: tuple[float, DenseGram] | None = None

    @cached_property
    def _points(self) -> Any:
        """The points with what all factors and responses need of them."""
        return self.basis.points(self.X)

    @cached_property
    def _device_volumes(self) -> DeviceVolumes:
        points: Any = self._points
        return DeviceVolumes(points.tails, str(self._device), self._cache_bytes)

    @cached_property
    def volumes(self) -> Array | None:
        """What Gram matrices and responses of a tessellated basis without z share, if it fits."""
        if not self._keeps_volumes or not isinstance(self.basis, TessellatedBasis):
            return None
        return self.basis.volumes(self.X) if self.basis.z_degree == 0 else None

    @property
    def _buffer(self) -> Array:
        """Where a thread's Gram matrices are written, one after the other."""
        if not hasattr(self._local, "buffer"):
            self._local.buffer = np.empty((len(self.X), len(self.X)))
        buffer: Array = self._local.buffer
        return buffer

    @property
    def size(self) -> int:
        """The order n_P of the matrix P, which is also its trace."""
        return self.basis.size

    @property
    def kept_features(self) -> IntArray:
        """The features that vary, where the family knows what scaled its points."""
        return np.arange(self.X.shape[1]) if self.scaling is None else self.scaling.kept

    def functions(self, U: Array | float) -> Any:
        """Return the functions of a factor at the points, from which the basis fills rows."""
        return self.basis.functions(self._points, float(np.sqrt(self.scale)) * U)

    def gram(self, theta: Array | float, update: Array | None = None, few: bool = False) -> Gram:
        """Return K_P for a factor, plus L L' for an update L; by rows if few will be needed.

        A matrix in memory is overwritten by the next one.
        """
        if self._device is not None:
            # Solvers know it by its class.
            return cast(Gram, box_gram(self.functions(theta), self._device_volumes, update))
        if isinstance(theta, float) and self._keeps_identity and update is None and not few:
            return self._scaled_identity(theta)
        functions, m = self.functions(theta), len(self.X)
        if self.volumes is not None:
            source = VolumeGram(functions, self.volumes, update)
            if not few or m < _MIN_ROWS:
                return DenseGram(source.fill(self._buffer))
            size = 2.0 * m**2  # a quarter of the rows
            return RowGram(
                source.rows, source.diagonal, size, np.float64, compute_block=source.block
            )
        if self._in_memory:
            return DenseGram(symmetric_gram(self.basis, functions, self._buffer, update))
        return self._rows(functions, update)

    def _scaled_identity(self, theta: float) -> DenseGram:
        """Return the Gram matrix of a multiple of the identity, with which every training begins.

        It does not depend on the costs, so along a path it is computed once.
        """
        known = self._identity
        if known is None or known[0] != theta:
            functions = self.functions(theta)
            buffer = np.empty((len(self.X), len(self.X)))
            if self.volumes is not None:
                matrix = VolumeGram(functions, self.volumes, None).fill(buffer)
            else:
                matrix = symmetric_gram(self.basis, functions, buffer)
            known = self._identity = theta, DenseGram(matrix)
        return known[1]

    def _rows(self, functions: Any, L: Array | None) -> RowGram:
        basis = self.basis
        diag = diagonal(basis, functions)
        if L is not None:
            diag += np.einsum("ij,ij->i", L, L)

        def values(idx: IntArray, columns: IntArray | slice) -> Array:
            part = functions if isinstance(columns, slice) else functions.take(columns)
            out = np.empty((len(idx), len(part)))
            basis.fill(functions.take(idx), part, 0, out)
            if L is not None:
                out += L[idx] @ L[columns].T
            place = idx if isinstance(columns, slice) else np.arange(len(idx))
            out[np.arange(len(idx)), place] = diag[idx]
            return out

        return RowGram(
            lambda idx: values(idx, slice(None)),
            diag,
            self._cache_bytes,
            wide_enough(np.dtype(np.float32), diag),
            compute_block=lambda idx: values(idx, idx),
        )

    def respond_to(self, beta: Array) -> Response:
        """Return how the decision values depend on P, for the dual solution beta of one task."""
        points: Any = self._points
        support = np.flatnonzero(beta)
        scaled = self.scale * beta[support]
        if self._device is not None:
            basis: Any = self.basis
            volumes = self._device_volumes[support]
            return cast(BoxResponse, basis.response(points, points.take(support), scaled, volumes))
        if self.volumes is None or not isinstance(self.basis, TessellatedBasis):
            return self.basis.response(points, points.take(support), scaled)
        if 2 * len(support) > len(beta):  # zeros cost less than a copy of the others
            return self.basis.response(points, points, self.scale * beta, self.volumes)
        return self.basis.response(points, points.take(support), scaled, self.volumes[support])

    def kernel(self, theta: Array) -> PositiveMatrixKernel:
        """Return the kernel of a factor on raw data."""
        if self.scaling is None:
            raise ValueError("expected a family with the scaling of its points")
        return PositiveMatrixKernel(self.basis, theta, self.scale, self.scaling)


def symmetric_gram(
    basis: Basis, functions: Any, out: Array | None = None, update: Array | None = None
) -> Array:
    """Return the Gram matrix of the points, each pair computed once.

    Parameters
    ----------
    basis : TessellatedBasis or FeatureBasis
    functions : object
        Of the basis at the points.
    out : ndarray of shape (m, m), default=None
        Where to write it; a new float64 array when None.
    update : ndarray of shape (m, j), default=None
        L, to add L L'.

    Returns
    -------
    ndarray of shape (m, m)
    """
    m = len(functions)
    out = np.empty((m, m)) if out is None else out
    for first in range(0, m, _ROWS):
        last = min(first + _ROWS, m)
        basis.fill(functions.take(slice(first, last)), functions, first, out[first:last])
        if update is not None:
            out[first:last, first:] += update[first:last] @ update[first:].T
        mirror(out, first, last)
    return out


def diagonal(basis: Basis, functions: Any) -> Array:
    """Return the diagonal of the Gram matrix of the points.

    Parameters
    ----------
    basis : TessellatedBasis or FeatureBasis
    functions : object
        Of the basis at the points.

    Returns
    -------
    ndarray of shape (m,)
    """
    out = np.empty(len(functions))
    for first in range(0, len(out), 32):
        part = functions.take(slice(first, first + 32))
        block = np.empty((len(part), len(part)))
        basis.fill(part, part, 0, block)
        out[first : first + 32] = np.diagonal(block)
    return out


def mean_one_scale(basis: Basis, X: Array, weight: Array) -> float:
    """Return the factor that makes the weighted mean of k(x, x) at P = I one.

    Parameters
    ----------
    basis : TessellatedBasis or FeatureBasis
    X : ndarray of shape (m, n)
        Scaled points.
    weight : ndarray of shape (m,)

    Returns
    -------
    float
        Infinite where all of k vanishes, 0 where it overflows.
    """
    with np.errstate(over="ignore", divide="ignore"):
        return float(weight.sum() / (weight @ basis.identity_diagonal(X)))
