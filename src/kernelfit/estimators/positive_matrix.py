"""What TKL and GPK share: the family on scaled points, its size and the learned matrix."""

import warnings
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelfit.estimators.machine import KernelMachine
from kernelfit.families.psd.features import FeatureBasis
from kernelfit.learners.positive_matrix import (
    SOLVERS,
    PositiveMatrixLearner,
    fit_family,
    merge_rows,
)
from kernelfit.utils.sklearn_private import Interval, StrOptions

_MAX_WORK_BYTES = 2**34  # that a basis may need besides the kernel matrix
_MAX_QUIET_SIZE = 2000  # order of P beyond which decompositions of n_P x n_P matrices take long
_MAX_QUIET_SECONDS = 10
_MAX_QUIET_FEATURES = 20_000  # beyond which the features alone take seconds in every step


class PositiveMatrixMachine(KernelMachine):
    """Base of the estimators; a subclass says which basis.

    It implements ``_make_basis(n_features)`` and what to say of a basis that is too large,
    ``_smaller``, or of a scale that is not a positive number, ``_scale_complaint``.
    """

    _parameter_constraints: ClassVar[dict] = {
        **KernelMachine._parameter_constraints,
        "degree": [Interval(Integral, 0, None, closed="left")],
        "normalize": ["boolean"],
        "solver": [StrOptions(set(SOLVERS))],
    }

    scaling = "range"

    def _training_rows(self, X, targets, weight):
        """Return one row of each set of equal rows, and the sets' weights."""
        return merge_rows(X, targets, weight)

    def _take_rows(self, X, rows):
        return X[rows]  # whose order is that of their values

    def _learner(self, X, targets, weight, unit_cost, matrix):
        self.data_min_, self.data_max_ = X.min(axis=0), X.max(axis=0)

        def make_basis(n_features):
            basis = self._make_basis(n_features)
            self._check_size(basis, len(X))
            return basis

        family = fit_family(
            X,
            weight,
            make_basis,
            normalize=self.normalize,
            cache_bytes=self.cache_size * 2**20,
            device=self.device,
            scaling=self.scaling,
        )
        if not 0.0 < family.scale < np.inf:
            raise ValueError(self._scale_complaint(family.scale))
        self.scale_ = family.scale
        self.constant_features_ = np.setdiff1d(np.arange(X.shape[1]), family.kept_features)
        return PositiveMatrixLearner(family, self.solver, self.tol, self.max_iter)

    def _check_size(self, basis, m):
        """Raise if P does not fit in memory; warn if training will be slow."""
        dense = not isinstance(basis, FeatureBasis) or self.solver in ("apd", "hybrid")
        quiet = _MAX_QUIET_SIZE if dense else _MAX_QUIET_FEATURES
        needed = basis.memory(m) + (8 * 6 * basis.size**2 if dense else 0)
        size = (
            f"n_P = {basis.size} functions, for which {m} rows need about {needed / 2**30:.2g} GiB"
        )
        if needed > _MAX_WORK_BYTES:
            raise ValueError(f"expected a basis that fits into memory, got {size}: {self._smaller}")
        seconds = basis.seconds(m)
        if basis.size > quiet or seconds > _MAX_QUIET_SECONDS:
            slow = seconds > _MAX_QUIET_SECONDS
            time = f"about {seconds:.0f} seconds an iteration" if slow else "long"
            warnings.warn(
                f"{type(self).__name__} will take {time} over {size}: {self._smaller}",
                UserWarning,
                stacklevel=6,
            )

    @property
    def P_(self):
        """The learned matrix, or one for each kernel, computed from the factors of the kernels."""
        check_is_fitted(self)
        matrices = [kernel.U @ kernel.U.T for kernel in self._kernels]
        return matrices[0] if len(matrices) == 1 else np.array(matrices)

    def _convergence_advice(self, endings):
        remedy = "lower C" if self.normalize else "use normalize=True, lower C"
        if endings == {"rounding"}:
            return f"rounding prevents more, {remedy} or raise tol"
        rough = np.any(self.dual_gap_ > np.abs(self.objective_))
        return (f"{remedy} or " if rough else "") + f"raise max_iter={self.max_iter} or tol"
