"""Tessellated kernel learning: one fit against one fit of scikit-learn with the Gaussian kernel.

Both sides run on one thread, take turns and use the same C and epsilon on features scaled to
[0, 1]; medians of three, as the first touch of memory can be slow. Wall and CPU time are both
given: on a busy machine they differ. The gaps are those of the fitted estimators, which the tests
recompute.
"""

import numpy as np
from sklearn.svm import SVC, SVR

from benchmarks.data import load, unit_range
from benchmarks.report import markdown, measure, write
from kernelfit import TKLClassifier, TKLRegressor

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
        rival, ours = SVC(C=C), TKLClassifier(C=C, delta=delta, tol=tol)
    else:
        rival, ours = SVR(C=C, epsilon=0.1), TKLRegressor(C=C, delta=delta, epsilon=0.1, tol=tol)
    ours.fit(X[:50], y[:50])  # compile or load
    return len(y), lambda: rival.fit(X, y), lambda: ours.fit(X, y)


def against_svm():
    rows = []
    for name, n in (("abalone", 3300), ("ccpp", 7600), ("shill_bidding", 5000)):
        for C in (1.0, 100.0):
            m, rival, ours = pair(name, C, 0.5, 1e-2, n)
            theirs, mine = measure(rival, ours, repeats=3, enough=20.0)
            model = mine[2]
            gap = model.dual_gap_ / model.objective_
            ratios = [mine[k] / theirs[k] for k in (0, 1)]
            rows.append([name, m, C, *theirs[:2], *mine[:2], *ratios, gap, model.n_iter_])
    return rows


def growth():
    rows = []
    for m in (1000, 2000, 4000, 8000):
        _, rival, ours = pair("ccpp", 1.0, 0.5, 1e-2, m)
        theirs, mine = measure(rival, ours, repeats=3, enough=20.0)
        rows.append([m, *theirs[:2], *mine[:2]])
    table = np.log(np.array(rows))
    slopes = np.polyfit(table[:, 0], table[:, 1:], 1)[0]
    return [*rows, ["exponent", *map(float, slopes)]]


def against_authors():
    rows = []
    for (name, C, delta), seconds in AUTHORS.items():
        for tol in (1e-3, 1e-6):
            _, _, ours = pair(name, C, delta, tol)
            ((_, taken, model),) = measure(ours, repeats=3)
            gap = model.dual_gap_ / model.objective_
            rows.append([name, C, delta, seconds, taken, seconds / taken, gap])
    return rows


def main():
    times = ["SVM wall s", "SVM CPU s", "TKL wall s", "TKL CPU s"]
    write(
        "tkl",
        "Tessellated kernel learning: time of one fit",
        "Degree 1, basis x, delta = 0.5, relative gap at most 1e-2, against SVC or SVR with the "
        "Gaussian kernel and the same C.",
        markdown(
            ["set", "rows", "C", *times, "wall ratio", "CPU ratio", "gap", "iterations"],
            against_svm(),
        ),
        "Growth with the number of rows (ccpp, C = 1):",
        markdown(["rows", *times], growth()),
        "CPU seconds of the authors' package under Octave, on other hardware, at its own "
        "tolerance, and ours:",
        markdown(["set", "C", "delta", "theirs", "ours", "ratio", "our gap"], against_authors()),
    )


if __name__ == "__main__":
    main()
