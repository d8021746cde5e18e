"""Figure 7 of the DANK preprint: rules for new points on few rows of ijcnn1.

8 random draws of 100 and of 200 rows for training, 2,000 others for testing, features in [0, 1]. C
and gamma are those of the plain machine by 5-fold cross-validation, eta the squared norm of its
coefficients, tau = 0.01. Accuracy in percent; seconds are of the processor, fit and prediction, the
median. The figure goes on to 500 rows. It orders the rules as Pan et al. (2017), which is "hyper"
with our hyper-kernel, width and ridge, reciprocal neighbours, nearest neighbours.

    python -m benchmarks dank_rules
"""

import time
import warnings

import numpy as np

from benchmarks import records
from benchmarks.data import load, unit_range
from benchmarks.report import table, write
from kernelfit import DANKClassifier, KernelSVCCV

RULES = ("nearest", "knn", "reciprocal", "smooth", "neutral", "hyper")
SIZES, DRAWS, TEST_ROWS = (100, 200), 8, 2000
POWERS = 2.0 ** np.arange(-5, 6)


def main():
    warnings.simplefilter("ignore")
    record = records.start("dank_rules", rules=RULES, sizes=SIZES, draws=DRAWS)
    X, y = load("ijcnn1")
    X = unit_range(X)
    for n in SIZES:
        scores, seconds = {}, {}
        for draw in range(DRAWS):
            order = np.random.default_rng(draw).permutation(len(y))
            train, test = order[:n], order[n : n + TEST_ROWS]
            plain = KernelSVCCV(0.5 / POWERS[::-1] ** 2, POWERS, tol=1e-4).fit(X[train], y[train])
            scores.setdefault("SVM", []).append(100.0 * plain.score(X[test], y[test]))
            for rule in RULES:
                begin = time.process_time()
                model = DANKClassifier(**plain.best_params_, tau=0.01, out_of_sample=rule)
                model.fit(X[train], y[train])
                scores.setdefault(rule, []).append(100.0 * model.score(X[test], y[test]))
                seconds.setdefault(rule, []).append(time.process_time() - begin)
        for method, values in scores.items():
            took = float(np.median(seconds[method])) if method in seconds else ""
            accuracy = f"{np.mean(values):.1f} ± {np.std(values):.1f}"
            row = {"rows": n, "rule": method, "accuracy": accuracy, "s": took}
            record.rows.append({"part": "rules", **row})
    record.save(records.path_of("dank_rules"))
    page()


def page():
    record = records.load(records.path_of("dank_rules"))
    write(
        "dank_rules",
        "Rules for new points on few rows",
        __doc__.split("\n\n")[1],
        table(record.rows, "rules"),
        records=[record],
    )
