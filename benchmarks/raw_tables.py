"""AutoKernel on raw tables: dates, text, names, ids and money as they come.

    python -m benchmarks.raw_tables                       # measure what is missing
    python -m benchmarks.raw_tables posts sea --splits 1  # the first split of two tables
    python -m benchmarks --page raw_tables                # write the page from what was measured

`raw_sources` names the tables and what has to be installed for them; the rivals need

    pip install skrub catboost lightgbm

A table or a contender that is not installed is left out. What was measured with the same settings
is kept: of AutoKernel, alone and behind skrub, with the same code alone. After a change of the code
the first command measures these two again; PYTHONPATH=<checkout>/src names another checkout's code.

Three random splits a table: two thirds of the rows, but at most 1,000, for training, at most 2,000
others for testing, stratified in classification. Every fit has a process of its own and one thread.
All are at their defaults; "+ skrub" stands behind skrub's TableVectorizer, "tabular_pipeline" is
skrub's own with gradient boosting. "CatBoost, own columns" gets what an analyst would give it:
dates and numbers read by skrub's Cleaner, dates as seconds, strings of three words and more on
average as text, the others as categories. "baseline" predicts the frequencies, or the mean.

The loss is the log loss, or the mean squared error relative to the variance of the test targets.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from importlib import import_module

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from benchmarks import records
from benchmarks.auto_tables import fit_and_score
from benchmarks.raw_sources import SOURCES, load
from benchmarks.report import markdown, write
from kernelfit import AutoKernelClassifier, AutoKernelRegressor

SPLITS = 3
TRAIN, TEST = 1000, 2000
OURS, BEHIND, BASELINE = "AutoKernel", "AutoKernel + skrub", "baseline"
WORSE = 0.05  # besides two standard errors
WORDS = 3.0  # from here on, on average, a string is text to CatBoost
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class OwnColumns(BaseEstimator):
    """CatBoost with its own text and category columns, and dates as numbers."""

    def __init__(self, regression=False):
        self.regression = regression

    def fit(self, X, y):
        self.cleaner_ = import_module("skrub").Cleaner(drop_null_fraction=None).fit(X)
        clean = self.cleaner_.transform(X)
        strings = clean.select_dtypes(exclude=["number", "bool", "datetime", "datetimetz"])
        lengths = {c: strings[c].dropna().astype(str).str.split().str.len() for c in strings}
        self.text_ = [c for c, words in lengths.items() if words.mean() >= WORDS]
        self.category_ = [c for c in strings if c not in self.text_]
        self.model_ = _catboost(self.regression).set_params(
            text_features=self.text_, cat_features=self.category_
        )
        self.model_.fit(self._numbers(clean), y)
        return self

    def _numbers(self, clean):
        for column in clean.select_dtypes(["datetime", "datetimetz"]):
            seconds = clean[column].astype("int64") / 1e9
            clean[column] = seconds.where(clean[column].notna())
        strings = [*self.text_, *self.category_]
        clean[strings] = clean[strings].astype(object).fillna("").astype(str)
        return clean

    def predict(self, X):
        return self.model_.predict(self._numbers(self.cleaner_.transform(X)))

    def predict_proba(self, X):
        return self.model_.predict_proba(self._numbers(self.cleaner_.transform(X)))


def _catboost(regression):
    module = import_module("catboost")
    model = module.CatBoostRegressor if regression else module.CatBoostClassifier
    return model(verbose=0, thread_count=1, allow_writing_files=False, random_seed=0)


def _lightgbm(regression):
    module = import_module("lightgbm")
    model = module.LGBMRegressor if regression else module.LGBMClassifier
    return model(n_jobs=1, verbose=-1, random_state=0)


def _ours(regression):
    return (AutoKernelRegressor if regression else AutoKernelClassifier)(random_state=0)


def _own_columns(regression):
    import_module("catboost"), import_module("skrub")
    return OwnColumns(regression)


def _behind(learner):
    """Return a contender whose table is read by TableVectorizer, at its defaults."""

    def build(regression):
        skrub = import_module("skrub")
        reader = skrub.TableVectorizer(high_cardinality=skrub.StringEncoder(random_state=0))
        # Names of columns that hold JSON's signs would be refused by LightGBM.
        return make_pipeline(reader, FunctionTransformer(np.asarray), learner(regression))

    return build


def _tabular_pipeline(regression):
    pipeline = import_module("skrub").tabular_pipeline("regressor" if regression else "classifier")
    pipeline.set_params(tablevectorizer__high_cardinality__random_state=0)
    return pipeline.set_params(**{f"{pipeline.steps[-1][0]}__random_state": 0})


CONTENDERS = {
    OURS: _ours,
    BEHIND: _behind(_ours),
    "tabular_pipeline": _tabular_pipeline,
    "CatBoost + skrub": _behind(_catboost),
    "LightGBM + skrub": _behind(_lightgbm),
    "CatBoost, own columns": _own_columns,
    BASELINE: lambda regression: DummyRegressor() if regression else DummyClassifier(),
}


def split(name, seed):
    """Return the training and test parts of a split."""
    X, y = load(name)
    labels = None
    if not SOURCES[name].regression:
        y = labels = np.unique(y, return_inverse=True)[1]
    size = min(TRAIN, 2 * len(y) // 3)
    train, rest = train_test_split(
        np.arange(len(y)), train_size=size, random_state=seed, stratify=labels
    )
    test = rest[:TEST]
    return X.iloc[train], y[train], X.iloc[test], y[test]


def evaluate(contender, name, seed):
    """Return the scores and the seconds of one fit, a refusal, or None where it is missing."""
    regression = SOURCES[name].regression
    try:
        model = CONTENDERS[contender](regression)
        parts = split(name, seed)
    except ImportError as missing:
        print(f"{name}, {contender}: {missing}", file=sys.stderr)
        return None
    began = time.process_time()
    try:
        return fit_and_score(model, *parts, regression)
    except ValueError as error:
        return {"refused": str(error).splitlines()[0], "cpu": time.process_time() - began}


def _in_a_process(contender, name, seed):
    """Return what `evaluate` finds in a fresh process with one thread."""
    command = [sys.executable, "-m", "benchmarks.raw_tables", name, "--one", str(seed)]
    command += ["--contenders", contender]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, env=os.environ | dict.fromkeys(THREADS, "1")
    )
    return json.loads(done.stdout.splitlines()[-1])


def resume(path, name):
    """Return the record of a table; where the code is another one, without AutoKernel's rows."""
    record = records.resume(path, "raw_tables", set=name, train=TRAIN, test=TEST)
    if record.rows or not path.exists():
        return record
    former = records.load(path)
    if former.header["settings"] == record.header["settings"]:
        record.rows = [row for row in former.rows if row["contender"] not in (OURS, BEHIND)]
    return record


def measure(name, n_splits=SPLITS, contenders=tuple(CONTENDERS)):
    """Record what every contender reaches on the splits not recorded yet."""
    path = records.path_of("raw_tables", name)
    record = resume(path, name)
    for seed, contender in itertools.product(range(n_splits), contenders):
        key = {"split": seed, "contender": contender}
        if any(key.items() <= row.items() for row in record.rows):
            continue
        found = _in_a_process(contender, name, seed)
        if found is not None:
            record.rows.append(key | found)
            record.save(path)
            print(name, json.dumps(record.rows[-1]), flush=True)


def _losses(record, contender):
    """Return the losses of a contender by split; infinite where it refused."""
    score = "error" if SOURCES[record.header["settings"]["set"]].regression else "log_loss"
    rows = [row for row in record.rows if row["contender"] == contender]
    return {row["split"]: row.get(score, np.inf) for row in rows}


def _common(record, contenders):
    """Return the losses on the splits that all contenders have, (splits, contenders)."""
    losses = [_losses(record, contender) for contender in contenders]
    splits = [s for s in range(SPLITS) if all(s in found for found in losses)]
    return np.array([[found[s] for found in losses] for s in splits])


def _paired(tables, other):
    """Return one row a table: the loss relative to another contender's, and whether it is worse."""
    rows, worse = [], 0
    for name, record in tables.items():
        found = _common(record, (OURS, other))
        if len(found) < 2 or not np.isfinite(found[:, 1]).all():
            continue
        ours, theirs = found.T
        ratio, difference = ours.mean() / theirs.mean(), ours - theirs
        cells = ["refused", "", "worse"]
        if np.isfinite(ratio):
            error = difference.std(ddof=1) / np.sqrt(len(difference))
            side = difference.mean() / max(error, 1e-12)
            verdict = "worse" if side > 2.0 and ratio > 1.0 + WORSE else ""
            verdict = "better" if side < -2.0 and ratio < 1.0 / (1.0 + WORSE) else verdict
            cells = [f"{ratio:.3f}", f"{2.0 * error / theirs.mean():.3f}", verdict]
        worse += cells[-1] == "worse"
        rows.append([name, *cells])
    return rows, worse


def _overview(present, values, cpu):
    """Return the rows that sum up the losses, (tables, contenders)."""
    base = values[:, [present.index(BASELINE)]]
    relative = np.where(np.isinf(values), 1.0, values / base)
    rivals = [k for k, contender in enumerate(present) if contender not in (BEHIND, BASELINE)]
    among = dict(zip(rivals, _mean_ranks(values[:, rivals]), strict=True))
    shown = [f"{among[k]:.2f}" if k in among else "" for k in range(len(present))]
    ahead = (values[:, [present.index(OURS)]] < values).sum(axis=0)
    return [
        ["mean rank", *(f"{rank:.2f}" for rank in _mean_ranks(values))],
        [f"mean rank without {BEHIND}, {BASELINE}", *shown],
        [f"tables on which {OURS} is ahead", *map(int, ahead)],
        ["loss / baseline's, geometric mean", *np.exp(np.log(relative).mean(axis=0)).tolist()],
        ["processor seconds of a fit, mean", *cpu],
    ]


def _mean_ranks(values):
    return rankdata(np.round(values, 6), axis=1).mean(axis=0)


def _each(tables, contender, key):
    """Return {table: mean over splits} of a contender's figures, where it has any."""
    found = {}
    for name, table in tables.items():
        values = [row[key] for row in table.rows if row["contender"] == contender and key in row]
        found |= {name: float(np.mean(values))} if values else {}
    return found


def page():
    tables = {  # those whose measuring has come as far as to AutoKernel
        name: record
        for name, record in records.load_table("raw_tables", SOURCES).items()
        if all(_losses(record, contender) for contender in (OURS, BEHIND, BASELINE))
    }
    present = [c for c in CONTENDERS if all(_losses(record, c) for record in tables.values())]
    common = {name: _common(record, present) for name, record in tables.items()}
    counts = sorted({len(found) for found in common.values()})
    means = {name: found.mean(axis=0) for name, found in common.items() if len(found)}
    rows = [
        [name, SOURCES[name].raw, "relative MSE" if SOURCES[name].regression else "log loss",
         *("refused" if np.isinf(loss) else float(loss) for loss in losses)]
        for name, losses in means.items()
    ]  # fmt: skip
    cpu = [float(np.mean([*_each(tables, one, "cpu").values()])) for one in present]
    accuracy = {one: _each(tables, one, "accuracy") for one in present}
    accuracies = [
        [name, *(f"{accuracy[c][name]:.1f}" if name in accuracy[c] else "refused" for c in present)]
        for name in means
        if not SOURCES[name].regression
    ]
    paired, worse = _paired(tables, BEHIND)
    write(
        "raw_tables",
        "AutoKernel on raw tables",
        f"{len(tables)} tables, splits of each: {' or '.join(map(str, counts))}. At most {TRAIN} "
        "rows for training, every contender at its defaults on one thread. These tables guide the "
        "design of what reads columns: other tables are the proof. A refusal has the last rank, "
        'and counts as the baseline in the mean. "orders" and "tickets" are made by a rule.',
        markdown(["table", "raw columns", "loss", *present], rows),
        markdown(["", *present], _overview(present, np.array([*means.values()]), cpu)),
        "Accuracy, %:",
        markdown(["table", *present], accuracies),
        f"{OURS} beside itself behind TableVectorizer: its loss divided by that one's, with two "
        "standard errors of the paired differences. It is worse (or better) where these and "
        f"{100 * WORSE:.0f} % are passed: worse on {worse} of {len(paired)} tables.",
        markdown(["table", "ratio", "two standard errors", ""], paired),
        records=tables.values(),
    )


def main(names=tuple(SOURCES), n_splits=SPLITS, contenders=tuple(CONTENDERS)):
    for number in range(1, n_splits + 1):  # a first split of all tables before the second of any
        for name in names:
            measure(name, number, contenders)
    page()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="table", help=", ".join(SOURCES))
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=tuple(CONTENDERS))
    parser.add_argument("--one", type=int, metavar="SPLIT", help="print one fit, record nothing")
    options = parser.parse_args()
    if options.one is None:
        main(options.names or tuple(SOURCES), options.splits, options.contenders)
    else:
        print(json.dumps(evaluate(options.contenders[0], options.names[0], options.one)))
