"""AutoKernel beside other learners, all at their defaults, on public tables.

    python -m benchmarks.auto_tables heart mpg            # measure these sets
    python -m benchmarks.auto_tables --splits 1           # all sets, the first split of each
    python -m benchmarks.auto_tables --contenders CatBoost LightGBM
    python -m benchmarks --page auto_tables               # write the page from what was measured

Five random splits a set: three quarters of the rows, but at most 1,000, for training, at most 2,000
others for testing, stratified in classification. Every contender gets the raw numbers, on one
thread, at its defaults; the cross-validated Gaussian SVM gets them standardised. All choices are
made inside the training part. Accuracy and log loss, or the mean squared error relative to the
variance of the test targets; seconds of one fit, by the processor and by the clock.

Decisions about the design (members, their order, the pull of the stack) were made on the sets of
`DESIGN` alone, every other one in alphabetical order and monks2; the others were only measured. Two
later ones had other guides: the start of learned widths was kept after a look at three variants on
all sets, on which they hardly differ, and time limits were settled on the tables of `auto_clock`.
Contenders that are not installed are left out. What was measured with the same settings is kept:
of AutoKernel with the same code alone. "AutoKernel, 5 s" has a time limit; like the slow contenders
it is measured where it is asked for. On ten sets with many test rows the share of the targets
inside its intervals and sets is measured as well.
"""

import argparse
import time
import warnings
from importlib import import_module

import numpy as np
from scipy.stats import rankdata
from sklearn import datasets
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import records
from benchmarks.data import load
from benchmarks.report import markdown, write
from benchmarks.tuned import TunedCatBoost
from kernelfit import AutoKernelClassifier, AutoKernelRegressor, KernelSVCCV, KernelSVRCV

CLASSIFICATION = (
    "breast_cancer", "breast_cancer_diagnostic", "climate", "covtype", "diabetic", "digits", "eeg",
    "fertility", "fourclass", "german", "glass", "haberman", "heart", "hill_valley", "ijcnn1",
    "ionosphere", "iris", "liver", "monks1", "monks2", "monks3", "pima", "shill_bidding", "sonar",
    "spambase", "spect", "splice", "svmguide1", "transfusion", "wine",
)  # fmt: skip
REGRESSION = (
    "abalone", "airfoil", "bodyfat", "california", "ccpp", "cpusmall", "diabetes", "gas_turbine",
    "housing", "mg_part", "mpg", "pyrim", "space_ga", "triazines",
)  # fmt: skip
SETS = CLASSIFICATION + REGRESSION
# Every other set; and monks2, which with diabetic led to choosing members by calibrated log loss.
DESIGN = (*CLASSIFICATION[::2], "monks2", *REGRESSION[::2])
BUNDLED = {"digits": "load_digits", "diabetes": "load_diabetes", "iris": "load_iris"}
SPLITS = 5
TRAIN, TEST = 1000, 2000
OURS = "AutoKernel"
LIMITED = "AutoKernel, 5 s"
COVERED = (
    "covtype", "digits", "eeg", "ijcnn1", "spambase", "abalone", "airfoil", "california", "ccpp",
    "space_ga",
)  # fmt: skip
LABELS = {"accuracy": "accuracy, %", "log_loss": "log loss", "error": "relative MSE"}
SCORES = (
    ("accuracy", CLASSIFICATION, 1),
    ("log_loss", CLASSIFICATION, -1),
    ("error", REGRESSION, -1),
)
LEVELS = (0.8, 0.9, 0.95)
SHARE = f"coverage {LEVELS[0]}"


def _gaussian_svm(regression):
    return make_pipeline(StandardScaler(), KernelSVRCV() if regression else KernelSVCCV())


def _xgboost(regression):
    module = import_module("xgboost")
    return (module.XGBRegressor if regression else module.XGBClassifier)(n_jobs=1)


def _lightgbm(regression):
    module = import_module("lightgbm")
    model = module.LGBMRegressor if regression else module.LGBMClassifier
    return model(n_jobs=1, verbose=-1)


def _catboost(regression):
    module = import_module("catboost")
    model = module.CatBoostRegressor if regression else module.CatBoostClassifier
    return model(verbose=0, thread_count=1, allow_writing_files=False, random_seed=0)


def _tuned_catboost(regression):
    import_module("catboost")
    return TunedCatBoost(regression)


def _torch_device():
    return "cuda" if import_module("torch").cuda.is_available() else "cpu"


def _realmlp(regression):
    module = import_module("pytabkit")
    model = module.RealMLP_TD_Regressor if regression else module.RealMLP_TD_Classifier
    return model(device=_torch_device(), random_state=0, n_threads=1)


def _xrfm(regression):
    module = import_module("pytabkit")
    model = module.XRFM_D_Regressor if regression else module.XRFM_D_Classifier
    return model(device=_torch_device(), random_state=0, n_threads=1)


def _either(classifier, regressor, **options):
    return lambda regression: (regressor if regression else classifier)(**options)


CONTENDERS = {
    OURS: _either(AutoKernelClassifier, AutoKernelRegressor, random_state=0),
    "Gaussian SVM": _gaussian_svm,
    "random forest": _either(
        RandomForestClassifier, RandomForestRegressor, n_estimators=500, random_state=0
    ),
    "extra trees": _either(
        ExtraTreesClassifier, ExtraTreesRegressor, n_estimators=500, random_state=0
    ),
    "HistGB": _either(
        HistGradientBoostingClassifier, HistGradientBoostingRegressor, random_state=0
    ),
    "XGBoost": _xgboost,
    "LightGBM": _lightgbm,
    "CatBoost": _catboost,
}
SLOW = {"CatBoost, tuned": _tuned_catboost, "RealMLP": _realmlp, "xRFM": _xrfm}
MORE = {
    LIMITED: _either(AutoKernelClassifier, AutoKernelRegressor, time_limit=5.0, random_state=0),
    **SLOW,
}


def task(name):
    """Return X and y of a set, all of its parts."""
    if name in BUNDLED:
        return getattr(datasets, BUNDLED[name])(return_X_y=True)
    X, y = load(name, parts=("train", "test"))
    if name == "bodyfat":
        X = X[:, 1:]  # the first column is a function of the target
    if name == "climate":
        X = X[:, 2:]  # the first two number the runs
    return X, y


def split(name, seed, n_train=TRAIN, n_test=TEST):
    """Return the training and test parts of a split."""
    X, y = task(name)
    labels = None
    if name in CLASSIFICATION:
        y = labels = np.unique(y, return_inverse=True)[1]
    size = min(n_train, 3 * len(y) // 4)
    train, rest = train_test_split(
        np.arange(len(y)), train_size=size, random_state=seed, stratify=labels
    )
    test = rest[:n_test]
    return X[train], y[train], X[test], y[test]


def coverage(model, X, y, regression):
    """Return the share of the targets inside intervals or sets, in %, by their level."""
    found = {}
    for level in LEVELS:
        if regression:
            low, high = model.predict_interval(X, 1.0 - level).T
            inside = (low <= y) & (y <= high)
        else:
            inside = model.predict_set(X, 1.0 - level)[np.arange(len(y)), y]
        found[f"coverage {level}"] = 100.0 * float(np.mean(inside))
    return found


def evaluate(contender, name, seed):
    """Return the scores and the seconds of one fit, or None where it is not installed."""
    regression = name in REGRESSION
    try:
        model = {**CONTENDERS, **MORE}[contender](regression)
    except ImportError:
        return None
    X, y, X_test, y_test = split(name, seed)
    found = fit_and_score(model, X, y, X_test, y_test, regression)
    if contender == OURS and name in COVERED:
        found |= coverage(model, X_test, y_test, regression)
    return found


def fit_and_score(model, X, y, X_test, y_test, regression):
    """Return the scores and the seconds of one fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began, busy = time.perf_counter(), time.process_time()
        model.fit(X, y)
        taken = {"cpu": time.process_time() - busy, "seconds": time.perf_counter() - began}
        if regression:
            error = np.mean((np.ravel(model.predict(X_test)) - y_test) ** 2)
            return {"error": float(error / y_test.var()), **taken}
        p = np.asarray(model.predict_proba(X_test))
    truth = np.maximum(p[np.arange(len(y_test)), y_test], 1e-15)
    accuracy = 100.0 * np.mean(p.argmax(axis=1) == y_test)
    return {"accuracy": float(accuracy), "log_loss": float(-np.log(truth).mean()), **taken}


def resume(path, name):
    """Return the record of a set; where the code is another one, without what it measured."""
    record = records.resume(path, "auto_tables", set=name, train=TRAIN, test=TEST)
    if record.rows or not path.exists():
        return record
    former = records.load(path)
    if former.header["settings"] == record.header["settings"]:
        record.rows = [
            {k: v for k, v in row.items() if k not in (OURS, LIMITED)} for row in former.rows
        ]
    return record


def measure(name, n_splits=SPLITS, contenders=tuple(CONTENDERS)):
    """Record what every contender reaches on the splits not recorded yet."""
    path = records.path_of("auto_tables", name)
    record = resume(path, name)
    for seed in range(n_splits):
        row = next((row for row in record.rows if row["split"] == seed), None)
        if row is None:
            row = {"split": seed}
            record.rows.append(row)
        for contender in contenders:
            if contender in row:
                continue
            found = evaluate(contender, name, seed)
            if found is not None:
                row[contender] = found
                record.save(path)
                shown = {key: round(value, 4) for key, value in found.items()}
                print(name, seed, contender, shown, flush=True)


def _means(record, contenders, score):
    """Return the mean score of every contender over the splits that all have."""
    rows = [row for row in record.rows if all(one in row for one in contenders)]
    return [np.mean([row[one][score] for row in rows]) for one in contenders] if rows else None


def _part(tables, names, contenders, score, best):
    """Return {set: means} and the mean ranks."""
    means = {name: _means(tables[name], contenders, score) for name in names if name in tables}
    means = {name: found for name, found in means.items() if found is not None}
    if not means:
        return means, []
    ranks = [rankdata(-best * np.round(found, 6)) for found in means.values()]
    return means, np.mean(ranks, axis=0)


def _slow(tables):
    """Return a part on slow contenders beside AutoKernel, each on the sets measured so far."""
    rows = []
    for contender in SLOW:
        for score, names, best in SCORES:
            means, ranks = _part(tables, names, [OURS, contender], score, best)
            if means:
                ours, other = _overall(means, score)
                wins = round(len(means) * (2.0 - ranks[0]))
                rows.append([contender, LABELS[score], len(means), wins, float(ours), float(other)])
    if not rows:
        return []
    return [
        "Slow contenders, on some sets and splits so far: a random search of 30 points for "
        "CatBoost; RealMLP and xRFM at the defaults of pytabkit, on a GPU. Sets on which "
        "AutoKernel leads, and means.",
        markdown(["contender", "score", "sets", "ahead", OURS, "contender's"], rows),
    ]


def _limited(tables, present):
    """Return a part on AutoKernel with a time limit, in its own place among the others."""
    others = [one for one in present if one != OURS]
    rows = []
    for score, names, best in SCORES:
        means, _ = _part(tables, names, [OURS, LIMITED, *others], score, best)
        if not means:
            continue
        values = -best * np.round(list(means.values()), 6)
        shown = [
            f"{mean:.4g} ({rankdata(np.delete(values, other, axis=1), axis=1)[:, 0].mean():.2f})"
            for mean, other in zip(_overall(means, score)[:2], (1, 0), strict=True)
        ]
        rows.append([LABELS[score], len(means), *shown])
    if not rows:
        return []
    taken = [r[LIMITED]["seconds"] for t in tables.values() for r in t.rows if LIMITED in r]
    return [
        "AutoKernel with a limit of 5 s, in its own place among the others: mean (rank). It took "
        f"at most {max(taken):.1f} s by the clock.",
        markdown(["score", "sets", OURS, LIMITED], rows),
    ]


def _overall(means, score):
    """Return the mean over sets; a geometric one of relative errors."""
    values = np.array(list(means.values()))
    return np.exp(np.log(values).mean(axis=0)) if score == "error" else values.mean(axis=0)


def page():
    tables = records.load_table("auto_tables", SETS)
    rows = [row for table in tables.values() for row in table.rows]
    taken = {
        one: [row[one]["cpu"] for row in rows if "cpu" in row.get(one, {})] for one in CONTENDERS
    }
    for table in tables.values():  # splits that are not complete do not count
        table.rows = [row for row in table.rows if OURS in row]
    present = [
        one for one in CONTENDERS if all(one in row for t in tables.values() for row in t.rows)
    ]
    summary, details = [], []
    for title, chosen in (
        ("all sets", SETS), ("sets of the design", DESIGN),
        ("other sets", tuple(name for name in SETS if name not in DESIGN)),
    ):  # fmt: skip
        for score, names, best in SCORES:
            names = [name for name in names if name in chosen]
            means, ranks = _part(tables, names, present, score, best)
            if not means:
                continue
            mean = _overall(means, score)
            rows = [f"{m:.4g} ({r:.2f})" for m, r in zip(mean, ranks, strict=True)]
            summary.append([f"{title}: {LABELS[score]}", len(means), *rows])
            if chosen is SETS:
                details += [
                    [name + (" *" if name in DESIGN else ""), LABELS[score], *map(float, found)]
                    for name, found in means.items()
                ]
    covered = []
    for name in COVERED:
        rows = [row[OURS] for row in tables[name].rows] if name in tables else []
        shares = [[row[f"coverage {level}"] for level in LEVELS] for row in rows if SHARE in row]
        if shares:
            covered.append([name, *map(float, np.mean(shares, axis=0))])
    seconds = [float(np.mean(taken[one])) if taken[one] else "-" for one in present]
    counts = sorted({len(table.rows) for table in tables.values()})
    write(
        "auto_tables",
        "AutoKernel on public tables",
        f"Random splits a set: {' or '.join(map(str, counts))}; at most {TRAIN} rows for "
        "training, every contender at its defaults on one thread. In brackets the mean rank among "
        f"the {len(present)} contenders; the mean of relative MSEs is geometric. Design decisions "
        "were made on the sets with a star; the others were only measured. The seconds are those "
        "of one core.",
        markdown(["mean (rank)", "sets", *present], summary),
        markdown(["set", "score", *present], details),
        markdown(["", *present], [["seconds of a fit, mean", *seconds]]),
        *_limited(tables, present),
        *_slow(tables),
        "Share of the targets inside the intervals and sets of AutoKernel, %:",
        markdown(["set", *(f"level {level}" for level in LEVELS)], covered),
        records=tables.values(),
    )


def main(names=SETS, n_splits=SPLITS, contenders=tuple(CONTENDERS)):
    for number in range(1, n_splits + 1):  # a first split of all sets before the second of any
        for name in names:
            measure(name, number, contenders)
    page()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="set", help=", ".join(SETS))
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument(
        "--contenders", nargs="+", choices=[*CONTENDERS, *MORE], default=tuple(CONTENDERS)
    )
    options = parser.parse_args()
    main(options.names or SETS, options.splits, options.contenders)
