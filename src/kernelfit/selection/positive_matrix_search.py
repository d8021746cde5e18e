"""What the searches for TKL and GPK share: their grids."""

from typing import ClassVar

from kernelfit.learners.positive_matrix import SOLVERS
from kernelfit.selection.search import KernelSearch
from kernelfit.selection.values import not_negative
from kernelfit.utils.sklearn_private import StrOptions

_DELTAS, _DEGREES = (0.1, 0.5, 2.0), (1, 2, 3)


class PositiveMatrixSearch(KernelSearch):
    """Base of the searches over C and a parameter of the basis, and in regression epsilon."""

    _parameter_constraints: ClassVar[dict] = {
        **KernelSearch._parameter_constraints,
        "normalize": ["boolean"],
        "solver": [StrOptions(set(SOLVERS))],
    }
    _names: tuple[str, ...] = (
        "loss",
        "normalize",
        "fit_intercept",
        "solver",
        "tol",
        "max_iter",
        "cache_size",
    )

    def _kernel_params(self, X, weight):
        """Return the parameters of the bases of the grid."""
        if hasattr(self, "deltas"):
            deltas = _DELTAS if self.deltas is None else self.deltas
            return [{"delta": delta} for delta in not_negative(deltas, "deltas")]
        if self.feature_map is not None:
            if self.degrees is not None:
                raise ValueError("expected degrees=None for a feature_map, which has no degree")
            return [{}]
        degrees = not_negative(_DEGREES if self.degrees is None else self.degrees, "degrees")
        if any(degree != int(degree) for degree in degrees):
            raise ValueError(f"expected degrees to be a list of integers, got {self.degrees!r}")
        return [{"degree": int(degree)} for degree in degrees]
