"""Methods beside each other on one table, by nested cross-validation.

Every method chooses its parameters inside the training part of each outer fold and is scored on the
rest; the standard error is that of the mean over the folds.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import accuracy_score, log_loss, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

from kernelfit.cli.methods import Problem, make_estimator


@dataclass(frozen=True)
class Scores:
    """What one method reached.

    Attributes
    ----------
    method : str
    score : tuple of float
        Accuracy or R^2, and its standard error.
    loss : tuple of float
        Log loss, nan without probabilities, or root mean squared error, and its standard error.
    seconds : float
        Mean time of a fit.
    """

    method: str
    score: tuple[float, float]
    loss: tuple[float, float]
    seconds: float


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
                found.append((*_scores(model, problem, test), spent))
        score, loss, spent = np.array(found).T
        yield Scores(method, _mean(score), _mean(loss), float(spent.mean()))


def _scores(model, problem, rows):
    """Return accuracy and log loss, or R^2 and root mean squared error."""
    X, y = problem.frame.iloc[rows], problem.y[rows]
    if not problem.classify:
        predicted = model.predict(X)
        return r2_score(y, predicted), root_mean_squared_error(y, predicted)
    loss = np.nan
    if hasattr(model.estimator_, "predict_proba"):
        loss = log_loss(y, model.predict_proba(X), labels=model.classes_)
    return accuracy_score(y, model.predict(X)), loss


def _mean(values):
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)
