"""What the command fits: methods by name, on the table of a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV

import kernelfit.ensemble.auto as auto
from kernelfit.cli.arguments import TableError, called
from kernelfit.cli.tables import need_column, read_table
from kernelfit.ensemble.prepared import TableEstimator
from kernelfit.estimators.union import KernelUnionClassifier, KernelUnionRegressor
from kernelfit.selection.dank_cv import DANKClassifierCV, DANKRegressorCV
from kernelfit.selection.knpl_cv import KNPLClassifierCV, KNPLRegressorCV
from kernelfit.selection.mkl_cv import MKLClassifierCV, MKLRegressorCV
from kernelfit.selection.ridge_cv import KernelRidgeClassifierCV, KernelRidgeRegressorCV
from kernelfit.selection.svm_cv import KernelSVCCV, KernelSVRCV
from kernelfit.selection.tkl_cv import TKLClassifierCV, TKLRegressorCV
from kernelfit.tables.number_text import number_in
from kernelfit.tables.numbers import NumberReader
from kernelfit.tables.plan import read_plan
from kernelfit.utils.values import is_missing

MIN_ROWS = 10
MAX_CLASSES = 20  # of numbers that are classes
OURS = {
    "svm": (KernelSVCCV, KernelSVRCV),
    "ridge": (KernelRidgeClassifierCV, KernelRidgeRegressorCV),
    "tkl": (TKLClassifierCV, TKLRegressorCV),
    "dank": (DANKClassifierCV, DANKRegressorCV),
    "knpl": (KNPLClassifierCV, KNPLRegressorCV),
    "mkl": (MKLClassifierCV, MKLRegressorCV),
    "union": (KernelUnionClassifier, KernelUnionRegressor),
}


@dataclass(frozen=True)
class Problem:
    """A table and what is to be predicted.

    Attributes
    ----------
    frame : DataFrame
        The features; its index says where the rows come from.
    y : ndarray
        Class labels or numbers.
    target : str
    classify : bool
    left_out : int
        Rows of the file without a target.
    kinds : dict of str to str
        What columns are, by name.
    """

    frame: pd.DataFrame
    y: Any
    target: str
    classify: bool
    left_out: int
    kinds: dict[str, str]

    @property
    def what(self) -> str:
        """The task in words."""
        if self.classify:
            return f"classification, {len(np.unique(self.y))} classes"
        return "regression"


def read_problem(
    path: Path, target: str, task: str, kinds: dict[str, str], drop: list[str]
) -> Problem:
    """Read a table and take it apart.

    Parameters
    ----------
    path : Path
    target : str
        The column to predict.
    task : {"auto", "classification", "regression"}
        "auto": text, and up to 20 different whole numbers that come five times each on average,
        are classes.
    kinds : dict of str to str
        What columns are, by name.
    drop : list of str
        Columns to leave out.

    Returns
    -------
    Problem
    """
    frame = read_table(path, [name for name in drop if name != target])
    path = called(path)
    for name in (target, *kinds):
        need_column(frame, name, path)
    where = f"column {target!r} of {path}"
    y = _target(frame[[target]], kinds.get(target))
    present = np.array([value is not None and value == value for value in y])
    frame, y = frame[present].drop(columns=target), y[present]
    if len(y) < MIN_ROWS:
        raise TableError(f"expected at least {MIN_ROWS} rows with a target in {path}, got {len(y)}")
    if not frame.shape[1]:
        raise TableError(f"expected columns beside {target!r} in {path}, got none")
    if frame.isna().all(axis=None):
        raise TableError(f"expected values beside {where}, got none")
    values = {*y.tolist()}
    if len(values) == 1:
        raise TableError(f"expected different values in {where}, got only {values.pop()!r}")
    if task == "regression" and y.dtype == object:
        raise TableError(f"expected numbers in {where}, got text")
    classify = _holds_classes(y, len(values)) if task == "auto" else task == "classification"
    if classify:
        y = _labels(y, where)
    kinds = {name: kind for name, kind in kinds.items() if name != target}
    return Problem(frame, y, target, classify, int((~present).sum()), kinds)


def _target(frame: pd.DataFrame, kind: str | None) -> Any:
    """Return the targets: numbers, also in disguise, or text with None where it is missing."""
    plan = read_plan(frame, None if kind is None else {0: kind})
    if isinstance(plan.readers[0], NumberReader):
        return plan.read(frame)[:, 0]
    values = frame.iloc[:, 0].to_numpy(dtype=object)
    numbers = [None if kind else number_in(value) for value in values]
    if None in numbers:
        return np.array([None if is_missing(v) else str(v) for v in values], dtype=object)
    return np.array(numbers, dtype=np.float64)


def _holds_classes(y: Any, n_values: int) -> bool:
    few = n_values <= MAX_CLASSES and len(y) >= 5 * n_values
    return y.dtype == object or (_is_whole(y) and few)


def _is_whole(y: Any) -> bool:
    return bool((y == np.round(y)).all())


def _labels(y: Any, where: str) -> Any:
    """Return classes as text or, where they are whole, as integers; all come twice at least."""
    if y.dtype == object:
        y = y.astype(str)
    elif _is_whole(y):
        y = y.astype(np.int64)
    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        rare = str(labels[counts.argmin()])
        raise TableError(f"expected every class in {where} at least twice, got {rare!r} once")
    return y


def make_estimator(
    method: str, problem: Problem, time_limit: float | None, seed: int, verbose: bool
) -> Any:
    """Return the estimator of a method for a problem.

    Parameters
    ----------
    method : str
        One of `METHODS` or `RIVALS`.
    problem : Problem
    time_limit : float or None
        For "auto".
    seed : int
    verbose : bool

    Returns
    -------
    TableEstimator
    """
    classify = problem.classify
    inner: Any
    if method == "auto":
        cls = auto.AutoKernelClassifier if classify else auto.AutoKernelRegressor
        inner = cls(time_limit, column_kinds=problem.kinds, random_state=seed, verbose=int(verbose))
    elif method in OURS:
        inner = OURS[method][0 if classify else 1]()
    elif method == "linear":
        inner = LogisticRegression(max_iter=2000) if classify else RidgeCV(10.0 ** np.arange(-3, 4))
    elif method == "forest":
        inner = (RandomForestClassifier if classify else RandomForestRegressor)(random_state=seed)
    elif method == "baseline":
        inner = DummyClassifier() if classify else DummyRegressor()
    else:
        boosting = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
        inner = boosting(random_state=seed)
    return TableEstimator(inner, target=problem.target, column_kinds=problem.kinds)
