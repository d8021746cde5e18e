"""Support vector machines whose kernel width and cost are chosen by cross-validation."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from kernelfit.estimators.svm import KernelSVC, KernelSVR
from kernelfit.kernels.standard import Linear, kernel_from_name
from kernelfit.learners.svm import Problem, decompose
from kernelfit.learners.svm_path import solve_path
from kernelfit.selection.grid import Geometry, score_fold, tabulate
from kernelfit.selection.scoring import ReplayClassifier, ReplayRegressor
from kernelfit.selection.search import KernelSearch, positive
from kernelfit.solvers.gram import DenseGram
from kernelfit.solvers.pair_steps import pair_steps
from kernelfit.utils.progress import announce_compilation, show_progress
from kernelfit.utils.threads import threads_for
from kernelfit.utils.validation import CheckedKernel, check_kernel_matrix

_POWERS = 2.0 ** np.arange(-5, 6)  # the papers' grid, for C and for sigma
# From wide to narrow: among equal scores the first counts, which is then the smoothest machine.
_GAMMAS = 0.5 / _POWERS[::-1] ** 2


class KernelMachineCV(KernelSearch):
    """What the two estimators share: the search. A subclass says how a fold is trained."""

    _parameter_constraints: ClassVar[dict] = {
        **KernelSearch._parameter_constraints,
        "gammas": ["array-like", None],
        "Cs": ["array-like", None],
        "kernel": [
            StrOptions({"linear", "poly", "rbf", "laplacian", "precomputed"}),
            callable,
        ],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
    }

    _path: Any = staticmethod(solve_path)

    def _etas(self):
        """Return the values of eta to try; none for machines without it."""
        return ()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        machine = self._machine().__sklearn_tags__()
        tags.input_tags.pairwise = machine.input_tags.pairwise
        tags.input_tags.sparse = machine.input_tags.sparse
        return tags

    def _mean_values(self, X):
        check_is_fitted(self)
        self.best_estimator_._check_test_data(X, owner=self)  # complains in the search's name
        return super()._mean_values(X)

    def _search(self, X, y, weight, splits, scorer):
        kernels, gammas = self._kernels()
        Cs = positive(_POWERS if self.Cs is None else self.Cs, "Cs")
        etas = self._etas()
        order = np.argsort(Cs, kind="stable")
        data = self._geometry(X, kernels[0]), kernels, Cs[order], y, weight, scorer
        if self.verbose:
            announce_compilation(pair_steps)
        folds = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._score_fold)(k + 1, len(splits), train, test, *data)
            for k, (train, test) in enumerate(splits)
        )
        table = tabulate(folds, gammas, Cs, order, etas)
        return table, sum(fold.n_unconverged for fold in folds)

    def _score_fold(self, number, n_splits, train, test, geometry, kernels, Cs, y, weight, scorer):
        cost_weight, problems, options, interpret = self._fold(geometry.X, y, weight, train)
        with threads_for(len(train)):
            fold = score_fold(
                geometry,
                kernels,
                Cs,
                train,
                test,
                cost_weight,
                problems,
                lambda values: scorer(*interpret(values), test),
                path=self._path,
                fit_intercept=self.fit_intercept,
                tol=self.tol,
                max_iter=self.max_iter,
                **options,
            )
        if self.verbose:
            show_progress().info(
                "fold %d/%d: %d candidates in %.2f s, best score %.4g",
                number, n_splits, fold.scores.size,
                (fold.fit_time + fold.score_time).sum(), np.nanmax(fold.scores),
            )  # fmt: skip
        return fold

    def _kernels(self):
        """Return the kernels of the grid (None: a given matrix) and their gammas if they vary."""
        fixed = callable(self.kernel) or self.kernel in ("linear", "precomputed")
        if fixed and self.gammas is not None:
            raise ValueError(f"expected gammas=None for kernel={self.kernel!r}, which has no gamma")
        if fixed:
            return [Linear() if self.kernel == "linear" else None], None
        gammas = positive(_GAMMAS if self.gammas is None else self.gammas, "gammas")
        options = {"degree": self.degree, "coef0": self.coef0}
        return [kernel_from_name(self.kernel, gamma=gamma, **options) for gamma in gammas], gammas

    def _geometry(self, X, kernel):
        cache_bytes = self.cache_size * 2**20
        if kernel is None:
            name = "the precomputed kernel matrix"
            if callable(self.kernel):
                name = "the matrix returned by the kernel"
                X = CheckedKernel(self.kernel)(X, X)
            matrix = DenseGram(X).matrix
            check_kernel_matrix(matrix, name)
            return Geometry(X, matrix, cache_bytes)
        # The geometry, and a Gram matrix of about the same size in every job.
        fits = 2 * 8 * X.shape[0] ** 2 <= cache_bytes
        return Geometry(X, kernel.geometry(X) if fits else None, cache_bytes)


class KernelSVCCV(ClassifierMixin, KernelMachineCV):
    r"""Support vector classification with gamma and C chosen by cross-validation.

    .. math::

        (\hat\gamma, \hat C) = \arg\max_{\gamma, C}\;
        \frac1k \sum_{j=1}^k \mathrm{score}_j(\gamma, C)

    Each of the k folds is scored by a machine trained on the rest of the data. The scores are those
    of ``GridSearchCV(SVC())`` on the same folds up to the solvers' tolerances, except where all
    coefficients are at their bounds: the intercept is then free in an interval, of which ours is
    the midpoint. The search takes a fraction of the time, because distances are computed once, the
    solution for one C is where the next C starts, and a path ends once no coefficient is at its
    bound.

    Parameters
    ----------
    gammas : array-like, default=None
        Values of gamma to try. None means ``1 / (2 sigma^2)`` for sigma = 2^5 .. 2^-5, which suits
        features scaled to [0, 1]. Among equal scores the first C counts, then the first gamma.
    Cs : array-like, default=None
        Values of C to try; None means 2^-5 .. 2^5.
    n_average : int, default=1
        Largest number of machines whose decision values are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with a single split, those whose scores equal its. With several classes the decision
        values of the binary problems are averaged. Where the folds cannot tell machines apart,
        their mean predicts better than the first of them more often than not.
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
        The chosen C and gamma; the first candidate of the best mean score.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its position in `cv_results_`.
    best_estimator_ : KernelSVC
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of KernelSVC
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
    KernelSVC : The machine with given parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from kernelfit import KernelSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = KernelSVCCV().fit(minmax_scale(X), y)
    >>> search.best_params_
    {'C': 8.0, 'gamma': 0.5}
    >>> search.best_estimator_.converged_
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **KernelMachineCV._parameter_constraints,
        "multi_class": [StrOptions({"ovo", "ovr"})],
        "decision_function_shape": [StrOptions({"ovo", "ovr"})],
        "break_ties": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

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

    def decision_function(self, X):
        """Return the mean decision values of the chosen machines.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_problems)
            See `KernelSVC.decision_function`.
        """
        values = self._mean_values(X)
        return self.best_estimator_._shape(values)

    def _machine(self):
        return KernelSVC(
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

    def _fold(self, X, y, weight, train):
        machine = self._machine()
        labels, factors = machine._encode(y[train], weight[train])
        machine._scheme = self.multi_class
        n_classes, one_vs_one = len(machine.classes_), self.multi_class == "ovo"
        problems = list(decompose(labels, n_classes, one_vs_one))

        def interpret(values):
            predictions = machine.classes_[machine._choose(values)]

            def replays():
                for k in range(values.shape[1]):
                    shown = machine._shape(values[:, k])
                    yield ReplayClassifier(machine.classes_, predictions[:, k], shown)

            return predictions, replays

        return weight[train] * factors[labels], problems, {}, interpret


class KernelSVRCV(RegressorMixin, KernelMachineCV):
    r"""Support vector regression with gamma and C chosen by cross-validation.

    .. math::

        (\hat\gamma, \hat C) = \arg\max_{\gamma, C}\;
        \frac1k \sum_{j=1}^k \mathrm{score}_j(\gamma, C)

    Each of the k folds is scored by a machine trained on the rest of the data. The scores are those
    of ``GridSearchCV(SVR())`` on the same folds up to the solvers' tolerances; see `KernelSVCCV`
    for what makes the search fast.

    Parameters
    ----------
    gammas : array-like, default=None
        Values of gamma to try. None means ``1 / (2 sigma^2)`` for sigma = 2^5 .. 2^-5, which suits
        features scaled to [0, 1]. Among equal scores the first C counts, then the first gamma.
    Cs : array-like, default=None
        Values of C to try; None means 2^-5 .. 2^5.
    epsilon : float, default=0.1
        Half the width of the tube in which errors cost nothing.
    n_average : int, default=1
        Largest number of machines whose decision values are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with a single split, those whose scores equal its. Where the folds cannot tell
        machines apart, their mean predicts better than the first of them more often than not.
    cv : int, splitter or iterable of (train, test), default=None
        The folds, as in scikit-learn: None means 5, not shuffled.
    scoring : str or callable, default=None
        A scorer of scikit-learn that needs no more than `predict`; None means R^2. Sample weights
        count in either.
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
        The chosen C and gamma; the first candidate of the best mean score.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its position in `cv_results_`.
    best_estimator_ : KernelSVR
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of KernelSVR
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
    KernelSVR : The machine with given parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelSVRCV
    >>> X = np.random.default_rng(0).uniform(size=(60, 1))
    >>> search = KernelSVRCV(epsilon=0.01).fit(X, np.sin(6 * X[:, 0]))
    >>> round(search.best_score_, 3)
    1.0
    """

    _parameter_constraints: ClassVar[dict] = {
        **KernelMachineCV._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        gammas=None,
        Cs=None,
        *,
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
        return KernelSVR(
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

    def _fold(self, X, y, weight, train):
        problems = [Problem(0, slice(None), 0, np.asarray(y[train], dtype=np.float64))]

        def interpret(values):
            predictions = values[:, :, 0]
            return predictions, lambda: map(ReplayRegressor, predictions.T)

        return weight[train], problems, {"epsilon": self.epsilon}, interpret
