"""The pages on the printed figures say what the recorded cells say, and why figures differ."""

import re

import pytest

from benchmarks import papers
from kernelfit.papers import ledger
from kernelfit.papers.figures import published
from kernelfit.papers.ledger import STATES, answers
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
    shown = text.count("(stale)")
    assert shown > 40 and f"{shown} are marked *stale*" in text


# The tables of docs/accuracy.md whose figures are those of cells: set and methods by row and column.
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
        assert shown == f"{sum(values) / len(values):.{digits}f}"
