"""The transformer from tables as they come to the numbers that machines compare."""

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernelfit.tables.describe import ReadsColumns
from kernelfit.tables.frames import check_table
from kernelfit.tables.plan import read_plan
from kernelfit.tables.views import learn_view
from kernelfit.tables.warnings import warn_of_dates, warn_of_plan
from kernelfit.utils.sklearn_private import StrOptions


class TableReader(ReadsColumns, TransformerMixin, BaseEstimator):
    """Reads tables as AutoKernel does: dates, text, categories, money and numbers become numbers.

    What a column means is found out from all of its values: see the user guide for the rules.
    Numbers are standardised, categories and their kin have one feature a value, at squared
    distance two, dates have their elapsed time and their places on the circles of year, week and
    day, and texts their places along the main directions of what they have in common.

    Parameters
    ----------
    column_kinds : dict, default=None
        What columns are, by name or place, where that is not to be found out: "number",
        "category", "text", "date", "day first", "month first", "unix" (seconds since 1970),
        "duration", "time" or "drop".
    shape : {"standard", "ranks", "given"}, default="standard"
        Whether numbers are standardised, get the shape of a Gaussian, or stay as they are.

    Attributes
    ----------
    columns_ : DataFrame or dict
        What each column became: its name, kind, use, number of features, missing values in
        training, and a note. A dict of lists where pandas is not installed.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Their names, where the table had any.

    See Also
    --------
    kernelfit.AutoKernelClassifier : Reads tables in the same way, its scales inside the folds.

    Examples
    --------
    >>> from kernelfit.tables import TableReader
    >>> table = [{"price": "$4,312", "sold": "2026-03-01"}, {"price": "$99", "sold": "2026-07-04"}]
    >>> TableReader(shape="given").fit_transform(table)[:, :2]
    array([[ 4312., 20513.],
           [   99., 20638.]])
    """

    _parameter_constraints: ClassVar[dict] = {
        "column_kinds": [dict, None],
        "shape": [StrOptions({"standard", "ranks", "given"})],
    }

    def __init__(self, column_kinds=None, *, shape="standard"):
        self.column_kinds = column_kinds
        self.shape = shape

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y=None):
        """Find out what the columns mean and learn their scales.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        self._validate_params()
        X = check_table(self, X, reset=True)
        self._plan = read_plan(X, self.column_kinds)
        table = self._plan.read(X)
        self._view = learn_view(table, self._plan.roles, np.ones(len(table)), self.shape)
        self._n_features_out = len(self._view.sources)
        warn_of_plan(self._plan, stacklevel=2)
        return self

    def transform(self, X):
        """Return a table as numbers.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            None of them missing.
        """
        check_is_fitted(self)
        X = check_table(self, X, reset=False)
        warn_of_dates(self._plan, X, stacklevel=2)
        return self._view(self._plan.read(X))

    def get_feature_names_out(self, input_features=None):
        """Return the names of the features: those of their columns, and what of these they are.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored: the names are those of training.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = self._view.names(self._plan.parsed_names(), self._plan.labels())
        return np.array(names, dtype=object)
