"""Out-of-fold decision values of a grid of machines: the engine of all searches.

What does not depend on C is computed once for a fold and kernel (scaling, merged rows, volumes), or
once for all (distances and inner products); the solutions for one kernel follow the path of growing
costs; test points are checked once.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.kernels.device import decision_on_device
from kernelfit.utils.threads import threads_for

Array = NDArray[Any]

_CHUNK_BYTES = 2**26  # of kernel values with test points at a time


@dataclass(frozen=True)
class Geometry:
    """What the kernels of a grid share on all rows.

    Attributes
    ----------
    matrix : ndarray of shape (n, n) or None
        Distances or inner products (`StandardKernel.geometry`), or a given kernel matrix; None
        where it would not fit in memory, or where kernels share nothing.
    final : bool
        Whether the matrix is that of the kernel already.
    """

    matrix: Array | None = None
    final: bool = False

    def restrict(self, rows: Array, columns: Array) -> "Geometry":
        """Return the part between two sets of rows."""
        return (
            self
            if self.matrix is None
            else replace(self, matrix=self.matrix[np.ix_(rows, columns)])
        )

    def kernel_matrix(self, kernel: Any, rows: Any = slice(None)) -> Array | None:
        """Return the values of a kernel, in some rows, or None where nothing is shared."""
        if self.matrix is None:
            return None
        part = self.matrix[rows]
        return part if self.final else kernel.from_geometry(part)


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


def fold_values(
    make_machine: Any,
    grid: Grid,
    data: tuple[Any, Array, Array],
    geometry: Geometry,
    train: Array,
    test: Array,
) -> FoldValues:
    """Train every candidate on one part of the data and evaluate it on the other.

    Parameters
    ----------
    make_machine : callable
        ``make_machine()`` returns an unfitted machine.
    grid : Grid
    data : (X, y, weight)
        Checked.
    geometry : Geometry
    train, test : ndarray of int
        Rows of positive weight.

    Returns
    -------
    FoldValues
    """
    X, y, weight = data
    order = np.argsort(grid.Cs, kind="stable")
    Cs = np.asarray(grid.Cs, dtype=np.float64)[order]
    n_unconverged = 0
    plan: Any = None
    blocks: list[Array] = []
    fit_time, score_time = np.zeros((2, *grid.shape))
    share = len(grid.etas) * len(Cs) * len(grid.epsilons)
    inside, across = geometry.restrict(train, train), geometry.restrict(test, train)
    with threads_for(len(train)):
        machine = make_machine(C=float(Cs[-1]))
        fold_X = machine._take_rows(X, train)
        *prepared, rows = machine._prepare(fold_X, y[train], weight[train], Cs)
        for j, params in enumerate(grid.kernels):
            began = time.perf_counter()
            for name, value in params.items():
                setattr(machine, name, value)
            learner = machine._learner(*prepared, inside.kernel_matrix)
            if plan is None:
                plan = machine._make_plan(learner, prepared[1], prepared[3])
            plan = replace(plan, learner=learner)
            paths = []
            for epsilon in grid.epsilons:
                if epsilon is not None:
                    machine.epsilon = epsilon
                for group in plan.groups:
                    path = plan.learner.path(group[0].rows, plan.tasks_at(group), Cs)
                    paths.append((group, list(path)))
            trained = time.perf_counter()
            found = _evaluate(machine, across, X, train[rows], test, paths, plan.shape[0])
            n_unconverged += sum(not r.converged for _, path in paths for r in path)
            # (n_epsilons, n_costs * n_etas, ...) -> (n_etas, n_costs, n_epsilons, ...)
            found = found.reshape(len(grid.epsilons), len(Cs), len(grid.etas), *found.shape[2:])
            found = np.moveaxis(found, (2, 1, 0), (0, 1, 2))[:, np.argsort(order)]
            blocks.append(found)
            fit_time[..., j] = (trained - began) / share
            score_time[..., j] = (time.perf_counter() - trained) / share
    values = np.stack(blocks, axis=3)
    return FoldValues(
        machine,
        test,
        values.reshape(-1, *values.shape[4:]),
        fit_time.ravel(),
        score_time.ravel(),
        n_unconverged,
    )


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
    if machine.device is not None and initial is not None:
        for number, (group, path) in enumerate(paths):
            support = X[train[group[0].rows]]
            values = decision_on_device(initial, X[test], support, _coef(path), machine.device)
            values = (values + _intercept(path)).T.reshape(n_machines, -1, len(test))
            problems = [problem.index for problem in group]
            out[number // n_groups][:, :, problems] = values.swapaxes(1, 2)
        return out
    step = max(1, _CHUNK_BYTES // (8 * len(train)))
    for first in range(0, len(test), step):
        chunk = test[first : first + step]
        part = slice(first, first + len(chunk))
        K = None
        for number, (group, path) in enumerate(paths):
            block = out[number // n_groups]
            problems = [problem.index for problem in group]
            rows = group[0].rows
            if path[0].theta is None:  # one kernel along the path
                if K is None:
                    K = across.kernel_matrix(initial, part)
                    K = initial(X[chunk], X[train]) if K is None else K
                values = (K[:, rows] @ _coef(path).T + _intercept(path)).T
                block[:, part, problems] = values.reshape(n_machines, -1, len(chunk)).swapaxes(1, 2)
                continue
            for k, result in enumerate(path):
                used = np.flatnonzero(result.x.any(axis=0))
                if result.kernel is None and across.matrix is not None:  # weighed by theta
                    K = machine._weigh(across.matrix[part][:, used], result.theta)
                else:
                    K = result.kernel(X[chunk], X[train[rows][used]])
                values = K @ result.x[:, used].T
                block[k, part, problems] = (values + result.intercept).T
    return out


def _coef(path: list[Any]) -> Array:
    """Return the coefficients of the machines of a path that have one kernel."""
    return np.concatenate([result.scale * result.x for result in path])


def _intercept(path: list[Any]) -> Array:
    return np.concatenate([result.intercept for result in path])
