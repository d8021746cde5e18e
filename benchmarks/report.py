"""Timing and tables."""

import json
import platform
import statistics
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


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


def _text(cell):
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def write(name, title, *parts):
    """Write a result page and print it."""
    RESULTS.mkdir(exist_ok=True)
    text = "\n\n".join([f"# {title}", *parts, _machine()]) + "\n"
    (RESULTS / f"{name}.md").write_text(text)
    print(text, flush=True)


def record(table, name, value):
    """Keep what was measured on one set, so that a long table can be made in parts."""
    folder = RESULTS / table
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n")


def recorded(table, names):
    """Return {name: value} of the sets measured so far, in the order of the names."""
    paths = {name: RESULTS / table / f"{name}.json" for name in names}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def _machine():
    import numba
    import numpy
    import sklearn

    return (
        f"Python {platform.python_version()}, numpy {numpy.__version__}, numba "
        f"{numba.__version__}, scikit-learn {sklearn.__version__}, {platform.machine()}."
    )
