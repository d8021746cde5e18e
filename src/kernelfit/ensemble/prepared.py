"""Estimators of numbers on tables as they come."""

from collections import Counter
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from kernelfit.ensemble.base import AutoKernel
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.sklearn_private import HasMethods
from kernelfit.utils.table import read_schema
from kernelfit.utils.views import learn_view


class TableEstimator(BaseEstimator):
    """An estimator on a frame, of which it knows the columns by name.

    Numbers are standardised, categories and text become one column a value, missing values are
    marked; AutoKernel, which does so itself, gets the frame as it is.

    Parameters
    ----------
    estimator : estimator
    target : str, default="target"
        What the targets are called; for messages.

    Attributes
    ----------
    estimator_ : estimator
        The fitted one.
    columns_ : list of str
        The columns that it was fitted on.
    text_columns_ : list of str
        Those that are no numbers.
    measured_ : dict
        What was measured beside the fit, such as its score on held-out rows; `fit` sets none.
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "target": [str],
    }

    def __init__(self, estimator, *, target="target"):
        self.estimator = estimator
        self.target = target

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
        self.columns_ = [str(name) for name in X.columns]
        self.text_columns_ = [name for name in X.columns if X[name].dtype.kind not in "biuf"]
        if not isinstance(self.estimator, AutoKernel):
            self._schema = read_schema(X)
            table = self._schema.read(X)
            ones = np.ones(len(table))
            self._view = learn_view(table, self._schema.is_category, ones, "standard")

    def features(self, X):
        """Return the frame that the estimator sees: for AutoKernel the columns, else numbers."""
        X = X[self.columns_]
        if isinstance(self.estimator, AutoKernel):
            return X
        values = self._view(self._schema.read(X))
        return type(X)(values, columns=self._feature_names(), index=X.index)

    def _feature_names(self):
        """Return the names of these numbers: those of their columns, numbered where several."""
        sources = [self.columns_[j] for j in self._view.sources]
        several = Counter(sources)
        seen: Counter[str] = Counter()
        names = []
        for name in sources:
            seen[name] += 1
            names.append(f"{name} ({seen[name]})" if several[name] > 1 else name)
        return names

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
