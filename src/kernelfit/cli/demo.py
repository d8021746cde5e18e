"""A raw table, a learned metric and clusters of any shape, each beside scikit-learn's models.

All data are made up by rules that stand in the code; all figures are measured when it runs.
"""

import time
import warnings
from pathlib import Path
from textwrap import fill, shorten
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_moons
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelfit.cli.explain import describe, headline_facts, measure
from kernelfit.cli.fitting import load_model, report_writer
from kernelfit.cli.methods import make_estimator, read_problem
from kernelfit.cli.output import Output, seconds, show_columns
from kernelfit.cli.tables import write_table
from kernelfit.clustering.auto import KernelClustering
from kernelfit.datasets.made_up import load_tickets
from kernelfit.estimators.metric import KernelMetric
from kernelfit.inspection.headline import headline
from kernelfit.io.files import save
from kernelfit.selection.ridge_cv import KernelRidgeRegressorCV

_METHODS = {
    "auto": "AutoKernel",
    "boosting": "gradient boosting (scikit-learn)",
    "forest": "random forest (scikit-learn)",
    "baseline": "the class shares of training",
}


def run(output: Output, folder: Path, quick: bool) -> None:
    """Fit everything, print comparisons and write a table, a model and a report.

    Parameters
    ----------
    output : Output
    folder : Path
        Where the files are written.
    quick : bool
        Whether to take few rows.
    """
    output.say(
        "All data are made up by rules, in 2 and 3 so that columns and shapes matter.\n"
        "All figures are measured now, on this machine."
    )
    _predict(output, folder, quick)
    _learn_a_metric(output, 300 if quick else 500)
    _cluster(output, 1 if quick else 2)


def _predict(output: Output, folder: Path, quick: bool) -> None:
    """Read a raw table from a file, compare models of it, save and report on one of them."""
    paths = [folder / f"tickets{suffix}" for suffix in (".csv", ".kernelfit", ".html")]
    made = load_tickets(200 if quick else 800)
    write_table(made.data.assign(state=made.target), paths[0])
    problem = read_problem(paths[0], "state", "auto", {}, [])
    frame, y = problem.frame, problem.y
    train, test = train_test_split(np.arange(len(y)), test_size=0.4, random_state=0, stratify=y)
    output.say(f"\n1. A RAW TABLE: {paths[0]}, {len(y)} support tickets. The first one:\n")
    for name, value in {**made.data.iloc[0], "state": y[0]}.items():
        output.say(fill(str(value), 79, initial_indent=f"{name:>9}  ", subsequent_indent=" " * 11))
    rows: list[dict[str, Any]] = []
    models = {}
    for method, what in _METHODS.items():
        limit = 2.0 if quick else None
        models[method] = model = make_estimator(method, problem, limit, 0, verbose=output.talks)
        spent = _fit(output, what, model, frame.iloc[train], y[train])
        model.measured_ = {"training rows": len(train), "seconds": spent}
        model.measured_ |= measure(model, frame.iloc[test], y[test], y[train])
        rows.append({"method": what} | model.measured_)
    ours = models["auto"]
    output.facts |= {"auto": describe(ours) | headline_facts(ours), "methods": rows}
    show_columns(output, output.facts["auto"]["columns"], "What its columns became, untold:")
    output.table(
        f"Escalated or solved? {len(train)} tickets to learn from, {len(test)} others to test on",
        ["method", "right", "log loss", "fit"],
        [
            [row["method"], f"{100 * row['test accuracy']:.1f} %", f"{row['test log loss']:.3f}",
             seconds(row["seconds"])]
            for row in rows
        ],
        "log loss: how good the probabilities are, the smaller the better. All methods\n"
        "are at their defaults, and read the table with kernelfit's TableReader. The\n"
        "first run on a machine compiles for some seconds.\n",
    )  # fmt: skip
    for name, text in headline(headline_facts(ours)):
        output.say(fill(f"{name}: {text}", 79, subsequent_indent="  "))
    save(ours, paths[1])
    again, p = load_model(paths[1]), ours.predict_proba(frame.iloc[test])
    same = bool((again.predict_proba(frame.iloc[test]) == p).all())
    size = paths[1].stat().st_size / 1e6
    output.say(
        f"\nsaved in {paths[1]}: {size:.1f} MB, no code in it\n"
        f"loaded, it predicts {'the same' if same else 'OTHERWISE'}:",
        same=same,
    )
    escalated = ours.classes_.tolist().index("escalated")
    for place in range(3):
        chance, text = 100 * p[place, escalated], shorten(frame["message"].iloc[test[place]], 43)
        output.say(f"  escalated: {chance:3.0f} %, truly {y[test[place]]:<9}  {text}")
    try:
        write_report = report_writer()
    except ImportError as error:
        output.say(str(error))
        return
    output.progress("writing the report ...")
    write_report(
        ours.estimator_, frame.iloc[train], y[train], paths[2],
        X_test=frame.iloc[test], y_test=y[test], title="Which tickets are escalated?",
    )  # fmt: skip
    output.progress()
    output.say(f"report, for a browser: {paths[2].resolve()}", report=str(paths[2]))


def _learn_a_metric(output: Output, n: int) -> None:
    """Learn which of many columns count, and predict with them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 2000, 50))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3] - X[:, 4])
    y += rng.normal(scale=0.3, size=len(y))
    metric = KernelMetric(task="regression", random_state=0)
    models = {
        "KernelMetric, then ridge regression": make_pipeline(metric, KernelRidgeRegressorCV()),
        "the same without the metric": make_pipeline(StandardScaler(), KernelRidgeRegressorCV()),
        "gradient boosting (scikit-learn)": HistGradientBoostingRegressor(random_state=0),
        "random forest (scikit-learn)": RandomForestRegressor(random_state=0),
    }
    title = (
        f"2. MANY COLUMNS OF WHICH FEW COUNT: 50 columns, {n} rows\n"
        "y = sin(2 a) + b c + |d - e| + noise; nobody is told which columns a to e are"
    )
    _compare(output, title, "R²", models, (X[:n], y[:n]), lambda model: model.score(X[n:], y[n:]))
    share = float(metric.feature_importances_[:5].sum())
    text = f"The metric gives {100 * share:.1f} % of the distances to the five columns that count."
    output.say(text, share=share)


def _cluster(output: Output, size: int) -> None:
    """Find groups that are no balls."""
    moons, which = make_moons(200 * size, noise=0.07, random_state=0)
    band = np.random.default_rng(0).normal([0.5, 1.6], [0.9, 0.08], (75 * size, 2))
    X = StandardScaler().fit_transform(np.concatenate([moons, band]))
    truth = np.concatenate([which, np.full(len(band), 2)])
    spectral = SpectralClustering(3, affinity="nearest_neighbors", random_state=0)
    models = {
        "KernelClustering": KernelClustering(random_state=0),
        "HDBSCAN (scikit-learn)": HDBSCAN(),
        "SpectralClustering on neighbours, told k = 3": spectral,
        "AgglomerativeClustering, told k = 3": AgglomerativeClustering(3),
        "KMeans, told k = 3": KMeans(3, n_init=10, random_state=0),
    }
    title = f"3. CLUSTERS OF ANY SHAPE: {len(X)} points, two moons under a band"
    _compare(
        output, title, "agreement", models, (X,),
        lambda model: adjusted_rand_score(truth, model.labels_),
    )  # fmt: skip
    output.say(
        "agreement: with the true groups, beyond chance (adjusted Rand index); 1 is best.\n\n"
        "Next: kernelfit fit YOUR.csv --target COLUMN --out MODEL --report PAGE.html"
    )


def _compare(
    output: Output, title: str, measure: str, models: dict[str, Any], data: Any, score: Any
) -> None:
    """Fit models and show their scores, in the order given."""
    found: list[dict[str, Any]] = [
        {"method": what, "seconds": _fit(output, what, model, *data), measure: float(score(model))}
        for what, model in models.items()
    ]
    output.facts[measure] = found
    rows = [[one["method"], f"{one[measure]:.3f}", seconds(one["seconds"])] for one in found]
    output.table(title, ["method", measure, "fit"], rows)


def _fit(output: Output, what: str, model: Any, *data: Any) -> float:
    """Fit a model and return the seconds that it took."""
    output.progress(f"fitting {what} ...")
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is read how is shown in full
        model.fit(*data)
    spent = time.perf_counter() - began
    output.progress()
    return spent
