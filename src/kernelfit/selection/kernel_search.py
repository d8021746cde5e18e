"""What the searches over a standard kernel share: its widths, and the geometry of all kernels."""

from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from kernelfit.kernels.base import StandardKernel
from kernelfit.kernels.gram import c_ordered
from kernelfit.kernels.standard import (
    KERNEL_NAMES,
    gamma_of_name,
    kernel_from_name,
    scale_gamma,
)
from kernelfit.selection.folds import Common
from kernelfit.selection.search import KernelSearch
from kernelfit.selection.values import positive
from kernelfit.utils.memory import cache_bytes
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.validation import CheckedKernel, check_kernel_matrix

# The default grid, in units of gamma="scale", from wide to narrow, since among equal scores the
# first counts, which is then the smoothest machine.
_GAMMAS = 4.0 ** np.arange(-4, 4)
_VARIANCE = "a moderate inverse variance of the features"  # is expected of the unit of C


class StandardKernelSearch(KernelSearch):
    """Base of the searches over gamma and C, and in regression epsilon."""

    _parameter_constraints: ClassVar[dict] = {
        **KernelSearch._parameter_constraints,
        "gammas": ["array-like", None],
        "kernel": [StrOptions({*KERNEL_NAMES, "precomputed"}), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }
    _names: tuple[str, ...] = (
        "loss",
        "kernel",
        "degree",
        "coef0",
        "fit_intercept",
        "tol",
        "max_iter",
        "cache_size",
    )

    _default_Cs = 4.0 ** np.arange(-3, 6)
    _default_epsilons = np.array([0.1, 0.01])

    def _machine(self, **params):
        machine = super()._machine(**params)
        machine._memory = self._memory
        return machine

    def _cost_units(self, X, y, weight):
        units = super()._cost_units(X, y, weight)
        if isinstance(self.kernel, str) and self.kernel == "linear":
            units[_VARIANCE] = scale_gamma(X, weight)  # it is that of features of another scale
        return units

    @property
    def _has_gamma(self):
        return not callable(self.kernel) and self.kernel not in ("linear", "precomputed")

    def _kernel_params(self, X, weight):
        """Return the parameters of the kernels of the grid."""
        if not self._has_gamma:
            if self.gammas is not None:
                raise ValueError(
                    f"expected gammas=None for kernel={self.kernel!r}, which has no gamma"
                )
            return [{}]
        gammas = gamma_of_name(self.kernel, scale_gamma(X, weight) * _GAMMAS, X.shape[1])
        if self.gammas is None:
            return [{"gamma": float(gamma)} for gamma in gammas]
        unit = gammas[_GAMMAS == 1.0].item()
        gammas = [unit if _is_scale(gamma) else gamma for gamma in self.gammas]
        return [{"gamma": gamma} for gamma in positive(gammas, "gammas")]

    def _common(self, X):
        """Return what the kernels share, where it fits beside a kernel matrix in every job."""
        if self.device is not None and self.kernel != "precomputed":
            return Common()
        if callable(self.kernel):
            matrix = c_ordered(CheckedKernel(self.kernel).given(X, X))
            check_kernel_matrix(matrix, "the matrix returned by the kernel")
            return Common(matrix=matrix, final=True)
        if self.kernel == "precomputed":
            check_kernel_matrix(X, "the precomputed kernel matrix")
            return Common(matrix=X, final=True)
        if 2 * 8 * X.shape[0] ** 2 > cache_bytes(self.cache_size, self._memory):
            return Common()
        kernel = kernel_from_name(self.kernel, gamma=1.0, degree=self.degree, coef0=self.coef0)
        return Common(kernel if isinstance(kernel, StandardKernel) else None)

    def _open_axes(self, grid):
        yield from super()._open_axes(grid)
        if self._has_gamma and self.gammas is None:

            def more_gammas(values):
                new = [{"gamma": float(gamma)} for gamma in values]
                return replace(grid, kernels=[*grid.kernels, *new]), replace(grid, kernels=new)

            yield "gamma", more_gammas


def _is_scale(gamma):
    return isinstance(gamma, str) and gamma == "scale"
