"""What the estimators that learn a kernel over positive matrices share."""

import copy
import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.estimators.base import BaseKernelMachine
from kernelfit.estimators.svm import KernelSVC
from kernelfit.families.features import FeatureBasis
from kernelfit.families.positive_matrix import (
    PositiveMatrixFamily,
    PositiveMatrixKernel,
    UnitScaling,
    mean_one_scale,
)
from kernelfit.kernels.tessellated import fill_constant
from kernelfit.learners.positive_matrix import SOLVERS, KernelMachines, learn_kernel, merge_rows
from kernelfit.learners.svm import decompose
from kernelfit.utils.progress import announce_compilation, show_progress
from kernelfit.utils.threads import threads_for
from kernelfit.utils.validation import check_targets, check_weights

_CHUNK_BYTES = 2**26  # of kernel values computed at a time in prediction
_MAX_WORK_BYTES = 2**34  # that a basis may need besides the kernel matrix
_MAX_QUIET_SIZE = 2000  # order of P beyond which decompositions of n_P x n_P matrices take long
_MAX_QUIET_FEATURES = 20_000  # beyond which the features alone take seconds in every step
_MAX_NUMBER = 1e150  # of targets and costs: products of two are finite


class BasePositiveMatrixMachine(BaseEstimator):
    """Base of the estimators; a subclass says which basis and which machines.

    It implements ``_make_basis(n_features)``, ``_tasks(y, weight)`` and what to say of a basis that
    is too large, `_smaller`, or of a scale that is not a positive number, ``_scale_complaint``.
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "normalize": ["boolean"],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
    }
    _warn_if_unproven = BaseKernelMachine._warn_if_unproven

    def fit(self, X, y, sample_weight=None):
        """Learn the kernel and train on the given data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Class labels, or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, >= 0; ones when None. A weight of 2 equals a repeated row and a weight
            of 0 a missing one.

        Returns
        -------
        self : object
            The fitted estimator. Where fit raises or is interrupted, it is left as it was.
        """
        self._validate_params()
        # All work is done on a copy, and the last step is a single assignment.
        fitted = copy.copy(self)
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(fitted, name)
        X, y = fitted._check_training_data(X, y)
        weight = check_weights(sample_weight, len(y))
        with threads_for(len(y)):
            fitted._fit(X, y, weight)
        fitted._warn_if_unproven()
        self.__dict__ = fitted.__dict__
        return self

    def _check_training_data(self, X, y, owner=None):
        """Return checked data. Names of features are stored in, and errors name, the owner."""
        owner = self if owner is None else owner
        X, y = validate_data(owner, X, y, dtype=np.float64)
        return X, check_targets(y) if is_regressor(self) else y

    def _fit(self, X, y, weight, start=None):
        """Learn the kernels and set the fitted attributes; return where to start the next fit."""
        with np.errstate(over="ignore", invalid="ignore"):
            p, cost, keys = self._tasks(y, weight)
            largest = max(weight.max(), np.max(cost * weight))
        if not largest <= _MAX_NUMBER:
            raise ValueError(
                f"expected sample weights, and products of C and the weights, up to "
                f"{_MAX_NUMBER:g}, got {largest:.3g}"
            )
        rows, total = merge_rows(X, keys, weight)
        p, cost = p[:, rows], cost[rows] * total
        scaling = UnitScaling.fit(X[rows])
        scaled = scaling(X[rows])
        basis = self._make_basis(len(scaling.kept))
        self._check_size(basis, len(rows))
        scale = mean_one_scale(basis, scaled, total) if self.normalize else basis.volume
        if not 0.0 < scale < np.inf:
            raise ValueError(self._scale_complaint(scale))
        family = PositiveMatrixFamily(basis, scaled, scale)
        lower, upper = self._box(p, cost)
        tasks = self._groups(len(p))
        results = []
        if self.verbose:
            announce_compilation(fill_constant)
        for number, group in enumerate(tasks):
            machines = KernelMachines(
                family,
                p[group],
                lower[group],
                upper[group],
                epsilon=self._epsilon,
                fit_intercept=self.fit_intercept,
                cache_bytes=self.cache_size * 2**20,
            )
            result = learn_kernel(
                machines,
                solver=self.solver,
                tol=self.tol,
                max_iter=self.max_iter,
                start=None if start is None else start[number],
                callback=self._logger(number, len(tasks)),
            )
            results.append(result)
        coef = np.concatenate([result.x for result in results])
        if not np.isfinite(coef).all():
            raise ValueError("expected kernel values of moderate size, got overflow in training")

        def one_or_all(values):
            return values[0] if len(values) == 1 else values

        support = np.flatnonzero(coef.any(axis=0))
        support = support[np.argsort(rows[support])]
        self.constant_features_ = np.setdiff1d(np.arange(X.shape[1]), scaling.kept)
        self.data_min_, self.data_max_ = X[rows].min(axis=0), X[rows].max(axis=0)
        self.scale_ = scale
        self.kernel_ = one_or_all(
            [PositiveMatrixKernel(basis, result.factor, scale, scaling) for result in results]
        )
        self.support_ = rows[support]
        self.support_vectors_ = X[rows[support]]
        self.dual_coef_ = coef[:, support]
        self.intercept_ = np.concatenate([result.intercept for result in results])
        self.objective_ = one_or_all(np.array([result.objective for result in results]))
        self.dual_gap_ = one_or_all(np.array([result.gap for result in results]))
        self.n_iter_ = one_or_all(np.array([result.n_iter for result in results]))
        self.converged_ = one_or_all(np.array([result.converged for result in results]))
        self.history_ = one_or_all([np.array(result.history) for result in results])
        return [(result.x, result.factor) for result in results]

    def _check_size(self, basis, m):
        """Refuse or announce a matrix P of an order that takes long or does not fit."""
        dense = not isinstance(basis, FeatureBasis) or self.solver in ("apd", "hybrid")
        quiet = _MAX_QUIET_SIZE if dense else _MAX_QUIET_FEATURES
        needed = basis.memory(m) + (8 * 6 * basis.size**2 if dense else 0)
        size = (
            f"n_P = {basis.size} functions, for which {m} rows need about {needed / 2**30:.2g} GiB"
        )
        if needed > _MAX_WORK_BYTES:
            raise ValueError(f"expected a basis that fits into memory, got {size}: {self._smaller}")
        if basis.size > quiet:
            warnings.warn(
                f"{type(self).__name__} will take long over {size}: {self._smaller}",
                UserWarning,
                stacklevel=4,
            )

    @property
    def P_(self):
        """The learned matrix, or one for each kernel, computed from the factors of the kernels."""
        check_is_fitted(self)
        if isinstance(self.kernel_, list):
            return np.array([kernel.U @ kernel.U.T for kernel in self.kernel_])
        return self.kernel_.U @ self.kernel_.U.T

    def _groups(self, n_tasks):
        """Return slices of the tasks that share a kernel."""
        return [slice(0, n_tasks)]

    def _convergence_advice(self, stalled):
        remedy = "lower C" if self.normalize else "use normalize=True, lower C"
        if stalled:
            return f"rounding prevents more, {remedy} or raise tol"
        rough = np.any(self.dual_gap_ > np.abs(self.objective_))
        return (f"{remedy} or " if rough else "") + f"raise max_iter={self.max_iter} or tol"

    def _logger(self, number, n_kernels):
        if not self.verbose:
            return None

        def log(n_iter, objective, gap):
            show_progress().info(
                "kernel %d/%d, iteration %d: objective %.6g, gap %.2g",
                number + 1, n_kernels, n_iter, objective, gap,
            )  # fmt: skip

        return log

    def _decision_values(self, X):
        """Return the decision values of every task, of shape (n_samples, n_tasks)."""
        check_is_fitted(self)
        return self._evaluate(validate_data(self, X, reset=False, dtype=np.float64))

    def _evaluate(self, X):
        """Return the decision values at checked points."""
        values = np.tile(self.intercept_, (len(X), 1))
        kernels = self.kernel_ if isinstance(self.kernel_, list) else [self.kernel_]
        groups = np.array_split(np.arange(len(self.intercept_)), len(kernels))
        for kernel, group in zip(kernels, groups, strict=True):
            used = np.flatnonzero(self.dual_coef_[group].any(axis=0))
            step = max(1, _CHUNK_BYTES // (8 * max(1, len(used))))
            for first in range(0, len(X) if len(used) else 0, step):
                part = slice(first, first + step)
                K = kernel(X[part], self.support_vectors_[used])
                values[part, group] += K @ self.dual_coef_[np.ix_(group, used)].T
        return values


class PositiveMatrixClassifier(ClassifierMixin, BasePositiveMatrixMachine):
    """What the classifiers share."""

    _parameter_constraints: ClassVar[dict] = {
        **BasePositiveMatrixMachine._parameter_constraints,
        "kernel_sharing": [StrOptions({"separate", "joint"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }
    _encode = KernelSVC._encode
    _epsilon = 0.0

    def _tasks(self, y, weight):
        labels, self.class_weight_ = self._encode(y, weight)
        problems = decompose(labels, len(self.classes_), one_vs_one=False)
        p = np.stack([problem.p for problem in problems])
        return p, self.C * self.class_weight_[labels], labels

    def _box(self, p, cost):
        return np.minimum(p * cost, 0.0), np.maximum(p * cost, 0.0)

    def _groups(self, n_tasks):
        if self.kernel_sharing == "joint":
            return [slice(0, n_tasks)]
        return [slice(t, t + 1) for t in range(n_tasks)]

    def decision_function(self, X):
        """Return the decision values of points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: positive for the second. Otherwise one value a class, the largest for the
            predicted one.
        """
        values = self._decision_values(X)
        return self._shape(values)

    def _shape(self, values):
        return values[:, 0] if len(self.classes_) == 2 else values

    def _choose(self, values):
        """Return the class indices that the tasks' values, along the last axis, decide for."""
        if len(self.classes_) == 2:
            return (values[:, 0] > 0).astype(np.intp)
        return values.argmax(axis=1)

    def predict(self, X):
        """Predict the classes of points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self._decision_values(X)
        return self.classes_[self._choose(values)]


class PositiveMatrixRegressor(RegressorMixin, BasePositiveMatrixMachine):
    """What the regressors share."""

    _parameter_constraints: ClassVar[dict] = {
        **BasePositiveMatrixMachine._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    @property
    def _epsilon(self):
        return self.epsilon

    def _tasks(self, y, weight):
        largest = np.max(np.abs(y))
        if largest > _MAX_NUMBER:
            raise ValueError(f"expected targets up to {_MAX_NUMBER:g}, got {largest:.3g}")
        return y[None], np.full(len(y), float(self.C)), y

    def _box(self, p, cost):
        return np.tile(-cost, (len(p), 1)), np.tile(cost, (len(p), 1))

    def predict(self, X):
        """Predict the targets of points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decision_values(X)[:, 0]
