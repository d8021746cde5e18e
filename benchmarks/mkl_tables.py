"""Multiple kernel learning by the papers' protocols, beside their figures.

TKL's comparators (Table 4 of that paper): 5 random splits, 80 % for training, C by 2-fold cross-
validation, standardised features. SMKL is "simple", with ten Gaussians of sigma from 0.5 to 10 and
polynomials of degree 1 to 3, on all features and on each, normalised. AMKL is "average", PWMK
"pwmk" and CKA "alignf_signed", with "alignf" beside it; the paper gives them "a standard selection"
of such kernels from MKLpy, which does not normalise, and times that are too short for more than a
few: so they have the 13 kernels on all features, as they are. KNPL's and DANK's (Table 1 and Table
6 of these): half of the data for training, drawn anew, features scaled to [0, 1]; BMKL is "bayes",
EasyMKL "easy" and DMKL "deep", with C by 5-fold cross-validation. Accuracy in percent, or the
squared error relative to the variance. Neither paper says which kernels or parameters its
comparators had. So BMKL and EasyMKL have two banks, ten Gaussians and polynomials of degree 1 to 3:
on all features together, and on these and on each, as in the experiments of the paper on BMKL.

    python -m benchmarks.mkl_tables [--repetitions 5] transfusion heart ...   # measure these sets
    python -m benchmarks --page mkl_tables                   # write the page from what was measured

Splits that were measured with the same code and settings are kept.
"""

import argparse

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks import records
from benchmarks.dank_tables import REGRESSION, measure, splits
from benchmarks.mkl import PAPER_BANK
from benchmarks.report import markdown, write
from benchmarks.tkl_tables import task
from kernelfit import MKLClassifier, MKLClassifierCV, MKLRegressor
from kernelfit.estimators.bank import DEFAULT_BANK

REPETITIONS = 5
CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
# Kernels that are not normalised have values of any size, and so have their costs.
WIDE_CS = tuple(10.0**k for k in range(-6, 7))
MKLPY_METHODS = {"AMKL": "average", "PWMK": "pwmk", "CKA": "alignf_signed", "alignf": "alignf"}
MKLPY_BANK = [entry for entry in PAPER_BANK if entry["features"] is None]
SMKL_SPLITS = {"hill_valley": 1, "abalone": 1, "shill_bidding": 1}  # of five: minutes each
WHOLE_BANK = [entry for entry in DEFAULT_BANK if entry["features"] is None]
EACH = ", each"  # behind a method: its bank has kernels on single features as well
# Mean and deviation as printed.
TKL = {
    "transfusion": {"SMKL": (76.62, 4.79), "AMKL": (74.46, 1.5), "CKA": (76.35, 4.27)},
    "german": {
        "SMKL": (74.3, 3.55),
        "AMKL": (70.8, 1.47),
        "PWMK": (70.7, 1.5),
        "CKA": (68.5, 1.58),
    },
    "fourclass": {
        "SMKL": (94.53, 12.2),
        "AMKL": (99.99, 0.01),
        "PWMK": (99.99, 0.01),
        "CKA": (66.16, 3.44),
    },
    "hill_valley": {
        "SMKL": (51.23, 3.55),
        "AMKL": (94.71, 1.72),
        "PWMK": (94.34, 1.69),
        "CKA": (47.92, 0.57),
    },
    "abalone": {
        "SMKL": (83.13, 1.06),
        "AMKL": (84.64, 1.01),
        "PWMK": (84.64, 1.01),
        "CKA": (65.05, 0.76),
    },
    "shill_bidding": {
        "SMKL": (97.71, 0.32),
        "AMKL": (99.72, 0.1),
        "PWMK": (99.72, 0.1),
        "CKA": (99.65, 0.21),
    },
}
HALVES = {
    "heart": {"BMKL": (87.33, 0.23), "EasyMKL": (86.67, 1.23), "DMKL": (80.29, 2.7)},
    "sonar": {"BMKL": (84.8, 0.6), "EasyMKL": (81.73, 3.11), "DMKL": (80.57, 5.06)},
    "ionosphere": {"BMKL": (91.08, 1.08), "EasyMKL": (97.41, 0.56), "DMKL": (90.51, 1.9)},
    "haberman": {"BMKL": (69.86, 1.86), "EasyMKL": (74.56, 4.23), "DMKL": (69.93, 3.01)},
    "monks1": {"BMKL": (78.91, 2.55), "EasyMKL": (76.73, 1.25), "DMKL": (84.12, 3.62)},
    "monks2": {"BMKL": (82.12, 1.31), "EasyMKL": (76.68, 1.44), "DMKL": (77.24, 5.72)},
    "monks3": {"BMKL": (94.0, 1.09), "EasyMKL": (81.0, 0.67), "DMKL": (90.69, 3.2)},
    "spect": {"BMKL": (78.88, 0.84), "EasyMKL": (82.5, 3.24), "DMKL": (78.75, 4.47)},
    "diabetic": {"BMKL": (74.97, 0.49), "EasyMKL": (76.72, 1.5), "DMKL": (72.95, 1.03)},
    "climate": {"BMKL": (93.11, 0.46), "EasyMKL": (90.3, 1.12), "DMKL": (94.0, 1.69)},
    "breast_cancer": {"BMKL": (98.95, 1.32), "EasyMKL": (99.52, 0.13), "DMKL": (96.56, 1.04)},
    "bodyfat": {"BMKL": (0.101, 0.065)},
    "pyrim": {"BMKL": (0.512, 0.115)},
    "triazines": {"BMKL": (0.725, 0.124)},
    "housing": {"BMKL": (0.286, 0.027)},
    "mpg": {"BMKL": (0.187, 0.014)},
}
PAPER = {**TKL, **HALVES}


def tkl_split(name, seed):
    """Return the scores of TKL's comparators on one split."""
    X, y, _ = task(name)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    options = {"cv": 2, "tol": 1e-2, "cache_size": 8000}
    models = {
        method: MKLClassifierCV(
            WIDE_CS, kernels=MKLPY_BANK, combination=combination, normalize=False, **options
        )
        for method, combination in MKLPY_METHODS.items()
    }
    if seed < SMKL_SPLITS.get(name, REPETITIONS):
        models = {"SMKL": MKLClassifierCV(CS, kernels=PAPER_BANK, **options), **models}
    return {m: 100.0 * model.fit(X, y).score(X_test, y_test) for m, model in models.items()}


def half_split(name, X, y, X_test, y_test):
    """Return the scores of BMKL, EasyMKL and DMKL on one split."""
    scores = {}
    for ending, bank in {"": WHOLE_BANK, EACH: DEFAULT_BANK}.items():
        options = {"kernels": bank, "cache_size": 8000}
        kind = MKLRegressor if name in REGRESSION else MKLClassifier
        models = {"BMKL": kind(combination="bayes", **options)}
        if name not in REGRESSION:
            models["EasyMKL"] = MKLClassifierCV(CS, combination="easy", **options)
            if bank is WHOLE_BANK:
                models["DMKL"] = MKLClassifierCV(CS, combination="deep", **options)
        for method, model in models.items():
            scores[method + ending] = measure(name, X_test, y_test, model.fit(X, y))
    return scores


def run(name, repetitions):
    """Record the scores of the splits not recorded yet."""
    path = records.path_of("mkl_tables", name)
    record = records.resume(path, "mkl_tables", set=name, Cs=WIDE_CS if name in TKL else CS)
    done = {row["split"] for row in record.rows}
    if name in TKL:
        found = ((s, tkl_split(name, s)) for s in range(repetitions) if s not in done)
    else:
        found = ((s, half_split(name, *data)) for s, *data in splits(name, repetitions, done))
    for split, scores in found:
        print(name, split, {k: round(float(v), 3) for k, v in scores.items()}, flush=True)
        record.rows.append({"split": split, "scores": {k: float(v) for k, v in scores.items()}})
        record.save(path)


def page():
    rows = []
    tables = records.load_table("mkl_tables", PAPER)
    for name, record in tables.items():
        digits = 3 if name in REGRESSION else 1
        for method in record.rows[0]["scores"]:
            rows_of = [row["scores"] for row in record.rows]
            test = np.array([scores[method] for scores in rows_of if method in scores])
            mean, deviation = PAPER[name].get(method.removesuffix(EACH), (np.nan, np.nan))
            paper = "" if np.isnan(mean) else f"{mean:.{digits}f} ± {deviation:.{digits}f}"
            ours = f"{test.mean():.{digits}f} ± {test.std():.{digits}f}"
            rows.append([name, method, len(test), ours, paper])
    write(
        "mkl_tables",
        "Multiple kernel learning by the papers' protocols",
        __doc__.split("\n\n")[1],
        markdown(["set", "method", "splits", "test", "paper"], rows),
        records=tables.values(),
    )


def main(names=tuple(PAPER), repetitions=REPETITIONS):
    for name in names:
        run(name, repetitions)
    page()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="+", metavar="set", choices=PAPER, help=", ".join(PAPER))
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    options = parser.parse_args()
    main(options.names, options.repetitions)
