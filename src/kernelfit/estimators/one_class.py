"""The support of a distribution, with a given kernel."""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.base import OutlierMixin

from kernelfit.estimators.standard import DEVICE, StandardKernelMachine
from kernelfit.estimators.svm import FixedKernelMachine
from kernelfit.kernels.base import diagonal
from kernelfit.tasks.losses import one_class
from kernelfit.utils.sklearn_private import Interval
from kernelfit.utils.validation import as_dense

_BOUNDARY = 1e-7  # of the threshold: what is closer to it is inside
_ROUNDING = 1e-12
_MAX_NUMBER = 1e100


class KernelOneClass(OutlierMixin, FixedKernelMachine):
    r"""One-class support vector machine that proves how close to the optimum it is.

    .. math::

        \min_{f, \rho}\; \tfrac12 \|f\|^2 - \rho
        + \frac{1}{\nu W} \sum_i w_i \max(0,\, \rho - f(x_i))
        \;=\; \max_\beta\; -\tfrac12 \beta^\top K \beta
        \quad\text{s.t.}\quad 0 \le \beta_i \le \frac{w_i}{\nu W},\; \mathbf 1^\top\beta = 1

    with :math:`f = \sum_i \beta_i k(x_i, \cdot)`, sample weights w and their sum W. At most the
    share :math:`\nu` of the weight is outside, where :math:`f(x) < \rho`, and at least that share
    belongs to support vectors.

    Parameters
    ----------
    nu : float, default=0.5
        Between 0 and 1.
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
    tol : float, default=1e-6
        The duality gap to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of rounds. A round improves a block of about a thousand variables.
    cache_size : float, default=1000
        Memory in MB for the kernel matrix; see `KernelSVC`.
    warm_start : bool, default=False
        Whether `fit` starts from the previous solution where that has as many rows.
    device : str, default=None
        Where to train and predict: "cuda" for a GPU; see `KernelSVC`.
    verbose : int, default=0
        1 reports the result, 2 every round, through the logger ``kernelfit``.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        The support vectors. Absent with a precomputed kernel.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : {ndarray, sparse matrix} of shape (1, n_SV)
        Coefficients beta, sparse where X is; their sum is 1. Those of scikit-learn's OneClassSVM
        are :math:`\nu W` times as large, and so are its decision values.
    witness_coef_ : ndarray of shape (1, n_SV)
        The coefficients that prove the lower bound: `dual_coef_` itself.
    intercept_ : ndarray of shape (1,)
        ``-offset_``.
    offset_ : float
        :math:`\rho`, less a ten-millionth of it, so that the boundary is inside: by so much
        `score_samples` exceeds `decision_function`.
    objective_ : float
        Value of the dual, a lower bound on the optimum.
    dual_gap_ : float
        Upper minus lower bound on the optimum; nan where the kernel matrix was found to be
        indefinite.
    status_ : str
        "proved" where the gap is a proof; "stationary" where the kernel matrix was found to be
        indefinite, and `dual_gap_` is nan.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether `tol` was reached, or the optimum is 0 up to rounding: the points cannot be
        separated from the origin.
    history_ : ndarray of shape (n_iter_, 2)
        Objective and gap after every round.
    kernel_ : callable or None
        The kernel ``k(X, Y)`` with its parameters resolved; None when precomputed.
    coef_ : {ndarray, sparse matrix} of shape (1, n_features)
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
    sklearn.svm.OneClassSVM : LIBSVM.

    References
    ----------
    .. [1] B. Schoelkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola, R. C. Williamson. "Estimating
       the support of a high-dimensional distribution". Neural Computation 13 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelOneClass
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = KernelOneClass(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    >>> bool(np.mean(model.decision_function(X) < -1e-6) <= 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **{
            name: constraint
            for name, constraint in StandardKernelMachine._parameter_constraints.items()
            if name not in ("C", "fit_intercept")
        },
        "nu": [Interval(Real, 0, 1, closed="right")],
        **DEVICE,
    }
    loss = "one_class"
    C = 1.0  # the cost is that of nu
    fit_intercept = True
    _has_targets = False

    def __init__(
        self,
        nu=0.5,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-6,
        max_iter=1000,
        cache_size=1000,
        warm_start=False,
        device=None,
        verbose=0,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.device = device
        self.verbose = verbose

    def fit(self, X, y=None, sample_weight=None):
        """Find the support of the points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training points; the kernel matrix, of shape (n_samples, n_samples), for
            ``kernel="precomputed"``.
        y : Ignored
            For scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points, >= 0; ones when None. A weight of 2 equals a repeated row and a
            weight of 0 a missing one.

        Returns
        -------
        self : object
            The fitted estimator. Where fit raises or is interrupted, it is left as it was.
        """
        return super().fit(X, y, sample_weight)

    def _check_targets(self, y):
        return y

    def _encode(self, y, weight):
        return y, np.ones(len(y))

    def _learner(self, X, targets, weight, unit_cost, matrix):
        learner = super()._learner(X, targets, weight, unit_cost, matrix)
        largest = learner.gram.part(slice(None)).diagonal().max()
        # Nothing else in the problem has a unit: products of kernel values must be numbers.
        if largest > 0.0 and not 1.0 / _MAX_NUMBER <= largest <= _MAX_NUMBER:
            raise ValueError(
                f"expected a largest k(x, x) between {1.0 / _MAX_NUMBER:g} and {_MAX_NUMBER:g}, "
                f"got {largest:.3g}"
            )
        return learner

    def _make_task(self, problem, cost):
        return one_class(cost, self.nu)

    def _store(self, X, y, rows, coef, witness, results):
        super()._store(X, y, rows, coef, witness, results)
        # Support vectors inside their box are on the boundary: rounding must not put them outside.
        self.offset_ = -float(self.intercept_[0])
        self.offset_ -= _BOUNDARY * abs(self.offset_)
        self.intercept_ = np.array([-self.offset_])
        # Points around the origin cannot be separated from it: the optimum is 0, to which no gap
        # is relative. It is at most this sum, as the kernel is convex.
        size = float(as_dense(self.dual_coef_)[0] @ self._support_diagonal(X))
        if self.dual_gap_ <= _ROUNDING * size:
            self.converged_, self._endings = True, ["tolerance"]

    def _support_diagonal(self, X):
        if self.kernel_ is None:
            return X[self.support_, self.support_]
        return diagonal(self.kernel_, self.support_vectors_)

    def decision_function(self, X):
        """Return by how much points are inside the support; negative values are outside.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; their kernel with the training points for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decision_values(X)[:, 0]

    def score_samples(self, X):
        """Return the function f at points, without the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X):
        """Tell points inside, 1, from those outside, -1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
