"""Ensembles of trees whose number of trees is chosen by cross-validation.

Trees are grown one after the other and do not depend on how many follow, so one ensemble of the
largest size holds all the smaller ones.
"""

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import check_cv


def random_forest(regression: bool) -> Any:
    """Return an untrained random forest."""
    return (RandomForestRegressor if regression else RandomForestClassifier)(random_state=0)


def boosted_trees(regression: bool) -> Any:
    """Return untrained trees of XGBoost, which is an optional package."""
    xgboost = _load_xgboost()
    return (xgboost.XGBRegressor if regression else xgboost.XGBClassifier)(n_jobs=1)


def _load_xgboost() -> ModuleType:
    try:
        import xgboost
    except ImportError as error:
        raise ImportError(
            "XGBoost's figures need the package xgboost: pip install xgboost"
        ) from error
    found: ModuleType = xgboost
    return found


def choose_trees(model: Any, X: Any, y: Any, sizes: Sequence[int], cv: int) -> int:
    """Return the number of trees with the best mean score over the folds.

    Parameters
    ----------
    model : estimator
        From `random_forest` or `boosted_trees`.
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        Targets, or classes from 0.
    sizes : sequence of int
        Numbers of trees, rising; of equal scores the first counts.
    cv : int
        Number of folds, stratified for classes.

    Returns
    -------
    int
    """
    regression = is_regressor(model)
    score: Callable[..., float] = r2_score if regression else accuracy_score
    partial = _boosting_steps if hasattr(model, "get_booster") else _forest_steps
    scores = []
    for train, test in check_cv(cv, y, classifier=not regression).split(X, y):
        largest = clone(model).set_params(n_estimators=sizes[-1]).fit(X[train], y[train])
        scores.append([score(y[test], found) for found in partial(largest, X[test], sizes)])
    return int(sizes[int(np.argmax(np.mean(scores, axis=0)))])


def _forest_steps(forest: Any, X: Any, sizes: Sequence[int]) -> Iterator[Any]:
    """Yield the predictions of the first trees of a random forest, for each size."""
    total, regression = 0.0, is_regressor(forest)
    for k, tree in enumerate(forest.estimators_, start=1):
        total = total + (tree.predict(X) if regression else tree.predict_proba(X))
        if k in sizes:
            yield total / k if regression else forest.classes_[np.argmax(total, axis=1)]


def _boosting_steps(boosted: Any, X: Any, sizes: Sequence[int]) -> Iterator[Any]:
    """Yield the predictions of the first rounds of boosting, for each size."""
    for k in sizes:
        yield boosted.predict(X, iteration_range=(0, k))
