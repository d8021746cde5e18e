"""Any classifier on blocks of the data: the scalable setting of the DANK paper."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelfit.kernels.distances import squared_distances
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.sklearn_private import HasMethods, Interval, StrOptions


class BlockClassifier(ClassifierMixin, BaseEstimator):
    """One classifier for each block of the data, such as MKL, BMKL or LogDet and a machine.

    The DANK paper [1]_ divides large data by k-means for its comparators as for itself. Here the
    blocks learn all they learn alone: weights of kernels, metrics, machines.

    Parameters
    ----------
    estimator : estimator
        The classifier.
    partition : int or array-like of shape (n_samples,), default=10
        Number of blocks into which k-means splits the data, or the block of every row.
    combine : {"nearest", "concatenate"}, default="nearest"
        Whether a point is predicted by the block of the nearest centre, or, with given blocks, of
        the nearest training point; or by the sum of all decision values, the scheme of the paper,
        for two classes, both in every block. The sum is of use where kernels hardly reach from
        block to block; otherwise the other blocks outweigh that of a point.
    random_state : int, RandomState instance or None, default=None
        Random seed of k-means.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    estimators_ : list of estimators
        The classifiers of the blocks.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all of them are strings.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. "Learning Data-adaptive Non-parametric
       Kernels". Journal of Machine Learning Research 21, 2020.
       http://jmlr.org/papers/v21/19-900.html

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelfit import MKLClassifier
    >>> from kernelfit.papers import BlockClassifier
    >>> X, y = make_moons(400, noise=0.2, random_state=0)
    >>> bank = [{"kernel": "rbf", "gamma": [0.5, 5.0]}]
    >>> model = BlockClassifier(MKLClassifier(C=10.0, kernels=bank), 4, random_state=0).fit(X, y)
    >>> len(model.estimators_), model.score(X, y) > 0.95
    (4, True)
    """

    _centres: np.ndarray  # a point belongs to the block of the nearest one
    _labels: np.ndarray  # of the centres
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "partition": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "combine": [StrOptions({"nearest", "concatenate"})],
        "random_state": ["random_state"],
    }

    def __init__(self, estimator, partition=10, *, combine="nearest", random_state=None):
        self.estimator = estimator
        self.partition = partition
        self.combine = combine
        self.random_state = random_state

    def fit(self, X, y):
        """Train the classifiers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : object
            The fitted estimator. Where fit raises or is interrupted, it is left as it was.
        """
        self._validate_params()
        fitted = blank_copy(self)
        X, y = validate_data(fitted, X, y, dtype=np.float64)
        check_classification_targets(y)
        fitted.classes_ = np.unique(y)
        counted = isinstance(self.partition, Integral)
        if counted:
            if self.partition > len(y):
                raise ValueError(
                    f"expected at most n_samples={len(y)} blocks, got partition={self.partition}"
                )
            means = KMeans(self.partition, n_init=1, random_state=self.random_state).fit(X)
            blocks, fitted._centres = means.labels_, means.cluster_centers_
            fitted._labels = np.arange(self.partition)
        else:
            blocks = np.unique(column_or_1d(self.partition), return_inverse=True)[1]
            check_consistent_length(X, blocks)
            fitted._centres, fitted._labels = X, blocks
        fitted.estimators_ = []
        for block in range(blocks.max() + 1):
            rows = blocks == block
            single = len(np.unique(y[rows])) == 1
            if self.combine == "concatenate" and (single or len(fitted.classes_) != 2):
                raise ValueError(
                    "expected two classes, both in every block, for combine='concatenate', got "
                    f"{len(np.unique(y[rows]))} of {len(fitted.classes_)} in block {block}"
                )
            model = DummyClassifier() if single else clone(self.estimator)
            fitted.estimators_.append(model.fit(X[rows], y[rows]))
        self.__dict__ = fitted.__dict__
        return self

    def predict(self, X):
        """Return the labels of points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        if self.combine == "concatenate":
            total = np.sum([model.decision_function(X) for model in self.estimators_], axis=0)
            return self.classes_[(total > 0.0).astype(np.intp)]
        home = self._labels[squared_distances(X, self._centres).argmin(axis=1)]
        labels = np.empty(X.shape[0], dtype=self.classes_.dtype)
        for block in np.unique(home):
            labels[home == block] = self.estimators_[block].predict(X[home == block])
        return labels
