"""What large costs do to SVC and to KernelSVC on hill_valley, recomputed in double precision.

Both bounds are computed from the coefficients alone, with the kernel matrix in double precision and
with the same matrix rounded to single precision, in which LIBSVM keeps its rows.
"""

import time
import warnings

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from benchmarks import records
from benchmarks.data import load
from benchmarks.report import table, write
from kernelfit import KernelSVC

GAMMA, COSTS = 1.0 / 32.0, (1e4, 1e6, 1e8, 1e10)


def bounds(K, sign, beta, C):
    """Return the dual and primal value of coefficients, with the best intercept."""
    f = K @ beta
    losses = [np.maximum(1.0 - sign * (f + b), 0.0).sum() for b in sign - f]
    half = 0.5 * float(beta @ f)
    return float(sign @ beta) - half, half + C * min(losses)


def main():
    X, y = load("hill_valley")
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    low, high = X.min(axis=0), X.max(axis=0)
    X, X_test = (X - low) / (high - low), (X_test - low) / (high - low)
    K, K_test = (np.exp(-GAMMA * cdist(A, X, "sqeuclidean")) for A in (X, X_test))
    single = K.astype(np.float32).astype(np.float64)
    sign = np.where(y == y.max(), 1.0, -1.0)
    KernelSVC(gamma=GAMMA).fit(X[:50], y[:50])  # compile or load
    record = records.start("svm_precision", gamma=GAMMA, split=0)
    for C in COSTS:
        for name, machine, train, test in (
            ("SVC", SVC(C=C, gamma=GAMMA), X, X_test),
            ("SVC, kernel matrix given", SVC(C=C, kernel="precomputed"), K, K_test),
            ("KernelSVC", KernelSVC(C=C, gamma=GAMMA), X, X_test),
            ("KernelSVC, rounded matrix", KernelSVC(C=C, kernel="precomputed"), single, K_test),
        ):
            began = time.process_time()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                machine.fit(train, y)
            seconds = time.process_time() - began
            beta = np.zeros(len(y))
            beta[machine.support_] = machine.dual_coef_[0]
            dual, primal = bounds(K, sign, beta, C)
            rounded_dual, rounded_primal = bounds(single, sign, beta, C)
            record.rows.append(
                {
                    "C": C,
                    "machine": name,
                    "dual": dual,
                    "primal": primal,
                    "dual, rounded matrix": rounded_dual,
                    "primal, rounded matrix": rounded_primal,
                    "accuracy": 100.0 * float(machine.score(test, y_test)),
                    "warnings": len(caught),
                    "s": seconds,
                }
            )
    record.save(records.path_of("svm_precision"))
    page()


def page():
    record = records.load(records.path_of("svm_precision"))
    write(
        "svm_precision",
        "Large costs and single precision",
        "hill_valley, 969 rows for training and 243 for the accuracy, features scaled to [0, 1], "
        "Gaussian kernel with gamma = 1/32. Dual and primal value are those of the coefficients, "
        "in double precision, with the kernel matrix and with that matrix rounded to single "
        "precision. At the optimum they are equal; at alpha = 0 the dual is 0.",
        table(record.rows),
        records=[record],
    )


if __name__ == "__main__":
    main()
