"""What a descent returns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class DescentResult:
    """Outcome of a descent.

    Attributes
    ----------
    x : ndarray of shape (n,)
    objective : float
        The objective at x.
    n_iter : int
        Number of steps.
    converged : bool
        Whether the tolerance was met.
    history : tuple of float
        Objectives, from that of the start to that of x.
    """

    x: NDArray[np.float64]
    objective: float
    n_iter: int
    converged: bool
    history: tuple[float, ...]
