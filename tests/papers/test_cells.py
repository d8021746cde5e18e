"""Results of protocols are kept, go on where they were stopped, and answer printed figures."""

import json
from dataclasses import replace

import pytest

from kernelfit.papers import ledger
from kernelfit.papers.cells import measure_missing, read_lines
from kernelfit.papers.ledger import STATES, answers
from kernelfit.papers.printed import Figure, published
from kernelfit.papers.protocol import Measured, Protocol, at_edges
from kernelfit.utils.version import __version__

measured, limit = [], [99]


def measure(name, split, method):
    if len(measured) == limit[0]:
        raise KeyboardInterrupt
    measured.append((name, split, method))
    return Measured({"test accuracy": 80.0 + split}, {"C": 2.0**split}, ("C",) if split else ())


def n_splits(name):
    return 3


PROTOCOL = Protocol(
    "demo", (("dank", "table 1"),), {"heart": {}, "sonar": {"rows": 10}},
    {"SVM-CV": {"Cs": [1.0, 2.0]}, "DANK": {"tau": 0.01}}, {"revision": 1}, measure, n_splits,
    baselines=("SVM-CV",),
)  # fmt: skip
PAIRS = [(name, method) for name in PROTOCOL.sets for method in PROTOCOL.methods]


@pytest.fixture(autouse=True)
def nothing_measured():
    measured.clear()
    limit[0] = 99


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    limit[0] = 5
    said = []
    with pytest.raises(KeyboardInterrupt):
        measure_missing(PROTOCOL, PAIRS, tmp_path, said.append)
    limit[0] = 99
    lines = measure_missing(PROTOCOL, PAIRS, tmp_path, said.append)
    pairs = [(name, split, method) for name in PROTOCOL.sets for split in range(3)
             for method in PROTOCOL.methods]  # fmt: skip
    assert sorted(measured) == sorted([*pairs, pairs[4]])  # the one that was under way, again
    assert lines["heart", "DANK"]["splits"] == [0, 1, 2]
    assert lines["heart", "DANK"]["scores"] == {"test accuracy": [80.0, 81.0, 82.0]}
    assert lines["heart", "DANK"]["edges"] == {"C": [1, 2]}
    assert said[0].startswith("demo: 6 splits to measure")
    assert "about" in said[-5] and "4 splits" in said[-5]
    assert measure_missing(PROTOCOL, PAIRS, tmp_path, said.append) == lines
    assert len(measured) == 13
    assert [path.name for path in sorted((tmp_path / "demo").iterdir())] == [
        "heart.jsonl", "sonar.jsonl"
    ]  # fmt: skip


def test_more_splits_and_processes_add_to_what_is_there(tmp_path):
    measure_missing(PROTOCOL, PAIRS[:2], tmp_path, str, splits=1)
    assert len(measured) == 2
    lines = measure_missing(PROTOCOL, PAIRS[:2], tmp_path, str, n_jobs=2, code="abc")
    assert sorted(lines["heart", "SVM-CV"]["splits"]) == [0, 1, 2]
    assert lines["heart", "SVM-CV"]["code"] == f"{__version__}, abc"


def test_forecasts_know_the_times_of_their_protocol(tmp_path):
    """Two protocols have a set and a method of the same name, and take other times."""
    limit[0], said = 0, []
    for name in ("dank", "demo"):
        one = replace(PROTOCOL, name=name, methods={"MKL-uniform": {}})
        with pytest.raises(KeyboardInterrupt):
            measure_missing(one, [("heart", "MKL-uniform")], tmp_path, said.append, splits=1)
    assert "never timed" not in said[0]
    assert "1 fits that were never timed" in said[1]


def test_changed_settings_make_results_stale(tmp_path):
    measure_missing(PROTOCOL, PAIRS, tmp_path, str, splits=1)
    other = replace(PROTOCOL, methods=PROTOCOL.methods | {"DANK": {"tau": 0.1}})
    assert other.stamp("heart", "DANK") != PROTOCOL.stamp("heart", "DANK")
    assert other.stamp("heart", "SVM-CV") == PROTOCOL.stamp("heart", "SVM-CV")
    lines = read_lines(tmp_path / "demo" / "heart.jsonl")
    (found,) = answers(
        [figure("DANK", 80.0, 1.0)],
        {("dank", "table 1"): other},
        {("demo", "heart", m): line for m, line in lines.items()},
    )
    assert found.stale
    measured.clear()
    measure_missing(other, PAIRS, tmp_path, str, splits=1)
    assert sorted(measured) == [("heart", 0, "DANK"), ("sonar", 0, "DANK")]
    changed = replace(PROTOCOL, sets=PROTOCOL.sets | {"sonar": {"rows": 20}})
    assert changed.stamp("sonar", "DANK") != PROTOCOL.stamp("sonar", "DANK")
    assert replace(PROTOCOL, settings={"revision": 2}).stamp("heart", "DANK") != other.stamp(
        "heart", "SVM-CV"
    )


def figure(method, value, deviation, measure="test accuracy"):
    return Figure("dank", "table 1", "heart", method, measure, value, deviation)


def line(values, method="DANK", measure="test accuracy"):
    return {
        "method": method, "stamp": PROTOCOL.stamp("heart", method), "code": "1", "edges": {},
        "splits": list(range(len(values))), "scores": {measure: values},
    }  # fmt: skip


def state(printed, values, measure="test accuracy"):
    lines = {("demo", "heart", "DANK"): line(values, measure=measure)}
    (found,) = answers([replace(printed, measure=measure)], {("dank", "table 1"): PROTOCOL}, lines)
    return found.state


@pytest.mark.parametrize(
    ("value", "deviation", "ours", "measure", "expected"),
    [
        (80.0, 1.0, [79.0, 79.2], "test accuracy", "within"),
        (80.0, 1.0, [78.0, 79.5], "test accuracy", "open"),
        (80.0, 0.1, [77.0, 83.0], "test accuracy", "within"),  # our deviation is larger
        (80.0, None, [77.1], "test accuracy", "within"),
        (80.0, None, [76.9], "test accuracy", "open"),
        (0.5, None, [0.529], "AC", "within"),
        (0.5, None, [0.531], "AC", "open"),
        (100.0, None, [102.9], "rank", "within"),
        (100.0, None, [103.1], "rank", "open"),
        (10.0, None, [1.0], "seconds", "better"),
        (10.0, None, [20.0], "seconds", "worse"),
        (None, None, [20.0], "seconds", "not printed"),
    ],
)
def test_states(value, deviation, ours, measure, expected, monkeypatch):
    monkeypatch.setattr(ledger, "_remarks", tuple)
    assert state(figure("DANK", value, deviation), ours, measure) == expected
    assert expected in STATES


def test_a_remark_names_the_cause(monkeypatch):
    remark = dict.fromkeys(("paper", "table", "set", "method", "measure"), "")
    remark |= {"kind": "cause", "set": "heart; sonar", "text": "Other rows."}
    monkeypatch.setattr(ledger, "_remarks", lambda: (remark,))
    printed = figure("DANK", 80.0, 1.0)
    assert state(printed, [70.0]) == "worse"
    assert state(printed, [90.0]) == "better"
    assert state(replace(printed, measure="test error"), [90.0], "test error") == "worse"
    remark["set"] = "sonar"
    assert state(printed, [70.0]) == "open"


def test_a_baseline_that_differs_alike_is_a_cause():
    heart = {one.method: one for one in published("dank") if one.set == "heart"
             and one.measure == "test accuracy" and one.table == "table 1"}  # fmt: skip
    lines = {
        ("demo", "heart", "SVM-CV"): line([heart["SVM-CV"].value + 5.0], "SVM-CV"),
        ("demo", "heart", "DANK"): line([heart["DANK"].value + 5.0]),
    }
    protocols = {("dank", "table 1"): PROTOCOL}
    plain, learned = answers([heart["SVM-CV"], heart["DANK"]], protocols, lines)
    assert (plain.state, learned.state) == ("open", "better")
    assert "SVM-CV on the same splits" in learned.remark
    lines["demo", "heart", "SVM-CV"] = line([heart["SVM-CV"].value], "SVM-CV")
    assert answers([heart["DANK"]], protocols, lines)[0].state == "open"
    # Just beyond the tolerance, with a baseline that agrees with print: alike, but no cause.
    lines["demo", "heart", "SVM-CV"] = line([heart["SVM-CV"].value + 1.0], "SVM-CV")
    lines["demo", "heart", "DANK"] = line([heart["DANK"].value + 3.0])
    assert answers([heart["DANK"]], protocols, lines)[0].state == "open"


def test_what_was_not_measured_is_not_run():
    found = answers([figure("DANK", 80.0, 1.0)], {("dank", "table 1"): PROTOCOL}, {})
    found += answers([figure("DANK", 80.0, 1.0)], {}, {})
    assert [one.state for one in found] == ["not run", "not run"]


def test_edges_of_grids():
    grids = {"C": [1.0, 10.0, 100.0], "gamma": [0.5], "delta": (0.1, 0.2), "tau": (0.0, 0.5, 1.0)}
    assert at_edges({"C": 100.0, "gamma": 0.5, "delta": 0.1, "tau": 0.5}, grids) == ("C",)
    assert at_edges({"C": 10.0, "tau": 0.0}, grids) == ("tau",)


def test_published_figures():
    every = published()
    assert len(every) == 897
    keys = {(one.paper, one.table, one.set, one.method, one.measure) for one in every}
    assert len(keys) == len(every)
    found = {(one.set, one.method, one.measure): one for one in published("cds")}
    assert found["umist", "CDSK", "AC"].value == 0.67
    assert sum(one.value is None for one in every) == 12
    for one in every:
        assert one.value is None or one.value >= 0.0
        assert not one.measure.endswith("accuracy") or one.value is None or one.value <= 100.0


def test_lines_are_json(tmp_path):
    measure_missing(PROTOCOL, PAIRS[:1], tmp_path, str, splits=1)
    (text,) = (tmp_path / "demo" / "heart.jsonl").read_text().splitlines()
    assert json.loads(text)["took"][0] >= 0.0
