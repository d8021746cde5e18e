"""Time of a fit: the time left, and forecasts of work."""

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

# Work begins if this multiple of its forecast fits into the time left.
_CAUTION = 1.2


class Seconds(NamedTuple):
    """Seconds that one fold of a recipe takes.

    Attributes
    ----------
    learning : float
        Seconds to learn the features.
    matrix : float
        Seconds to compute the kernel matrices of one width.
    solve : float
        Seconds to train and evaluate the machine of one width and ridge.
    """

    learning: float
    matrix: float
    solve: float

    def of(self, n_widths: int, n_ridges: int, growth: float = 1.0, learned: float = 1.0) -> float:
        """Forecast the seconds of a grid on `growth` times as many rows.

        Features are learned in `learned` times the time. A kernel matrix takes time in proportion
        to its entries; a factorisation has not reached its cubic growth on few rows.
        """
        matrices = n_widths * self.matrix * float(growth**2)
        solving = n_widths * n_ridges * self.solve * float(growth**2.6)
        return learned * self.learning + matrices + solving


@dataclass
class Clock:
    """The time of a fit.

    Attributes
    ----------
    limit : float
        Seconds in all; infinite for no limit.
    reserved : float
        Seconds that the search leaves for the training of its members.
    """

    limit: float = np.inf
    reserved: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return bool(np.isfinite(self.limit))

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        """Seconds left for the search."""
        return self.limit - self.reserved - self.spent

    def allows(self, forecast: float) -> bool:
        """Return whether there is time for a part of the search, of forecast seconds."""
        return _CAUTION * forecast <= self.left
