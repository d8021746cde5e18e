"""The pages on the printed figures say what the recorded cells say, and why figures differ."""

import re
from statistics import fmean

import pytest

from benchmarks import papers
from kernelfit.papers import ledger
from kernelfit.papers.ledger import STATES, answers
from kernelfit.papers.printed import published
from kernelfit.papers.protocols import by_table

LINES = papers.recorded()
PAGES = papers.pages()
ANSWERS = answers(published(), by_table(), LINES)
# Where a remark of a kind is shown.
SHOWN = {"not run": {"not run"}, "cause": {"better", "worse"}, "tried": {"open"}}


def test_every_figure_has_a_state_and_every_difference_a_text():
    assert len(ANSWERS) == len(published())
    for answer in ANSWERS:
        assert answer.state in STATES
        assert answer.remark or answer.state in ("within", "not printed"), answer.figure


def test_every_remark_is_shown():
    for remark in ledger._remarks():
        fitting = {a.state for a in ANSWERS if ledger._fits(remark, a.figure)}
        assert fitting & SHOWN[remark["kind"]], remark


def test_cells_that_remarks_name_are_recorded():
    for remark in ledger._remarks():
        named = re.findall(r"(?<!\w)'([^']+)'(?!\w)", remark["text"])
        for answer in ANSWERS:
            figure = answer.figure
            if named and answer.state != "not run" and ledger._fits(remark, figure):
                home = by_table()[figure.paper, figure.table].name
                assert {(home, figure.set, name) for name in named} <= LINES.keys(), figure


def test_no_cell_is_stale():
    for (home, name, method), line in LINES.items():
        protocol = papers.protocol(home)
        assert line["stamp"] == protocol.stamp(name, method), (home, name, method)
        counts = {len(values) for values in line["scores"].values()} | {len(line["splits"])}
        assert len(counts) == 1, (home, name, method)
    assert not any(answer.stale for answer in ANSWERS)


@pytest.mark.parametrize("path", list(PAGES), ids=lambda path: path.name)
def test_pages_are_what_the_cells_give(path):
    assert path.read_text(encoding="utf-8") == PAGES[path]


def test_stale_cells_are_counted_and_shown():
    heart = {key: {**line, "stamp": "old"} for key, line in LINES.items() if key[1] == "heart"}
    text = papers.ledger(LINES | heart)
    measured = sum(a.figure.set == "heart" and a.ours is not None for a in ANSWERS)
    assert text.count("(stale)") == measured > 0
    assert f"{measured} are marked *stale*" in text
    assert " (stale) |" in papers.protocol_page(
        "dank", {k: heart[k] for k in heart if k[0] == "dank"}
    )
    assert not any("(stale)" in text for text in PAGES.values())


def mean_gain(table, measure, figures):
    """Return the paper's mean gain of TKL in percent, over the sets that have it."""
    sets = {}
    for figure in published("tkl"):
        value = figures.get((figure.set, figure.method))
        if (figure.table, figure.measure) == (table, measure) and value is not None:
            sets.setdefault(figure.set, {})[figure.method] = value
    shares = [found["TKL"] / fmean(found.values()) for found in sets.values() if "TKL" in found]
    return 100.0 * (fmean(shares) - 1.0), len(shares)


@pytest.mark.parametrize(
    ("table", "measure", "whole", "shared", "ours"),
    [("table 3", "MSE", -23.2, -22.2, -8.4), ("table 4", "test accuracy", 6.77, 3.16, 0.90)],
)
def test_mean_gains_of_tkl_in_the_documents(table, measure, whole, shared, ours):
    found = [f for f in published("tkl") if f.measure == measure and f.value is not None]
    printed = {(figure.set, figure.method): figure.value for figure in found}
    cells = {
        (of, method): fmean(line["scores"][measure])
        for (home, of, method), line in LINES.items()
        if home == "tkl" and measure in line["scores"] and (of, method) in printed
    }
    both = {key: value for key, value in printed.items() if key in cells}
    assert mean_gain(table, measure, printed) == (pytest.approx(whole, abs=0.05), 6)
    assert mean_gain(table, measure, both) == (pytest.approx(shared, abs=0.05), 5)
    assert mean_gain(table, measure, cells) == (pytest.approx(ours, abs=0.05), 5)


# The tables of docs/accuracy.md whose figures are those of cells: a set a row, a method a column.
def tables_of_cells():
    text = (papers.records.ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    for name, table in re.findall(r"<!-- cells of (\S+) -->\n(.*?)\n\n", text, re.S):
        head, _, *rows = [[c.strip() for c in r.split("|")[1:-1]] for r in table.splitlines()]
        for row in rows:
            of, measure = row[0].split(", ")
            for method, shown in zip(head[1:], row[1:], strict=True):
                if shown:
                    yield name, of, method, measure, shown


@pytest.mark.parametrize(("name", "of", "method", "measure", "shown"), list(tables_of_cells()))
def test_tables_of_the_documents_are_of_cells(name, of, method, measure, shown):
    if method.startswith("printed "):
        figures = {(f.set, f.method, f.measure): f.value for f in published(name)}
        assert float(shown) == figures[of, method.removeprefix("printed "), measure]
    else:
        values = LINES[name, of, method]["scores"][measure]
        digits = len(shown.partition(".")[2])
        assert shown == f"{fmean(values):.{digits}f}"
