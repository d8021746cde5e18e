"""Out-of-fold decision values of a grid of machines: the engine of all searches.

The work of a search is a list of cells: one kernel on one fold. The solutions of a cell follow the
path of growing costs. What the kernels of a fold share (distances or inner products) is computed
once, and never sent to another process: it has n x n numbers.
"""

import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.device import decision_on_device

Array = NDArray[Any]

_CHUNK_BYTES = 2**26  # of kernel values with test points at a time
_MAX_KEPT = 2**26  # bytes of a geometry that another process keeps: it may be idle for minutes


@dataclass(frozen=True)
class Geometry:
    """What the kernels of a grid share between two sets of rows.

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, n_columns) or None
        Distances or inner products (`StandardKernel.geometry`), or values of a given kernel; None
        where kernels share nothing.
    final : bool
        Whether the matrix is that of the kernel already.
    """

    matrix: Array | None = None
    final: bool = False

    def kernel_matrix(self, kernel: Any, rows: Any = slice(None)) -> Array | None:
        """Return the values of a kernel, in some rows, or None where nothing is shared."""
        if self.matrix is None:
            return None
        part = self.matrix[rows]
        return part if self.final else kernel.from_geometry(part)


@dataclass(frozen=True)
class Common:
    """Where the geometry comes from.

    Attributes
    ----------
    kernel : StandardKernel or None
        Any kernel of the grid; None where they share nothing, or where it would not fit in memory.
    matrix : ndarray of shape (n, n) or None
        A given kernel matrix on all rows.
    final : bool
        Whether that is the only kernel of the grid.
    """

    kernel: Any = None
    matrix: Array | None = None
    final: bool = False

    def between(self, X: Any, rows: Array, columns: Array) -> Geometry:
        """Return the geometry between two sets of rows of X."""
        if self.kernel is None:
            return self.given(rows, columns)
        same = rows is columns
        return Geometry(self.kernel.geometry(X[rows], None if same else X[columns]))

    def given(self, rows: Array, columns: Array) -> Geometry:
        """Return the given matrix between two sets of rows."""
        if self.matrix is None:
            return Geometry()
        whole = np.arange(len(self.matrix))
        if np.array_equal(rows, whole) and np.array_equal(columns, whole):
            return Geometry(self.matrix, self.final)
        return Geometry(self.matrix[np.ix_(rows, columns)], self.final)


class Parts:
    """What all cells read: the data, the folds, and the geometry of the fold used last.

    Parameters
    ----------
    data : (X, y, weight)
        Checked.
    splits : list of (train, test)
        Rows of positive weight.
    common : Common
    """

    def __init__(
        self,
        data: tuple[Any, Array, Array],
        splits: list[tuple[Array, Array]],
        common: Common,
    ) -> None:
        self.X, self.y, self.weight = data
        self.splits, self.common = splits, common
        self._start(np.inf)

    def _start(self, max_kept: float) -> None:
        self._max_kept = max_kept
        self._latest: dict[str, tuple[int, Geometry]] = {}
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name[0] != "_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start(_MAX_KEPT)

    def inside(self, fold: int) -> Geometry:
        """Return the geometry of the training rows of a fold."""
        train, _ = self.splits[fold]
        return self._kept("inside", fold, train, train)

    def across(self, fold: int) -> Geometry:
        """Return the geometry between the test rows and the training rows of a fold."""
        train, test = self.splits[fold]
        return self._kept("across", fold, test, train)

    def _kept(self, name: str, fold: int, rows: Array, columns: Array) -> Geometry:
        if 8 * len(rows) * len(columns) > self._max_kept:
            return self.common.between(self.X, rows, columns)
        with self._lock:  # cells of one fold run one after the other, or at the same time
            if self._latest.get(name, (-1,))[0] != fold:
                self._latest.pop(name, None)
                self._latest[name] = fold, self.common.between(self.X, rows, columns)
            return self._latest[name][1]


@dataclass(frozen=True)
class Grid:
    """The candidates of a search.

    Attributes
    ----------
    kernels : sequence of dict
        Parameters that the kernel depends on.
    epsilons : sequence of float or (None,)
        Widths of the tube, in regression.
    Cs : sequence of float
    etas : sequence or (None,)
        Weights of a penalty, which a path goes through for every cost.
    """

    kernels: Sequence[Mapping[str, Any]]
    epsilons: Sequence[Any]
    Cs: Sequence[float]
    etas: Sequence[Any] = (None,)

    def params(self) -> list[dict[str, Any]]:
        """Return the parameters of every candidate, in the order in which ties are decided."""
        return [
            {
                "C": C,
                **kernel,
                **({} if epsilon is None else {"epsilon": epsilon}),
                **({} if eta is None else {"eta": eta}),
            }
            for eta in self.etas
            for C in self.Cs
            for epsilon in self.epsilons
            for kernel in self.kernels
        ]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The numbers of etas, costs, epsilons and kernels."""
        return len(self.etas), len(self.Cs), len(self.epsilons), len(self.kernels)


@dataclass(frozen=True)
class CellValues:
    """What one cell gives.

    Attributes
    ----------
    values : ndarray of shape (n_etas, n_costs, n_epsilons, n_test, n_problems)
        Decision values of the test rows.
    fit_time, score_time : float
        Seconds of all machines together.
    n_unconverged : int
        How many solutions missed the tolerance.
    """

    values: Array
    fit_time: float
    score_time: float
    n_unconverged: int


@dataclass(frozen=True)
class FoldValues:
    """What one fold gives.

    Attributes
    ----------
    machine : estimator
        Which knows the classes of the training part.
    test : ndarray of int
        The test rows.
    values : ndarray of shape (n_candidates, n_test, n_problems)
        Decision values of the test rows.
    fit_time, score_time : ndarray of shape (n_candidates,)
        Equal shares of the seconds of a path.
    n_unconverged : int
        How many solutions missed the tolerance.
    """

    machine: Any
    test: Array
    values: Array
    fit_time: Array
    score_time: Array
    n_unconverged: int

    @classmethod
    def of(cls, machine: Any, test: Array, grid: Grid, cells: Sequence[CellValues]) -> "FoldValues":
        """Return the values of a fold from those of its cells, one a kernel of the grid."""
        values = np.stack([cell.values for cell in cells], axis=3)
        n_paths = np.prod(grid.shape[:3], dtype=int)
        times = [[cell.fit_time, cell.score_time] for cell in cells]
        fit_time, score_time = np.tile(np.transpose(times) / n_paths, n_paths)
        n_unconverged = sum(cell.n_unconverged for cell in cells)
        values = values.reshape(-1, *values.shape[4:])
        return cls(machine, test, values, fit_time, score_time, n_unconverged)


@dataclass(frozen=True)
class Cell:
    """One kernel on one fold.

    Attributes
    ----------
    fold : int
    machine : estimator
        Unfitted, with the parameters of the kernel.
    grid : Grid
        Of this kernel alone.
    """

    fold: int
    machine: Any
    grid: Grid

    def run(self, parts: Parts) -> CellValues:
        """Train every candidate on one part of the data and evaluate it on the other."""
        train, test = parts.splits[self.fold]
        machine, grid = copy(self.machine), self.grid
        order = np.argsort(grid.Cs, kind="stable")
        Cs = np.asarray(grid.Cs, dtype=np.float64)[order]
        began = time.perf_counter()
        X = machine._take_rows(parts.X, train)
        *prepared, rows = machine._prepare(X, parts.y[train], parts.weight[train], Cs)
        learner = machine._learner(*prepared, parts.inside(self.fold).kernel_matrix)
        plan = machine._make_plan(learner, prepared[1], prepared[3])
        paths = []
        for epsilon in grid.epsilons:
            if epsilon is not None:
                machine.epsilon = epsilon
            for group in plan.groups:
                path = learner.path(group[0].rows, plan.tasks_at(group), Cs)
                paths.append((group, list(path)))
        trained = time.perf_counter()
        across = parts.across(self.fold)
        found = _evaluate(machine, across, parts.X, train[rows], test, paths, plan.shape[0])
        # (n_epsilons, n_costs * n_etas, ...) -> (n_etas, n_costs, n_epsilons, ...)
        found = found.reshape(len(grid.epsilons), len(Cs), len(grid.etas), *found.shape[2:])
        found = np.moveaxis(found, (2, 1, 0), (0, 1, 2))[:, np.argsort(order)]
        n_unconverged = sum(not result.converged for _, path in paths for result in path)
        score_time = time.perf_counter() - trained
        return CellValues(found, trained - began, score_time, n_unconverged)


@dataclass(frozen=True)
class Training:
    """The training of a machine on all rows.

    Attributes
    ----------
    machine : estimator
        Unfitted.
    """

    machine: Any

    def run(self, parts: Parts) -> Any:
        """Return the machine, trained."""
        machine, used = copy(self.machine), np.flatnonzero(parts.weight)
        matrix = parts.common.given(used, used).kernel_matrix
        machine._fit(parts.X, parts.y, parts.weight, machine, matrix)
        return machine


def run_task(parts: Parts, task: Cell | Training) -> Any:
    """Return what a task gives."""
    return task.run(parts)


def _evaluate(
    machine: Any,
    across: Geometry,
    X: Any,
    train: Array,
    test: Array,
    paths: Sequence[tuple[Any, list[Any]]],
    n_problems: int,
) -> Array:
    """Return decision values of shape (n_epsilons, n_machines, n_test, n_problems)."""
    n_groups = len({group[0].index for group, _ in paths})
    n_epsilons, n_machines = len(paths) // n_groups, len(paths[0][1])
    out = np.empty((n_epsilons, n_machines, len(test), n_problems))
    initial: Any = getattr(machine, "_initial_kernel", None)
    on_device = machine.device is not None and initial is not None
    step = len(test) if on_device else max(1, _CHUNK_BYTES // (8 * len(train)))
    for first in range(0, len(test), step):
        chunk = test[first : first + step]
        part = slice(first, first + len(chunk))
        shared = None
        for number, (group, path) in enumerate(paths):
            rows = group[0].rows
            if on_device:
                points = X[chunk], X[train[rows]]
                values = decision_on_device(initial, *points, _coef(path), machine.device)
            elif path[0].theta is None:  # one kernel along the path
                if shared is None:
                    K = across.kernel_matrix(initial, part)
                    shared = initial(X[chunk], X[train]) if K is None else K
                values = shared[:, rows] @ _coef(path).T
            else:
                learned = []
                for result in path:
                    used = np.flatnonzero(result.x.any(axis=0))
                    if result.kernel is None and across.matrix is not None:  # weighed by theta
                        K = machine._weigh(across.matrix[part][:, used], result.theta)
                    else:
                        K = result.kernel(X[chunk], X[train[rows][used]])
                    learned.append(K @ result.x[:, used].T)
                values = np.hstack(learned)
            values = (values + _intercept(path)).T.reshape(n_machines, -1, len(chunk))
            problems = [problem.index for problem in group]
            out[number // n_groups][:, part, problems] = values.swapaxes(1, 2)
    return out


def _coef(path: list[Any]) -> Array:
    """Return the coefficients of the machines of a path that have one kernel."""
    return np.concatenate([result.scale * result.x for result in path])


def _intercept(path: list[Any]) -> Array:
    return np.concatenate([result.intercept for result in path])
