"""The rounds of the dual solvers: improve a point, judge it by its certificate, go on or end.

One loop serves all problems, quadratic and quartic, in memory, on demand and on a device. What a
round does is up to the point (:class:`Point`); when the rounds end is decided here.
"""

import math
from typing import Any, Protocol

import numpy as np

from kernelfit.solvers.result import Callback, DualResult, Ending, FloatArray
from kernelfit.tasks.task import Certificate, Task

POLISH_ROUNDS = 3
MAX_POLISH_VARIABLES = 512
_AIM = 0.3  # part of the violation that is in proportion to the gap that suffices
_MAX_DOUBTS = 3  # after which steps are taken in higher precision


class Point(Protocol):
    """A feasible point of a dual problem with its gradient, as the rounds see it.

    Attributes
    ----------
    exact : bool
        Whether the gradient was computed from the point in one go, from exact rows.
    rounds_a_pass : int
        How many rounds take every variable about once.
    patience : int
        Rounds without progress after which rounding is taken to prevent it.
    """

    exact: bool
    rounds_a_pass: int
    patience: int

    def certificate(self) -> Certificate:
        """Return the certificate of the point."""

    def is_zero(self) -> bool:
        """Return whether all variables are 0."""

    def count_free(self) -> int:
        """Return the number of free variables."""

    def improve(self, wanted: float, polish: bool) -> bool:
        """Take the steps of a round; return whether anything changed.

        Parameters
        ----------
        wanted : float
            The reduction of the violation that would suffice.
        polish : bool
            Whether the tolerance is met, and the exact solution asked for.
        """

    def is_due(self, rounds: int) -> bool:
        """Return whether to take rounding errors out after so many rounds, whatever is found."""

    def refresh(self) -> None:
        """Take the rounding errors of many steps out of the point and its gradient."""

    def sharpen(self) -> bool:
        """Take steps in higher precision from now on; return whether that is a change."""

    def copy(self) -> Any:
        """Return a copy of the variables."""

    def go_to(self, copy: Any) -> None:
        """Return to a point that was copied, with an exact gradient."""

    def outcome(self, rounds: "Rounds") -> DualResult:
        """Return what the rounds have found."""


def run_rounds(
    point: Point,
    *,
    tol: float,
    max_iter: int,
    polish: bool = False,
    callback: Callback | None = None,
) -> DualResult:
    """Improve a point, in place, until its certificate meets the tolerance; see :class:`Rounds`."""
    rounds = Rounds(point, tol, max_iter, polish, callback)
    rounds.run()
    return point.outcome(rounds)


class Rounds:
    """The rounds from one point.

    Parameters
    ----------
    point : Point
        Which is changed in place.
    tol : float
        Relative duality gap.
    max_iter : int
        Largest number of passes: as many rounds as take every variable once.
    polish : bool
        Whether to go on for a few rounds towards the exact solution once the tolerance is met.
    callback : callable or None
        Called as ``callback(n_iter, objective, gap)`` at the end of every round.

    Attributes
    ----------
    found : Certificate
        Of the point.
    met : bool
        Whether it meets the tolerance.
    history : list of (float, float)
        Objective and gap after every round.
    """

    found: Certificate

    def __init__(
        self, point: Point, tol: float, max_iter: int, polish: bool, callback: Callback | None
    ) -> None:
        self.point, self.tol, self.callback = point, tol, callback
        self.max_rounds = max_iter * point.rounds_a_pass
        self.history: list[tuple[float, float]] = []
        self.met = False
        self._rounds, self._doubts, self._stalled = 0, 0, False
        self._to_polish = POLISH_ROUNDS if polish else 0
        self._least, self._best = math.inf, None

    def run(self) -> None:
        """Improve the point round by round until it meets the tolerance, or nothing helps."""
        while not self._look():
            self._improve()

    @property
    def ending(self) -> Ending:
        """Why the rounds ended."""
        if self.met:
            return "tolerance"
        used_up = self._rounds == self.max_rounds and not self._stalled
        return "max_iter" if used_up else "rounding"

    def _look(self) -> bool:
        """Judge the point and write down what was found; return whether the rounds end.

        What decides that is judged by an exact gradient, never by one that steps have updated.
        """
        point, was_met = self.point, self.met
        if point.is_due(self._rounds):
            point.refresh()
        ends = self._judge()
        if not point.exact and (ends or self.met > was_met):
            estimate = self.found.gap
            point.refresh()
            ends = self._judge()
            self._note_rounding(hidden=self.found.gap > 2.0 * estimate)
        if self._stalled and not self.met and self._least < self.found.gap:
            point.go_to(self._best)  # rounding has led from a good point to worse ones
            ends = self._judge()
        elif point.exact and self.found.gap < self._least:
            self._least, self._best = self.found.gap, point.copy()
        if self._rounds > 0 or ends:
            self.history.append((self.found.objective, self.found.gap))
            if self.callback is not None:
                self.callback(len(self.history), self.found.objective, self.found.gap)
        return ends

    def _note_rounding(self, hidden: bool) -> None:
        """Count how often rounding errors have hidden most of a gap; take better care in time."""
        self._doubts += hidden
        if self._doubts > _MAX_DOUBTS and self.point.sharpen():
            self._doubts = 0

    def _judge(self) -> bool:
        """Certify the point; return whether the rounds should end with it."""
        point = self.point
        self.found = found = point.certificate()
        self.met = found.meets(self.tol, point.is_zero())
        if self.met and (self._to_polish == 0 or point.count_free() > MAX_POLISH_VARIABLES):
            return True
        # Rounds do not mend a gap that is not a number: products of extreme numbers overflowed.
        hopeless = self._stalled or math.isnan(found.gap)
        return hopeless or found.gap <= found.resolution or self._rounds == self.max_rounds

    def _improve(self) -> None:
        """Take a round of steps, and notice where they no longer help."""
        found, met = self.found, self.met
        self._to_polish -= met
        wanted = 0.0 if met else _AIM * self.tol * abs(found.objective) / found.gap
        moved = self.point.improve(wanted, met)
        self._rounds += 1
        if not moved or stands_still(self.history, self.point.patience):
            self._stalled = not self.point.sharpen()

    def result(
        self, task: Task, x: FloatArray, decision: FloatArray, found: Certificate, convex: bool
    ) -> DualResult:
        """Return the result for a point on the host.

        Parameters
        ----------
        task : Task
        x, decision : ndarray of shape (n,)
            The point and its decision values.
        found : Certificate
            Theirs.
        convex : bool
            Whether no negative curvature was met.
        """
        # Where the entries of K are far above the linear term, their rounding makes K indefinite.
        curvature = float(x @ decision)
        if not curvature >= 0.0 and task.p.any():
            rounding = 2.0 * found.resolution + 1e-3 * float(np.abs(task.p) @ np.abs(x))
            convex = convex and curvature >= -rounding
        return DualResult(
            x=x,
            objective=found.objective,
            gap=found.gap if convex else np.nan,
            n_iter=len(self.history),
            converged=self.met,
            history=tuple(self.history),
            status="proved" if convex else "stationary",
            ending=self.ending,
            intercept=found.intercept,
            decision=decision,
        )


def stands_still(history: list[tuple[float, float]], patience: int) -> bool:
    """Return whether many rounds have changed nothing but rounding errors.

    With costs of very different size the objective may creep up for ever, far below the gap.

    Parameters
    ----------
    history : list of (float, float)
        Objective and gap after every round.
    patience : int
        How many rounds; a fifth of them where the gap is above the objective.

    Returns
    -------
    bool
    """
    if not history:
        return False
    objective, gap = history[-1]
    limits = [(patience, 1e-12 * abs(objective))]
    if gap > abs(objective):
        limits.append((patience // 5, 1e-9 * gap))
    for rounds, little in limits:
        if len(history) > rounds:
            before, gap_before = history[-rounds - 1]
            if objective - before <= little and gap >= 0.9 * gap_before:
                return True
    return False
