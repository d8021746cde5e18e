"""Scores of decision values that have been computed already."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring


class FoldScorer:
    """Scores the candidates of a fold: together by the default metric, else one by one.

    Parameters
    ----------
    search : estimator
        Whose `scoring` is used: None for accuracy or R^2.
    X, y, weight
        The data.
    weighted : bool
        Whether the weights were given, and so are passed to the scorer.
    """

    def __init__(self, search, X, y, weight, weighted):
        self.X, self.y, self.weight, self.weighted = X, y, weight, weighted
        self.classify = is_classifier(search)
        self._given = "predict and decision_function" if self.classify else "predict"
        self.scoring, self.scorer = search.scoring, None
        if search.scoring is not None:
            self.scorer = check_scoring(search, scoring=search.scoring)

    def __call__(self, predictions, replays, test):
        """Return a score for every column of the predictions on the rows `test`.

        ``replays()`` gives, for every column, an estimator that replays it.
        """
        y, weight = self.y[test], self.weight[test]
        if self.scorer is not None:
            options = {"sample_weight": weight} if self.weighted else {}
            X = self.X[test]
            try:
                return np.array([self.scorer(replay, X, y, **options) for replay in replays()])
            except AttributeError as error:  # names what the scorer looked for
                raise ValueError(
                    f"expected scoring that needs {self._given} alone, got {self.scoring!r}"
                ) from error
        if self.classify:
            return weight @ (predictions == y[:, None]) / weight.sum()
        residual = weight @ (predictions - y[:, None]) ** 2
        total = weight @ (y - weight @ y / weight.sum()) ** 2
        return 1.0 - residual / total if total > 0.0 else np.where(residual == 0.0, 1.0, 0.0)


class ReplayClassifier(ClassifierMixin, BaseEstimator):
    """Shows stored decision values to a scorer as if it had computed them."""

    def __init__(self, classes, prediction, values):
        self.classes_, self._prediction, self._values = classes, prediction, values

    def predict(self, X):
        """Return the stored classes."""
        return self._prediction

    def decision_function(self, X):
        """Return the stored decision values."""
        return self._values


class ReplayRegressor(RegressorMixin, BaseEstimator):
    """Shows stored predictions to a scorer as if it had computed them."""

    def __init__(self, prediction):
        self._prediction = prediction

    def predict(self, X):
        """Return the stored predictions."""
        return self._prediction
