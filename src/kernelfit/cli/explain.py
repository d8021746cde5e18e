"""A saved model in words and facts."""

from typing import Any

import numpy as np

_SHOWN = 10  # members, kernels, features


def describe(model: Any) -> dict[str, Any]:
    """Return what a fitted model is: its parts, choices and certificate.

    Parameters
    ----------
    model : estimator

    Returns
    -------
    dict
        Facts that JSON can hold; see `certificate_in_words` for "certificate".
    """
    inner = getattr(model, "estimator_", model)
    machine = getattr(inner, "best_estimator_", inner)
    facts: dict[str, Any] = {"model": type(inner).__name__}
    if hasattr(model, "columns_"):
        facts |= {"target": model.target, "columns": list(model.columns_)}
    if hasattr(inner, "classes_"):
        facts["classes"] = inner.classes_.tolist()
    if hasattr(inner, "members_"):
        if "_cv_score" in vars(inner):  # kept by `cv_score_`, which takes several fits
            facts["estimated score"] = inner.cv_score_
        facts["members"] = [
            {"member": str(inner.members_[k]), "weight": float(inner.weights_[k])}
            for k in np.argsort(-inner.weights_, kind="stable")
        ]
        gaps = np.append(inner.certificate_["machines"], inner.certificate_["stack"])
        facts["relative gap"] = float(np.nanmax(gaps))
    if hasattr(inner, "best_params_"):
        facts["chosen"] = dict(inner.best_params_)
        facts["estimated score"] = float(inner.best_score_)
    if hasattr(machine, "support_"):
        facts["support vectors"] = len(machine.support_)
    if hasattr(machine, "dual_gap_") and hasattr(machine, "objective_"):
        gap, objective = np.atleast_1d(machine.dual_gap_), np.atleast_1d(machine.objective_)
        relative = gap / np.maximum(np.abs(objective), np.finfo(float).tiny)
        facts["relative gap"] = float(relative.max())
    if hasattr(machine, "weights_") and hasattr(machine, "bank_"):
        total = np.atleast_2d(machine.weights_).sum(axis=0)
        facts["kernels"] = [
            {"kernel": str(machine.bank_[k]), "weight": float(total[k])}
            for k in np.argsort(-total)[:_SHOWN]
            if total[k]
        ]
    if hasattr(machine, "compression_"):
        facts["certificate"] = "none: the machine was compressed after its training"
    elif "relative gap" in facts:
        facts["certificate"] = certificate_in_words(facts["relative gap"])
    return facts


def certificate_in_words(gap: float) -> str:
    """Return what a relative duality gap proves."""
    if np.isnan(gap):
        return "no proof of optimality: the kernel is indefinite"
    if gap < 1e-6:
        return "the optimum of its training problem, to within a millionth"
    return f"within {100 * gap:.2g} % of the optimum of its training problem"


def importances(model: Any) -> list[tuple[str, float]]:
    """Return the features of an ensemble by how much shuffling them costs, the largest first."""
    inner = getattr(model, "estimator_", model)
    if not hasattr(type(inner), "feature_importances_"):
        return []
    names = getattr(model, "columns_", None) or list(inner.feature_names_in_)
    pairs = zip(names, inner.feature_importances_.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: -pair[1])[:_SHOWN]
