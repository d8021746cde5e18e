"""What a solver returns."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Callback = Callable[[int, float, float], Any]
# What is known of a solution: its gap is a proof; it is a stationary point of a problem with an
# indefinite kernel matrix; or its kernel comes from a family that is not convex.
Status = Literal["proved", "stationary", "non-convex"]
# Why a solver ended: the tolerance is met, rounding prevents more, the method repeats a cycle, or
# the rounds are used up.
Ending = Literal["tolerance", "rounding", "cycle", "max_iter"]


@dataclass(frozen=True)
class SolverResult:
    """Outcome of one solve; the fields never vary with the options.

    Attributes
    ----------
    x : ndarray
        The solution.
    objective : float
        The objective at ``x``, a proven bound on the optimum where ``gap`` is finite.
    gap : float
        Upper minus lower bound on the optimum, absolute, >= 0; nan where nothing is proven.
    n_iter : int
        Number of outer rounds.
    converged : bool
        Whether the tolerance was met.
    history : tuple of (float, float)
        Objective and gap at the end of every round.
    """

    x: FloatArray
    objective: float
    gap: float
    n_iter: int
    converged: bool
    history: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class CertifiedResult(SolverResult):
    """Outcome of a solve with a certificate.

    Attributes
    ----------
    status : {"proved", "stationary", "non-convex"}
        What is known of the solution. Where it is not "proved", ``gap`` is nan.
    ending : {"tolerance", "rounding", "cycle", "max_iter"}
        Why the solver ended.
    """

    status: Status
    ending: Ending

    @classmethod
    def of(cls, result: "CertifiedResult", **more: Any) -> Self:
        """Return a result of this class with the fields of another one, and more."""
        known = vars(result)
        return cls(**{**{name: known[name] for name in _CERTIFIED}, **more})


_CERTIFIED = [field.name for field in fields(CertifiedResult)]


@dataclass(frozen=True)
class DualResult(CertifiedResult):
    """Outcome of :func:`kernelfit.solvers.dual.solve.solve_dual`.

    Attributes
    ----------
    intercept : float
        The intercept that minimises the primal objective; 0 without an intercept.
    decision : ndarray
        ``K @ x``, the decision values on the training points without the intercept.
    """

    intercept: float
    decision: FloatArray
