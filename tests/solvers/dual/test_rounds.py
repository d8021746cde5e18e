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


@pytest.mark.parametrize("first", [0, 1])
def test_rounds_that_go_back_and_forth_end_at_the_better_point(first):
    """As rounding can have it, where costs times kernel values are 1e12."""
    task = hinge([-1.0, 1.0], 1.0)
    points = np.array([[-0.25, 0.25], [-0.5, 0.5]])

    class BackAndForth:
        beta, exact, convex, rounds = points[first].copy(), True, True, first

        def refresh(self):
            pass

        def certificate(self):
            return Certificate(1.0 if self.beta[1] == 0.25 else 3.0, 10.0, 0.0, 1e-9)

        def improve(self, wanted, polish):
            self.rounds += 1
            self.beta[:] = points[self.rounds % 2]
            return True

        def recompute(self):
            pass

        def exact_decision(self):
            return self.beta

    state = BackAndForth()
    state.task = task
    result = run_rounds(state, tol=1e-3, max_iter=1000, polish=False, callback=None)
    assert result.ending == "rounding" and not result.converged
    np.testing.assert_array_equal(result.x, points[0])
    assert result.gap == result.history[-1][1] == 1.0
