"""One fit of each metric: its time, and the error of ridge regression after it.

Time: synthetic data of 600 points and 30 features, four of which matter, and labels that say
whether the target is above its median; processor time on one core, the best of three fits.

Error: `KernelRidgeRegressorCV` and `KernelRidgeClassifierCV` on standardised features and after the
metrics, on three random splits of each set with at most 500 points for training; squared error
relative to the variance, or the share of wrong labels in percent.

Few of many: the sine of half the sum of five of 50 normal columns with noise of 0.1, 20 draws of
600 rows. In how many the five have the largest importances, and R2 of `KernelRidgeRegressorCV` on
2,000 new rows: its mean and its lowest.
"""

import time

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import kernelfit
from benchmarks import records
from benchmarks.data import load
from benchmarks.report import table, write

ROWS, FEATURES, ROUNDS = 600, 30, 3
FITS = {
    "KernelMetric()": (kernelfit.KernelMetric(), False),
    "KernelMetric(), labels": (kernelfit.KernelMetric(), True),
    'KernelMetric(kernel="exponential")': (kernelfit.KernelMetric(kernel="exponential"), False),
    'KernelMetric("agop")': (kernelfit.KernelMetric("agop"), False),
    'KernelMetric("agop", diagonal=False)': (
        kernelfit.KernelMetric("agop", diagonal=False),
        False,
    ),
    'KernelMetric("nw")': (kernelfit.KernelMetric("nw"), False),
    'KernelMetric("logdet"), labels': (kernelfit.KernelMetric("logdet", random_state=0), True),
    'NadarayaWatson("local")': (kernelfit.NadarayaWatson("local"), False),
    "RandomFeatureAlignment()": (kernelfit.RandomFeatureAlignment(random_state=0), False),
}


REGRESSION = ("airfoil", "bodyfat", "cpusmall", "housing", "mpg", "pyrim", "space_ga", "triazines")
CLASSIFICATION = ("diabetic", "german", "glass", "heart", "ionosphere", "pima", "sonar", "splice")
TRAIN, TEST, SPLITS = 500, 1000, 3
METRICS = {
    "standardised": StandardScaler(),
    "loo": kernelfit.KernelMetric(random_state=0),
    "agop": kernelfit.KernelMetric("agop", random_state=0),
    "agop, full": kernelfit.KernelMetric("agop", diagonal=False, random_state=0),
}


def errors(name):
    """Return the mean test error after each metric."""
    X, y = load(name)
    if name == "bodyfat":
        X = X[:, 1:]  # the first is a function of the target
    machine = kernelfit.KernelRidgeClassifierCV()
    if name in REGRESSION:
        machine, y = kernelfit.KernelRidgeRegressorCV(), y.astype(np.float64)
    found = {}
    for seed in range(SPLITS):
        rows = np.random.default_rng(seed).permutation(len(y))
        n = min(TRAIN, 2 * len(y) // 3)
        train, test = rows[:n], rows[n : n + TEST]
        for metric, transformer in METRICS.items():
            if metric != "standardised":
                task = "regression" if name in REGRESSION else "classification"
                transformer.set_params(task=task)
            model = make_pipeline(transformer, machine).fit(X[train], y[train])
            score = 1.0 - model.score(X[test], y[test])
            found.setdefault(metric, []).append(score if name in REGRESSION else 100.0 * score)
    return {metric: float(np.mean(values)) for metric, values in found.items()}


DRAWS, COLUMNS, FEW = 20, 50, 5


def few_of_many(method):
    """Return in how many draws the columns that count come first, and R2 after the metric."""
    first, scores = 0, []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((ROWS + 2000, COLUMNS))
        y = np.sin(0.5 * X[:, :FEW].sum(axis=1)) + 0.1 * rng.standard_normal(len(X))
        metric = kernelfit.KernelMetric(method, random_state=0)
        model = make_pipeline(metric, kernelfit.KernelRidgeRegressorCV()).fit(X[:ROWS], y[:ROWS])
        scores.append(model.score(X[ROWS:], y[ROWS:]))
        first += set(np.argsort(-metric.feature_importances_)[:FEW]) == set(range(FEW))
    return {"five first": first, "R2": float(np.mean(scores)), "lowest R2": min(scores)}


def main():
    record = records.start("metric", rows=ROWS, features=FEATURES, rounds=ROUNDS)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3])
    y += 0.1 * rng.standard_normal(ROWS)
    labels = y > np.median(y)
    with threadpool_limits(1):
        for name, (model, classify) in FITS.items():
            seconds = []
            for _ in range(ROUNDS):
                start = time.process_time()
                model.fit(X, labels if classify else y)
                seconds.append(time.process_time() - start)
            record.rows.append({"part": "time", "fit": f"`{name}`", "s": min(seconds)})
        for name in (*REGRESSION, *CLASSIFICATION):
            record.rows.append({"part": "error", "set": name, **errors(name)})
            print(record.rows[-1], flush=True)
        for method in ("loo", "agop"):
            record.rows.append({"part": "few", "metric": method, **few_of_many(method)})
            print(record.rows[-1], flush=True)
    record.save(records.path_of("metric"))
    page()


def page():
    record = records.load(records.path_of("metric"))
    intro, timing, error, few = __doc__.strip().split("\n\n")
    write(
        "metric",
        "Metrics",
        intro,
        timing,
        table(record.rows, "time"),
        error,
        table(record.rows, "error"),
        few,
        table(record.rows, "few"),
        records=[record],
    )


if __name__ == "__main__":
    main()
