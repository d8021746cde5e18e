"""AutoKernel and the learners of the papers on bundled data, beside scikit-learn's own.

Prints a comparison, and writes a report to open in a browser and a picture of what was learned
into the folder ``demo_output``, or the one that --out names. Takes one to two minutes.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import kernelfit as kf
from kernelfit.report import write_report

# For scikit-learn's machines; ours bring their own.
GRID = {"C": 10.0 ** np.arange(-1, 4), "gamma": 10.0 ** np.arange(-4, 1)}
NOTES = """\
score    On rows that training did not see: share of right classes, or R^2. Of clusters: agreement
         with the true groups, which stay hidden, beyond chance (adjusted Rand index). 1 is best.
proved   The training objective is at most this far from the best possible one: the duality gap
         over the objective; 1e-12 is as exact as rounding allows. "-": a method without a proof.
seconds  Of training, all choices included. One core.
* kernelfit. TKL, DANK, KNPL and CDSK are learners of papers: docs/theory says what they do.
  Every parameter is a default or chosen inside the training rows."""


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def classifiers():
    return {
        "AutoKernelClassifier *": kf.AutoKernelClassifier(random_state=0, verbose=1),
        "KernelSVCCV *": scaled(kf.KernelSVCCV()),
        "TKLClassifierCV *": kf.TKLClassifierCV(),
        "DANKClassifierCV *": scaled(kf.DANKClassifierCV()),
        "KNPLClassifierCV *": scaled(kf.KNPLClassifierCV()),
        "GridSearchCV(SVC)": scaled(GridSearchCV(SVC(), GRID)),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    }


def regressors():
    return {
        "AutoKernelRegressor *": kf.AutoKernelRegressor(random_state=0, verbose=1),
        "KernelRidgeRegressorCV *": scaled(kf.KernelRidgeRegressorCV()),
        "TKLRegressorCV *": kf.TKLRegressorCV(),
        "GridSearchCV(SVR)": scaled(GridSearchCV(SVR(), {**GRID, "C": 10.0 ** np.arange(5)})),
        "HistGradientBoosting": HistGradientBoostingRegressor(random_state=0),
    }


def clusterings():
    width = 1 / 13  # one over the number of columns: its default is for data on another scale
    return {
        "CDSKClustering *": scaled(kf.CDSKClustering(3, random_state=0)),
        "SpectralClustering": scaled(SpectralClustering(3, gamma=width, random_state=0)),
        "KMeans": scaled(KMeans(3, n_init=10, random_state=0)),
    }


TASKS = {
    "breast cancer, 2 classes": (load_breast_cancer, classifiers),
    "diabetes, a number": (load_diabetes, regressors),
    "wine, 3 clusters without labels": (load_wine, clusterings),
}


def split(load, size):
    """Return at most three quarters of the rows for training, and the others."""
    X, y = load(return_X_y=True, as_frame=True)
    classes = y if y.nunique() < 10 else None
    parts = train_test_split(
        X, y, train_size=min(size, 3 * len(y) // 4), stratify=classes, random_state=0
    )
    return parts


def proof(model):
    """Return the largest relative duality gap of a model, as text."""
    model = model[-1] if hasattr(model, "steps") else model
    machine = getattr(model, "best_estimator_", model)
    if hasattr(model, "certificate_"):
        gap = np.nanmax(model.certificate_["machines"])
    elif hasattr(machine, "dual_gap_"):
        gap = np.max(machine.dual_gap_ / machine.objective_)
    else:
        return "-"
    return f"{max(gap, 1e-12):.0e}"  # below is rounding


def compare(size=600):
    """Train all models and yield (task, model's name, model, score, proof, seconds, data)."""
    for task, (load, make) in TASKS.items():
        X_train, X_test, y_train, y_test = parts = split(load, size)
        for name, model in make().items():
            print(f"{task}: {name.strip(' *')} ...", flush=True)
            began = time.perf_counter()
            model.fit(X_train, y_train)
            seconds = time.perf_counter() - began
            if make is clusterings:
                score = adjusted_rand_score(y_train, model[-1].labels_)
            else:
                score = model.score(X_test, y_test)
            yield task, name, model, score, proof(model), seconds, parts


def show(rows):
    """Print the comparison."""
    print(f"\n{'':<28}{'score':>7}{'proved':>9}{'seconds':>9}")
    last = None
    for task, name, _, score, gap, seconds, _ in rows:
        if task != last:
            print(task)
        last = task
        print(f"  {name:<26}{score:>7.3f}{gap:>9}{seconds:>9.1f}")
    print(f"\n{NOTES}\n")


def picture(rows, path):
    """Draw what was learned: kernels before and after, weights, and the bounds of a proof."""
    import matplotlib.pyplot as plt

    from kernelfit.inspection import ConvergenceDisplay, KernelMatrixDisplay, WeightsDisplay

    found = {name: (model, parts) for _, name, model, _, _, _, parts in rows}
    auto, (X, _, y, _) = found["AutoKernelClassifier *"]
    figure = plt.figure(figsize=(11, 8), layout="constrained")
    top, bottom = figure.subfigures(2, 1)
    top.suptitle(f"AutoKernel: the kernel matrix of {len(X)} patients, sorted by class")
    for ax, which in zip(top.subplots(1, 2), ("initial", "learned"), strict=True):
        KernelMatrixDisplay.from_estimator(auto, X, y, which=which, ax=ax, vmin=0.0, vmax=1.0)
        ax.set_title(which)
    left, right = bottom.subplots(1, 2)
    WeightsDisplay.from_estimator(auto, ax=left, max_bars=8)
    left.set_title("AutoKernel: machines in the mixture")
    ConvergenceDisplay.from_estimator(found["TKLRegressorCV *"][0], ax=right)
    right.set_title("TKL: the optimum is between the curves")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(out="demo_output", size=600):
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(compare(size))
    print("writing the report and the picture ...", flush=True)
    model, (X, X_test, y, y_test) = rows[0][2], rows[0][-1]
    report = write_report(
        model, X, y, folder / "report.html", X_test, y_test, title="Breast cancer: benign or not"
    )
    picture(rows, folder / "learned.png")
    show(rows)
    print(f"report, for a browser: {report.resolve()}")
    print(f"picture:               {(folder / 'learned.png').resolve()}")
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="demo_output")
    main(parser.parse_args().out)
