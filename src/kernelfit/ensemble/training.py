"""Training of the chosen members on all rows: exactly, or on landmarks where there are too many."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelfit.ensemble.engine import Device, Host, choose_engine
from kernelfit.ensemble.features import Data, Features
from kernelfit.ensemble.members import Member
from kernelfit.ensemble.part import Machines, TrainingPart
from kernelfit.ensemble.search import Clock
from kernelfit.utils.jobs import run_in_order
from kernelfit.utils.threads import threads_for

_MANY_ROWS = 2500  # from here on members are trained one by one, and only so many:
_MANY_ROWS_MEMBERS = 6
_LANDMARKS = 2000
_FEWEST_LANDMARKS = 200


@dataclass(frozen=True)
class Trained:
    """Members trained on all rows.

    Attributes
    ----------
    machines : Machines
    chosen : list of int
        Which of the members these are; there may not have been time for all.
    seconds : list of float
        What each took.
    how : str
        What was done, in words.
    """

    machines: Machines
    chosen: list[int]
    seconds: list[float]
    how: str


def n_landmarks(n: int, seconds: float, engine: Host | Device | None = None) -> int | None:
    """Return how many points may span a machine that trains in this time; None for all."""
    engine = engine or Host()
    # The kernel matrix costs as much again as its factorisation where n is small.
    if 2.0 * engine.seconds(n**3 / 3.0) <= seconds and engine.holds(n):
        return None
    # n m^2 operations on the processor, of half the speed, and kernel values twice.
    affordable = np.sqrt(max(seconds, 0.0) / (4.0 * Host().seconds(n)))
    m = int(np.clip(affordable, _FEWEST_LANDMARKS, _LANDMARKS))
    return m if m < n else None


def training_seconds(n: int, engine: Host | Device | None = None) -> float:
    """Forecast the seconds that a member takes on all rows, where there is no hurry."""
    engine = engine or Host()
    m = n_landmarks(n, np.inf, engine)
    return 2.0 * engine.seconds(n**3 / 3.0) if m is None else 4.0 * Host().seconds(n * m * m)


def train(
    data: Data,
    members: Sequence[Member],
    weights: Any,
    expected: Any,
    *,
    seed: int,
    n_jobs: int | None,
    clock: Clock,
    compress: bool = False,
    device: str | None = None,
    most: int = _MANY_ROWS_MEMBERS,
    until: float | None = None,
    like: int | None = None,
    learned: Sequence[tuple[Any, Features]] = (),
) -> Trained:
    """Train members on all rows, those of the largest weights first.

    Parameters
    ----------
    data : Data
    members : sequence of Member
    weights : ndarray of shape (n_members,)
    expected : ndarray of shape (n_members,)
        Seconds that each may take.
    seed : int
    n_jobs : int or None
        Members trained at a time, where the rows are few; else trees of a forest grown at a time.
    clock : Clock
    compress : bool, default=False
        Whether a quarter of the points is to span the machines.
    device : str, default=None
        Where to compute; the processor when None.
    most : int, default=6
        How many members to train where the rows are many.
    until : float, default=None
        Seconds since the start of the clock at which to end; its limit when None.
    like : int, default=None
        Have machines spanned by as many points as those of so many rows; of these rows when None.
    learned : sequence of (recipe, Features), default=()
        Features that are not to be learned again.

    Returns
    -------
    Trained
    """
    n = len(data.weight)
    until = clock.limit if until is None else until
    order = np.argsort(-np.asarray(weights), kind="stable").tolist()
    if n > _MANY_ROWS:
        order = order[:most]
    left, like = until - clock.spent, n if like is None else like
    m = n_landmarks(like, left / min(len(order), 2), choose_engine(device))
    if compress and n >= _FEWEST_LANDMARKS:
        m = min(n // 4, n if m is None else m)
    if m is not None:  # only ridge machines are spanned by landmarks
        order = [k for k in order if members[k].recipe.loss != "hinge"] or order
    part = TrainingPart(data, seed, device, n_jobs if n > _MANY_ROWS else None, m)
    for recipe, features in learned:
        part.keep(recipe, features)
    how = f"exact on {n} rows" if m is None else f"{m} landmarks of {n} rows"
    chosen, seconds, machines = [], [], []
    with threads_for(n):
        if np.isinf(left) and n <= _MANY_ROWS:
            part.learn([members[k] for k in order], n_jobs)
            jobs = [(members[k], part.knows(members[k].recipe)) for k in order]
            found = run_in_order(_train_elsewhere, jobs, (data, seed, device, m), n_jobs=n_jobs)
            for k, (machine, taken) in zip(order, found, strict=True):
                machines.append(part.own(machine, members[k]))
                seconds.append(taken)
            return Trained(Machines(machines), order, seconds, how)
        pace = 0.0  # how many times as long as expected members took, at most
        for k in _affordable_first(order, expected, left):
            if machines and until - clock.spent < max(pace * expected[k], min(seconds)):
                continue
            machine, taken = _timed(part, members[k])
            pace = max(pace, taken / max(expected[k], 1e-9))
            machines.append(machine)
            seconds.append(taken)
            chosen.append(k)
    return Trained(Machines(machines), chosen, seconds, how)


def _affordable_first(order: list[int], expected: Any, left: float) -> list[int]:
    """Return members with one at the head that there is time for, or that takes the least.

    The first one is trained in any case.
    """
    first = next((k for k in order if expected[k] <= left), min(order, key=lambda k: expected[k]))
    return [first, *(k for k in order if k != first)]


def _timed(part: TrainingPart, member: Member) -> tuple[Any, float]:
    began = time.perf_counter()
    machine = part.fit(member)
    return machine, time.perf_counter() - began


def _train_elsewhere(
    data: Data,
    seed: int,
    device: str | None,
    n_landmarks: int | None,
    member: Member,
    features: Features,
) -> tuple[Any, float]:
    part = TrainingPart(data, seed, device, n_landmarks=n_landmarks)
    part.keep(member.recipe, features)
    return _timed(part, member)
