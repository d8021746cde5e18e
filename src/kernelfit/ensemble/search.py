"""The search for members: out-of-fold scores of recipes, without a limit of time.

A recipe whose members are many and quick is first tried in all widths and ridges on few rows (the
race), then on many rows around what did best there; one that fell far behind is not.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.ensemble.clock import Seconds
from kernelfit.ensemble.features import Data, Features
from kernelfit.ensemble.fold_rows import Fold, FoldRows
from kernelfit.ensemble.members import Member
from kernelfit.ensemble.outcome import log_losses, squared_losses
from kernelfit.utils.checkpoint import Checkpoint
from kernelfit.utils.jit import compiling_seconds
from kernelfit.utils.jobs import n_threads
from kernelfit.utils.threads import one_blas_thread

Array = NDArray[Any]
Allows = Callable[[float], bool] | None

RACE_ROWS = 400
MAX_ROWS = 2500  # that members are compared on
HOPELESS = 2.0  # a loss in the race that is so many times the least
_KEPT = 2  # members of a recipe that go into the stack
_STEP = 8.0  # to what lies beyond the edge of a grid
_EXTENSIONS = 3  # of a grid whose best member lies at its edge
_DIGITS = 7  # of a loss that count when members are ranked: the others are rounding


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
        That all of it took.
    fold : Seconds
        What a fold takes.
    overlap : float
        Seconds that all of it took, relative to the sum over the folds: less than one where
        folds are worked on at the same time.
    """

    tried: tuple[Member, ...]
    scores: Array
    chosen: Array
    losses: Array
    seconds: float
    fold: Seconds
    overlap: float

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
    with one_blas_thread():
        if data.labels is None:
            losses = squared_losses(scores[:, rows], data.targets[rows], data.weight[rows])
        else:
            losses = log_losses(scores[:, rows], data.labels[rows], data.weight[rows])
    order = np.argsort(_rounded(losses), kind="stable")[:_KEPT]
    order = order[np.isfinite(losses[order])]
    return order, losses[order]


class Search:
    """The search for members, without a limit of time.

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
    report : callable
        ``report(done, total, what, found)`` after every unit of work.
    checkpoint : Checkpoint, default=None
        Where the scores of a recipe on a fold are kept.
    device : str, default=None
        Where to compute; the processor when None.

    Attributes
    ----------
    considered : list
        The recipes that were tried.
    """

    def __init__(
        self,
        data: Data,
        folds: Sequence[Fold],
        order: Array,
        *,
        seed: int,
        n_jobs: int | None,
        report: Callable[..., None],
        checkpoint: Checkpoint | None = None,
        device: str | None = None,
    ) -> None:
        self._options: Any = {
            "seed": seed, "n_jobs": n_jobs, "checkpoint": checkpoint, "device": device
        }  # fmt: skip
        self._data, self._folds, self._order, self._report = data, folds, order, report
        self._few = self._many = self._rows(RACE_ROWS)
        self.considered: list[Any] = []

    @property
    def tested(self) -> Array:
        """The rows that members were compared on in the end."""
        return self._many.tested

    @property
    def folds(self) -> list[Fold]:
        """The folds of these rows."""
        return self._many.folds

    def _rows(self, size: int) -> FoldRows:
        """Return the folds of the first rows."""
        rows = self._order[:size] if size < len(self._order) else None
        return FoldRows(self._data, self._folds, rows, **self._options)

    def run(self, recipes: Sequence[Any]) -> list[Found]:
        """Return what was found of every recipe that is not hopeless."""
        if len(self._order) > RACE_ROWS:
            self._many = self._rows(MAX_ROWS)
        found: list[Found] = []
        lead = np.inf
        for number, recipe in enumerate(recipes):
            self.considered.append(recipe)
            widths, ridges = recipe.widths, recipe.ridges
            if self._many is not self._few and (recipe.races or not found):
                raced = self._try(self._few, recipe, widths, ridges)
                if not len(raced.chosen):
                    continue
                lead = min(lead, raced.losses[0])
                if raced.losses[0] > HOPELESS * lead:
                    continue
                widths, ridges = around(recipe, raced.members)
            found.append(self._settle(self._many, recipe, widths, ridges))
            self._report(number + 1, len(recipes), recipe.name, found)
        return found

    def metrics(self, members: Sequence[Member]) -> list[tuple[Any, Features]]:
        """Return metrics for machines of all rows: without a limit these learn their own."""
        return []

    def left_out(self, recipes: Sequence[Any]) -> list[str]:
        """Return sentences that name the work left out for time: none without a limit."""
        return []

    def _settle(
        self,
        rows: FoldRows,
        recipe: Any,
        widths: Sequence[float],
        ridges: Sequence[float],
        allows: Allows = None,
    ) -> Found:
        """Try members, and beyond the edge of their grid while the best one lies there."""
        found = self._try(rows, recipe, widths, ridges, allows)
        for _ in range(_EXTENSIONS if recipe.extends else 0):
            best = found.members[0]
            wider = _beyond(best.width, [member.width for member in found.tried])
            same = [member.ridge for member in found.tried if member.width == best.width]
            lower = _beyond(best.ridge, same)
            grid = (wider, ridges) if wider else ([best.width], lower)
            forecast = len(rows.folds) * found.fold.of(len(grid[0]), len(grid[1]), learned=0.0)
            if not (wider or lower) or (allows and not allows(forecast)):
                break
            found = self._join(rows, found, self._try(rows, recipe, *grid))
        return found

    def _join(self, rows: FoldRows, first: Found, second: Found) -> Found:
        """Return what two searches of one recipe found."""
        scores = np.concatenate([first.scores, second.scores])
        chosen, losses = choose(scores, self._data, rows.tested)
        tried, seconds = first.tried + second.tried, first.seconds + second.seconds
        return Found(tried, scores, chosen, losses, seconds, first.fold, first.overlap)

    def _try(
        self,
        rows: FoldRows,
        recipe: Any,
        widths: Sequence[float],
        ridges: Sequence[float],
        allows: Allows = None,
    ) -> Found:
        """Try the members of a grid; `OutOfTime` where `allows` says so between folds."""
        began = time.perf_counter() - compiling_seconds()
        scores, fold = rows.scores(recipe, widths, ridges, allows)
        tried = tuple(Member(recipe, width, ridge) for width in widths for ridge in ridges)
        scores = scores.reshape(len(tried), *scores.shape[2:])
        chosen, losses = choose(scores, self._data, rows.tested)
        # Functions are compiled once: forecasts must not take it for the pace of the search.
        seconds = time.perf_counter() - compiling_seconds() - began
        in_jobs = len(rows.folds) * fold.of(len(widths), len(ridges))
        # Folds from a checkpoint take no time, those of other threads share it.
        overlap = max(seconds / max(in_jobs, 1e-9), 1.0 / n_threads(self._options["n_jobs"]))
        return Found(tried, scores, chosen, losses, seconds, fold, overlap)


def around(recipe: Any, raced: Sequence[Member]) -> tuple[list[float], list[float]]:
    """Return the widths and ridges to try on more rows: the best, and those that more rows need.

    These are a narrower kernel and a smaller ridge.

    Parameters
    ----------
    recipe : Recipe or EstimatorRecipe
    raced : sequence of Member
        The best members on fewer rows, the very best first.

    Returns
    -------
    widths, ridges : list of float
    """
    widths = sorted({*recipe.widths, *(member.width for member in raced)})
    ridges = sorted({*recipe.ridges, *(member.ridge for member in raced)})
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
