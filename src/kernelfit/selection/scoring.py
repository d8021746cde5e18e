"""Scores of decision values that have been computed already."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring

from kernelfit.selection.calibration import fit_calibration, with_largest

UNCALIBRATED = (
    "expected a fold with all classes in its training part, to calibrate probabilities on its test "
    "part, got none"
)


class FoldScorer:
    """Scores the candidates of a search: together by the default metric, else one by one.

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
        self.scorer = None
        if search.scoring is not None:
            self.scorer = check_scoring(search, scoring=search.scoring)

    def __call__(self, folds):
        """Return the scores, of shape (n_candidates, n_folds), of a list of `FoldValues`."""
        return np.stack([self._score_fold(folds, k) for k in range(len(folds))], axis=1)

    def _score_fold(self, folds, k):
        fold = folds[k]
        y, weight = self.y[fold.test], self.weight[fold.test]
        if self.scorer is not None:
            options = {"sample_weight": weight} if self.weighted else {}
            X = self.X[fold.test]
            return np.array(
                [
                    self.scorer(self._replay(folds, k, candidate), X, y, **options)
                    for candidate in range(len(fold.values))
                ]
            )
        if self.classify:
            predictions = fold.machine.classes_[fold.machine._choose(fold.values)]
            return (predictions == y) @ weight / weight.sum()
        y = y.reshape(len(y), -1)
        residual = np.einsum("i,cik->ck", weight, (fold.values - y) ** 2)
        total = weight @ (y - weight @ y / weight.sum()) ** 2
        missed = np.where(residual == 0.0, 0.0, 1.0)  # where the targets are constant
        share = np.divide(residual, total, out=missed, where=total > 0.0)
        return 1.0 - share.mean(axis=1)

    def _replay(self, folds, k, candidate):
        fold = folds[k]
        values = fold.values[candidate]
        if not self.classify:
            return ReplayRegressor(fold.machine._shape(values))

        def calibrate():
            """Fit the probabilities to the other folds, or to this one where no other will do."""
            others = [other for j, other in enumerate(folds) if j != k]
            for part in (others, [fold]):
                found = self.calibrate(part, [candidate], fold.machine.classes_)
                if found is not None:
                    return found
            raise ValueError(UNCALIBRATED)

        return ReplayClassifier(fold.machine, values, calibrate)

    def calibrate(self, folds, candidates, classes):
        """Fit probabilities to the mean out-of-fold values of some candidates.

        Parameters
        ----------
        folds : list of FoldValues
        candidates : list of int
        classes : ndarray
            Folds whose machine knows others are left out.

        Returns
        -------
        Calibration or None
            None where no row of these classes is left.
        """
        folds = [fold for fold in folds if np.array_equal(fold.machine.classes_, classes)]
        rows = np.concatenate([fold.test for fold in folds] or [np.empty(0, np.intp)])
        known = np.isin(self.y[rows], classes)
        if not known.any():
            return None
        scores = [
            fold.machine._class_scores(fold.values[candidates].mean(axis=0)) for fold in folds
        ]
        labels = np.searchsorted(classes, self.y[rows][known])
        return fit_calibration(np.concatenate(scores)[known], labels, self.weight[rows][known])


class ReplayClassifier(ClassifierMixin, BaseEstimator):
    """Shows stored decision values to a scorer as if it had computed them."""

    def __init__(self, machine, values, calibrate):
        self.classes_ = machine.classes_
        self._machine, self._values, self._calibrate = machine, values, calibrate

    def predict(self, X):
        """Return the classes that the values decide for."""
        return self.classes_[self._machine._choose(self._values)]

    def decision_function(self, X):
        """Return the stored decision values."""
        return self._machine._shape(self._values)

    def predict_proba(self, X):
        """Return the probabilities that fit the other folds."""
        p = self._calibrate()(self._machine._class_scores(self._values))
        return with_largest(p, self._machine._choose(self._values))


class ReplayRegressor(RegressorMixin, BaseEstimator):
    """Shows stored predictions to a scorer as if it had computed them."""

    def __init__(self, prediction):
        self._prediction = prediction

    def predict(self, X):
        """Return the stored predictions."""
        return self._prediction
