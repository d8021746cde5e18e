"""What a report is about: an estimator, its machine, its data, and its task."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_clusterer, is_outlier_detector, is_regressor
from sklearn.inspection import permutation_importance
from sklearn.utils.validation import check_is_fitted

from kernelfit.inspection.headline import fit_facts, measure_classes, measure_numbers
from kernelfit.inspection.matrices import innermost
from kernelfit.report.table import as_table, column, column_names, n_rows, take
from kernelfit.tables.plan import Plan, read_plan

MAX_COLUMNS = 100  # beyond which shuffling each takes long
_SHUFFLED_ROWS = 200
_REPEATS = 5
_ON_AN_AXIS = ("number", "date", "time", "duration")
_DAYS_OF_A_YEAR = 365.2425


@dataclass(frozen=True)
class Subject:
    """A fitted estimator and data for it.

    Attributes
    ----------
    estimator : estimator
    X, y : array or frame, and array or None
        The training data.
    X_test, y_test : array or frame or None, and array or None
        Data that training did not see.
    """

    estimator: Any
    X: Any
    y: Any
    X_test: Any
    y_test: Any

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> "Subject":
        """Check what is given and return it."""
        check_is_fitted(estimator)
        if (X_test is None) != (y_test is None) and not is_clusterer(estimator):
            raise ValueError("expected X_test and y_test together, got one of them")
        X, X_test = as_table(X), None if X_test is None else as_table(X_test)
        y, y_test = (None if v is None else np.asarray(v) for v in (y, y_test))
        if y is not None and len(y) != n_rows(X):
            raise ValueError(f"expected {n_rows(X)} values of y, one a row of X, got {len(y)}")
        return cls(estimator, X, y, X_test, y_test)

    @cached_property
    def machine(self) -> Any:
        """The machine inside searches and pipelines."""
        return innermost(self.estimator)[0]

    @property
    def name(self) -> str:
        """The class of the estimator; of a pipeline, of its last step."""
        steps = getattr(self.estimator, "steps", None)
        return type(self.estimator if steps is None else steps[-1][1]).__name__

    @property
    def search(self) -> Any:
        """The cross-validated search, or None."""
        steps = getattr(self.estimator, "steps", None)
        last = self.estimator if steps is None else steps[-1][1]
        return last if hasattr(last, "cv_results_") else None

    @cached_property
    def task(self) -> str:
        """What is predicted: "classification", "regression", "clustering" or "outliers"."""
        for name, holds in (
            ("classification", is_classifier),
            ("regression", is_regressor),
            ("clustering", is_clusterer),
            ("outliers", is_outlier_detector),
        ):
            if holds(self.estimator):
                return name
        return "other"

    @cached_property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return [str(one) for one in getattr(self.estimator, "classes_", [])]

    @property
    def foretold(self) -> tuple[str, float] | None:
        """The name and value of what cross-validation says of new rows, where it is known.

        That of AutoKernel takes as long as a fit for every fold, so it is not computed for a
        report.
        """
        accuracy = self.task == "classification"
        if hasattr(self.machine, "leaderboard_"):
            known = vars(self.machine).get("_cv_score")  # kept by `cv_score_`
            name = "accuracy" if accuracy else "R²"
            name = name if self.machine.scoring is None else "score"
            return None if known is None else (name, known)
        return None if self.search is None else ("score", self.search.best_score_)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The facts of the headline: of the training, and of held-out rows where there are any."""
        facts = {"training rows": n_rows(self.X)} | fit_facts(self.estimator)
        known = self.task in ("classification", "regression") and self.y is not None
        if self.X_test is None or not known:
            return facts
        predicted = np.asarray(self.estimator.predict(self.X_test))
        if predicted.ndim > 1 or self.y_test.ndim > 1:
            return facts | {"untested": "several predictions a row have no single score"}
        if self.task == "regression":
            return facts | measure_numbers(self.y_test, predicted, self.y)
        p = self.scores(self.X_test) if self.has_probabilities else None
        classes = getattr(self.estimator, "classes_", None)
        return facts | measure_classes(self.y_test, predicted, self.y, p, classes)

    @property
    def is_pairwise(self) -> bool:
        """Whether X is a kernel matrix."""
        tags = getattr(self.estimator, "__sklearn_tags__", None)
        return bool(tags is not None and tags().input_tags.pairwise) or np.ndim(self.X) == 3

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns."""
        if hasattr(self.X, "columns"):
            return column_names(self.X)
        given = getattr(self.estimator, "feature_names_in_", None)
        return column_names(self.X) if given is None else [str(name) for name in given]

    @cached_property
    def importances(self) -> tuple[Any, str] | None:
        """The importance of every column, and how it was found; None where it is not known."""
        known = self.task in ("classification", "regression") and self.y is not None
        if not known or self.is_pairwise or sparse.issparse(self.X) or self.y.ndim > 1:
            return None
        if self.X.shape[1] > MAX_COLUMNS:
            return None
        if np.ndim(self.estimator.predict(take(self.X, np.arange(2)))) > 1:
            return None
        if hasattr(self.estimator, "feature_importances_"):
            how = "By how much the loss rises, out of fold, when a column is shuffled; shares of "
            return np.asarray(self.estimator.feature_importances_), how + "the sum."
        held = self.X_test is not None
        X, y = (self.X_test, self.y_test) if held else (self.X, self.y)
        rows = np.random.default_rng(0).permutation(n_rows(X))[:_SHUFFLED_ROWS]
        found = permutation_importance(
            self.estimator, take(X, rows), y[rows], n_repeats=_REPEATS, random_state=0
        )
        score = "accuracy" if self.task == "classification" else "R²"
        where = "held-out" if held else "training"
        how = (
            f"By how much the {score} on {len(rows)} {where} rows falls when a column is shuffled."
        )
        return np.maximum(found.importances_mean, 0.0), how

    @cached_property
    def plan(self) -> Plan | None:
        """What the columns are, as AutoKernel reads tables; None where only a pipeline can."""
        try:
            return read_plan(self.X, getattr(self.machine, "column_kinds", None))
        except (TypeError, ValueError):
            return None

    def kind(self, j: int) -> str:
        """Return what a column holds, "" where that is not known."""
        if self.plan is None or len(self.plan.readers) != len(self.names):
            return ""
        return str(self.plan.readers[j].kind)

    def values(self, j: int) -> Any:
        """Return a column: numbers as they are read, dates in years, all others as they are."""
        if self.plan is None or self.kind(j) not in _ON_AN_AXIS or not self.plan.readers[j].roles:
            return column(self.X, j)
        parsed = self.plan.read_column(self.X, j)[:, 0]
        return parsed / _DAYS_OF_A_YEAR + 1970.0 if self.kind(j) == "date" else parsed

    def scores(self, X: Any) -> Any:
        """Return one score a class at points, probabilities where there are any, or None."""
        model = self.estimator
        if self.task != "classification":
            return None
        if self.has_probabilities:
            return np.asarray(model.predict_proba(X))
        if not hasattr(model, "decision_function"):
            return None
        values = np.asarray(model.decision_function(X))
        if values.ndim == 1:
            values = np.column_stack([-values, values])
        return values if values.shape[1] == len(self.classes) else None

    @cached_property
    def has_probabilities(self) -> bool:
        """Whether scores are probabilities."""
        if self.task != "classification" or not hasattr(self.estimator, "predict_proba"):
            return False
        try:
            self.estimator.predict_proba(take(self.X, np.arange(1)))
        except ValueError:  # a search without folds to calibrate on
            return False
        return True
