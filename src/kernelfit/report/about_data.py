"""What the data are."""

from typing import Any

import numpy as np

from kernelfit.report.blocks import NOTHING, Facts, Section, Table, number, shorten
from kernelfit.report.figures import draw, draw_bars
from kernelfit.report.subject import Subject
from kernelfit.report.table import is_missing, n_rows

_MAX_COLUMNS = 25
_MAX_CLASSES = 12
_KINDS = {"date": "dates, in years", "text": "text", "id": "an id, not used"}


def data_section(subject: Subject) -> Section:
    """Return the chapter on the training data.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    Section
    """
    X, y = subject.X, subject.y
    if subject.is_pairwise:
        given = f"The estimator was given a kernel matrix of {n_rows(X):,} training points."
        return Section("data", "The data", [given], _target(subject))
    n, d = n_rows(X), X.shape[1]
    text = f"{n:,} rows and {d:,} column{'s' * (d > 1)} for training"
    text += "." if subject.X_test is None else f", {n_rows(subject.X_test):,} rows held out."
    rows: list[tuple[Any, ...]] = []
    n_missing = 0
    for j in range(min(d, _MAX_COLUMNS)):
        values = subject.values(j)
        missing = is_missing(values)
        n_missing += int(missing.sum())
        kind = _KINDS.get(subject.kind(j), "")
        holds, middle, spread = _describe(values[~missing])
        rows.append((shorten(subject.names[j], 40), kind or holds, middle, spread, _share(missing)))
    facts = [("rows", number(n)), ("columns", number(d))]
    facts.append(("missing values", number(n_missing)))
    if y is not None and subject.task == "classification":
        facts.append(("classes", number(len(subject.classes))))
    note = f"The first {_MAX_COLUMNS} of {d:,} columns." if d > _MAX_COLUMNS else ""
    head = ("column", "holds", "middle", "spread", "missing")
    caption = "Columns: the median and the middle half of numbers, the most frequent category"
    table = Table(head, rows, caption, note)
    blocks = [Facts(facts), *_target(subject), table, *_readings(subject)]
    return Section("data", "The data", [text], blocks)


def _readings(subject: Subject) -> list[Table]:
    """Return what each column became, where the estimator reads tables."""
    read = getattr(subject.machine, "columns_", None)
    if read is None:
        return []
    parts = [list(read[part])[:_MAX_COLUMNS] for part in ("name", "kind", "use", "note")]
    rows = [(shorten(name, 40), *rest) for name, *rest in zip(*parts, strict=True)]
    return [Table(("column", "kind", "used as", "note"), rows, "How the columns were read")]


def _describe(values: Any) -> tuple[str, str, str]:
    """Return what kind of values a column has, their middle and their spread."""
    if values.dtype != object:
        if not len(values):
            return "nothing", NOTHING, NOTHING
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
        kind = "yes or no" if len(np.unique(values)) == 2 else "numbers"
        return kind, number(middle), f"{number(low)} to {number(high)}"
    names, counts = np.unique(values.astype(str), return_counts=True)
    if not len(names):
        return "nothing", NOTHING, NOTHING
    top = shorten(names[counts.argmax()], 24)
    return f"{len(names)} categories", top, f"{100 * counts.max() / counts.sum():.0f} % of rows"


def _share(missing: Any) -> str:
    return NOTHING if not missing.any() else f"{100 * missing.mean():.1f} %"


def _target(subject: Subject) -> list[Any]:
    """Return a picture of the target, where there is one."""
    y = subject.y
    if subject.task == "clustering":
        y = subject.machine.labels_
    if y is None or y.ndim > 1 or subject.task in ("outliers", "other"):
        return []
    if subject.task in ("classification", "clustering"):
        names, counts = np.unique(y, return_counts=True)
        what = "clusters" if subject.task == "clustering" else "classes"
        order = np.argsort(-counts, kind="stable")[:_MAX_CLASSES]
        order = np.sort(order)
        listed = ", ".join(f"{names[k]}: {counts[k]}" for k in order)
        alt = f"Sizes of the {what}: {listed}"
        caption = f"Rows in each of the {len(names)} {what}"
        if len(names) > len(order):
            caption = f"Rows in the {len(order)} largest of {len(names)} {what}"
        short = [shorten(names[k], 20) for k in order]
        return [draw_bars(short, counts[order], "rows", alt, caption, 24)]

    def histogram(ax: Any) -> None:
        ax.hist(y, bins="auto" if len(y) < 10_000 else 60)
        ax.set(xlabel="target", ylabel="rows")

    alt = f"Histogram of the target, from {number(y.min())} to {number(y.max())}"
    return [draw(histogram, alt, "How the target is distributed")]
