"""What a solver returns."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


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
class SvmDualResult(SolverResult):
    """Outcome of :func:`kernelfit.solvers.svm_dual.solve_svm_dual`.

    Attributes
    ----------
    intercept : float
        The intercept that minimises the primal objective; 0 without an intercept.
    decision : ndarray
        ``K @ x``, the decision values on the training points without the intercept.
    certified : bool
        False when negative curvature was met: ``x`` is then only a stationary point.
    """

    intercept: float
    decision: FloatArray
    certified: bool
