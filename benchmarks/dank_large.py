"""DANK on large sets: whole, and in blocks with each way of combining their solutions.

    python -m benchmarks dank_large

tau = 0, a cache of 1 GiB, a relative gap of 1e-3, one process a fit. Half of eeg in [0, 1], C = 32,
gamma = 100; four fifths of ijcnn1, C = 32, gamma = 2.
"""

import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import records
from benchmarks.data import load
from benchmarks.report import table, write
from kernelfit import DANKClassifier

OPTIONS = {"tau": 0.0, "cache_size": 1024, "tol": 1e-3, "random_state": 0}
SETS = {"eeg": {"C": 32.0, "gamma": 100.0}, "ijcnn1": {"C": 32.0, "gamma": 2.0}}
BLOCKS = {"eeg": 20, "ijcnn1": 50}
WHOLE, PUBLISHED = "whole", "concatenate"
# Accuracy and rank of the paper's blocks, put side by side (its Table 4).
PAPER = {"eeg": (96.3, 142), "ijcnn1": (98.4, 1788)}


def split(name):
    """Return the training and the test part."""
    X, y = load(name)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [len(y) // 2 if name == "eeg" else 4 * len(y) // 5])
    if name == "eeg":  # four rows have values a hundred times as large, all of the test part
        low, high = X[train].min(axis=0), X[train].max(axis=0)
        X = (X - low) / (high - low)
    return X[train], y[train], X[test], y[test]


def fit(name, combine):
    """Fit a set in this process and print what it took and gave."""
    X, y, X_test, y_test = split(name)
    model = DANKClassifier(**SETS[name], **OPTIONS).fit(X[:2000], y[:2000])  # compile or load
    if combine != WHOLE:
        model.set_params(partition=BLOCKS[name], combine=combine)
    warnings.simplefilter("ignore", ConvergenceWarning)
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    took = {
        "wall s": time.perf_counter() - wall,
        "CPU s": time.process_time() - cpu,
        "peak GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "objective": model.objective_,
        "gap": model.dual_gap_ / abs(model.objective_),
        "support vectors": len(model.support_),
        "rank": model.rank_,
        "test %": 100.0 * model.score(X_test, y_test),
    }
    print(json.dumps(took))


def main():
    record = records.start("dank_large", sets=SETS, blocks=BLOCKS, options=OPTIONS)
    for name in SETS:
        for combine in (WHOLE, PUBLISHED, "nearest", "global"):
            command = [sys.executable, "-m", "benchmarks.dank_large", name, combine]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            blocks = "" if combine == WHOLE else f"{BLOCKS[name]} blocks, "
            row = {"set": name, "what": blocks + combine, **json.loads(out.splitlines()[-1])}
            accuracy, rank = PAPER[name] if combine == PUBLISHED else ("", "")
            record.rows.append({"part": "large", **row, "paper %": accuracy, "paper rank": rank})
    record.save(records.path_of("dank_large"))
    page()


def page():
    record = records.load(records.path_of("dank_large"))
    write(
        "dank_large",
        "DANK on large sets, whole and in blocks",
        __doc__.split("\n\n")[-1],
        "The blocks' solutions side by side (*concatenate*) are the paper's scheme: at a point, "
        "other blocks add to the value of its own one, and may outweigh it. *nearest* takes the "
        "block of the nearest centre alone, *global* goes on to the optimum. *gap*, relative, is "
        "that of all data, without intercept where solutions of blocks are kept; it measures the "
        "objective, not the accuracy. *rank* is the factor's. The paper has other rows.",
        table(record.rows, "large"),
        records=[record],
    )


if __name__ == "__main__":
    fit(*sys.argv[1:])
