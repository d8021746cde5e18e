"""One fit of multiple kernel learning: time, kernels in use and peak memory.

breast_cancer_diagnostic: 20 Gaussians on 398 standardised rows, the size at which MKLpy 0.6 needed
79 s (GRAM) and 71 s (MEMO). pima, german, transfusion: the bank of the TKL paper, ten Gaussians
with sigma from 0.5 to 10 and polynomials of degree 1 to 3, on all features and on each, to a
relative gap of 0.01. Processor time on one core, the best of three fits; the memory of the kernel
matrices as they are kept, and as whole matrices.
"""

import time

import numpy as np
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from benchmarks import records
from benchmarks.data import load
from benchmarks.report import table, write
from kernelfit import MKLClassifier
from kernelfit.estimators.bank import build_bank, resolve_bank
from kernelfit.papers.tkl_tables import METHODS

ROUNDS, TOL = 3, 1e-2
WIDTHS = [{"kernel": "rbf", "gamma": np.logspace(-4, 1, 20).tolist()}]
PAPER_BANK = METHODS["SMKL"]["kernels"]
CASES = [
    (name, bank, C, combination)
    for name, bank in (
        ("breast_cancer_diagnostic", WIDTHS),
        ("pima", PAPER_BANK),
        ("german", PAPER_BANK),
        ("transfusion", PAPER_BANK),
    )
    for C in (1.0, 100.0)
    for combination in ("simple", "lp")
]


def kept_megabytes(bank, X):
    """Return the memory of the matrices as they are kept, and as whole ones."""
    weight = np.ones(len(X))
    members, matrices = build_bank(resolve_bank(bank, X, weight, None), X, weight, True, 1e6)
    kept = len(matrices.dense) * len(X) ** 2 + matrices.factors.size
    return 8e-6 * kept, 8e-6 * len(members) * len(X) ** 2


def main():
    record = records.start("mkl", rounds=ROUNDS, tol=TOL)
    with threadpool_limits(1):
        for name, bank, C, combination in CASES:
            X, y = load(name, 398 if bank is WIDTHS else None)
            X = scale(X)
            model = MKLClassifier(C, kernels=bank, combination=combination, tol=TOL)
            seconds = []
            for _ in range(ROUNDS):
                start = time.process_time()
                model.fit(X, y)
                seconds.append(time.process_time() - start)
            kept, whole = kept_megabytes(bank, X)
            record.rows.append(
                {
                    "set": name,
                    "rows": len(y),
                    "kernels": len(model.bank_),
                    "C": C,
                    "combination": combination,
                    "s": min(seconds),
                    "steps": int(model.n_iter_),
                    "gap": float(model.dual_gap_ / model.objective_),
                    "in use": int(np.count_nonzero(model.weights_)),
                    "MB": kept,
                    "MB whole": whole,
                }
            )
    record.save(records.path_of("mkl"))
    page()


def page():
    record = records.load(records.path_of("mkl"))
    write("mkl", "Multiple kernel learning", __doc__.strip(), table(record.rows), records=[record])


if __name__ == "__main__":
    main()
