"""Who wins where: generated problems of known rule, three seeds each.

Every contender has its defaults, or its own search in the training rows. Features are uniform.
Targets are noisy, or labels flipped, in training alone: 2,000 new rows ask for the rule itself.
Squared error in percent of its variance; from the checkerboard on percent of wrong labels. Means of
the seeds. DANK's search runs on the boards and flipped labels.
"""

import time
import warnings
from importlib.util import find_spec

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelfit
from benchmarks import records
from benchmarks.auto_tables import CONTENDERS, OURS
from benchmarks.report import EDGE_NOTE, at_edge, edge_mark, markdown, write

SEEDS, TEST_ROWS, DANK_ON, KEYS = 3, 2000, ("board", "surface"), ("problem", "seed")
TREES = ("extra trees", "random forest", *(["XGBoost"] if find_spec("xgboost") else []))


def terrain(a, b):  # of the gallery
    block = 1.5 * ((0.15 < a) & (a < 0.45) & (0.15 < b) & (b < 0.7)) - ((0.6 < a) & (b < 0.45))
    return 0.4 * np.sin(4 * a) * np.cos(3 * b) + block + (a + 0.6 * b > 1.25)


RULES = {
    "jumps": lambda a, b, c, *_: 2.0 * (a > 0.3) - (a > 0.7) + (b > 0.4) + (b > 0.8) - (c > 0.2),
    "steps": lambda a, b, c: 1.0 * (a > 0.5) - (b > 0.3) + 2.0 * ((b > 0.6) & (c > 0.4)),
    "terrain": terrain,
    "board": lambda a, b, *_: (np.floor(4 * a) + np.floor(4 * b)) % 2 == 1,
    "ball": lambda a, b, c, *_: (a - 0.5) ** 2 + (b - 0.5) ** 2 + (c - 0.5) ** 2 < 0.24,
    "surface": lambda a, b, c, d, *_: np.sin(8 * a - 4) + (4 * b - 2) * (4 * c - 2) + 2 * d > 1,
    "friedman": lambda a, b, c, d, e, *_: (
        10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
    ),
    "sine": lambda a, b, c, d, e, *_: np.sin(1.7 * (a + b + c + d + e - 2.5)),
}
# Rule, training rows, features, and the deviation of the noise or the share of flipped labels.
PROBLEMS = {
    "additive jumps, 3 of 6 features": ("jumps", 600, 6, 0.1),
    "steps and a product of steps": ("steps", 500, 3, 0.1),
    "terrain with cliffs, 300 rows": ("terrain", 300, 2, 0.1),
    "terrain with cliffs, 800 rows": ("terrain", 800, 2, 0.1),
    "smooth (Friedman), 5 of 10 features": ("friedman", 300, 10, 1.0),
    "smooth, 5 of 50 features": ("sine", 600, 50, 0.1),
    "checkerboard 4 x 4": ("board", 600, 2, 0.0),
    "checkerboard 4 x 4, 2 of 60 features": ("board", 600, 60, 0.0),
    "ball, 3 of 20 features": ("ball", 500, 20, 0.0),
    "30 % of labels flipped, 4 of 12 features": ("surface", 600, 12, 0.3),
}


def draw(rule, rows, features, noise, seed):
    """Return training rows and their targets, test rows and what the rule says of them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows + TEST_ROWS, features))
    y, truth = np.split(RULES[rule](*X.T), [rows])
    if truth.dtype == bool:
        return X[:rows], 1 * (y ^ (rng.uniform(size=rows) < noise)), X[rows:], 1 * truth
    return X[:rows], y + noise * rng.standard_normal(rows), X[rows:], truth


def contenders(rule, regression):
    """Yield names and estimators."""
    yield OURS, CONTENDERS[OURS](regression)
    yield "TKL", kernelfit.TKLRegressorCV() if regression else kernelfit.TKLClassifierCV()
    yield "Gaussian SVM", CONTENDERS["Gaussian SVM"](regression)
    metric = kernelfit.KernelMetric(random_state=0)
    yield "metric + SVM", make_pipeline(metric, CONTENDERS["Gaussian SVM"](regression)[-1])
    if rule in DANK_ON:
        yield "DANK", make_pipeline(StandardScaler(), kernelfit.DANKClassifierCV())
    boosting = GradientBoostingRegressor if regression else GradientBoostingClassifier
    yield "boosting", boosting(random_state=0)
    for tree in TREES:
        yield tree, CONTENDERS[tree](regression)


def main():
    warnings.simplefilter("ignore")
    record = records.start("which_method", seeds=SEEDS, test_rows=TEST_ROWS)
    for name, (rule, *sizes) in PROBLEMS.items():
        for seed in range(SEEDS):
            X, y, X_test, truth = draw(rule, *sizes, seed)
            row = {"problem": name, "seed": seed}
            for contender, model in contenders(rule, regression := truth.dtype == float):
                began = time.process_time()
                wrong = (model.fit(X, y).predict(X_test) - truth) ** 2
                row[contender] = {"seconds": time.process_time() - began}
                row[contender]["error"] = 100.0 * wrong.mean() / (truth.var() if regression else 1)
                search = model[-1] if isinstance(model, Pipeline) else model
                if hasattr(search, "best_params_"):
                    tried = search.cv_results_["params"]
                    row[contender]["edges"] = at_edge(search.best_params_, tried)
            record.rows.append(row)
            print(row, flush=True)
    record.save(records.path_of("which_method"))
    page()


def page():
    record = records.load(records.path_of("which_method"))
    rows, lines = record.rows, []
    columns = list(dict.fromkeys(key for row in rows for key in row if key not in KEYS))
    for name in PROBLEMS:
        lines.append([name])
        for column in columns:
            found = [row[column] for row in rows if row["problem"] == name and column in row]
            mean = f"{np.mean([one['error'] for one in found]):.1f}" if found else ""
            lines[-1].append(mean + edge_mark(one.get("edges", ()) for one in found))
    seconds = [np.mean([row[c]["seconds"] for row in rows if c in row]) for c in columns]
    write(
        "which_method",
        "Who wins where",
        __doc__.strip().split("\n\n", 1)[1],
        markdown(["problem", *columns], [*lines, ["CPU s of a fit", *map(float, seconds)]]),
        EDGE_NOTE,
        records=[record],
    )
