"""The papers' figures, measured by the protocols of `kernelfit.papers`, and the pages about them.

    python -m benchmarks.papers dank heart,sonar [--methods DANK] [--splits 2] [--jobs 2]
    python -m benchmarks --page papers                   # write the pages from what was measured

The first argument names a protocol; methods that no paper prints are measured too. What is measured
is kept as long as the settings of the protocol are those of today.
"""

import argparse
import json
from collections import Counter
from importlib import import_module
from pathlib import Path
from statistics import fmean, pstdev

from benchmarks import records
from benchmarks.report import markdown
from kernelfit.papers.cells import measure_missing, read_lines
from kernelfit.papers.ledger import STATES, answers
from kernelfit.papers.printed import PAPERS, published
from kernelfit.papers.protocols import HOMES, by_table, protocol

FOLDER = records.RESULTS / "papers"
LEDGER = records.ROOT / "docs" / "printed_figures.md"
SECONDS = records.ROOT / "src" / "kernelfit" / "papers" / "seconds.json"
EDGE = "\\*"


def recorded():
    """Return what was measured, by protocol, set and method."""
    return {
        (name, path.stem, method): line
        for name in HOMES
        for path in sorted((FOLDER / name).glob("*.jsonl"))
        for method, line in read_lines(path).items()
    }


def figure(value, deviation=None, measure=""):
    """Return a figure as text, with as many digits as its size and measure ask for."""
    if value is None:
        return "-"
    few = measure.endswith(("accuracy", "rank")) or value >= 20
    digits = 1 if few else 3 if value >= 0.1 else 4
    text = f"{value:.{digits}f}"
    return text if deviation is None else f"{text} ± {deviation:.{digits}f}"


def edge(counts, n_splits):
    """Return the mark of a choice that is an end of its grid in more than one split, or in all."""
    marked = any(count > 1 or count == n_splits for _, count in counts)
    return EDGE if marked else ""


def ledger(lines):
    """Return the page with our answer to every printed figure."""
    found = answers(published(), by_table(), lines)
    counts = Counter(answer.state for answer in found)
    edges = sum(bool(edge(answer.edges, answer.n_splits)) for answer in found)
    stale = sum(answer.stale for answer in found)
    parts = [
        "# Printed figures and ours",
        f"The four papers print {len(found)} figures in tables. Each stands here with ours and one "
        "of these states:",
        markdown(["state", "figures", "meaning"], [[s, counts[s], STATES[s]] for s in STATES]),
        _by_table(found),
        f"Means and standard deviations over the splits; accuracies in percent. {edges} figures "
        f"are marked {EDGE}: in more than one split the choice of a parameter was an end of its "
        f"grid, so that they may say more of the grid than of the method. {stale} are marked "
        "*stale*: their protocol has changed since. The protocols are in `kernelfit.papers`, "
        "what each split gave is in `benchmarks/results/papers/`, and [a command](reproduce.md) "
        "measures any of it anew. Numbers in brackets lead to the remarks below a table.",
    ]
    for paper, title in PAPERS.items():
        parts.append(f"## {title}")
        for table in dict.fromkeys(one.figure.table for one in found if one.figure.paper == paper):
            parts += _table(
                [a for a in found if (a.figure.paper, a.figure.table) == (paper, table)]
            )
    return "\n\n".join(parts) + "\n"


def _by_table(found):
    """Return how many figures of each table have which state."""
    counts = Counter((a.figure.paper, a.figure.table, a.state) for a in found)
    tables = dict.fromkeys((a.figure.paper, a.figure.table) for a in found)
    return markdown(
        ["paper", "table", *STATES],
        [[*table, *(counts[*table, state] or "" for state in STATES)] for table in tables],
    )


def _table(found):
    """Return the parts of the page about one table."""
    remarks = list(dict.fromkeys(answer.remark for answer in found if answer.remark))
    rows = []
    for answer in found:
        printed = answer.figure
        state = answer.state + (" (stale)" if answer.stale else "")
        if answer.remark:
            state += f" [{remarks.index(answer.remark) + 1}]"
        ours = figure(answer.ours, answer.deviation, printed.measure)
        rows.append([
            printed.set, printed.method, printed.measure,
            figure(printed.value, printed.deviation, printed.measure),
            ours + edge(answer.edges, answer.n_splits), answer.n_splits or "", state,
        ])  # fmt: skip
    header = ["set", "method", "measure", "printed", "ours", "splits", "state"]
    notes = "\n".join(f"{number}. {text}" for number, text in enumerate(remarks, start=1))
    return [f"### {found[0].figure.table.capitalize()}", markdown(header, rows), notes]


def protocol_page(name, lines):
    """Return the page of one protocol: all sets and methods, also those that no paper prints."""
    one, printed = protocol(name), {}
    for known in published():
        if (known.paper, known.table) in one.answers:
            printed[known.set, known.method, known.measure] = known
    rows = []
    for (_, of, method), line in lines.items():
        base = next((b for m in one.baselines if (b := lines.get((name, of, m)))), None)
        counts = [(key, len(splits)) for key, splits in line["edges"].items()]
        stale = "" if line["stamp"] == one.stamp(of, method) else " (stale)"
        for measure, values in line["scores"].items():
            known = printed.get((of, method, measure))
            rows.append([
                of, method + edge(counts, len(values)) + stale, measure, len(values),
                figure(fmean(values), pstdev(values), measure),
                _difference(line, base, measure),
                figure(known.value, known.deviation, measure) if known else "",
            ])  # fmt: skip
    codes = sorted({line["code"] for line in lines.values()})
    against = f", and the mean difference to {' or '.join(one.baselines)} on the same splits"
    against = against if one.baselines else ""
    tables = ", ".join(f"{table} of {paper}" for paper, table in one.answers)
    parts = [
        f"# {name}: {tables}",
        (import_module(HOMES[name]).__doc__ or "").strip(),
        f"Means ± standard deviations over the splits{against} (± its standard error). {EDGE}: in "
        "more than one split the choice of a parameter is an end of its grid.",
        markdown(["set", "method", "measure", "splits", "ours", "difference", "printed"], rows),
        f"kernelfit at {', '.join(codes)}.",
    ]
    return "\n\n".join(parts) + "\n"


def _difference(line, base, measure):
    """Return the paired difference to the baseline, on the splits that both have."""
    if base is None or base is line or measure not in base["scores"]:
        return ""
    ours = dict(zip(line["splits"], line["scores"][measure], strict=True))
    theirs = dict(zip(base["splits"], base["scores"][measure], strict=True))
    gains = [ours[split] - theirs[split] for split in ours if split in theirs]
    if not gains:
        return ""
    digits = 1 if measure.endswith("accuracy") else 3
    error = pstdev(gains) / max(1, len(gains) - 1) ** 0.5
    return f"{fmean(gains):+.{digits}f}" + f" ± {error:.{digits}f}" * (len(gains) > 1)


def pages():
    """Return the text of every page, and of the file of seconds, by its path."""
    lines = recorded()
    texts = {
        FOLDER / f"{name}.md": protocol_page(
            name, {key: line for key, line in lines.items() if key[0] == name}
        )
        for name in HOMES
    }
    took = {}
    for (name, of, method), line in lines.items():
        if line["took"]:
            took.setdefault(name, {}).setdefault(of, {})[method] = round(fmean(line["took"]), 1)
    rows = ",\n".join(f'"{name}": {json.dumps(sets)}' for name, sets in took.items())
    return texts | {LEDGER: ledger(lines), SECONDS: "{\n" + rows + "\n}\n"}


def page():
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


def main(names=tuple(HOMES), sets=None, methods=None, splits=None, jobs=2, folder=FOLDER):
    for name in names:
        one = protocol(name)
        wanted = [
            (of, method)
            for of in sets or one.sets
            for method in methods or one.methods
            if (of, method) not in one.left_out
        ]
        measure_missing(
            one, wanted, folder, lambda text: print(text, flush=True),
            splits=splits, n_jobs=jobs, code=records.commit(),
        )  # fmt: skip
    page()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("protocol", choices=HOMES)
    parser.add_argument("sets", nargs="?", help="comma-separated")
    parser.add_argument("--methods", help="comma-separated")
    parser.add_argument("--splits", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    listed = {
        key: text.split(",")
        for key in ("sets", "methods")
        if (text := getattr(options, key)) is not None
    }
    main(
        [options.protocol],
        **listed,
        splits=options.splits,
        jobs=options.jobs,
        folder=options.folder,
    )
