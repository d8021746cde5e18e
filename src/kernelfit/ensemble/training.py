"""Training of the chosen members on all rows: exactly, or on landmarks where there are too many."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf

from kernelfit.ensemble.features import Data, Features
from kernelfit.ensemble.members import Member
from kernelfit.ensemble.part import Machines, TrainingPart
from kernelfit.ensemble.search import Clock
from kernelfit.utils.jobs import run_in_order
from kernelfit.utils.threads import threads_for

_MAX_MATRIX_BYTES = 2**30  # of a kernel matrix; one is held at a time
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


def forecast_seconds(operations: float) -> float:
    """Return how long so many operations of a Cholesky factorisation take here, about."""
    return operations / _speed()


@cache
def _speed() -> float:
    """Measure operations a second."""
    n, best = 500, 0.0
    for _ in range(3):
        A = np.asfortranarray(np.eye(n))
        began = time.perf_counter()
        dpotrf(A, lower=1, overwrite_a=1)
        best = max(best, n**3 / 3.0 / (time.perf_counter() - began))
    return best


def n_landmarks(n: int, seconds: float) -> int | None:
    """Return how many points may span a machine that trains in this time; None for all."""
    # The kernel matrix costs as much again as its factorisation where n is small.
    if 8 * n * n <= _MAX_MATRIX_BYTES and 2.0 * forecast_seconds(n**3 / 3.0) <= seconds:
        return None
    # n m^2 operations, of half the speed, and kernel values twice.
    affordable = np.sqrt(max(seconds, 0.0) / (4.0 * forecast_seconds(n)))
    m = int(np.clip(affordable, _FEWEST_LANDMARKS, _LANDMARKS))
    return m if m < n else None


def training_seconds(n: int) -> float:
    """Forecast the seconds that a member takes on all rows, where there is no hurry."""
    m = n_landmarks(n, np.inf)
    return 2.0 * forecast_seconds(n**3 / 3.0) if m is None else 4.0 * forecast_seconds(n * m * m)


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
        Members trained at a time, where the rows are few.
    clock : Clock
    compress : bool, default=False
        Whether a quarter of the points is to span the machines.

    Returns
    -------
    Trained
    """
    part, n = TrainingPart(data, seed), len(data.weight)
    order = np.argsort(-np.asarray(weights), kind="stable").tolist()
    if n > _MANY_ROWS:
        order = order[:_MANY_ROWS_MEMBERS]
    left = clock.limit - clock.spent
    m = n_landmarks(n, left / min(len(order), 2))
    if compress and n >= _FEWEST_LANDMARKS:
        m = min(n // 4, n if m is None else m)
    if m is not None:  # only ridge machines are spanned by landmarks
        order = [k for k in order if members[k].recipe.loss != "hinge"] or order
    how = f"exact on {n} rows" if m is None else f"{m} landmarks of {n} rows"
    chosen, seconds, machines = [], [], []
    with threads_for(n):
        if np.isinf(left) and n <= _MANY_ROWS:
            part.learn([members[k] for k in order], n_jobs)
            jobs = [(members[k], m, part.knows(members[k].recipe)) for k in order]
            found = run_in_order(_train_elsewhere, jobs, (data, seed), n_jobs=n_jobs)
            for k, (machine, taken) in zip(order, found, strict=True):
                machines.append(part.own(machine, members[k]))
                seconds.append(taken)
            return Trained(Machines(machines), order, seconds, how)
        for k in order:
            if machines and clock.limit - clock.spent < max(expected[k], seconds[-1]):
                continue
            machine, taken = _timed(part, members[k], m)
            machines.append(machine)
            seconds.append(taken)
            chosen.append(k)
    return Trained(Machines(machines), chosen, seconds, how)


def _timed(part: TrainingPart, member: Member, m: int | None) -> tuple[Any, float]:
    began = time.perf_counter()
    machine = part.fit(member, m)
    return machine, time.perf_counter() - began


def _train_elsewhere(
    data: Data, seed: int, member: Member, m: int | None, features: Features
) -> tuple[Any, float]:
    part = TrainingPart(data, seed)
    part.keep(member.recipe, features)
    return _timed(part, member, m)
