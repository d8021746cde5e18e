"""The comparators of the DANK paper by its protocol, beside its figures: LogDet, RF and NW.

Splits, scaling and measures are those of `dank_tables`. C and gamma are those of the plain machine,
by 5-fold cross-validation on the paper's grid, as for DANK. LogDet (Jain et al. 2012) learns the
kernel: all components of the Gaussian kernel matrix, `KernelMetric("logdet")`, a linear machine; RF
(Sinha and Duchi 2016) is `RandomFeatureAlignment` and a linear machine, rho and C by 5-fold
cross-validation; NW (Noh et al. 2017) is `NadarayaWatson("local")` on standardised features. For
comparison: the plain machine with the widths of `KernelMetric()`, its C and gamma chosen again; the
Euclidean NW; and, on the sets named below, DANK and KNPL with the regression in a hyper-reproducing
kernel space (Pan et al. 2017), `out_of_sample="hyper"`, beside the other rules.

    python -m benchmarks.dank_comparators [--repetitions 10] heart sonar ...  # measure these sets
    python -m benchmarks --page dank_comparators             # write the page from what was measured

Splits that were measured with the same code and settings are kept.
"""

import argparse
import warnings

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelfit
from benchmarks import records
from benchmarks.dank_tables import (
    MACHINES,
    REGRESSION,
    RULES,
    SEARCH,
    SEARCH_ROWS,
    TUBE,
    fit_search,
    measure,
    splits,
)
from benchmarks.dank_tables import (
    PAPER as PAPER_MACHINES,
)
from benchmarks.report import markdown, write

REPETITIONS = 10
RHOS = (0.0, 1.0, 10.0, 100.0)
HYPER = ("heart", "sonar", "ionosphere")
# Tables 2 and 6 of the DANK paper: mean and deviation of the test figures.
PAPER = {
    "diabetic": {"LogDet": (78.7, 1.8), "RF": (72.3, 0.8)},
    "heart": {"LogDet": (80.6, 3.5), "RF": (79.1, 2.4)},
    "monks1": {"LogDet": (86.6, 0.2), "RF": (84.4, 0.9)},
    "monks2": {"LogDet": (85.9, 1.2), "RF": (73.6, 1.1)},
    "monks3": {"LogDet": (94.0, 1.3), "RF": (93.7, 0.6)},
    "sonar": {"LogDet": (84.1, 2.2), "RF": (80.5, 3.1)},
    "spect": {"LogDet": (79.6, 3.7), "RF": (76.0, 2.7)},
    "glass": {"LogDet": (71.2, 1.0), "RF": (68.2, 2.2)},
    "fertility": {"LogDet": (86.2, 1.1), "RF": (84.4, 4.3)},
    "wine": {"LogDet": (96.1, 1.8), "RF": (95.1, 1.1)},
    "ionosphere": {},
    "bodyfat": {"NW": (0.097, 0.010)},
    "pyrim": {"NW": (0.604, 0.115)},
    "space_ga": {"NW": (0.308, 0.004)},
    "triazines": {"NW": (0.885, 0.039)},
    "cpusmall": {"NW": (0.037, 0.009)},
    "housing": {"NW": (0.177, 0.015)},
    "mpg": {"NW": (0.182, 0.012)},
}


def run(name, repetitions):
    """Record the splits of a set that are not recorded yet."""
    path = records.path_of("dank_comparators", name)
    chosen = {"search": SEARCH, "rhos": RHOS, "rules": RULES if name in HYPER else ()}
    record = records.resume(path, "dank_comparators", set=name, **chosen)
    done = {row["split"] for row in record.rows}
    for split, *parts in splits(name, repetitions, done):
        record.rows.append({"split": split, "scores": run_split(name, *parts)})
        record.save(path)
        print(name, split, record.rows[-1]["scores"], flush=True)


def run_split(name, X, y, X_test, y_test):
    """Return the test figures of all methods."""
    models, rows = {}, SEARCH_ROWS.get(name)
    widths = kernelfit.KernelMetric(random_state=0)
    if name in REGRESSION:
        search = kernelfit.KernelSVRCV(**SEARCH, epsilons=[TUBE])
        models["NW"] = make_pipeline(
            StandardScaler(), kernelfit.NadarayaWatson("local", random_state=0)
        )
        models["NW Euclidean"] = make_pipeline(
            StandardScaler(), kernelfit.NadarayaWatson(random_state=0)
        )
        own_widths = kernelfit.KernelSVRCV(epsilons=[TUBE])
    else:
        search = kernelfit.KernelSVCCV(**SEARCH)
        own_widths = kernelfit.KernelSVCCV()
    plain = fit_search(search, X, y, rows)
    best = plain.best_params_
    scores = {"SVM-CV": measure(name, X_test, y_test, plain.best_estimator_)}
    if name not in REGRESSION:
        models |= comparators(best)
    for method, model in models.items():
        scores[method] = measure(name, X_test, y_test, model.fit(X, y))
    Z = widths.fit(X, y).transform(X)
    learned = fit_search(own_widths, Z, y, rows).best_estimator_
    scores["SVM-CV on learned widths"] = measure(name, widths.transform(X_test), y_test, learned)
    if name in HYPER:
        for method, options in MACHINES.items():
            machine = getattr(kernelfit, f"{method}Classifier")(**best, **options)
            for rule in (*RULES, "hyper"):
                machine.set_params(out_of_sample=rule).fit(X, y)
                scores[f"{method} {rule}"] = measure(name, X_test, y_test, machine)
    return scores


def comparators(best):
    """Return LogDet and RF for the C and gamma of the plain machine."""
    linear = kernelfit.KernelSVC(kernel="linear", C=best["C"], max_iter=100_000)
    features = kernelfit.RandomFeatureAlignment(best["gamma"], random_state=0)
    grid = {
        "randomfeaturealignment__rho": RHOS,
        "kernelsvc__C": best["C"] * 4.0 ** np.arange(-1, 3),
    }
    return {
        "LogDet": make_pipeline(
            KernelPCA(kernel="rbf", gamma=best["gamma"]),
            kernelfit.KernelMetric("logdet", random_state=0),
            linear,
        ),
        "RF": GridSearchCV(make_pipeline(features, linear), grid, cv=5),
    }


def page():
    rows = []
    tables = records.load_table("dank_comparators", PAPER)
    for name, record in tables.items():
        digits = 3 if name in REGRESSION else 1
        base = np.array([row["scores"]["SVM-CV"] for row in record.rows])
        for method in record.rows[0]["scores"]:
            test = np.array([row["scores"][method] for row in record.rows])
            paper, lead = "", ""
            if method in PAPER[name]:
                mean, deviation = PAPER[name][method]
                paper = f"{mean:.{digits}f} ± {deviation:.{digits}f}"
                lead = f"{mean - PAPER_MACHINES[name]['SVM-CV'][1]:+.{digits}f}"
            rows.append(
                [name, method, len(test), f"{test.mean():.{digits}f} ± {test.std():.{digits}f}",
                 f"{(test - base).mean():+.{digits}f}", paper, lead]
            )  # fmt: skip
    write(
        "dank_comparators",
        "The comparators of the DANK paper",
        __doc__.split("\n\n")[1],
        "Accuracy in percent, or the squared error relative to the variance; means over the splits "
        "± deviation, and the differences to SVM-CV, here and in the paper. Where the figures are "
        "more than a deviation apart, those of SVM-CV mostly are as well (spect, glass, wine, "
        "mpg). The exceptions are NW on housing; monks1, where LogDet has 79 to 81 for slack 0.1 "
        "to 10 and 80 to 2,000 pairs; and RF on monks2, better here, its rho and C cross-validated."
        " The paper does not say how it chose the parameters of either.",
        markdown(
            ["set", "method", "splits", "test", "test - SVM-CV", "paper", "paper - SVM-CV"], rows
        ),
        records=tables.values(),
    )


def main(names=tuple(PAPER), repetitions=REPETITIONS):
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)  # no fit silently unconverged
            warnings.filterwarnings("ignore", "The least populated class")
            run(name, repetitions)
    page()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="+", metavar="set", choices=PAPER, help=", ".join(PAPER))
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    options = parser.parse_args()
    main(options.names, options.repetitions)
