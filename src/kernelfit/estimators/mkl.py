"""Multiple kernel learning: machines on a weighted sum of given kernels."""

from numbers import Integral, Real
from typing import ClassVar

from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.multiple import COMBINATIONS, MultipleKernelMachine
from kernelfit.estimators.regressor import RegressorMachine
from kernelfit.utils.sklearn_private import Interval, StrOptions


class MKLClassifier(ClassifierMachine, MultipleKernelMachine):
    r"""Classification with a weighted sum of kernels, whose weights are learned.

    .. math::

        \min_{\mu \ge 0,\, \sum_m \mu_m = 1}\; \min_{f, b}\; \tfrac12 \|f\|_\mu^2
        + \sum_i C_i \max(0,\, 1 - y_i (f(x_i) + b))

    where :math:`\|f\|_\mu` is the norm of the kernel :math:`\sum_m \mu_m k_m`. The problem is
    convex; training stops when a lower and an upper bound on its optimum agree up to `tol`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    loss : {"hinge", "squared_hinge", "squared"}, default="hinge"
        See `KernelSVC`.
    kernels : list, "precomputed" or None, default=None
        The bank. An entry is a name as in `KernelSVC`, a callable ``k(X, Y)``, such as the
        ``kernel_`` of another estimator, or a dict: "kernel", a name or a callable, with any of
        "gamma", "degree", "coef0" and "features". gamma and degree may be lists, for one kernel
        each; gamma is a number, "scale", "auto" or a multiple like "0.5*scale", of the features
        that the kernel sees. features is None for all, "each" for one kernel on every feature that
        varies, or a list of columns or names. None is the bank of the papers: ten Gaussian widths
        and polynomials of degree 1 to 3, on all features and on each. For "precomputed", X holds
        kernel matrices in the shape (n_samples, n_samples, n_kernels).
    combination : str, default="simple"
        How the weights are found: "simple", "lp", "average", "align", "alignf",
        "alignf_signed", "easy", "pwmk", "bayes" or "deep"; see Notes.
    p : float, default=2.0
        The norm for "lp", at least 1. The ball has the radius ``n_kernels ** (1 / p - 1)``, so that
        equal weights that sum to one are on its surface: from 1 to infinity it leads from "simple"
        to "average".
    lam : float, default=0.1
        The regularisation of "easy", above 0 and at most 1.
    delta : float, default=0.0
        The accuracy from which on a kernel has weight, for "pwmk".
    n_layers : {1, 2, 3}, default=2
        Number of layers of kernels, for "deep".
    normalize : bool, default=True
        Whether each kernel is scaled so that k(x, x) has mean 1 over the training points. Sample
        weights count in this mean, a weight of 2 as a repeated row. For "deep", whether
        k(x, z) is divided by sqrt(k(x, x) k(z, z)).
    fit_intercept : bool, default=True
        Whether the model has an intercept b.
    kernel_sharing : {"joint", "separate"}, default="joint"
        With more than two classes, each against the rest: one set of weights for all of these
        problems, which minimises the sum of their objectives, as in [1]_, or one for each.
    class_weight : dict or "balanced", default=None
        Factors of C by class.
    tol : float, default=1e-3
        The duality gap to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of iterations for one kernel.
    cache_size : float, default=1000
        Memory in MB for the kernel matrices. Kernels of low rank, such as those of single features,
        take little of it. Where the bank needs more, kernel values are computed when needed, with
        the same result up to `tol` and a certificate for the same problem. Refused are then the
        combinations "bayes" and "deep", given matrices, and callables not from this package.
    warm_start : bool, default=False
        Whether `fit` starts from the previous solution, weights included, where that has as many
        rows, classes and kernels.
    n_jobs : int, default=None
        Number of sets of weights learned at a time, and of threads in prediction; -1 for all
        processors.
    verbose : int, default=0
        1 reports every problem, 2 every step, through the logger ``kernelfit``.

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        The weights of the kernels; many are exactly 0 for "simple".
    kernel_ : callable or None
        The learned kernel ``k(X, Y)`` on raw data, for use in other estimators, as in
        ``SVC(kernel=model.kernel_)``; None for precomputed ones. Absent where there are several.
    kernels_ : list of callables
        The learned kernels, where each class has its own.
    bank_ : tuple of callables
        The kernels of the bank, normalised, each with its ``kernel``, ``features`` and ``scale``.
        Absent for precomputed ones.
    scales_ : ndarray of shape (n_kernels,)
        The factors that normalise the kernels.
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data, class by class; of equal rows, the first.
        They have a coefficient in `dual_coef_` or `witness_coef_`.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors. Absent for precomputed kernels.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_problems, n_SV)
        Coefficients of the support vectors.
    witness_coef_ : ndarray of shape (n_problems, n_SV)
        The coefficients that prove the lower bound; most often `dual_coef_` itself.
    intercept_ : ndarray of shape (n_problems,)
        The intercept b.
    objective_ : float or ndarray of shape (n_classes,)
        A lower bound on the optimum, summed over problems that share weights.
    dual_gap_ : float or ndarray of shape (n_classes,)
        Upper minus lower bound on the optimum.
    status_ : str or ndarray of str
        "proved": the gap is a proof; "non-convex" for "bayes"; "stationary" for "alignf_signed"
        with negative weights.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of iterations.
    converged_ : bool or ndarray of shape (n_classes,)
        Whether `tol` was reached.
    history_ : ndarray of shape (n_iter_, 2) or list of them
        Lower bound and gap after every iteration.
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
    ===============  ===============================================================================
    combination      weights
    ===============  ===============================================================================
    "simple"         those >= 0 with sum one that minimise the objective; most are exactly 0 [1]_
    "lp"             the same in a ball of the p-norm; none is 0 [2]_
    "average"        all equal
    "align"          each kernel by its centred alignment with the targets [3]_
    "alignf"         the sum with the largest such alignment [3]_
    "alignf_signed"  the same with weights of any sign (MKLpy's CKA)
    "easy"           EasyMKL: by the parts of the margin of the sum of all kernels [4]_
    "pwmk"           by the accuracy of each kernel alone, less `delta`, in three folds [5]_
    "bayes"          BMKL: the posterior means, of any sign; without C and loss [6]_
    "deep"           DMKL: with layers of kernels on their sum, by the span bound [7]_
    ===============  ===============================================================================

    All but those of "lp", "bayes" and "alignf_signed" sum to one. Those of "pwmk" are equal where
    different rows are too few for folds. For "simple" and "lp" the certificate is that of weights
    and machine together; for the others, of the machine with these weights. With negative
    weights, "alignf_signed" has none: the sum may be indefinite and the machine a stationary point
    that is not its optimum. The matrix M is nearly singular for most banks: weights are then those
    of a pseudo-inverse, without eigenvalues below 1e-10 of the largest. "bayes" has no certificate
    either: `objective_` is its evidence bound, which never falls, and `dual_gap_` is nan. It always
    has an intercept, takes weights of rows and classes of 0 or 1 alone, and divides the kernels by
    the mean of all their k(x, x), the unit of its priors. Each further layer of "deep", a sum of a
    linear, a Gaussian, a quadratic and a cubic kernel in the feature space of the one before, has a
    row of weights in ``kernel_.outer``.

    References
    ----------
    .. [1] A. Rakotomamonjy, F. R. Bach, S. Canu, Y. Grandvalet, "SimpleMKL", Journal of Machine
       Learning Research 9 (2008).
    .. [2] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, "Lp-norm multiple kernel learning",
       Journal of Machine Learning Research 12 (2011).
    .. [3] C. Cortes, M. Mohri, A. Rostamizadeh, "Algorithms for learning kernels based on centered
       alignment", Journal of Machine Learning Research 13 (2012).
    .. [4] F. Aiolli, M. Donini, "EasyMKL: a scalable multiple kernel learning algorithm",
       Neurocomputing 169 (2015).
    .. [5] H. Tanabe, T. B. Ho, C. H. Nguyen, S. Kawasaki, "Simple but effective methods for
       combining kernels in computational biology", Research, Innovation and Vision for the Future
       (2008).
    .. [6] M. Gönen, "Bayesian efficient multiple kernel learning", International Conference on
       Machine Learning (2012).
    .. [7] E. V. Strobl, S. Visweswaran, "Deep multiple kernel learning", International Conference
       on Machine Learning and Applications (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import MKLClassifier
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> y = X[:, 0] ** 2 + X[:, 1] > 1
    >>> bank = [{"kernel": "rbf", "gamma": 0.5, "features": "each"}]
    >>> model = MKLClassifier(C=10.0, kernels=bank).fit(X, y)
    >>> bool(model.weights_[2] < 0.1 * min(model.weights_[:2]))  # the third feature is noise
    True
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **MultipleKernelMachine._parameter_constraints,
        **ClassifierMachine._parameter_constraints,
        "combination": [StrOptions({*COMBINATIONS, "easy", "deep"})],
        "lam": [Interval(Real, 0, 1, closed="right")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "n_layers": [Interval(Integral, 1, 3, closed="both")],
        "kernel_sharing": [StrOptions({"separate", "joint"})],
    }

    def __init__(
        self,
        C=1.0,
        *,
        loss="hinge",
        kernels=None,
        combination="simple",
        p=2.0,
        lam=0.1,
        delta=0.0,
        n_layers=2,
        normalize=True,
        fit_intercept=True,
        kernel_sharing="joint",
        class_weight=None,
        tol=1e-3,
        max_iter=1000,
        cache_size=1000,
        warm_start=False,
        n_jobs=None,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.kernels = kernels
        self.combination = combination
        self.p = p
        self.lam = lam
        self.delta = delta
        self.n_layers = n_layers
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.kernel_sharing = kernel_sharing
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose


class MKLRegressor(RegressorMachine, MultipleKernelMachine):
    r"""Regression with a weighted sum of kernels, whose weights are learned.

    .. math::

        \min_{\mu \ge 0,\, \sum_m \mu_m = 1}\; \min_{f, b}\; \tfrac12 \|f\|_\mu^2
        + \sum_i C_i \max(0,\, |y_i - f(x_i) - b| - \epsilon)

    where :math:`\|f\|_\mu` is the norm of the kernel :math:`\sum_m \mu_m k_m`. The problem is
    convex; training stops when a lower and an upper bound on its optimum agree up to `tol`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    epsilon : float, default=0.1
        Half the width of the tube in which errors cost nothing.
    loss : {"tube", "squared_tube", "squared"}, default="tube"
        See `KernelSVR`.
    kernels : list, "precomputed" or None, default=None
        The bank. An entry is a name as in `KernelSVC`, a callable ``k(X, Y)``, such as the
        ``kernel_`` of another estimator, or a dict: "kernel", a name or a callable, with any of
        "gamma", "degree", "coef0" and "features". gamma and degree may be lists, for one kernel
        each; gamma is a number, "scale", "auto" or a multiple like "0.5*scale", of the features
        that the kernel sees. features is None for all, "each" for one kernel on every feature that
        varies, or a list of columns or names. None is the bank of the papers: ten Gaussian widths
        and polynomials of degree 1 to 3, on all features and on each. For "precomputed", X holds
        kernel matrices in the shape (n_samples, n_samples, n_kernels).
    combination : str, default="simple"
        How the weights are found: "simple", "lp", "average", "align", "alignf",
        "alignf_signed", "pwmk" or "bayes"; see Notes.
    p : float, default=2.0
        The norm for "lp", at least 1. The ball has the radius ``n_kernels ** (1 / p - 1)``, so that
        equal weights that sum to one are on its surface: from 1 to infinity it leads from "simple"
        to "average".
    normalize : bool, default=True
        Whether each kernel is scaled so that k(x, x) has mean 1 over the training points. Sample
        weights count in this mean, a weight of 2 as a repeated row.
    fit_intercept : bool, default=True
        Whether the model has an intercept b.
    tol : float, default=1e-3
        The duality gap to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of iterations for one kernel.
    cache_size : float, default=1000
        Memory in MB for the kernel matrices. Kernels of low rank, such as those of single features,
        take little of it. Where the bank needs more, kernel values are computed when needed, with
        the same result up to `tol` and a certificate for the same problem. Refused are then the
        combination "bayes", given matrices, and callables not from this package.
    warm_start : bool, default=False
        Whether `fit` starts from the previous solution, weights included, where that has as many
        rows, classes and kernels.
    verbose : int, default=0
        1 reports every problem, 2 every step, through the logger ``kernelfit``.

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,)
        The weights of the kernels; many are exactly 0 for "simple".
    kernel_ : callable or None
        The learned kernel ``k(X, Y)`` on raw data, for use in other estimators, as in
        ``SVC(kernel=model.kernel_)``; None for precomputed ones.
    bank_ : tuple of callables
        The kernels of the bank, normalised, each with its ``kernel``, ``features`` and ``scale``.
        Absent for precomputed ones.
    scales_ : ndarray of shape (n_kernels,)
        The factors that normalise the kernels.
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data; of equal rows, the first. They have a
        coefficient in `dual_coef_` or `witness_coef_`.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors. Absent for precomputed kernels.
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
        "proved": the gap is a proof; "non-convex" for "bayes"; "stationary" for "alignf_signed"
        with negative weights.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether `tol` was reached.
    history_ : ndarray of shape (n_iter_, 2)
        Lower bound and gap after every iteration.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    Notes
    -----
    ===============  ===============================================================================
    combination      weights
    ===============  ===============================================================================
    "simple"         those >= 0 with sum one that minimise the objective; most are exactly 0 [1]_
    "lp"             the same in a ball of the p-norm; none is 0 [2]_
    "average"        all equal
    "align"          each kernel by its centred alignment with the targets [3]_
    "alignf"         the sum with the largest such alignment [3]_
    "alignf_signed"  the same with weights of any sign (MKLpy's CKA)
    "pwmk"           the smaller the mean squared error of a kernel alone, in three folds, the more
                     [4]_
    "bayes"          BMKL: the posterior means, of any sign; without C, epsilon and loss [5]_
    ===============  ===============================================================================

    All but those of "lp", "bayes" and "alignf_signed" sum to one. Those of "pwmk" are equal where
    different rows are too few for folds. For "simple" and "lp" the certificate is that of weights
    and machine together; for the others, of the machine with these weights. With negative
    weights, "alignf_signed" has none: the sum may be indefinite and the machine a stationary point
    that is not its optimum. The matrix M is nearly singular for most banks: weights are then those
    of a pseudo-inverse, without eigenvalues below 1e-10 of the largest. "bayes" has no certificate
    either: `objective_` is its evidence bound, which never falls, and `dual_gap_` is nan. It always
    has an intercept and takes weights of rows of 0 or 1 alone. Its priors assume standardised data:
    targets are centred and divided by their standard deviation, and kernels by the mean of all
    their k(x, x); coefficients, intercept and bound are those of the targets as they are.

    References
    ----------
    .. [1] A. Rakotomamonjy, F. R. Bach, S. Canu, Y. Grandvalet, "SimpleMKL", Journal of Machine
       Learning Research 9 (2008).
    .. [2] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, "Lp-norm multiple kernel learning",
       Journal of Machine Learning Research 12 (2011).
    .. [3] C. Cortes, M. Mohri, A. Rostamizadeh, "Algorithms for learning kernels based on centered
       alignment", Journal of Machine Learning Research 13 (2012).
    .. [4] S. Qiu, T. Lane, "A framework for multiple kernel support vector regression and its
       applications to siRNA efficacy prediction", IEEE/ACM Transactions on Computational Biology
       and Bioinformatics 6 (2009).
    .. [5] M. Gönen, "Bayesian efficient multiple kernel learning", International Conference on
       Machine Learning (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import MKLRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(150, 2))
    >>> y = np.sin(2 * X[:, 0])
    >>> model = MKLRegressor(C=10.0, epsilon=0.05).fit(X, y)
    >>> used = [model.bank_[m].features for m in np.flatnonzero(model.weights_)]
    >>> (0,) in used, (1,) in used
    (True, False)
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **MultipleKernelMachine._parameter_constraints,
        **RegressorMachine._parameter_constraints,
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        loss="tube",
        kernels=None,
        combination="simple",
        p=2.0,
        normalize=True,
        fit_intercept=True,
        tol=1e-3,
        max_iter=1000,
        cache_size=1000,
        warm_start=False,
        verbose=0,
    ):
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.kernels = kernels
        self.combination = combination
        self.p = p
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.verbose = verbose
