"""A saved model in words and facts."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_regressor

from kernelfit.ensemble.prepared import TableEstimator
from kernelfit.inspection.headline import fit_facts, measure_classes, measure_numbers

_SHOWN = 10  # members, kernels, features


def describe(model: Any) -> dict[str, Any]:
    """Return what a fitted model is: its columns, parts and choices.

    Parameters
    ----------
    model : estimator

    Returns
    -------
    dict
        Facts that JSON can hold.
    """
    inner = getattr(model, "estimator_", model)
    machine = getattr(inner, "best_estimator_", inner)
    facts: dict[str, Any] = {"model": type(inner).__name__}
    if isinstance(model, TableEstimator):
        read = pd.DataFrame(model.columns_)
        facts |= {"target": model.target, "columns": read.to_dict("records")}
    if hasattr(inner, "classes_"):
        facts["classes"] = inner.classes_.tolist()
    if hasattr(inner, "members_"):
        facts["members"] = [
            {"member": str(inner.members_[k]), "weight": float(inner.weights_[k])}
            for k in np.argsort(-inner.weights_, kind="stable")
        ]
    if hasattr(inner, "best_params_"):
        facts["chosen"] = dict(inner.best_params_)
    if hasattr(machine, "weights_") and hasattr(machine, "bank_"):
        total = np.atleast_2d(machine.weights_).sum(axis=0)
        facts["kernels"] = [
            {"kernel": str(machine.bank_[k]), "weight": float(total[k])}
            for k in np.argsort(-total)[:_SHOWN]
            if total[k]
        ]
    return facts


def headline_facts(model: Any) -> dict[str, Any]:
    """Return the facts of a model's headline: those of its training, and what was measured."""
    return fit_facts(getattr(model, "estimator_", model)) | vars(model).get("measured_", {})


def measure(model: TableEstimator, X: pd.DataFrame, y: Any, y_train: Any) -> dict[str, Any]:
    """Return what a model is worth on rows that training did not see, beside a constant."""
    predicted = model.predict(X)
    if is_regressor(model.estimator_):
        return measure_numbers(y, predicted, y_train)
    p = model.predict_proba(X) if hasattr(model.estimator_, "predict_proba") else None
    return measure_classes(y, predicted, y_train, p, model.classes_)


def importances(model: Any) -> list[tuple[str, float]]:
    """Return the features of an ensemble by how much shuffling them costs, the largest first."""
    inner = getattr(model, "estimator_", model)
    if not hasattr(type(inner), "feature_importances_"):
        return []
    names = getattr(model, "names_", None) or list(inner.feature_names_in_)
    pairs = zip(names, inner.feature_importances_.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: -pair[1])[:_SHOWN]
