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

from kernelfit.ensemble.features import Features
from kernelfit.ensemble.members import Member
from kernelfit.ensemble.training import Training

Array = NDArray[Any]

REHEARSED = 12  # members at most: twice as many as are trained on all rows
OF_HALF = 0.35  # of the time of a machine of all rows, that one of half of the rows takes
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
    training: Training,
    order: Array,
    members: Sequence[Member],
    weights: Array,
    learned: Sequence[tuple[Any, Features]] = (),
) -> Rehearsal | None:
    """Train members on half of the rows and evaluate them on the other half.

    Parameters
    ----------
    training : Training
    order : ndarray of int
        All rows: those of the first half are trained on, among them all that have been used to
        choose members.
    members : sequence of Member
        The candidates.
    weights : ndarray of shape (n_members,)
        Those of the largest weights are trained.
    learned : sequence of (recipe, Features), default=()
        Metrics that are known already.

    Returns
    -------
    Rehearsal or None
        None where there is no time.
    """
    data, clock = training.data, training.clock
    half = len(order) // 2
    first, second = np.sort(order[:half]), np.sort(order[half:])
    best = np.argsort(-weights, kind="stable")[:REHEARSED]
    if clock is not None:
        expected = np.array([training.expected[members[k]] for k in best[:_FEWEST]])
        if not clock.allows(float(expected.sum(axis=0) @ [1.0, OF_HALF])):
            return None
    trained = training.train(
        [members[k] for k in best], weights[best], rows=first, share=OF_HALF, learned=learned,
        until=None if clock is None else clock.limit - clock.reserved,
    )  # fmt: skip
    if len(trained.chosen) < min(_FEWEST, len(best)):
        return None
    scores = trained.machines(data.table[second], training.device)
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
