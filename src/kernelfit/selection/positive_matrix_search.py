"""What the searches for TKL and GPK share: their grids."""

from itertools import product
from typing import ClassVar

from kernelfit.families.psd.family import SCALINGS
from kernelfit.learners.positive_matrix import SOLVERS
from kernelfit.selection.search import KernelSearch
from kernelfit.selection.values import not_negative, whole_numbers
from kernelfit.utils.sklearn_private import StrOptions

_DELTAS, _DEGREES = (0.1, 0.5, 2.0), (1, 2, 3)
_FEW_FEATURES = 6  # up to which degree 2, with at most 56 functions, is cheap


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
            return self._tessellated_params(X)
        if self.feature_map is not None:
            if self.degrees is not None:
                raise ValueError("expected degrees=None for a feature_map, which has no degree")
            return [{}]
        return [{"degree": degree} for degree in self._degrees(_DEGREES)]

    def _degrees(self, default):
        return whole_numbers(default if self.degrees is None else self.degrees, "degrees")

    def _tessellated_params(self, X):
        """Return all combinations of the axes that are given, or by default a few of them."""
        deltas = not_negative(_DELTAS if self.deltas is None else self.deltas, "deltas")
        if self.deltas is None and self.degrees is None and self.scalings is None:
            few = self.basis == "x" and X.shape[1] <= _FEW_FEATURES
            found = [(1, delta, "range") for delta in deltas]
            found += [(d, _DELTAS[1], s) for d in (1, 2)[: 1 + few] for s in ("ranks", "range")]
            names = ("degree", "delta", "scaling")
            return [dict(zip(names, values, strict=True)) for values in dict.fromkeys(found)]
        axes = {"delta": deltas}
        if self.degrees is not None:
            axes = {"degree": self._degrees(None), **axes}
        if self.scalings is not None:
            unknown = [one for one in self.scalings if one not in SCALINGS]
            if unknown or not len(self.scalings):
                raise ValueError(
                    f"expected scalings among {', '.join(map(repr, SCALINGS))}, "
                    f"got {self.scalings!r}"
                )
            axes["scaling"] = list(self.scalings)
        return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
