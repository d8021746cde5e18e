"""The work of a search: tasks that are run, or found in a checkpoint."""

import time

from kernelfit.selection.folds import Cell, CellValues, run_task
from kernelfit.utils.checkpoint import Checkpoint
from kernelfit.utils.digest import digest
from kernelfit.utils.jobs import Shared, run_jobs
from kernelfit.utils.progress import show_progress

# Of a search: what changes neither the cells, nor where they belong.
_FREE = ("checkpoint", "cv", "n_average", "n_jobs", "scoring", "verbose")

_SILENCE = 5.0  # seconds between reports


class Work:
    """Runs the tasks of a search.

    Parameters
    ----------
    search : estimator
        Whose `n_jobs` and `checkpoint` are used.
    parts : Parts
    """

    def __init__(self, search, parts):
        self.parts, self._shared = parts, Shared(parts)
        # On a device jobs would compete for its memory.
        self._n_jobs = search.n_jobs if search.device is None else 1
        self._prefer, self._verbose = search._prefer, search.verbose
        self._checkpoint = None
        if search.checkpoint is not None:
            params = search.get_params(deep=False)
            fixed = {name: value for name, value in params.items() if name not in _FREE}
            names = getattr(search, "feature_names_in_", None)
            identity = {
                "estimator": type(search).__name__,
                "data": digest(parts.X, parts.y, parts.weight, names),
                "parameters": digest(fixed),
                "folds": digest(parts.splits),
            }
            self._checkpoint = Checkpoint(search.checkpoint, identity)

    def results(self, tasks):
        """Return what tasks give, in their order."""
        found = {k: self._stored(task) for k, task in enumerate(tasks)}
        left = [k for k, result in found.items() if result is None]
        jobs = [(tasks[k],) for k in left]
        began = said = time.perf_counter()
        for done, (number, result) in enumerate(
            run_jobs(run_task, jobs, self._shared, n_jobs=self._n_jobs, prefer=self._prefer), 1
        ):
            task = tasks[left[number]]
            found[left[number]] = result
            if self._checkpoint is not None and isinstance(task, Cell):
                self._checkpoint.put(_key(task), vars(result))
            now = time.perf_counter()
            if self._verbose and now - said > _SILENCE and done < len(left):
                said = now
                rest = (now - began) / done * (len(left) - done)
                show_progress().info("%d of %d cells, about %.0f s left", done, len(left), rest)
        return [found[k] for k in range(len(tasks))]

    def _stored(self, task):
        """Return what a cell gave in an earlier run; None where it did not finish."""
        if self._checkpoint is None or not isinstance(task, Cell):
            return None
        arrays = self._checkpoint.get(_key(task))
        if arrays is None or set(arrays) != set(CellValues.__dataclass_fields__):
            return None
        values = arrays.pop("values")
        return CellValues(values, **{name: array.item() for name, array in arrays.items()})


def _key(cell):
    machine = cell.machine
    return f"{cell.fold:03d}-" + digest(machine, machine.tol, machine._polish, vars(cell.grid))[:40]
