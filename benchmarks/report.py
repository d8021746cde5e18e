"""Timing and tables."""

import statistics
import time
from collections import Counter

from benchmarks.records import RESULTS, origin
from kernelfit.papers.protocol import at_edges

EDGE = " \\*"
EDGE_NOTE = f"{EDGE.strip()} A parameter was chosen at an end of its grid in more than one split."


def measure(*calls, repeats=3, enough=3.0):
    """Return (median wall time, median CPU time, last value) of each call.

    The calls take turns, so that a slow moment of the machine hits all of them; a call that
    takes more than `enough` seconds is not repeated.
    """
    times = [[] for _ in calls]
    values = [None] * len(calls)
    for _ in range(repeats):
        for k, call in enumerate(calls):
            if times[k] and times[k][0][0] > enough:
                continue
            wall, cpu = time.perf_counter(), time.process_time()
            values[k] = call()
            times[k].append((time.perf_counter() - wall, time.process_time() - cpu))
    return [
        (statistics.median(w for w, _ in t), statistics.median(c for _, c in t), value)
        for t, value in zip(times, values, strict=True)
    ]


def markdown(header, rows):
    """Return a table; floats in three significant digits."""
    cells = [[_text(c) for c in row] for row in [header, *rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def table(rows, part=None):
    """Return the table of a record's rows, whose keys are the columns; of one part alone."""
    if part is not None:
        rows = [row for row in rows if row["part"] == part]
    columns = [key for key in rows[0] if key != "part"]
    return markdown(columns, [[row[column] for column in columns] for row in rows])


def _text(cell):
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def at_edge(chosen, tried):
    """Return the names of the numbers chosen at an end of their grid; `tried` is all settings.

    A grid of one or two values has no inside; one with words among them has no order.
    """
    grids = {name: {one[name] for one in tried} for name in chosen}
    ordered = {name: [*grid] for name, grid in grids.items() if str not in map(type, grid)}
    return list(at_edges(chosen, ordered))


def edge_mark(splits):
    """Return the mark of a cell in whose splits, lists of `at_edge`, a parameter comes twice."""
    counts = Counter(name for names in splits for name in names)
    return EDGE if max(counts.values(), default=0) > 1 else ""


def write(name, title, *parts, records):
    """Write a result page, with what made its records at the foot, and print it."""
    RESULTS.mkdir(exist_ok=True)
    text = "\n\n".join([f"# {title}", *parts, origin(*records)]) + "\n"
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    print(text, flush=True)
