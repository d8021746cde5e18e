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
from kernelfit.ensemble.rehearsal import rehearse
from kernelfit.ensemble.search import MAX_ROWS, Clock, Fold, Found, Search
from kernelfit.ensemble.training import Trained, train, training_seconds
from kernelfit.utils.checkpoint import Checkpoint

Array = NDArray[Any]

_SMALL = 0.02  # weights below do not pay for the time of a prediction
_SMALL_COMPRESSED = 0.05
_PART_ROWS = 100  # of a part that is balanced in the target
_REHEARSED = 2  # times MAX_ROWS: from so many rows on, weights come from machines of half of them


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
    fold_combination : MeanCombination or ProbabilityCombination
        Of these, for machines of the folds.
    combination : MeanCombination or ProbabilityCombination
        Of these, for machines of all rows.
    weighed : ndarray of int
        The rows that the weights of the latter come from.
    weighed_scores : ndarray of shape (n_members, len(weighed), k)
        What the members say of these, not trained on them.
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
    fold_combination: Any
    combination: Any
    weighed: Array
    weighed_scores: Array
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

    @property
    def how(self) -> str:
        """How the members were trained and mixed, in words."""
        if self.combination is self.fold_combination:
            return self.trained.how
        half = len(self.weighed)
        return f"{self.trained.how}, with weights learned on {half} rows from machines of the rest"

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
    exchangeable: bool = False,
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
    exchangeable : bool, default=False
        Whether rows may be divided at will; not where the folds have a meaning.
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
    order = _balanced_order(data, seed)
    rows, folds, first = _search_rows(folds, order)
    sample = data.take(rows)
    search = Search(
        sample, folds, first, seed=seed, n_jobs=n_jobs, clock=clock, report=report,
        checkpoint=checkpoint, device=device,
    )  # fmt: skip
    found = search.run(recipes)
    members = [member for one in found for member in one.members]
    scores = np.concatenate([one.scores[one.chosen] for one in found])
    if not len(scores):
        raise ValueError(
            "expected data of moderate size, got overflow in the training of all members"
        )
    tested = search.tested
    folded = Evidence(
        _outcome(sample.take(tested)), rows[tested], np.arange(len(members)), scores[:, tested]
    )
    alone = folded.combine(single)
    # A fold tries several members, so this is more than one takes, features included.
    share = n / (len(search.folds) * len(tested))
    seconds = np.array([share * one.seconds for one in found for _ in one.members])
    options: Any = {
        "seed": seed, "n_jobs": n_jobs, "clock": clock, "compress": compress, "device": device
    }  # fmt: skip
    evidence, weights = folded, alone.stack.weights
    if exchangeable and n >= _REHEARSED * MAX_ROWS:
        rehearsal = rehearse(data, order, members, weights, seconds, **options)
        if rehearsal is not None:
            outcome = _outcome(data.take(rehearsal.rows))
            evidence = Evidence(outcome, rehearsal.rows, rehearsal.chosen, rehearsal.scores)
            weights = evidence.combine(single).stack.weights
            options["learned"] = rehearsal.metrics
    used = np.flatnonzero(weights >= (_SMALL_COMPRESSED if compress else _SMALL))
    if not len(used):
        used = np.argsort(-weights, kind="stable")[:5]
    keep = evidence.members[used]
    trained = train(data, [members[k] for k in keep], weights[used], seconds[keep], **options)
    keep = keep[trained.chosen]
    fold_combination = combination = folded.take(keep).combine(single)
    shown = evidence.take(used[trained.chosen])
    if evidence is not folded:
        combination = shown.combine(single)
    return Ensemble(
        sample, rows, search.folds, tested, search.considered, found, scores, alone, keep,
        fold_combination, combination, shown.rows, shown.scores, trained, device,
    )  # fmt: skip


@dataclass(frozen=True)
class Evidence:
    """What members say of rows that they were not trained on: weights come from it.

    Attributes
    ----------
    outcome : Regression or Classification
        Of these rows.
    rows : ndarray of int
        Which of all rows these are.
    members : ndarray of int
        Which of the candidates.
    scores : ndarray of shape (n_members, n_rows, k)
    """

    outcome: Any
    rows: Array
    members: Array
    scores: Array

    def take(self, which: Array) -> "Evidence":
        """Return the evidence on some of the members."""
        return Evidence(self.outcome, self.rows, self.members[which], self.scores[which])

    def combine(self, single: bool) -> Any:
        """Return the best combination of the members, or the best of them."""
        return self.outcome.combine(self.scores, np.arange(len(self.rows)), single)


def _outcome(data: Data) -> Any:
    """Return what is predicted."""
    if data.labels is None:
        return Regression(data.targets, data.weight)
    return Classification(data.labels, data.weight)


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


def _balanced_order(data: Data, seed: int) -> Array:
    """Return all rows in an order with balanced beginnings."""
    values = data.targets[:, 0] if data.labels is None else data.labels
    n_parts = -(-len(data.weight) // _PART_ROWS)
    part = balanced_parts(values, n_parts, data.labels is not None, np.random.default_rng(seed))
    return np.argsort(part, kind="stable")


def _search_rows(folds: Sequence[Fold], order: Array) -> tuple[Array, Sequence[Fold], Array]:
    """Return the rows to search on, their folds, and their order."""
    n = len(order)
    if n <= MAX_ROWS:
        return np.arange(n), folds, order
    rows = np.sort(order[:MAX_ROWS])
    place = np.full(n, -1)
    place[rows] = np.arange(len(rows))
    kept: list[Any] = [tuple(place[part][place[part] >= 0] for part in fold) for fold in folds]
    kept = [fold for fold in kept if all(len(part) for part in fold)]
    return rows, kept, place[order[:MAX_ROWS]]
