"""Methods beside each other on one table, by nested cross-validation.

Every method chooses its parameters inside the training part of each outer fold and is scored on the
rest; the standard error is that of the mean over the folds.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import KFold, StratifiedKFold

from kernelfit.cli.methods import Problem, make_estimator


@dataclass(frozen=True)
class Scores:
    """What one method reached.

    Attributes
    ----------
    method : str
    measures : dict from str to (float, float)
        Means over the folds and their standard errors: log loss and area under the ROC curve, nan
        without probabilities, and accuracy; or root mean squared error and R^2.
    seconds : float
        Mean time of a fit.
    """

    method: str
    measures: dict[str, tuple[float, float]]
    seconds: float

    @property
    def rank(self) -> tuple[bool, float, float]:
        """What puts the best method first: log loss, or else accuracy; or the error."""
        loss, *_, last = (mean for mean, _ in self.measures.values())
        return bool(np.isnan(loss)), loss if loss == loss else 0.0, -last


def compare(
    methods: list[str],
    problem: Problem,
    n_folds: int,
    time_limit: float,
    seed: int,
    report: Callable[[str], None],
) -> Iterator[Scores]:
    """Yield the scores of some methods.

    Parameters
    ----------
    methods : list of str
    problem : Problem
    n_folds : int
    time_limit : float
        Seconds for one fit of "auto".
    seed : int
    report : callable
        Told what is being fitted.

    Yields
    ------
    Scores
    """
    y = problem.y
    if problem.classify:
        n_folds = min(n_folds, int(np.unique(y, return_counts=True)[1].min()))
    split = StratifiedKFold if problem.classify else KFold
    folds = list(split(n_folds, shuffle=True, random_state=seed).split(y, y))
    for method in methods:
        found = []
        for number, (train, test) in enumerate(folds, start=1):
            report(f"{method}, fold {number} of {n_folds}")
            model = make_estimator(method, problem, time_limit, seed, verbose=False)
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what concerns one fold says little here
                model.fit(problem.frame.iloc[train], y[train])
                spent = time.perf_counter() - began
                found.append(_scores(model, problem, test) | {"seconds": spent})
        spent = float(np.mean([one.pop("seconds") for one in found]))
        measures = {name: _mean(np.array([one[name] for one in found])) for name in found[0]}
        yield Scores(method, measures, spent)


def _scores(model, problem, rows):
    """Return the scores of a fold, the one that decides first."""
    X, y = problem.frame.iloc[rows], problem.y[rows]
    predicted = model.predict(X)
    if not problem.classify:
        return {"RMSE": root_mean_squared_error(y, predicted), "R2": r2_score(y, predicted)}
    loss = area = np.nan
    if hasattr(model.estimator_, "predict_proba"):
        p = model.predict_proba(X)
        loss = log_loss(y, p, labels=model.classes_)
        area = roc_auc_score(y, p[:, 1] if p.shape[1] == 2 else p, multi_class="ovr")
    return {"log loss": loss, "AUC": area, "accuracy": accuracy_score(y, predicted)}


def _mean(values):
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)
