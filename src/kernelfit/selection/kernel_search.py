"""What the searches over a standard kernel share: its widths, and the geometry of all kernels."""

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
from kernelfit.selection.folds import Common, Grid
from kernelfit.selection.search import KernelSearch, not_negative, positive, spread
from kernelfit.utils.memory import cache_bytes
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.validation import CheckedKernel, check_kernel_matrix

# Default grids, in units of the data: of gamma="scale", from wide to narrow, since among equal
# scores the first counts, which is then the smoothest machine; of C; and of epsilon.
_GAMMAS = 4.0 ** np.arange(-4, 4)
_CS = 4.0 ** np.arange(-3, 6)
_EPSILONS = np.array([0.1, 0.01])
# What is expected of the units of C.
SPREAD = "a moderate spread of the targets"
_VARIANCE = "a moderate inverse variance of the features"


def loss_axes(search, y, weight, epsilons):
    """Return the unit of C, and the values of epsilon to try; [None] where there is no tube.

    Parameters
    ----------
    search : KernelSearch
        Whose `loss` and, in regression, `epsilons` are used.
    y, weight : ndarray of shape (n,)
    epsilons : ndarray
        To try by default, in units of the spread of the targets.

    Returns
    -------
    unit : float
    epsilons : list
    """
    if not hasattr(search, "epsilons"):
        return 1.0, [None]
    scale = float(spread(y, weight)) or 1.0
    # With a squared loss both terms of the objective have the unit of squared targets.
    unit = 1.0 if search.loss.startswith("squared") else scale
    if search.loss != "squared":
        given = scale * epsilons if search.epsilons is None else search.epsilons
        return unit, not_negative(given, "epsilons")
    if search.epsilons is not None:
        raise ValueError("expected epsilons=None for loss='squared', which has no tube")
    return unit, [None]


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

    _default_Cs = _CS

    def _machine(self, **params):
        """Return an unfitted machine with the search's fixed parameters and others."""
        fixed = {name: getattr(self, name) for name in (*self._names, "verbose")}
        machine = self._machine_class(**{**fixed, **params})
        machine._memory = self._memory
        return machine

    def _grid(self, X, y, weight):
        unit, epsilons = loss_axes(self, y, weight, _EPSILONS)
        units = {SPREAD: unit}
        if isinstance(self.kernel, str) and self.kernel == "linear":
            units[_VARIANCE] = scale_gamma(X, weight)  # it is that of features of another scale
        Cs = self._costs(self._default_Cs, y, weight, units)
        return Grid(self._kernel_params(X, weight), epsilons, Cs, self._etas())

    def _etas(self):
        """Return the values of eta to try; None for machines without it."""
        return [None]

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
                rest = grid.epsilons, grid.Cs, grid.etas
                return Grid([*grid.kernels, *new], *rest), Grid(new, *rest)

            yield "gamma", more_gammas


def _is_scale(gamma):
    return isinstance(gamma, str) and gamma == "scale"
