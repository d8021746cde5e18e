"""What an audit finds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Audit:
    """The recomputed certificate of one learned kernel.

    Attributes
    ----------
    lower, upper : float
        Recomputed bounds on the optimum.
    gap : float
        Their difference.
    claimed_objective, claimed_gap : float
        What the estimator says; nan where it claims nothing.
    violation : float
        By how much a coefficient leaves its box, or the sum its value, relative to the largest
        bound or to the sum of the coefficients.
    resolution : float
        Rounding error of the recomputed gap.
    """

    lower: float
    upper: float
    gap: float
    claimed_objective: float
    claimed_gap: float
    violation: float
    resolution: float

    @property
    def confirmed(self) -> bool:
        """Whether the recomputed gap is at most the claimed one, up to rounding, and feasible."""
        return bool(
            self.violation <= 1e-9
            and -self.resolution <= self.gap <= self.claimed_gap * (1.0 + 1e-6) + self.resolution
        )
