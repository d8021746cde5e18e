"""What the commands fit, predict and cluster do."""

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split

from kernelfit.cli.arguments import TableError, called, need_file
from kernelfit.cli.explain import describe, headline_facts, measure
from kernelfit.cli.methods import Problem, make_estimator, read_problem
from kernelfit.cli.output import Output, show_columns
from kernelfit.cli.tables import need_column, read_table
from kernelfit.clustering.auto import KernelClustering
from kernelfit.clustering.cdsk import CDSKClustering
from kernelfit.clustering.kernel_kmeans import KernelKMeans
from kernelfit.ensemble.prepared import TableEstimator
from kernelfit.inspection.headline import headline
from kernelfit.io.files import load, save
from kernelfit.tables.reader import TableReader

_MIN_TEST_ROWS = 10


def fit_model(
    output: Output,
    data: Path,
    target: str,
    out: Path,
    *,
    method: str,
    task: str,
    time_limit: float | None,
    report: Path | None,
    holdout: float,
    kinds: dict[str, str],
    drop: list[str],
    seed: int,
) -> None:
    """Fit a model to a table, test it on rows that were held out, save it and report on it."""
    problem = read_problem(data, target, task, kinds, drop)
    write_report = None if report is None else report_writer()
    width = problem.frame.shape[1]
    columns = "1 column" if width == 1 else f"{width} columns"
    rows = f"{len(problem.y)} rows, {columns}; {target}: {problem.what}"
    left = f"; {problem.left_out} rows without {target!r} left out" if problem.left_out else ""
    output.say(rows + left, rows=len(problem.y), target=target, task=problem.what)
    train, test = _parts(problem, holdout, seed)
    model = make_estimator(method, problem, time_limit, seed, verbose=output.talks)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "KF006")  # what was cut short is told below
        model.fit(problem.frame.iloc[train], problem.y[train])
    spent = time.perf_counter() - began
    model.measured_ = {"training rows": len(train), "seconds": spent}
    if len(test):
        model.measured_ |= measure(
            model, problem.frame.iloc[test], problem.y[test], problem.y[train]
        )
    elif holdout:
        model.measured_["untested"] = "too few rows to hold some out"
    facts = headline_facts(model)
    output.facts |= describe(model) | facts
    output.say(f"fitted {output.facts['model']}")
    for name, text in headline(facts):
        output.say(f"{name}: {text}")
    save(model, out)
    output.say(f"model written to {out}", out=str(out))
    if write_report is not None:
        frames = [model.features(problem.frame.iloc[rows]) for rows in (train, test)]
        held_out = (frames[1], problem.y[test]) if len(test) else (None, None)
        write_report(
            model.estimator_, frames[0], problem.y[train], report,
            X_test=held_out[0], y_test=held_out[1], title=f"{target} in {called(data).name}",
        )  # fmt: skip
        output.say(f"report written to {report}", report=str(report))
    show_columns(output, output.facts["columns"])


def report_writer() -> Callable[..., Any]:
    """Return what writes reports; ImportError, in one sentence, where it lacks something."""
    try:
        from kernelfit.report import write_report
    except ImportError as error:
        raise ImportError(f"a report needs {error.name}: pip install 'kernelfit[report]'") from None
    return write_report


def _parts(problem: Problem, holdout: float, seed: int) -> tuple[Any, Any]:
    """Return the rows to train on and those held out, none of few."""
    rows = np.arange(len(problem.y))
    if holdout * len(rows) < _MIN_TEST_ROWS:
        return rows, rows[:0]
    labels = problem.y if problem.classify else None
    train, test = train_test_split(rows, test_size=holdout, random_state=seed, stratify=labels)
    return np.sort(train), np.sort(test)


def load_model(path: Path) -> Any:
    """Return what a file holds; TableError where there is none."""
    need_file(path)
    return load(path)


def predict_table(path: Path, data: Path, level: float, keep: Sequence[str] = ()) -> pd.DataFrame:
    """Return the predictions of a saved model for the rows of a table.

    Parameters
    ----------
    path : Path
        Of the model.
    data : Path
    level : float
        Of prediction intervals.
    keep : sequence of str, default=()
        Columns of the table to put first, as they are.

    Returns
    -------
    DataFrame
        Those to keep, and a column "prediction"; for a classifier that has them, one of
        probabilities a class; for a regressor that has them, "lower" and "upper".
    """
    model = load_model(path)
    if not isinstance(model, TableEstimator):
        raise TableError(f"expected a model that `kernelfit fit` wrote, got {path}")
    frame = read_table(data, only=[*dict.fromkeys([*model.names_, *keep])])
    try:
        found = _predictions(model, frame, level)
    except (TypeError, ValueError) as error:
        raise TableError(f"{called(data)}: {error}") from None
    for name in keep:
        if name in found.columns:
            raise TableError(f"expected --keep to name no column of the predictions, got {name!r}")
    kept = frame[[*dict.fromkeys(keep)]].reset_index(drop=True)
    return pd.concat([kept, found], axis=1)


def _predictions(model: TableEstimator, frame: pd.DataFrame, level: float) -> pd.DataFrame:
    inner = model.estimator_
    found = {"prediction": model.predict(frame)}
    if is_classifier(inner) and hasattr(inner, "predict_proba"):
        for name, column in zip(model.classes_, model.predict_proba(frame).T, strict=True):
            found[f"probability of {name}"] = column
    elif hasattr(inner, "predict_interval"):
        found["lower"], found["upper"] = model.predict_interval(frame, 1.0 - level).T
    return pd.DataFrame(found)


def cluster_table(
    data: Path,
    k: int | None,
    method: str | None,
    kinds: dict[str, str],
    drop: list[str],
    seed: int,
) -> pd.DataFrame:
    """Return the cluster of every row of a table, standardised.

    Parameters
    ----------
    data : Path
    k : int or None
        Number of clusters; None to have KernelClustering choose it.
    method : {"cdsk", "kmeans"} or None
        With a number of clusters alone; None for "cdsk".
    kinds : dict of str to str
        What columns are, by name.
    drop : list of str
        Columns to leave out.
    seed : int

    Returns
    -------
    DataFrame
        One column, "cluster", from 0 on.
    """
    if k is None and method is not None:
        raise TableError(f"expected a number of clusters for --method {method}, got auto")
    frame = read_table(data, drop)
    for name in kinds:
        need_column(frame, name, called(data))
    if not frame.shape[1]:
        raise TableError(f"expected columns in {data}, got none")
    if k is None:
        model = KernelClustering(column_kinds=kinds, random_state=seed).fit(frame)
        return pd.DataFrame({"cluster": model.labels_})
    if len(frame) < k:
        raise TableError(f"expected at least {k} rows for {k} clusters, got {len(frame)} in {data}")
    X = TableReader(kinds).fit_transform(frame)
    clustering = KernelKMeans if method == "kmeans" else CDSKClustering
    return pd.DataFrame({"cluster": clustering(k, random_state=seed).fit(X).labels_})
