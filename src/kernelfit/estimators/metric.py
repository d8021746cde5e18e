"""A transformer of the inputs to a metric that suits kernels of the distance."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.families.metric.agop import learn_gradient_metric
from kernelfit.families.metric.points import draw_points
from kernelfit.families.metric.widths import learn_widths
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.progress import show_progress
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.threads import threads_for
from kernelfit.utils.validation import check_targets, check_weights


class KernelMetric(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Supervised linear map of the inputs, learned for kernels of the distance.

    With ``method="loo"`` every feature is multiplied by the root of its width: the widths w and the
    ridge of a kernel ridge regression with

    .. math:: k(x, z) = \exp\Big(-\sum_j w_j (x_j - z_j)^2\Big)

    minimise its exact leave-one-out error. With ``method="agop"`` the map is learned from average
    gradient outer products of such regressions [1]_, with widths or with a rotation as well. Class
    labels are turned into one column of targets a class. The unit of a feature has no influence.

    After the transformation the kernel learned with is that of ``gamma=1``; any other kernel of the
    distance may follow. The problem is not convex, so there is no certificate.

    Parameters
    ----------
    method : {"loo", "agop"}, default="loo"
    kernel : {"rbf", "exponential"}, default="rbf"
        The kernel to learn with: :math:`\exp(-r^2)` or :math:`\exp(-r)` of the distance r.
    diagonal : bool, default=True
        Whether "agop" learns widths only; otherwise a full matrix.
    task : {"auto", "classification", "regression"}, default="auto"
        What the targets are. With "auto" they are labels unless they are floats that are not
        integers, as in scikit-learn: for targets that happen to be integers say "regression".
    max_samples : int, default=600
        How many distinct points to learn from; a random choice where there are more. Time grows
        with the third power.
    prior : float, default=0.3
        How far from the common start the logarithms of most widths may well go in "loo": the scale
        of their Cauchy prior, which lets a few go anywhere.
    tol : float, default=1e-4
        The steps of "loo" end when one lowers the logarithm of the error by less.
    max_iter : int, default=None
        The most steps of "loo", 50 when None, or rounds of "agop", 5 when None. A limit reached is
        no failure.
    random_state : int, RandomState instance or None, default=None
        For the choice of points.
    verbose : int, default=0
        Whether to report the error.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The map: points become ``X @ components_.T``. Columns of constant features are zero.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the squared distances between training points that is due to each feature.
    error_ : float
        Leave-one-out error of the ridge regression, as a fraction of the variance of the targets.
    ridge_ : float
        Ridge of that regression.
    n_iter_ : int
        Steps, or rounds.
    history_ : ndarray
        What was minimised, at the start and after every step: the logarithm of the error and the
        prior; after every round of "agop" the error.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had some.

    See Also
    --------
    KernelSVC : A kernel machine that may follow in a pipeline.

    References
    ----------
    .. [1] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin. Mechanism for feature learning in
       neural networks and backpropagation-free machine learning models. Science 383, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelMetric
    >>> X = np.random.default_rng(0).uniform(-3, 3, (80, 3))
    >>> metric = KernelMetric().fit(X, np.sin(X[:, 1]))
    >>> metric.feature_importances_.round(2)
    array([0., 1., 0.])
    """

    _parameter_constraints: ClassVar[dict] = {
        "method": [StrOptions({"loo", "agop"})],
        "kernel": [StrOptions({"rbf", "exponential"})],
        "diagonal": ["boolean"],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "max_samples": [Interval(Integral, 2, None, closed="left")],
        "prior": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        method="loo",
        *,
        kernel="rbf",
        diagonal=True,
        task="auto",
        max_samples=600,
        prior=0.3,
        tol=1e-4,
        max_iter=None,
        random_state=None,
        verbose=0,
    ):
        self.method = method
        self.kernel = kernel
        self.diagonal = diagonal
        self.task = task
        self.max_samples = max_samples
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times every point counts: a weight of 2 equals a repeated row, a weight of 0 a
            row that is left out. Ones when None.

        Returns
        -------
        self : object
            The fitted estimator. Where fit raises or is interrupted, it is left as it was.
        """
        self._validate_params()
        fitted = blank_copy(self)
        X, y = validate_data(fitted, X, y, dtype=np.float64, multi_output=True)
        weight = check_weights(sample_weight, len(X))
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        points = draw_points(X, fitted._columns(y), weight, self.max_samples, seed)
        with threads_for(len(points.X)):
            fitted._learn(points)
        if self.verbose:
            show_progress().info(
                "%s: %d steps, error %.4g of the variance",
                type(self).__name__, fitted.n_iter_, fitted.error_,
            )  # fmt: skip
        self.__dict__ = fitted.__dict__
        return self

    def _columns(self, y):
        """Return the columns of numbers to predict."""
        task = self.task
        if task == "auto":
            kind = type_of_target(y, input_name="y")
            if kind == "unknown":
                raise ValueError("Unknown label type: expected labels or numbers as targets")
            task = "regression" if kind.startswith("continuous") else "classification"
        columns = y.reshape(len(y), -1).T
        if task == "regression":
            return np.column_stack([check_targets(column) for column in columns])
        blocks = []
        for column in columns:
            labels = np.unique(column)
            # Two classes need one column.
            labels = labels[-1:] if len(labels) <= 2 else labels
            blocks.append(column[:, None] == labels)
        return np.hstack(blocks).astype(np.float64)

    def _learn(self, points):
        """Learn from the points and set the fitted attributes."""
        options = {} if self.max_iter is None else {"max_iter": self.max_iter}
        if self.method == "loo":
            found = learn_widths(
                points, kernel=self.kernel, tau=self.prior, tol=self.tol, **options
            )
        else:
            found = learn_gradient_metric(
                points, kernel=self.kernel, diagonal=self.diagonal, **options
            )
        factor = found.factor
        # A vector stands for a diagonal matrix, which would be large for many features.
        self._factor = points.in_units_of_the_data(factor)
        importance = np.sum(np.atleast_2d(factor) ** 2, axis=0)
        self.feature_importances_ = importance / max(importance.sum(), np.finfo(np.float64).tiny)
        self.error_ = found.error
        self.ridge_ = found.ridge
        self.history_ = np.array(found.history)
        self.n_iter_ = len(found.history) - 1

    @property
    def components_(self):
        """The map, as a matrix."""
        check_is_fitted(self)
        return np.diag(self._factor) if self._factor.ndim == 1 else self._factor

    def transform(self, X):
        """Map points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X * self._factor if self._factor.ndim == 1 else X @ self._factor.T

    def get_feature_names_out(self, input_features=None):
        """Return the names of the transformed features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features, where X had none; ``x0``, ``x1``, ... when None.

        Returns
        -------
        ndarray of str objects
            The names of the features themselves where the map is diagonal; otherwise
            ``kernelmetric0``, ``kernelmetric1``, ...
        """
        names = super().get_feature_names_out(input_features)
        if self._factor.ndim == 1:
            return names
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{k}" for k in range(len(names))], dtype=object)
