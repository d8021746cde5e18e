"""When the rounds of the dual solvers give up."""

import numpy as np
import pytest

from kernelfit.solvers.dual.rounds import run_rounds, stands_still
from kernelfit.tasks.losses import hinge
from kernelfit.tasks.task import Certificate


def creeping(rounds, gain, gap):
    return [(gain * k, gap) for k in range(rounds)]


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], False),
        (creeping(20, 1.0, 1e12), False),  # not yet
        (creeping(21, 1.0, 1e12), True),  # for ever far below the gap
        (creeping(60, 1.0, 1e9), False),  # would get there
        ([(float(k), 1e12 * 0.99**k) for k in range(60)], False),  # the gap falls
        ([(1.0, 1e-6)] * 100, False),
        ([(1.0, 1e-6)] * 101, True),  # nothing but rounding
    ],
)
def test_rounds_that_gain_nothing_stand_still(history, expected):
    assert stands_still(history, 100) is expected


def test_a_gap_that_is_no_number_ends_the_rounds():
    """Products of extreme numbers overflow, and rounds do not mend that."""
    task = hinge([-1.0, 1.0], 1.0)

    class Overflown:
        beta, exact, convex, improved = np.zeros(2), True, True, 0

        def refresh(self):
            pass

        def certificate(self):
            return Certificate(np.nan, np.nan, 0.0, 0.0)

        def exact_decision(self):
            return np.zeros(2)

        def improve(self, wanted, polish):
            self.improved += 1
            return True

    state = Overflown()
    state.task = task
    result = run_rounds(state, tol=1e-3, max_iter=1000, polish=False, callback=None)
    assert state.improved == 0
    assert not result.converged and result.ending == "rounding"
