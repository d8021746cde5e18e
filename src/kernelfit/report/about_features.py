"""Which columns matter, and how predictions depend on them."""

from typing import Any

import numpy as np

from kernelfit.report.blocks import Section, shorten
from kernelfit.report.figures import draw, draw_bars
from kernelfit.report.subject import MAX_COLUMNS, Subject
from kernelfit.report.table import is_missing, n_rows, with_values_of

_BARS = 12
_CURVES = 4  # columns with a curve
_ROWS = 60  # averaged in a curve
_GRID = 24  # places along it
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
    if subject.importances is None:
        return _too_many(subject)
    importances, how = subject.importances
    order = np.argsort(-importances, kind="stable")
    text = [how + " Columns that say the same share their importance."]
    blocks = [_bars(subject, importances, order[:_BARS])]
    curves = [j for j in order[:_CURVES] if importances[j] > 0.0 and subject.kind(j) != "text"]
    if curves:
        text.append(
            "The curves and bars show the mean prediction where one column is set to each of its "
            "values in turn and the others stay as they are. Categories have the number of their "
            "training rows beside them."
        )
    blocks += [_dependence(subject, int(j)) for j in curves]
    return Section("features", "What matters", text, blocks)


def _too_many(subject: Subject) -> Section | None:
    """Return a chapter that says why there are no importances, where that is the width."""
    shape = np.shape(subject.X)
    known = subject.task in ("classification", "regression") and not subject.is_pairwise
    if not known or len(shape) != 2 or shape[1] <= MAX_COLUMNS:
        return None
    text = [f"The table has {shape[1]:,} columns, too many to shuffle one by one."]
    return Section("features", "What matters", text)


def _bars(subject: Subject, importances: Any, shown: Any) -> Any:
    names = [shorten(subject.names[j], 26) for j in shown]
    listed = ", ".join(f"{subject.names[j]} {importances[j]:.2g}" for j in shown)
    caption = "Importance of the columns"
    if len(importances) > len(shown):
        caption += f", the first {len(shown)} of {len(importances)}"
    alt = f"Importances: {listed}"
    return draw_bars(names, importances[shown], "importance", alt, caption, 18)


def _dependence(subject: Subject, j: int) -> Any:
    """Return the partial dependence on one column: a curve of numbers, bars of categories."""
    values = subject.values(j)
    present = np.flatnonzero(~is_missing(values))
    counts = None
    if _is_nominal(subject, j, values[present]):
        grid, counts = _category_grid(values, present)
    else:
        grid = _number_grid(values, present)
    rows = np.random.default_rng(0).permutation(n_rows(subject.X))[:_ROWS]
    X = with_values_of(subject.X, np.tile(rows, len(grid)), j, np.repeat(grid, len(rows)))
    scores = subject.scores(X)
    what = "probability" if subject.has_probabilities else "decision value"
    flat: list[tuple[str, Any]]
    if subject.task == "regression" or scores is None:
        flat, what = [("", subject.estimator.predict(X))], "prediction"
    elif len(subject.classes) == 2:
        flat, what = [("", scores[:, 1])], f"{what} of {shorten(subject.classes[1], 16)}"
    else:
        names = subject.classes[:_MAX_CLASSES]
        flat = [(shorten(name, 16), scores[:, k]) for k, name in enumerate(names)]
    curves = [
        (label, np.asarray(one).reshape(len(grid), len(rows)).mean(axis=1)) for label, one in flat
    ]
    name, alt = shorten(subject.names[j], 28), f"Mean {what} as a function of {subject.names[j]}"
    if counts is None:

        def paint(ax: Any) -> None:
            for label, mean in curves:
                ax.plot(values[grid], mean, label=label)
            ax.set(xlabel=name, ylabel=f"mean {what}")
            if len(curves) > 1:
                ax.legend()

        return draw(paint, alt, height=210)
    is_boolean = subject.kind(j) == "boolean"
    labels = [
        f"{_category(values[k], is_boolean)} ({count:,})"
        for k, count in zip(grid, counts, strict=True)
    ]
    # Predictions far from zero differ little beside their size.
    base = float(np.average(curves[0][1], weights=counts)) if subject.task == "regression" else 0.0

    def paint_bars(ax: Any) -> None:
        places, height = np.arange(len(grid)), 0.8 / len(curves)
        for k, (label, mean) in enumerate(curves):
            shift = (k - 0.5 * (len(curves) - 1)) * height
            ax.barh(places + shift, mean - base, height=0.9 * height, left=base, label=label)
        ax.set_yticks(places, labels)
        ax.invert_yaxis()
        ax.grid(visible=False, axis="y")
        ax.set(xlabel=f"mean {what}" + (", from the average" if base else ""), ylabel=name)
        if len(curves) > 1:
            ax.legend()

    alt += ": " + ", ".join(
        f"{label} {mean:.3g}" for label, mean in zip(labels, curves[0][1], strict=True)
    ) * (len(curves) == 1)
    caption = f"Mean {what} by {subject.names[j]}, with training rows"
    return draw(paint_bars, alt, caption, height=70 + (14 + 9 * len(curves)) * len(grid))


def _is_nominal(subject: Subject, j: int, values: Any) -> bool:
    """Return whether the values of a column have no order: categories, booleans, two numbers."""
    known = subject.kind(j) in ("category", "label", "boolean")
    return known or values.dtype == object or len(np.unique(values)) == 2


def _category(value: Any, is_boolean: bool) -> str:
    if isinstance(value, float | np.floating):
        return str(bool(value)) if is_boolean else f"{value:g}"
    return shorten(value, 16)


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


def _category_grid(values: Any, present: Any) -> tuple[Any, Any]:
    """Return one row of each of the most frequent categories, and how many rows have it."""
    _, first, counts = np.unique(values[present].astype(str), return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:8]
    return present[first[order]], counts[order]
