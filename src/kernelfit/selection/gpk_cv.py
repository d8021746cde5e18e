"""GPK with its parameters chosen by cross-validation."""

from typing import ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.gpk import GPKClassifier, GPKRegressor
from kernelfit.selection.positive_matrix_search import PositiveMatrixSearch
from kernelfit.selection.search import REGRESSION
from kernelfit.utils.sklearn_private import HasMethods, StrOptions


class GPKClassifierCV(ClassifierMixin, PositiveMatrixSearch):
    r"""GPK classification with C and degree chosen by cross-validation.

    .. math::

        \hat\lambda = \arg\max_\lambda\; \frac1k \sum_{j=1}^k \mathrm{score}_j(\lambda),
        \qquad \lambda = (C, d)

    Each of the k folds is scored by a machine trained on the rest of the data. Machines for growing
    C start from each other, kernel and dual solution; what does not depend on C is computed once a
    fold. `predict_proba` is calibrated on the folds.

    Parameters
    ----------
    degrees : array-like, default=None
        Degrees of the monomials to try; None means 1, 2, 3. A `feature_map` has none.
    Cs : array-like, default=None
        Values of C to try. None means 0.1, 1, 10, 100.
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
    feature_map : object, default=None
        See `GPKClassifier`.
    normalize : bool, default=True
        See `GPKClassifier`.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    kernel_sharing : {"separate", "joint"}, default="separate"
        See `GPKClassifier`.
    class_weight : dict or "balanced", default=None
        Factors of C by class; "balanced" refers to the training part of a fold.
    solver : {"auto", "frank_wolfe", "fully_corrective", "apd", "hybrid"}, default="auto"
        See `GPKClassifier`.
    tol : float, default=1e-3
        The duality gap to reach in the final training, relative to the objective.
    search_tol : float, default=1e-2
        The relative gap to reach in the folds.
    max_iter : int, default=1000
        Largest number of rounds in one problem.
    cache_size : float, default=1000
        Memory in MB for the kernel matrix of one job. Where they need more, the
        rows of kernel matrices are computed on demand.
    n_jobs : int, default=None
        Number of cells, a kernel on a fold each, worked on at a time: in processes, unless a
        backend of joblib is in force. The result does not depend on it.
    checkpoint : str or path, default=None
        Directory in which finished cells are kept, so that a search that was interrupted goes on
        from there, with the same result.
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
    best_estimator_ : GPKClassifier
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of GPKClassifier
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
    GPKClassifier : The machine with given parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelfit import GPKClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GPKClassifierCV().fit(X, y)
    >>> search.best_score_ > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **PositiveMatrixSearch._parameter_constraints,
        **ClassifierMachine._parameter_constraints,
        "kernel_sharing": [StrOptions({"separate", "joint"})],
        "feature_map": [HasMethods(["size", "features"]), None],
        "degrees": ["array-like", None],
    }
    _machine_class = GPKClassifier
    _names = (*PositiveMatrixSearch._names, "feature_map", "kernel_sharing", "class_weight")

    def __init__(
        self,
        degrees=None,
        Cs=None,
        *,
        n_average=1,
        cv=5,
        scoring=None,
        loss="hinge",
        feature_map=None,
        normalize=True,
        fit_intercept=True,
        kernel_sharing="separate",
        class_weight=None,
        solver="auto",
        tol=0.001,
        search_tol=0.01,
        max_iter=1000,
        cache_size=1000,
        n_jobs=None,
        checkpoint=None,
        verbose=0,
    ):
        self.degrees = degrees
        self.Cs = Cs
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.feature_map = feature_map
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
        self.checkpoint = checkpoint
        self.verbose = verbose


class GPKRegressorCV(RegressorMixin, PositiveMatrixSearch):
    r"""GPK regression with C, degree and epsilon chosen by cross-validation.

    .. math::

        \hat\lambda = \arg\max_\lambda\; \frac1k \sum_{j=1}^k \mathrm{score}_j(\lambda),
        \qquad \lambda = (C, d, \epsilon)

    Each of the k folds is scored by a machine trained on the rest of the data. Machines for growing
    C start from each other, kernel and dual solution; what does not depend on C is computed once a
    fold.

    Parameters
    ----------
    degrees : array-like, default=None
        Degrees of the monomials to try; None means 1, 2, 3. A `feature_map` has none.
    Cs : array-like, default=None
        Values of C to try. None means 0.1, 1, 10, 100 times the standard deviation of the targets.
        Among equal scores the first counts. The best machine at the edge of a default grid extends
        it, in up to three steps.
    epsilons : array-like, default=None
        Values of epsilon to try, half the widths of the tube in which errors cost nothing. None
        means 0.1 times the standard deviation of the targets.
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
    feature_map : object, default=None
        See `GPKRegressor`.
    normalize : bool, default=True
        See `GPKRegressor`.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    solver : {"auto", "frank_wolfe", "fully_corrective", "apd", "hybrid"}, default="auto"
        See `GPKRegressor`.
    tol : float, default=1e-3
        The duality gap to reach in the final training, relative to the objective.
    search_tol : float, default=1e-2
        The relative gap to reach in the folds.
    max_iter : int, default=1000
        Largest number of rounds in one problem.
    cache_size : float, default=1000
        Memory in MB for the kernel matrix of one job. Where they need more, the
        rows of kernel matrices are computed on demand.
    n_jobs : int, default=None
        Number of cells, a kernel on a fold each, worked on at a time: in processes, unless a
        backend of joblib is in force. The result does not depend on it.
    checkpoint : str or path, default=None
        Directory in which finished cells are kept, so that a search that was interrupted goes on
        from there, with the same result.
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
    best_estimator_ : GPKRegressor
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of GPKRegressor
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
    GPKRegressor : The machine with given parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import GPKRegressorCV
    >>> X = np.random.default_rng(0).uniform(size=(100, 1))
    >>> search = GPKRegressorCV().fit(X, X[:, 0] ** 2)
    >>> search.best_params_["degree"]
    2
    """

    _parameter_constraints: ClassVar[dict] = {
        **PositiveMatrixSearch._parameter_constraints,
        **REGRESSION,
        "feature_map": [HasMethods(["size", "features"]), None],
        "degrees": ["array-like", None],
    }
    _machine_class = GPKRegressor
    _names = (*PositiveMatrixSearch._names, "feature_map")

    def __init__(
        self,
        degrees=None,
        Cs=None,
        epsilons=None,
        *,
        n_average=1,
        cv=5,
        scoring=None,
        loss="tube",
        feature_map=None,
        normalize=True,
        fit_intercept=True,
        solver="auto",
        tol=0.001,
        search_tol=0.01,
        max_iter=1000,
        cache_size=1000,
        n_jobs=None,
        checkpoint=None,
        verbose=0,
    ):
        self.degrees = degrees
        self.Cs = Cs
        self.epsilons = epsilons
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.feature_map = feature_map
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.search_tol = search_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
