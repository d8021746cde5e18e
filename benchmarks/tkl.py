"""Tessellated kernel learning: one fit against one fit of scikit-learn with the Gaussian kernel.

Both sides run on one thread, take turns and use the same C and epsilon on features scaled to
[0, 1]; medians of three, as the first touch of memory can be slow. Wall and CPU time are both
given: on a busy machine they differ. The gaps are those of the fitted estimators, which the tests
recompute.
"""

import numpy as np
from sklearn.svm import SVC, SVR

from benchmarks import records
from benchmarks.data import load, unit_range
from benchmarks.report import measure, table, write
from kernelfit import TKLClassifier, TKLRegressor

FAMILY = {"degree": 1, "basis": "x"}
AT_MEDIAN = ", two classes"  # of targets, divided at their median
# Seconds of CPU that the authors' package took under Octave on two shared cores, and its settings.
AUTHORS = {
    ("pima", 1.0, 0.1): 4.6,
    ("abalone", 1.0, 0.5): 29.9,
    (f"abalone{AT_MEDIAN}", 1.0, 0.5): 29.9,
    ("housing", 1.0, 0.5): 39.0,
}


def pair(name, C, delta, tol, n=None):
    """Return the two fits as functions; classification where y has two values."""
    X, y = load(name.removesuffix(AT_MEDIAN), n)
    X = unit_range(X)
    if name.endswith(AT_MEDIAN):
        y = y > np.median(y)
    if len(np.unique(y)) == 2:
        rival, ours = SVC(C=C), TKLClassifier(C=C, delta=delta, tol=tol, **FAMILY)
    else:
        rival = SVR(C=C, epsilon=0.1)
        ours = TKLRegressor(C=C, delta=delta, epsilon=0.1, tol=tol, **FAMILY)
    ours.fit(X[:50], y[:50])  # compile or load
    return len(y), lambda: rival.fit(X, y), lambda: ours.fit(X, y)


def against_svm():
    for name, n in (("abalone", 3300), ("ccpp", 7600), ("shill_bidding", 5000)):
        for C in (1.0, 100.0):
            m, rival, ours = pair(name, C, 0.5, 1e-2, n)
            theirs, mine = measure(rival, ours, repeats=3, enough=20.0)
            yield {
                "part": "svm", "set": name, "rows": m, "C": C, **times(theirs, mine),
                "wall ratio": mine[0] / theirs[0], "CPU ratio": mine[1] / theirs[1],
                "gap": mine[2].dual_gap_ / mine[2].objective_, "iterations": mine[2].n_iter_,
            }  # fmt: skip


def growth():
    rows = []
    for m in (1000, 2000, 4000, 8000):
        _, rival, ours = pair("ccpp", 1.0, 0.5, 1e-2, m)
        found = measure(rival, ours, repeats=3, enough=20.0)
        rows.append({"part": "growth", "rows": m, **times(*found)})
    columns = list(rows[0])[2:]
    logarithms = np.log([[row[column] for column in columns] for row in rows])
    slopes = np.polyfit(np.log([row["rows"] for row in rows]), logarithms, 1)[0]
    exponents = dict(zip(columns, map(float, slopes), strict=True))
    return [*rows, {"part": "growth", "rows": "exponent", **exponents}]


def times(theirs, mine):
    return {
        "SVM wall s": theirs[0], "SVM CPU s": theirs[1],
        "TKL wall s": mine[0], "TKL CPU s": mine[1],
    }  # fmt: skip


def against_authors():
    for (name, C, delta), seconds in AUTHORS.items():
        for tol in (1e-3, 1e-6):
            _, _, ours = pair(name, C, delta, tol)
            ((_, taken, model),) = measure(ours, repeats=3)
            yield {
                "part": "authors", "set": name, "C": C, "delta": delta, "theirs": seconds,
                "ours": taken, "ratio": seconds / taken,
                "our gap": model.dual_gap_ / model.objective_,
            }  # fmt: skip


def main():
    record = records.start("tkl", delta=0.5, epsilon=0.1, tol=1e-2, **FAMILY)
    record.rows = [*against_svm(), *growth(), *against_authors()]
    record.save(records.path_of("tkl"))
    page()


def page():
    record = records.load(records.path_of("tkl"))
    write(
        "tkl",
        "Tessellated kernel learning: time of one fit",
        "Degree 1, basis x, delta = 0.5, relative gap at most 1e-2, against SVC or SVR with the "
        "Gaussian kernel and the same C.",
        table(record.rows, "svm"),
        "Growth with the number of rows (ccpp, C = 1):",
        table(record.rows, "growth"),
        "CPU seconds of the authors' package under Octave, on other hardware, at its own "
        "tolerance, and ours:",
        table(record.rows, "authors"),
        records=[record],
    )


if __name__ == "__main__":
    main()
