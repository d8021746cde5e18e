"""Kernel ridge machines: the squared loss with a given kernel."""

from typing import ClassVar

import numpy as np

from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.regressor import RegressorMachine
from kernelfit.estimators.standard import DEVICE, StandardKernelMachine
from kernelfit.learners.plan import Plan
from kernelfit.learners.ridge import RidgeLearner
from kernelfit.tasks.multiclass import Problem
from kernelfit.utils.validation import as_dense

# Without iterations there is nothing to go on from.
_CONSTRAINTS = {
    name: constraint
    for name, constraint in StandardKernelMachine._parameter_constraints.items()
    if name not in ("tol", "max_iter", "warm_start")
} | DEVICE


class RidgeMachine(StandardKernelMachine):
    """The learner of both machines."""

    tol = 1e-6  # a larger relative gap is announced
    warm_start = False

    def _learner(self, X, targets, weight, unit_cost, matrix):
        kernel, gram, psd = self._make_gram(X, weight, matrix)
        if not gram.dense and self.device is None:
            n = X.shape[0]
            raise ValueError(
                f"expected cache_size >= {8 * n * n / 2**20:.3g}, the memory in MB of the kernel "
                f"matrix of {n} rows, got {self.cache_size}"
            )
        return RidgeLearner(gram, kernel, psd, self.tol)


class KernelRidgeRegressor(RegressorMachine, RidgeMachine):
    r"""Kernel ridge regression with an intercept, and a proof of how close to optimal it is.

    .. math::

        \min_{f, b}\; \tfrac12 \|f\|^2 + \sum_i C_i (y_i - f(x_i) - b)^2
        \;=\; \max_\beta\; y^\top\beta - \tfrac12 \beta^\top (K + \operatorname{diag} r) \beta
        \quad\text{s.t.}\quad \mathbf 1^\top\beta = 0,\; r_i = \frac{1}{2 C_i}

    with :math:`f = \sum_i \beta_i k(x_i, \cdot)` and :math:`C_i` the product of `C` and the sample
    weight: also known as least-squares SVM. The solution is that of a linear system, by one
    Cholesky factor.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the squared loss; ``1 / (2 C)`` is the ridge, scikit-learn's alpha.
    kernel : str or callable, default="rbf"
        The kernel: "linear", "poly", "rbf", "laplacian", "exponential", "matern32", "matern52",
        "rational_quadratic", "additive" or "precomputed". A callable takes two arrays of points,
        ``k(X, Y)``, and returns their kernel matrix.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"}, float or array-like, default="scale"
        Of all kernels by name but the linear one; see `KernelSVC`.
    coef0 : float, default=0.0
        Of the polynomial kernel.
    fit_intercept : bool, default=True
        Whether the model has an intercept b, which is not penalised.
    cache_size : float, default=1000
        Memory in MB that the kernel matrix may take; the factor takes as much again.
    device : str, default=None
        Where to train and predict: None for the processor, "cuda" for a GPU, by torch (extra
        ``gpu``), in double precision; "cpu" runs the same by torch on the processor. It takes
        dense X and all kernels by name, and the GPU's memory counts instead of
        `cache_size`.
    verbose : int, default=0
        1 reports the result through the logger ``kernelfit``.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Rows of the points with a coefficient in the training data: in general all of them.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        These points. Absent with a precomputed kernel.
    n_support_ : ndarray of shape (1,)
        Their number.
    dual_coef_ : {ndarray, sparse matrix} of shape (n_targets, n_SV)
        Coefficients beta, sparse where X is.
    witness_coef_ : ndarray of shape (n_targets, n_SV)
        The coefficients that prove the lower bound: `dual_coef_` itself.
    intercept_ : ndarray of shape (n_targets,)
        The intercepts b.
    objective_ : float
        Value of the dual, a lower bound on the optimum, summed over the targets.
    dual_gap_ : float
        Upper minus lower bound on the optimum, which rounding leaves; nan where the kernel matrix
        was found to be indefinite (see Notes).
    status_ : str
        "proved" where the gap is a proof; "stationary" where the kernel matrix was found to be
        indefinite, and `dual_gap_` is nan.
    n_iter_ : int
        1.
    converged_ : bool
        Whether the gap is at most 1e-6 of the objective.
    history_ : ndarray of shape (1, 2)
        Objective and gap.
    kernel_ : callable or None
        The kernel ``k(X, Y)`` with its parameters resolved; None when precomputed.
    coef_ : {ndarray, sparse matrix} of shape (n_targets, n_features)
        Weights of the features, for the linear kernel.
    gamma_ : float or ndarray
        The value of gamma, for kernels that have one.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    KernelRidgeRegressorCV : With gamma and C chosen by exact leave-one-out errors.
    sklearn.kernel_ridge.KernelRidge : Without an intercept; `alpha` is ``1 / (2 C)``.

    Notes
    -----
    A sample weight of 2 equals a repeated row, and a weight of 0 a missing one. The gap is a proof,
    up to rounding, for a positive semidefinite kernel. A precomputed matrix or a callable is tested
    for it on 300 evenly spaced rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelRidgeRegressor
    >>> X = np.linspace(0, 6, 50)[:, np.newaxis]
    >>> model = KernelRidgeRegressor(C=100.0).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[np.pi / 2]]).round(2)
    array([1.])
    >>> model.converged_
    True
    """

    _parameter_constraints: ClassVar[dict] = _CONSTRAINTS
    loss = "squared"
    _many_targets = True

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        fit_intercept=True,
        cache_size=1000,
        device=None,
        verbose=0,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.device = device
        self.verbose = verbose

    def _check_targets(self, y):
        return super()._check_targets(as_dense(y))

    def _make_plan(self, learner, targets, unit_cost):
        self._one_target = targets.ndim == 1
        columns = np.atleast_2d(targets.T)
        problems = tuple(Problem(k, slice(None), k, p) for k, p in enumerate(columns))
        shape = len(problems), len(problems)
        return Plan(learner, (problems,), unit_cost, self._make_task, shape)

    def _shape(self, values):
        return values[..., 0] if self._one_target else values


class KernelRidgeClassifier(ClassifierMachine, RidgeMachine):
    r"""Kernel ridge classification: the squared loss on labels, a class against the rest.

    Each problem, with labels :math:`y_i = \pm 1`, is

    .. math::

        \min_{f, b}\; \tfrac12 \|f\|^2 + \sum_i C_i (y_i - f(x_i) - b)^2
        \;=\; \max_\beta\; y^\top\beta - \tfrac12 \beta^\top (K + \operatorname{diag} r) \beta
        \quad\text{s.t.}\quad \mathbf 1^\top\beta = 0,\; r_i = \frac{1}{2 C_i}

    with :math:`f = \sum_i \beta_i k(x_i, \cdot)` and :math:`C_i` the product of `C`, the sample
    weight and the class weight: also known as least-squares SVM. All problems share one Cholesky
    factor.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the squared loss; ``1 / (2 C)`` is the ridge, scikit-learn's alpha.
    kernel : str or callable, default="rbf"
        The kernel: "linear", "poly", "rbf", "laplacian", "exponential", "matern32", "matern52",
        "rational_quadratic", "additive" or "precomputed". A callable takes two arrays of points,
        ``k(X, Y)``, and returns their kernel matrix.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"}, float or array-like, default="scale"
        Of all kernels by name but the linear one; see `KernelSVC`.
    coef0 : float, default=0.0
        Of the polynomial kernel.
    fit_intercept : bool, default=True
        Whether the decision functions have an intercept b, which is not penalised.
    class_weight : dict or "balanced", default=None
        Factors of C by class. "balanced" gives every class the same total weight, counted with
        the sample weights.
    cache_size : float, default=1000
        Memory in MB that the kernel matrix may take; the factor takes as much again.
    device : str, default=None
        Where to train and predict: None for the processor, "cuda" for a GPU, by torch (extra
        ``gpu``), in double precision; "cpu" runs the same by torch on the processor. It takes
        dense X and all kernels by name, and the GPU's memory counts instead of
        `cache_size`.
    verbose : int, default=0
        1 reports the result through the logger ``kernelfit``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of C of every class.
    support_ : ndarray of shape (n_SV,)
        Rows of the points with a coefficient in the training data, class by class: in general all
        of them.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        These points. Absent with a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of them in each class.
    dual_coef_ : {ndarray, sparse matrix} of shape (1, n_SV) or (n_classes, n_SV)
        Coefficients beta, sparse where X is. Two classes: of the problem in which the second is
        positive; otherwise row a holds the problem of class a.
    witness_coef_ : ndarray of shape (1, n_SV) or (n_classes, n_SV)
        The coefficients that prove the lower bound: `dual_coef_` itself.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts b.
    objective_ : float
        Value of the dual, a lower bound on the optimum, summed over the problems.
    dual_gap_ : float
        Upper minus lower bound on the optimum, which rounding leaves; nan where the kernel matrix
        was found to be indefinite.
    status_ : str
        "proved" where the gap is a proof; "stationary" where the kernel matrix was found to be
        indefinite, and `dual_gap_` is nan.
    n_iter_ : int
        1.
    converged_ : bool
        Whether the gap is at most 1e-6 of the objective.
    history_ : ndarray of shape (1, 2)
        Objective and gap.
    kernel_ : callable or None
        The kernel ``k(X, Y)`` with its parameters resolved; None when precomputed.
    coef_ : {ndarray, sparse matrix} of shape (n_problems, n_features)
        Weights of the features, for the linear kernel.
    gamma_ : float or ndarray
        The value of gamma, for kernels that have one.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    KernelRidgeClassifierCV : With gamma and C chosen by exact leave-one-out errors.
    KernelSVC : The same with the hinge loss.

    Notes
    -----
    A sample weight of 2 equals a repeated row, and a weight of 0 a missing one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelfit import KernelRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelRidgeClassifier(C=10.0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    >>> model.dual_gap_ <= 1e-9 * model.objective_
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **_CONSTRAINTS,
        "class_weight": ClassifierMachine._parameter_constraints["class_weight"],
    }
    loss = "squared"
    kernel_sharing = "joint"  # one factor for all problems

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        fit_intercept=True,
        class_weight=None,
        cache_size=1000,
        device=None,
        verbose=0,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.device = device
        self.verbose = verbose
