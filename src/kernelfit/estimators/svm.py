"""Support vector machines with a given kernel."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.cluster import KMeans

from kernelfit.estimators.classifier import ClassifierMachine
from kernelfit.estimators.regressor import RegressorMachine
from kernelfit.estimators.standard import DEVICE, StandardKernelMachine
from kernelfit.learners.fixed import FixedLearner
from kernelfit.utils.sklearn_private import Interval, StrOptions

# Of the classifiers that divide more than two classes into problems.
MULTICLASS = {
    "multi_class": [StrOptions({"ovo", "ovr"})],
    "decision_function_shape": [StrOptions({"ovo", "ovr"})],
    "break_ties": ["boolean"],
}


# Of a kernel matrix that is computed as a whole by default. Beyond, more rows than are needed are
# dearer than single steps on a matrix in memory are cheap.
_WHOLE_BYTES = 2**29
# Rows up to which the problems of many classes are solved beyond the tolerance.
_POLISHED_ROWS = 1000
# Rows of k-means, and of the largest block: its matrix is in memory as a whole.
_CLUSTERED_ROWS, _MOST_IN_BLOCK = 30000, 6000
PARTITION = {
    "partition": [Interval(Integral, 1, None, closed="left"), None],
    "random_state": ["random_state"],
}


class FixedKernelMachine(StandardKernelMachine):
    """The learner of both machines."""

    partition: Any = None  # where the machine has no such parameter
    random_state = None

    _parameter_constraints: ClassVar[dict] = {
        **StandardKernelMachine._parameter_constraints,
        "cache_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }

    def _dense_bytes(self, memory):
        # Every pair of many classes reads a part of the matrix.
        pairs = getattr(self, "multi_class", None) == "ovo" and self._has_many_classes
        return memory if pairs or self.cache_size != "auto" else min(memory, _WHOLE_BYTES)

    @property
    def _has_many_classes(self):
        return len(getattr(self, "classes_", ())) > 2

    def _learner(self, X, targets, weight, unit_cost, matrix):
        kernel, gram, psd = self._make_gram(X, weight, matrix)
        polish = self._polish and not (self._has_many_classes and X.shape[0] > _POLISHED_ROWS)
        blocks = None if self.partition is None else self._divide(X, weight)
        options = self.tol, self.max_iter, polish, blocks, self.n_jobs
        return FixedLearner(gram, kernel, psd, *options)

    def _divide(self, X, weight):
        """Return the blocks of the rows, by k-means on some of them; large ones are divided."""
        if self._precomputed or self.device is not None:
            kind = "a precomputed kernel matrix" if self._precomputed else f"device={self.device!r}"
            raise ValueError(f"expected data on the CPU to partition, got {kind}")
        n = X.shape[0]
        if self.partition > n:
            raise ValueError(
                f"expected a partition into at most {n} blocks, the number of rows of positive "
                f"weight, got {self.partition}"
            )
        some = np.linspace(0, n - 1, min(n, max(_CLUSTERED_ROWS, self.partition))).astype(np.intp)
        means = KMeans(self.partition, n_init=1, random_state=self.random_state)
        means.fit(X[some], sample_weight=weight[some])
        chunks = (X[first : first + _CLUSTERED_ROWS] for first in range(0, n, _CLUSTERED_ROWS))
        blocks = np.concatenate([means.predict(chunk) for chunk in chunks]).astype(np.intp)
        rank = np.empty(n, dtype=np.intp)  # among the rows of its block
        order = np.argsort(blocks, kind="stable")
        sizes = np.bincount(blocks, minlength=self.partition)
        rank[order] = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        pieces = -(-sizes // _MOST_IN_BLOCK)
        return blocks + self.partition * (rank % pieces[blocks])

    def _note_plan(self, plan, rows):
        if plan.learner.blocks is not None:  # costs and blocks of all rows, for diagnostics
            table = np.zeros((3, self.shape_fit_[0]))
            table[:, rows] = self.C * plan.unit_cost, plan.unit_cost, plan.learner.blocks
            self._row_blocks = table[0], table[1], table[2].astype(np.intp)
            self._group_rows = [np.sort(rows[group[0].rows]) for group in plan.groups]


class KernelSVC(ClassifierMachine, FixedKernelMachine):
    r"""Support vector classification that proves how close to the optimum it is.

    Each binary problem, with labels :math:`y_i = \pm 1`, is

    .. math::

        \min_{f, b}\; \tfrac12 \|f\|^2 + \sum_i C_i \max(0,\, 1 - y_i (f(x_i) + b))
        \;=\; \max_\beta\; y^\top\beta - \tfrac12 \beta^\top K \beta
        \quad\text{s.t.}\quad 0 \le y_i \beta_i \le C_i,\; \mathbf 1^\top\beta = 0

    with :math:`f = \sum_i \beta_i k(x_i, \cdot)` and :math:`C_i` the product of `C`, the sample
    weight and the class weight. Training stops when the difference of the two values, the duality
    gap, is at most `tol` times the objective, and then removes what is left of it by a few more
    rounds where that costs little: with the kernel matrix in memory or few rows and, for more than
    two classes, up to 1,000 rows.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    loss : {"hinge", "squared_hinge", "squared"}, default="hinge"
        The loss above; its square; or :math:`(1 - y_i (f(x_i) + b))^2` (least squares). For the
        squares, :math:`y_i \beta_i` has no upper bound, for the last one no bound at all, and the
        diagonal of K in the dual gains :math:`1 / (2 C_i)`.
    kernel : str or callable, default="rbf"
        The kernel: "linear", "poly", "rbf", "laplacian", "exponential", "matern32", "matern52",
        "rational_quadratic", "additive" or "precomputed". A callable takes two arrays of points,
        ``k(X, Y)``, and returns their kernel matrix.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"}, float or array-like, default="scale"
        Of all kernels by name but the linear one: a number, or one a feature. "scale" is
        ``1 / (n_features * X.var())``, the variance taken with the sample weights, and "auto" is
        ``1 / n_features``; of these, the kernels of the distance itself ("exponential", "matern32",
        "matern52") take the root, and "additive" takes ``n_features`` times.
    coef0 : float, default=0.0
        Of the polynomial kernel.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept b.
    multi_class : {"ovo", "ovr"}, default="ovo"
        With more than two classes, train one problem for every pair of classes and let them vote,
        or one for each class against the rest and take the largest decision value.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` gives one value a class, or with ``multi_class="ovo"`` one a
        pair of classes.
    break_ties : bool, default=False
        Whether `predict` orders classes of equal votes by their decision values; otherwise
        the first of them wins.
    class_weight : dict or "balanced", default=None
        Factors of C by class. "balanced" gives every class the same total weight, counted with
        the sample weights.
    tol : float, default=1e-6
        The duality gap to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of passes in one problem. A round improves a block of about a thousand
        variables; as many rounds as take every variable once are a pass.
    partition : int, default=None
        Divide the rows into so many blocks by k-means, solve each alone and start from their
        solutions, which are close to that of the whole where the kernel is narrow
        (`kernelfit.inspection.diagnose_partition` bounds what they lack without an intercept);
        for very many rows. None starts from a subsample where the kernel matrix is not stored,
        or from zero where a Gaussian kernel is so narrow that most points are too far apart to
        count: blocks of neighbours are then solved in any case.
    cache_size : float or "auto", default="auto"
        Memory in MB for the kernel matrix. A larger one is not stored: its rows are computed
        in single precision when needed and the latest are kept; the certificate remains in
        double precision. "auto" is a quarter of the memory that is available, limits of containers
        and of the process included; of a matrix above 512 MB, needed rows alone are computed then.
    warm_start : bool, default=False
        Whether `fit` starts from the previous solution where that has as many rows and classes.
    n_jobs : int, default=None
        Number of problems solved at a time, and of threads in prediction; -1 for all processors.
        One-vs-rest problems on a kernel matrix that is not stored take turns.
    device : str, default=None
        Where to train and predict: None for the solver on the processor, "cuda" for a GPU, by
        torch (extra ``gpu``); "cpu" runs the same by torch on the processor. It takes dense X
        and all kernels by name. The kernel matrix is kept in the GPU's memory in
        single precision where it fits and computed when needed otherwise, whatever `cache_size`;
        the certificate remains in double precision. Problems of more than 2,048 rows end as soon
        as `tol` is met.
    random_state : int, RandomState instance or None, default=None
        Of k-means, for `partition`.
    verbose : int, default=0
        1 reports every problem, and every five seconds of a long one the gap, the time so far and
        about how much is left; 2 every round; through the logger ``kernelfit``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of C of every class.
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data, class by class.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        The support vectors. Absent with a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (1, n_SV), (n_classes - 1, n_SV) or (n_classes, n_SV)
        Coefficients beta, a sparse matrix where X is one. Two classes: positive for the second.
        One-vs-one: row a holds, for a support vector of class c, its coefficient against class
        a, or class a + 1 where a >= c; the first class of a pair is positive. One-vs-rest: row a
        holds the problem of class a, which is positive.
    witness_coef_ : ndarray of shape (1, n_SV), (n_classes - 1, n_SV) or (n_classes, n_SV)
        The coefficients that prove the lower bound: `dual_coef_` itself.
    intercept_ : ndarray of shape (n_problems,)
        The intercepts b.
    objective_ : float or ndarray of shape (n_problems,)
        Value of the dual, a lower bound on the optimum. Like the next four, one number where there
        is one problem.
    dual_gap_ : float or ndarray of shape (n_problems,)
        Upper minus lower bound on the optimum; nan where the kernel matrix was found to be
        indefinite (see Notes).
    status_ : str or ndarray of str
        "proved" where the gap is a proof; "stationary" where the kernel matrix was found to be
        indefinite, and `dual_gap_` is nan.
    n_iter_ : int or ndarray of shape (n_problems,)
        Number of rounds.
    converged_ : bool or ndarray of shape (n_problems,)
        Whether `tol` was reached.
    history_ : ndarray of shape (n_iter_, 2) or list of them
        Objective and gap after every round.
    kernel_ : callable or None
        The kernel ``k(X, Y)`` with its parameters resolved; None when precomputed.
    coef_ : {ndarray, sparse matrix} of shape (n_problems, n_features)
        Weights of the features, for the linear kernel.
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
    KernelSVR : The same for regression.
    sklearn.svm.SVC : LIBSVM; parameters and attributes of the same names agree.

    Notes
    -----
    The result does not depend on the order of the rows or on chance, up to rounding: a
    sample weight of 2 equals a repeated row, and a weight of 0 a missing one. Where an
    interval of intercepts is optimal, as with all coefficients at their bounds, its midpoint is
    taken.

    The gap is a proof, up to rounding, for a positive semidefinite kernel. A precomputed matrix or
    a callable is tested for it on 300 evenly spaced rows and wherever the solver goes, not
    everywhere.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelfit import KernelSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelSVC(C=10.0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    >>> bool((model.dual_gap_ <= 1e-6 * model.objective_).all())
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **FixedKernelMachine._parameter_constraints,
        **ClassifierMachine._parameter_constraints,
        **MULTICLASS,
        **PARTITION,
        **DEVICE,
    }

    def __init__(
        self,
        C=1.0,
        *,
        loss="hinge",
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        fit_intercept=True,
        multi_class="ovo",
        decision_function_shape="ovr",
        break_ties=False,
        class_weight=None,
        tol=1e-6,
        max_iter=1000,
        partition=None,
        cache_size="auto",
        warm_start=False,
        n_jobs=None,
        device=None,
        random_state=None,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.partition = partition
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _row_order(self, y):
        # Class by class, the matrix of each pair of classes is made of four blocks.
        if self._precomputed or self.multi_class != "ovo":
            return None
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) <= 2 or (labels[1:] >= labels[:-1]).all():
            return None
        return np.argsort(labels, kind="stable")


class KernelSVR(RegressorMachine, FixedKernelMachine):
    r"""Support vector regression that proves how close to the optimum it is.

    .. math::

        \min_{f, b}\; \tfrac12 \|f\|^2 + \sum_i C_i \max(0,\, |y_i - f(x_i) - b| - \epsilon)
        \;=\; \max_\beta\; y^\top\beta - \epsilon\|\beta\|_1 - \tfrac12 \beta^\top K \beta
        \quad\text{s.t.}\quad |\beta_i| \le C_i,\; \mathbf 1^\top\beta = 0

    with :math:`f = \sum_i \beta_i k(x_i, \cdot)` and :math:`C_i` the product of `C` and the sample
    weight. Training stops when the difference of the two values, the duality gap, is at most
    `tol` times the objective, and then removes what is left of it by a few more rounds where that
    is possible.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    epsilon : float, default=0.1
        Half the width of the tube in which errors cost nothing.
    loss : {"tube", "squared_tube", "squared"}, default="tube"
        The loss above; its square; or the square without the tube. For the squares,
        :math:`\beta` has no bounds, and the diagonal of K in the dual gains :math:`1 / (2 C_i)`.
    kernel : str or callable, default="rbf"
        The kernel: "linear", "poly", "rbf", "laplacian", "exponential", "matern32", "matern52",
        "rational_quadratic", "additive" or "precomputed". A callable takes two arrays of points,
        ``k(X, Y)``, and returns their kernel matrix.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"}, float or array-like, default="scale"
        Of all kernels by name but the linear one: a number, or one a feature. "scale" is
        ``1 / (n_features * X.var())``, the variance taken with the sample weights, and "auto" is
        ``1 / n_features``; of these, the kernels of the distance itself ("exponential", "matern32",
        "matern52") take the root, and "additive" takes ``n_features`` times.
    coef0 : float, default=0.0
        Of the polynomial kernel.
    fit_intercept : bool, default=True
        Whether the model has an intercept b.
    tol : float, default=1e-6
        The duality gap to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of passes. A round improves a block of about a thousand variables; as many
        rounds as take every variable once are a pass.
    partition : int, default=None
        Divide the rows into so many blocks by k-means, solve each alone and start from their
        solutions, which are close to that of the whole where the kernel is narrow
        (`kernelfit.inspection.diagnose_partition` bounds what they lack without an intercept);
        for very many rows. None starts from a subsample where the kernel matrix is not stored,
        or from zero where a Gaussian kernel is so narrow that most points are too far apart to
        count: blocks of neighbours are then solved in any case.
    cache_size : float or "auto", default="auto"
        Memory in MB for the kernel matrix. A larger one is not stored: its rows are computed
        in single precision when needed and the latest are kept; the certificate remains in
        double precision. "auto" is a quarter of the memory that is available, limits of containers
        and of the process included; of a matrix above 512 MB, needed rows alone are computed then.
    warm_start : bool, default=False
        Whether `fit` starts from the previous solution where that has as many rows.
    device : str, default=None
        Where to train and predict: None for the solver on the processor, "cuda" for a GPU, by
        torch (extra ``gpu``); "cpu" runs the same by torch on the processor. It takes dense X
        and all kernels by name. The kernel matrix is kept in the GPU's memory in
        single precision where it fits and computed when needed otherwise, whatever `cache_size`;
        the certificate remains in double precision. Problems of more than 2,048 rows end as soon
        as `tol` is met.
    random_state : int, RandomState instance or None, default=None
        Of k-means, for `partition`.
    verbose : int, default=0
        1 reports the result, and every five seconds of a long fit the gap, the time so far and
        about how much is left; 2 every round; through the logger ``kernelfit``.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        The support vectors. Absent with a precomputed kernel.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : {ndarray, sparse matrix} of shape (1, n_SV)
        Coefficients beta, sparse where X is.
    witness_coef_ : ndarray of shape (1, n_SV)
        The coefficients that prove the lower bound: `dual_coef_` itself.
    intercept_ : ndarray of shape (1,)
        The intercept b.
    objective_ : float
        Value of the dual, a lower bound on the optimum.
    dual_gap_ : float
        Upper minus lower bound on the optimum; nan where the kernel matrix was found to be
        indefinite (see Notes).
    status_ : str
        "proved" where the gap is a proof; "stationary" where the kernel matrix was found to be
        indefinite, and `dual_gap_` is nan.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether `tol` was reached.
    history_ : ndarray of shape (n_iter_, 2)
        Objective and gap after every round.
    kernel_ : callable or None
        The kernel ``k(X, Y)`` with its parameters resolved; None when precomputed.
    coef_ : {ndarray, sparse matrix} of shape (n_problems, n_features)
        Weights of the features, for the linear kernel.
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
    KernelSVC : The same for classification.
    sklearn.svm.SVR : LIBSVM; parameters and attributes of the same names agree.

    Notes
    -----
    The gap is a proof, up to rounding, for a positive semidefinite kernel. A precomputed matrix or
    a callable is tested for it on 300 evenly spaced rows and wherever the solver goes, not
    everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelSVR
    >>> X = np.linspace(0, 6, 50)[:, np.newaxis]
    >>> model = KernelSVR(C=10.0, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[np.pi / 2]]).round(2)
    array([1.])
    >>> model.converged_
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **FixedKernelMachine._parameter_constraints,
        **RegressorMachine._parameter_constraints,
        **PARTITION,
        **DEVICE,
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        loss="tube",
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        fit_intercept=True,
        tol=1e-6,
        max_iter=1000,
        partition=None,
        cache_size="auto",
        warm_start=False,
        device=None,
        random_state=None,
        verbose=0,
    ):
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.partition = partition
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
