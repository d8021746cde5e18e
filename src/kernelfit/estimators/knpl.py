"""Support vector machines with a nonlinear pairwise layer (KNPL)."""

from typing import ClassVar

from kernelfit.estimators.adaptive import AdaptiveMachine
from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.regressor import RegressorMachine
from kernelfit.estimators.svm import MULTICLASS
from kernelfit.utils.sklearn_private import StrOptions

_SOLVERS = {
    "auto",
    "newton",
    "damped",
    "alternating",
    "admm",
    "nesterov",
    "nesterov_monotone",
    "projected_gradient",
}


class KNPLClassifier(ClassifierMachine, AdaptiveMachine):
    r"""Support vector classification with a pairwise layer over its kernel.

    .. math::

        \max_\beta \min_{G \succeq 0,\, G \mathbf 1 = n \mathbf 1}\; y^\top\beta
        - \tfrac12 \beta^\top (G \circ K)\beta + \eta \|G\|_F^2
        \quad\text{s.t.}\quad 0 \le y_i \beta_i \le C_i,\; \mathbf 1^\top\beta = 0

    The nonlinear pairwise layer (KNPL) [1]_: the kernel matrix K is multiplied, entry by entry,
    with a matrix G whose rows have mean one and that is learned with the machine. The paper's
    coefficient gamma is called `eta` here; G has a closed form given beta.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    loss : {"hinge", "squared_hinge", "squared"}, default="hinge"
        See `KernelSVC`. The gradient methods among the solvers do not take the squares.
    eta : "auto", str or float, default="auto"
        Weight of the penalty, gamma in [1]_, where it is chosen by 5-fold cross-validation: see
        :func:`kernelfit.papers.knpl_protocol`. "auto" is the squared norm of the
        coefficients of the plain machine, the choice of the DANK paper, and "0.1*auto" a multiple
        of it; infinity gives the plain machine. With a linear kernel and points on a grid, the
        plain machine has many solutions, and "auto" depends on which of them was found: give a
        number there.
    out_of_sample : {"neutral", "knn", "nearest", "reciprocal", "smooth", "hyper"}, \
            default="neutral"
        The factor between a new point and the training points. "neutral" is 1, with the
        intercept fitted to that; the other rules average rows of the factor: those of the
        `n_neighbors` nearest training points, of the nearest one, of the reciprocal nearest
        neighbour, or of all in proportion to the kernel. "reciprocal" is the DANK paper's;
        with it, the prediction of one point depends on the others, and sample weights do
        not count. "smooth" needs the rbf or laplacian kernel. "hyper", for the rbf kernel,
        fits the learned matrix by non-negative least squares in a hyper-reproducing kernel
        space, on 200 rows at most.
    n_neighbors : int, default=5
        For "knn"; all training points where there are fewer. A weight of 2 counts as two points.
    kernel : str or callable, default="rbf"
        The initial kernel: "linear", "poly", "rbf", "laplacian", "exponential", "matern32",
        "matern52", "rational_quadratic", "additive" or "precomputed"; precomputed matrices need
        ``out_of_sample="neutral"``.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"}, float or array-like, default="scale"
        Of all kernels by name but the linear one; see `KernelSVC`.
    coef0 : float, default=0.0
        Of the polynomial kernel.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept.
    solver : str, default="auto"
        "auto" takes "newton". Slower: "damped", alternation with a line search, "nesterov",
        "nesterov_monotone" and "projected_gradient". The paper's methods, plain alternation with
        the factor in closed form ("alternating") or by ADMM ("admm"), mostly end in a cycle of two
        solutions; the best certified pair is kept. All stop on the same certificate.
    multi_class : {"ovo", "ovr"}, default="ovo"
        How more than two classes are divided into problems, each with its own factor.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        See `KernelSVC`.
    break_ties : bool, default=False
        See `KernelSVC`.
    class_weight : dict or "balanced", default=None
        Weights by class; they multiply the sample weights.
    tol : float, default=1e-6
        The duality gap to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of rounds in one problem.
    cache_size : float, default=1000
        Memory in MB for the kernel matrix; the rows of a larger one are computed on demand.
    warm_start : bool, default=False
        Whether `fit` starts from the previous solution where that has as many rows.
    n_jobs : int, default=None
        Number of problems, or of blocks, solved at a time, and of threads in prediction.
    verbose : int, default=0
        1 reports every problem, 2 every round, through the logger ``kernelfit``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    class_weight_ : ndarray of shape (n_classes,)
        Weights by class.
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        The support vectors. Absent with a precomputed kernel.
    n_support_ : ndarray of int
        Number of support vectors, by class.
    dual_coef_ : ndarray of shape (n_layers, n_SV)
        Coefficients beta, as in `KernelSVC`.
    witness_coef_ : ndarray of shape (n_layers, n_SV)
        The coefficients that prove the lower bound: `dual_coef_` itself.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts: fitted to the neutral factor with ``out_of_sample="neutral"``, otherwise to the
        learned one on the training points, whatever rule extends it.
    eta_ : float
        The value of eta; an array where there is more than one problem, as below.
    adaptive_matrix_ : ndarray of shape (n_rows, n_rows)
        The factor on the training rows of positive weight, computed on request; a list where there
        is more than one problem, each on its own rows.
    rank_ : int
        Its numerical rank, computed on request.
    objective_ : float
        Value of the reduced objective, 0 at beta = 0; a lower bound on the optimum.
    dual_gap_ : float
        Upper minus lower bound on the optimum; nan where the kernel matrix is indefinite.
    status_ : str or ndarray of str
        "proved" where the gap is a proof; "stationary" where the kernel matrix was found to be
        indefinite, and `dual_gap_` is nan.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether `tol` was reached.
    history_ : ndarray of shape (max(n_iter_, 1), 2)
        Objective and gap after every round, or of a start that was good enough; a list where there
        is more than one problem.
    kernel_ : callable or None
        The learned kernel ``k(X, Y)`` for any points, as in ``SVC(kernel=model.kernel_)``: the
        initial kernel times the factor that `out_of_sample` gives them; with "neutral" that of
        new points everywhere. None when precomputed. Absent where there are several. On the
        training rows the learned kernel is ``adaptive_matrix_`` times the initial one.
    kernels_ : list of callables
        The learned kernels, where the problems of several classes have different ones.
    gamma_ : float
        The value of gamma, for kernels that have one.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    KernelSVC : The plain machine.

    Notes
    -----
    On new points the factor is not known, and the rules that extend it have not been found to gain
    over the plain machine on average; see `out_of_sample`. A sample weight of 2 equals a repeated
    row, in the penalty as in the loss.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Nonlinear Pairwise Layer and Its Training for
       Kernel Learning". AAAI Conference on Artificial Intelligence, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import minmax_scale
    >>> from kernelfit import KNPLClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = KNPLClassifier(C=10.0).fit(minmax_scale(X), y)
    >>> model.score(minmax_scale(X), y) > 0.97
    True
    """

    _method = "knpl"
    _parameter_constraints: ClassVar[dict] = {
        **AdaptiveMachine._parameter_constraints,
        **ClassifierMachine._parameter_constraints,
        **MULTICLASS,
        "solver": [StrOptions(_SOLVERS)],
    }

    def __init__(
        self,
        C=1.0,
        *,
        loss="hinge",
        eta="auto",
        out_of_sample="neutral",
        n_neighbors=5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        fit_intercept=True,
        solver="auto",
        multi_class="ovo",
        decision_function_shape="ovr",
        break_ties=False,
        class_weight=None,
        tol=1e-6,
        max_iter=1000,
        cache_size=1000,
        warm_start=False,
        n_jobs=None,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.eta = eta
        self.out_of_sample = out_of_sample
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose


class KNPLRegressor(RegressorMachine, AdaptiveMachine):
    r"""Support vector regression with a pairwise layer over its kernel.

    .. math::

        \max_\beta \min_{G \succeq 0,\, G \mathbf 1 = n \mathbf 1}\; y^\top\beta
        - \epsilon \|\beta\|_1 - \tfrac12 \beta^\top (G \circ K)\beta + \eta \|G\|_F^2
        \quad\text{s.t.}\quad |\beta_i| \le C_i,\; \mathbf 1^\top\beta = 0

    The nonlinear pairwise layer (KNPL) [1]_: the kernel matrix K is multiplied, entry by entry,
    with a matrix G whose rows have mean one and that is learned with the machine. The paper's
    coefficient gamma is called `eta` here; G has a closed form given beta.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    epsilon : float, default=0.1
        Half the width of the tube in which errors cost nothing.
    loss : {"tube", "squared_tube", "squared"}, default="tube"
        See `KernelSVR`. The gradient methods among the solvers do not take the squares.
    eta : "auto", str or float, default="auto"
        Weight of the penalty, gamma in [1]_, where it is chosen by 5-fold cross-validation: see
        :func:`kernelfit.papers.knpl_protocol`. "auto" is the squared norm of the
        coefficients of the plain machine, the choice of the DANK paper, and "0.1*auto" a multiple
        of it; infinity gives the plain machine. With a linear kernel and points on a grid, the
        plain machine has many solutions, and "auto" depends on which of them was found: give a
        number there.
    out_of_sample : {"neutral", "knn", "nearest", "reciprocal", "smooth", "hyper"}, \
            default="neutral"
        The factor between a new point and the training points. "neutral" is 1, with the
        intercept fitted to that; the other rules average rows of the factor: those of the
        `n_neighbors` nearest training points, of the nearest one, of the reciprocal nearest
        neighbour, or of all in proportion to the kernel. "reciprocal" is the DANK paper's;
        with it, the prediction of one point depends on the others, and sample weights do
        not count. "smooth" needs the rbf or laplacian kernel. "hyper", for the rbf kernel,
        fits the learned matrix by non-negative least squares in a hyper-reproducing kernel
        space, on 200 rows at most.
    n_neighbors : int, default=5
        For "knn"; all training points where there are fewer. A weight of 2 counts as two points.
    kernel : str or callable, default="rbf"
        The initial kernel: "linear", "poly", "rbf", "laplacian", "exponential", "matern32",
        "matern52", "rational_quadratic", "additive" or "precomputed"; precomputed matrices need
        ``out_of_sample="neutral"``.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"}, float or array-like, default="scale"
        Of all kernels by name but the linear one; see `KernelSVC`.
    coef0 : float, default=0.0
        Of the polynomial kernel.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept.
    solver : str, default="auto"
        "auto" takes "newton". Slower: "damped", alternation with a line search, "nesterov",
        "nesterov_monotone" and "projected_gradient". The paper's methods, plain alternation with
        the factor in closed form ("alternating") or by ADMM ("admm"), mostly end in a cycle of two
        solutions; the best certified pair is kept. All stop on the same certificate.
    tol : float, default=1e-6
        The duality gap to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of rounds in one problem.
    cache_size : float, default=1000
        Memory in MB for the kernel matrix; the rows of a larger one are computed on demand.
    warm_start : bool, default=False
        Whether `fit` starts from the previous solution where that has as many rows.
    verbose : int, default=0
        1 reports every problem, 2 every round, through the logger ``kernelfit``.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        The support vectors. Absent with a precomputed kernel.
    n_support_ : ndarray of int
        Number of support vectors, by class.
    dual_coef_ : ndarray of shape (n_layers, n_SV)
        Coefficients beta, as in `KernelSVR`.
    witness_coef_ : ndarray of shape (n_layers, n_SV)
        The coefficients that prove the lower bound: `dual_coef_` itself.
    intercept_ : ndarray of shape (n_problems,)
        The intercept: fitted to the neutral factor with ``out_of_sample="neutral"``, otherwise to
        the learned one on the training points, whatever rule extends it.
    eta_ : float
        The value of eta; an array where there is more than one problem, as below.
    adaptive_matrix_ : ndarray of shape (n_rows, n_rows)
        The factor on the training rows of positive weight, computed on request.
    rank_ : int
        Its numerical rank, computed on request.
    objective_ : float
        Value of the reduced objective, 0 at beta = 0; a lower bound on the optimum.
    dual_gap_ : float
        Upper minus lower bound on the optimum; nan where the kernel matrix is indefinite.
    status_ : str
        "proved" where the gap is a proof; "stationary" where the kernel matrix was found to be
        indefinite, and `dual_gap_` is nan.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether `tol` was reached.
    history_ : ndarray of shape (max(n_iter_, 1), 2)
        Objective and gap after every round, or of a start that was good enough.
    kernel_ : callable or None
        The learned kernel ``k(X, Y)`` for any points, as in ``SVC(kernel=model.kernel_)``: the
        initial kernel times the factor that `out_of_sample` gives them; with "neutral" that of
        new points everywhere. None when precomputed. On the training rows the learned kernel is
        ``adaptive_matrix_`` times the initial one.
    gamma_ : float
        The value of gamma, for kernels that have one.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    See Also
    --------
    KernelSVR : The plain machine.

    Notes
    -----
    On new points the factor is not known, and the rules that extend it have not been found to gain
    over the plain machine on average; see `out_of_sample`. A sample weight of 2 equals a repeated
    row, in the penalty as in the loss.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Nonlinear Pairwise Layer and Its Training for
       Kernel Learning". AAAI Conference on Artificial Intelligence, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KNPLRegressor
    >>> X = np.linspace(0, 6, 50)[:, np.newaxis]
    >>> model = KNPLRegressor(C=10.0, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[np.pi / 2]]).round(1)
    array([1.])
    """

    _method = "knpl"
    _parameter_constraints: ClassVar[dict] = {
        **AdaptiveMachine._parameter_constraints,
        **RegressorMachine._parameter_constraints,
        "solver": [StrOptions(_SOLVERS)],
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        loss="tube",
        eta="auto",
        out_of_sample="neutral",
        n_neighbors=5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        fit_intercept=True,
        solver="auto",
        tol=1e-6,
        max_iter=1000,
        cache_size=1000,
        warm_start=False,
        verbose=0,
    ):
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.eta = eta
        self.out_of_sample = out_of_sample
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.verbose = verbose
