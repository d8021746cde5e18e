"""A transformer of the inputs to a metric that suits kernels of the distance."""

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.estimators.columns import target_columns
from kernelfit.estimators.standard import DEVICE
from kernelfit.families.metric.agop import learn_gradient_metric
from kernelfit.families.metric.local_metrics import learn_mean_metric
from kernelfit.families.metric.logdet import draw_constraints, learn_logdet
from kernelfit.families.metric.points import draw_points
from kernelfit.families.metric.result import symmetric_factor
from kernelfit.families.metric.widths import learn_widths
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.progress import show_progress
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.threads import threads_for
from kernelfit.utils.torch_device import load_torch
from kernelfit.utils.validation import as_plain, check_sizes, check_weights

_MAX_PAIRS = 1000  # drawn unless another number is asked for


class KernelMetric(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Supervised linear map of the inputs, learned for kernels of the distance.

    With ``method="loo"`` every feature is multiplied by the root of its width: the widths w and the
    ridge of a kernel ridge regression with

    .. math:: k(x, z) = \exp\Big(-\sum_j w_j (x_j - z_j)^2\Big)

    minimise its exact leave-one-out error, under a prior that holds most ratios of widths near
    their start. All widths stay equal unless the logarithm of the error falls below that of equal
    widths by 2 d / n, for d features and n points: the price of d parameters by Akaike's criterion,
    which keeps them from following noise. With ``method="agop"`` the map is learned from average
    gradient outer products of such regressions [1]_, with widths or with a rotation as well. Three
    rounds of it with widths are the start of "loo". With ``method="nw"`` the map is learned from
    the gradients of normal data, for Nadaraya-Watson regression [2]_: the mean of the metrics that
    `NadarayaWatson` has at every point. Class labels are turned into one column of targets a class.
    The unit of a feature has no influence. After the transformation the kernel learned with is that
    of ``gamma=1``; any other kernel of the distance may follow. These problems are not convex, so
    there is no certificate.

    ``method="logdet"`` learns from class labels the positive definite matrix nearest to the
    identity, in the LogDet divergence, that brings pairs of one class together and others apart
    [3]_ [4]_, a convex problem with a certificate. It begins with the data as given, whose features
    should be on one scale. After `sklearn.decomposition.KernelPCA` it learns a kernel, as in [4]_.

    Parameters
    ----------
    method : {"loo", "agop", "nw", "logdet"}, default="loo"
    kernel : {"rbf", "exponential"}, default="rbf"
        The kernel to learn with in "loo" and "agop": :math:`\exp(-r^2)` or :math:`\exp(-r)` of the
        distance r.
    diagonal : bool, default=True
        Whether "agop" learns widths only; otherwise a full matrix.
    task : {"auto", "classification", "regression"}, default="auto"
        What the targets are. With "auto" they are labels unless they are floats that are not
        integers, as in scikit-learn: for targets that happen to be integers say "regression".
    max_samples : int, default=600
        How many distinct points to learn from; a random choice where there are more. Time grows
        with the third power.
    prior : float, default=0.3
        Scale of the Cauchy prior of "loo" on the logarithms of the widths, around their start and
        up to a common scale: most ratios stay about as near, and a few widths may go anywhere.
    slack : float, default=1.0
        Weight of moving the bounds of pairs in "logdet": the larger, the more pairs keep theirs.
    n_constraints : int, default=None
        Number of pairs in "logdet", to whose third power time grows; when None, 20 times the square
        of the number of classes, but at most 1,000.
    tol : float, default=1e-4
        The steps of "loo" end when one lowers the logarithm of the error by less, those of "logdet"
        when the duality gap is below this fraction of the objective.
    max_iter : int, default=None
        The most steps of "loo" after its start, 50 when None, rounds of "agop", 5 when None, or
        steps of "logdet", 100 when None. For the first two a limit reached is no failure.
    device : str, default=None
        Where "loo" and "agop" learn: None for the processor, "cuda" for a GPU, by torch (extra
        ``gpu``); "cpu" runs the same by torch on the processor. In double precision there, too: the
        metric is the same up to rounding. It pays from a `max_samples` of some thousands.
    random_state : int, RandomState instance or None, default=None
        For the choice of points and pairs.
    verbose : int, default=0
        Whether to report the error.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The map: points become ``X @ components_.T``. Columns of constant features are zero.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the squared distances between training points that is due to each feature.
    error_ : float
        Leave-one-out error of the regression, as a fraction of the variance of the targets, whose
        mean over all rows is taken for the intercept of each. Not for "logdet".
    ridge_ : float
        Ridge of the regression of "loo" and "agop".
    objective_ : float
        What "logdet" minimised.
    dual_gap_ : float
        Largest possible distance of the objective from its optimum, for "logdet".
    pairs_ : ndarray of shape (n_pairs, 2)
        Rows of the training data whose distances "logdet" bounds, from above where their labels
        are equal, otherwise from below.
    bounds_ : ndarray of shape (n_pairs,)
        Bounds on their squared distances.
    multipliers_ : ndarray of shape (n_pairs,)
        Multipliers of the bounds, which prove the gap; see `kernelfit.inspection.audit`.
    n_iter_ : int
        Steps or rounds.
    history_ : ndarray
        What was minimised, at the start and after every step: in "loo" the logarithm of the error
        and the prior, in "agop" the error, in "nw" the error for every share of the identity tried,
        in "logdet" the objective.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had some.

    See Also
    --------
    KernelSVC : A kernel machine that may follow in a pipeline.
    NadarayaWatson : Regression with a metric at every point.

    References
    ----------
    .. [1] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin. Mechanism for feature learning in
       neural networks and backpropagation-free machine learning models. Science 383, 2024.
    .. [2] Y.-K. Noh, M. Sugiyama, K.-E. Kim, F. C. Park, D. D. Lee. Generative local metric
       learning for kernel regression. Advances in Neural Information Processing Systems 30, 2017.
    .. [3] J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon. Information-theoretic metric
       learning. ICML 2007.
    .. [4] P. Jain, B. Kulis, J. V. Davis, I. S. Dhillon. Metric and kernel learning using a linear
       transformation. Journal of Machine Learning Research 13, 2012.

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
        "method": [StrOptions({"loo", "agop", "nw", "logdet"})],
        "kernel": [StrOptions({"rbf", "exponential"})],
        "diagonal": ["boolean"],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "max_samples": [Interval(Integral, 2, None, closed="left")],
        "prior": [Interval(Real, 0, None, closed="neither")],
        "slack": [Interval(Real, 0, None, closed="neither")],
        "n_constraints": [None, Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        **DEVICE,
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
        slack=1.0,
        n_constraints=None,
        tol=1e-4,
        max_iter=None,
        device=None,
        random_state=None,
        verbose=0,
    ):
        self.method = method
        self.kernel = kernel
        self.diagonal = diagonal
        self.task = task
        self.max_samples = max_samples
        self.prior = prior
        self.slack = slack
        self.n_constraints = n_constraints
        self.tol = tol
        self.max_iter = max_iter
        self.device = device
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
        self._check_device()
        fitted = blank_copy(self)
        X, y = validate_data(fitted, X, as_plain(y), dtype=np.float64, multi_output=True)
        weight = check_weights(sample_weight, len(X))
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        columns, labelled = target_columns(y, self.task)
        if self.method == "logdet" and not (labelled and y.ndim == 1):
            raise ValueError("expected one column of class labels for method='logdet'")
        if self.method == "logdet":
            check_sizes(X)
        points = draw_points(X, columns, weight, self.max_samples, seed)
        with threads_for(len(points.X)):
            fitted._learn(points, seed)
        if self.verbose:
            show_progress().info("%s: %s", type(self).__name__, fitted._summary)
        fitted._warn_if_unproven()
        self.__dict__ = fitted.__dict__
        return self

    def _check_device(self):
        """Refuse what only the processor does, or say what is missing."""
        if self.device is None:
            return
        if self.method not in ("loo", "agop"):
            raise ValueError(
                f"expected method='loo' or 'agop' for device={self.device!r}, got {self.method!r}"
            )
        load_torch(self.device)

    def _learn(self, points, seed):
        """Learn from the points and set the fitted attributes."""
        if self.method == "logdet":
            self._learn_logdet(points, seed)
            return
        options = {"kernel": self.kernel, "device": self.device}
        if self.max_iter is not None:
            options["max_iter"] = self.max_iter
        if self.method == "loo":
            found = learn_widths(points, tau=self.prior, tol=self.tol, cautious=True, **options)
        elif self.method == "agop":
            found = learn_gradient_metric(points, diagonal=self.diagonal, **options)
        else:
            found = learn_mean_metric(points)
        self._store(found.factor, points, found.history)
        self.error_ = found.error
        if not np.isnan(found.ridge):
            self.ridge_ = found.ridge
        self._summary = f"{self.n_iter_} steps, error {found.error:.4g} of the variance"

    def _learn_logdet(self, points, seed):
        Y = points.Y
        labels = Y[:, 0] > 0.0 if Y.shape[1] == 1 else Y.argmax(axis=1)
        n_classes = max(2, Y.shape[1])
        n_pairs = self.n_constraints or min(20 * n_classes**2, _MAX_PAIRS)
        constraints, pairs = draw_constraints(points.X * points.spread, labels, n_pairs, seed)
        options = {} if self.max_iter is None else {"max_iter": self.max_iter}
        found = learn_logdet(constraints, slack=self.slack, tol=self.tol, **options)
        self._store(symmetric_factor(found.A) * points.spread, points, found.history)
        self.objective_, self.dual_gap_ = found.objective, found.gap
        self.pairs_, self.bounds_ = points.rows[pairs], constraints.bound
        self.multipliers_ = found.multipliers
        self._converged = found.converged
        self._summary = f"objective {found.objective:.6g}, gap {found.gap:.2g}"

    def _store(self, factor, points, history):
        """Set what all methods have, from a map of standardised features."""
        # A vector stands for a diagonal matrix, which would be large for many features.
        self._factor = points.in_units_of_the_data(factor)
        importance = np.sum(np.atleast_2d(factor) ** 2, axis=0)
        self.feature_importances_ = importance / max(importance.sum(), np.finfo(np.float64).tiny)
        self.history_ = np.array(history)
        self.n_iter_ = len(history) - 1
        self._converged = True

    def _warn_if_unproven(self):
        if not self._converged:
            warnings.warn(
                f"{type(self).__name__} stopped at a relative duality gap of "
                f"{self.dual_gap_ / max(self.objective_, 1e-300):.1e} instead of tol={self.tol:g}: "
                "raise max_iter or tol, or lower slack",
                ConvergenceWarning,
                stacklevel=3,
            )

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
