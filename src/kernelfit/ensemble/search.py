"""Out-of-fold scores of members, in an order of work that can stop at any time.

A recipe whose members are many and quick is first tried in all widths and ridges on few rows (the
race), then on many rows around what did best there; one that fell far behind is not. The first
recipe is a plain Gaussian machine. Before each unit of work its time is forecast from that of the
units before, and it is left out if it would end too late.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.ensemble.features import Data, Features
from kernelfit.ensemble.members import Member
from kernelfit.ensemble.outcome import log_losses, squared_losses
from kernelfit.ensemble.part import TrainingPart
from kernelfit.utils.checkpoint import Checkpoint
from kernelfit.utils.digest import digest
from kernelfit.utils.jit import compiling_seconds
from kernelfit.utils.jobs import Shared, run_jobs

Array = NDArray[Any]
Fold = tuple[Array, Array]

RACE_ROWS = 400
MAX_ROWS = 2500  # that members are compared on
_UNIT = 20  # plain members that take one unit of time
_GRID_SHARE = 0.25  # of the members of a race that go on, in time
_HOPELESS = 2.0  # a loss in the race that is so many times the least
_KEPT = 2  # members of a recipe that go into the stack
_STEP = 8.0  # to what lies beyond the edge of a grid
_EXTENSIONS = 3  # of a grid whose best member lies at its edge
_DIGITS = 7  # of a loss that count when members are ranked: the others are rounding
_REFIT_SHARE = 0.25  # of the time of a search that training on all rows takes at most


@dataclass
class Clock:
    """The time that is left, and what work has taken so far.

    Attributes
    ----------
    limit : float
        Seconds in all; infinite for no limit.
    reserved : float
        Seconds that must be left at the end.
    """

    limit: float = np.inf
    reserved: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        """Seconds left for the search."""
        return self.limit - self.reserved - self.spent

    def allows(self, forecast: float) -> bool:
        """Return whether work of so many seconds, and the training that follows it, can end."""
        return (1.0 + _REFIT_SHARE) * forecast <= self.left


@dataclass(frozen=True)
class Found:
    """What a search found of one recipe.

    Attributes
    ----------
    tried : tuple of Member
    scores : ndarray of shape (n_tried, n, k)
        Out of fold; nan for rows that no fold tests.
    chosen : ndarray of int
        The best of those tried, the very best first.
    losses : ndarray of shape (n_chosen,)
        Their mean squared errors, or log losses.
    seconds : float
    """

    tried: tuple[Member, ...]
    scores: Array
    chosen: Array
    losses: Array
    seconds: float

    @property
    def members(self) -> list[Member]:
        """The chosen ones."""
        return [self.tried[k] for k in self.chosen]


def choose(scores: Array, data: Data, rows: Array) -> tuple[Array, Array]:
    """Return the best members of a recipe on some rows, and their losses, squared or log.

    Parameters
    ----------
    scores : ndarray of shape (n_members, n, k)
    data : Data
    rows : ndarray of int

    Returns
    -------
    chosen : ndarray of int
    losses : ndarray
    """
    if data.labels is None:
        losses = squared_losses(scores[:, rows], data.targets[rows], data.weight[rows])
    else:
        losses = log_losses(scores[:, rows], data.labels[rows], data.weight[rows])
    order = np.argsort(_rounded(losses), kind="stable")[:_KEPT]
    order = order[np.isfinite(losses[order])]
    return order, losses[order]


class Search:
    """The search for members.

    Parameters
    ----------
    data : Data
        The search rows.
    folds : sequence of (train, test)
    order : ndarray of int of shape (n,)
        All rows, in an order whose beginnings are balanced: the race is on the first ones.
    seed : int
    n_jobs : int or None
        Folds worked on at a time; the result does not depend on it.
    clock : Clock
    report : callable
        ``report(done, total, what, best loss)`` after every unit of work.
    checkpoint : Checkpoint, default=None
        Where the scores of a recipe on a fold are kept.
    device : str, default=None
        Where to compute; the processor when None.
    """

    def __init__(
        self,
        data: Data,
        folds: Sequence[Fold],
        order: Array,
        *,
        seed: int,
        n_jobs: int | None,
        clock: Clock,
        report: Callable[..., None],
        checkpoint: Checkpoint | None = None,
        device: str | None = None,
    ) -> None:
        self._checkpoint, self._device = checkpoint, device
        self._data, self._n_jobs, self._clock, self._report = data, n_jobs, clock, report
        self._folds, self._order, self._seed = folds, order, seed
        self._few = self._rows(RACE_ROWS)
        self._many = self._few
        self.considered: list[Any] = []  # recipes that there was time for

    @property
    def tested(self) -> Array:
        """The rows that members were compared on in the end."""
        return self._many.tested

    @property
    def folds(self) -> list[Fold]:
        """The folds of these rows."""
        return self._many.folds

    def _rows(self, size: int) -> "_Rows":
        """Return the folds of the first rows."""
        folds: list[Fold] = list(self._folds)
        if size < len(self._order):
            rows = self._order[:size]
            folds = [
                (train[np.isin(train, rows)], test[np.isin(test, rows)]) for train, test in folds
            ]
            folds = [(train, test) for train, test in folds if len(train) and len(test)]
        return _Rows(self._data, folds, self._seed, self._checkpoint, self._device)

    def _choose_rows(self, recipes: Sequence[Any], raced: Found) -> None:
        """Take as many rows as leave time for half of the recipes."""
        size = min(MAX_ROWS, len(self._order))
        cost = sum(recipe.cost for recipe in recipes[: -(-len(recipes) // 2)]) / recipes[0].cost
        affordable = max(self._clock.left, 0.0) / (2.0 * cost * raced.seconds * _GRID_SHARE)
        if affordable < (size / RACE_ROWS) ** 2.7:
            size = int(max(RACE_ROWS, RACE_ROWS * affordable ** (1 / 2.7)))
        if size > RACE_ROWS:
            self._many = self._rows(size)

    def run(self, recipes: Sequence[Any]) -> list[Found]:
        """Return what was found of every recipe that there was time for."""
        if len(self._order) <= RACE_ROWS:
            return self._run_all(recipes)
        found: list[Found] = []
        lead, pace, race_pace = np.inf, 0.0, 0.0
        for number, recipe in enumerate(recipes):
            forecast = pace * recipe.cost + (race_pace if recipe.races else 0.0)
            if found and not self._clock.allows(forecast):
                continue
            self.considered.append(recipe)
            widths, ridges = recipe.widths, recipe.ridges
            if recipe.races or not found:
                raced = self._try(self._few, recipe, widths, ridges)
                race_pace = max(race_pace, raced.seconds)
                lead = min(lead, raced.losses[0])
                if not found:
                    self._choose_rows(recipes, raced)
                elif raced.losses[0] > _HOPELESS * lead:
                    continue
                if self._many is self._few:  # no time for more
                    found.append(raced)
                    continue
                widths, ridges = _around(recipe, raced.members)
            found.append(self._settle(self._many, recipe, widths, ridges))
            pace = max(pace, found[-1].seconds / recipe.cost)
            self._report(number + 1, len(recipes), recipe.name, found)
        return found

    def _run_all(self, recipes: Sequence[Any]) -> list[Found]:
        found: list[Found] = []
        pace = 0.0
        for number, recipe in enumerate(recipes):
            cost = self._whole_cost(recipe)
            if found and not self._clock.allows(pace * cost):
                continue
            self.considered.append(recipe)
            found.append(self._settle(self._few, recipe, recipe.widths, recipe.ridges))
            pace = max(pace, found[-1].seconds / cost)
            self._report(number + 1, len(recipes), recipe.name, found)
        return found

    def _whole_cost(self, recipe: Any) -> float:
        """Return how long all members of a recipe take, in units of some plain ones: a guess."""
        if recipe.races:
            return float(recipe.cost * len(recipe.widths) * len(recipe.ridges) / _UNIT)
        # What another recipe has learned is there.
        return 1.0 if self._few.knows(recipe) else float(recipe.cost)

    def _settle(
        self, rows: "_Rows", recipe: Any, widths: Sequence[float], ridges: Sequence[float]
    ) -> Found:
        """Try members, and beyond the edge of their grid while the best one lies there."""
        found = self._try(rows, recipe, widths, ridges)
        for _ in range(_EXTENSIONS if recipe.extends else 0):
            best = found.members[0]
            wider = _beyond(best.width, [member.width for member in found.tried])
            same = [member.ridge for member in found.tried if member.width == best.width]
            lower = _beyond(best.ridge, same)
            if wider:
                found = self._join(rows, found, self._try(rows, recipe, wider, ridges))
            elif lower:
                found = self._join(rows, found, self._try(rows, recipe, [best.width], lower))
            else:
                break
        return found

    def _join(self, rows: "_Rows", first: Found, second: Found) -> Found:
        """Return what two searches of one recipe found."""
        scores = np.concatenate([first.scores, second.scores])
        chosen, losses = choose(scores, self._data, rows.tested)
        tried, seconds = first.tried + second.tried, first.seconds + second.seconds
        return Found(tried, scores, chosen, losses, seconds)

    def _try(
        self, rows: "_Rows", recipe: Any, widths: Sequence[float], ridges: Sequence[float]
    ) -> Found:
        began, compiling = time.perf_counter(), compiling_seconds()
        scores = rows.scores(recipe, widths, ridges, self._n_jobs)
        tried = tuple(Member(recipe, width, ridge) for width in widths for ridge in ridges)
        scores = scores.reshape(len(tried), *scores.shape[2:])
        chosen, losses = choose(scores, self._data, rows.tested)
        # Functions are compiled once: forecasts must not take it for the pace of the search.
        compiling = compiling_seconds() - compiling
        return Found(tried, scores, chosen, losses, time.perf_counter() - began - compiling)


class _Rows:
    """Training parts and test rows of every fold."""

    def __init__(
        self,
        data: Data,
        folds: Sequence[Fold],
        seed: int,
        checkpoint: Checkpoint | None,
        device: str | None,
    ) -> None:
        self._data, self._checkpoint = data, checkpoint
        self.folds = list(folds)
        self._shared = Shared(data, self.folds, seed, device)
        self._parts = [TrainingPart(data.take(train), seed) for train, _ in folds]
        tests = [test for _, test in folds]
        self._count = np.bincount(np.concatenate(tests), minlength=len(data.weight))

    @property
    def tested(self) -> Array:
        """The rows that some fold tests."""
        return np.flatnonzero(self._count)

    def knows(self, recipe: Any) -> bool:
        """Return whether the features of a recipe have been learned."""
        return self._parts[0].knows(recipe) is not None

    def _key(self, k: int, *what: Any) -> str:
        return f"{k:03d}-" + digest(what, *self.folds[k])[:40]

    def _stored(self, k: int, *what: Any) -> Array | None:
        """Return the scores on a fold that an earlier run has kept, or None."""
        if self._checkpoint is None:
            return None
        return (self._checkpoint.get(self._key(k, *what)) or {}).get("scores")

    def scores(
        self, recipe: Any, widths: Sequence[float], ridges: Sequence[float], n_jobs: int | None
    ) -> Array:
        """Return out-of-fold scores of shape (n_widths, n_ridges, n, k)."""
        data, folds = self._data, self.folds
        found = {k: self._stored(k, recipe, widths, ridges) for k in range(len(folds))}
        left = [k for k, scores in found.items() if scores is None]
        jobs = [(k, recipe, widths, ridges, self._parts[k].knows(recipe)) for k in left]
        for number, (scores, features) in run_jobs(_fold_scores, jobs, self._shared, n_jobs=n_jobs):
            k = left[number]
            found[k] = scores
            self._parts[k].keep(recipe, features)
            if self._checkpoint is not None:
                self._checkpoint.put(self._key(k, recipe, widths, ridges), {"scores": scores})
        out = np.zeros((len(widths), len(ridges), *data.targets.shape))
        for k, (_, test) in enumerate(folds):
            out[:, :, test] += found[k]
        out[:, :, self._count == 0] = np.nan
        out /= np.maximum(self._count, 1)[:, None]
        return out


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
) -> tuple[Array, Features]:
    """Return the scores of a recipe on one fold, and the features that it learned there."""
    train, test = folds[k]
    part = TrainingPart(data.take(train), seed, device)
    part.keep(recipe, features)
    scores = part.scores(recipe, widths, ridges, data.table[test])
    return scores, part.features(recipe)


def _around(recipe: Any, raced: Sequence[Member]) -> tuple[list[float], list[float]]:
    """Return the widths and ridges to try on more rows: the best, and those that more rows need.

    These are a narrower kernel and a smaller ridge.
    """
    widths, ridges = sorted(recipe.widths), sorted(recipe.ridges)
    wide = {widths.index(member.width) for member in raced}
    small = {ridges.index(member.ridge) for member in raced}
    wide.add(min(widths.index(raced[0].width) + 1, len(widths) - 1))
    small.add(max(ridges.index(raced[0].ridge) - 1, 0))
    return [widths[k] for k in sorted(wide)], [ridges[k] for k in sorted(small)]


def _beyond(best: float, tried: Sequence[float]) -> list[float]:
    """Return what lies beyond the edge of the values tried, where the best one is at it."""
    beyond = ((min(tried), best / _STEP), (max(tried), best * _STEP))
    return [value for edge, value in beyond if edge == best]


def _rounded(losses: Array) -> Array:
    """Return losses without the digits that are rounding."""
    finite = losses[np.isfinite(losses)]
    scale = np.abs(finite).max(initial=0.0) or 1.0
    return np.where(np.isfinite(losses), (losses / scale).round(_DIGITS), np.inf)
