"""Searches on one and on two cores: the time of both, and whether they find the same bits.

On a busy machine wall time says little. So each row also has what two free cores would take: the
tasks of a search, of which the processor time is measured one by one, dealt out to two workers.
"""

import heapq
import os
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.preprocessing import scale

from benchmarks import records
from benchmarks.report import table, write
from kernelfit import (
    DANKClassifierCV,
    GPKRegressorCV,
    KernelRidgeRegressorCV,
    KernelSVCCV,
    KernelSVRCV,
    KNPLClassifierCV,
    MKLClassifierCV,
    TKLRegressorCV,
)
from kernelfit.selection import folds, work
from kernelfit.utils.digest import digest

CANCER = load_breast_cancer(return_X_y=True)
SEARCHES = (
    (KernelSVCCV(), "cancer"),
    (KernelSVRCV(), "friedman"),
    (DANKClassifierCV(), "cancer"),
    (KNPLClassifierCV(Cs=[0.1, 1.0, 10.0]), "cancer"),
    (TKLRegressorCV(), "friedman"),
    (GPKRegressorCV(), "friedman"),
    (MKLClassifierCV(), "cancer"),
    (KernelRidgeRegressorCV(), "friedman"),
    # Searches of some tenths of a second, on more rows.
    (KernelSVCCV(), "two halves of friedman"),
    (KernelRidgeRegressorCV(), "more of friedman"),
)


def data(name):
    if name == "cancer":
        X, y = CANCER
        return scale(X), y
    if name == "friedman":
        return make_friedman1(500, 5, random_state=0)
    X, y = make_friedman1(2000, 5, noise=1.0, random_state=0)
    return X, y > np.median(y) if name.startswith("two") else y


def run(search, X, y, n_jobs):
    """Return the wall time of a fit and the fingerprint of its predictions."""
    search = clone(search).set_params(n_jobs=n_jobs)
    began = time.perf_counter()
    search.fit(X, y)
    return time.perf_counter() - began, digest(search.predict(X))


def projected(search, X, y):
    """Return the processor time of a fit by that which two workers would take."""
    calls = []

    def timed_task(parts, task):
        began = time.thread_time()
        result = folds.run_task(parts, task)
        calls[-1].append(time.thread_time() - began)
        return result

    def timed_jobs(function, *args, **options):
        calls.append([])
        return original(timed_task, *args, **options)

    original, work.run_jobs = work.run_jobs, timed_jobs
    try:
        began = time.thread_time()
        clone(search).fit(X, y)
        total = time.thread_time() - began
    finally:
        work.run_jobs = original
    return total / (total - sum(map(sum, calls)) + sum(makespan(call) for call in calls))


def makespan(seconds, n_workers=2):
    busy = [0.0] * n_workers
    for task in seconds:
        heapq.heapreplace(busy, busy[0] + task)
    return max(busy)


def main():
    warnings.simplefilter("ignore")
    record = records.start("jobs", load=round(os.getloadavg()[0], 1))
    record.rows = []
    for search, name in SEARCHES:
        X, y = data(name)
        for n_jobs in (1, 2):  # compiled code is loaded, processes are started
            run(search, X[:60], y[:60], n_jobs)
        one, two = (min(run(search, X, y, n) for _ in range(3)) for n in (1, 2))
        record.rows.append(
            {
                "search": type(search).__name__,
                "rows": len(y),
                "n_jobs=1, s": one[0],
                "n_jobs=2, s": two[0],
                "ratio": one[0] / two[0],
                "ratio on free cores": projected(search, X, y),
                "same bits": str(one[1] == two[1]),
            }
        )
        print(record.rows[-1], flush=True)
    ratios = [row["ratio on free cores"] for row in record.rows]
    print(f"least ratio on free cores: {np.min(ratios):.2f}")
    record.save(records.path_of("jobs"))
    page()


def page():
    record = records.load(records.path_of("jobs"))
    write(
        "jobs",
        "Two jobs",
        "Wall time, the least of three, with processes started before; the load of the machine "
        f"was {record.header['settings']['load']} before, where 0 is idle. Ratio on free cores: "
        "from the processor time of every task, dealt out to two workers.",
        table(record.rows),
        records=[record],
    )


if __name__ == "__main__":
    main()
