"""What the searches for DANK and KNPL share: the penalty eta along the paths, and its choice."""

from typing import ClassVar

import numpy as np
from sklearn.base import is_classifier

from kernelfit.estimators.adaptive import parse_eta
from kernelfit.selection.kernel_search import StandardKernelSearch
from kernelfit.selection.table import difference

_MULTIPLES = (np.inf, 1.0, 0.1)


class AdaptiveSearch(StandardKernelSearch):
    """Base of the searches over gamma, C and eta, and in regression epsilon."""

    _parameter_constraints: ClassVar[dict] = {
        **StandardKernelSearch._parameter_constraints,
        "etas": ["array-like", None],
    }

    def _etas(self):
        return [np.inf if np.isinf(m) else f"{m:g}*auto" for m in self._multiples()]

    def _multiples(self):
        etas = _MULTIPLES if self.etas is None else self.etas
        try:
            multiples = [parse_eta(eta)[0] for eta in etas if np.ndim(eta) == 0]
        except (TypeError, ValueError):
            multiples = []
        if not len(multiples) == len(etas) > 0 or not min(multiples) > 0:
            raise ValueError(
                "expected etas to be a list of positive numbers, or of multiples like '0.1*auto', "
                f"got {self.etas!r}"
            )
        return multiples

    def _fold_machine(self, grid, exact, **params):
        machine = super()._fold_machine(grid, exact, **params)
        machine._path_etas = [parse_eta(eta)[0] for eta in grid.etas]
        return machine

    def _ranked(self, table):
        """Rank the machines with the best eta of every kernel and cost, or the plain ones alone.

        The latter in classification, where the grid has some and the best of them is not clearly
        worse: by more than two standard errors of the difference over the folds.
        """
        order, params = super()._ranked(table), table["params"]
        plain = [index for index in order if params[index]["eta"] == np.inf]
        comparable = plain and np.isfinite(table["mean_test_score"][plain[0]])
        if is_classifier(self) and comparable:
            gain, error = difference(table, order[0], plain[:1])
            if "split1_test_score" not in table or gain[0] <= 2.0 * error[0]:  # one fold: no error
                return plain
        best: dict[tuple, int] = {}  # machines that differ in eta alone are nearly the same
        for index in order:
            others = {name: value for name, value in params[index].items() if name != "eta"}
            best.setdefault(tuple(others.items()), index)
        return list(best.values())
