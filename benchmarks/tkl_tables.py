"""The paper's protocol: test errors over 5 random splits, 80 % for training.

    python -m benchmarks.tkl_tables fourclass airfoil     # measure these sets
    python -m benchmarks --page tkl_tables                # write the page from what was measured

C, delta and (in regression) epsilon are chosen by 2-fold cross-validation in the training part, as
are the parameters of the rivals: C and gamma of a Gaussian SVM, the number of trees of a random
forest and of XGBoost. Regression targets are standardised for training; errors are in the units of
the data, those of california after division by its range, which gives figures of the printed size.
C runs from 0.01 to 10^4, and to 10^7 where that choice lay at the upper end. On ccpp and
california it runs from 0.1 to 1000, and the parameters of TKL and of the SVM are chosen on 4,000
rows of the training part. Splits that were measured with the same code and settings are kept.
"""

import argparse
import time

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from benchmarks import records
from benchmarks.data import load, unit_range
from benchmarks.report import markdown, write
from kernelfit import KernelSVCCV, KernelSVRCV, TKLClassifierCV, TKLRegressorCV

# What Tables 3 and 4 of the paper print for TKL, random forest and XGBoost: percent correct, or
# mean squared error. None: the set is not in the paper's tables.
PAPER = {
    "abalone": (84.61, 84.11, 82.69),
    "transfusion": (77.84, 75.00, 73.92),
    "german": (75.80, 74.90, 72.40),
    "hill_valley": (86.70, 56.04, 55.66),
    "shill_bidding": (99.76, 99.35, 99.61),
    "fourclass": (99.77, 99.30, 98.95),
    "pima": None,
    "heart": None,
    "liver": None,
    "breast_cancer": None,
    "airfoil": (1.41, 2.36, 1.51),
    "ccpp": (10.57, 10.75, 8.98),
    "california": (0.012, 0.0096, 0.0092),
    "space_ga": None,  # "Space" of the paper has 12 features and 8,192 rows: another set
    "housing": (10.36, 10.27, 9.40),
}
REGRESSION = {"airfoil", "ccpp", "california", "space_ga", "housing"}
SPLITS = 5
TREES = range(50, 651, 50)
LARGE_C = {"hill_valley", "housing"}
SEARCH_ROWS = {"ccpp": 4000, "california": 4000}
CONTENDERS = ("TKL", "SVM", "forest", "XGBoost")
POWERS = 2.0 ** np.arange(-5, 6)


class TreesCV:
    """The number of trees by 2-fold cross-validation.

    Trees are grown one after the other and do not depend on how many follow: one ensemble of the
    largest size holds all the smaller ones.
    """

    def __init__(self, model, partial_predictions):
        self.model, self.partial_predictions = model, partial_predictions

    def fit(self, X, y):
        regression = np.issubdtype(np.asarray(y).dtype, np.floating)
        score, folds = (r2_score, KFold(2)) if regression else (accuracy_score, StratifiedKFold(2))
        scores = []
        for train, test in folds.split(X, y):
            largest = clone(self.model).set_params(n_estimators=max(TREES)).fit(X[train], y[train])
            partial = self.partial_predictions(largest, X[test], regression)
            scores.append([score(y[test], predicted) for predicted in partial])
        trees = TREES[int(np.argmax(np.mean(scores, axis=0)))]
        self.best_params_ = {"n_estimators": trees}
        self.best_estimator_ = clone(self.model).set_params(n_estimators=trees).fit(X, y)
        return self

    def predict(self, X):
        return self.best_estimator_.predict(X)


def partial_forest(forest, X, regression):
    """Yield the predictions of the first 50, 100, .. trees."""
    total = 0.0
    for k, tree in enumerate(forest.estimators_, start=1):
        total = total + (tree.predict(X) if regression else tree.predict_proba(X))
        if k in TREES:
            yield total / k if regression else forest.classes_[np.argmax(total, axis=1)]


def partial_boosting(boosted, X, regression):
    """Yield the predictions of the first 50, 100, .. rounds."""
    for k in TREES:
        yield boosted.predict(X, iteration_range=(0, k))


class SearchOnPart:
    """A search whose candidates are compared on some of the training rows."""

    def __init__(self, search, rows):
        self.search, self.rows = search, rows

    def fit(self, X, y):
        part = np.random.default_rng(0).permutation(len(y))[: self.rows]
        found = self.search.fit(X[part], y[part])
        self.best_params_ = found.best_params_
        self.best_estimator_ = clone(found.best_estimator_).fit(X, y)
        return self

    def predict(self, X):
        return self.best_estimator_.predict(X)


def task(name):
    """Return X, y and whether it is regression; abalone is split at its median, 9 rings."""
    X, y = load(name)
    if name == "abalone":
        y = (y > 9).astype(int)
    if name == "california":
        y = y / (y.max() - y.min())
    return X, y, name in REGRESSION


def settings(name):
    """Return what was chosen for a set, as its record keeps it."""
    Cs = 10.0 ** np.arange(-2, 8 if name in LARGE_C else 5)
    found = {
        "TKL": {"Cs": Cs, "deltas": [0.1, 0.5, 2.0], "cv": 2, "tol": 1e-3},
        "SVM": {"Cs": Cs, "gammas": 0.5 / POWERS[::-1] ** 2, "cv": 2, "tol": 1e-4},
        "trees": [TREES.start, TREES.stop - 1, TREES.step],
    }
    if name in SEARCH_ROWS:
        found["TKL"]["Cs"] = found["SVM"]["Cs"] = Cs[1:-1]
        found["search_rows"] = SEARCH_ROWS[name]
    if name in REGRESSION:
        found["TKL"] |= {"epsilons": [0.01, 0.05, 0.1], "cache_size": 6000}
        found["SVM"] |= {"epsilons": [0.05], "cache_size": 6000}
    return found


def models(name):
    """Return the contenders by name."""
    import xgboost

    options = settings(name)
    if name in REGRESSION:
        found = {
            "TKL": TKLRegressorCV(**options["TKL"]),
            "SVM": KernelSVRCV(**options["SVM"]),
            "forest": TreesCV(RandomForestRegressor(random_state=0), partial_forest),
            "XGBoost": TreesCV(xgboost.XGBRegressor(n_jobs=1), partial_boosting),
        }
    else:
        found = {
            "TKL": TKLClassifierCV(**options["TKL"]),
            "SVM": KernelSVCCV(**options["SVM"]),
            "forest": TreesCV(RandomForestClassifier(random_state=0), partial_forest),
            "XGBoost": TreesCV(xgboost.XGBClassifier(n_jobs=1), partial_boosting),
        }
    if name in SEARCH_ROWS:
        for contender in ("TKL", "SVM"):
            found[contender] = SearchOnPart(found[contender], SEARCH_ROWS[name])
    return found


def measure(name):
    """Record score, choice and CPU seconds of every contender on the splits not recorded yet."""
    path = records.path_of("tkl_tables", name)
    record = records.resume(path, "tkl_tables", set=name, **settings(name))
    done = {row["split"] for row in record.rows}
    X, y, regression = task(name)
    X, labels = unit_range(X), y
    if not regression:
        labels = np.unique(y, return_inverse=True)[1]
    for seed in range(SPLITS):
        if seed in done:
            continue
        parts = train_test_split(
            X, labels, test_size=0.2, random_state=seed, stratify=None if regression else labels
        )
        X_train, X_test, y_train, y_test = parts
        centre, spread = (y_train.mean(), y_train.std()) if regression else (0, 1)
        row = {"split": seed}
        for contender, model in models(name).items():
            start = time.process_time()
            model.fit(X_train, (y_train - centre) / spread if regression else y_train)
            seconds = time.process_time() - start
            predicted = model.predict(X_test)
            if regression:
                score = np.mean((predicted * spread + centre - y_test) ** 2)
            else:
                score = 100 * np.mean(predicted == y_test)
            chosen = {key: float(value) for key, value in model.best_params_.items()}
            row[contender] = {"score": float(score), "seconds": seconds, "chosen": chosen}
            print(name, seed, contender, f"{score:.4g}", chosen, f"{seconds:.1f} s", flush=True)
        record.rows.append(row)
        record.save(path)


def page():
    rows = []
    tables = records.load_table("tkl_tables", PAPER)
    for name, record in tables.items():
        row = [name, "MSE" if name in REGRESSION else "%"]
        for contender in CONTENDERS:
            values = [split[contender]["score"] for split in record.rows]
            row.append(f"{np.mean(values):.4g} ± {np.std(values):.2g}")
        row += map(str, PAPER[name] or ("", "", ""))
        for contender in CONTENDERS:
            row.append(float(np.mean([split[contender]["seconds"] for split in record.rows])))
        rows.append(row)
    write(
        "tkl_tables",
        "Tessellated kernel learning by the paper's protocol",
        "Mean and standard deviation over 5 random splits, 80 % for training; every parameter "
        "chosen by 2-fold cross-validation in the training part; CPU seconds of a whole search. "
        "The paper's splits differ. What each split chose: `tkl_tables/`.",
        markdown(
            ["set", "score", *CONTENDERS, "paper TKL", "paper forest", "paper XGBoost",
             *(f"{contender} s" for contender in CONTENDERS)],
            rows,
        ),
        records=tables.values(),
    )  # fmt: skip


def main(names=tuple(PAPER)):
    for name in names:
        measure(name)
    page()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="+", metavar="set", choices=PAPER, help=", ".join(PAPER))
    main(parser.parse_args().names)
