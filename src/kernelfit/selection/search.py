"""What all cross-validated estimators share: folds, choice, final training, probabilities."""

import functools
import warnings
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kernelfit.estimators.regressor import RegressorMachine
from kernelfit.selection.calibration import with_largest
from kernelfit.selection.folds import Cell, Common, FoldValues, Grid, Parts, Training
from kernelfit.selection.scoring import UNCALIBRATED, FoldScorer
from kernelfit.selection.table import difference, tabulate
from kernelfit.selection.values import check_spread, not_negative, positive, spread
from kernelfit.selection.work import Work
from kernelfit.utils.atomic import blank_copy
from kernelfit.utils.folds import missing_classes, split_folds
from kernelfit.utils.memory import available_memory
from kernelfit.utils.progress import show_progress
from kernelfit.utils.sklearn_private import Interval
from kernelfit.utils.validation import check_weights

_MACHINE_SHARE = 0.25  # of the available memory for a machine of a search with cache_size="auto"
_SPREAD = "a moderate spread of the targets"  # is expected of the unit of C
_EXTENSIONS = 3  # of a default grid whose best candidate is at its edge
# Of the searches for regressors.
REGRESSION = {
    "epsilons": ["array-like", None],
    "loss": RegressorMachine._parameter_constraints["loss"],
}


def _classifies(search):
    return is_classifier(search)


class KernelSearch(BaseEstimator):
    """Base of the cross-validated estimators.

    A subclass gives ``_machine_class``, ``_names``, the parameters that all its machines share, and
    ``_kernel_params(X, weight)``, the parameters of the kernels of the grid.
    """

    _parameter_constraints: ClassVar[dict] = {
        "Cs": ["array-like", None],
        "n_average": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "search_tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "checkpoint": [str, PathLike, None],
        "verbose": ["verbose"],
    }
    # Grids in units of the targets.
    _default_Cs = np.array([0.1, 1.0, 10.0, 100.0])
    _default_epsilons = np.array([0.1])
    _prefer = "processes"  # most of the work is not compiled, and so holds the interpreter's lock
    device = None  # where the search has no such parameter
    _memory: float | None = None  # that cache_size="auto" of a machine takes a share of
    _cost_limits = (0.0, np.inf)  # of a default grid of C, which extensions keep, too

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        machine = self._machine().__sklearn_tags__()
        tags.target_tags.multi_output = machine.target_tags.multi_output
        tags.input_tags.pairwise = machine.input_tags.pairwise
        tags.input_tags.sparse = machine.input_tags.sparse
        return tags

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
        fitted = blank_copy(self)
        grid, work, scorer = fitted._begin(X, y, sample_weight, groups)
        new, folds = grid, None
        params: list[dict] = []
        for _ in range(1 + _EXTENSIONS):
            cells = work.results(fitted._cells(new, len(work.parts.splits), exact=False))
            found = fitted._folds(new, cells, work.parts)
            if self.verbose:
                fitted._report(found)
            params += new.params()
            folds = found if folds is None else _joined(folds, found)
            table = fitted._tabulate(params, folds, scorer)
            more = fitted._extension(grid, table)
            if more is None:
                break
            grid, new = more
        fitted._conclude(table, folds, work, scorer)
        self.__dict__ = fitted.__dict__
        return self

    def _begin(self, X, y, sample_weight, groups):
        """Check the data; return the grid, the work to do and what scores it."""
        machine = self._machine()
        # Once for all, so that the result does not hang on how many machines are trained at a time.
        self._memory = available_memory() * _MACHINE_SHARE
        X, y = machine._check_training_data(X, y, owner=self)
        weight = check_weights(sample_weight, len(y))
        machine._encode(y, weight)  # complains of targets before any fold does
        if not is_classifier(self):
            check_spread(y, weight)
        splits = self._splits(X, y, weight, groups)
        self._check_folds(y, weight, splits)
        scorer = FoldScorer(self, X, y, weight, sample_weight is not None)
        grid = self._grid(X, y, weight)
        return grid, Work(self, Parts((X, y, weight), splits, self._common(X))), scorer

    def _machine(self, **params):
        """Return an unfitted machine with the search's fixed parameters and others."""
        fixed = {name: getattr(self, name) for name in (*self._names, "verbose")}
        machine = self._machine_class(**{**fixed, **params})
        if hasattr(self, "feature_names_in_"):  # by which kernels may name their features
            machine.feature_names_in_ = self.feature_names_in_
        return machine

    def _grid(self, X, y, weight):
        epsilons, Cs = self._epsilon_values(y, weight), self._costs(X, y, weight)
        return Grid(self._kernel_params(X, weight), epsilons, Cs, self._etas())

    def _epsilon_values(self, y, weight):
        """Return the values of epsilon to try; [None] where there is no tube."""
        if not hasattr(self, "epsilons"):
            return [None]
        if self.loss != "squared":
            default = (float(spread(y, weight)) or 1.0) * self._default_epsilons
            return not_negative(default if self.epsilons is None else self.epsilons, "epsilons")
        if self.epsilons is not None:
            raise ValueError("expected epsilons=None for loss='squared', which has no tube")
        return [None]

    def _cost_units(self, X, y, weight):
        """Return the factors of the unit of C, by what is expected of the data."""
        # With a squared loss both terms of the objective have the unit of squared targets.
        relative = hasattr(self, "epsilons") and not self.loss.startswith("squared")
        return {_SPREAD: (float(spread(y, weight)) or 1.0) if relative else 1.0}

    def _etas(self):
        """Return the values of eta to try; None for machines without it."""
        return [None]

    def _splits(self, X, y, weight, groups):
        """Return the training and test rows of every fold."""
        folds = split_folds(self.cv, X, y, groups, is_classifier(self))
        return [_rows(k + 1, fold, weight) for k, fold in enumerate(folds)]

    def _conclude(self, table, folds, work, scorer):
        """Choose candidates, train them and set the fitted attributes."""
        chosen = self._chosen(table)
        machines, exact = self._train([table["params"][index] for index in chosen], work)
        self._warn(table, sum(fold.n_unconverged for fold in folds))
        self.cv_results_ = table
        self.best_index_ = chosen[0]
        self.best_params_ = table["params"][chosen[0]]
        self.best_score_ = float(table["mean_test_score"][chosen[0]])
        self.best_estimator_ = machines[0]
        self.estimators_ = machines
        self.n_splits_ = self._n_splits(work.parts)
        self.n_iter_ = machines[0].n_iter_
        if is_classifier(self):
            self.classes_ = machines[0].classes_
            places = list(range(len(chosen)))
            self._calibration = scorer.calibrate(exact, places, self.classes_)

    def _n_splits(self, parts):
        """Return the number of folds, for users."""
        return len(parts.splits)

    def _cells(self, grid, n_splits, exact):
        """Return the cells of a grid: all kernels of the first fold, then of the next."""
        largest = float(max(grid.Cs))
        return [
            self._cell(
                fold,
                self._fold_machine(grid, exact, C=largest, **params),
                replace(grid, kernels=[params]),
            )
            for fold in range(n_splits)
            for params in grid.kernels
        ]

    def _cell(self, fold, machine, grid):
        return Cell(fold, machine, grid)

    def _folds(self, grid, cells, parts):
        """Return the values of every fold from those of its cells."""
        folds = []
        own = _divided(cells, len(parts.splits))
        for (train, test), values in zip(parts.splits, own, strict=True):
            machine = self._machine()
            targets, factor = machine._encode(parts.y[train], parts.weight[train])
            machine._make_plan(None, targets, factor)  # by which it knows what values mean
            folds.append(FoldValues.of(machine, test, grid, values))
        return folds

    def _report(self, folds):
        for k, fold in enumerate(folds, start=1):
            took = (fold.fit_time + fold.score_time).sum()
            show_progress().info(
                "fold %d/%d: %d candidates in %.2f s", k, len(folds), len(fold.values), took
            )

    def _fold_machine(self, grid, exact, **params):
        """Return a machine for the folds: exact, or as exact as the search needs."""
        machine = self._machine(**{**params, "verbose": 0})
        if not exact:
            machine.tol, machine._polish = self.search_tol, False
        return machine

    def _train(self, chosen, work):
        """Train machines of the chosen parameters on all rows.

        Returns
        -------
        machines : list of estimators
        exact : list of FoldValues
            Of a classifier's machines on the folds, as exact as they are themselves:
            probabilities are not to hang on `search_tol`.
        """
        tasks = []
        for params in chosen:
            machine = self._machine(**params)
            for name, value in vars(self).items():
                if name.endswith("_in_"):
                    setattr(machine, name, value)
            tasks.append(Training(machine))
        parts, n_splits = work.parts, len(work.parts.splits)
        grids = [self._single(params) for params in chosen] if is_classifier(self) else []
        for grid in grids:
            tasks += self._cells(grid, n_splits, exact=True)
        found = work.results(tasks)
        machines, cells = found[: len(chosen)], found[len(chosen) :]
        for machine in machines:
            machine._warn_if_unproven()
        exact = [
            self._folds(grid, own, parts)
            for grid, own in zip(grids, _divided(cells, len(grids)), strict=True)
        ]
        return machines, functools.reduce(_joined, exact) if exact else []

    def _single(self, params):
        """Return the grid of one candidate."""
        params = dict(params)
        C, epsilon, eta = (params.pop(name, None) for name in ("C", "epsilon", "eta"))
        return Grid([params], [epsilon], [C], [eta])

    def _common(self, X):
        """Return what the kernels of the grid have in common."""
        return Common()

    def _tabulate(self, params, folds, scorer):
        fit_time = np.stack([fold.fit_time for fold in folds], axis=1)
        score_time = np.stack([fold.score_time for fold in folds], axis=1)
        table = tabulate(params, scorer(folds), fit_time, score_time)
        if not np.isfinite(table["mean_test_score"]).any():
            raise ValueError("expected finite scores, got none for any candidate")
        return table

    def _extension(self, grid, table):
        """Return the grid extended where the best candidate is at the edge of a default axis.

        Returns
        -------
        (grid, new) or None
            The larger grid, and the part of it that is new.
        """
        best = table["params"][self._chosen(table)[0]]
        for name, extended in self._open_axes(grid):
            values = np.sort(np.unique([p[name] for p in table["params"]]))
            place = int(np.searchsorted(values, best[name]))
            if len(values) < 2 or 0 < place < len(values) - 1:
                continue
            inner = values[1] if place == 0 else values[-2]
            if self._gains(table, best, {**best, name: inner}):
                ratio = values[1] / values[0]
                beyond = [values[0] / ratio, values[0] / ratio**2]
                if place:
                    beyond = [values[-1] * ratio, values[-1] * ratio**2]
                least, most = self._cost_limits if name == "C" else (0.0, np.inf)
                beyond = [float(value) for value in beyond if least <= value <= most]
                if beyond:
                    return extended(beyond)
        return None

    def _gains(self, table, best, other):
        """Return whether one candidate is better than another by more than a standard error."""
        at = {_key(params): k for k, params in enumerate(table["params"])}
        gain, error = difference(table, at[_key(best)], [at[_key(other)]])
        least = self._least_gain() * abs(table["mean_test_score"][at[_key(best)]])
        return bool(gain[0] > error[0] + least)

    def _least_gain(self):
        """Return the gain over rounding that counts, relative to the score."""
        return 1e-9

    def _open_axes(self, grid):
        """Yield the names of axes with a default grid, and how to extend them."""
        if self.Cs is None:

            def more_costs(values):
                return replace(grid, Cs=[*grid.Cs, *values]), replace(grid, Cs=values)

            yield "C", more_costs

    def _costs(self, X, y, weight):
        """Return the values of C to try."""
        if self.Cs is not None:
            return positive(self.Cs, "Cs")
        machine, units = self._machine(), self._cost_units(X, y, weight)
        largest = float((weight * machine._encode(y, weight)[1]).max())
        least, most = machine._cost_range
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            Cs = self._default_Cs * np.prod(list(units.values()))
        costs = Cs * min(largest, most)
        fine = Cs.min() > 0.0 and costs.min() >= least and costs.max() <= most
        with np.errstate(divide="ignore"):
            what = max(units, key=lambda name: abs(np.log(units[name])))
        if not fine and units[what] != 1.0:  # else it is the weights, of which machines complain
            cost, limit = (costs.max(), most) if costs.max() > most else (costs.min(), least)
            raise ValueError(
                f"expected {what}, the unit of the default Cs, got {units[what]:.3g}, which makes "
                f"a cost of {cost:.3g}, beyond {limit:g}: scale the data or give Cs"
            )
        self._cost_limits = least / largest, most / largest
        return positive(Cs, "Cs")

    def _check_folds(self, y, weight, splits):
        """Complain of the classes of a fold before any machine is trained, and name the fold."""
        if is_classifier(self) and not (self.cv is None or isinstance(self.cv, Integral)):
            message = missing_classes(y, splits)
            if message:
                warnings.warn(message, UserWarning, stacklevel=4)
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
            return self.best_estimator_._shape(values)
        return self.classes_[self.best_estimator_._choose(values)]

    @available_if(_classifies)
    def decision_function(self, X):
        """Return the mean decision values of the chosen machines.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_problems)
            Two classes: positive for the second. Otherwise as the machine's.
        """
        values = self._mean_values(X)
        return self.best_estimator_._shape(values)

    @available_if(_classifies)
    def predict_proba(self, X):
        """Return the probabilities of the classes.

        They are a logistic function of the decision values, with one scale and one offset a class,
        fitted to the decision values of the folds' test parts. The predicted class is the most
        probable one: where the logistic function says otherwise, both get their mean.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        values = self._mean_values(X)
        if self._calibration is None:
            raise ValueError(UNCALIBRATED)
        machine = self.best_estimator_
        p = self._calibration(machine._class_scores(values))
        return with_largest(p, machine._choose(values))

    def _mean_values(self, X):
        check_is_fitted(self)
        X = self.best_estimator_._check_test_data(X, owner=self)  # complains in the search's name
        return np.mean([machine._evaluate(X) for machine in self.estimators_], axis=0)

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
            warnings.warn(message, UserWarning, stacklevel=4)
        if n_unconverged:
            limit = (
                f"; max_iter={self.max_iter} may be too small" if hasattr(self, "max_iter") else ""
            )
            warnings.warn(
                f"{n_unconverged} solutions in the search of {name} missed their tolerance: their "
                f"scores are rough{limit}",
                ConvergenceWarning,
                stacklevel=4,
            )


def _key(params):
    return tuple(sorted(params.items(), key=lambda item: item[0]))


def _divided(values, n):
    """Return a list in n parts of equal length."""
    step = len(values) // max(n, 1)
    return [values[k * step : (k + 1) * step] for k in range(n)]


def _joined(folds, more):
    """Return folds with the candidates of both."""
    joined = []
    for a, b in zip(folds, more, strict=True):
        arrays = {
            name: np.concatenate([getattr(a, name), getattr(b, name)])
            for name in ("values", "fit_time", "score_time")
        }
        joined.append(replace(a, n_unconverged=a.n_unconverged + b.n_unconverged, **arrays))
    return joined


def _rows(number, fold, weight):
    """Return the training and test rows of a fold, without those of weight zero."""
    parts = [part[weight[part] > 0] for part in fold]
    for name, part in zip(("training", "test"), parts, strict=True):
        if not part.size:
            raise ValueError(
                f"expected rows of positive weight in the {name} part of fold {number}"
            )
    return parts
