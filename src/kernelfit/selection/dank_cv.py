"""DANK with kernel width, cost and penalty chosen by cross-validation."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval

from kernelfit.estimators.adaptive import parse_eta, repeated_rows
from kernelfit.estimators.dank import DANKClassifier, DANKRegressor
from kernelfit.learners.dank_path import solve_dank_path
from kernelfit.selection.search import difference
from kernelfit.selection.svm_cv import KernelMachineCV, KernelSVCCV, KernelSVRCV

_MULTIPLES = (np.inf, 1.0, 0.1)


class _DANKSearch(KernelMachineCV):
    """The part of the search that concerns eta."""

    _path = staticmethod(solve_dank_path)
    etas: Any
    tau: float

    def _etas(self):
        return [np.inf if np.isinf(m) else f"{m:g}*auto" for m in self._multiples()]

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
            best.setdefault((params[index].get("gamma"), params[index]["C"]), index)
        return list(best.values())

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
        return np.array(multiples)

    def _fold(self, X, y, weight, train):
        cost_weight, problems, options, interpret = super()._fold(X, y, weight, train)
        options = {**options, "etas": self._multiples(), "tau": self.tau}
        options["by_row"] = {"groups": repeated_rows(X[train], y[train])}
        return cost_weight, problems, options, interpret


class DANKClassifierCV(_DANKSearch, KernelSVCCV):
    r"""DANK classification with gamma, C and eta chosen by cross-validation.

    .. math::

        (\hat\gamma, \hat C, \hat\eta) = \arg\max_{\gamma, C, \eta}\;
        \frac1k \sum_{j=1}^k \mathrm{score}_j(\gamma, C, \eta)

    The grid contains the plain machine if `etas` contains infinity, as by default. The others are
    then chosen only where the best of them scores better by more than two standard errors of the
    difference over the folds. New points are predicted with the neutral factor, in the folds and
    afterwards. Distances are computed once, and every machine starts from the plain one of its C,
    which starts from that of the C before.

    Parameters
    ----------
    gammas : array-like, default=None
        Values of gamma to try. None means ``1 / (2 sigma^2)`` for sigma = 2^5 .. 2^-5, which suits
        features scaled to [0, 1]. Among equal scores the first C counts, then the first gamma.
    Cs : array-like, default=None
        Values of C to try; None means 2^-5 .. 2^5.
    etas : array-like, default=None
        Values of eta to try, as multiples of the squared norm of the plain machine's coefficients,
        numbers or, as in `best_params_`, strings like "0.1*auto"; infinity is the plain machine,
        with tau > 0 that of a somewhat smaller kernel (see `DANKClassifier`). None means infinity,
        1 and 0.1.
    tau : float, default=0.0
        Weight of the nuclear norm relative to eta. A positive one makes the search much slower.
    n_average : int, default=1
        Largest number of machines whose decision values are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with a single split, those whose scores equal its. The plain machines alone are
        averaged unless one with a factor is clearly better, as above; machines that differ in eta
        alone count once, with the best eta. With several classes the decision values of the binary
        problems are averaged. Where the folds cannot tell machines apart, their mean predicts
        better than the first of them more often than not.
    cv : int, splitter or iterable of (train, test), default=None
        The folds, as in scikit-learn: None means 5, stratified.
    scoring : str or callable, default=None
        A scorer of scikit-learn that needs no more than `predict` and `decision_function`; None
        means accuracy. Sample weights count in either.
    kernel : {"linear", "poly", "rbf", "laplacian", "precomputed"} or callable, default="rbf"
        The kernel. With "linear", "precomputed" or a callable only C is chosen.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=0.0
        Of the polynomial kernel.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept.
    multi_class : {"ovo", "ovr"}, default="ovo"
        How more than two classes are divided into problems; see `KernelSVC`.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        See `KernelSVC`.
    break_ties : bool, default=False
        See `KernelSVC`.
    class_weight : dict or "balanced", default=None
        Factors of C by class; "balanced" refers to the training part of a fold.
    tol : float, default=1e-4
        The duality gap to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of rounds in one problem.
    cache_size : float, default=1000
        Memory in MB for the distances and the kernel matrix of one job. Where they need more, the
        rows of kernel matrices are computed on demand.
    n_jobs : int, default=None
        Number of folds worked on at a time; threads unless a joblib backend is configured.
    verbose : int, default=0
        1 reports every fold through the logger ``kernelfit``.

    Attributes
    ----------
    best_params_ : dict
        The chosen C, gamma and eta.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its position in `cv_results_`.
    best_estimator_ : DANKClassifier
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of DANKClassifier
        The machines that are averaged, the best first.
    cv_results_ : dict of ndarrays
        As in scikit-learn's GridSearchCV. The times of a candidate are equal shares of the time
        of its path.
    n_splits_ : int
        Number of folds.
    n_iter_ : int or ndarray of shape (n_problems,)
        Rounds of the best estimator's training.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    DANKClassifier : The machine with given parameters.
    KernelSVCCV : The search for the plain machine.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from kernelfit import DANKClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = DANKClassifierCV(gammas=[0.1, 1.0], Cs=[1.0, 10.0]).fit(minmax_scale(X), y)
    >>> sorted(search.best_params_)
    ['C', 'eta', 'gamma']
    >>> search.best_score_ > 0.97
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **KernelSVCCV._parameter_constraints,
        "etas": ["array-like", None],
        "tau": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        gammas=None,
        Cs=None,
        etas=None,
        *,
        tau=0.0,
        n_average=1,
        cv=None,
        scoring=None,
        kernel="rbf",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        multi_class="ovo",
        decision_function_shape="ovr",
        break_ties=False,
        class_weight=None,
        tol=1e-4,
        max_iter=1000,
        cache_size=1000,
        n_jobs=None,
        verbose=0,
    ):
        self.gammas = gammas
        self.Cs = Cs
        self.etas = etas
        self.tau = tau
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _machine(self):
        return DANKClassifier(
            tau=self.tau,
            kernel=self.kernel,
            degree=self.degree,
            coef0=self.coef0,
            fit_intercept=self.fit_intercept,
            multi_class=self.multi_class,
            decision_function_shape=self.decision_function_shape,
            break_ties=self.break_ties,
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            cache_size=self.cache_size,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )


class DANKRegressorCV(_DANKSearch, KernelSVRCV):
    r"""DANK regression with gamma, C and eta chosen by cross-validation.

    .. math::

        (\hat\gamma, \hat C, \hat\eta) = \arg\max_{\gamma, C, \eta}\;
        \frac1k \sum_{j=1}^k \mathrm{score}_j(\gamma, C, \eta)

    The grid contains the plain machine if `etas` contains infinity, as by default. Unlike accuracy,
    R^2 tells machines apart well enough for the best one to be taken as it is. New points are
    predicted with the neutral factor, in the folds and afterwards. Distances are computed once, and
    every machine starts from the plain one of its C, which starts from that of the C before.

    Parameters
    ----------
    gammas : array-like, default=None
        Values of gamma to try. None means ``1 / (2 sigma^2)`` for sigma = 2^5 .. 2^-5, which suits
        features scaled to [0, 1]. Among equal scores the first eta counts, then the first C,
        then the first gamma.
    Cs : array-like, default=None
        Values of C to try; None means 2^-5 .. 2^5.
    etas : array-like, default=None
        Values of eta to try, as multiples of the squared norm of the plain machine's coefficients,
        numbers or, as in `best_params_`, strings like "0.1*auto"; infinity is the plain machine,
        with tau > 0 that of a somewhat smaller kernel (see `DANKRegressor`). None means infinity, 1
        and 0.1.
    tau : float, default=0.0
        Weight of the nuclear norm relative to eta. A positive one makes the search much slower.
    epsilon : float, default=0.1
        Half the width of the tube in which errors cost nothing.
    n_average : int, default=1
        Largest number of machines whose decision values are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with a single split, those whose scores equal its. Machines that differ in eta alone
        count once, with the best eta. Where the folds cannot tell machines apart, their mean
        predicts better than the first of them more often than not.
    cv : int, splitter or iterable of (train, test), default=None
        The folds, as in scikit-learn: None means 5, not shuffled.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None means R^2. Sample weights count in either.
    kernel : {"linear", "poly", "rbf", "laplacian", "precomputed"} or callable, default="rbf"
        The kernel. With "linear", "precomputed" or a callable only C is chosen.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=0.0
        Of the polynomial kernel.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    tol : float, default=1e-4
        The duality gap to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of rounds in one problem.
    cache_size : float, default=1000
        Memory in MB for the distances and the kernel matrix of one job. Where they need more, the
        rows of kernel matrices are computed on demand.
    n_jobs : int, default=None
        Number of folds worked on at a time; threads unless a joblib backend is configured.
    verbose : int, default=0
        1 reports every fold through the logger ``kernelfit``.

    Attributes
    ----------
    best_params_ : dict
        The chosen C, gamma and eta.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its position in `cv_results_`.
    best_estimator_ : DANKRegressor
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of DANKRegressor
        The machines that are averaged, the best first.
    cv_results_ : dict of ndarrays
        As in scikit-learn's GridSearchCV. The times of a candidate are equal shares of the time
        of its path.
    n_splits_ : int
        Number of folds.
    n_iter_ : int
        Rounds of the best estimator's training.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    DANKRegressor : The machine with given parameters.
    KernelSVRCV : The search for the plain machine.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import DANKRegressorCV
    >>> X = np.random.default_rng(0).uniform(size=(60, 1))
    >>> search = DANKRegressorCV([1.0, 10.0], [1.0, 10.0], epsilon=0.01).fit(X, np.sin(6 * X[:, 0]))
    >>> search.best_score_ > 0.99
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **KernelSVRCV._parameter_constraints,
        "etas": ["array-like", None],
        "tau": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        gammas=None,
        Cs=None,
        etas=None,
        *,
        tau=0.0,
        epsilon=0.1,
        n_average=1,
        cv=None,
        scoring=None,
        kernel="rbf",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        tol=1e-4,
        max_iter=1000,
        cache_size=1000,
        n_jobs=None,
        verbose=0,
    ):
        self.gammas = gammas
        self.Cs = Cs
        self.etas = etas
        self.tau = tau
        self.epsilon = epsilon
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _machine(self):
        return DANKRegressor(
            tau=self.tau,
            epsilon=self.epsilon,
            kernel=self.kernel,
            degree=self.degree,
            coef0=self.coef0,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            cache_size=self.cache_size,
            verbose=self.verbose,
        )
