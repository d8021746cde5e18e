"""Choices at the edge of a grid are found and marked."""

import pytest
from sklearn.model_selection import ParameterGrid

from benchmarks.report import EDGE, at_edge, edge_mark

TRIED = ParameterGrid({"C": [1, 10, 100], "delta": [0.1, 0.5], "eta": ["auto", 1, 2]})


@pytest.mark.parametrize(("C", "expected"), [(1, ["C"]), (10, []), (100, ["C"])])
def test_ends_of_grids_are_found(C, expected):
    # Two values have no inside, and what is not ordered has no end.
    assert at_edge({"C": C, "delta": 0.1, "eta": 2}, TRIED) == expected


def test_the_mark_needs_one_parameter_in_two_splits():
    assert edge_mark([["C"], ["C", "delta"], []]) == EDGE
    assert edge_mark([["C"], ["delta"], []]) == ""
    assert edge_mark([[], []]) == edge_mark([]) == ""
