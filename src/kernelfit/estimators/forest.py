"""A kernel that a forest of decision trees learns, as a transformer."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.estimators.columns import in_unit, kind_of_targets
from kernelfit.kernels.forest import Forest, LeafKernel, RatioKernel
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.sklearn_private import Interval, StrOptions
from kernelfit.utils.validation import as_plain, check_labels, check_targets

_LEAST_RANGE = 1e-7  # below which scikit-learn's trees take a feature for constant
_FORESTS = {
    ("extra_trees", "classification"): ExtraTreesClassifier,
    ("extra_trees", "regression"): ExtraTreesRegressor,
    ("random_forest", "classification"): RandomForestClassifier,
    ("random_forest", "regression"): RandomForestRegressor,
}


class ForestKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""The similarity of points in a forest of decision trees.

    .. math::

        k(x, y) = \frac1T \sum_{t=1}^T [\,\text{x and y fall into one leaf of tree t}\,]

    A positive semidefinite kernel that adapts to the data: no scaling of the features matters, and
    features that do not matter are not split. `transform` gives the kernel between points
    and the training points, which ``kernel="precomputed"`` takes in a pipeline; `kernel_` is the
    kernel as a callable.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    task : {"auto", "classification", "regression", "unsupervised"}, default="auto"
        What the trees learn. "auto" looks at y: classes, numbers or nothing. "unsupervised" ignores
        y: every test is a random threshold of a random feature.
    forest : {"extra_trees", "random_forest"}, default="extra_trees"
        Whether thresholds are random, and the trees grow on all rows, or are the best, of a
        bootstrap sample.
    similarity : {"leaf", "ratio"}, default="leaf"
        "leaf" as above. "ratio" is RatioRF [1]_: the mean over the trees of the share of the tests
        on either point's way to its leaf that both answer alike. It is finer, and need not be
        positive semidefinite.
    min_samples_leaf : int or float, default=5
        Least number, or share, of the training rows in a leaf: few make a narrow kernel. Without
        supervision, nodes of fewer than twice as many are not split.
    max_depth : int, default=None
        Largest depth of a tree.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features looked at for a split, as in scikit-learn.
    n_jobs : int, default=None
        Number of trees grown at a time.
    random_state : int, RandomState instance or None, default=None
        Of the trees.

    Attributes
    ----------
    kernel_ : callable
        The kernel ``k(X, Y)``, picklable, for ``KernelSVC(kernel=...)``.
    task_ : str
        What the trees have learned: "classification", "regression" or "unsupervised".
    X_fit_ : ndarray of shape (n_samples, n_features)
        The training points.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    Notes
    -----
    Trees that have seen the labels make training points of one class more alike than new ones are.
    So costs and widths are to be chosen with the forest grown inside each fold: by a pipeline in
    a grid search.

    References
    ----------
    .. [1] M. Bicego, F. Cicalese, A. Mensi. "RatioRF: a novel measure for random forest clustering
       based on the Tversky's ratio model". IEEE Transactions on Knowledge and Data Engineering
       (2021).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from kernelfit import ForestKernel, KernelSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(ForestKernel(random_state=0), KernelSVC(kernel="precomputed"))
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "task": [StrOptions({"auto", "classification", "regression", "unsupervised"})],
        "forest": [StrOptions({"extra_trees", "random_forest"})],
        "similarity": [StrOptions({"leaf", "ratio"})],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "max_features": [
            StrOptions({"sqrt", "log2"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            None,
        ],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators=200,
        *,
        task="auto",
        forest="extra_trees",
        similarity="leaf",
        min_samples_leaf=5,
        max_depth=None,
        max_features="sqrt",
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.task = task
        self.forest = forest
        self.similarity = similarity
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.max_features = max_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.task in ("classification", "regression")
        return tags

    def fit(self, X, y=None):
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,), default=None
            Class labels, or targets.

        Returns
        -------
        self : object
            The fitted estimator. Where fit raises or is interrupted, it is left as it was.
        """
        self._validate_params()
        fitted = blank_copy(self)
        fitted._fit(X, y)
        self.__dict__ = fitted.__dict__
        return self

    def _fit(self, X, y):
        unsupervised = self.task == "unsupervised" or (self.task == "auto" and y is None)
        if unsupervised:
            X = validate_data(self, X, dtype=np.float64)
        else:
            X, y = validate_data(self, X, as_plain(y), dtype=np.float64)
        self.task_ = "unsupervised" if unsupervised else self._task_of(y)
        if self.task_ == "regression":
            y, _ = in_unit(check_targets(y))  # the trees are the same in any unit
        _check_sizes(X)
        grown = self._grow(X, y)
        trees = [tree.tree_ for tree in grown.estimators_]
        forest = Forest.join(
            [(t.feature, t.threshold, t.children_left, t.children_right) for t in trees]
        )
        self.kernel_ = (LeafKernel if self.similarity == "leaf" else RatioKernel)(forest)
        self.X_fit_ = X
        self._n_features_out = len(X)

    def _task_of(self, y):
        if self.task == "classification":
            with np.errstate(invalid="ignore"):
                check_labels(y)
        if self.task != "auto":
            return self.task
        return "regression" if kind_of_targets(y).startswith("continuous") else "classification"

    def _grow(self, X, y):
        random = check_random_state(self.random_state)
        options = {
            "n_estimators": self.n_estimators,
            "max_depth": self.max_depth,
            "n_jobs": self.n_jobs,
            "random_state": random.randint(2**31 - 1),
        }
        if self.task_ == "unsupervised":
            # The one threshold drawn at a node is its test, whatever the targets. With a least
            # number of rows in a leaf it would often be refused, and the node a large leaf.
            twice = 2 * self.min_samples_leaf
            twice = min(twice, 1.0) if isinstance(twice, float) else twice
            trees = ExtraTreesRegressor(max_features=1, min_samples_split=twice, **options)
            return trees.fit(X, random.uniform(size=len(X)))
        options |= {"min_samples_leaf": self.min_samples_leaf, "max_features": self.max_features}
        return _FORESTS[self.forest, self.task_](**options).fit(X, y)

    def transform(self, X):
        """Return the kernel between points and the training points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples, n_samples_fit)
        """
        check_is_fitted(self)
        return self.kernel_(validate_data(self, X, reset=False, dtype=np.float64), self.X_fit_)


def _check_sizes(X):
    """Refuse features that no tree can split, as trees see them in single precision."""
    largest = np.abs(X).max()
    if largest > np.finfo(np.float32).max:
        raise ValueError(
            f"expected features of moderate scale, got {largest:.3g}, which is beyond float32"
        )
    widest = np.ptp(X, axis=0).max()
    if 0.0 < widest <= _LEAST_RANGE:
        raise ValueError(
            f"expected features of moderate scale, got none whose values differ by more than "
            f"{widest:.3g}"
        )
