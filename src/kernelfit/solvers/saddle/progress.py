"""Pairs of dual solutions and kernels, their certificates, and the rule by which a solver stops."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelfit.solvers.dual.rounds import MAX_POLISH_VARIABLES
from kernelfit.solvers.result import Callback, CertifiedResult, Ending, FloatArray, Status

Array = npt.NDArray[Any]

_POLISH_ROUNDS = 8
_ROUNDOFF = 4.0 * float(np.finfo(np.float64).eps)
# Rounding limits a gap below this fraction of the objective, or this multiple of its resolution,
# where this many steps do not reduce it by this fraction. A larger gap may rest for as long and
# fall again: APD does not descend steadily.
_STALL_GAP, _STALL_ROUNDING, _STALL_STEPS, _STALL_PROGRESS = 1e-6, 100.0, 50, 0.01
# A gap above the objective proves nothing. It is given up where so many steps change neither it nor
# the objective, of which by this fraction.
_HOPELESS_STEPS, _HOPELESS_RISE = 100, 1e-6
# Where the gap is this multiple of the objective, rounding of the kernel hides it: fewer steps do.
_HIDDEN, _HIDDEN_STEPS = 1.0 / float(np.finfo(np.float64).eps), 25


@dataclass(frozen=True)
class Pair:
    """What a solver yields: dual solutions, the response to them and a theta."""

    beta: Array
    theta: Any
    response: Any


@dataclass(frozen=True)
class Assessment(Pair):
    """A pair with its certificate.

    Attributes
    ----------
    lower, gap : float
        The optimum lies between lower and upper = lower + gap.
    intercept : ndarray of shape (n_tasks,)
    resolution : float
        Rounding error of the gap at the least.
    """

    lower: float
    gap: float
    intercept: FloatArray
    resolution: float

    @property
    def upper(self) -> float:
        """The upper bound."""
        return self.lower + self.gap


@dataclass(frozen=True)
class SaddleResult(CertifiedResult):
    """Outcome of :func:`kernelfit.solvers.saddle.problem.solve_saddle`.

    `x` holds the dual solutions, of shape (n_tasks, m); `objective` is the lower bound and
    ``objective + gap`` the upper bound on the optimum. The upper bound is the primal value at `x`
    with the kernel of `theta`, the lower bound that of `witness`.

    Attributes
    ----------
    theta : object
        The learned parameter of the family.
    response : Response
        To `x`.
    intercept : ndarray of shape (n_tasks,)
    witness : ndarray of shape (n_tasks, m)
        The dual solutions with the best lower bound; `x` itself where one pair has both bounds.
    """

    theta: Any
    response: Any
    intercept: FloatArray
    witness: FloatArray


class Progress:
    """The best bounds so far, the history and the stopping rule.

    Parameters
    ----------
    tol : float
        Relative gap to stop at.
    polish : bool, default=False
        Whether to go on for a few steps after that, as long as each at least halves the gap.
    callback : callable, default=None
        Called as ``callback(n_iter, objective, gap)`` for every assessment.

    Attributes
    ----------
    latest : Assessment
        Of the last pair.
    history : list of (float, float)
        The best lower bound and the gap after every step.
    ending : {"rounding", "cycle", "max_iter"}
        Why the solver ends short of the tolerance. A solver may set it before it returns.
    """

    latest: Assessment
    # The pairs with the least upper bound, the largest lower bound and the least gap of their own.
    _lowest: Assessment
    _highest: Assessment
    _tightest: Assessment

    def __init__(self, tol: float, polish: bool = False, callback: Callback | None = None) -> None:
        self.tol, self._polish, self._callback = tol, polish, callback
        self.history: list[tuple[float, float]] = []
        self.ending: Ending = "rounding"
        self._met_at = 0  # the number of the step that met the tolerance
        self._may_polish = False

    def add(self, new: Assessment, n_free: int = 0) -> None:
        """Note an assessment; `n_free` is the number of free variables."""
        first = not self.history
        self.latest = new
        if first or new.upper < self._lowest.upper:
            self._lowest = new
        if first or new.lower > self._highest.lower:
            self._highest = new
        if first or new.gap < self._tightest.gap:
            self._tightest = new
        self.history.append((self.lower, self.gap))
        if self.converged and not self._met_at:
            self._met_at = len(self.history)
        since = len(self.history) - self._met_at if self._met_at else 0
        halved = since == 0 or self.gap <= 0.5 * self.history[-2][1]
        few = n_free <= MAX_POLISH_VARIABLES
        self._may_polish = self._polish and few and halved and since < _POLISH_ROUNDS
        if self._callback is not None:
            self._callback(len(self.history), self.lower, self.gap)

    @property
    def _apart(self) -> float:
        """The difference of the best bounds, which may be those of two pairs."""
        rounding = _ROUNDOFF * (abs(self._lowest.upper) + abs(self._highest.lower))
        return max(self._lowest.upper - self._highest.lower, rounding)

    @property
    def _alone(self) -> bool:
        """Whether a single pair proves enough, or as much as two."""
        single = self._tightest
        return single.gap <= max(self._apart, self.tol * abs(single.lower))

    @property
    def best(self) -> Assessment:
        """The pair of the upper bound."""
        return self._tightest if self._alone else self._lowest

    @property
    def lower(self) -> float:
        """The lower bound."""
        return (self._tightest if self._alone else self._highest).lower

    @property
    def gap(self) -> float:
        """The difference of the bounds, free of cancellation where they are those of one pair."""
        return self._tightest.gap if self._alone else self._apart

    @property
    def converged(self) -> bool:
        """Whether the gap is at most the tolerance times the objective; at 0, within rounding."""
        at_zero = self.gap <= self.best.resolution and not self.best.beta.any()
        return self.gap <= self.tol * abs(self.lower) or at_zero

    @property
    def stalled(self) -> bool:
        """Whether rounding prevents more."""
        if self.gap <= self.best.resolution:
            return True
        size = abs(self.lower)
        if self.gap <= max(_STALL_GAP * size, _STALL_ROUNDING * self.best.resolution):
            return self._rests(_STALL_STEPS, np.inf)
        steps = _HIDDEN_STEPS if self.gap > _HIDDEN * size > 0.0 else _HOPELESS_STEPS
        return self.gap > size and self._rests(steps, _HOPELESS_RISE * size)

    def _rests(self, steps: int, rise: float) -> bool:
        """Return whether so many steps neither reduced the gap nor raised the objective by more."""
        if len(self.history) <= steps:
            return False
        lower, gap = self.history[-1 - steps]
        return self.gap > (1.0 - _STALL_PROGRESS) * gap and self.lower - lower <= rise

    @property
    def finished(self) -> bool:
        """Whether the tolerance is met, and polished, or rounding prevents more."""
        return self.stalled or (self.converged and not self._may_polish)

    @property
    def relative_gap(self) -> float:
        """The gap as a fraction of the upper bound, at most 1."""
        upper = self.best.upper
        return min(self.gap / upper, 1.0) if upper > 0.0 else 1.0

    @property
    def machine_tol(self) -> float:
        """The relative gap that a machine should be trained to."""
        if not self.history:
            return min(1e-3, 0.1 * self.tol)
        return min(1e-3, max(0.1 * self.relative_gap, 0.01 * self.tol))

    @property
    def model_tol(self) -> float:
        """The relative gap that the solution of a local model should have."""
        return min(1e-3, max(0.01 * self.relative_gap, 1e-11))

    def result(self, status: Status) -> SaddleResult:
        """Return the outcome."""
        best = self.best
        return SaddleResult(
            x=best.beta,
            objective=self.lower,
            gap=self.gap if status == "proved" else np.nan,
            n_iter=len(self.history),
            converged=self.converged,
            history=tuple(self.history),
            status=status,
            ending="tolerance" if self.converged else self.ending,
            theta=best.theta,
            response=best.response,
            intercept=best.intercept,
            witness=(best if self._alone else self._highest).beta,
        )
