"""Support vector machines with a data-adaptive non-parametric kernel (DANK)."""

from numbers import Integral, Real
from typing import ClassVar

from kernelfit.estimators.adaptive import AdaptiveMachine
from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.regressor import RegressorMachine
from kernelfit.estimators.standard import DEVICE
from kernelfit.estimators.svm import MULTICLASS
from kernelfit.utils.sklearn_private import Interval, StrOptions

_SOLVERS = ("auto", "quartic", "newton", "damped", "nesterov", "nesterov_monotone",
            "projected_gradient")  # fmt: skip
_DANK_CONSTRAINTS = {
    "tau": [Interval(Real, 0, None, closed="left")],
    "solver": [StrOptions(set(_SOLVERS))],
    "partition": [Interval(Integral, 1, None, closed="left"), "array-like", None],
    "combine": [StrOptions({"global", "concatenate", "nearest"})],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    **DEVICE,
}


class DANKClassifier(ClassifierMachine, AdaptiveMachine):
    r"""Support vector classification with a data-adaptive factor of its kernel.

    .. math::

        \max_\beta \min_{F \succeq 0}\; y^\top\beta - \tfrac12 \beta^\top (F \circ K)\beta
        + \eta \|F - \mathbf{11}^\top\|_F^2 + \tau\eta \|F\|_*
        \quad\text{s.t.}\quad 0 \le y_i \beta_i \le C_i,\; \mathbf 1^\top\beta = 0

    The data-adaptive non-parametric kernel (DANK) [1]_: the kernel matrix K is multiplied, entry by
    entry, with a matrix F near 11' and of low rank that is learned with the machine.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    loss : {"hinge", "squared_hinge", "squared"}, default="hinge"
        See `KernelSVC`. Of the solvers, "newton" and "damped" take the squares.
    eta : "auto", str or float, default="auto"
        Weight of the penalty. "auto" is the paper's choice, the squared norm of the coefficients of
        the plain machine, and "0.1*auto" a multiple of it; with `partition`, of the
        blocks' plain machines, which have no intercept. Infinity trains the plain machine with the
        kernel times ``1 - tau / (2 n)``, or 0 if that is negative, where n is the sum of the
        weights; for tau = 0 this is the plain machine itself. With a linear
        kernel and points on a grid, the plain machine has many solutions, and "auto" depends on
        which of them was found: give a number there.
    tau : float, default=0.0
        Weight of the nuclear norm relative to eta. The paper takes 0.01, which is much slower on
        large data and predicts alike.
    out_of_sample : {"neutral", "knn", "nearest", "reciprocal", "smooth", "hyper"}, \
            default="neutral"
        The factor between a new point and the training points. "neutral" is that without
        adaptation, ``1 - tau / (2 n)`` or 0 if that is negative, where n is the sum of the weights,
        with the intercept fitted to that; the other rules average rows of the factor: those of the
        `n_neighbors` nearest training points, of the nearest one, of the reciprocal nearest
        neighbour, or of all in proportion to the kernel. "reciprocal" is the paper's; with it, the
        prediction of one point depends on the others, and sample weights do not count. "smooth"
        needs the rbf or laplacian kernel. "hyper", for the rbf kernel, fits the learned matrix by
        non-negative least squares in a hyper-reproducing kernel space, on 200 rows at most.
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
        "auto" takes "quartic" (for tau = 0) or "newton". Slower: "damped", alternation with a line
        search, and the paper's "nesterov", "nesterov_monotone" and "projected_gradient". All stop
        on the same certificate.
    partition : int or array-like of shape (n_samples,), default=None
        Number of blocks into which k-means splits the data, or the block of every row. Each is
        solved alone, without nuclear norm and intercept, through joblib.
    combine : {"global", "concatenate", "nearest"}, default="global"
        What becomes of the blocks' solutions: the start of a solve on all of the data; one machine
        without intercept; or a machine for each block, of which the one with the nearest centre
        predicts, or, with given blocks, that of the nearest training point. The last two are in
        general no optimum of the whole problem: `dual_gap_` and `converged_` say how far they are
        from that of all data without nuclear norm and intercept, and a ConvergenceWarning is given
        beyond `tol`. On ijcnn1 in 50 blocks "concatenate", the paper's scheme, costs four points of
        accuracy, as other blocks outweigh that of a point, "nearest" none.
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
    device : str, default=None
        See `KernelSVC`. A device takes tau = 0 and the loss "hinge", without partition.
    random_state : int, RandomState instance or None, default=None
        Of k-means, for `partition`.
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
        is more than one problem, each on its own rows. Ones between the blocks of a partition whose
        solutions are kept.
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
    cluster_centers_ : ndarray of shape (partition, n_features)
        Centres of the blocks, where k-means made them.
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
    The factor raises the accuracy on the training points: it acts there like a ridge that adapts to
    each point. On new points it is not known, and the rules that extend it have not been found to
    gain over the plain machine on average; see `out_of_sample`. A sample weight of 2 equals a
    repeated row, in the penalty as in the loss.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Learning Data-adaptive Non-parametric
       Kernels". Journal of Machine Learning Research 21, 2020.
       http://jmlr.org/papers/v21/19-900.html

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from kernelfit import DANKClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DANKClassifier(C=10.0).fit(minmax_scale(X), y)
    >>> model.score(minmax_scale(X), y) > 0.97
    True
    >>> model.dual_gap_ < 1e-6 * model.objective_
    True
    """

    _method = "dank"
    _parameter_constraints: ClassVar[dict] = {
        **AdaptiveMachine._parameter_constraints,
        **ClassifierMachine._parameter_constraints,
        **MULTICLASS,
        **_DANK_CONSTRAINTS,
    }

    def __init__(
        self,
        C=1.0,
        *,
        loss="hinge",
        eta="auto",
        tau=0.0,
        out_of_sample="neutral",
        n_neighbors=5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        fit_intercept=True,
        solver="auto",
        partition=None,
        combine="global",
        multi_class="ovo",
        decision_function_shape="ovr",
        break_ties=False,
        class_weight=None,
        tol=1e-6,
        max_iter=1000,
        cache_size=1000,
        warm_start=False,
        n_jobs=None,
        device=None,
        random_state=None,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.eta = eta
        self.tau = tau
        self.out_of_sample = out_of_sample
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.partition = partition
        self.combine = combine
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose


class DANKRegressor(RegressorMachine, AdaptiveMachine):
    r"""Support vector regression with a data-adaptive factor of its kernel.

    .. math::

        \max_\beta \min_{F \succeq 0}\; y^\top\beta - \epsilon \|\beta\|_1
        - \tfrac12 \beta^\top (F \circ K)\beta
        + \eta \|F - \mathbf{11}^\top\|_F^2 + \tau\eta \|F\|_*
        \quad\text{s.t.}\quad |\beta_i| \le C_i,\; \mathbf 1^\top\beta = 0

    The data-adaptive non-parametric kernel (DANK) [1]_: the kernel matrix K is multiplied, entry by
    entry, with a matrix F near 11' and of low rank that is learned with the machine.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    epsilon : float, default=0.1
        Half the width of the tube in which errors cost nothing.
    loss : {"tube", "squared_tube", "squared"}, default="tube"
        See `KernelSVR`. Of the solvers, "newton" and "damped" take the squares.
    eta : "auto", str or float, default="auto"
        Weight of the penalty. "auto" is the paper's choice, the squared norm of the coefficients of
        the plain machine, and "0.1*auto" a multiple of it; with `partition`, of the
        blocks' plain machines, which have no intercept. Infinity trains the plain machine with the
        kernel times ``1 - tau / (2 n)``, or 0 if that is negative, where n is the sum of the
        weights; for tau = 0 this is the plain machine itself. With a linear
        kernel and points on a grid, the plain machine has many solutions, and "auto" depends on
        which of them was found: give a number there.
    tau : float, default=0.0
        Weight of the nuclear norm relative to eta. The paper takes 0.01, which is much slower on
        large data and predicts alike.
    out_of_sample : {"neutral", "knn", "nearest", "reciprocal", "smooth", "hyper"}, \
            default="neutral"
        The factor between a new point and the training points. "neutral" is that without
        adaptation, ``1 - tau / (2 n)`` or 0 if that is negative, where n is the sum of the weights,
        with the intercept fitted to that; the other rules average rows of the factor: those of the
        `n_neighbors` nearest training points, of the nearest one, of the reciprocal nearest
        neighbour, or of all in proportion to the kernel. "reciprocal" is the paper's; with it, the
        prediction of one point depends on the others, and sample weights do not count. "smooth"
        needs the rbf or laplacian kernel. "hyper", for the rbf kernel, fits the learned matrix by
        non-negative least squares in a hyper-reproducing kernel space, on 200 rows at most.
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
        "auto" takes "quartic" (for tau = 0) or "newton". Slower: "damped", alternation with a line
        search, and the paper's "nesterov", "nesterov_monotone" and "projected_gradient". All stop
        on the same certificate.
    partition : int or array-like of shape (n_samples,), default=None
        As in `DANKClassifier`. Unless ``fit_intercept=False``, the (weighted) mean of the targets
        is subtracted first.
    combine : {"global", "concatenate", "nearest"}, default="global"
        What becomes of the blocks' solutions: the start of a solve on all of the data; one machine
        with that mean as its intercept; or such a machine for each block, of which the
        one with the nearest centre predicts, or, with given blocks, that of the nearest training
        point. The last two are in general no optimum of the whole
        problem: `dual_gap_` and `converged_` say how far they are from that of all data without
        nuclear norm and with this intercept, and a ConvergenceWarning is given beyond `tol`.
        "concatenate" adds up functions that fit the targets of their blocks one by one, so that
        near other blocks the sum overshoots, unless the kernel vanishes between blocks; a gap
        that is no small part of the objective shows it. Then take "nearest".
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
    device : str, default=None
        See `KernelSVR`. A device takes tau = 0 and the loss "tube", without partition.
    random_state : int, RandomState instance or None, default=None
        Of k-means, for `partition`.
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
        The factor on the training rows of positive weight, computed on request. Ones between the
        blocks of a partition whose solutions are kept.
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
    cluster_centers_ : ndarray of shape (partition, n_features)
        Centres of the blocks, where k-means made them.
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
    The factor raises the accuracy on the training points: it acts there like a ridge that adapts to
    each point. On new points it is not known, and the rules that extend it have not been found to
    gain over the plain machine on average; see `out_of_sample`. A sample weight of 2 equals a
    repeated row, in the penalty as in the loss.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Learning Data-adaptive Non-parametric
       Kernels". Journal of Machine Learning Research 21, 2020.
       http://jmlr.org/papers/v21/19-900.html

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import DANKRegressor
    >>> X = np.linspace(0, 6, 50)[:, np.newaxis]
    >>> model = DANKRegressor(C=10.0, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[np.pi / 2]]).round(1)
    array([1.])
    """

    _method = "dank"
    _parameter_constraints: ClassVar[dict] = {
        **AdaptiveMachine._parameter_constraints,
        **RegressorMachine._parameter_constraints,
        **_DANK_CONSTRAINTS,
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        loss="tube",
        eta="auto",
        tau=0.0,
        out_of_sample="neutral",
        n_neighbors=5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        fit_intercept=True,
        solver="auto",
        partition=None,
        combine="global",
        tol=1e-6,
        max_iter=1000,
        cache_size=1000,
        warm_start=False,
        n_jobs=None,
        device=None,
        random_state=None,
        verbose=0,
    ):
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.eta = eta
        self.tau = tau
        self.out_of_sample = out_of_sample
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.partition = partition
        self.combine = combine
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
