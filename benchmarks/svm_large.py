"""ijcnn1 (49,990 rows) with a cache of 1 GiB: time and peak memory, one process a model."""

import json
import resource
import subprocess
import sys
import time

import numpy as np

from benchmarks import records
from benchmarks.data import load
from benchmarks.report import table, write

C, GAMMA, CACHE = 32.0, 2.0, 1024


def fit(name, tol):
    """Fit one model in this process and print what it took."""
    from sklearn.svm import SVC

    from benchmarks.rivals import dual_variable
    from kernelfit import KernelSVC

    X, y = load("ijcnn1")
    options = {"C": C, "gamma": GAMMA, "cache_size": CACHE, "tol": tol}
    small = np.random.default_rng(0).permutation(len(y))[:200]
    model = (SVC if name == "SVC" else KernelSVC)(**options)
    model.fit(X[small], y[small])  # compile or load
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    took = {"wall s": time.perf_counter() - wall, "CPU s": time.process_time() - cpu}
    took["peak GiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    took["gap"] = _relative_gap(X, np.where(y > 0, 1.0, -1.0), dual_variable(model, len(y)))
    took["support vectors"] = len(model.support_)
    print(json.dumps(took))


def _relative_gap(X, p, beta):
    """Recompute the gap in chunks of rows."""
    from benchmarks.rivals import box, relative_gap
    from kernelfit.kernels.standard import RBF

    support = np.flatnonzero(beta)
    kernel, f = RBF(GAMMA), np.empty(len(p))
    for first in range(0, len(p), 2000):
        part = slice(first, first + 2000)
        f[part] = kernel(X[part], X[support]) @ beta[support]

    class Product:  # stands for K: relative_gap only multiplies by its support columns
        def __getitem__(self, _):
            return self

        def __matmul__(self, _):
            return f

    return relative_gap(Product(), p, *box(p, C, None), 0.0, beta)


def main():
    record = records.start("svm_large", C=C, gamma=GAMMA, cache_size=CACHE)
    for name, tol in (("SVC", 1e-3), ("KernelSVC", 1e-3), ("KernelSVC", 1e-6)):
        command = [sys.executable, "-m", "benchmarks.svm_large", name, str(tol)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        record.rows.append({"model": name, "tol": tol, **json.loads(out.splitlines()[-1])})
    record.save(records.path_of("svm_large"))
    page()


def page():
    record = records.load(records.path_of("svm_large"))
    write(
        "svm_large",
        "ijcnn1: 49,990 rows, rbf, gamma = 2, C = 32, cache 1 GiB",
        "Each model in its own process. `tol` is each library's own: a violation for SVC, a "
        "relative duality gap for KernelSVC, which then polishes the solution. *gap* is the "
        "relative duality gap recomputed from the coefficients.",
        table(record.rows),
        records=[record],
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        fit(sys.argv[1], float(sys.argv[2]))
    else:
        main()
