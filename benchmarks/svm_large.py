"""Large sets on the CPU: time and peak memory, one process a model.

``python -m benchmarks.svm_large`` runs all cases, ``python -m benchmarks.svm_large ijcnn1`` those
of one set; covtype takes twenty minutes.
"""

import json
import resource
import subprocess
import sys
import time

import numpy as np

from benchmarks import records
from benchmarks.data import load, unit_range
from benchmarks.report import table, write

PROTOCOL = {"C": 32.0, "gamma": 2.0, "cache_size": 1024}
LOCAL = {"C": 32.0, "gamma": 32.0}
CASES = {
    "ijcnn1": [
        {"model": "SVC", "rows": 49_990, "tol": 1e-3},
        {"model": "KernelSVC", "rows": 49_990, "tol": 1e-3},
        {"model": "KernelSVC", "rows": 49_990, "tol": 1e-6},
    ],
    "covtype": [
        {
            "model": "KernelSVC", "rows": 200_000, "tol": 1e-3, "cache_size": 1000,
            "partition": 200, "n_jobs": 2, "random_state": 0, "verbose": 1,
        },
        {
            "model": "KernelSVC", "rows": 464_810, "tol": 1e-3, "cache_size": 4000,
            "partition": 400, "n_jobs": 2, "random_state": 0, "verbose": 1,
        },
    ],
}  # fmt: skip


def data(name, rows):
    """Return rows to train on, 10,000 others of covtype, and the options of a set."""
    if name == "ijcnn1":
        X, y = load(name)  # in the order of the file
        return X, y > 0, X[:0], y[:0], PROTOCOL
    X, y = load(name, rows + 10_000)
    X, y = unit_range(X), y == 2
    return X[:rows], y[:rows], X[rows:], y[rows:], LOCAL


def fit(name, model, rows, **options):
    """Fit one model in this process and print what it took."""
    from sklearn.svm import SVC

    from benchmarks.rivals import dual_variable
    from kernelfit import KernelSVC

    X, y, T, u, common = data(name, rows)
    estimator = (SVC if model == "SVC" else KernelSVC)(**{**common, **options})
    small = np.random.default_rng(0).permutation(len(y))[:500]
    estimator.fit(X[small], y[small])  # compile or load
    wall, cpu = time.perf_counter(), time.process_time()
    estimator.fit(X, y)
    took = {"wall s": time.perf_counter() - wall, "CPU s": time.process_time() - cpu}
    took["peak GiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if name == "ijcnn1":
        took["gap"] = _relative_gap(X, np.where(y, 1.0, -1.0), dual_variable(estimator, len(y)))
    else:
        took["gap"] = float(estimator.dual_gap_ / estimator.objective_)
    took["support vectors"] = len(estimator.support_)
    if len(u):
        took["test"] = float(estimator.score(T, u))
    print(json.dumps(took))


def _relative_gap(X, p, beta):
    """Recompute the gap in chunks of rows."""
    from benchmarks.rivals import box, relative_gap
    from kernelfit.kernels.standard import RBF

    support = np.flatnonzero(beta)
    kernel, f = RBF(PROTOCOL["gamma"]), np.empty(len(p))
    for first in range(0, len(p), 2000):
        part = slice(first, first + 2000)
        f[part] = kernel(X[part], X[support]) @ beta[support]

    class Product:  # stands for K: relative_gap only multiplies by its support columns
        def __getitem__(self, _):
            return self

        def __matmul__(self, _):
            return f

    return relative_gap(Product(), p, *box(p, PROTOCOL["C"], None), 0.0, beta)


def main(names=()):
    for name in names or CASES:
        record = records.start("svm_large", set=name)
        for case in CASES[name]:
            command = [sys.executable, "-m", "benchmarks.svm_large", name, json.dumps(case)]
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            shown = {"partition": "", "cache_size": PROTOCOL["cache_size"], **case}
            shown = {key: shown[key] for key in ("model", "rows", "tol", "cache_size", "partition")}
            record.rows.append({"part": name, **shown, **json.loads(out.splitlines()[-1])})
            print(record.rows[-1], flush=True)
            record.save(records.path_of("svm_large", name))
    page()


def page():
    sets = records.load_table("svm_large", CASES)
    rows = [row for record in sets.values() for row in record.rows]
    write(
        "svm_large",
        "Large sets on two cores",
        "Each model in its own process; *cache_size* in megabytes, the data are part of the peak. "
        "`tol` is each library's own: a violation for SVC, a relative duality gap for KernelSVC.",
        "ijcnn1, rbf, gamma = 2, C = 32. *gap* is the relative duality gap recomputed from the "
        "coefficients.",
        table([{k: v for k, v in row.items() if k not in ("partition", "test")} for row in rows],
              "ijcnn1"),
        "covtype, class 2 against the rest, features in [0, 1], gamma = C = 32, rows drawn at "
        "random, solved in so many blocks and then as a whole. *gap* is the relative gap that the "
        "model claims, *test* the accuracy on 10,000 other rows.",
        table(rows, "covtype"),
        records=sets.values(),
    )  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) == 3:
        fit(sys.argv[1], **json.loads(sys.argv[2]))
    else:
        main(sys.argv[1:])
