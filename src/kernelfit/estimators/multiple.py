"""What the machines on a bank of kernels share: the bank, its weights and the learned kernel."""

import functools
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.estimators.bank import DEFAULT_BANK, build_bank, build_stack, resolve_bank
from kernelfit.estimators.machine import KernelMachine
from kernelfit.families.multiple.kernels import BankKernel, CosineKernel, WeightedSum
from kernelfit.learners.multiple.alignment import align, alignf, alignf_signed
from kernelfit.learners.multiple.bayes import BayesLearner
from kernelfit.learners.multiple.deep import DeepLearner
from kernelfit.learners.multiple.easy import easy
from kernelfit.learners.multiple.learner import MultipleLearner, average, make_family
from kernelfit.learners.multiple.proportional import proportional
from kernelfit.learners.positive_matrix import merge_rows
from kernelfit.tasks.multiclass import problem_coef
from kernelfit.utils.progress import show_progress
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.validation import as_plain

COMBINATIONS = {
    "average", "simple", "lp", "align", "alignf", "alignf_signed", "pwmk", "bayes",
}  # fmt: skip
_WHOLE = {"bayes", "deep"}  # which need all matrices in memory
_ENTRY_SECONDS = 2e-9  # a kernel value, roughly
_BEYOND = (
    "%d of %d kernel matrices of %d rows are beyond cache_size=%g MB: their values are computed "
    "when needed, about %.2g s each time and tens of times in all, or three times a kernel for pwmk"
)
# Products of two values of the last layer, which cubes those of the layer before, are finite.
_MAX_DEEP = 1e150


class MultipleKernelMachine(KernelMachine):
    """Base of the machines with the parameters kernels, combination, p and normalize."""

    _parameter_constraints: ClassVar[dict] = {
        **KernelMachine._parameter_constraints,
        "kernels": ["array-like", StrOptions({"precomputed"}), None],
        "combination": [StrOptions(COMBINATIONS)],
        "p": [Interval(Real, 1, None, closed="left")],
        "normalize": ["boolean"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    @property
    def _precomputed(self):
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    def _check_training_data(self, X, y, owner=None):
        """Return checked data. Names of features are stored in, and errors name, the owner."""
        owner = self if owner is None else owner
        stacked = self._precomputed
        X, y = validate_data(
            owner,
            X,
            as_plain(y),
            dtype=(np.float64, np.float32) if stacked else np.float64,
            allow_nd=stacked,
            ensure_all_finite=not stacked,
        )
        if stacked:
            if X.ndim > 3 or X.shape[0] != X.shape[1]:
                raise ValueError(
                    "expected precomputed kernel matrices of shape (n_samples, n_samples, "
                    f"n_kernels), got {X.shape}"
                )
            X = X.reshape(*X.shape[:2], -1)
            if not X.shape[2]:
                raise ValueError("expected at least one precomputed kernel matrix, got none")
        return X, self._check_targets(y)

    def _check_test_data(self, X, owner=None):
        """Return checked data. Errors name the owner."""
        owner = self if owner is None else owner
        if not self._given:
            return validate_data(owner, X, reset=False, dtype=np.float64)
        X = check_array(X, dtype=np.float64, allow_nd=True)
        shape = X.shape if X.ndim == 3 else (*X.shape, 1)
        if shape[1:] != (self.n_features_in_, len(self.scales_)):
            name, wanted = type(owner).__name__, self.n_features_in_
            found, expected = f"{shape[1]} features", f"{wanted} features as input"
            if shape[1] == wanted:
                found, expected = f"{shape[2]} kernels", f"{len(self.scales_)}"
            raise ValueError(
                f"X has {found}, but {name} is expecting {expected}: precomputed kernels have "
                f"the shape (n_test, {wanted}, {len(self.scales_)}), got {X.shape}"
            )
        return X.reshape(shape)

    def _training_rows(self, X, targets, weight):
        """Return one row of each set of equal rows, and the sets' weights."""
        if self._precomputed or self.combination == "bayes":  # for which rows are no weights
            return super()._training_rows(X, targets, weight)
        return merge_rows(X, targets, weight)

    def _take_rows(self, X, rows):
        return X[np.ix_(rows, rows)] if self._precomputed else X[rows]

    def _learner(self, X, targets, weight, unit_cost, matrix):
        self._given, deep = self._precomputed, self.combination == "deep"
        if self._given and deep:
            raise ValueError("expected kernels on points for combination='deep', got matrices")
        if self._given:
            self.scales_, bank = build_stack(X, weight, self.normalize, self.cache_size)
            make_kernel = _no_kernel
        else:
            kernels = DEFAULT_BANK if self.kernels is None else self.kernels
            names = getattr(self, "feature_names_in_", None)
            members = resolve_bank(kernels, X, weight, names)
            scale = self.normalize and not deep
            if self.normalize and deep:
                members = [BankKernel(CosineKernel(m.kernel), m.features) for m in members]
            owner = f"combination={self.combination!r}" if self.combination in _WHOLE else ""
            self.bank_, bank = build_bank(members, X, weight, scale, self.cache_size, owner)
            if self.verbose and not bank.in_memory:
                seconds = _ENTRY_SECONDS * len(bank.on_demand) * bank.n**2
                number = len(bank.on_demand), bank.size, bank.n, self.cache_size, seconds
                show_progress().info(_BEYOND, *number)
            self.scales_ = np.array([member.scale for member in self.bank_])
            make_kernel = functools.partial(WeightedSum, self.bank_)
        if self.combination == "bayes":
            if np.any(unit_cost != 1.0):  # rows of weight 0 are left out before
                raise ValueError(
                    "expected weights of 0 or 1 for combination='bayes', got "
                    f"{unit_cost.min():g} to {unit_cost.max():g}"
                )
            classify = is_classifier(self)
            return BayesLearner(bank, make_kernel, classify, self.tol, self.max_iter)
        if deep:
            largest, limit = bank.diagonals().max(), _MAX_DEEP ** (3.0 ** (1 - self.n_layers))
            if not largest <= limit:
                raise ValueError(
                    f"expected kernel values up to {limit:g} for combination='deep', which cubes "
                    f"them, got {largest:.3g}: scale the features or normalize"
                )
            return DeepLearner(bank, self.bank_, self.tol, self.max_iter, self.n_layers)
        family = make_family(bank, make_kernel, self.combination, self.p)
        return MultipleLearner(
            family,
            self._rule(),
            weight,
            self.tol,
            self.max_iter,
            self._polish,
            by_cost=self.combination == "pwmk",
        )

    def _rule(self):
        """Return how the weights are chosen; None where they are learned with the machines."""
        match self.combination:
            case "average":
                return average
            case "align":
                return align
            case "alignf":
                return alignf
            case "alignf_signed":
                return alignf_signed
            case "easy":
                return functools.partial(easy, lam=self.lam)
            case "pwmk":
                classify = is_classifier(self)
                delta = self.delta if classify else 0.0
                return functools.partial(proportional, classify=classify, delta=delta)
        return average if np.isinf(self.p) and self.combination == "lp" else None

    @property
    def weights_(self):
        """The weights of the kernels, or one row of them for each learned kernel."""
        check_is_fitted(self)
        return self._thetas[0] if len(self._thetas) == 1 else np.array(self._thetas)

    def _chunk_rows(self, X):
        return max(1, super()._chunk_rows(X) // (X.shape[2] if self._given else 1))

    def _chunk_values(self, X):
        if not self._given or not len(self.support_):
            return super()._chunk_values(X)
        n_problems = len(self.intercept_)
        values = np.tile(self.intercept_, (X.shape[0], 1))
        groups = np.array_split(np.arange(n_problems), len(self._thetas))
        for theta, group in zip(self._thetas, groups, strict=True):
            K = self._weigh(X[:, self.support_], theta)
            for k in group:
                coef = problem_coef(self.dual_coef_, self.n_support_, k, n_problems)
                values[:, k] += K @ coef
        return values

    def _weigh(self, stack, theta):
        """Return the learned kernel from given ones, along the last axis."""
        return stack @ (theta * self.scales_)


def _no_kernel(weights):
    """Return None in place of a kernel on new points, where matrices were given."""
