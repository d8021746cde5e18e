"""Where members compute: kernel values, machines and products, on the processor or on a device.

Both engines have the same members. What one of them returns as a geometry or a matrix, only it can
read; coefficients and products are arrays of numpy. A device computes in float64, as the processor
does, so both give the same members up to rounding.
"""

import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf

from kernelfit.ensemble.kernels import geometry, gram, kernel_function, kernel_matrix, kernel_points
from kernelfit.kernels.device import device_kernel, is_shift_invariant, shared_leaves
from kernelfit.kernels.device_gram import on_device
from kernelfit.solvers.ridge import RidgeSolution, solve_ridges
from kernelfit.solvers.ridge_device import solve_ridges_on_device
from kernelfit.utils.memory import cache_bytes
from kernelfit.utils.threads import one_blas_thread
from kernelfit.utils.torch_device import Tensor, load_torch, planned_bytes

Array = NDArray[Any]

_MAX_MATRIX_BYTES = 2**30  # of a kernel matrix in the host's memory; one is held at a time
_CHUNK_ENTRIES = 2**25  # of kernel values on a device at a time
# Up to so many rows the processor solves support vector machines faster than a GPU.
_FEW_ROWS = 2500


class Host:
    """The processor, with numpy."""

    device = None
    chunk_bytes = 2**25  # of kernel values at a time, in prediction

    def geometry(self, kernel: str, A: Array, B: Array | None) -> Any:
        """Return what kernels of all widths share between the rows of A and of B, or of A alone."""
        return geometry(kernel, A, B)

    def matrix(self, kernel: str, G: Any, inverse_width: float) -> Any:
        """Return kernel values from the geometry, as a new matrix."""
        return kernel_matrix(kernel, G, inverse_width)

    def gram(self, kernel: str, A: Array, inverse_width: float) -> Any:
        """Return kernel values between the rows of A."""
        return gram(kernel, A, None, inverse_width)

    def values(self, kernel: str, inverse_width: float, A: Array, B: Array) -> Array:
        """Return kernel values between the rows of A and of B as an array."""
        return gram(kernel, A, B, inverse_width)

    def times(self, K: Any, coef: Array) -> Array:
        """Return the product of a matrix and an array."""
        return np.asarray(K @ coef)

    def solve_ridges(
        self,
        K: Any,
        Y: Array,
        weight: Array,
        ridges: Sequence[float],
        left_out: Array | None = None,
    ) -> Iterator[RidgeSolution | None]:
        """Solve ridge machines; see `kernelfit.solvers.ridge.solve_ridges`."""
        return solve_ridges(K, Y, weight, ridges, left_out)

    def on_host(self, K: Any) -> Array:
        """Return a matrix as an array."""
        return np.asarray(K)

    def svm_gram(self, kernel: str, A: Array, inverse_width: float) -> Any:
        """Return kernel values between the rows of A, as `solve_svms` reads them."""
        return self.gram(kernel, A, inverse_width)

    def holds(self, n: int) -> bool:
        """Return whether there is room for a machine of so many rows."""
        return 8 * n * n <= _MAX_MATRIX_BYTES

    def seconds(self, operations: float) -> float:
        """Return how long so many operations of a Cholesky factorisation take here, about."""
        return operations / _speed_of_host()


class Device:
    """A device of torch.

    Parameters
    ----------
    device : str
        As torch writes it.
    """

    chunk_bytes = 8 * _CHUNK_ENTRIES

    def __init__(self, device: str) -> None:
        self.device = device
        self._torch, self._place = load_torch(device)

    def geometry(self, kernel: str, A: Array, B: Array | None) -> Any:
        """Return the points, or for a forest the kernel itself: distances cost little here."""
        left, right = self._pair(kernel, A, A if B is None else B)
        return shared_leaves(left, right) if kernel == "forest" else (left, right)

    def _pair(self, kernel: str, A: Array, B: Array) -> tuple[Tensor, Tensor]:
        """Return points on the device; inner products tell distances best around the centre."""
        if kernel != "forest":
            A, B = kernel_points(kernel, A), kernel_points(kernel, B)
            if is_shift_invariant(kernel_function(kernel, 1.0)):
                centre = B.mean(axis=0)
                A, B = A - centre, B - centre
        left, right = (self._torch.as_tensor(array, device=self._place) for array in (A, B))
        return left, right

    def matrix(self, kernel: str, G: Any, inverse_width: float) -> Any:
        """Return kernel values from the geometry, as a new matrix."""
        if kernel == "forest":
            return G.clone()
        left, right = G
        return device_kernel(kernel_function(kernel, inverse_width), left.shape[1])(left, right)

    def gram(self, kernel: str, A: Array, inverse_width: float) -> Any:
        """Return kernel values between the rows of A, made some rows at a time."""
        points, _ = self._pair(kernel, A, A)
        n = len(A)
        K = self._torch.empty((n, n), dtype=self._torch.float64, device=self._place)
        step = max(1, _CHUNK_ENTRIES // n)
        for start in range(0, n, step):
            rows = points[start : start + step]
            if kernel == "forest":
                K[start : start + step] = shared_leaves(rows, points)
            else:
                K[start : start + step] = self.matrix(kernel, (rows, points), inverse_width)
        return K

    def values(self, kernel: str, inverse_width: float, A: Array, B: Array) -> Array:
        """Return kernel values between the rows of A and of B as an array."""
        return self.on_host(self.matrix(kernel, self.geometry(kernel, A, B), inverse_width))

    def times(self, K: Any, coef: Array) -> Array:
        """Return the product of a matrix and an array."""
        weights = self._torch.as_tensor(np.ascontiguousarray(coef), device=self._place)
        return self.on_host(K @ weights)

    def solve_ridges(
        self,
        K: Any,
        Y: Array,
        weight: Array,
        ridges: Sequence[float],
        left_out: Array | None = None,
    ) -> Iterator[RidgeSolution | None]:
        """Solve ridge machines; see `kernelfit.solvers.ridge.solve_ridges`."""
        return solve_ridges_on_device(K, Y, weight, ridges, left_out)

    def on_host(self, K: Any) -> Array:
        """Return a matrix as an array."""
        array: Array = K.cpu().numpy()
        return array

    def svm_gram(self, kernel: str, A: Array, inverse_width: float) -> Any:
        """Return kernel values between the rows of A, as `solve_svms` reads them."""
        if len(A) <= _FEW_ROWS:
            return self.on_host(self.gram(kernel, A, inverse_width))
        function = kernel_function(kernel, inverse_width)
        return on_device(function, A, self.device, cache_bytes("auto"))

    def holds(self, n: int) -> bool:
        """Return whether there is room for a machine of so many rows."""
        # The matrix, its factor, and a few temporary arrays of rows.
        needed = 16.0 * n * n + 48.0 * min(n * n, _CHUNK_ENTRIES)
        return needed <= planned_bytes(self._place, cache_bytes("auto"))

    def seconds(self, operations: float) -> float:
        """Return how long so many operations of a Cholesky factorisation take here, about."""
        return operations / _speed_of_device(self.device)


def choose_engine(device: str | None) -> Host | Device:
    """Return the processor where no device is given, else the device, or say what is missing."""
    return Host() if device is None else Device(device)


@cache
def _speed_of_host() -> float:
    """Measure operations a second of one thread: several may be a thousand times slower."""
    n, best = 500, 0.0
    with one_blas_thread():
        for _ in range(10):  # of which some are not interrupted, also on busy cores
            A = np.asfortranarray(np.eye(n))
            began = time.perf_counter()
            dpotrf(A, lower=1, overwrite_a=1)
            best = max(best, n**3 / 3.0 / (time.perf_counter() - began))
    return best


@cache
def _speed_of_device(device: str) -> float:
    """Measure operations a second."""
    torch, place = load_torch(device)
    n, best = (500 if place.type == "cpu" else 4000), 0.0
    A = torch.eye(n, dtype=torch.float64, device=place)
    for _ in range(3):
        began = time.perf_counter()
        int(torch.linalg.cholesky_ex(A)[1])  # waits for the end
        best = max(best, n**3 / 3.0 / (time.perf_counter() - began))
    return best
