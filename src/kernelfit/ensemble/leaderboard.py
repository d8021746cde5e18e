"""What a fit tells: scores out of fold, and a table of the members."""

import time
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.metrics import accuracy_score, check_scoring, r2_score

from kernelfit.selection.scoring import ReplayRegressor

_TIMED_ROWS = 200  # of a prediction


class FoldScores:
    """Scores of predictions on the test rows of every fold.

    Parameters
    ----------
    owner : estimator
        Whose `scoring` is used: None for accuracy or R^2.
    data : Data
    folds : sequence of (train, test)
    weighted : bool
        Whether weights were given, and so are passed to the scorer.
    """

    def __init__(self, owner, data, folds, weighted):
        self.data, self.folds, self.weighted = data, folds, weighted
        self.decide = owner._decide
        self.classes = owner.classes_ if is_classifier(owner) else None
        self.scorer = None if owner.scoring is None else check_scoring(owner, scoring=owner.scoring)

    def try_out(self):
        """Score the truth of one fold, so that a scorer that does not fit raises its error."""
        if self.scorer is not None:
            data, (_, test) = self.data, self.folds[0]
            truth = data.targets[:, 0]
            if self.classes is not None:
                truth = np.eye(len(self.classes))[data.labels]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.score(truth[test], test)

    def of_predictions(self, predicted):
        """Return the mean score of predictions of all rows."""
        return float(np.mean([self.score(predicted[test], test) for _, test in self.folds]))

    def score(self, predicted, rows):
        """Return the score of predictions, or probabilities, of some rows."""
        data, weight = self.data, self.data.weight[rows]
        if self.classes is not None:
            truth = self.classes[data.labels[rows]]
            if self.scorer is None:
                return accuracy_score(truth, self.decide(predicted), sample_weight=weight)
            replay = _ReplayClassifier(self.classes, predicted)
        else:
            if self.scorer is None:  # R^2, which has no unit
                if len(rows) < 2:
                    return np.nan
                return r2_score(data.targets[rows, 0], predicted, sample_weight=weight)
            truth = self.decide(data.targets[rows, 0])
            replay = ReplayRegressor(self.decide(predicted))
        options = {"sample_weight": weight} if self.weighted else {}
        return self.scorer(replay, data.table[rows], truth, **options)


class _ReplayClassifier(ClassifierMixin, BaseEstimator):
    """Shows probabilities to a scorer as if it had computed them."""

    def __init__(self, classes, p):
        self.classes_, self._p = classes, p

    def predict(self, X):
        return self.classes_[self._p.argmax(axis=1)]

    def predict_proba(self, X):
        return self._p

    def decision_function(self, X):
        logs = np.log(np.maximum(self._p, 1e-300))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs


def tabulate(ensemble, fold_scores):
    """Return the table of all members that went into the stack, the best first."""
    found, alone, trained = ensemble.found, ensemble.alone, ensemble.trained
    members = ensemble.candidates
    weight = np.zeros(len(members))
    fit_seconds, predict_seconds = np.full((2, len(members)), np.nan)
    weight[ensemble.keep] = ensemble.combination.stack.weights
    fit_seconds[ensemble.keep] = trained.seconds
    rows = ensemble.sample.table[:_TIMED_ROWS]
    for k, machine in zip(ensemble.keep, trained.machines.machines, strict=True):
        began = time.perf_counter()
        type(trained.machines)([machine])(rows, ensemble.device)
        predict_seconds[k] = (time.perf_counter() - began) / len(rows) * 1000.0
    order = np.argsort(alone.losses, kind="stable")
    search_seconds = np.repeat([one.seconds for one in found], [len(one.members) for one in found])
    score = fold_scores.of_predictions
    return {
        "member": np.array([member.name for member in members], dtype=object)[order],
        "loss": alone.losses[order],
        "score": np.array([score(alone.alone(k, ensemble.scores[k])) for k in order]),
        "weight": weight[order],
        "search_seconds": search_seconds[order],
        "fit_seconds": fit_seconds[order],
        "predict_seconds": predict_seconds[order],
    }
