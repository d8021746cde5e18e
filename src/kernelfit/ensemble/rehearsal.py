"""What the best members say of half of a large table when they are trained on the other half.

Members are compared on few rows of a large table. Machines of all rows are better than those of few
rows, and some gain more than others. So weights and probabilities that fit machines of few rows do
not fit machines of all rows; those of half of the rows are closer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelfit.ensemble.features import Data, Features
from kernelfit.ensemble.members import Member
from kernelfit.ensemble.search import Clock
from kernelfit.ensemble.training import train

Array = NDArray[Any]

_MEMBERS = 12  # at most: twice as many as are trained on all rows
_FEWEST = 3  # are no choice


@dataclass(frozen=True)
class Rehearsal:
    """What members say of rows that they were not trained on.

    Attributes
    ----------
    rows : ndarray of int
        These rows.
    chosen : ndarray of int
        Which of the members were trained.
    scores : ndarray of shape (n_chosen, n_rows, k)
    metrics : list of (recipe, Features)
        What was learned of distances. It comes from a few hundred rows, and differs with these: so
        machines of all rows take what the weights belong to.
    """

    rows: Array
    chosen: Array
    scores: Array
    metrics: list[tuple[Any, Features]]


def rehearse(
    data: Data,
    order: Array,
    members: Sequence[Member],
    weights: Array,
    expected: Array,
    *,
    clock: Clock,
    device: str | None = None,
    **options: Any,
) -> Rehearsal | None:
    """Train members on half of the rows and evaluate them on the other half.

    Parameters
    ----------
    data : Data
    order : ndarray of int
        All rows: those of the first half are trained on, among them all that have been used to
        choose members.
    members : sequence of Member
    weights : ndarray of shape (n_members,)
        Those of the largest weights are trained.
    expected : ndarray of shape (n_members,)
        Seconds that each may take on all rows.
    clock : Clock
    device : str, default=None
    **options
        As for `kernelfit.ensemble.training.train`.

    Returns
    -------
    Rehearsal or None
        None where there is no time.
    """
    half = len(order) // 2
    first, second = np.sort(order[:half]), np.sort(order[half:])
    best = np.argsort(-weights, kind="stable")[:_MEMBERS]
    if not clock.allows(0.5 * float(expected[best[:_FEWEST]].sum())):
        return None
    trained = train(
        data.take(first), [members[k] for k in best], weights[best], 0.5 * expected[best],
        most=_MEMBERS, until=clock.limit - clock.reserved, like=len(order), clock=clock,
        device=device, **options,
    )  # fmt: skip
    if len(trained.chosen) < min(_FEWEST, len(best)):
        return None
    scores = trained.machines(data.table[second], device)
    finite = np.isfinite(scores).all(axis=(1, 2))
    if not finite.any():
        return None
    chosen = best[trained.chosen]
    metrics = [
        (members[k].recipe, machine.features)
        for k, machine in zip(chosen, trained.machines.machines, strict=True)
        if machine.features.factor is not None
    ]
    return Rehearsal(second, chosen[finite], scores[finite], metrics)
