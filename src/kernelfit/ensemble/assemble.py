"""From rows and folds to an ensemble: search, combination, training on all rows.

All of it is a function of the training rows, so an honest estimate repeats it without a fold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.ensemble.clock import Clock
from kernelfit.ensemble.features import Data
from kernelfit.ensemble.fold_rows import Fold
from kernelfit.ensemble.folds import balanced_parts
from kernelfit.ensemble.members import Member
from kernelfit.ensemble.outcome import SMALL_WEIGHT, outcome_of
from kernelfit.ensemble.rehearsal import REHEARSED, rehearse
from kernelfit.ensemble.search import MAX_ROWS, Found, Search
from kernelfit.ensemble.timed_search import TimedSearch
from kernelfit.ensemble.training import Trained, Training
from kernelfit.utils.checkpoint import Checkpoint
from kernelfit.utils.threads import one_blas_thread

Array = NDArray[Any]

_SMALL_COMPRESSED = 0.05  # smaller weights do not pay for the time of a compressed prediction
_OVERFLOW = "expected data of moderate size, got overflow in the training of all members"
_PART_ROWS = 100  # of a part that is balanced in the target
_ENOUGH = 3  # members with weights from machines of half of the rows do without the answer in hand
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
    n_trained : int
        How many rows members were trained on.
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
        Of these, with the weights of machines of all rows.
    calibrated : MeanCombination or ProbabilityCombination
        The same, calibrated for machines of all rows.
    weighed : ndarray of int
        The rows that the weights of the latter come from.
    weighed_scores : ndarray of shape (n_members, len(weighed), k)
        What the members say of these, not trained on them.
    trained : Trained
        These, trained on all rows.
    rehearsed : bool
        Whether the weights come from machines of half of the rows.
    cut_short : list of str
        What a limit of time left out, in words.
    device : str, default=None
        Where predictions are computed.
    """

    sample: Data
    rows: Array
    folds: list[Fold]
    tested: Array
    n_trained: int
    recipes: list[Any]
    found: list[Found]
    scores: Array
    alone: Any
    keep: Array
    fold_combination: Any
    combination: Any
    calibrated: Any
    weighed: Array
    weighed_scores: Array
    trained: Trained
    rehearsed: bool
    cut_short: list[str]
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
    def stands_in(self) -> bool:
        """Whether there was no time for any member but the answer in hand."""
        return self.trained.chosen == [-1]

    @property
    def how(self) -> str:
        """How the members were trained and mixed, in words."""
        n, m = self.n_trained, self.trained.n_landmarks
        how = f"exact on {n} rows" if m is None else f"{m} landmarks of {n} rows"
        if not self.rehearsed:
            return how
        half = len(self.weighed)
        return f"{how}, with weights learned on {half} rows from machines of the rest"

    def __call__(self, table: Array) -> Array:
        """Return predictions of shape (n,), or probabilities of shape (n, n_classes)."""
        return np.asarray(self.calibrated(self.trained.machines(table, self.device)))


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
        No limit of time when None.
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
    n = len(data.weight)
    order = _balanced_order(data, seed)
    rows, folds, first = _search_rows(folds, order)
    sample = data.take(rows)
    rehearses = exchangeable and n >= _REHEARSED * MAX_ROWS
    how: Any = {"seed": seed, "n_jobs": n_jobs, "device": device}
    training = Training(data, compress=compress, leave_out=exchangeable, clock=clock, **how)
    how |= {"report": report, "checkpoint": checkpoint}
    if clock is None:
        search = Search(sample, folds, first, **how)
    else:
        how |= {"training": training, "n_rehearsed": REHEARSED if rehearses else 0}
        search = TimedSearch(sample, folds, first, **how)
    found = search.run(recipes)
    members = [member for one in found for member in one.members]
    scores = np.concatenate([one.scores[one.chosen] for one in found])
    if not len(scores):
        raise ValueError(_OVERFLOW)
    tested = search.tested
    folded = Evidence(
        outcome_of(sample.take(tested)), rows[tested], np.arange(len(members)), scores[:, tested]
    )
    alone = folded.combine(single)
    evidence, weights = folded, alone.stack.weights
    learned, rehearsal = search.metrics(members), None
    if rehearses:
        rehearsal = rehearse(training, order, members, weights, learned)
    if rehearsal is not None:
        outcome = outcome_of(data.take(rehearsal.rows))
        evidence = Evidence(outcome, rehearsal.rows, rehearsal.chosen, rehearsal.scores)
        weights = evidence.combine(single).stack.weights
    used = np.flatnonzero(weights >= (_SMALL_COMPRESSED if compress else SMALL_WEIGHT))
    if not len(used):
        used = np.argsort(-weights, kind="stable")[:5]
    learned = learned if rehearsal is None else rehearsal.metrics
    evidence, trained = _train(
        training, members, evidence.take(used), weights[used], learned, folded, single
    )
    keep = evidence.members
    fold_combination = combination = folded.take(keep).combine(single)
    if evidence.outcome is not folded.outcome:  # rehearsed
        combination = evidence.combine(single)
    with one_blas_thread():
        calibrated = combination.recalibrated(trained.left_out, data.labels, data.weight)
    cut_short = [*search.left_out(recipes), *training.left_out(trained, len(used))]
    if rehearses and rehearsal is None:
        cut_short.append(f"weights come from machines of {len(tested)} rows instead of {n // 2}")
    return Ensemble(
        sample, rows, search.folds, tested, n, search.considered, found, scores, alone, keep,
        fold_combination, combination, calibrated, evidence.rows, evidence.scores, trained,
        combination is not fold_combination, cut_short, device,
    )  # fmt: skip


def _train(
    training: Training,
    members: Sequence[Member],
    evidence: "Evidence",
    weights: Array,
    learned: Any,
    folded: "Evidence",
    single: bool,
) -> tuple["Evidence", Trained]:
    """Train members on all rows; return the evidence on those that were trained, and them.

    Where there was no time for some, the answer in hand is used as well: no choice of few members
    can be worse than it.
    """
    training.adjust_landmarks(len(weights))
    trained = training.train([members[k] for k in evidence.members], weights, learned=learned)
    n_trained = len(trained.chosen)
    used = evidence.take(np.array(trained.chosen, dtype=np.intp))
    if training.standby is None or training.is_complete(trained, len(weights)):
        return used, trained
    if training.standby not in members:  # no finite scores on more rows
        if n_trained:
            return used, trained
        raise ValueError(_OVERFLOW)
    place = members.index(training.standby)
    rehearsed = evidence.outcome is not folded.outcome
    enough = n_trained >= (_ENOUGH if rehearsed else 1 if single else np.inf)
    if enough or place in used.members:
        return used, trained
    return folded.take(np.append(used.members, place)), training.with_standby(trained)


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
        with one_blas_thread():
            return self.outcome.combine(self.scores, np.arange(len(self.rows)), single)


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
