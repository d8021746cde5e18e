"""TKL with its parameters chosen by cross-validation."""

from typing import ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.standard import DEVICE
from kernelfit.estimators.tkl import TKLClassifier, TKLRegressor
from kernelfit.selection.positive_matrix_search import PositiveMatrixSearch
from kernelfit.selection.search import REGRESSION
from kernelfit.utils.sklearn_private import StrOptions


class TKLClassifierCV(ClassifierMixin, PositiveMatrixSearch):
    r"""TKL classification with C, degree, delta and scaling chosen by cross-validation.

    .. math::

        \hat\lambda = \arg\max_\lambda\; \frac1k \sum_{j=1}^k \mathrm{score}_j(\lambda),
        \qquad \lambda = (C, d, \delta, \text{scaling})

    Each of the k folds is scored by a machine trained on the rest of the data. Machines for growing
    C start from each other, kernel and dual solution; what does not depend on C is computed once a
    fold. `predict_proba` is calibrated on the folds.

    Parameters
    ----------
    deltas : array-like, default=None
        Values of delta to try; None means 0.1, 0.5, 2. With `deltas`, `degrees` and `scalings` all
        None, these are tried with degree 1 and ranges; then, at 0.5, ranks, and of at most 6
        features degree 2 with both, in `basis` "x". Otherwise all combinations are tried.
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
    degrees : array-like, default=None
        Degrees of the monomials to try; None means 1, but see `deltas`.
    scalings : list of {"range", "ranks"}, default=None
        Scalings of the features to try; None means "range", but see `deltas`.
    basis : {"x", "xz"}, default="x"
        See `TKLClassifier`.
    normalize : bool, default=True
        See `TKLClassifier`.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    kernel_sharing : {"separate", "joint"}, default="separate"
        See `TKLClassifier`.
    class_weight : dict or "balanced", default=None
        Factors of C by class; "balanced" refers to the training part of a fold.
    solver : {"auto", "frank_wolfe", "fully_corrective", "apd", "hybrid"}, default="auto"
        See `TKLClassifier`.
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
    device : str, default=None
        See `TKLClassifier`. On a device the cells take turns, whatever `n_jobs`.
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
    best_estimator_ : TKLClassifier
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of TKLClassifier
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
    TKLClassifier : The machine with given parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import TKLClassifierCV
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    >>> search = TKLClassifierCV().fit(X, y)
    >>> sorted(search.best_params_)
    ['C', 'degree', 'delta', 'scaling']
    >>> search.predict([[0.2, 0.2], [0.2, 0.8]])
    array([False,  True])
    """

    _parameter_constraints: ClassVar[dict] = {
        **PositiveMatrixSearch._parameter_constraints,
        **ClassifierMachine._parameter_constraints,
        "kernel_sharing": [StrOptions({"separate", "joint"})],
        "basis": [StrOptions({"x", "xz"})],
        "deltas": ["array-like", None],
        "degrees": ["array-like", None],
        "scalings": [list, tuple, None],
        **DEVICE,
    }
    _machine_class = TKLClassifier
    _names = (
        *PositiveMatrixSearch._names,
        "basis",
        "kernel_sharing",
        "class_weight",
        *DEVICE,
    )

    def __init__(
        self,
        deltas=None,
        Cs=None,
        *,
        n_average=1,
        cv=5,
        scoring=None,
        loss="hinge",
        degrees=None,
        scalings=None,
        basis="x",
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
        device=None,
        verbose=0,
    ):
        self.deltas = deltas
        self.Cs = Cs
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.degrees = degrees
        self.scalings = scalings
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
        self.checkpoint = checkpoint
        self.device = device
        self.verbose = verbose


class TKLRegressorCV(RegressorMixin, PositiveMatrixSearch):
    r"""TKL regression with its parameters chosen by cross-validation.

    .. math::

        \hat\lambda = \arg\max_\lambda\; \frac1k \sum_{j=1}^k \mathrm{score}_j(\lambda),
        \qquad \lambda = (C, d, \delta, \text{scaling}, \epsilon)

    Each of the k folds is scored by a machine trained on the rest of the data. Machines for growing
    C start from each other, kernel and dual solution; what does not depend on C is computed once a
    fold.

    Parameters
    ----------
    deltas : array-like, default=None
        Values of delta to try; None means 0.1, 0.5, 2. With `deltas`, `degrees` and `scalings` all
        None, these are tried with degree 1 and ranges; then, at 0.5, ranks, and of at most 6
        features degree 2 with both, in `basis` "x". Otherwise all combinations are tried.
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
    degrees : array-like, default=None
        Degrees of the monomials to try; None means 1, but see `deltas`.
    scalings : list of {"range", "ranks"}, default=None
        Scalings of the features to try; None means "range", but see `deltas`.
    basis : {"x", "xz"}, default="x"
        See `TKLRegressor`.
    normalize : bool, default=True
        See `TKLRegressor`.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    solver : {"auto", "frank_wolfe", "fully_corrective", "apd", "hybrid"}, default="auto"
        See `TKLRegressor`.
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
    device : str, default=None
        See `TKLRegressor`. On a device the cells take turns, whatever `n_jobs`.
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
    best_estimator_ : TKLRegressor
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of TKLRegressor
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
    TKLRegressor : The machine with given parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import TKLRegressorCV
    >>> X = np.random.default_rng(0).uniform(size=(100, 1))
    >>> y = np.where(X[:, 0] < 0.5, 0.0, 1.0)
    >>> search = TKLRegressorCV(epsilons=[0.01, 0.1]).fit(X, y)
    >>> sorted(search.best_params_)
    ['C', 'degree', 'delta', 'epsilon', 'scaling']
    >>> abs(search.predict([[0.2], [0.8]])).round(1)
    array([0., 1.])
    """

    _parameter_constraints: ClassVar[dict] = {
        **PositiveMatrixSearch._parameter_constraints,
        **REGRESSION,
        "basis": [StrOptions({"x", "xz"})],
        "deltas": ["array-like", None],
        "degrees": ["array-like", None],
        "scalings": [list, tuple, None],
        **DEVICE,
    }
    _machine_class = TKLRegressor
    _names = (*PositiveMatrixSearch._names, "basis", *DEVICE)

    def __init__(
        self,
        deltas=None,
        Cs=None,
        epsilons=None,
        *,
        n_average=1,
        cv=5,
        scoring=None,
        loss="tube",
        degrees=None,
        scalings=None,
        basis="x",
        normalize=True,
        fit_intercept=True,
        solver="auto",
        tol=0.001,
        search_tol=0.01,
        max_iter=1000,
        cache_size=1000,
        n_jobs=None,
        checkpoint=None,
        device=None,
        verbose=0,
    ):
        self.deltas = deltas
        self.Cs = Cs
        self.epsilons = epsilons
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.degrees = degrees
        self.scalings = scalings
        self.basis = basis
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.search_tol = search_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.device = device
        self.verbose = verbose
