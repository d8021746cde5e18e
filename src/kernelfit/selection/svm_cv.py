"""Support vector machines with kernel width and cost chosen by cross-validation."""

from typing import ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.standard import DEVICE
from kernelfit.estimators.svm import MULTICLASS, KernelSVC, KernelSVR
from kernelfit.selection.kernel_search import StandardKernelSearch
from kernelfit.selection.search import REGRESSION


class KernelSVCCV(ClassifierMixin, StandardKernelSearch):
    r"""Support vector classification with gamma and C chosen by cross-validation.

    .. math::

        \hat\lambda = \arg\max_\lambda\; \frac1k \sum_{j=1}^k \mathrm{score}_j(\lambda),
        \qquad \lambda = (\gamma, C)

    Each of the k folds is scored by a machine trained on the rest of the data. The scores are those
    of ``GridSearchCV(SVC())`` on the same folds up to the solvers' tolerances, except where all
    coefficients are at their bounds: the intercept is then free in an interval, of which ours is
    the midpoint. The search takes a fraction of the time, because distances are computed once, the
    solution for one C is where the next C starts, and a path ends once no coefficient is at its
    bound. `predict_proba` is calibrated on the folds.

    Parameters
    ----------
    gammas : array-like, default=None
        Values of gamma to try: numbers, or "scale", which is ``1 / (n_features * X.var())``. None
        means 4^-4 .. 4^3 times "scale", and for the kernels of the distance itself the roots of
        these. Among equal scores the first counts.
    Cs : array-like, default=None
        Values of C to try. None means 4^-3 .. 4^5.
        Among equal scores the first counts. The best machine at the edge of a default grid extends
        it, in up to three steps.
    n_average : int, default=1
        Largest number of machines whose decision values are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with a single split, those whose scores equal its. Where the folds cannot tell
        machines apart, their mean predicts better than the first of them more often than not.
    cv : int, splitter or iterable of (train, test), default=5
        The folds, as in scikit-learn: of a number of them, stratified.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None means accuracy. Sample weights count in either.
    loss : {"hinge", "squared_hinge", "squared"}, default="hinge"
        See `KernelSVC`.
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
    multi_class : {"ovo", "ovr"}, default="ovo"
        See `KernelSVC`.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        See `KernelSVC`.
    break_ties : bool, default=False
        See `KernelSVC`.
    class_weight : dict or "balanced", default=None
        Factors of C by class; "balanced" refers to the training part of a fold.
    tol : float, default=1e-6
        The duality gap to reach in the final training, relative to the objective.
    search_tol : float, default=1e-4
        The relative gap to reach in the folds.
    max_iter : int, default=1000
        Largest number of rounds in one problem.
    cache_size : float or "auto", default="auto"
        Memory in MB for the distances and the kernel matrix of one job; "auto" is a sixteenth of
        the memory that is available. Where they need more, the rows of kernel matrices are
        computed on demand.
    n_jobs : int, default=None
        Number of cells, a kernel on a fold each, worked on at a time: in processes, unless a
        backend of joblib is in force. The result does not depend on it.
    checkpoint : str or path, default=None
        Directory in which finished cells are kept, so that a search that was interrupted goes on
        from there, with the same result.
    device : str, default=None
        See `KernelSVC`. On a device the cells take turns, whatever `n_jobs`.
    verbose : int, default=0
        1 reports every fold through the logger ``kernelfit``.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters; the first candidate of the best mean score.
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
    n_iter_ : int or ndarray
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
    >>> from sklearn.preprocessing import scale
    >>> from kernelfit import KernelSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = KernelSVCCV().fit(scale(X), y)
    >>> search.best_score_ > 0.97
    True
    >>> search.best_estimator_.converged_
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **StandardKernelSearch._parameter_constraints,
        "cache_size": KernelSVC._parameter_constraints["cache_size"],
        **ClassifierMachine._parameter_constraints,
        **MULTICLASS,
        **DEVICE,
    }
    _machine_class = KernelSVC
    _names = (*StandardKernelSearch._names, *MULTICLASS, "class_weight", *DEVICE)

    def __init__(
        self,
        gammas=None,
        Cs=None,
        *,
        n_average=1,
        cv=5,
        scoring=None,
        loss="hinge",
        kernel="rbf",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        multi_class="ovo",
        decision_function_shape="ovr",
        break_ties=False,
        class_weight=None,
        tol=1e-06,
        search_tol=0.0001,
        max_iter=1000,
        cache_size="auto",
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
        self.loss = loss
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.class_weight = class_weight
        self.tol = tol
        self.search_tol = search_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.device = device
        self.verbose = verbose


class KernelSVRCV(RegressorMixin, StandardKernelSearch):
    r"""Support vector regression with gamma, C and epsilon chosen by cross-validation.

    .. math::

        \hat\lambda = \arg\max_\lambda\; \frac1k \sum_{j=1}^k \mathrm{score}_j(\lambda),
        \qquad \lambda = (\gamma, C, \epsilon)

    Each of the k folds is scored by a machine trained on the rest of the data. The scores are those
    of ``GridSearchCV(SVR())`` on the same folds up to the solvers' tolerances; see `KernelSVCCV`
    for what makes the search fast.

    Parameters
    ----------
    gammas : array-like, default=None
        Values of gamma to try: numbers, or "scale", which is ``1 / (n_features * X.var())``. None
        means 4^-4 .. 4^3 times "scale", and for the kernels of the distance itself the roots of
        these. Among equal scores the first counts.
    Cs : array-like, default=None
        Values of C to try. None means 4^-3 .. 4^5, times the standard deviation of the targets
        where the loss is not squared. Among equal scores the first counts. The best machine at the
        edge of a default grid extends it, in up to three steps.
    epsilons : array-like, default=None
        Values of epsilon to try, half the widths of the tube in which errors cost nothing. None
        means 0.1 and 0.01 times the standard deviation of the targets. Not for ``loss="squared"``.
    n_average : int, default=1
        Largest number of machines whose decision values are averaged: the best one, and those whose
        scores fall short of its by no more than one standard error of the difference over the
        folds; with a single split, those whose scores equal its. Where the folds cannot tell
        machines apart, their mean predicts better than the first of them more often than not.
    cv : int, splitter or iterable of (train, test), default=5
        The folds, as in scikit-learn: of a number of them, not shuffled.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None means R^2. Sample weights count in either.
    loss : {"tube", "squared_tube", "squared"}, default="tube"
        See `KernelSVR`.
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
    tol : float, default=1e-6
        The duality gap to reach in the final training, relative to the objective.
    search_tol : float, default=1e-4
        The relative gap to reach in the folds.
    max_iter : int, default=1000
        Largest number of rounds in one problem.
    cache_size : float or "auto", default="auto"
        Memory in MB for the distances and the kernel matrix of one job; "auto" is a sixteenth of
        the memory that is available. Where they need more, the rows of kernel matrices are
        computed on demand.
    n_jobs : int, default=None
        Number of cells, a kernel on a fold each, worked on at a time: in processes, unless a
        backend of joblib is in force. The result does not depend on it.
    checkpoint : str or path, default=None
        Directory in which finished cells are kept, so that a search that was interrupted goes on
        from there, with the same result.
    device : str, default=None
        See `KernelSVR`. On a device the cells take turns, whatever `n_jobs`.
    verbose : int, default=0
        1 reports every fold through the logger ``kernelfit``.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters; the first candidate of the best mean score.
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
    n_iter_ : int or ndarray
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
    >>> search = KernelSVRCV().fit(X, np.sin(6 * X[:, 0]))
    >>> search.best_score_ > 0.99
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **StandardKernelSearch._parameter_constraints,
        "cache_size": KernelSVC._parameter_constraints["cache_size"],
        **REGRESSION,
        **DEVICE,
    }
    _machine_class = KernelSVR
    _names = (*StandardKernelSearch._names, *DEVICE)

    def __init__(
        self,
        gammas=None,
        Cs=None,
        epsilons=None,
        *,
        n_average=1,
        cv=5,
        scoring=None,
        loss="tube",
        kernel="rbf",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        tol=1e-06,
        search_tol=0.0001,
        max_iter=1000,
        cache_size="auto",
        n_jobs=None,
        checkpoint=None,
        device=None,
        verbose=0,
    ):
        self.gammas = gammas
        self.Cs = Cs
        self.epsilons = epsilons
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.search_tol = search_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.device = device
        self.verbose = verbose
