"""The kernels of the members, split into what all widths share and what is left for each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Array = NDArray[Any]

_DISTANCE = {"gaussian": "sqeuclidean", "exponential": "euclidean", "laplacian": "cityblock"}


def geometry(kernel: str, A: Array, B: Array) -> Any:
    """Return what the kernels of all widths share between the rows of A and of B."""
    if kernel == "additive":
        return A, B
    if kernel == "forest":
        return shared_leaves(A, B)
    return cdist(A, B, _DISTANCE[kernel])


def kernel_matrix(kernel: str, G: Any, inverse_width: float) -> Array:
    """Return kernel values from the geometry, as a new array."""
    if kernel == "additive":
        return additive(*G, inverse_width)
    if kernel == "forest":
        return np.array(G)
    K = np.multiply(G, -inverse_width)
    return np.asarray(np.exp(K, out=K))


def natural_inverse_width(kernel: str, Z: Array, weight: Array) -> float:
    """Return the inverse of the spread of the points, in the unit of the kernel's distance."""
    if kernel in ("forest", "additive"):
        return 1.0
    share = weight / weight.sum()
    variance = share @ (Z - share @ Z) ** 2
    if kernel == "laplacian":
        spread = float(np.sqrt(variance).sum())
    else:
        spread = float(variance.sum())
        spread = np.sqrt(spread) if kernel == "exponential" else spread
    return 1.0 / spread if spread > 0.0 else 1.0


def shared_leaves(A: Array, B: Array) -> Array:
    """Return the share of trees in which the rows of A and of B fall into the same leaf."""
    count = np.zeros((len(A), len(B)), dtype=np.uint16)
    for a, b in zip(A.T, B.T, strict=True):
        count += a[:, None] == b
    return count / A.shape[1]


def additive(A: Array, B: Array, inverse_width: float) -> Array:
    """Return the mean of the one-dimensional Gaussian kernels and of their products in pairs."""
    d = A.shape[1]
    total, squares = np.zeros((2, len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        k = np.subtract.outer(a, b)
        k *= k
        k *= -inverse_width
        np.exp(k, out=k)
        total += k
        k *= k
        squares += k
    # (sum k)^2 = sum k^2 + 2 sum of products
    squares -= total * total
    squares *= -0.5
    total += squares
    total /= 0.5 * d * (d + 1)
    return total
