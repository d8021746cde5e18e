"""From rows and folds to an ensemble: search, combination, training on all rows.

All of it is a function of the training rows, so an honest estimate repeats it without a fold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.ensemble.engine import choose_engine
from kernelfit.ensemble.features import Data
from kernelfit.ensemble.folds import balanced_parts
from kernelfit.ensemble.members import Member
from kernelfit.ensemble.outcome import Classification, Regression
from kernelfit.ensemble.search import MAX_ROWS, Clock, Fold, Found, Search
from kernelfit.ensemble.training import Trained, train, training_seconds
from kernelfit.utils.checkpoint import Checkpoint

Array = NDArray[Any]

_SMALL = 0.02  # weights below do not pay for the time of a prediction
_SMALL_COMPRESSED = 0.05
_PART_ROWS = 100  # of a part that is balanced in the target


@dataclass(frozen=True)
class Ensemble:
    """What was found and trained.

    Attributes
    ----------
    sample : Data
        The rows that were searched.
    rows : ndarray of int
        Which these are.
    folds : list of (train, test)
        Of these rows.
    tested : ndarray of int
        Those of them that some fold tests.
    recipes : list
        That there was time for.
    found : list of Found
        What the search found of those that are not hopeless.
    scores : ndarray of shape (n_candidates, n, k)
        Out of fold, of the best members of every recipe: the candidates.
    alone : MeanCombination or ProbabilityCombination
        Of all candidates.
    keep : ndarray of int
        The candidates in use.
    combination : MeanCombination or ProbabilityCombination
        Of these.
    trained : Trained
        These, trained on all rows.
    device : str, default=None
        Where predictions are computed.
    """

    sample: Data
    rows: Array
    folds: list[Fold]
    tested: Array
    recipes: list[Any]
    found: list[Found]
    scores: Array
    alone: Any
    keep: Array
    combination: Any
    trained: Trained
    device: str | None = None

    @property
    def candidates(self) -> list[Member]:
        """The best members of every recipe."""
        return [member for one in self.found for member in one.members]

    @property
    def members(self) -> list[Member]:
        """The members in use."""
        candidates = self.candidates
        return [candidates[k] for k in self.keep]

    def __call__(self, table: Array) -> Array:
        """Return predictions of shape (n,), or probabilities of shape (n, n_classes)."""
        return np.asarray(self.combination(self.trained.machines(table, self.device)))


def assemble(
    data: Data,
    folds: Sequence[Fold],
    recipes: Sequence[Any],
    *,
    seed: int,
    single: bool = False,
    compress: bool = False,
    n_jobs: int | None = None,
    clock: Clock | None = None,
    report: Callable[..., None] = lambda *_: None,
    checkpoint: Checkpoint | None = None,
    device: str | None = None,
) -> Ensemble:
    """Search members, mix them and train them on all rows.

    Parameters
    ----------
    data : Data
    folds : sequence of (train, test)
    recipes : sequence of Recipe and EstimatorRecipe
        In the order of work.
    seed : int
        Of all that is random.
    single : bool, default=False
        Whether to use the best member alone.
    compress : bool, default=False
        Whether to predict faster at some loss.
    n_jobs : int, default=None
        Folds, and members at the end, worked on at a time; the result does not depend on it.
    clock : Clock, default=None
        No limit when None.
    report : callable, default=None
        ``report(done, total, what, found)`` after every unit of work.
    checkpoint : Checkpoint, default=None
        Where the scores of a recipe on a fold are kept.
    device : str, default=None
        Where to compute; the processor when None.

    Returns
    -------
    Ensemble
    """
    n, clock = len(data.weight), clock or Clock()
    if np.isfinite(clock.limit):  # to combine and to train three members
        one = training_seconds(n, choose_engine(device))
        clock.reserved = min(0.2 * clock.limit + 3.0 * one, 0.5 * clock.limit)
    rows, folds, order = _search_rows(data, folds, seed)
    sample = data.take(rows)
    search = Search(
        sample, folds, order, seed=seed, n_jobs=n_jobs, clock=clock, report=report,
        checkpoint=checkpoint, device=device,
    )  # fmt: skip
    found = search.run(recipes)
    members = [member for one in found for member in one.members]
    scores = np.concatenate([one.scores[one.chosen] for one in found])
    outcome: Any = (
        Regression(sample.targets, sample.weight)
        if sample.labels is None
        else Classification(sample.labels, sample.weight)
    )
    if not len(scores):
        raise ValueError(
            "expected data of moderate size, got overflow in the training of all members"
        )
    alone = outcome.combine(scores, search.tested, single)
    keep = np.flatnonzero(alone.stack.weights >= (_SMALL_COMPRESSED if compress else _SMALL))
    if not len(keep):
        keep = np.argsort(-alone.stack.weights, kind="stable")[:5]
    # A fold tries several members, so this is more than one takes, features included.
    share = n / (len(search.folds) * len(search.tested))
    seconds = np.array([share * one.seconds for one in found for _ in one.members])
    trained = train(
        data, [members[k] for k in keep], alone.stack.weights[keep], seconds[keep],
        seed=seed, n_jobs=n_jobs, clock=clock, compress=compress, device=device,
    )  # fmt: skip
    keep = keep[trained.chosen]
    combination = outcome.combine(scores[keep], search.tested, single)
    return Ensemble(
        sample, rows, search.folds, search.tested, search.considered, found, scores, alone,
        keep, combination, trained, device,
    )  # fmt: skip


def leave_out(folds: Sequence[Fold], k: int) -> tuple[Array, list[Fold]]:
    """Return the training rows of a fold and the other folds among them, as places.

    Parameters
    ----------
    folds : sequence of (train, test)
    k : int

    Returns
    -------
    rows : ndarray of int
    folds : list of (train, test)
        Empty where the other folds leave nothing to train on: these are fewer than two then.
    """
    rows = np.setdiff1d(*folds[k])
    size = 1 + max(int(part.max()) for fold in folds for part in fold)
    place = np.full(size, -1)
    place[rows] = np.arange(len(rows))
    others = []
    for train_rows, test in (*folds[:k], *folds[k + 1 :]):
        fold = place[np.setdiff1d(train_rows, test)], place[test]
        fold = tuple(part[part >= 0] for part in fold)
        if all(len(part) for part in fold):
            others.append(fold)
    return rows, others


def balanced_folds(data: Data, n_folds: int, seed: int) -> list[Fold]:
    """Return folds that are balanced in the target."""
    values = data.targets[:, 0] if data.labels is None else data.labels
    rng = np.random.default_rng(seed)
    part = balanced_parts(values, n_folds, data.labels is not None, rng)
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(part.max() + 1)]


def _search_rows(
    data: Data, folds: Sequence[Fold], seed: int
) -> tuple[Array, Sequence[Fold], Array]:
    """Return the rows to search on, their folds, and an order with balanced beginnings."""
    n = len(data.weight)
    values = data.targets[:, 0] if data.labels is None else data.labels
    rng = np.random.default_rng(seed)
    part = balanced_parts(values, -(-n // _PART_ROWS), data.labels is not None, rng)
    order = np.argsort(part, kind="stable")
    if n <= MAX_ROWS:
        return np.arange(n), folds, order
    rows = np.sort(order[:MAX_ROWS])
    place = np.full(n, -1)
    place[rows] = np.arange(len(rows))
    kept: list[Any] = [tuple(place[part][place[part] >= 0] for part in fold) for fold in folds]
    kept = [fold for fold in kept if all(len(part) for part in fold)]
    return rows, kept, place[order[:MAX_ROWS]]
