"""What the support vector estimators share: data, kernel, training and decision values."""

import copy
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.kernels.standard import (
    RBF,
    Linear,
    Polynomial,
    StandardKernel,
    kernel_from_name,
    scale_gamma,
)
from kernelfit.learners.svm import TrainingGram, decision_values, fits, solve_each
from kernelfit.solvers.gram import DenseGram
from kernelfit.solvers.pair_steps import pair_steps
from kernelfit.utils.progress import announce_compilation, show_progress
from kernelfit.utils.threads import threads_for
from kernelfit.utils.validation import (
    CheckedKernel,
    check_kernel_matrix,
    check_targets,
    check_weights,
)

_SPARSE_KERNELS = ("linear", "poly", "rbf")
_CHUNK_BYTES = 2**26  # of kernel values computed at a time in prediction
_NOTHING = np.empty(0)


class BaseKernelMachine(BaseEstimator):
    """Base of the support vector estimators; a subclass says which problems to solve.

    It implements ``_fit(X, y, weight, previous)`` by a call of `_train`.
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [
            StrOptions({"linear", "poly", "rbf", "laplacian", "precomputed"}),
            callable,
        ],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = self._takes_sparse
        return tags

    @property
    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _dtypes(self):
        return (np.float64, np.float32) if self._precomputed else np.float64

    @property
    def _takes_sparse(self):
        return isinstance(self.kernel, str) and self.kernel in _SPARSE_KERNELS

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
        # All work is done on a copy, and the last step is a single assignment.
        fitted = copy.copy(self)
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(fitted, name)
        X, y = fitted._check_training_data(X, y)
        weight = check_weights(sample_weight, len(y))
        with threads_for(len(y)):
            fitted._fit(X, y, weight, previous=self)
        fitted._warn_if_unproven()
        self.__dict__ = fitted.__dict__
        return self

    def _check_training_data(self, X, y, owner=None):
        """Return checked data. Names of features are stored in, and errors name, the owner."""
        _check_density(X, self._takes_sparse, self.kernel)
        # A square kernel matrix is checked for symmetry and finiteness at once, later.
        shape = getattr(X, "shape", (0, 1))
        square = self._precomputed and len(shape) == 2 and len(set(shape)) == 1
        X, y = validate_data(
            self if owner is None else owner,
            X,
            y,
            accept_sparse="csr",
            dtype=self._dtypes,
            ensure_all_finite=not square,
        )
        y = check_targets(y) if is_regressor(self) else y
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"expected a square precomputed kernel matrix, got shape {X.shape}")
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X, y

    def _check_test_data(self, X, owner=None):
        """Return checked data. Errors name the owner."""
        owner = self if owner is None else owner
        # What counts is the kernel of the fit, whatever the parameters are now.
        precomputed = self.kernel_ is None
        takes_sparse = isinstance(self.kernel_, Linear | Polynomial | RBF)
        _check_density(X, takes_sparse, "precomputed" if precomputed else self.kernel_)
        if not precomputed:
            return validate_data(owner, X, reset=False, accept_sparse="csr", dtype=np.float64)
        X = check_array(X, dtype=(np.float64, np.float32))
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(owner).__name__} is expecting "
                f"{self.n_features_in_} features as input: a precomputed kernel has one column for "
                "every training row, shape (n_test, n_train)"
            )
        return X

    def _make_kernel(self, X, weight):
        """Return the kernel with its gamma resolved on the training data; None if precomputed."""
        if self._precomputed:
            return None
        if callable(self.kernel):
            return self.kernel
        gamma = self.gamma
        if self.kernel == "linear":
            gamma = None
        elif gamma == "scale":
            gamma = scale_gamma(X, weight)
        elif gamma == "auto":
            gamma = 1.0 / X.shape[1]
        if gamma is not None:
            if not 0.0 < gamma < np.inf:
                raise ValueError(
                    f"expected features of moderate scale, got gamma={gamma} from their variance"
                )
            self.gamma_ = float(gamma)
        kernel = kernel_from_name(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)
        with np.errstate(over="ignore"):
            diagonal = kernel.diag(X)
        if not np.isfinite(diagonal).all():
            raise ValueError(f"expected finite kernel values, got overflow in {kernel}")
        return kernel

    def _make_gram(self, kernel, X, n_jobs):
        n, cache_bytes = X.shape[0], self.cache_size * 2**20
        matrix = X if kernel is None else None
        if callable(self.kernel):
            kernel = CheckedKernel(self.kernel)
            if fits(n, cache_bytes):
                matrix = DenseGram(kernel(X, X)).matrix
                check_kernel_matrix(matrix, "the matrix returned by the kernel")
        return TrainingGram(kernel, X, cache_bytes, matrix=matrix, n_jobs=n_jobs)

    def _start(self, n_samples, n_layers):
        """Return the coefficients of all rows, for the next fit to start from, or None."""
        coef = getattr(self, "dual_coef_", None)
        if not self.warm_start or coef is None:
            return None
        if self.shape_fit_[0] != n_samples or len(coef) != n_layers:
            return None
        start = np.zeros((n_layers, n_samples))
        start[:, self.support_] = coef
        return start

    def _train(self, X, weight, cost, groups, solve, problems, shape, previous, n_jobs=None):
        """Solve the problems and set the fitted attributes.

        Parameters
        ----------
        X, weight
            Checked training data and sample weights. Rows of weight zero are left out.
        cost : ndarray of shape (n_samples, ...)
            C of every row, or what else `solve` takes in its place.
        groups : ndarray of shape (n_samples,)
            Support vectors are ordered by these.
        solve : callable
            ``solve(K, p, C, **options)``.
        problems : callable
            ``problems(rows)`` yields the problems on the rows that are not left out.
        shape : tuple of int
            Number of problems and of layers.
        previous : estimator
            As it was before this fit.
        n_jobs : int, default=None

        Returns
        -------
        list of (Problem, result)
            Without ``x`` and ``decision``.
        """
        n_problems, n_layers = shape
        start = previous._start(X.shape[0], n_layers)
        self.shape_fit_ = X.shape
        if self._precomputed:
            X = DenseGram(X).matrix
            check_kernel_matrix(X, "the precomputed kernel matrix")
        if not np.isfinite(cost).all():
            raise ValueError("expected finite products of C and the weights, got overflow")
        rows = np.flatnonzero(weight)
        if len(rows) < X.shape[0]:
            X = X[np.ix_(rows, rows)] if self._precomputed else X[rows]
            start = None if start is None else start[:, rows]

        kernel = self._make_kernel(X, weight[rows])
        n_jobs = min(effective_n_jobs(n_jobs), n_problems)
        gram = self._make_gram(kernel, X, n_jobs)
        if not gram.dense and n_layers == n_problems:
            n_jobs = 1  # the problems share one cache of rows
        coef = np.zeros((n_layers, len(rows)))
        results = []
        for problem, result in solve_each(
            solve,
            gram,
            problems(rows),
            cost[rows],
            start=start,
            n_jobs=n_jobs,
            callback=self._round_logger(n_problems),
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            polish=True,
            assume_psd=isinstance(kernel, StandardKernel) and kernel.psd,
        ):
            coef[problem.layer, problem.rows] = result.x
            # Without the long arrays, which would take memory.
            results.append((problem, replace(result, x=_NOTHING, decision=_NOTHING)))
            self._log_result(problem, result, n_problems)
        if not (np.isfinite(coef).all() and all(np.isfinite(r.objective) for _, r in results)):
            raise ValueError("expected data of moderate size, got overflow in training")

        support = np.flatnonzero(coef.any(axis=0))
        support = support[np.argsort(groups[rows[support]], kind="stable")]

        def one_or_all(values):
            return values[0] if n_problems == 1 else np.array(values)

        self.kernel_ = kernel
        self.support_ = rows[support]
        if kernel is not None:
            self.support_vectors_ = X[support]
        self.n_support_ = np.bincount(groups[self.support_], minlength=groups.max() + 1)
        self.dual_coef_ = coef[:, support]
        self.intercept_ = np.array([r.intercept for _, r in results])
        self.objective_ = one_or_all([r.objective for _, r in results])
        self.dual_gap_ = one_or_all([r.gap for _, r in results])
        self.n_iter_ = one_or_all([r.n_iter for _, r in results])
        self.converged_ = one_or_all([r.converged for _, r in results])
        histories = [np.array(r.history) for _, r in results]
        self.history_ = histories[0] if n_problems == 1 else histories
        return results

    def _round_logger(self, n_problems):
        """Announce the compilation, and return the callback that reports a round, or None."""
        if self.verbose:
            announce_compilation(pair_steps)
        if self.verbose < 2:
            return None

        def log_round(problem, n_iter, objective, gap):
            show_progress().info(
                "problem %d/%d, round %d: objective %.6g, gap %.2g",
                problem.index + 1, n_problems, n_iter, objective, gap,
            )  # fmt: skip

        return log_round

    def _log_result(self, problem, result, n_problems):
        if self.verbose:
            show_progress().info(
                "problem %d/%d: %d rounds, objective %.6g, gap %.2g%s",
                problem.index + 1, n_problems, result.n_iter, result.objective, result.gap,
                "" if result.converged else ", not converged",
            )  # fmt: skip

    def _warn_if_unproven(self):
        gap, objective = np.atleast_1d(self.dual_gap_), np.atleast_1d(self.objective_)
        name = type(self).__name__
        if np.isnan(gap).any():
            warnings.warn(
                f"{name} met an indefinite kernel matrix: the solution is a stationary point "
                "without proof of optimality and its dual_gap_ is nan",
                UserWarning,
                stacklevel=3,
            )
        failed = ~np.isnan(gap) & ~np.atleast_1d(self.converged_)
        if failed.any():
            worst = (gap[failed] / np.maximum(np.abs(objective[failed]), 1e-300)).max()
            stalled = np.atleast_1d(self.n_iter_)[failed].max() < self.max_iter
            warnings.warn(
                f"{name} stopped at a relative duality gap of {worst:.1e} instead of "
                f"tol={self.tol:g} in {failed.sum()} of {failed.size} problems: "
                + self._convergence_advice(stalled),
                ConvergenceWarning,
                stacklevel=3,
            )

    def _convergence_advice(self, stalled):
        if stalled:
            return "rounding prevents more, scale the data or raise tol"
        return f"raise max_iter={self.max_iter} or tol"

    def _decision_values(self, X):
        """Return the decision values of every problem, of shape (n_samples, n_problems)."""
        check_is_fitted(self)
        X = self._check_test_data(X)
        values = np.empty((X.shape[0], len(self.intercept_)))
        step = max(1, _CHUNK_BYTES // (8 * max(1, len(self.support_))))
        for first in range(0, X.shape[0], step):
            part = X[first : first + step]
            if not len(self.support_):
                K = np.zeros((part.shape[0], 0))
            elif self.kernel_ is None:
                K = part[:, self.support_]
            else:
                K = self.kernel_(part, self.support_vectors_)
            values[first : first + step] = decision_values(
                K, self.dual_coef_, self.intercept_, self.n_support_
            )
        return values


def _check_density(X, takes_sparse, kernel):
    if sparse.issparse(X) and not takes_sparse:
        raise TypeError(f"expected dense X for kernel={kernel!r}, got a sparse matrix")
