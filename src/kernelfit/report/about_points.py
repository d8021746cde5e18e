"""Rows to look at: those that carry the machine, and those it is least sure of."""

from typing import Any

import numpy as np

from kernelfit.report.blocks import NOTHING, Bar, Section, Table, number, shorten
from kernelfit.report.subject import Subject
from kernelfit.report.table import column, is_missing, n_rows, row_names, take
from kernelfit.utils.validation import as_dense

_SHOWN = 8
_COLUMNS = 4  # of the table beside a row's name
_MAX_ROWS = 5000  # that are predicted to find the odd ones


def points_section(subject: Subject) -> Section | None:
    """Return the chapter on single rows.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    Section or None
    """
    blocks = [block for block in (_heavy(subject), _unsure(subject)) if block is not None]
    if not blocks:
        return None
    indexed = hasattr(subject.X, "iloc")
    names = "Rows go by the index of the table." if indexed else "Rows are counted from 0."
    text = [f"{names} Wrong labels and odd measurements are often among these."]
    return Section("points", "Rows to look at", text, blocks)


def _heavy(subject: Subject) -> Table | None:
    """Return the training rows with the largest coefficients, or weights of a clustering."""
    machine = subject.machine
    if subject.task == "clustering" and hasattr(machine, "weights_"):
        rows, size = np.arange(n_rows(subject.X)), machine.weights_
        name, caption = "weight", "The points of largest weight, which shape the clusters"
    elif hasattr(machine, "dual_coef_") and len(machine.support_):
        coef = np.atleast_2d(as_dense(machine.dual_coef_))
        rows, size = machine.support_, np.abs(coef).max(axis=0)
        name, caption = "coefficient", "The training rows of largest coefficient"
    else:
        return None
    order = np.argsort(-size, kind="stable")[:_SHOWN]
    top = max(float(size[order[0]]), np.finfo(float).tiny)
    note = ""
    ties = int(np.sum(size >= (1.0 - 1e-9) * top))
    if ties > _SHOWN:
        note = f"{ties} rows have the largest value; these are the first of them."
    bars = [Bar(number(size[k]), float(size[k] / top)) for k in order]
    return _table(subject, subject.X, subject.y, rows[order], name, bars, caption, note)


def _unsure(subject: Subject) -> Table | None:
    """Return the rows that could as well be of another class, or with the largest errors."""
    held = subject.X_test is not None
    X, y = (subject.X_test, subject.y_test) if held else (subject.X, subject.y)
    where = "new" if held else "training"
    if subject.task not in ("classification", "regression") or y is None or y.ndim > 1:
        return None
    some = np.arange(min(n_rows(X), _MAX_ROWS))
    if subject.task == "classification":
        scores = subject.scores(take(X, some))
        if scores is None:
            return None
        best = np.sort(scores, axis=1)[:, ::-1]
        lead = best[:, 0] - best[:, 1]
        rows = np.argsort(lead, kind="stable")[:_SHOWN]
        what = "probability" if subject.has_probabilities else "score"
        cells: list[Any] = [number(lead[k]) for k in rows]
        caption = f"The most ambiguous {where} rows"
        note = f"Lead: by how much the {what} of the predicted class exceeds the next one."
        return _table(subject, X, y, rows, "lead", cells, caption, note)
    predicted = np.asarray(subject.estimator.predict(take(X, some)))
    if predicted.ndim > 1:
        return None
    error = y[some] - predicted
    rows = np.argsort(-np.abs(error), kind="stable")[:_SHOWN]
    cells = [number(error[k]) for k in rows]
    caption = f"The {where} rows with the largest errors"
    return _table(subject, X, y, rows, "error", cells, caption, "Error: true minus predicted.")


def _table(
    subject: Subject,
    X: Any,
    y: Any,
    rows: Any,
    name: str,
    cells: list[Any],
    caption: str,
    note: str,
) -> Table:
    """Return a table of rows: name, a figure, the truth, the prediction and some columns."""
    called, names = row_names(X, rows)
    head, parts = [called, name], [names, cells]
    if y is not None and y.ndim == 1:
        head.append("true")
        parts.append([_cell(y[row]) for row in rows])
    if subject.task != "clustering" or y is None:
        head.append("cluster" if subject.task == "clustering" else "predicted")
        predicted = np.asarray(subject.estimator.predict(take(X, rows)))
        parts.append([_cell(value) for value in predicted])
    if not subject.is_pairwise:
        known = subject.importances
        matter = np.zeros(X.shape[1]) if known is None else known[0]
        for j in np.argsort(-matter, kind="stable")[:_COLUMNS]:
            values = column(take(X, rows), j)
            missing = is_missing(values)
            head.append(shorten(subject.names[j], 18))
            parts.append([NOTHING if m else _cell(v) for v, m in zip(values, missing, strict=True)])
        if X.shape[1] > _COLUMNS:
            which = "first" if known is None else "most important"
            note = f"{note} Of {X.shape[1]:,} columns the {_COLUMNS} {which} are shown.".strip()
    return Table(tuple(head), list(zip(*parts, strict=True)), caption, note)


def _cell(value: Any) -> str:
    if np.ndim(value):
        return ", ".join(_cell(one) for one in value)
    is_number = isinstance(value, float | np.floating)
    return number(value) if is_number else shorten(value, 20)
