"""AutoKernel under limits of time, on a quiet and on a busy machine.

    python -m benchmarks.auto_clock splice          # measure this set
    python -m benchmarks.auto_clock --busy 0       # all sets, without processes beside
    python -m benchmarks --page auto_clock         # write the page from what was measured

One fit a limit, on random rows of five tables, beside two processes that keep two cores busy: the
seconds of the fit, and the log loss (or the mean squared error relative to the variance of the test
targets) on 4,000 other rows at most. "fall" is the largest rise of the loss from a shorter limit to
a longer one, relative to the loss at the shorter; one fit's noise is in it. These tables guided the
design: the order of work, its constants and the calibration on landmarks were settled while their
figures were looked at, in three rounds of which the last is shown. Other tables are the proof.
"""

import argparse
import multiprocessing

import numpy as np

from benchmarks import records
from benchmarks.auto_tables import fit_and_score, split
from benchmarks.report import markdown, write
from kernelfit import AutoKernelClassifier, AutoKernelRegressor

ROWS = {"covtype": 20_000, "splice": 1000, "spambase": 3450, "cpusmall": 5000, "diabetic": 860}
REGRESSION = ("cpusmall",)
LIMITS = (2, 5, 10, 15, 20, 25, 40, 80)
TEST = 4000


def _work_for_ever():
    while True:
        np.ones(1000).sum()


def measure(name, limit):
    """Return the seconds and the loss of one fit."""
    regression = name in REGRESSION
    model = (AutoKernelRegressor if regression else AutoKernelClassifier)(limit, random_state=0)
    found = fit_and_score(model, *split(name, 0, ROWS[name], TEST), regression)
    loss = found["error" if regression else "log_loss"]
    return {"limit": limit, "seconds": found["seconds"], "loss": loss}


def main(names=tuple(ROWS), busy=2):
    others = [
        multiprocessing.get_context("spawn").Process(target=_work_for_ever, daemon=True)
        for _ in range(busy)
    ]
    for other in others:
        other.start()
    # What is compiled once must not be taken for work.
    for model in (AutoKernelClassifier, AutoKernelRegressor):
        X = np.random.default_rng(0).normal(size=(500, 5))
        model(random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    for name in names:
        path = records.path_of("auto_clock", f"{name}_{busy}")
        record = records.resume(path, "auto_clock", set=name, rows=ROWS[name], busy=busy)
        for limit in LIMITS:
            if limit not in [row["limit"] for row in record.rows]:
                record.rows.append(measure(name, limit))
                record.save(path)
                print(name, record.rows[-1], flush=True)
    for other in others:
        other.terminate()


def page():
    tables = records.load_table("auto_clock", [f"{name}_{b}" for b in (2, 0) for name in ROWS])
    rows = []
    for record in tables.values():
        found, settings = record.rows, record.header["settings"]
        loss = np.array([row["loss"] for row in found])
        worst = max((loss[1:] / np.minimum.accumulate(loss)[:-1] - 1.0).max(), 0.0)
        late = max(row["seconds"] / row["limit"] - 1.0 for row in found)
        over = max(row["seconds"] - row["limit"] for row in found)
        cells = [f"{row['loss']:.3g} ({row['seconds']:.1f} s)" for row in found]
        label = [settings["set"], settings["rows"], settings["busy"]]
        rows.append([*label, *cells, f"{100 * worst:.1f} %", f"{100 * late:.0f} %, {over:.1f} s"])
    header = ["set", "rows", "busy processes", *(f"{limit} s" for limit in LIMITS)]
    write(
        "auto_clock",
        "AutoKernel under limits of time",
        __doc__.split("\n\n")[2].replace("\n", " "),
        markdown([*header, "fall", "late"], rows),
        records=tables.values(),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="set", help=", ".join(ROWS))
    parser.add_argument("--busy", type=int, default=2, help="processes beside")
    options = parser.parse_args()
    main(options.names or tuple(ROWS), options.busy)
