"""Out-of-fold scores of recipes on some rows."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.ensemble.clock import Seconds
from kernelfit.ensemble.features import Data, Features, metric_points
from kernelfit.ensemble.part import TrainingPart
from kernelfit.utils.checkpoint import Checkpoint
from kernelfit.utils.digest import digest
from kernelfit.utils.jit import compiling_seconds
from kernelfit.utils.jobs import Shared, n_threads, run_jobs, shares_memory

Array = NDArray[Any]
Fold = tuple[Array, Array]


class OutOfTime(Exception):
    """Raised between the folds of a recipe that would end too late."""


class FoldRows:
    """Training parts and test rows of every fold.

    Parameters
    ----------
    data : Data
    folds : sequence of (train, test)
        Folds without any of the rows are dropped.
    rows : ndarray of int or None
        Rows to use; all when None.
    seed : int
    checkpoint : Checkpoint or None
        Store of the scores.
    device : str or None
    n_jobs : int or None
        Number of folds worked on at a time.
    """

    def __init__(
        self,
        data: Data,
        folds: Sequence[Fold],
        rows: Array | None,
        *,
        seed: int,
        checkpoint: Checkpoint | None,
        device: str | None,
        n_jobs: int | None,
    ) -> None:
        self._data, self._checkpoint, self._n_jobs = data, checkpoint, n_jobs
        chosen = {k: fold if rows is None else _within(fold, rows) for k, fold in enumerate(folds)}
        chosen = {k: fold for k, fold in chosen.items() if len(fold[0]) and len(fold[1])}
        self.folds = list(chosen.values())
        self._numbers = list(chosen)  # among the folds of all rows
        self._shared = Shared(data, self.folds, seed, device)
        self._parts = [TrainingPart(data.take(train), seed) for train, _ in self.folds]
        if not self.folds:
            raise ValueError(
                "expected folds that test some of the rows on which members are compared, got none "
                f"among {len(data.weight) if rows is None else len(rows)} rows: give larger folds"
            )
        tests = [test for _, test in self.folds]
        self._count = np.bincount(np.concatenate(tests), minlength=len(data.weight))

    @property
    def tested(self) -> Array:
        """The rows that some fold tests."""
        return np.flatnonzero(self._count)

    def knows(self, recipe: Any) -> bool:
        """Return whether the features of a recipe have been learned."""
        return self._parts[0].knows(recipe) is not None

    def metric(self, recipe: Any) -> Features | None:
        """Return the metric of a recipe from the fold whose scale is the median, if it has one."""
        if not recipe.learns_metric:
            return None
        found = [part.knows(recipe) for part in self._parts]
        known = [one for one in found if one is not None and one.factor is not None]
        scales = [float(np.sum(np.square(np.asarray(one.factor)))) for one in known]
        order = np.argsort(scales, kind="stable")
        return known[order[len(order) // 2]] if known else None

    def take_metrics(self, recipe: Any, fewer: "FoldRows") -> None:
        """Take the metrics of a recipe that were learned from some of these rows.

        Only where all of these rows would not show them more points.
        """
        if not recipe.learns_metric:
            return
        places = {number: place for place, number in enumerate(fewer._numbers)}
        for part, number, (train, _) in zip(self._parts, self._numbers, self.folds, strict=True):
            if number not in places or part.knows(recipe) is not None:
                continue
            place = places[number]
            known = fewer._parts[place].knows(recipe)
            n_few = len(fewer.folds[place][0])
            if known is not None and n_few >= metric_points(len(train)):
                part.take_metric(recipe, known)

    def scores(
        self,
        recipe: Any,
        widths: Sequence[float],
        ridges: Sequence[float],
        allows: Callable[[float], bool] | None = None,
    ) -> tuple[Array, Seconds]:
        """Return out-of-fold scores of shape (n_widths, n_ridges, n, k), and the seconds of a fold.

        Parameters
        ----------
        recipe : Recipe or EstimatorRecipe
        widths, ridges : sequence of float
        allows : callable, default=None
            Called between folds with the forecast seconds of the others; `OutOfTime` is raised
            where it returns False.
        """
        data, folds = self._data, self.folds
        grid = (recipe, widths, ridges)
        found = {k: self._stored(k, *grid) for k in range(len(folds))}
        left = [k for k, one in found.items() if one is None]
        began, done = time.perf_counter() - compiling_seconds(), 0
        whole = allows is None or not shares_memory()
        at_a_time = len(left) if whole else n_threads(self._n_jobs)
        while done < len(left):
            batch = left[done : done + at_a_time]
            jobs = [(k, *grid, self._parts[k].knows(recipe)) for k in batch]
            for number, one in run_jobs(_fold_scores, jobs, self._shared, n_jobs=self._n_jobs):
                k = batch[number]
                scores, features, seconds = one
                found[k] = scores, seconds
                self._parts[k].keep(recipe, features)
                if self._checkpoint is not None:
                    kept = {"scores": scores, "seconds": np.array(seconds)}
                    self._checkpoint.put(self._key(k, *grid), kept)
            done += len(batch)
            spent = time.perf_counter() - compiling_seconds() - began
            if allows and done < len(left) and not allows(spent / done * (len(left) - done)):
                raise OutOfTime
        out = np.zeros((len(widths), len(ridges), *data.targets.shape))
        for k, (_, test) in enumerate(folds):
            out[:, :, test] += found[k][0]
        out[:, :, self._count == 0] = np.nan
        out /= np.maximum(self._count, 1)[:, None]
        # The median, as a fold may be slow for reasons of its own.
        taken = np.median([found[k][1] for k in range(len(folds))], axis=0)
        return out, Seconds(*taken.tolist())

    def _key(self, k: int, *what: Any) -> str:
        return f"{k:03d}-" + digest(what, *self.folds[k])[:40]

    def _stored(self, k: int, *what: Any) -> Any:
        """Return the scores and times of a fold from an earlier run, or None."""
        kept = None if self._checkpoint is None else self._checkpoint.get(self._key(k, *what))
        return None if kept is None else (kept["scores"], kept["seconds"])


def _within(fold: Fold, rows: Array) -> Fold:
    """Return the rows of a fold that are among some."""
    train, test = (part[np.isin(part, rows)] for part in fold)
    return train, test


def _fold_scores(
    data: Data,
    folds: Sequence[Fold],
    seed: int,
    device: str | None,
    k: int,
    recipe: Any,
    widths: Sequence[float],
    ridges: Sequence[float],
    features: Features | None,
) -> tuple[Array, Features, Seconds]:
    """Return the scores of a recipe on one fold, the features it learned there, and the times."""
    train, test = folds[k]
    part = TrainingPart(data.take(train), seed, device)
    part.keep(recipe, features)
    scores, seconds = part.scores(recipe, widths, ridges, data.table[test])
    return scores, part.features(recipe), seconds
