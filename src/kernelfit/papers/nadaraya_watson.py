"""Nadaraya-Watson regression."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.families.metric.local_metrics import (
    SHARES,
    average,
    choose_width,
    fit_gradients,
    local_distances,
)
from kernelfit.families.metric.points import merge_points
from kernelfit.kernels.distances import squared_distances
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.threads import threads_for
from kernelfit.utils.validation import check_sizes, check_targets, check_weights

_MAX_TARGET = 1e150  # products of two are finite
_CHUNK_BYTES = 2**26  # of distances computed at a time in prediction


class NadarayaWatson(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Nadaraya-Watson regression: averages of the targets of near points.

    The prediction at x is the mean of the targets with the weights
    :math:`s_i \exp(-\gamma\, d(x, x_i))`. The width is that of the least leave-one-out error.

    With ``metric="local"`` the squared distance d has at every x a metric of its own, without bias
    to the first order if the data are normal [1]_: differences count along the gradient of the
    density and that of the targets. With ``metric="euclidean"`` it is that of the data as given; a
    `KernelMetric` may come before.

    Parameters
    ----------
    metric : {"euclidean", "local"}, default="euclidean"
        Features should be on one scale for both.
    gamma : float, default=None
        Width of the kernel in units of d; by the leave-one-out error when None.
    max_samples : int, default=1000
        At how many points the leave-one-out error is computed: a random choice where there are
        more. All points predict.
    random_state : int, RandomState instance or None, default=None
        For the choice of points.

    Attributes
    ----------
    gamma_ : float
        The width.
    share_ : float
        Share of the identity in the local metrics, 1 for ``metric="euclidean"``.
    error_ : float
        Leave-one-out mean of the squared errors, summed over the outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had some.

    See Also
    --------
    KernelMetric : With ``method="nw"``, one metric for all points.

    References
    ----------
    .. [1] Y.-K. Noh, M. Sugiyama, K.-E. Kim, F. C. Park, D. D. Lee. Generative local metric
       learning for kernel regression. Advances in Neural Information Processing Systems 30, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import NadarayaWatson
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = NadarayaWatson().fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    """

    _parameter_constraints: ClassVar[dict] = {
        "metric": [StrOptions({"euclidean", "local"})],
        "gamma": [None, Interval(Real, 0, None, closed="neither")],
        "max_samples": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, metric="euclidean", *, gamma=None, max_samples=1000, random_state=None):
        self.metric = metric
        self.gamma = gamma
        self.max_samples = max_samples
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Keep the points and choose the width.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
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
        check_sizes(X)
        columns = [check_targets(column) for column in y.reshape(len(y), -1).T]
        largest = np.abs(columns).max()
        if largest > _MAX_TARGET:
            raise ValueError(f"expected targets up to {_MAX_TARGET:g}, got {largest:.3g}")
        weight = check_weights(sample_weight, len(X))
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        with threads_for(len(X)):
            fitted._keep(X, np.column_stack(columns), weight, y.ndim == 1)
            fitted._choose(seed)
        self.__dict__ = fitted.__dict__
        return self

    def _keep(self, X, columns, weight, one_output):
        """Keep the points; equal ones are one, or a copy of a point left out would predict it."""
        self._points, self._targets, weight, _ = merge_points(X, columns, weight)
        self._weight = weight / weight.mean()
        self._one_output = one_output
        self._metric = self.metric  # predictions follow it, should the parameter be changed
        self._gradients = fit_gradients(self._points, self._targets, self._weight)

    def _choose(self, seed):
        """Choose the width and the share of the identity by the leave-one-out error."""
        n = len(self._points)
        rows = np.sort(np.random.default_rng(seed).permutation(n)[: self.max_samples])
        found = []
        for share in SHARES if self._metric == "local" else (1.0,):
            self.share_ = share
            D = self._distances(self._points[rows])
            D[np.arange(len(rows)), rows] = np.inf if n > 1 else 0.0
            if self.gamma is None:
                gamma, error = choose_width(D, rows, self._targets, self._weight)
            else:
                gamma = float(self.gamma)
                miss = average(D, self._targets, self._weight, gamma) - self._targets[rows]
                mass = self._weight[rows] / self._weight[rows].sum()
                error = float(mass @ np.sum(miss**2, axis=1))
            found.append((error, gamma, share))
        self.error_, self.gamma_, self.share_ = min(found)

    def _distances(self, X):
        if self._metric == "local":
            return local_distances(X, self._points, self._gradients, self.share_)
        return squared_distances(X, self._points)

    def predict(self, X):
        """Predict the targets of points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Far from all training points, the mean target of the nearest.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        check_sizes(X)
        step = max(1, _CHUNK_BYTES // (8 * len(self._points)))
        parts = [
            average(self._distances(X[k : k + step]), self._targets, self._weight, self.gamma_)
            for k in range(0, len(X), step)
        ]
        values = np.concatenate(parts)
        return values[:, 0] if self._one_output else values
