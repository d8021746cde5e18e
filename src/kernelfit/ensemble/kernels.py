"""The kernels of the members, split into what all widths share and what is left for each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from kernelfit.kernels.additive import Additive
from kernelfit.kernels.forest import cooccurrence
from kernelfit.kernels.radial import RBF, Exponential, Laplacian
from kernelfit.kernels.spline import Spline

Array = NDArray[Any]

_OF_POINTS: dict[str, Any] = {"additive": Additive, "spline": Spline}
_RADIAL: dict[str, Any] = {"gaussian": RBF, "exponential": Exponential, "laplacian": Laplacian}


def kernel_function(kernel: str, inverse_width: float) -> Any:
    """Return the kernel of `kernel_points`; not for a forest, whose kernel compares leaves."""
    return {**_OF_POINTS, **_RADIAL}[kernel](inverse_width)


def kernel_points(kernel: str, A: Array) -> Array:
    """Return the points that the kernel function compares."""
    return np.asarray(ndtr(A)) if kernel == "spline" else A


def geometry(kernel: str, A: Array, B: Array | None) -> Any:
    """Return what the kernels of all widths share between the rows of A and of B, or of A alone."""
    if kernel in _OF_POINTS:
        return kernel_points(kernel, A), None if B is None else kernel_points(kernel, B)
    if kernel == "forest":
        return cooccurrence(A, B)
    return _RADIAL[kernel].geometry(A, B)


def kernel_matrix(kernel: str, G: Any, inverse_width: float) -> Array:
    """Return kernel values from the geometry, as a new array."""
    if kernel in _OF_POINTS:
        return np.asarray(kernel_function(kernel, inverse_width)(*G))
    if kernel == "forest":
        return np.array(G)
    return np.asarray(kernel_function(kernel, inverse_width).from_geometry(G))


def gram(kernel: str, A: Array, B: Array | None, inverse_width: float) -> Array:
    """Return kernel values between the rows of A and of B, or of A alone, in one array."""
    if kernel == "forest":
        return cooccurrence(A, B)
    if kernel in _OF_POINTS:
        return kernel_matrix(kernel, geometry(kernel, A, B), inverse_width)
    return np.asarray(kernel_function(kernel, inverse_width)(A, B))


def natural_inverse_width(kernel: str, Z: Array, weight: Array) -> float:
    """Return the inverse of the spread of the points, in the unit of the kernel's distance."""
    if kernel in ("forest", "additive"):
        return 1.0
    if kernel == "spline":  # the mean of its terms is 1/6
        return 6.0 / float(Z.shape[1])
    share = weight / weight.sum()
    variance = share @ (Z - share @ Z) ** 2
    if kernel == "laplacian":
        spread = float(np.sqrt(variance).sum())
    else:
        spread = float(variance.sum())
        spread = float(np.sqrt(spread)) if kernel == "exponential" else spread
    return 1.0 / spread if spread > 0.0 else 1.0
