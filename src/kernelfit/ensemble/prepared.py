"""Estimators of numbers on tables as they come."""

from typing import ClassVar

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from kernelfit.ensemble.base import AutoKernel
from kernelfit.tables.reader import TableReader
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.sklearn_private import HasMethods


class TableEstimator(BaseEstimator):
    """An estimator on a frame, of which it knows the columns by name.

    A `TableReader` turns it into numbers; AutoKernel, which does so itself, gets it as it is.

    Parameters
    ----------
    estimator : estimator
    target : str, default="target"
        What the targets are called; for messages.
    column_kinds : dict, default=None
        For the `TableReader`; AutoKernel has its own.

    Attributes
    ----------
    estimator_ : estimator
        The fitted one.
    names_ : list of str
        Names of the columns that it was fitted on.
    measured_ : dict
        What was measured beside the fit, such as its score on held-out rows; `fit` sets none.
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "target": [str],
        "column_kinds": [dict, None],
    }

    def __init__(self, estimator, *, target="target", column_kinds=None):
        self.estimator = estimator
        self.target = target
        self.column_kinds = column_kinds

    def fit(self, X, y):
        """Learn how to read the table, then fit the estimator.

        Parameters
        ----------
        X : frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : object
        """
        fitted = blank_copy(self)
        fitted._learn(X)
        fitted.estimator_ = clone(self.estimator)
        fitted.estimator_.fit(fitted.features(X), y)
        self.__dict__ = fitted.__dict__
        return self

    def _learn(self, X):
        """Learn how to read the table."""
        self.names_ = [str(name) for name in X.columns]
        is_own = isinstance(self.estimator, AutoKernel)
        self._reader = None if is_own else TableReader(self.column_kinds).fit(X)

    def features(self, X):
        """Return the frame that the estimator sees: for AutoKernel the columns, else numbers."""
        X = X[self.names_]
        if self._reader is None:
            return X
        names = self._reader.get_feature_names_out()
        return type(X)(self._reader.transform(X), columns=names, index=X.index)

    @property
    def columns_(self):
        """What each column became."""
        check_is_fitted(self)
        reader = self.estimator_ if self._reader is None else self._reader
        return reader.columns_

    @property
    def classes_(self):
        """The classes, of a classifier."""
        check_is_fitted(self)
        return self.estimator_.classes_

    def predict(self, X):
        """Return classes or targets of a frame."""
        check_is_fitted(self)
        return self.estimator_.predict(self.features(X))

    def predict_proba(self, X):
        """Return the probabilities of the classes, where the estimator has them."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(self.features(X))

    def predict_interval(self, X, alpha=0.1):
        """Return the ends of prediction intervals, where the estimator has them."""
        check_is_fitted(self)
        return self.estimator_.predict_interval(self.features(X), alpha)
