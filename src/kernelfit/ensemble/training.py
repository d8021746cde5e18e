"""Training of the chosen members on all rows: exactly, or on landmarks where there are too many."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kernelfit.ensemble.clock import Clock, Seconds
from kernelfit.ensemble.engine import Device, Host, choose_engine
from kernelfit.ensemble.features import Data, Features
from kernelfit.ensemble.members import Member
from kernelfit.ensemble.part import Machines, TrainingPart
from kernelfit.utils.jobs import run_in_order
from kernelfit.utils.threads import one_blas_thread, threads_for, threads_in_time

MANY_ROWS = 2500  # from here on members are trained one by one, and only so many:
_MANY_ROWS_MEMBERS = 6
_LANDMARKS = 2000
_FEWEST_LANDMARKS = 200
# Shares of a time limit allowed for the first machine of all rows: exact, and on landmarks.
_EXACT_SHARE, _LANDMARK_SHARE = 0.3, 0.07
_SOON = 0.5  # seconds allowed for an exact machine whatever the limit
_CAUTION = 1.4  # factor on the forecast of a machine that must end in time
_TAIL = 0.02  # share of the limit for the work after the training
_FOLD_ENTRIES = 1.25  # times the square of the rows of a fold: kernel values of its test rows, too
_FEWEST_MEMBERS = 3  # number of members that landmarks must leave time for


class Fit(NamedTuple):
    """Machine, its seconds, and its scores of rows left out."""

    machine: Any
    seconds: float
    left_out: Any


@dataclass(frozen=True)
class Trained:
    """Members trained on some rows.

    Attributes
    ----------
    machines : Machines
    chosen : list of int
        Places of the trained members; there may not have been time for all, or for any.
    seconds : list of float
        Seconds of each.
    n_landmarks : int or None
        Points that span them; None for all rows.
    left_out : list of LeftOut or None
        Scores of each at rows left out, where these are known.
    """

    machines: Machines
    chosen: list[int]
    seconds: list[float]
    n_landmarks: int | None
    left_out: list[Any]


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


class Training:
    """Training on all rows: exact or on landmarks, with or without a limit of time.

    Under a limit one member is trained before the search goes on: the answer in hand. Its time
    serves to forecast that of the others.

    Parameters
    ----------
    data : Data
        All rows.
    seed : int
    n_jobs : int or None
        Number of members trained at a time on few rows; on many, of trees grown at a time.
    device : str or None
        Device of torch; the processor when None.
    compress : bool
        Whether to span machines by a quarter of the rows.
    leave_out : bool
        Whether machines may be calibrated on rows left out one by one: not where folds have a
        meaning.
    clock : Clock or None
        None for no limit.

    Attributes
    ----------
    n_landmarks : int or None
        Points that span the machines; None for all rows.
    most : int or None
        Largest number of members; None for any number.
    standby : Member or None
        Member of the answer in hand.
    standby_seconds : float
        Its seconds.
    expected : dict of Member to (float, float)
        Forecast seconds of the features and the machine of a member, under a limit.
    """

    def __init__(
        self,
        data: Data,
        *,
        seed: int,
        n_jobs: int | None = None,
        device: str | None = None,
        compress: bool = False,
        leave_out: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.data, self.clock = data, clock
        self._seed, self._n_jobs, self.device = seed, n_jobs, device
        self._compress, self._leave_out = compress, leave_out
        n, engine = len(data.weight), choose_engine(device)
        self.n_landmarks = self._unhurried = n_landmarks(n, np.inf, engine)
        if clock is not None:
            exact = n_landmarks(n, max(_EXACT_SHARE * clock.limit, _SOON), engine) is None
            seconds = np.inf if exact else _LANDMARK_SHARE * clock.limit
            self.n_landmarks = n_landmarks(n, seconds, engine)
        self.most = None if n <= MANY_ROWS else _MANY_ROWS_MEMBERS
        self.standby: Member | None = None
        self.standby_seconds = 0.0
        self._standby_fit: Any = None
        self._standby_span: int | None = None
        self.expected: dict[Member, tuple[float, float]] = {}

    def work(self, fold: Seconds, n_fold: float) -> float:
        """Return the work of a machine of all rows, from that of a fold of some rows.

        Kernel values grow with the entries of the matrix, and those of the rows are computed
        twice; a factorisation grows with its operations.
        """
        n = len(self.data.weight)
        m = self._span(n)
        entries, operations = 2.0 * n * (m or n), n**3 / 3.0 if m is None else 2.0 * n * m * m
        matrix = fold.matrix * entries / (_FOLD_ENTRIES * n_fold**2)
        return matrix + fold.solve * operations / (n_fold**3 / 3.0)

    def begin(self, member: Member) -> None:
        """Train the answer in hand."""
        part = self._part(self.data)
        with one_blas_thread():
            part.features(member.recipe)  # apart: others may take theirs from elsewhere
        with threads_in_time(len(self.data.weight)):
            self._standby_fit = _timed(part, member, self._leave_out)
        self.standby_seconds = self._standby_fit.seconds
        self.standby, self._standby_span = member, self._span(len(self.data.weight))

    def _span(self, n: int) -> int | None:
        """Return how many points span machines of some rows."""
        m = self.n_landmarks
        if self._compress and n >= _FEWEST_LANDMARKS:
            return min(n // 4, n if m is None else m)
        return m

    def _part(self, data: Data) -> TrainingPart:
        n = len(data.weight)
        n_jobs = self._n_jobs if n > MANY_ROWS else None
        return TrainingPart(data, self._seed, self.device, n_jobs, self._span(n))

    def train(
        self,
        members: Sequence[Member],
        weights: Any,
        *,
        rows: Any = None,
        learned: Sequence[tuple[Any, Features]] = (),
        until: float | None = None,
        share: float = 1.0,
    ) -> Trained:
        """Train members, the largest weights first; short of time, the largest weights per second.

        Parameters
        ----------
        members : sequence of Member
        weights : ndarray of shape (n_members,)
        rows : ndarray of int, default=None
            Rows to train on; all when None.
        learned : sequence of (recipe, Features), default=()
            Features that are known already.
        until : float, default=None
            Seconds since the start of the clock at which to end; its limit when None.
        share : float, default=1.0
            Time of a machine of these rows, relative to one of all rows.

        Returns
        -------
        Trained
        """
        data = self.data if rows is None else self.data.take(rows)
        n = len(data.weight)
        part, m = self._part(data), self._span(n)
        order = np.argsort(-np.asarray(weights), kind="stable").tolist()
        if m is not None:  # only ridge machines are spanned by landmarks
            order = [k for k in order if members[k].recipe.loss != "hinge"] or order
        order = order[: self.most if rows is None else None]
        for recipe, features in learned:
            part.take_metric(recipe, features)
        end = np.inf if until is None else until
        if self.clock is not None:
            end = min(end, (1.0 - _TAIL) * self.clock.limit)
            seconds = np.array([self._seconds(members[k], part, share) for k in order])
            if _CAUTION * seconds.sum() > end - self.clock.spent:
                gain = np.asarray(weights)[order] / np.maximum(seconds, 1e-9)
                order = [order[place] for place in np.argsort(-gain, kind="stable")]
        with threads_for(n) if self.clock is None else threads_in_time(n):
            if self.clock is None and n <= MANY_ROWS:
                together = self._train_together(part, data, [members[k] for k in order], m)
                return _join(order, together, m)
            fits: dict[int, Fit] = {}
            pace = 1.0  # measured time of members, relative to the forecast
            for k in order:
                if rows is None and members[k] == self.standby and m == self._standby_span:
                    fits[k] = self._standby_fit
                    continue
                forecast = 0.0
                if self.clock is not None:
                    forecast = self._seconds(members[k], part, share)
                    if _CAUTION * pace * forecast > end - self.clock.spent:
                        continue
                fits[k] = _timed(part, members[k], self._leave_out and rows is None)
                pace = max(0.5 * pace, fits[k].seconds / max(forecast, 1e-9))
        return _join(list(fits), list(fits.values()), m)

    def _seconds(self, member: Member, part: TrainingPart, share: float) -> float:
        """Forecast the seconds of a member."""
        learning, machine = self.expected[member]
        return share * machine + (learning if part.knows(member.recipe) is None else 0.0)

    def _train_together(
        self, part: TrainingPart, data: Data, members: Sequence[Member], m: int | None
    ) -> list[Fit]:
        """Train several members at a time."""
        part.learn(members, self._n_jobs)
        jobs = [(member, part.knows(member.recipe), self._leave_out) for member in members]
        shared = (data, self._seed, self.device, m)
        found = run_in_order(_train_elsewhere, jobs, shared, n_jobs=self._n_jobs)
        pairs = zip(members, found, strict=True)
        return [fit._replace(machine=part.own(fit.machine, member)) for member, fit in pairs]

    def adjust_landmarks(self, n_members: int) -> None:
        """Take as many landmarks as leave time to train some of the members."""
        if self.clock is None or self.n_landmarks is None:
            return
        each = (self.clock.limit - self.clock.spent) / (_CAUTION * min(n_members, _FEWEST_MEMBERS))
        growth = np.sqrt(max(each, 0.0) / max(self.standby_seconds, 1e-9))
        most = min(self._unhurried or len(self.data.weight), _LANDMARKS)
        m = int(np.clip(max(growth, 0.5) * self.n_landmarks, _FEWEST_LANDMARKS, most))
        longer = (m / self.n_landmarks) ** 2
        self.expected = {one: (a, longer * b) for one, (a, b) in self.expected.items()}
        self.n_landmarks = m

    def with_standby(self, trained: Trained) -> Trained:
        """Return the trained members and the answer in hand."""
        m = trained.n_landmarks if trained.chosen else self._standby_span
        fit = self._standby_fit
        return Trained(
            Machines([*trained.machines.machines, fit.machine]), [*trained.chosen, -1],
            [*trained.seconds, fit.seconds], m, [*trained.left_out, fit.left_out],
        )  # fmt: skip

    def is_complete(self, trained: Trained, n_wanted: int) -> bool:
        """Return whether there was time for all members."""
        return len(trained.chosen) >= min(n_wanted, self.most or n_wanted)

    def left_out(self, trained: Trained, n_wanted: int) -> list[str]:
        """Return sentences that name the work left out for time."""
        if self.clock is None:
            return []
        n, m = len(self.data.weight), trained.n_landmarks
        n_wanted = min(n_wanted, self.most or n_wanted)
        n_trained = sum(place >= 0 for place in trained.chosen)  # without the answer in hand
        found = []
        if n_trained < n_wanted:
            found.append(f"{n_trained} of {n_wanted} members were trained")
        if m is not None and m != self._unhurried and not self._compress:
            found.append(f"machines are spanned by {m} of {n} rows")
        return found


def _join(chosen: list[int], fits: Sequence[Fit], n_landmarks: int | None) -> Trained:
    machines, seconds, left_out = ([one[j] for one in fits] for j in range(3))
    return Trained(Machines(machines), chosen, seconds, n_landmarks, left_out)


def _timed(part: TrainingPart, member: Member, leave_out: bool) -> Fit:
    began = time.perf_counter()
    machine = part.fit(member, leave_out)
    return Fit(machine, time.perf_counter() - began, part.left_out)


def _train_elsewhere(
    data: Data,
    seed: int,
    device: str | None,
    n_landmarks: int | None,
    member: Member,
    features: Features,
    leave_out: bool,
) -> Fit:
    part = TrainingPart(data, seed, device, n_landmarks=n_landmarks)
    part.keep(member.recipe, features)
    return _timed(part, member, leave_out)
