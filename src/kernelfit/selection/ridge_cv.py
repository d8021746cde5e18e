"""Kernel ridge machines with kernel width and cost chosen by exact leave-one-out errors."""

import time
from copy import copy
from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.ridge import KernelRidgeClassifier, KernelRidgeRegressor
from kernelfit.estimators.standard import DEVICE
from kernelfit.selection.folds import Cell, CellValues
from kernelfit.selection.kernel_search import StandardKernelSearch
from kernelfit.utils.progress import show_progress

# Direct solutions have no tolerance and no rounds.
_CONSTRAINTS = {
    name: constraint
    for name, constraint in StandardKernelSearch._parameter_constraints.items()
    if name not in ("tol", "search_tol", "max_iter")
} | DEVICE


class RidgeSearch(StandardKernelSearch):
    """Base of both searches: folds as elsewhere, or the exact values of rows left out."""

    # Ridges from 32 down to 1e-7 of the diagonal of the usual kernels: each costs little.
    _default_Cs = 4.0 ** np.arange(-3, 12)
    _names: tuple[str, ...] = ("kernel", "degree", "coef0", "fit_intercept", "cache_size",
                              *DEVICE)  # fmt: skip

    def _least_gain(self):
        # Without folds there is no standard error to compare a gain with.
        return super()._least_gain() if self.cv is not None else 1e-3

    def _fold_machine(self, grid, exact, **params):
        return self._machine(**{**params, "verbose": 0})

    def _splits(self, X, y, weight, groups):
        if self.cv is not None:
            return super()._splits(X, y, weight, groups)
        rows = np.flatnonzero(weight)
        if len(rows) < 2:
            raise ValueError("expected rows of positive weight to leave one out, got one sample")
        return [(rows, rows)]

    def _n_splits(self, parts):
        return super()._n_splits(parts) if self.cv is not None else len(parts.splits[0][0])

    def _cell(self, fold, machine, grid):
        return (LeftOutCell if self.cv is None else Cell)(fold, machine, grid)

    def _report(self, folds):
        if self.cv is not None:
            super()._report(folds)
            return
        (fold,) = folds
        show_progress().info(
            "%d candidates left out one by one in %.2f s", len(fold.values), fold.fit_time.sum()
        )


class LeftOutCell(Cell):
    """One kernel on all rows: the values at each of them left out."""

    def run(self, parts):
        """Return the values for all costs."""
        began = time.perf_counter()
        machine, Cs = copy(self.machine), self.grid.Cs
        X, targets, weight, unit_cost, _ = machine._prepare(parts.X, parts.y, parts.weight, Cs)
        matrix = parts.inside(self.fold).kernel_matrix
        learner = machine._learner(X, targets, weight, unit_cost, matrix)
        plan = machine._make_plan(learner, targets, unit_cost)
        (group,) = plan.groups
        values = learner.left_out(group[0].rows, plan.tasks_at(group), Cs)
        return CellValues(values[None, :, None], time.perf_counter() - began, 0.0, 0)


class KernelRidgeRegressorCV(RegressorMixin, RidgeSearch):
    r"""Kernel ridge regression with gamma and C chosen by exact leave-one-out errors.

    .. math::

        \hat\lambda = \arg\max_\lambda\; R^2\bigl(y,\, (f_\lambda^{(-i)}(x_i))_i\bigr),
        \qquad \lambda = (\gamma, C)

    where :math:`f^{(-i)}` is trained without row i. Its value at :math:`x_i` is known in closed
    form: one eigendecomposition for every gamma gives the machines of all C and the errors at all
    rows left out, the intercept refitted each time.

    Parameters
    ----------
    gammas : array-like, default=None
        Values of gamma to try: numbers, or "scale", which is ``1 / (n_features * X.var())``. None
        means 4^-4 .. 4^3 times "scale", and for the kernels of the distance itself the roots of
        these. Among equal scores the first counts.
    Cs : array-like, default=None
        Values of C to try. None means 4^-3 .. 4^11. Among equal scores the first counts. The best
        machine at the edge of a default grid extends it, in up to three steps.
    n_average : int, default=1
        Largest number of machines whose predictions are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with leave-one-out, those whose scores equal its.
    cv : int, splitter or iterable of (train, test), default=None
        The folds, as in scikit-learn; None means to leave out one row at a time, with all of its
        weight.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None means R^2. Sample weights count in either. With leave-one-out
        it is applied once, to the predictions of all rows.
    kernel : str or callable, default="rbf"
        The kernel: "linear", "poly", "rbf", "laplacian", "exponential", "matern32", "matern52",
        "rational_quadratic", "additive" or "precomputed". With "linear", "precomputed" or a
        callable there is no gamma to choose.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=0.0
        Of the polynomial kernel.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    cache_size : float, default=1000
        Memory in MB that a kernel matrix may take; its eigenvectors take as much again.
    n_jobs : int, default=None
        Number of cells, a kernel on a fold each, worked on at a time: in processes, unless a
        backend of joblib is in force. The result does not depend on it.
    checkpoint : str or path, default=None
        Directory in which finished cells are kept, so that a search that was interrupted goes on
        from there, with the same result.
    device : str, default=None
        See `KernelRidgeRegressor`. On a device the cells take turns, whatever `n_jobs`, and every C
        takes a factorisation of its own.
    verbose : int, default=0
        1 reports the search through the logger ``kernelfit``.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters; the first candidate of the best score.
    best_score_ : float
        Its score.
    best_index_ : int
        Its position in `cv_results_`.
    best_estimator_ : KernelRidgeRegressor
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of KernelRidgeRegressor
        The machines that are averaged, the best first.
    cv_results_ : dict of ndarrays
        As in scikit-learn's GridSearchCV; leave-one-out is one split. The times of a candidate
        are equal shares of the time of its factorisation.
    n_splits_ : int
        Number of folds, or of rows left out.
    n_iter_ : int
        1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    KernelRidgeRegressor : The machine with given parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kernelfit import KernelRidgeRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = KernelRidgeRegressorCV().fit(X, y)
    >>> search.best_score_ > 0.48
    True
    """

    _parameter_constraints: ClassVar[dict] = _CONSTRAINTS
    _machine_class = KernelRidgeRegressor

    def __init__(
        self,
        gammas=None,
        Cs=None,
        *,
        n_average=1,
        cv=None,
        scoring=None,
        kernel="rbf",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        cache_size=1000,
        n_jobs=None,
        checkpoint=None,
        device=None,
        verbose=0,
    ):
        self.gammas = gammas
        self.Cs = Cs
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.device = device
        self.verbose = verbose


class KernelRidgeClassifierCV(ClassifierMixin, RidgeSearch):
    r"""Kernel ridge classification with gamma and C chosen by exact leave-one-out errors.

    .. math::

        \hat\lambda = \arg\max_\lambda\; \mathrm{accuracy}\bigl(y,\, (f_\lambda^{(-i)}(x_i))_i
        \bigr), \qquad \lambda = (\gamma, C)

    where :math:`f^{(-i)}` is trained without row i. Its value at :math:`x_i` is known in closed
    form: one eigendecomposition for every gamma gives the machines of all C and all classes, and
    the decision values at all rows left out. `predict_proba` is calibrated on these.

    Parameters
    ----------
    gammas : array-like, default=None
        Values of gamma to try: numbers, or "scale", which is ``1 / (n_features * X.var())``. None
        means 4^-4 .. 4^3 times "scale", and for the kernels of the distance itself the roots of
        these. Among equal scores the first counts.
    Cs : array-like, default=None
        Values of C to try. None means 4^-3 .. 4^11. Among equal scores the first counts. The best
        machine at the edge of a default grid extends it, in up to three steps.
    n_average : int, default=1
        Largest number of machines whose decision values are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with leave-one-out, those whose scores equal its.
    cv : int, splitter or iterable of (train, test), default=None
        The folds, as in scikit-learn; None means to leave out one row at a time, with all of its
        weight.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None means accuracy. Sample weights count in either. With
        leave-one-out it is applied once, to the values of all rows.
    kernel : str or callable, default="rbf"
        The kernel: "linear", "poly", "rbf", "laplacian", "exponential", "matern32", "matern52",
        "rational_quadratic", "additive" or "precomputed". With "linear", "precomputed" or a
        callable there is no gamma to choose.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=0.0
        Of the polynomial kernel.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    class_weight : dict or "balanced", default=None
        Factors of C by class; "balanced" refers to the training part of a fold, or to all rows.
    cache_size : float, default=1000
        Memory in MB that a kernel matrix may take; its eigenvectors take as much again.
    n_jobs : int, default=None
        Number of cells, a kernel on a fold each, worked on at a time: in processes, unless a
        backend of joblib is in force. The result does not depend on it.
    checkpoint : str or path, default=None
        Directory in which finished cells are kept, so that a search that was interrupted goes on
        from there, with the same result.
    device : str, default=None
        See `KernelRidgeClassifier`. On a device the cells take turns, whatever `n_jobs`, and every
        C takes a factorisation of its own.
    verbose : int, default=0
        1 reports the search through the logger ``kernelfit``.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters; the first candidate of the best score.
    best_score_ : float
        Its score.
    best_index_ : int
        Its position in `cv_results_`.
    best_estimator_ : KernelRidgeClassifier
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of KernelRidgeClassifier
        The machines that are averaged, the best first.
    cv_results_ : dict of ndarrays
        As in scikit-learn's GridSearchCV; leave-one-out is one split. The times of a candidate
        are equal shares of the time of its factorisation.
    n_splits_ : int
        Number of folds, or of rows left out.
    n_iter_ : int
        1.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    KernelRidgeClassifier : The machine with given parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from kernelfit import KernelRidgeClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = KernelRidgeClassifierCV().fit(scale(X), y)
    >>> search.best_score_ > 0.97
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **_CONSTRAINTS,
        "class_weight": ClassifierMachine._parameter_constraints["class_weight"],
    }
    _machine_class = KernelRidgeClassifier
    _names = (*RidgeSearch._names, "class_weight")

    def __init__(
        self,
        gammas=None,
        Cs=None,
        *,
        n_average=1,
        cv=None,
        scoring=None,
        kernel="rbf",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        class_weight=None,
        cache_size=1000,
        n_jobs=None,
        checkpoint=None,
        device=None,
        verbose=0,
    ):
        self.gammas = gammas
        self.Cs = Cs
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.device = device
        self.verbose = verbose
