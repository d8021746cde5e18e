"""Every learner on bundled or synthetic data, beside its rivals, with certificates and times.

All parameters are fixed here or chosen by cross-validation inside the training part. Features are
scaled to [0, 1] by the training part.
"""

import textwrap
import time

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR

import kernelfit as kf
from kernelfit.tasks.losses import hinge, tube

POWERS = 2.0 ** np.arange(-5, 6)
GAMMAS = 0.5 / POWERS**2
STRATIFIED = StratifiedKFold(5, shuffle=True, random_state=0)
FOLDS = KFold(5, shuffle=True, random_state=0)
FORMATS = {"objective": ".6f", "duality gap": ".1e", "relative gap": ".1e", "seconds": ".2f"}
FORMATS |= dict.fromkeys(["train", "test", "test error", "AC", "NMI", "log loss"], ".4f")
FORMATS |= {"inside 90%": ".3f"}
WIDTHS = {"data": 14, "model": 31}  # of the columns on the left


def bundled(name):
    X, y = {"breast cancer": load_breast_cancer, "diabetes": load_diabetes}[name](return_X_y=True)
    return X, (y - y.mean()) / y.std() if name == "diabetes" else y


def synthetic(name):
    """Return 2,600 points: a checkerboard, or terraces with sharp edges and a little noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2600, 2))
    if name == "checkerboard":
        return X, (np.floor(4 * X).sum(axis=1) % 2).astype(int)
    heights = (X[:, 0] > 0.35) + 2.0 * ((X[:, 1] > 0.6) & (X[:, 0] < 0.7))
    return X, heights + 0.5 * np.sin(3 * X[:, 1]) + 0.1 * rng.standard_normal(len(X))


def split(X, y, size):
    """Return scaled training and test parts; at most 3/4 of the points are for training."""
    parts = train_test_split(X, y, train_size=min(size, 3 * len(y) // 4), random_state=0)
    scaler = MinMaxScaler().fit(parts[0])
    return scaler.transform(parts[0]), scaler.transform(parts[1]), *parts[2:]


def time_fit(model, *data):
    started = time.perf_counter()
    model.fit(*data)
    return time.perf_counter() - started


def certificate(model, X, y, epsilon):
    """Return the dual objective and the duality gap, computed from the coefficients alone."""
    task = hinge(np.where(y > 0, 1.0, -1.0), model.C)
    if epsilon is not None:
        task = tube(np.asarray(y, dtype=float), model.C, epsilon)
    beta = np.zeros(len(y))
    beta[model.support_] = np.ravel(model.dual_coef_)
    K = np.exp(-model.gamma * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    found = task.certificate(beta, K @ beta)
    return found.objective, found.gap


def auto(size=600):
    """AutoKernel: a table in, an ensemble of kernel machines out; nothing to choose.

    test: accuracy, or R^2 for diabetes. Inside 90%: the share of test points in prediction
    intervals or sets of that level. The gap is the certificate of the ensemble's weights.
    """
    for name, ours, forest, boosted in (
        ("breast cancer", kf.AutoKernelClassifier, RandomForestClassifier,
         HistGradientBoostingClassifier),
        ("diabetes", kf.AutoKernelRegressor, RandomForestRegressor, HistGradientBoostingRegressor),
    ):  # fmt: skip
        X_train, X_test, y_train, y_test = split(*bundled(name), size)
        for model in (ours(random_state=0), forest(random_state=0), boosted(random_state=0)):
            seconds = time_fit(model, X_train, y_train)
            row = {"data": name, "model": type(model).__name__, "test": "-", "log loss": "-"}
            row |= {"test": model.score(X_test, y_test)}
            if hasattr(model, "predict_proba"):
                row |= {"log loss": log_loss(y_test, model.predict_proba(X_test))}
            gap, inside = "-", "-"
            if hasattr(model, "certificate_"):
                gap, inside = model.certificate_["stack"], share_inside(model, X_test, y_test)
            row |= {"inside 90%": inside, "duality gap": gap}
            yield row | {"seconds": seconds}


def share_inside(model, X, y):
    """Return the share of targets in the model's intervals or sets of level 0.9."""
    if hasattr(model, "predict_set"):
        return model.predict_set(X)[np.arange(len(y)), y].mean()
    low, high = model.predict_interval(X).T
    return np.mean((low <= y) & (y <= high))


def svm(size=600):
    """Support vector machines: same folds, same grid of 121 candidates as scikit-learn.

    test: accuracy, or R^2 for diabetes. Objective and gap are computed from the coefficients.
    """
    grid = {"C": POWERS, "gamma": GAMMAS}
    for name, ours, machine, cv, epsilon in (
        ("breast cancer", kf.KernelSVCCV, SVC(), STRATIFIED, None),
        ("diabetes", kf.KernelSVRCV, SVR(), FOLDS, 0.1),
    ):
        X_train, X_test, y_train, y_test = split(*bundled(name), size)
        tube_widths = {} if epsilon is None else {"epsilons": [epsilon]}
        for label, search in (
            (ours.__name__, ours(GAMMAS, POWERS, cv=cv, **tube_widths)),
            (f"GridSearchCV({type(machine).__name__})", GridSearchCV(machine, grid, cv=cv)),
        ):
            seconds = time_fit(search, X_train, y_train)
            best = search.best_estimator_
            objective, gap = certificate(best, X_train, y_train, epsilon)
            row = {"data": name, "model": label, "C": best.C, "gamma": best.gamma}
            row |= {"test": search.score(X_test, y_test), "objective": objective}
            yield row | {"duality gap": gap, "seconds": seconds}


def tkl(size=600):
    """Tessellated kernels (TKL) beside the Gaussian kernel: same folds, same costs 0.1 to 1000.

    test error: share of wrong labels, or 1 - R^2 for terraces and diabetes. TKL chooses delta among
    0.1, 0.5 and 2, the Gaussian machine gamma among eleven values. The edges of the two synthetic
    sets run along the axes, which should suit TKL.
    """
    costs = 10.0 ** np.arange(-1, 4)
    classes = kf.KernelSVCCV, kf.TKLClassifierCV, {"cv": STRATIFIED}
    targets = kf.KernelSVRCV, kf.TKLRegressorCV, {"cv": FOLDS, "epsilons": [0.1]}
    for name, data, (plain, learned, options) in (
        ("checkerboard", synthetic, classes),
        ("breast cancer", bundled, classes),
        ("terraces", synthetic, targets),
        ("diabetes", bundled, targets),
    ):
        X_train, X_test, y_train, y_test = split(*data(name), size)
        for search in (plain(GAMMAS, costs, **options), learned(Cs=costs, **options)):
            seconds = time_fit(search, X_train, y_train)
            best, chosen = search.best_estimator_, search.best_params_
            row = {"data": name, "model": type(search).__name__, "C": chosen["C"]}
            row |= {"gamma": chosen.get("gamma", "-"), "delta": chosen.get("delta", "-")}
            row |= {"test error": 1.0 - search.score(X_test, y_test)}
            yield row | {"relative gap": best.dual_gap_ / best.objective_, "seconds": seconds}


def dank(size=600):
    """Data-adaptive kernels (DANK, KNPL) on breast cancer, also at far too wide bandwidths.

    The searches choose C, gamma and eta (inf: the plain machine) by the same folds. The machines
    take the C of KernelSVCCV and its gamma times 1, 1/64 and 1/1024; eta is the papers' choice. New
    points get the factor 1 or, with "knn", the mean factor of their five nearest neighbours. What
    that saves at a wrong gamma, the neighbours' vote in the last row has as well.
    """
    X_train, X_test, y_train, y_test = split(*bundled("breast cancer"), size)
    gammas, costs = GAMMAS[3:8], [0.25, 1.0, 4.0, 16.0]
    plain = kf.KernelSVCCV(gammas, costs, cv=STRATIFIED)
    models = [plain, kf.DANKClassifierCV(gammas, costs, cv=STRATIFIED)]
    gamma = plain.fit(X_train, y_train).best_params_["gamma"]
    for factor in (1.0, 1 / 64, 1 / 1024):
        setting = {"C": plain.best_params_["C"], "gamma": gamma * factor}
        models += [kf.KernelSVC(**setting), kf.DANKClassifier(**setting)]
        models += [kf.DANKClassifier(out_of_sample="knn", **setting)]
        models += [kf.KNPLClassifier(out_of_sample="knn", **setting)]
    for model in [*models, KNeighborsClassifier(5)]:
        seconds = time_fit(model, X_train, y_train)
        machine = getattr(model, "best_estimator_", model)
        rule = ", knn" if getattr(model, "out_of_sample", "neutral") == "knn" else ""
        row = {"model": type(model).__name__ + rule}
        row |= {name: getattr(machine, name, "-") for name in ("C", "gamma")}
        row |= {name: getattr(machine, f"{name}_", "-") for name in ("eta", "rank")}
        row |= {"train": model.score(X_train, y_train), "test": model.score(X_test, y_test)}
        gap = machine.dual_gap_ / machine.objective_ if hasattr(machine, "dual_gap_") else "-"
        yield row | {"relative gap": gap, "seconds": seconds}


def cds(size=2000):
    """Clustering by discriminative similarity (CDSK): no label is used except to score.

    AC: accuracy under the best matching of clusters to classes; NMI: mutual information over the
    larger entropy. Wine is standardised and has the Gaussian kernel of median bandwidth, digits the
    graph of ten neighbours. SpectralClustering and max_iter=0 (uniform weights) are given CDSK's
    affinity, so their times are without it. The objective never rises, from its start to its end.
    """
    wine, digits = load_wine(return_X_y=True), load_digits(return_X_y=True)
    for name, X, y, affinity in (
        ("wine", StandardScaler().fit_transform(wine[0]), wine[1], "rbf"),
        ("digits", digits[0][:size], digits[1][:size], "nearest_neighbors"),
    ):
        c, graph = len(np.unique(y)), {"affinity": "precomputed", "random_state": 0}
        ours = kf.CDSKClustering(c, affinity=affinity, random_state=0)
        K = ours.fit(X).affinity_matrix_
        for label, model, data in (
            ("KMeans", KMeans(c, n_init=10, random_state=0), X),
            ("SpectralClustering", SpectralClustering(c, **graph), K),
            ("CDSKClustering, max_iter=0", kf.CDSKClustering(c, max_iter=0, **graph), K),
            ("CDSKClustering", ours, X),
        ):
            seconds = time_fit(model, data)
            table = contingency_matrix(y, model.labels_)
            row = {"data": name, "model": label}
            row |= {"AC": table[linear_sum_assignment(-table)].sum() / len(y)}
            row |= {"NMI": normalized_mutual_info_score(y, model.labels_, average_method="max")}
            history = getattr(model, "history_", ["-"])
            yield row | {"start": history[0], "end": history[-1], "seconds": seconds}


SECTIONS = {auto: 60, svm: 100, tkl: 100, dank: 100, cds: 800}  # each with a size for a trial run


def cell(name, value):
    text = format(value, FORMATS.get(name, ".4g")) if isinstance(value, float) else str(value)
    return f"{text:<{WIDTHS[name]}}" if name in WIDTHS else f"{text:>{max(len(name), 9) + 2}}"


def show(section):
    """Print the table of a section as its rows come, between the two parts of its docstring."""
    title, note = section.__doc__.split("\n\n", 1)
    print(f"\n{title}\n")
    for k, row in enumerate(section()):
        if k == 0:
            print("".join(cell(name, name) for name in row))
        print("".join(cell(*item) for item in row.items()), flush=True)
    print("\n" + textwrap.dedent(note).strip())


def main():
    print("compiling the numerical core, once a machine ...", flush=True)
    for section, size in SECTIONS.items():
        list(section(size))
    for section in SECTIONS:
        show(section)


if __name__ == "__main__":
    main()
