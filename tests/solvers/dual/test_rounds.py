"""When the rounds of the dual solvers end, and with which point."""

import numpy as np
import pytest

from kernelfit.solvers.dual.rounds import run_rounds, stands_still
from kernelfit.tasks.losses import hinge
from kernelfit.tasks.task import Certificate

TASK = hinge([-1.0, 1.0], 1.0)


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


class Scripted:
    """A point that takes given steps: each round has its gap, and maybe another one when exact.

    The variables hold the number of the round, so that a copy tells where it was made.
    """

    rounds_a_pass, patience = 1, 100

    def __init__(self, gaps, exact_gaps=None, moves=True, precisions=1):
        self.gaps, self.exact_gaps = gaps, gaps if exact_gaps is None else exact_gaps
        self.moves, self.precisions = moves, precisions
        self.number, self.exact, self.asked, self.refreshed = 0, True, [], []

    def certificate(self):
        gaps = self.exact_gaps if self.exact else self.gaps
        return Certificate(gaps[min(self.number, len(gaps) - 1)], 10.0, 0.0, 1e-9)

    def improve(self, wanted, polish):
        self.asked.append((wanted, polish))
        self.number, self.exact = self.number + 1, False
        return self.moves

    def is_due(self, rounds):
        return False

    def refresh(self):
        if not self.exact:
            self.refreshed.append(self.number)
        self.exact = True

    def sharpen(self):
        self.precisions -= 1
        return self.precisions > 0

    def is_zero(self):
        return self.number == 0

    def count_free(self):
        return 1

    def copy(self):
        return self.number

    def go_to(self, copy):
        self.number, self.exact = copy, True

    def outcome(self, rounds):
        x = np.array([-1.0, 1.0]) * self.number
        return rounds.result(TASK, x, x, rounds.found, convex=True)


def run(point, polish=False, max_iter=1000):
    return run_rounds(point, tol=1e-3, max_iter=max_iter, polish=polish)


def test_ends_where_an_exact_gradient_meets_the_tolerance():
    """The second round seems to meet it, the third does."""
    point = Scripted([5.0, 1.0, 1e-3, 1e-4], exact_gaps=[5.0, 1.0, 1.0, 1e-4])
    result = run(point)
    assert point.refreshed == [2, 3] and point.number == 3
    assert result.converged and result.ending == "tolerance" and result.gap == 1e-4
    assert result.history == ((10.0, 1.0), (10.0, 1.0), (10.0, 1e-4)) and result.n_iter == 3
    # The reduction of the violation that is asked for is in proportion to what the gap needs.
    assert [wanted for wanted, _ in point.asked] == pytest.approx([6e-4, 3e-3, 3e-3])


def test_polishing_rounds_follow_and_end():
    point = Scripted([5.0, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
    result = run(point, polish=True)
    assert point.asked[1:] == [(0.0, True)] * 3  # not a fourth
    assert result.gap == 1e-6 and result.ending == "tolerance"
    point.number, point.asked = 1, []
    point.count_free = lambda: 10_000  # too many for Newton steps
    assert run(point, polish=True).gap == 1e-3 and point.asked == []


def test_polishing_begins_where_an_exact_gradient_meets_the_tolerance():
    point = Scripted([5.0, 1e-3, 1e-4], exact_gaps=[5.0, 1.0, 1e-4])
    run(point, polish=True)
    assert [polish for _, polish in point.asked] == [False, False, True, True, True]


def test_a_gap_of_rounding_ends_the_rounds_and_is_enough_at_zero():
    assert run(Scripted([1e-10])).converged
    tiny = Scripted([5.0, 1e-10])
    tiny.certificate = lambda: Certificate(tiny.gaps[min(tiny.number, 1)], 1e-9, 0.0, 1e-9)
    result = run(tiny)
    assert not result.converged and result.ending == "rounding" and tiny.number == 1


def test_ends_with_the_largest_number_of_rounds():
    point = Scripted([5.0 / k for k in range(1, 100)])
    point.rounds_a_pass = 3
    result = run(point, max_iter=4)
    assert point.number == 12 and result.ending == "max_iter" and not result.converged


def test_a_gap_that_is_no_number_ends_the_rounds():
    """Products of extreme numbers overflow, and rounds do not mend that."""
    point = Scripted([np.nan])
    result = run(point)
    assert point.asked == []
    assert not result.converged and result.ending == "rounding"


def test_a_round_that_changes_nothing_is_the_last():
    point = Scripted([5.0, 1.0], moves=False)
    assert run(point).ending == "rounding" and point.number == 1


def test_higher_precision_comes_before_the_end():
    point = Scripted([5.0, 1.0, 0.5, 0.25], moves=False, precisions=3)
    assert run(point).ending == "rounding" and point.number == 3
    assert point.precisions == 0


def test_higher_precision_where_rounding_hides_the_gap_again_and_again():
    """Each time the tolerance seems to be met, and is not."""
    point = Scripted([5.0, *[1e-3, 1.0] * 10], exact_gaps=[5.0, *[1.0] * 20], precisions=2)
    point.patience = 1000
    run(point, max_iter=6)
    assert point.precisions == 2  # three times
    run(point := Scripted(point.gaps, point.exact_gaps, precisions=2), max_iter=7)
    assert point.precisions == 1


@pytest.mark.parametrize("first", [0, 1])
def test_rounds_that_go_back_and_forth_end_at_the_better_point(first):
    """As rounding can have it, where costs times kernel values are 1e12."""
    point = Scripted([1.0, 3.0] * 500)
    point.number, point.is_due = first, lambda rounds: True
    result = run(point)
    assert result.ending == "rounding" and not result.converged
    assert point.number % 2 == 0
    assert result.gap == result.history[-1][1] == 1.0
