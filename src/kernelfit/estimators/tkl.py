"""Tessellated kernel learning (TKL)."""

from numbers import Real
from typing import ClassVar

from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.positive_matrix import PositiveMatrixMachine
from kernelfit.estimators.regressor import RegressorMachine
from kernelfit.estimators.standard import DEVICE
from kernelfit.families.psd.family import SCALINGS
from kernelfit.families.psd.tessellated import TessellatedBasis
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.torch_device import load_torch

_TESSELLATED = {
    "basis": [StrOptions({"x", "xz"})],
    "scaling": [StrOptions(set(SCALINGS))],
    "delta": [Interval(Real, 0, None, closed="left")],
    **DEVICE,
}


class _Tessellated:
    """The basis of both estimators."""

    degree: int
    basis: str
    delta: float
    normalize: bool
    device: str | None

    @property
    def _smaller(self):
        other = "basis='x'" if self.basis == "xz" else "fewer features"
        return f"lower the degree or use {other}"

    def _scale_complaint(self, scale):
        remedy = "lower delta" if self.normalize else "use normalize=True"
        return f"expected a kernel scale between 0 and infinity, got {scale}: {remedy}"

    def _make_basis(self, n_features):
        if self.device is not None:
            load_torch(self.device)  # or says at once what is missing
            if self.basis != "x":
                raise ValueError(
                    f"expected basis='x' for device={self.device!r}, got {self.basis!r}"
                )
        # Powers of z up to 2 d, squared, are finite.
        largest = 10.0 ** (60.0 / max(self.degree, 2))
        if self.basis == "xz" and self.delta > largest:
            raise ValueError(f"expected delta <= {largest:g} for basis='xz', got {self.delta}")
        return TessellatedBasis(n_features, int(self.degree), float(self.delta), self.basis)


class TKLClassifier(_Tessellated, ClassifierMachine, PositiveMatrixMachine):
    r"""Classification with a learned tessellated kernel.

    .. math::

        \min_{P \succeq 0,\, \operatorname{tr} P = n_P}\; \min_{f, b}\; \tfrac12 \|f\|_P^2
        + \sum_i C_i \max(0,\, 1 - y_i (f(x_i) + b))

    where :math:`\|f\|_P` is the norm of the kernel

    .. math::

        k_P(x, y) = s \int_{[-\delta, 1+\delta]^n} N(z, x)^\top P\, N(z, y)\, dz, \qquad
        N(z, x) = \begin{bmatrix} Z\, 1(z \ge x) \\ Z\, (1 - 1(z \ge x)) \end{bmatrix}

    with Z the monomials of degree at most d (Eqs. (11) and (12) of [1]_). Every data point divides
    the space by planes, so the learned functions can have sharp edges. The problem is convex;
    training stops when a lower and an upper bound on its optimum agree up to `tol`.

    Parameters
    ----------
    C : float, default=10.0
        Cost of the loss. A smaller one often underfits.
    loss : {"hinge", "squared_hinge", "squared"}, default="hinge"
        See `KernelSVC`.
    degree : int, default=1
        Largest degree d of the monomials.
    basis : {"x", "xz"}, default="x"
        Whether the monomials are made of x alone or of x and z. "x" has n_P = 2 binom(n + d, d)
        functions, "xz" has 2 binom(2 n + d, d) and costs more.
    delta : float, default=0.5
        How far the box of integration extends beyond the unit cube, to which the features are
        scaled. New points beyond the box are moved to its boundary: scaled features are clipped to
        [-delta, 1 + delta].
    scaling : {"range", "ranks"}, default="range"
        How features are scaled to the unit cube: by their smallest and largest values, as in [1]_,
        or by their ranks, for skewed features, most values of which would share a corner.
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
    device : str, default=None
        Where to train, for ``basis="x"``: None for the processor, "cuda" for a GPU, by torch
        (extra ``gpu``); "cpu" runs the same by torch on the processor. The GPU's memory counts
        instead of `cache_size`, and steps are taken with kernel values in single precision; the
        certificate remains in double precision.
    verbose : int, default=0
        1 reports every problem, 2 every step, through the logger ``kernelfit``.

    Attributes
    ----------
    P_ : ndarray of shape (n_P, n_P) or (n_kernels, n_P, n_P)
        The learned matrix. Its first half belongs to the functions Z 1(z >= x), the second to
        Z (1 - 1(z >= x)). Monomials of x come by degree and lexicographically, as in scikit-learn's
        `PolynomialFeatures`: 1, x1, x2, x1^2, x1 x2, x2^2. With ``basis="xz"`` there is, for every
        monomial of z in this order, its product with all monomials of x that the degree
        allows, in this order: 1, x, x^2, z, z x, z^2 for one feature and degree 2.
    kernel_ : callable
        The learned kernel ``k(X, Y)`` on raw data, for use in other estimators, as in
        ``SVC(kernel=model.kernel_)``. Absent where there are several.
    kernels_ : list of callables
        The learned kernels, where each class has its own.
    scale_ : float
        The factor s times the volume of the box.
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

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
       learning", Journal of Machine Learning Research 25 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import TKLClassifier
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> y = X[:, 0] > X[:, 1]
    >>> model = TKLClassifier(C=10.0).fit(X, y)
    >>> model.predict([[0.9, 0.2], [0.1, 0.8]])
    array([ True, False])
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **PositiveMatrixMachine._parameter_constraints,
        **ClassifierMachine._parameter_constraints,
        "kernel_sharing": [StrOptions({"separate", "joint"})],
        **_TESSELLATED,
    }

    def __init__(
        self,
        C=10.0,
        *,
        loss="hinge",
        degree=1,
        basis="x",
        delta=0.5,
        scaling="range",
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
        device=None,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.degree = degree
        self.basis = basis
        self.delta = delta
        self.scaling = scaling
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
        self.device = device
        self.verbose = verbose


class TKLRegressor(_Tessellated, RegressorMachine, PositiveMatrixMachine):
    r"""Regression with a learned tessellated kernel.

    .. math::

        \min_{P \succeq 0,\, \operatorname{tr} P = n_P}\; \min_{f, b}\; \tfrac12 \|f\|_P^2
        + \sum_i C_i \max(0,\, |y_i - f(x_i) - b| - \epsilon)

    where :math:`\|f\|_P` is the norm of the kernel

    .. math::

        k_P(x, y) = s \int_{[-\delta, 1+\delta]^n} N(z, x)^\top P\, N(z, y)\, dz, \qquad
        N(z, x) = \begin{bmatrix} Z\, 1(z \ge x) \\ Z\, (1 - 1(z \ge x)) \end{bmatrix}

    with Z the monomials of degree at most d (Eqs. (11) and (12) of [1]_). Every data point divides
    the space by planes, so the learned functions can have sharp edges. The problem is convex;
    training stops when a lower and an upper bound on its optimum agree up to `tol`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    epsilon : float, default=0.1
        Half the width of the tube in which errors cost nothing.
    loss : {"tube", "squared_tube", "squared"}, default="tube"
        See `KernelSVR`.
    degree : int, default=1
        Largest degree d of the monomials.
    basis : {"x", "xz"}, default="x"
        Whether the monomials are made of x alone or of x and z. "x" has n_P = 2 binom(n + d, d)
        functions, "xz" has 2 binom(2 n + d, d) and costs more.
    delta : float, default=0.5
        How far the box of integration extends beyond the unit cube, to which the features are
        scaled. New points beyond the box are moved to its boundary: scaled features are clipped to
        [-delta, 1 + delta].
    scaling : {"range", "ranks"}, default="range"
        How features are scaled to the unit cube: by their smallest and largest values, as in [1]_,
        or by their ranks, for skewed features, most values of which would share a corner.
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
    device : str, default=None
        Where to train, for ``basis="x"``: None for the processor, "cuda" for a GPU, by torch
        (extra ``gpu``); "cpu" runs the same by torch on the processor. The GPU's memory counts
        instead of `cache_size`, and steps are taken with kernel values in single precision; the
        certificate remains in double precision.
    verbose : int, default=0
        1 reports every problem, 2 every step, through the logger ``kernelfit``.

    Attributes
    ----------
    P_ : ndarray of shape (n_P, n_P)
        The learned matrix. Its first half belongs to the functions Z 1(z >= x), the second to
        Z (1 - 1(z >= x)). Monomials of x come by degree and lexicographically, as in scikit-learn's
        `PolynomialFeatures`: 1, x1, x2, x1^2, x1 x2, x2^2. With ``basis="xz"`` there is, for every
        monomial of z in this order, its product with all monomials of x that the degree
        allows, in this order: 1, x, x^2, z, z x, z^2 for one feature and degree 2.
    kernel_ : callable
        The learned kernel ``k(X, Y)`` on raw data, for use in other estimators, as in
        ``SVC(kernel=model.kernel_)``.
    scale_ : float
        The factor s times the volume of the box.
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

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet, "Efficient convex algorithms for universal kernel
       learning", Journal of Machine Learning Research 25 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import TKLRegressor
    >>> X = np.linspace(0, 1, 50)[:, np.newaxis]
    >>> y = np.where(X[:, 0] < 0.5, 0.0, 1.0)
    >>> model = TKLRegressor(C=100.0, epsilon=0.01).fit(X, y)
    >>> abs(model.predict([[0.2], [0.8]])).round(1)
    array([0., 1.])
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **PositiveMatrixMachine._parameter_constraints,
        **RegressorMachine._parameter_constraints,
        **_TESSELLATED,
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        loss="tube",
        degree=1,
        basis="x",
        delta=0.5,
        scaling="range",
        normalize=True,
        fit_intercept=True,
        solver="auto",
        tol=1e-3,
        max_iter=1000,
        cache_size=1000,
        warm_start=False,
        device=None,
        verbose=0,
    ):
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.degree = degree
        self.basis = basis
        self.delta = delta
        self.scaling = scaling
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.device = device
        self.verbose = verbose
