"""Random Fourier features with learned weights."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.estimators.columns import in_unit, target_columns
from kernelfit.estimators.moderate import moderate_gamma
from kernelfit.kernels.standard import scale_gamma
from kernelfit.papers.feature_alignment import align_weights
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.validation import as_plain, check_weights

_CHUNK_BYTES = 2**26  # of features computed at a time


class RandomFeatureAlignment(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Random Fourier features weighted by their alignment with the targets.

    Of many features :math:`\phi_m(x) = \sqrt2 \cos(w_m'x + b_m)` of the Gaussian kernel, drawn at
    random, those with positive weights are kept [1]_. The weights q maximise the alignment of the
    kernel :math:`\sum_m q_m\phi_m(x)\phi_m(z)` with the targets,

    .. math:: \sum_m q_m v_m, \qquad v_m = \sum_c \Big(\sum_i s_i y_{ic}\phi_m(x_i)\Big)^2,

    over the distributions whose chi-square divergence from the uniform one is at most rho. The
    weights s of the points sum to one; of labels, y is +1 or -1 for the class c, with one c for two
    classes. The solution is exact. The time is linear in the number of points, and a linear machine
    may follow: its kernel is the learned one.

    Parameters
    ----------
    gamma : float or "scale", default="scale"
        Width of the Gaussian kernel :math:`\exp(-\gamma\|x - z\|^2)`; "scale" is that of
        `KernelSVC`.
    n_components : int, default=2000
        Number of features to draw.
    rho : float, default=10.0
        Radius of the ball. About ``n_components / (1 + rho)`` features share most of the weight; 0
        keeps all with equal weights.
    centre_targets : bool, default=False
        Whether each column of y is reduced by its mean, which [1]_ does not do. Without it, and
        with unequal classes, weights also go to features that are large everywhere.
    task : {"auto", "classification", "regression"}, default="auto"
        What the targets are. With "auto" they are labels unless they are floats that are not
        integers, as in scikit-learn: for targets that happen to be integers say "regression".
    random_state : int, RandomState instance or None, default=None
        For the features.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, n_kept)
        The vectors w of the features kept.
    offsets_ : ndarray of shape (n_kept,)
        Their offsets b, up to multiples of the period.
    weights_ : ndarray of shape (n_kept,)
        Their weights q, of sum one.
    gamma_ : float
        The width.
    objective_ : float
        The alignment; infinity where it is beyond float64.
    dual_gap_ : float
        Its largest possible distance from the optimum: rounding.
    n_features_in_ : int
        Number of features of the data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had some.

    References
    ----------
    .. [1] A. Sinha, J. C. Duchi. Learning kernels with random features. Advances in Neural
       Information Processing Systems 29, 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kernelfit import KernelSVC, RandomFeatureAlignment
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> features = RandomFeatureAlignment(random_state=0)
    >>> model = make_pipeline(StandardScaler(), features, KernelSVC(kernel="linear", C=10.0))
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    _centre: np.ndarray  # of the training points, where the phases hold
    _phases: np.ndarray
    _parameter_constraints: ClassVar[dict] = {
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "rho": [Interval(Real, 0, None, closed="left")],
        "centre_targets": ["boolean"],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        gamma="scale",
        *,
        n_components=2000,
        rho=10.0,
        centre_targets=False,
        task="auto",
        random_state=None,
    ):
        self.gamma = gamma
        self.n_components = n_components
        self.rho = rho
        self.centre_targets = centre_targets
        self.task = task
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Draw the features and weight them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
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
        X, y = validate_data(
            fitted, X, as_plain(y), accept_sparse="csr", dtype=np.float64, multi_output=True
        )
        columns, labelled = target_columns(y, self.task)
        columns, exponent = in_unit(2.0 * columns - 1.0 if labelled else columns)
        weight = check_weights(sample_weight, X.shape[0])
        mass = weight / weight.sum()
        if self.centre_targets:
            columns = columns - mass @ columns
        columns = mass[:, None] * columns
        gamma = moderate_gamma(scale_gamma(X, weight) if self.gamma == "scale" else self.gamma)
        rng = check_random_state(self.random_state)
        frequencies = np.sqrt(2.0 * gamma) * rng.normal(size=(X.shape[1], self.n_components))
        phases = rng.uniform(0.0, 2.0 * np.pi, self.n_components)
        centre = np.asarray(mass @ X)
        sums = np.zeros((columns.shape[1], self.n_components))
        step = max(1, _CHUNK_BYTES // (8 * self.n_components))
        for first in range(0, X.shape[0], step):
            part = slice(first, first + step)
            sums += columns[part].T @ _cosines(X[part], centre, frequencies, phases)
        found = align_weights(2.0 * np.sum(sums**2, axis=0), float(self.rho))
        kept = np.flatnonzero(found.q)
        fitted.frequencies_ = frequencies[:, kept]
        fitted.offsets_ = np.mod(phases[kept] - centre @ fitted.frequencies_, 2.0 * np.pi)
        fitted._centre, fitted._phases = centre, phases[kept]
        fitted.weights_ = found.q[kept]
        fitted.gamma_ = gamma
        with np.errstate(over="ignore", under="ignore"):
            fitted.objective_ = float(np.ldexp(found.objective, 2 * exponent))
            fitted.dual_gap_ = float(np.ldexp(found.gap, 2 * exponent))
        self.__dict__ = fitted.__dict__
        return self

    @property
    def _n_features_out(self):
        return len(self.weights_)

    def transform(self, X):
        """Map points to the weighted features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_kept)
            Their inner products are the learned kernel.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=np.float64)
        Z = _cosines(X, self._centre, self.frequencies_, self._phases)
        Z *= np.sqrt(2.0 * self.weights_)
        return Z


def _cosines(X, centre, frequencies, phases):
    """Return cos(w'(x - centre) + phase): far from zero, w'x alone would have few digits left."""
    if sparse.issparse(X):
        Z = np.asarray(X @ frequencies)
        Z -= centre @ frequencies
    else:
        Z = (X - centre) @ frequencies
    Z += phases
    return np.cos(Z, out=Z)
