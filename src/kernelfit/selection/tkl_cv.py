"""Tessellated kernel learning with its parameters chosen by cross-validation."""

import time
from itertools import product
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from kernelfit.estimators.tkl import TKLClassifier, TKLRegressor
from kernelfit.learners.positive_matrix import SOLVERS
from kernelfit.selection.grid import summary
from kernelfit.selection.search import KernelSearch, not_negative, positive
from kernelfit.utils.progress import show_progress
from kernelfit.utils.threads import threads_for

_CS, _DELTAS, _EPSILONS = (0.1, 1.0, 10.0, 100.0), (0.1, 0.5, 2.0), (0.1,)


class _TKLSearch(KernelSearch):
    """What the two estimators share: the search."""

    _parameter_constraints: ClassVar[dict] = {
        **KernelSearch._parameter_constraints,
        "Cs": ["array-like", None],
        "deltas": ["array-like", None],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "basis": [StrOptions({"x", "xz"})],
        "normalize": ["boolean"],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "search_tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
    }

    def _search(self, X, y, weight, splits, scorer):
        grid = self._grid()
        Cs, others = np.sort(grid["C"]), [name for name in grid if name != "C"]
        settings = [
            dict(zip(others, values, strict=True))
            for values in product(*(grid[name].tolist() for name in others))
        ]
        paths = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._path)(X, y, weight, *split, setting, Cs, scorer)
            for split in splits
            for setting in settings
        )
        table = _tabulate(paths, Cs, settings, len(splits))
        return table, sum(path[3] for path in paths)

    def _path(self, X, y, weight, train, test, setting, Cs, score):
        """Return the scores of all costs, the seconds of training and of scoring, and the misses.

        These are the solutions that missed the tolerance.
        The solution for one cost is feasible for the next and starts it, kernel included.
        """
        began = time.perf_counter()
        start, machines = None, []
        for C in Cs:
            machine = self._machine(tol=self.search_tol, C=C, **setting)
            with threads_for(len(train)):
                start = machine._fit(X[train], y[train], weight[train], start)
            machines.append(machine)
        trained = time.perf_counter()
        predictions = np.stack([machine.predict(X[test]) for machine in machines], axis=1)
        scores = score(predictions, lambda: machines, test)
        scored = time.perf_counter()
        if self.verbose:
            show_progress().info(
                "%s: %d costs in %.2f s, best score %.4g",
                setting, len(Cs), scored - began, scores.max(),
            )  # fmt: skip
        missed = sum(int(np.count_nonzero(~np.array(m.converged_))) for m in machines)
        return scores, trained - began, scored - trained, missed

    def _grid(self):
        return {
            "C": positive(_CS if self.Cs is None else self.Cs, "Cs"),
            "delta": not_negative(_DELTAS if self.deltas is None else self.deltas, "deltas"),
        }

    def _common(self):
        names = (
            "degree",
            "basis",
            "normalize",
            "fit_intercept",
            "solver",
            "tol",
            "max_iter",
            "cache_size",
        )
        return {name: getattr(self, name) for name in names}


def _tabulate(paths, Cs, settings, n_splits):
    """Return the scores as scikit-learn's ``cv_results_``, by setting and then by cost."""
    scores = np.array([path[0] for path in paths]).reshape(n_splits, -1).T
    params = [{"C": float(C), **setting} for setting in settings for C in Cs]
    results = {}
    for name, seconds in (("fit_time", 1), ("score_time", 2)):
        times = np.array([path[seconds] / len(Cs) for path in paths]).reshape(n_splits, -1)
        results[f"mean_{name}"] = np.repeat(times.mean(axis=0), len(Cs))
        results[f"std_{name}"] = np.repeat(times.std(axis=0), len(Cs))
    for name in params[0]:
        results[f"param_{name}"] = np.ma.MaskedArray([p[name] for p in params], mask=False)
    return {**results, "params": params, **summary(scores)}


class TKLClassifierCV(ClassifierMixin, _TKLSearch):
    r"""`TKLClassifier` with C and delta chosen by cross-validation.

    .. math::

        (\hat C, \hat\delta) = \arg\max_{C, \delta}\;
        \frac1k \sum_{j=1}^k \mathrm{score}_j(C, \delta)

    Each of the k folds is scored by a machine trained on the rest of the data. Machines for growing
    C start from each other, kernel and dual solution.

    Parameters
    ----------
    Cs : array-like, default=None
        Values of C to try; None means 0.1, 1, 10, 100.
    deltas : array-like, default=None
        Values of delta to try; None means 0.1, 0.5, 2.
    n_average : int, default=1
        Largest number of machines whose decision values are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with a single split, those whose scores equal its. With several classes the decision
        values of the binary problems are averaged. Where the folds cannot tell machines apart,
        their mean predicts better than the first of them more often than not.
    cv : int, splitter or iterable of (train, test), default=2
        The folds, as in scikit-learn.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None means accuracy. Sample weights count in either.
    degree : int, default=1
        See `TKLClassifier`.
    basis : {"x", "xz"}, default="x"
        See `TKLClassifier`.
    normalize : bool, default=True
        See `TKLClassifier`.
    fit_intercept : bool, default=True
        See `TKLClassifier`.
    kernel_sharing : {"separate", "joint"}, default="separate"
        See `TKLClassifier`.
    class_weight : dict or "balanced", default=None
        Factors of C by class; "balanced" refers to the training part of a fold.
    solver : {"auto", "frank_wolfe", "fully_corrective", "apd", "hybrid"}, default="auto"
        See `TKLClassifier`.
    tol : float, default=1e-3
        The relative gap to reach in the final training.
    search_tol : float, default=1e-2
        The relative gap to reach in the search.
    max_iter : int, default=1000
        Largest number of iterations for one kernel.
    cache_size : float, default=1000
        Memory in MB for the kernel matrix of one job.
    n_jobs : int, default=None
        Number of paths worked on at a time, in threads unless a joblib backend is configured.
    verbose : int, default=0
        1 reports every path through the logger ``kernelfit``.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters; the first candidate of the best mean score.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its position in `cv_results_`.
    best_estimator_ : TKLClassifier
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of TKLClassifier
        The machines that are averaged, the best first.
    cv_results_ : dict of ndarrays
        As in scikit-learn's GridSearchCV. The times of a candidate are equal shares of the time
        of its path.
    n_splits_ : int
        Number of folds.
    n_iter_ : int or ndarray of shape (n_kernels,)
        Iterations of the best estimator's training.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    TKLClassifier : The machine with given parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import TKLClassifierCV
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    >>> search = TKLClassifierCV().fit(X, y)
    >>> sorted(search.best_params_)
    ['C', 'delta']
    >>> search.predict([[0.2, 0.2], [0.2, 0.8]])
    array([False,  True])
    """

    _parameter_constraints: ClassVar[dict] = {
        **_TKLSearch._parameter_constraints,
        "kernel_sharing": [StrOptions({"separate", "joint"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        Cs=None,
        deltas=None,
        *,
        n_average=1,
        cv=2,
        scoring=None,
        degree=1,
        basis="x",
        normalize=True,
        fit_intercept=True,
        kernel_sharing="separate",
        class_weight=None,
        solver="auto",
        tol=1e-3,
        search_tol=1e-2,
        max_iter=1000,
        cache_size=1000,
        n_jobs=None,
        verbose=0,
    ):
        self.Cs = Cs
        self.deltas = deltas
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.degree = degree
        self.basis = basis
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.kernel_sharing = kernel_sharing
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.search_tol = search_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.verbose = verbose

    def decision_function(self, X):
        """Return the mean decision values of the chosen machines.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            See `TKLClassifier.decision_function`.
        """
        values = self._mean_values(X)
        return self.best_estimator_._shape(values)

    def _machine(self, **params):
        return TKLClassifier(
            kernel_sharing=self.kernel_sharing,
            class_weight=self.class_weight,
            **{**self._common(), **params},
        )


class TKLRegressorCV(RegressorMixin, _TKLSearch):
    r"""`TKLRegressor` with C, delta and epsilon chosen by cross-validation.

    .. math::

        (\hat C, \hat\delta, \hat\epsilon) = \arg\max_{C, \delta, \epsilon}\;
        \frac1k \sum_{j=1}^k \mathrm{score}_j(C, \delta, \epsilon)

    Each of the k folds is scored by a machine trained on the rest of the data. Machines for growing
    C start from each other, kernel and dual solution.

    Parameters
    ----------
    Cs : array-like, default=None
        Values of C to try; None means 0.1, 1, 10, 100.
    deltas : array-like, default=None
        Values of delta to try; None means 0.1, 0.5, 2.
    epsilons : array-like, default=None
        Values of epsilon to try; None means 0.1.
    n_average : int, default=1
        Largest number of machines whose decision values are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with a single split, those whose scores equal its. Where the folds cannot tell
        machines apart, their mean predicts better than the first of them more often than not.
    cv : int, splitter or iterable of (train, test), default=2
        The folds, as in scikit-learn.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None means R^2. Sample weights count in either.
    degree : int, default=1
        See `TKLRegressor`.
    basis : {"x", "xz"}, default="x"
        See `TKLRegressor`.
    normalize : bool, default=True
        See `TKLRegressor`.
    fit_intercept : bool, default=True
        See `TKLRegressor`.
    solver : {"auto", "frank_wolfe", "fully_corrective", "apd", "hybrid"}, default="auto"
        See `TKLRegressor`.
    tol : float, default=1e-3
        The relative gap to reach in the final training.
    search_tol : float, default=1e-2
        The relative gap to reach in the search.
    max_iter : int, default=1000
        Largest number of iterations for one kernel.
    cache_size : float, default=1000
        Memory in MB for the kernel matrix of one job.
    n_jobs : int, default=None
        Number of paths worked on at a time, in threads unless a joblib backend is configured.
    verbose : int, default=0
        1 reports every path through the logger ``kernelfit``.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters; the first candidate of the best mean score.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its position in `cv_results_`.
    best_estimator_ : TKLRegressor
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of TKLRegressor
        The machines that are averaged, the best first.
    cv_results_ : dict of ndarrays
        As in scikit-learn's GridSearchCV. The times of a candidate are equal shares of the time
        of its path.
    n_splits_ : int
        Number of folds.
    n_iter_ : int
        Iterations of the best estimator's training.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    TKLRegressor : The machine with given parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import TKLRegressorCV
    >>> X = np.random.default_rng(0).uniform(size=(100, 1))
    >>> y = np.where(X[:, 0] < 0.5, 0.0, 1.0)
    >>> search = TKLRegressorCV(epsilons=[0.01, 0.1]).fit(X, y)
    >>> sorted(search.best_params_)
    ['C', 'delta', 'epsilon']
    >>> abs(search.predict([[0.2], [0.8]])).round(1)
    array([0., 1.])
    """

    _parameter_constraints: ClassVar[dict] = {
        **_TKLSearch._parameter_constraints,
        "epsilons": ["array-like", None],
    }

    def __init__(
        self,
        Cs=None,
        deltas=None,
        epsilons=None,
        *,
        n_average=1,
        cv=2,
        scoring=None,
        degree=1,
        basis="x",
        normalize=True,
        fit_intercept=True,
        solver="auto",
        tol=1e-3,
        search_tol=1e-2,
        max_iter=1000,
        cache_size=1000,
        n_jobs=None,
        verbose=0,
    ):
        self.Cs = Cs
        self.deltas = deltas
        self.epsilons = epsilons
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.degree = degree
        self.basis = basis
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.search_tol = search_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _machine(self, **params):
        return TKLRegressor(**{**self._common(), **params})

    def _grid(self):
        epsilons = _EPSILONS if self.epsilons is None else self.epsilons
        return {**super()._grid(), "epsilon": not_negative(epsilons, "epsilons")}
