"""What the cross-validated estimators share: folds, choice, final training."""

import warnings
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from kernelfit.selection.scoring import FoldScorer
from kernelfit.utils.validation import check_weights


class KernelSearch(BaseEstimator):
    """Base of the cross-validated estimators.

    A subclass gives ``_machine()``, an unfitted machine with its fixed parameters, and
    ``_search(X, y, weight, splits, scorer)``, which scores all candidates and returns the table
    ``cv_results_`` and how many solutions missed their tolerance.
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_average": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def fit(self, X, y, sample_weight=None, groups=None):
        """Search the grid and train the best machines on all of the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training points; the kernel matrix, of shape (n_samples, n_samples), for
            ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels, or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in training and in the scores; ones when None.
        groups : array-like of shape (n_samples,), default=None
            Passed to the splitter `cv`.

        Returns
        -------
        self : object
            The fitted estimator. Where fit raises or is interrupted, it is left as it was.
        """
        self._validate_params()
        checked, machine = clone(self), self._machine()
        given = X, y
        X, y = machine._check_training_data(X, y, owner=checked)
        weight = check_weights(sample_weight, len(y))
        if is_classifier(self):
            self._machine()._encode(y, weight)  # complains of classes before any fold does
        folds = check_cv(self.cv, y, classifier=is_classifier(self)).split(X, y, groups)
        splits = [_rows(k + 1, fold, weight) for k, fold in enumerate(folds)]
        if not splits:
            raise ValueError("expected cv to give at least one fold, got none")
        if is_classifier(self):
            self._check_classes(y, weight, splits)
        scorer = FoldScorer(self, X, y, weight, sample_weight is not None)
        table, n_unconverged = self._search(X, y, weight, splits, scorer)
        if not np.isfinite(table["mean_test_score"]).any():
            raise ValueError("expected finite scores, got none for any candidate")
        chosen = self._chosen(table)
        machines = [self._machine().set_params(**table["params"][index]) for index in chosen]
        for machine in machines:
            machine.fit(*given, sample_weight=sample_weight)
        best, machine = chosen[0], machines[0]
        self._warn(table, n_unconverged)
        fitted = {
            **{name: value for name, value in vars(checked).items() if name.endswith("_in_")},
            "cv_results_": table,
            "best_index_": best,
            "best_params_": table["params"][best],
            "best_score_": float(table["mean_test_score"][best]),
            "best_estimator_": machine,
            "estimators_": machines,
            "n_splits_": len(splits),
            "n_iter_": machine.n_iter_,
        }
        if is_classifier(self):
            fitted["classes_"] = machine.classes_
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)  # of an earlier fit
        self.__dict__.update(fitted)
        return self

    def _check_classes(self, y, weight, splits):
        """Complain of classes before any machine is trained, and name the fold."""
        for number, (train, _) in enumerate(splits, start=1):
            try:
                self._machine()._encode(y[train], weight[train])
            except ValueError as error:
                raise ValueError(f"in the training part of fold {number}: {error}") from None

    def predict(self, X):
        """Predict by the mean decision value of the chosen machines.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; their kernel with the training points for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self._mean_values(X)
        if not is_classifier(self):
            return values[:, 0]
        return self.classes_[self.best_estimator_._choose(values)]

    def _mean_values(self, X):
        check_is_fitted(self)
        return np.mean([machine._decision_values(X) for machine in self.estimators_], axis=0)

    def _chosen(self, table):
        """Return the indices of the candidates to train and average, the best first.

        Averaged are those that the folds cannot tell from the best one: their scores fall short
        of its by no more than one standard error of the difference.
        """
        order = self._ranked(table)
        shortfall, error = difference(table, order[0], order)
        rounding = 1e-12 * abs(table["mean_test_score"][order[0]])
        alike = np.flatnonzero(shortfall <= error + rounding)
        return [order[k] for k in alike[: self.n_average]]

    def _ranked(self, table):
        """Return the indices of the candidates that may be chosen, the best first."""
        return np.argsort(table["rank_test_score"], kind="stable").tolist()

    def _warn(self, table, n_unconverged):
        name = type(self).__name__
        if not np.isfinite(table["mean_test_score"]).all():
            message = f"{name} met scores that are not finite: such candidates rank last"
            warnings.warn(message, UserWarning, stacklevel=3)
        if n_unconverged:
            warnings.warn(
                f"{n_unconverged} solutions in the search of {name} missed their tolerance within "
                f"max_iter={self.max_iter} rounds: their scores are rough",
                ConvergenceWarning,
                stacklevel=3,
            )


def _rows(number, fold, weight):
    """Return the training and test rows of a fold, without those of weight zero."""
    parts = [np.asarray(part) for part in fold]
    parts = [np.flatnonzero(part) if part.dtype == bool else part for part in parts]
    parts = [part[weight[part] > 0] if part.size else part for part in parts]
    for name, part in zip(("training", "test"), parts, strict=True):
        if not part.size:
            raise ValueError(
                f"expected rows of positive weight in the {name} part of fold {number}"
            )
    return parts


def difference(table, first, others):
    """Compare the scores of one candidate with those of others over the folds.

    Parameters
    ----------
    table : dict
        As ``cv_results_``.
    first : int
        Index of the candidate.
    others : list of int
        Indices of the others.

    Returns
    -------
    gain : ndarray of shape (n_others,)
        By how much its mean score exceeds theirs.
    error : ndarray of shape (n_others,)
        Standard errors of these differences; 0 with one fold.
    """
    folds = [values for name, values in table.items() if name.startswith("split")]
    gains = np.array([scores[first] - scores[others] for scores in folds])
    return gains.mean(axis=0), gains.std(axis=0) / np.sqrt(max(len(folds) - 1, 1))


def positive(values, name):
    """Return values as an array; ValueError unless they are a list of positive numbers."""
    return _numbers(values, name, "positive numbers", lambda array: array > 0)


def not_negative(values, name):
    """Return values as an array; ValueError unless they are a list of numbers >= 0."""
    return _numbers(values, name, "numbers >= 0", lambda array: array >= 0)


def _numbers(values, name, kind, allowed):
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or not array.size or not np.all(allowed(array) & np.isfinite(array)):
        raise ValueError(f"expected {name} to be a list of {kind}, got {values!r}")
    return array
