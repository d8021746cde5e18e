"""AutoKernel and the papers' learners on data that come with scikit-learn."""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from kernelfit.cli.explain import headline_facts, measure
from kernelfit.cli.fitting import report_writer
from kernelfit.cli.methods import Problem, make_estimator
from kernelfit.cli.output import Output, seconds
from kernelfit.inspection.headline import headline

METHODS = {
    "auto": "AutoKernel, an ensemble of kernel machines",
    "svm": "support vector machine, kernel width and cost chosen",
    "tkl": "TKL: learns a tessellated kernel",
    "dank": "DANK: learns a factor of its kernel matrix",
    "knpl": "KNPL: the same with fixed row sums",
    "mkl": "multiple kernels, their weights learned",
    "linear": "logistic regression (scikit-learn)",
    "forest": "random forest (scikit-learn)",
    "boosting": "gradient boosting (scikit-learn)",
}
QUICK = ("auto", "svm", "linear")
TIME_LIMIT = 30.0


def run(output: Output, folder: Path, quick: bool, tell: Callable[[str], None]) -> None:
    """Fit everything, print a comparison and write a report.

    Parameters
    ----------
    output : Output
    folder : Path
        Where the report is written.
    quick : bool
        Whether to take few rows and methods.
    tell : callable
        Told what is being fitted.
    """
    bundle = load_breast_cancer(as_frame=True)
    frame = bundle.data
    y = np.array(["malignant", "benign"])[bundle.target]
    if quick:
        frame, y = frame.iloc[::8].reset_index(drop=True), y[::8]
    problem = Problem(frame, y, "diagnosis", True, 0, {})
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=0, stratify=y)
    rows: list[dict[str, Any]] = []
    models = {}
    for method, what in METHODS.items():
        if quick and method not in QUICK:
            continue
        tell(f"fitting {what} ...")
        limit = 2.0 if quick else TIME_LIMIT
        model = make_estimator(method, problem, limit, 0, verbose=output.talks)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(frame.iloc[train], y[train])
        spent = time.perf_counter() - began
        models[method] = model
        right = float(np.mean(model.predict(frame.iloc[test]) == y[test]))
        p = model.predict_proba(frame.iloc[test])
        loss = float(log_loss(y[test], p, labels=model.classes_))
        gap = headline_facts(model).get("relative gap")
        rows.append({"method": what, "accuracy": right, "log loss": loss, "gap": gap})
        rows[-1]["seconds"] = spent
    output.facts["methods"] = rows
    output.table(
        f"Breast tumours, malignant or benign: {len(train)} rows to learn, {len(test)} to test",
        ["method", "right", "log loss", "proved", "fit"],
        [
            [row["method"], f"{100 * row['accuracy']:.1f} %", f"{row['log loss']:.3f}",
             _percent(row["gap"]), seconds(row["seconds"])]
            for row in rows
        ],
        "right: share of the test rows; log loss: how good the probabilities are, the smaller the\n"
        "better; proved: how far training is at most from the best value of its objective, which\n"
        "says nothing about the test; fit: the time it took, all choices of parameters included.",
    )  # fmt: skip
    ours = models["auto"]
    ours.measured_ = {"training rows": len(train), "seconds": rows[0]["seconds"]}
    ours.measured_ |= measure(ours, frame.iloc[test], y[test], y[train])
    output.facts["auto"] = headline_facts(ours)
    output.say("\nAutoKernel")
    for name, text in headline(output.facts["auto"]):
        output.say(f"{name}: {text}")
    path = folder / "kernelfit-demo.html"
    try:
        write_report = report_writer()
    except ImportError as error:
        output.say(str(error))
        return
    write_report(
        ours.estimator_, frame.iloc[train], y[train], path,
        X_test=frame.iloc[test], y_test=y[test], title="Breast tumours",
    )  # fmt: skip
    output.say(f"report: {path.resolve()}", report=str(path))


def _percent(gap: float | None) -> str:
    """Return a relative gap in percent; below what matters, a bound."""
    if gap is None:
        return "-"
    return "< 0.0001 %" if gap < 1e-6 else f"{100 * gap:.2g} %"
