"""Quantile regression with a given kernel."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.metrics import d2_pinball_score

from kernelfit.estimators.regressor import RegressorMachine
from kernelfit.estimators.standard import DEVICE, StandardKernelMachine
from kernelfit.estimators.svm import FixedKernelMachine
from kernelfit.learners.plan import Plan
from kernelfit.tasks.losses import pinball
from kernelfit.tasks.multiclass import Problem
from kernelfit.utils.sklearn_private import Interval
from kernelfit.utils.validation import numbers_in


class KernelQuantileRegressor(RegressorMachine, FixedKernelMachine):
    r"""Conditional quantiles by the pinball loss, with a proof of how close to optimal they are.

    For a level q, with :math:`\rho_q(t) = \max(q t, (q - 1) t)`,

    .. math::

        \min_{f, b}\; \tfrac12 \|f\|^2 + \sum_i C_i\, \rho_q(y_i - f(x_i) - b)
        \;=\; \max_\beta\; y^\top\beta - \tfrac12 \beta^\top K \beta
        \quad\text{s.t.}\quad (q - 1) C_i \le \beta_i \le q C_i,\; \mathbf 1^\top\beta = 0

    with :math:`f = \sum_i \beta_i k(x_i, \cdot)` and :math:`C_i` the product of `C` and the sample
    weight. At most the share q of the weight of the training targets is below the prediction,
    and at most the share 1 - q above it.

    Parameters
    ----------
    quantile : float or array-like, default=0.5
        The level, between 0 and 1, or several of them.
    C : float, default=1.0
        Cost of the loss.
    non_crossing : bool, default=True
        Whether the predictions of several levels are put into the order of the levels, at every
        point (see Notes).
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
    fit_intercept : bool, default=True
        Whether the model has an intercept b. Without one nothing holds of the shares above.
    tol : float, default=1e-6
        The duality gap to reach, relative to the objective.
    max_iter : int, default=1000
        Largest number of rounds for one level.
    cache_size : float, default=1000
        Memory in MB for the kernel matrix; see `KernelSVR`.
    warm_start : bool, default=False
        Whether `fit` starts from the previous solution where that has as many rows and levels.
    n_jobs : int, default=None
        Number of levels solved at a time, and of threads in prediction; -1 for all processors.
    device : str, default=None
        Where to train and predict: "cuda" for a GPU; see `KernelSVC`.
    verbose : int, default=0
        1 reports every level, 2 every round, through the logger ``kernelfit``.

    Attributes
    ----------
    quantiles_ : ndarray of shape (n_quantiles,)
        The levels.
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        The support vectors. Absent with a precomputed kernel.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : {ndarray, sparse matrix} of shape (n_quantiles, n_SV)
        Coefficients beta, sparse where X is.
    witness_coef_ : ndarray of shape (n_quantiles, n_SV)
        The coefficients that prove the lower bound: `dual_coef_` itself.
    intercept_ : ndarray of shape (n_quantiles,)
        The intercepts b.
    objective_ : float or ndarray of shape (n_quantiles,)
        Value of the dual, a lower bound on the optimum. Like the next four, one number where there
        is one level.
    dual_gap_ : float or ndarray of shape (n_quantiles,)
        Upper minus lower bound on the optimum; nan where the kernel matrix was found to be
        indefinite.
    status_ : str or ndarray of str
        "proved" where the gap is a proof; "stationary" where the kernel matrix was found to be
        indefinite, and `dual_gap_` is nan.
    n_iter_ : int or ndarray of shape (n_quantiles,)
        Number of rounds.
    converged_ : bool or ndarray of shape (n_quantiles,)
        Whether `tol` was reached.
    history_ : ndarray of shape (n_iter_, 2) or list of them
        Objective and gap after every round.
    kernel_ : callable or None
        The kernel ``k(X, Y)`` with its parameters resolved; None when precomputed.
    coef_ : {ndarray, sparse matrix} of shape (n_quantiles, n_features)
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
    sklearn.linear_model.QuantileRegressor : Linear, with an l1 penalty.

    Notes
    -----
    Functions of several levels that are fitted one by one may cross. With ``non_crossing=True`` the
    values at a point are sorted, the least for the lowest level (rearrangement [2]_): they then
    never cross, at no point whatever, and for every target at every point the sum of the pinball
    losses over the levels is at most what it was, because :math:`\rho_q(y - f)` is submodular in
    (q, f). The certificates are those of the functions before sorting, so their upper bounds hold
    for the losses after it.

    References
    ----------
    .. [1] I. Takeuchi, Q. V. Le, T. D. Sears, A. J. Smola. "Nonparametric quantile estimation".
       Journal of Machine Learning Research 7 (2006).
    .. [2] V. Chernozhukov, I. Fernandez-Val, A. Galichon. "Quantile and probability curves without
       crossing". Econometrica 78 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelfit import KernelQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(200, 1))
    >>> y = np.sin(X[:, 0]) + rng.normal(size=200)
    >>> model = KernelQuantileRegressor([0.1, 0.5, 0.9]).fit(X, y)
    >>> bool((np.diff(model.predict(X)) >= 0).all())
    True
    >>> float(np.mean(y <= model.predict(X)[:, 2]).round(1))
    0.9
    """

    _parameter_constraints: ClassVar[dict] = {
        **StandardKernelMachine._parameter_constraints,
        "quantile": [Interval(Real, 0, 1, closed="neither"), "array-like"],
        "non_crossing": ["boolean"],
        "n_jobs": [Integral, None],
        **DEVICE,
    }
    loss = "pinball"

    def __init__(
        self,
        quantile=0.5,
        C=1.0,
        *,
        non_crossing=True,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        fit_intercept=True,
        tol=1e-6,
        max_iter=1000,
        cache_size=1000,
        warm_start=False,
        n_jobs=None,
        device=None,
        verbose=0,
    ):
        self.quantile = quantile
        self.C = C
        self.non_crossing = non_crossing
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    def _encode(self, y, weight):
        self.quantiles_ = _check_levels(self.quantile)
        self._one_level = np.ndim(self.quantile) == 0
        return super()._encode(y, weight)

    def _has_several_groups(self):
        return len(self.quantiles_) > 1

    def _make_plan(self, learner, targets, unit_cost):
        n = len(self.quantiles_)
        problems = (Problem(k, slice(None), k, targets) for k in range(n))
        groups = tuple((problem,) for problem in problems)
        return Plan(
            learner, groups, unit_cost, self._make_task, (n, n), take_turns=self._shares_cache
        )

    def _make_task(self, problem, cost):
        level = float(self.quantiles_[problem.index])
        return pinball(problem.p, cost, level, fit_intercept=self.fit_intercept)

    def _shape(self, values):
        if self._one_level:
            return values[..., 0]
        if self.non_crossing:
            place = np.argsort(np.argsort(self.quantiles_, kind="stable"), kind="stable")
            values = np.sort(values, axis=-1)[..., place]
        return values

    def predict(self, X):
        """Predict the quantiles at points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; their kernel with the training points, of shape (n_samples, n_samples_fit),
            for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_quantiles)
            One column a level, where `quantile` is a list.
        """
        return super().predict(X)

    def score(self, X, y, sample_weight=None):
        """Return the share of the pinball loss that the model explains, at most 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points.

        Returns
        -------
        float
            Scikit-learn's ``d2_pinball_score``, the mean over the levels.
        """
        predictions = self.predict(X).reshape(-1, len(self.quantiles_)).T
        scores = [
            d2_pinball_score(y, prediction, sample_weight=sample_weight, alpha=level)
            for level, prediction in zip(self.quantiles_, predictions, strict=True)
        ]
        return float(np.mean(scores))


def _check_levels(quantile):
    """Return the levels as an array."""
    levels = np.atleast_1d(numbers_in(quantile))
    if levels.ndim != 1 or not levels.size or not np.all((levels > 0.0) & (levels < 1.0)):
        raise ValueError(
            f"expected quantile to be a number between 0 and 1, or a list of them, got {quantile!r}"
        )
    return levels
