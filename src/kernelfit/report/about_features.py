"""Which columns matter, and how predictions depend on them."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.inspection import permutation_importance

from kernelfit.report.blocks import Section, shorten
from kernelfit.report.figures import draw, draw_bars
from kernelfit.report.subject import Subject
from kernelfit.report.table import column, is_missing, n_rows, take, with_values_of

_MAX_COLUMNS = 100  # beyond which shuffling each takes long
_BARS = 12
_CURVES = 4  # columns with a curve
_ROWS = 60  # averaged in a curve
_GRID = 24  # places along it
_SHUFFLED_ROWS = 200
_REPEATS = 5
_MAX_CLASSES = 5  # with a curve each


def features_section(subject: Subject) -> Section | None:
    """Return the chapter on importances and partial dependence.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    Section or None
    """
    known = subject.task in ("classification", "regression") and subject.y is not None
    if not known or subject.is_pairwise or sparse.issparse(subject.X) or subject.y.ndim > 1:
        return None
    if np.ndim(subject.estimator.predict(take(subject.X, np.arange(2)))) > 1:
        return None
    if subject.X.shape[1] > _MAX_COLUMNS:
        text = [f"The table has {subject.X.shape[1]:,} columns, too many to shuffle one by one."]
        return Section("features", "What matters", text)
    importances, how = _importances(subject)
    order = np.argsort(-importances, kind="stable")
    text = [how + " Columns that say the same share their importance."]
    blocks = [_bars(subject, importances, order[:_BARS])]
    curves = [j for j in order[:_CURVES] if importances[j] > 0.0]
    if curves:
        text.append(
            "The curves show the mean prediction where one column is set to each of its values in "
            "turn and the others stay as they are."
        )
    blocks += [_dependence(subject, int(j)) for j in curves]
    return Section("features", "What matters", text, blocks)


def _importances(subject: Subject) -> tuple[Any, str]:
    """Return a share of every column, and how it was found."""
    model = subject.estimator
    if hasattr(model, "feature_importances_"):
        how = (
            "By how much the loss rises, out of fold, when a column is shuffled; shares of the sum."
        )
        return np.asarray(model.feature_importances_), how
    held = subject.X_test is not None
    X, y = (subject.X_test, subject.y_test) if held else (subject.X, subject.y)
    rows = np.random.default_rng(0).permutation(n_rows(X))[:_SHUFFLED_ROWS]
    found = permutation_importance(
        model, take(X, rows), y[rows], n_repeats=_REPEATS, random_state=0
    )
    rise = np.maximum(found.importances_mean, 0.0)
    score = "accuracy" if subject.task == "classification" else "R²"
    where = "held-out" if held else "training"
    how = f"By how much the {score} on {len(rows)} {where} rows falls when a column is shuffled."
    return rise, how


def _bars(subject: Subject, importances: Any, shown: Any) -> Any:
    names = [shorten(subject.names[j], 26) for j in shown]
    listed = ", ".join(f"{subject.names[j]} {importances[j]:.2g}" for j in shown)
    caption = "Importance of the columns"
    if len(importances) > len(shown):
        caption += f", the first {len(shown)} of {len(importances)}"
    alt = f"Importances: {listed}"
    return draw_bars(names, importances[shown], "importance", alt, caption, 18)


def _dependence(subject: Subject, j: int) -> Any:
    """Return the partial dependence on one column."""
    values = column(subject.X, j)
    present = np.flatnonzero(~is_missing(values))
    is_number = values.dtype != object
    grid = _number_grid(values, present) if is_number else _category_grid(values, present)
    rows = np.random.default_rng(0).permutation(n_rows(subject.X))[:_ROWS]
    X = with_values_of(subject.X, np.tile(rows, len(grid)), j, np.repeat(grid, len(rows)))
    scores = subject.scores(X)
    what = "probability" if subject.has_probabilities else "decision value"
    curves: list[tuple[str, Any]]
    if subject.task == "regression" or scores is None:
        curves, what = [("", subject.estimator.predict(X))], "prediction"
    elif len(subject.classes) == 2:
        curves, what = [("", scores[:, 1])], f"{what} of {shorten(subject.classes[1], 16)}"
    else:
        names = subject.classes[:_MAX_CLASSES]
        curves = [(shorten(name, 16), scores[:, k]) for k, name in enumerate(names)]
    name = shorten(subject.names[j], 28)

    def paint(ax: Any) -> None:
        places = values[grid] if is_number else np.arange(len(grid))
        for label, flat in curves:
            mean = np.asarray(flat).reshape(len(grid), len(rows)).mean(axis=1)
            ax.plot(places, mean, label=label, marker="" if is_number else "o")
        if not is_number:
            labels = [shorten(values[k], 12) for k in grid]
            ax.set_xticks(places, labels, rotation=30, ha="right")
        ax.set(xlabel=name, ylabel=f"mean {what}")
        if len(curves) > 1:
            ax.legend()

    return draw(paint, f"Mean {what} as a function of {subject.names[j]}", height=210)


def _number_grid(values: Any, present: Any) -> Any:
    """Return rows whose values of a column are spread evenly over its middle 96 %."""
    order = present[np.argsort(values[present], kind="stable")]
    distinct = np.unique(values[present], return_index=True)[1]
    if len(distinct) <= _GRID:
        return present[distinct]
    low, high = np.quantile(values[present], [0.02, 0.98])
    wanted = np.linspace(low, high, _GRID)
    places = np.searchsorted(values[order], wanted).clip(max=len(order) - 1)
    return order[np.unique(places)]


def _category_grid(values: Any, present: Any) -> Any:
    """Return one row of each of the most frequent categories."""
    _, first, counts = np.unique(values[present].astype(str), return_index=True, return_counts=True)
    return present[first[np.argsort(-counts, kind="stable")[:8]]]
