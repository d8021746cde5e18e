"""Learning of generalised polynomial kernels (GPK) and of kernels over any finite feature map."""

from numbers import Integral
from typing import ClassVar

from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.positive_matrix import PositiveMatrixMachine
from kernelfit.estimators.regressor import RegressorMachine
from kernelfit.families.psd.features import FeatureBasis, FeatureMap, Monomials
from kernelfit.utils.sklearn_private import HasMethods, StrOptions

_FEATURES = {"feature_map": [HasMethods(["size", "features"]), None]}


class _Features:
    """The basis of both estimators."""

    degree: int
    feature_map: FeatureMap | None
    solver: str

    @property
    def _smaller(self):
        advice = "lower the degree" if self.feature_map is None else "use fewer features"
        return f"{advice}, or solver='auto'" if self.solver in ("apd", "hybrid") else advice

    def _scale_complaint(self, scale):
        got = "zeros, or numbers too small" if scale > 0.0 else "numbers too large"
        return (
            "expected feature_map.features(X) to return numbers of moderate size, "
            f"got {got} to be squared"
        )

    def _make_basis(self, n_features):
        if self.feature_map is None:
            return FeatureBasis(n_features, Monomials(int(self.degree)))
        if isinstance(self.feature_map, type):
            name = self.feature_map.__name__
            raise ValueError(
                f"expected feature_map to be an object like {name}(), got the class {name}"
            )
        size = self.feature_map.size(n_features)
        if not isinstance(size, Integral) or size < 1:
            raise ValueError(
                f"expected feature_map.size({n_features}) to be a positive integer, got {size!r}"
            )
        return FeatureBasis(n_features, self.feature_map)


class GPKClassifier(_Features, ClassifierMachine, PositiveMatrixMachine):
    r"""Classification with a learned generalised polynomial kernel, shared by several classes.

    With ``kernel_sharing="joint"`` and more than two classes, or with functions that are integrated
    over nodes, the learned kernel changes the predictions. Otherwise the optimum is known: it
    predicts as the plain machine with the kernel :math:`s\, n_P\, Z(x)^\top Z(y)`, and this class
    finds it in one step, with its certificate.

    .. math::

        \min_{P \succeq 0,\, \operatorname{tr} P = n_P}\; \min_{f, b}\; \tfrac12 \|f\|_P^2
        + \sum_i C_i \max(0,\, 1 - y_i (f(x_i) + b))

    where :math:`\|f\|_P` is the norm of the generalised polynomial kernel
    :math:`k_P(x, y) = s\, Z(x)^\top P\, Z(y)` [1]_, with Z the monomials of degree at most d, or
    any other finite feature map. The problem is convex; training stops when a lower and an upper
    bound on its optimum agree up to `tol`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    loss : {"hinge", "squared_hinge", "squared"}, default="hinge"
        See `KernelSVC`.
    degree : int, default=2
        Largest degree d of the monomials.
    feature_map : object, default=None
        Another feature map in place of the monomials: an object with the methods
        ``size(n_features)``, the number of its features, and ``features(X)``, which returns them
        for the rows of an array scaled to the unit cube. Features of shape (m, n_nodes, size) are
        functions N(z, x) at nodes z, and the kernel their integral over z; see
        `kernelfit.families.psd.features.FeatureMap` and `kernelfit.kernels.nodes`.
    normalize : bool, default=True
        Whether the kernel is scaled so that k(x, x) has mean 1 at P = I over the training points.
        Sample weights count in this mean, a weight of 2 as a repeated row; class weights do not.
        Otherwise s = 1, and useful values of C depend on the number of features.
    fit_intercept : bool, default=True
        Whether the model has an intercept b.
    kernel_sharing : {"separate", "joint"}, default="separate"
        With more than two classes, each against the rest: one kernel for each of these problems, or
        one for all of them, which minimises the sum of their objectives.
    class_weight : dict or "balanced", default=None
        Factors of C by class.
    solver : {"auto", "frank_wolfe", "fully_corrective", "apd", "hybrid"}, default="auto"
        "auto" is "fully_corrective", Newton steps over all collected directions, which needs
        the fewest steps by far. The others are those of [1]_ with corrected constants:
        Frank-Wolfe, the accelerated primal-dual method at mu = 0, and one after the other. See
        `kernelfit.solvers.saddle.primal_dual` for mu and where it may be positive.
    tol : float, default=1e-3
        The gap between the bounds to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of iterations for one kernel.
    cache_size : float, default=1000
        Memory in MB for the kernel matrix. A larger one is not stored: its rows are computed when
        needed and the latest are kept.
    warm_start : bool, default=False
        Whether `fit` starts from the previous solution, kernel included, where that has as many
        rows and classes.
    n_jobs : int, default=None
        Number of kernels learned at a time, and of threads in prediction; -1 for all processors.
    verbose : int, default=0
        1 reports every problem, 2 every step, through the logger ``kernelfit``.

    Attributes
    ----------
    P_ : ndarray of shape (n_P, n_P) or (n_kernels, n_P, n_P)
        The learned matrix. Monomials come by degree and lexicographically, as in scikit-learn's
        `PolynomialFeatures`: 1, x1, x2, x1^2, x1 x2, x2^2; other features as the map returns them.
    kernel_ : callable
        The learned kernel ``k(X, Y)`` on raw data, for use in other estimators, as in
        ``SVC(kernel=model.kernel_)``. Absent where there are several.
    kernels_ : list of callables
        The learned kernels, where each class has its own.
    scale_ : float
        The factor s.
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data, class by class; of equal rows, the first.
        They have a coefficient in `dual_coef_` or `witness_coef_`.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_problems, n_SV)
        Coefficients of the support vectors.
    witness_coef_ : ndarray of shape (n_problems, n_SV)
        The coefficients that prove the lower bound; most often `dual_coef_` itself.
    intercept_ : ndarray of shape (n_problems,)
        The intercept b.
    objective_ : float or ndarray of shape (n_kernels,)
        A lower bound on the optimum.
    dual_gap_ : float or ndarray of shape (n_kernels,)
        Upper minus lower bound on the optimum.
    status_ : str or ndarray of str
        "proved" where the gap is a proof; "stationary" where the kernel matrix was found to be
        indefinite, and `dual_gap_` is nan.
    n_iter_ : int or ndarray of shape (n_kernels,)
        Number of iterations.
    converged_ : bool or ndarray of shape (n_kernels,)
        Whether `tol` was reached.
    history_ : ndarray of shape (n_iter_, 2) or list of them
        Lower bound and gap after every iteration.
    constant_features_ : ndarray of int
        Features that do not vary in the training data and are left out: they do not count in n,
        and thus in n_P.
    data_min_, data_max_ : ndarray of shape (n_features_in_,)
        The bounds by which features are scaled to the unit cube.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    class_weight_ : ndarray of shape (n_classes,)
        The factor of C of each class.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    Notes
    -----
    For a feature map and one machine the best P has rank one and the predictions are those of a
    support vector machine with the kernel :math:`s\, n_P Z(x)^\top Z(y)`: D has rank one for every
    dual solution. ``kernel_sharing="joint"`` makes a difference, and so does an integral over
    nodes, for which D has the rank of the nodes.

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
       learning", Journal of Machine Learning Research 25 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import GPKClassifier
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> y = X[:, 0] > X[:, 1] ** 2
    >>> model = GPKClassifier(C=10.0).fit(X, y)
    >>> model.predict([[0.9, 0.2], [0.1, 0.8]])
    array([ True, False])
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **PositiveMatrixMachine._parameter_constraints,
        **ClassifierMachine._parameter_constraints,
        "kernel_sharing": [StrOptions({"separate", "joint"})],
        **_FEATURES,
    }

    def __init__(
        self,
        C=1.0,
        *,
        loss="hinge",
        degree=2,
        feature_map=None,
        normalize=True,
        fit_intercept=True,
        kernel_sharing="separate",
        class_weight=None,
        solver="auto",
        tol=1e-3,
        max_iter=1000,
        cache_size=1000,
        warm_start=False,
        n_jobs=None,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.degree = degree
        self.feature_map = feature_map
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.kernel_sharing = kernel_sharing
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose


class GPKRegressor(_Features, RegressorMachine, PositiveMatrixMachine):
    r"""Regression with a generalised polynomial kernel, which predicts as a plain one.

    For a feature map the optimum over all kernels of the family is known: it predicts as the
    plain machine with the kernel :math:`s\, n_P\, Z(x)^\top Z(y)`, and this class finds it in one
    step, with its certificate.

    .. math::

        \min_{P \succeq 0,\, \operatorname{tr} P = n_P}\; \min_{f, b}\; \tfrac12 \|f\|_P^2
        + \sum_i C_i \max(0,\, |y_i - f(x_i) - b| - \epsilon)

    where :math:`\|f\|_P` is the norm of the generalised polynomial kernel
    :math:`k_P(x, y) = s\, Z(x)^\top P\, Z(y)` [1]_, with Z the monomials of degree at most d, or
    any other finite feature map. The problem is convex; training stops when a lower and an upper
    bound on its optimum agree up to `tol`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    epsilon : float, default=0.1
        Half the width of the tube in which errors cost nothing.
    loss : {"tube", "squared_tube", "squared"}, default="tube"
        See `KernelSVR`.
    degree : int, default=2
        Largest degree d of the monomials.
    feature_map : object, default=None
        Another feature map in place of the monomials: an object with the methods
        ``size(n_features)``, the number of its features, and ``features(X)``, which returns them
        for the rows of an array scaled to the unit cube. Features of shape (m, n_nodes, size) are
        functions N(z, x) at nodes z, and the kernel their integral over z; see
        `kernelfit.families.psd.features.FeatureMap` and `kernelfit.kernels.nodes`.
    normalize : bool, default=True
        Whether the kernel is scaled so that k(x, x) has mean 1 at P = I over the training points.
        Sample weights count in this mean, a weight of 2 as a repeated row.
        Otherwise s = 1, and useful values of C depend on the number of features.
    fit_intercept : bool, default=True
        Whether the model has an intercept b.
    solver : {"auto", "frank_wolfe", "fully_corrective", "apd", "hybrid"}, default="auto"
        "auto" is "fully_corrective", Newton steps over all collected directions, which needs
        the fewest steps by far. The others are those of [1]_ with corrected constants:
        Frank-Wolfe, the accelerated primal-dual method at mu = 0, and one after the other. See
        `kernelfit.solvers.saddle.primal_dual` for mu and where it may be positive.
    tol : float, default=1e-3
        The gap between the bounds to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of iterations for one kernel.
    cache_size : float, default=1000
        Memory in MB for the kernel matrix. A larger one is not stored: its rows are computed when
        needed and the latest are kept.
    warm_start : bool, default=False
        Whether `fit` starts from the previous solution, kernel included, where that has as many
        rows and classes.
    verbose : int, default=0
        1 reports every problem, 2 every step, through the logger ``kernelfit``.

    Attributes
    ----------
    P_ : ndarray of shape (n_P, n_P)
        The learned matrix. Monomials come by degree and lexicographically, as in scikit-learn's
        `PolynomialFeatures`: 1, x1, x2, x1^2, x1 x2, x2^2; other features as the map returns them.
    kernel_ : callable
        The learned kernel ``k(X, Y)`` on raw data, for use in other estimators, as in
        ``SVC(kernel=model.kernel_)``.
    scale_ : float
        The factor s.
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data; of equal rows, the first. They have a
        coefficient in `dual_coef_` or `witness_coef_`.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients of the support vectors.
    witness_coef_ : ndarray of shape (1, n_SV)
        The coefficients that prove the lower bound; most often `dual_coef_` itself.
    intercept_ : ndarray of shape (1,)
        The intercept b.
    objective_ : float
        A lower bound on the optimum.
    dual_gap_ : float
        Upper minus lower bound on the optimum.
    status_ : str
        "proved" where the gap is a proof; "stationary" where the kernel matrix was found to be
        indefinite, and `dual_gap_` is nan.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether `tol` was reached.
    history_ : ndarray of shape (n_iter_, 2)
        Lower bound and gap after every iteration.
    constant_features_ : ndarray of int
        Features that do not vary in the training data and are left out: they do not count in n,
        and thus in n_P.
    data_min_, data_max_ : ndarray of shape (n_features_in_,)
        The bounds by which features are scaled to the unit cube.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    Notes
    -----
    For a feature map the best P has rank one and the predictions are those of a support vector
    machine with the kernel :math:`s\, n_P Z(x)^\top Z(y)`: D has rank one for every dual solution.
    With an integral over nodes D has the rank of the nodes, and P is learned.

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
       learning", Journal of Machine Learning Research 25 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import GPKRegressor
    >>> X = np.linspace(0, 1, 50)[:, np.newaxis]
    >>> y = X[:, 0] ** 2
    >>> model = GPKRegressor(C=100.0, epsilon=0.01).fit(X, y)
    >>> model.predict([[0.2], [0.8]]).round(1)
    array([0. , 0.6])
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **PositiveMatrixMachine._parameter_constraints,
        **RegressorMachine._parameter_constraints,
        **_FEATURES,
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        loss="tube",
        degree=2,
        feature_map=None,
        normalize=True,
        fit_intercept=True,
        solver="auto",
        tol=1e-3,
        max_iter=1000,
        cache_size=1000,
        warm_start=False,
        verbose=0,
    ):
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.degree = degree
        self.feature_map = feature_map
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.verbose = verbose
