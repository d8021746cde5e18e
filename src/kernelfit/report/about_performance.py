"""How good predictions are on rows that training did not see."""

from typing import Any

import numpy as np
from sklearn.metrics import (
    balanced_accuracy_score,
    confusion_matrix,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    roc_curve,
)

from kernelfit.report.blocks import Bar, Confusion, Facts, Section, Table, number, scored, shorten
from kernelfit.report.figures import MUTED, SERIES, draw
from kernelfit.report.subject import Subject

_LEVELS = (0.5, 0.8, 0.9, 0.95)
_MAX_CONFUSED = 15  # classes in a table
_MAX_CURVES = 6
_BINS = 8  # of a calibration curve
_MAX_INTERVALS = 60


def performance_section(subject: Subject) -> Section | None:
    """Return the chapter on held-out rows; without any, on what the folds foretell.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    Section or None
    """
    if subject.task not in ("classification", "regression"):
        return None
    if subject.X_test is None:
        foretold = _foretold(subject)
        text = [
            "No rows were held out for this report, so there is nothing here that training has not "
            "seen." + (f" By cross-validation the fit foretells {foretold}." if foretold else "")
        ]
        return Section("performance", "On new rows", text)
    predicted = np.asarray(subject.estimator.predict(subject.X_test))
    if subject.task == "classification":
        return _classification(subject, predicted)
    if predicted.ndim > 1:
        return _several_columns(subject, predicted)
    return _regression(subject, predicted)


def _foretold(subject: Subject) -> str:
    """Return what cross-validation says of new rows, in words."""
    return "" if subject.foretold is None else scored(*subject.foretold)


def _beside_foretold(subject: Subject, blocks: list[Any]) -> Section:
    foretold = _foretold(subject)
    text = [f"The fit had foretold {foretold} by cross-validation."] if foretold else []
    return Section("performance", "On new rows", text, blocks)


def _classification(subject: Subject, predicted: Any) -> Section:
    y = subject.y_test
    scores = subject.scores(subject.X_test)
    classes = getattr(subject.estimator, "classes_", np.unique(y))
    known = subject.facts
    facts = [
        ("rows", number(len(y))),
        ("accuracy", f"{100 * known['test accuracy']:.1f} %"),
        (known["baseline"], f"{100 * known['baseline accuracy']:.1f} %"),
    ]
    complete = np.isin(y, classes).all() and len(np.unique(y)) > 1
    if complete:
        facts.append(("balanced accuracy", f"{100 * balanced_accuracy_score(y, predicted):.1f} %"))
    blocks: list[Any] = [Facts(facts)]
    if complete and len(classes) <= _MAX_CONFUSED:
        blocks.append(_confusion(subject, classes, predicted))
    if complete and scores is not None:
        if subject.has_probabilities:
            facts.append(("log loss", f"{log_loss(y, scores, labels=classes):.3f}"))
        blocks.append(_roc(subject, classes, scores))
        if subject.has_probabilities:
            blocks.append(_calibration(y, classes, scores))
    if hasattr(subject.estimator, "predict_set"):
        blocks.append(_sets(subject, classes))
    return _beside_foretold(subject, blocks)


def _confusion(subject: Subject, classes: Any, predicted: Any) -> Confusion:
    counts = confusion_matrix(subject.y_test, predicted, labels=classes)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    names = [shorten(name, 18) for name in subject.classes]
    return Confusion(names, counts.tolist(), shares.tolist(), "True classes in rows, predicted ones"
                     " in columns")  # fmt: skip


def _roc(subject: Subject, classes: Any, scores: Any) -> Any:
    """Return the trade between hits and false alarms, each class against the rest."""
    y = subject.y_test
    tested = [k for k in range(len(classes)) if 0 < np.sum(y == classes[k]) < len(y)]
    tested = [1] if len(classes) == 2 else tested[:_MAX_CURVES]
    areas = [roc_auc_score(y == classes[k], scores[:, k]) for k in tested]

    def paint(ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, linestyle=":")
        for k, area in zip(tested, areas, strict=True):
            false_alarms, hits, _ = roc_curve(y == classes[k], scores[:, k])
            ax.plot(false_alarms, hits, label=f"{shorten(classes[k], 14)}: {area:.3f}")
        ax.set(xlabel="share of the others taken for it", ylabel="share of it found")
        ax.legend(title="class: area", loc="lower right")

    listed = ", ".join(f"{classes[k]} {a:.3f}" for k, a in zip(tested, areas, strict=True))
    return draw(paint, f"ROC curves on new rows; areas: {listed}", "ROC: hits against false alarms")


def _calibration(y: Any, classes: Any, p: Any) -> Any:
    """Return how often the predicted class is right, by how probable it was said to be."""
    if len(classes) == 2:
        said, right = p[:, 1], (y == classes[1]).astype(float)
        what = f"probability of {shorten(classes[1], 14)}"
    else:
        said, right = p.max(axis=1), (classes[p.argmax(axis=1)] == y).astype(float)
        what = "probability of the predicted class"
    order = np.argsort(said, kind="stable")
    parts = np.array_split(order, min(_BINS, max(2, len(y) // 10)))
    means = np.array([[said[part].mean(), right[part].mean(), len(part)] for part in parts])
    error = np.sqrt(np.maximum(means[:, 1] * (1 - means[:, 1]), 1e-12) / means[:, 2])

    def paint(ax: Any) -> None:
        low = min(means[:, 0].min(), means[:, 1].min(), 0.0 if len(classes) == 2 else 0.5)
        ax.plot([low, 1], [low, 1], color=MUTED, linewidth=0.8, linestyle=":")
        ax.errorbar(means[:, 0], means[:, 1], yerr=error, fmt="o-", markersize=4, elinewidth=0.8)
        ax.set(xlabel=what, ylabel="share that came true")

    alt = f"Calibration on new rows: the {what} beside the share that came true"
    return draw(paint, alt, "Calibration, in groups of equal size, with standard errors")


def _sets(subject: Subject, classes: Any) -> Table:
    place = np.searchsorted(classes, subject.y_test).clip(max=len(classes) - 1)
    rows = []
    for level in _LEVELS:
        sets = subject.estimator.predict_set(subject.X_test, alpha=1.0 - level)
        inside = sets[np.arange(len(place)), place].mean()
        rows.append(
            (f"{100 * level:.0f} %", f"{100 * inside:.1f} %", f"{sets.sum(axis=1).mean():.2f}")
        )
    caption = "Prediction sets: how often they hold the true class"
    return Table(("level", "hold it", "classes in a set"), rows, caption)


def _regression(subject: Subject, predicted: Any) -> Section:
    y = subject.y_test
    error = y - predicted
    facts = [
        ("rows", number(len(y))),
        ("R²", f"{r2_score(y, predicted):.3f}"),
        ("root mean square error", number(np.sqrt(np.mean(error**2)))),
        ("mean absolute error", number(mean_absolute_error(y, predicted))),
        ("spread of the target", number(y.std())),
    ]

    def against(ax: Any) -> None:
        ends = [min(y.min(), predicted.min()), max(y.max(), predicted.max())]
        ax.plot(ends, ends, color=MUTED, linewidth=0.8, linestyle=":")
        ax.scatter(predicted, y, s=9, alpha=0.6, linewidths=0)
        ax.set(xlabel="predicted", ylabel="true")

    def residuals(ax: Any) -> None:
        ax.axhline(0.0, color=MUTED, linewidth=0.8, linestyle=":")
        ax.scatter(predicted, error, s=9, alpha=0.6, linewidths=0)
        ax.set(xlabel="predicted", ylabel="true minus predicted")

    blocks: list[Any] = [
        Facts(facts),
        draw(against, "True values beside predictions of new rows"),
        draw(residuals, "Residuals of new rows over the predictions"),
    ]
    if hasattr(subject.estimator, "predict_interval"):
        blocks += _intervals(subject, predicted)
    return _beside_foretold(subject, blocks)


def _intervals(subject: Subject, predicted: Any) -> list[Any]:
    """Return how often prediction intervals hold the target, and what they look like."""
    y = subject.y_test
    rows, shown = [], None
    for level in _LEVELS:
        low, high = subject.estimator.predict_interval(subject.X_test, alpha=1.0 - level).T
        inside = np.mean((low <= y) & (y <= high))
        finite = np.isfinite(high - low)
        width = number((high - low)[finite].mean()) if finite.any() else "infinite"
        rows.append((f"{100 * level:.0f} %", f"{100 * inside:.1f} %", width))
        shown = (low, high) if level == 0.9 else shown
    caption = "Prediction intervals: how often they hold the true value"
    table = Table(("level", "hold it", "mean width"), rows, caption)
    low, high = shown if shown is not None else (y, y)
    order = np.argsort(predicted, kind="stable")
    order = order[np.linspace(0, len(y) - 1, min(len(y), _MAX_INTERVALS)).round().astype(int)]
    if not np.isfinite(high - low).all():
        return [table]

    def paint(ax: Any) -> None:
        places = np.arange(len(order))
        outside = (y[order] < low[order]) | (y[order] > high[order])
        ax.vlines(places, low[order], high[order], color=SERIES[0], alpha=0.35, linewidth=2)
        ax.plot(places[~outside], y[order][~outside], "o", markersize=3, color=SERIES[0])
        ax.plot(places[outside], y[order][outside], "o", markersize=4, color=SERIES[1])
        ax.set(xlabel="new rows, by prediction", ylabel="target", xticks=[])

    alt = "Intervals of level 90 % for some new rows, with the true values"
    return [draw(paint, alt, f"{alt}; orange: outside"), table]


def _several_columns(subject: Subject, predicted: Any) -> Section:
    """Return R^2 of every target, or the share of rows below every quantile."""
    y = subject.y_test
    levels = np.atleast_1d(getattr(subject.machine, "quantiles_", []))
    if y.ndim == 1 and len(levels) == predicted.shape[1]:
        below = (y[:, None] <= predicted).mean(axis=0)
        rows = [
            (f"{100 * q:.3g} %", f"{100 * b:.1f} %") for q, b in zip(levels, below, strict=True)
        ]
        table = Table(("quantile", "new rows below"), rows, "Predicted quantiles on new rows")
        return Section("performance", "On new rows", [], [table])
    scores = r2_score(y, predicted, multioutput="raw_values")
    bars = [(str(k), Bar(f"{s:.3f}", float(np.clip(s, 0, 1)))) for k, s in enumerate(scores)]
    table = Table(("target", "R²"), bars, "R² of every target on new rows")
    return Section("performance", "On new rows", [], [table])
