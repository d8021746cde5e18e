r"""The leave-one-out error of kernel ridge regression and its gradient, on a device.

The function and its symbols are those of :mod:`kernelfit.families.metric.leave_one_out`, computed
in float64 there, too, so that both give the same metric up to rounding.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from kernelfit.families.metric.leave_one_out import TINY, Array, LeaveOneOutError
from kernelfit.utils.memory import cache_bytes
from kernelfit.utils.torch_device import Tensor, load_torch, planned_bytes

_MATRICES = 6  # of n x n numbers at a time, temporary ones included


class DeviceLeaveOneOut:
    """The leave-one-out error on a device; otherwise as `LeaveOneOut`.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred, as distances are computed from inner products.
    Y : ndarray of shape (n, c)
    weight : ndarray of shape (n,)
        Positive.
    kernel : {"rbf", "exponential"}
    device : str
    """

    def __init__(self, X: Array, Y: Array, weight: Array, kernel: str, device: str) -> None:
        self._torch, self._place = load_torch(device)
        needed, free = 8.0 * _MATRICES * len(X) ** 2, self._free_bytes()
        if needed > free:
            raise MemoryError(
                f"expected {needed / 2**30:.3g} GiB of memory on {self._place} to learn a metric "
                f"from {len(X)} points, got {free / 2**30:.3g}"
            )
        self._profile = _PROFILES[kernel]
        self._X, self._Y, self._weight = (self._tensor(array) for array in (X, Y, weight))
        self._terms = self._tensor(np.column_stack([X, np.ones(len(X))]))

    def _free_bytes(self) -> float:
        return planned_bytes(self._place, cache_bytes("auto"))

    def _tensor(self, array: Array) -> Tensor:
        array = np.require(array, np.float64, "W")  # torch warns of arrays it must not write to
        return self._torch.as_tensor(np.ascontiguousarray(array), device=self._place)

    def __call__(self, w: Array, ridge: float) -> LeaveOneOutError:
        """Return the error at non-negative widths and a positive ridge.

        `numpy.linalg.LinAlgError` where rounding leaves A without a Cholesky factor.
        """
        s, X = self._weight, self._X
        K, slope = self._values(w)
        inverse, a, d = self._solve(K, ridge)
        del K
        e = a / d[:, None]
        squares = s * e.square().sum(dim=1)
        V = inverse @ ((2.0 * s / d)[:, None] * e)
        B = inverse.mul_((2.0 * squares / d).sqrt_())
        G = B @ B.mT
        product = V @ a.mT
        G.sub_(product, alpha=0.5).sub_(product.mT, alpha=0.5)
        ridge_slope = float((G.diagonal() / s).sum())
        product = G.mul_(slope) @ self._terms
        widths = 2.0 * (product[:, -1] @ X.square() - (X * product[:, :-1]).sum(dim=0))
        value = float(squares.sum())
        return LeaveOneOutError(value, widths.cpu().numpy(), ridge_slope)

    def fits(self, w: Array, ridges: Sequence[float]) -> Iterator[tuple[float, Array]]:
        """Yield the error and the coefficients for each ridge; see `LeaveOneOut.fits`."""
        K, _ = self._values(w)
        for ridge in ridges:
            _, a, d = self._solve(K.clone(), ridge)
            error = self._weight @ (a / d[:, None]).square().sum(dim=1)
            yield float(error), a.cpu().numpy()

    def _solve(self, K: Tensor, ridge: float) -> tuple[Tensor, Tensor, Tensor]:
        """Return the inverse of A, a and d; K is spoilt."""
        K.diagonal().add_(ridge / self._weight)
        factor, info = self._torch.linalg.cholesky_ex(K)
        if int(info):
            raise np.linalg.LinAlgError("the ridge is too small for the kernel")
        inverse = self._torch.cholesky_inverse(factor)
        return inverse, inverse @ self._Y, inverse.diagonal().clone()

    def slope_products(self, w: Array, coef: Array) -> Iterator[Array]:
        """Yield the products of the kernel's derivative; see `LeaveOneOut.slope_products`."""
        _, slope = self._values(w)
        for a in self._tensor(coef).mT:
            yield (slope @ (a[:, None] * self._terms)).cpu().numpy()

    def _values(self, w: Array) -> tuple[Tensor, Tensor]:
        """Return the kernel and its derivative."""
        Z = self._X * self._tensor(np.sqrt(w))
        S = (Z @ Z.mT).mul_(-2.0)
        norms = -0.5 * S.diagonal()
        S += norms[:, None]
        S += norms
        S.clamp_min_(0.0).fill_diagonal_(0.0)
        return self._profile(S)


# From squared distances, in place, to the kernel and its derivative.


def _gaussian(S: Tensor) -> tuple[Tensor, Tensor]:
    S.neg_().exp_()
    return S, -S


def _exponential(S: Tensor) -> tuple[Tensor, Tensor]:
    S.clamp_min_(TINY).sqrt_()
    slope = -0.5 / S
    S.neg_().exp_()
    slope *= S
    S.fill_diagonal_(1.0)
    slope.fill_diagonal_(0.0)  # where the distance is 0 whatever the widths
    return S, slope


_PROFILES: dict[str, Callable[[Tensor], tuple[Tensor, Tensor]]] = {
    "rbf": _gaussian,
    "exponential": _exponential,
}
