r"""Standard kernels on a device: values of rows of X against others, in float32 or float64.

Points are centred, features stretched by their own gamma, and the rows sorted so that neighbours
are close to each other (`locality_order`): blocks of neighbouring rows then hold most of what a
local kernel couples, and tiles of rows far apart can be skipped.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.additive import Additive
from kernelfit.kernels.base import Product, Scaled, Sum
from kernelfit.kernels.radial import RBF, Exponential, Laplacian, Matern, RationalQuadratic
from kernelfit.kernels.spline import Spline
from kernelfit.kernels.standard import Linear, Polynomial
from kernelfit.utils.torch_device import Tensor, load_torch

Values = Callable[[Tensor, Tensor], Tensor]

_MAX_LEVELS = 40
_MAX_ENTRIES = 2**26  # of kernel values in one temporary array
_LEAF = 32  # rows of a node that is not divided further


def device_kernel(kernel: Any, n_features: int) -> Values:
    """Return the function from two stacks of rows to kernel values, all on one device.

    Parameters
    ----------
    kernel : KernelFunction
        A standard kernel, the spline kernel, or a sum, product or multiple of such.
    n_features : int

    Returns
    -------
    callable
        From tensors of shape (..., r, d) and (..., c, d) to one of shape (..., r, c).
    """
    torch, _ = load_torch("cpu")
    if isinstance(kernel, Scaled):
        inner, factor = device_kernel(kernel.kernel, n_features), kernel.factor
        return lambda A, B: factor * inner(A, B)
    if isinstance(kernel, Sum | Product):
        parts = [device_kernel(part, n_features) for part in kernel.kernels]
        combine = torch.add if isinstance(kernel, Sum) else torch.mul

        def combined(A: Tensor, B: Tensor) -> Tensor:
            values = parts[0](A, B)
            for part in parts[1:]:
                values = combine(values, part(A, B))
            return values

        return combined
    with_widths = Polynomial | RBF | Laplacian | Exponential | Matern | RationalQuadratic | Additive
    if not isinstance(kernel, Linear | Spline | with_widths):
        raise ValueError(
            "expected a standard kernel, or sums, products and multiples of such, where a device "
            f"is given, got {kernel!r}"
        )
    if isinstance(kernel, with_widths) and isinstance(kernel.gamma, tuple):
        return _stretched(torch, kernel, n_features)
    return _standard(torch, kernel)


def _stretched(torch: Any, kernel: Any, n_features: int) -> Values:
    """Return the values of a kernel with one gamma a feature."""
    plain, scale = kernel.with_one_width(np.ones((1, n_features)))
    values = _standard(torch, plain)

    def stretched(A: Tensor, B: Tensor) -> Tensor:
        factor = torch.as_tensor(scale[0], dtype=A.dtype, device=A.device)
        return values(A * factor, B * factor)

    return stretched


def _standard(torch: Any, kernel: Any) -> Values:
    def squared_distances(A: Tensor, B: Tensor) -> Tensor:
        # In place, as these are the largest arrays of a fit.
        D = torch.matmul(A, B.mT).mul_(-2.0)
        D += A.square().sum(-1)[..., :, None]
        D += B.square().sum(-1)[..., None, :]
        return D.clamp_min_(0.0)

    match kernel:
        case Linear():
            return lambda A, B: A @ B.mT
        case Polynomial(degree=degree, gamma=gamma, coef0=coef0):
            return lambda A, B: torch.matmul(A, B.mT).mul_(gamma).add_(coef0).pow_(degree)
        case RBF(gamma=gamma):
            return lambda A, B: squared_distances(A, B).mul_(-gamma).exp_()
        case Laplacian(gamma=gamma):
            return lambda A, B: torch.cdist(A, B, p=1.0).mul_(-gamma).exp_()
        case Exponential(gamma=gamma):
            # By differences: the root of the error of an inner product would be large.
            mode = "donot_use_mm_for_euclid_dist"
            return lambda A, B: torch.cdist(A, B, compute_mode=mode).mul_(-gamma).exp_()
        case RationalQuadratic(gamma=gamma, alpha=alpha):
            unit = gamma / alpha
            return lambda A, B: squared_distances(A, B).mul_(unit).add_(1.0).pow_(-alpha)
        case Additive(gamma=gamma, order=order):
            return lambda A, B: _additive(torch, A, B, gamma, order)
        case Spline(gamma=gamma):
            return lambda A, B: _spline(torch, A, B, gamma)
    unit = math.sqrt(2.0 * kernel.order) * kernel.gamma

    def matern(A: Tensor, B: Tensor) -> Tensor:
        t = squared_distances(A, B).sqrt_().mul_(unit)
        factor = 1.0 + t if kernel.order == 1.5 else 1.0 + t + t * t / 3.0
        return factor.mul_(t.neg_().exp_())

    return matern


def _additive(torch: Any, A: Tensor, B: Tensor, gamma: float, order: int) -> Tensor:
    """Return the values of :mod:`kernelfit.kernels.additive`, factor by factor as there."""
    d = A.shape[-1]
    order = min(order, d)
    sums: list[Any] = [0.0] * order  # e_1 .. e_order of the features so far
    for j in range(d):
        z = (A[..., :, None, j] - B[..., None, :, j]).square_().mul_(-gamma).exp_()
        for q in range(min(j, order - 1), 0, -1):
            sums[q] = sums[q] + sums[q - 1] * z
        sums[0] = sums[0] + z
    return torch.stack([e / math.comb(d, q + 1) for q, e in enumerate(sums)]).mean(dim=0)


def _spline(torch: Any, A: Tensor, B: Tensor, gamma: float) -> Tensor:
    """Return the values of :mod:`kernelfit.kernels.spline`."""

    def root(u: Tensor) -> Tensor:
        return (1.0 + gamma * (1.0 / 3.0 - u + u * u)).sqrt_()

    K = torch.ones((), dtype=A.dtype, device=A.device)
    for j in range(A.shape[-1]):
        u, v = A[..., :, None, j], B[..., None, :, j]
        factor = torch.maximum(u, v).mul_(-gamma)
        factor += 1.0 + gamma * (1.0 / 3.0 + 0.5 * u * u)
        factor += 0.5 * gamma * v * v
        # Every factor is divided by its own diagonals: no product leaves [0, 1].
        K = factor.div_(root(u)).div_(root(v)).mul_(K)
    return K


def shared_leaves(A: Tensor, B: Tensor) -> Tensor:
    """Return the share of trees in which two points have one leaf.

    Parameters
    ----------
    A, B : tensor of int of shape (n, n_trees) and (m, n_trees)

    Returns
    -------
    tensor of shape (n, m)
        In float64.
    """
    torch, _ = load_torch("cpu")
    K = torch.zeros((len(A), len(B)), dtype=torch.float64, device=A.device)
    for a, b in zip(A.T.contiguous(), B.T.contiguous(), strict=True):
        K += a[:, None] == b
    return K.div_(A.shape[1])


def is_shift_invariant(kernel: Any) -> bool:
    """Return whether points may be centred: whether only their differences count."""
    if isinstance(kernel, Scaled):
        return is_shift_invariant(kernel.kernel)
    if isinstance(kernel, Sum | Product):
        return all(is_shift_invariant(part) for part in kernel.kernels)
    return not isinstance(kernel, Linear | Polynomial | Spline)


def locality_order(X: Tensor) -> NDArray[np.intp]:
    """Return an order of the rows in which those next to each other are close.

    It is that of the leaves of a tree: every node is divided at the mean of its feature of largest
    variance, all nodes of a level at once.

    Parameters
    ----------
    X : tensor of shape (n, d)

    Returns
    -------
    ndarray of int of shape (n,)
    """
    torch, _ = load_torch("cpu")
    n, d = X.shape
    node = torch.zeros(n, dtype=torch.long, device=X.device)
    for _ in range(_MAX_LEVELS):
        names, node, counts = torch.unique(node, return_inverse=True, return_counts=True)
        if int(counts.max()) <= _LEAF:
            break
        sums = torch.zeros((len(names), d), dtype=X.dtype, device=X.device)
        mean = sums.index_add(0, node, X) / counts[:, None]
        spread = sums.index_add(0, node, (X - mean[node]).square_())
        widest, feature = spread.max(dim=1)
        divide = (widest > 0.0) & (counts > _LEAF)
        value = X.gather(1, feature[node][:, None])[:, 0]
        middle = mean.gather(1, feature[:, None])[:, 0][node]
        right = (value > middle) & divide[node]
        if not bool(right.any()):
            break
        node = 2 * node + right
    order: NDArray[np.intp] = torch.argsort(node, stable=True).cpu().numpy()
    return order


def decision_on_device(
    kernel: Any, X: NDArray[Any], support: NDArray[Any], coef: NDArray[Any], device: str
) -> NDArray[np.float64]:
    """Return ``k(X, support) @ coef.T`` in float64, many rows at a time.

    Parameters
    ----------
    kernel : KernelFunction
    X : ndarray of shape (n, d)
    support : ndarray of shape (m, d)
    coef : ndarray of shape (k, m)
    device : str

    Returns
    -------
    ndarray of shape (n, k)
    """
    torch, place = load_torch(device)
    values = device_kernel(kernel, X.shape[1])
    centre = support.mean(axis=0) if is_shift_invariant(kernel) else np.zeros(X.shape[1])
    points = torch.as_tensor(support - centre, device=place)
    weights = torch.as_tensor(np.ascontiguousarray(coef.T), device=place)
    out = np.empty((len(X), len(coef)))
    step = max(1, _MAX_ENTRIES // len(support))
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        rows = torch.as_tensor(X[part] - centre, device=place)
        out[part] = (values(rows, points) @ weights).cpu().numpy()
    return out
