"""What all kernel machines share: atomic fit, training, prediction, warnings and warm start."""

import contextlib
import copy
import functools
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.kernels.single import SingleGaussian
from kernelfit.learners.plan import Plan
from kernelfit.tasks.multiclass import Problem, decision_values, problem_coef
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.jobs import n_threads, run_in_order
from kernelfit.utils.progress import GapForecast, show_progress
from kernelfit.utils.sklearn_private import Interval
from kernelfit.utils.threads import one_blas_thread, threads_for
from kernelfit.utils.validation import as_dense, as_plain, check_weights

_CHUNK_BYTES = 2**26  # of kernel values computed at a time in prediction
# The same for a kernel that has prepared the support vectors: they stay near the processor; but no
# fewer points than make matrix products worth while.
_NEAR_BYTES, _NEAR_ROWS = 2**20, 64
_MAX_NUMBER = 1e150  # of targets and costs: products of two are finite


class KernelMachine(BaseEstimator):
    """Base of the kernel machines.

    What is fitted comes from `ClassifierMachine` or `RegressorMachine`; what is learned comes from
    a class that implements ``_learner(X, targets, weight, unit_cost, matrix)`` and returns a
    `kernelfit.learners.learner.Learner` on the training rows.
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }
    _cost_range = (0.0, _MAX_NUMBER)  # targets have the same upper limit
    n_jobs = None  # where the machine has no such parameter
    device: Any = None  # likewise
    _polish = True  # whether to go on towards the exact solution once the tolerance is met
    _memory: float | None = None  # that cache_size="auto" takes a share of; None to look for it
    _shares_cache = False  # whether problems on all rows read one cache of kernel rows
    _root: Any = None  # the initial kernel, where the learned ones multiply it

    def fit(self, X, y, sample_weight=None):
        """Train on the given data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training points; the kernel matrix, of shape (n_samples, n_samples), for
            ``kernel="precomputed"``. Sparse data is for the linear, polynomial and rbf kernels.
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
        fitted = blank_copy(self)
        X, y = fitted._check_training_data(X, y)
        weight = check_weights(sample_weight, len(y))
        with threads_for(len(y)):
            fitted._fit(X, y, weight, previous=self)
        fitted._warn_if_unproven()
        self.__dict__ = fitted.__dict__
        return self

    def _check_training_data(self, X, y, owner=None):
        """Return checked data. Names of features are stored in, and errors name, the owner."""
        X, y = validate_data(owner or self, X, as_plain(y), dtype=np.float64)
        return X, self._check_targets(y)

    def _check_test_data(self, X, owner=None):
        """Return checked data. Errors name the owner."""
        owner = self if owner is None else owner
        return validate_data(owner, X, reset=False, dtype=np.float64)

    def _row_order(self, y):
        """Return the order of the rows in which problems are solved; None for the given one."""
        return None

    def _training_rows(self, X, targets, weight):
        """Return the rows to train on, and their weights: all of positive weight."""
        rows = np.flatnonzero(weight)
        return rows, weight[rows]

    def _check_matrix(self, X):
        """Complain of a given kernel matrix that is none."""

    def _take_rows(self, X, rows):
        """Return some of the training rows."""
        n = X.shape[0]
        return X if len(rows) == n and np.array_equal(rows, np.arange(n)) else X[rows]

    def _plan(self, X, y, weight, matrix=None, Cs=None):
        """Return what there is to learn, and on which rows: all that does not depend on C.

        Parameters
        ----------
        X, y, weight
            Checked data.
        matrix : callable, default=None
            From the kernel to its matrix on the rows of positive weight, or to None: where it is
            known already.
        Cs : sequence of float, default=None
            The costs that the plan is for; the machine's own when None.

        Returns
        -------
        plan : Plan
        rows : ndarray of int
        """
        again = functools.partial(_plan_again, copy.copy(self), X, y, weight, matrix, Cs)
        whole = X
        X, targets, weight, unit_cost, rows = self._prepare(X, y, weight, Cs)
        self._check_matrix(whole)  # after the complaints of targets and weights
        # Several groups may run in other processes, which must find the same bits.
        with one_blas_thread() if self._has_several_groups() else contextlib.nullcontext():
            learner = self._learner(X, targets, weight, unit_cost, matrix)
        return replace(self._make_plan(learner, targets, unit_cost), remake=again), rows

    def _make_plan(self, learner, targets, unit_cost):
        """Return the plan of one problem on all rows."""
        problem = Problem(0, slice(None), 0, targets)
        return Plan(learner, ((problem,),), unit_cost, self._make_task, (1, 1))

    def _class_of_rows(self, y):
        return np.zeros(len(y), dtype=np.intp)

    def _has_several_groups(self):
        """Return whether there is more than one kernel to learn, or there are several problems."""
        return False

    def _prepare(self, X, y, weight, Cs=None):
        """Return the data to train on: X, targets, weights, costs for C = 1, and the rows.

        All of Cs will be tried on them; the machine's own C when None.
        """
        targets, factor = self._encode(y, weight)
        rows, weight = self._training_rows(X, targets, weight)
        with np.errstate(over="ignore", invalid="ignore"):
            unit_cost = weight * factor[rows]
            costs = np.multiply([self.C] if Cs is None else Cs, unit_cost.max())
        self._check_costs(min(costs), max(weight.max(), max(costs)))
        return self._take_rows(X, rows), targets[rows], weight, unit_cost, rows

    def _check_costs(self, smallest, largest):
        """Complain of costs whose powers are not finite, or vanish."""
        least, most = self._cost_range
        if not largest <= most:
            raise ValueError(
                f"expected sample weights, and products of C and the weights, up to {most:g}, "
                f"got {largest:.3g}"
            )
        if not smallest >= least:
            raise ValueError(
                f"expected products of C and the largest weight from {least:g}, got {smallest:.3g}"
            )

    def _fit(self, X, y, weight, previous, matrix=None):
        """Learn and set the fitted attributes."""
        order = self._row_order(y) if matrix is None else None
        if order is None:
            plan, rows = self._plan(X, y, weight, matrix)
        else:
            plan, rows = self._plan(X[order], y[order], weight[order])
            rows = order[rows]
        n_groups = len(plan.groups)
        start = previous._start(X.shape[0], plan, rows)
        learned = plan.learn(
            self.C, n_jobs=self.n_jobs, callback=self._round_logger(n_groups), **start
        )
        with contextlib.closing(learned):  # at once, and with it what jobs have set, if this fails
            self._keep(X, y, plan, rows, learned)

    def _keep(self, X, y, plan, rows, learned):
        """Set the fitted attributes from what was learned for each group of the plan."""
        self.shape_fit_ = X.shape
        self._note_plan(plan, rows)
        coef, witness = np.zeros((2, plan.shape[1], len(rows)))
        results = []
        for number, (group, result) in enumerate(zip(plan.groups, learned, strict=True)):
            for problem, x, lower in zip(group, result.x, result.witness, strict=True):
                coef[problem.layer, problem.rows] = x
                witness[problem.layer, problem.rows] = lower
            results.append(result)
            self._log_result(number, len(plan.groups), result)
        finite = np.isfinite(coef).all() and all(np.isfinite(r.objective) for r in results)
        if not finite:
            raise ValueError("expected data of moderate size, got overflow in training")
        self._store(X, y, rows, coef, witness, results)

    def _note_plan(self, plan, rows):
        """Keep what else a subclass needs of the plan."""

    def _store(self, X, y, rows, coef, witness, results):
        """Set the fitted attributes."""
        labels = self._class_of_rows(y)
        support = np.flatnonzero((coef != 0.0).any(axis=0) | (witness != 0.0).any(axis=0))
        support = support[np.lexsort((rows[support], labels[rows[support]]))]

        def one_or_all(values):
            return values[0] if len(values) == 1 else np.array(values)

        self.support_ = rows[support]
        self.n_support_ = np.bincount(labels[self.support_], minlength=labels.max() + 1)
        # As in scikit-learn, a sparse array beside sparse support vectors.
        self.dual_coef_ = type(X)(coef[:, support]) if sparse.issparse(X) else coef[:, support]
        self.witness_coef_ = witness[:, support]
        self.intercept_ = np.concatenate([result.intercept for result in results])
        self.objective_ = one_or_all([float(result.objective) for result in results])
        self.dual_gap_ = one_or_all([float(result.gap) for result in results])
        self.status_ = one_or_all([result.status for result in results])
        self.n_iter_ = one_or_all([result.n_iter for result in results])
        self.converged_ = one_or_all([bool(result.converged) for result in results])
        histories = [np.array(result.history) for result in results]
        self.history_ = histories[0] if len(histories) == 1 else histories
        self._thetas = [result.theta for result in results]
        self._endings = [result.ending for result in results]
        self._kernels = [result.kernel for result in results]
        self._scales = np.array([result.scale for result in results])
        if all(kernel is self._kernels[0] for kernel in self._kernels):
            self._kernels = self._kernels[:1]
            self.kernel_ = self._kernels[0]
        else:
            self.kernels_ = self._kernels
        if self._kernels[0] is not None:
            self.support_vectors_ = X[self.support_]

    def _start(self, n_samples, plan, rows):
        """Return where the next fit may start from: coefficients and thetas, or nothing."""
        coef = getattr(self, "dual_coef_", None)
        if not self.warm_start or coef is None:
            return {}
        if self.shape_fit_[0] != n_samples or coef.shape[0] != plan.shape[1]:
            return {}
        start = np.zeros((coef.shape[0], n_samples))
        start[:, self.support_] = as_dense(coef)
        thetas = self._thetas if len(self._thetas) == len(plan.groups) else None
        return {"coef": start[:, rows], "thetas": thetas}

    def _round_logger(self, n_groups):
        """Return the callback that reports a round, or None."""
        if not self.verbose:
            return None
        forecasts = [GapForecast(self.tol) for _ in range(n_groups)]

        def log_round(number, n_iter, objective, gap):
            times = forecasts[number].add(objective, gap)
            if self.verbose > 1 or forecasts[number].is_due():
                show_progress().info(
                    "problem %d/%d, round %d: objective %.6g, gap %.2g, %s",
                    number + 1, n_groups, n_iter, objective, gap, times,
                )  # fmt: skip

        return log_round

    def _log_result(self, number, n_groups, result):
        if self.verbose:
            show_progress().info(
                "problem %d/%d: %d rounds, objective %.6g, gap %.2g%s",
                number + 1, n_groups, result.n_iter, result.objective, result.gap,
                "" if result.converged else ", not converged",
            )  # fmt: skip

    def _warn_if_unproven(self):
        gap, objective = np.atleast_1d(self.dual_gap_), np.atleast_1d(self.objective_)
        name = type(self).__name__
        if np.any(np.atleast_1d(self.status_) == "stationary"):
            warnings.warn(
                f"{name} met an indefinite kernel matrix (by itself, or by rounding where features "
                "are far from zero): the solution is a stationary point without proof of "
                "optimality and its dual_gap_ is nan",
                UserWarning,
                stacklevel=3,
            )
        failed = ~np.isnan(gap) & ~np.atleast_1d(self.converged_)
        if failed.any():
            with np.errstate(over="ignore"):
                worst = (gap[failed] / np.maximum(np.abs(objective[failed]), 1e-300)).max()
            aim = f"tol={self.tol:g}" if self._has_tol else f"{self.tol:g}"
            endings = {self._endings[k] for k in np.flatnonzero(failed)}
            warnings.warn(
                f"{name} stopped at a relative duality gap of {worst:.1e} instead of "
                f"{aim} in {failed.sum()} of {failed.size} problems: "
                + self._convergence_advice(endings),
                ConvergenceWarning,
                stacklevel=3,
            )

    @property
    def _has_tol(self):
        """Whether users give the tolerance; exact machines have one of their own."""
        return "tol" in self.get_params(deep=False)

    def _convergence_advice(self, endings):
        if endings == {"rounding"}:
            advice = "rounding prevents more, scale the data"
            return f"{advice} or raise tol" if self._has_tol else advice
        return f"raise max_iter={self.max_iter} or tol"

    def _decision_values(self, X):
        """Return the decision values of every problem, of shape (n_samples, n_problems)."""
        check_is_fitted(self)
        return self._evaluate(self._check_test_data(X))

    def _evaluate(self, X):
        """Return the decision values at checked points."""
        prepared = self._prepared_kernel()
        many = step = self._chunk_rows(X)
        if prepared is not None:
            step = min(step, max(_NEAR_ROWS, _NEAR_BYTES // (8 * len(self.support_))))
            many -= many % step
        if X.shape[0] > many and n_threads(self.n_jobs) > 1:
            jobs = [(first, first + many) for first in range(0, X.shape[0], many)]
            shared = self, prepared, X, step
            values = np.concatenate(run_in_order(_values, jobs, shared, n_jobs=self.n_jobs))
        else:
            values = _values(self, prepared, X, step, 0, X.shape[0])
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            raise ValueError(
                f"expected points of moderate size, got overflow in the kernel at row {row}"
            )
        return values

    def _prepared_kernel(self):
        """Return the function from points to their kernel with the support vectors, or None.

        There is one where all problems share a kernel that gains from their preparation.
        """
        shared = len(self._kernels) == 1 and self._root is None and len(self.support_)
        if shared and getattr(getattr(self, "compression_", None), "dtype", None) == "float32":
            return SingleGaussian(self._kernels[0], self.support_vectors_)
        against = getattr(self._kernels[0], "against", None) if shared else None
        return None if against is None else against(self.support_vectors_)

    def _combined(self, K):
        """Return the decision values from the kernel of points with the support vectors."""
        return decision_values(K, as_dense(self.dual_coef_), self.intercept_, self.n_support_)

    def _own_rows(self, number, used):
        """Return which of a kernel's own points some support vectors are."""
        return used

    def _chunk_rows(self, X):
        """Return how many points are evaluated at a time."""
        return max(1, _CHUNK_BYTES // (8 * max(1, len(self.support_))))

    def _coef_of(self, problems):
        """Return the coefficients of some problems at all support vectors, a row each."""
        n, dual = len(self.intercept_), as_dense(self.dual_coef_)
        coef = [problem_coef(dual, self.n_support_, k, n) for k in problems]
        return np.stack(coef)

    def _chunk_values(self, X):
        if not len(self.support_):
            return np.tile(self.intercept_, (X.shape[0], 1))
        kernel, root = self._kernels[0], self._root
        if len(self._kernels) == 1 and root is None:
            if kernel is None:
                K = X[:, self.support_] * np.float64(self._scales[0])
            else:
                K = kernel(X, self.support_vectors_)
            return self._combined(K)
        # Kernels that multiply one initial kernel share its values.
        K_root = None if root is None else root(X, self.support_vectors_)
        values = np.tile(self.intercept_, (X.shape[0], 1))
        groups = np.array_split(np.arange(len(self.intercept_)), len(self._kernels))
        for number, (kernel, group) in enumerate(zip(self._kernels, groups, strict=True)):
            coef = self._coef_of(group)
            used = np.flatnonzero(coef.any(axis=0))
            if not len(used):
                continue
            if K_root is None:
                K = kernel(X, self.support_vectors_[used])
            else:
                K = kernel.multiply(K_root[:, used], X, self._own_rows(number, used))
            values[:, group] += K @ coef[:, used].T
        return values


def _values(machine, prepared, X, step, start, stop):
    """Return the decision values at some of the points, so many at a time."""
    values = np.empty((min(stop, X.shape[0]) - start, len(machine.intercept_)))
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(values), step):
            part = X[start:stop][first : first + step]
            if prepared is None:
                values[first : first + step] = machine._chunk_values(part)
            else:
                values[first : first + step] = machine._combined(prepared(part))
    return values


def _plan_again(machine, *data):
    """Return the plan of a machine, made where its data was sent."""
    return copy.copy(machine)._plan(*data)[0]
