"""MKL with its parameters chosen by cross-validation."""

from typing import ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.mkl import MKLClassifier, MKLRegressor
from kernelfit.estimators.multiple import MultipleKernelMachine
from kernelfit.selection.folds import Common
from kernelfit.selection.search import REGRESSION, KernelSearch
from kernelfit.selection.values import positive

_PS = (1.0, 4.0 / 3.0, 2.0, 4.0)


class MultipleKernelSearch(KernelSearch):
    """Base of the searches over C and, for the combination "lp", p, and in regression epsilon."""

    _parameter_constraints: ClassVar[dict] = {
        **KernelSearch._parameter_constraints,
        **{
            name: MultipleKernelMachine._parameter_constraints[name]
            for name in ("kernels", "combination", "normalize")
        },
        "ps": ["array-like", None],
    }
    _names: tuple[str, ...] = (
        "loss",
        "kernels",
        "combination",
        "normalize",
        "fit_intercept",
        "tol",
        "max_iter",
        "cache_size",
    )

    def _kernel_params(self, X, weight):
        """Return the parameters of the families of the grid."""
        if self.combination != "lp":
            if self.ps is not None:
                raise ValueError(
                    f"expected ps=None for combination={self.combination!r}, which has no p"
                )
            return [{}]
        ps = positive(_PS if self.ps is None else self.ps, "ps")
        if min(ps) < 1.0:
            raise ValueError(f"expected ps to be at least 1, got {min(ps)}")
        return [{"p": p} for p in ps]

    def _common(self, X):
        """Return the given matrices; kernels of a bank share nothing."""
        return Common(matrix=X if X.ndim == 3 else None)


class MKLClassifierCV(ClassifierMixin, MultipleKernelSearch):
    r"""MKL classification with C chosen by cross-validation, and p where it counts.

    .. math::

        \hat\lambda = \arg\max_\lambda\; \frac1k \sum_{j=1}^k \mathrm{score}_j(\lambda),
        \qquad \lambda = (C)

    Each of the k folds is scored by a machine trained on the rest of the data, bank included.
    Machines for growing C start from each other, weights and dual solution. `predict_proba` is
    calibrated on the folds.

    Parameters
    ----------
    Cs : array-like, default=None
        Values of C to try. None means 0.1, 1, 10, 100.
        Among equal scores the first counts. The best machine at the edge of a default grid extends
        it, in up to three steps.
    ps : array-like, default=None
        Values of p to try for "lp"; None means 1, 4/3, 2 and 4.
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
        See `MKLClassifier`.
    kernels : list, "precomputed" or None, default=None
        The bank; see `MKLClassifier`.
    combination : str, default="simple"
        How the weights are found; see `MKLClassifier`.
    lam : float, default=0.1
        See `MKLClassifier`.
    delta : float, default=0.0
        See `MKLClassifier`.
    n_layers : {1, 2, 3}, default=2
        Number of layers of kernels, for "deep".
    normalize : bool, default=True
        See `MKLClassifier`.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    kernel_sharing : {"joint", "separate"}, default="joint"
        See `MKLClassifier`.
    class_weight : dict or "balanced", default=None
        Factors of C by class; "balanced" refers to the training part of a fold.
    tol : float, default=1e-3
        The duality gap to reach in the final training, relative to the objective.
    search_tol : float, default=1e-2
        The relative gap to reach in the folds.
    max_iter : int, default=1000
        Largest number of rounds in one problem.
    cache_size : float, default=1000
        Memory in MB for the kernel matrices of one job; see `MKLClassifier`.
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
    best_estimator_ : MKLClassifier
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of MKLClassifier
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
    MKLClassifier : The machine with given parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import MKLClassifierCV
    >>> X = np.random.default_rng(0).standard_normal((120, 3))
    >>> y = X[:, 0] ** 2 + X[:, 1] > 1
    >>> bank = [{"kernel": "rbf", "gamma": [0.1, 1.0], "features": "each"}]
    >>> search = MKLClassifierCV(Cs=[1.0, 10.0], kernels=bank).fit(X, y)
    >>> sorted(search.best_params_)
    ['C']
    >>> search.predict([[2.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    array([ True, False])
    """

    _parameter_constraints: ClassVar[dict] = {
        **MultipleKernelSearch._parameter_constraints,
        **ClassifierMachine._parameter_constraints,
        **{
            name: MKLClassifier._parameter_constraints[name]
            for name in ("combination", "lam", "delta", "n_layers", "kernel_sharing")
        },
    }
    _machine_class = MKLClassifier
    _names = (
        *MultipleKernelSearch._names,
        "lam",
        "delta",
        "n_layers",
        "kernel_sharing",
        "class_weight",
    )

    def __init__(
        self,
        Cs=None,
        ps=None,
        *,
        n_average=1,
        cv=5,
        scoring=None,
        loss="hinge",
        kernels=None,
        combination="simple",
        lam=0.1,
        delta=0.0,
        n_layers=2,
        normalize=True,
        fit_intercept=True,
        kernel_sharing="joint",
        class_weight=None,
        tol=1e-3,
        search_tol=1e-2,
        max_iter=1000,
        cache_size=1000,
        n_jobs=None,
        checkpoint=None,
        verbose=0,
    ):
        self.Cs = Cs
        self.ps = ps
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.kernels = kernels
        self.combination = combination
        self.lam = lam
        self.delta = delta
        self.n_layers = n_layers
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.kernel_sharing = kernel_sharing
        self.class_weight = class_weight
        self.tol = tol
        self.search_tol = search_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose


class MKLRegressorCV(RegressorMixin, MultipleKernelSearch):
    r"""MKL regression with C and epsilon chosen by cross-validation, and p where it counts.

    .. math::

        \hat\lambda = \arg\max_\lambda\; \frac1k \sum_{j=1}^k \mathrm{score}_j(\lambda),
        \qquad \lambda = (C, \epsilon)

    Each of the k folds is scored by a machine trained on the rest of the data, bank included.
    Machines for growing C start from each other, weights and dual solution.

    Parameters
    ----------
    Cs : array-like, default=None
        Values of C to try. None means 0.1, 1, 10, 100, times the standard deviation of the targets
        where the loss is not squared. Among equal scores the first counts. The best machine at the
        edge of a default grid extends it, in up to three steps.
    epsilons : array-like, default=None
        Values of epsilon to try, half the widths of the tube in which errors cost nothing. None
        means 0.1 times the standard deviation of the targets. Not for ``loss="squared"``.
    ps : array-like, default=None
        Values of p to try for "lp"; None means 1, 4/3, 2 and 4.
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
        See `MKLRegressor`.
    kernels : list, "precomputed" or None, default=None
        The bank; see `MKLRegressor`.
    combination : str, default="simple"
        How the weights are found; see `MKLRegressor`.
    normalize : bool, default=True
        See `MKLRegressor`.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    tol : float, default=1e-3
        The duality gap to reach in the final training, relative to the objective.
    search_tol : float, default=1e-2
        The relative gap to reach in the folds.
    max_iter : int, default=1000
        Largest number of rounds in one problem.
    cache_size : float, default=1000
        Memory in MB for the kernel matrices of one job; see `MKLRegressor`.
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
    best_estimator_ : MKLRegressor
        Trained on all of the data with the chosen parameters, with its certificate.
    estimators_ : list of MKLRegressor
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
    MKLRegressor : The machine with given parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import MKLRegressorCV
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(120, 2))
    >>> y = np.sin(2 * X[:, 0])
    >>> bank = [{"kernel": "rbf", "gamma": [0.1, 1.0], "features": "each"}]
    >>> search = MKLRegressorCV(Cs=[1.0, 10.0], kernels=bank, combination="lp").fit(X, y)
    >>> sorted(search.best_params_)
    ['C', 'epsilon', 'p']
    >>> bool(search.best_score_ > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **MultipleKernelSearch._parameter_constraints,
        **REGRESSION,
    }
    _machine_class = MKLRegressor

    def __init__(
        self,
        Cs=None,
        epsilons=None,
        ps=None,
        *,
        n_average=1,
        cv=5,
        scoring=None,
        loss="tube",
        kernels=None,
        combination="simple",
        normalize=True,
        fit_intercept=True,
        tol=1e-3,
        search_tol=1e-2,
        max_iter=1000,
        cache_size=1000,
        n_jobs=None,
        checkpoint=None,
        verbose=0,
    ):
        self.Cs = Cs
        self.epsilons = epsilons
        self.ps = ps
        self.n_average = n_average
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.kernels = kernels
        self.combination = combination
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.search_tol = search_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
