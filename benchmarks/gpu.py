"""Machines and ensembles on a GPU: time, recomputed gap and accuracy.

``python -m benchmarks.gpu`` runs all cases, ``python -m benchmarks.gpu covtype`` some of them. Each
case is fitted once before, on few rows, to compile. What it prints and keeps is the time of `fit`
alone, from arrays in the host's memory to the fitted model.
"""

import sys
import time
import warnings
from functools import partial

import numpy as np

from benchmarks import records
from benchmarks.data import load, standardise, unit_range
from benchmarks.report import table, write

DEVICE = "cuda"
PAGE = """Measured on one GPU ({gpu}, torch {torch}). *s* is the time of `fit` with data in the
host's memory, after a fit on few rows has compiled the kernels. *gap* is the relative duality gap;
for support vector machines with one problem it is recomputed in double precision from the
coefficients, otherwise it is the largest that the model claims. *test* is the accuracy on the rows
that were left out, R^2 for targets.

* ijcnn1: 39,992 of the 49,990 training rows, drawn at random; gamma 2, C 32.
* covtype: 464,810 of 581,012 rows, drawn at random, class 2 against the rest, features in [0, 1],
  gamma = C = 32.
* covtype as for cuML: 522,910 rows, 90 %, drawn at random, class 2 against the rest, the first ten
  columns standardised and the others left as they are, gamma 1: the protocol of [1].
* MNIST: 60,000 rows, pixels in [0, 1], ten classes one against one (45 problems), gamma 0.02, C 10.
* california: 16,512 of 20,640 rows, standardised, the target in units of its spread; support vector
  regression with gamma 0.5, epsilon 0.1, C 10, and kernel ridge regression.
* DANK: the same rows and options as the plain machines, tau = 0 and the papers' eta, the squared
  norm of the plain machine's coefficients, which is solved first, or 0.01 of that. The gap is that
  of the whole problem with the learned factor of all rows: no partition, no landmarks.
* TKL: tessellated kernel learning as in [tkl_large](tkl_large.md), on 16,512 and 30,000 rows.
* AutoKernel, with `n_jobs=-1`: 16,000 rows, members searched on 2,500 of them and trained exactly
  on all; covtype is class 2 against the rest, with features as they come.
* searches: `KernelRidgeRegressorCV` at its defaults, all rows left out one by one; `TKLRegressorCV`
  with C of 1, 10, 100 and delta of 0.1, 0.5, and `DANKClassifierCV` with gamma of 1, 2, 4, C of 8,
  32 and its three values of eta, in three folds each.
* metrics: `KernelMetric` from 10,000 rows of california, and from 2,000 of them beside the
  processor. *error* is the leave-one-out error, a fraction of the variance; *difference* is the
  largest of the matrices of squared distances, relative to the largest entry.
* agreement: the same problem by the CPU solver and by the GPU. *difference* is that of the two
  objectives relative to the larger; each is proved to its gap. For AutoKernel it is the largest
  difference of predictions (probabilities, or targets in units of their spread) at other rows.

Published figures of other programs; none of them could be run on this machine.

* DANK paper [2], same number of rows, C and gamma on covtype: SVM by SMO 3,972.5 s and 96.1 %; DANK
  on all rows failed for lack of memory; with 200 blocks 7,534.2 s and 97.1 %, by its rule for new
  points. On ijcnn1, 49,990 rows: SVM 112.4 s, DANK on all rows 28,548 s.
* cuML [1]: up to 500 times as fast as scikit-learn, and a million rows within a few minutes, in
  2020. The notebook with the protocol holds no seconds.
* ThunderSVM, as measured in [3] on a GPU that is not named: 60,000 rows of MNIST in 19.6 s with
  sigma 15 and C 100, data standardised as a whole. By its error of 13 % these data are not ours.
* TorchKM [4]: the repository has scripts for covtype; no seconds for a single fit were found.

[1] T. Feher, "Fast support vector classification with RAPIDS cuML", 2020, and
blog_notebooks/svm/svc_covertype.ipynb of rapidsai-community/notebooks-contrib. [2] F. Liu et al.,
Journal of Machine Learning Research 21, 2020, Tables 3 and 4. [3] notebooks/SVM Comparison.ipynb of
FalkonML/falkon. [4] github.com/YikaiZhang95/torchkm."""


def split(n, n_train, seed=0):
    rows = np.random.default_rng(seed).permutation(n)
    return rows[:n_train], rows[n_train:]


def ijcnn1():
    X, y = load("ijcnn1")
    train, test = split(len(y), 39_992)
    return X[train], y[train], X[test], y[test]


def covtype():
    X, y = load("covtype")
    X, y = unit_range(X), np.where(y == 2, 1, -1)
    train, test = split(len(y), 464_810)
    return X[train], y[train], X[test], y[test]


def covtype_of_cuml():
    X, y = load("covtype")
    X[:, :10] = standardise(X[:, :10])
    train, test = split(len(y), 522_910)
    y = np.where(y == 2, 1, -1)
    return X[train], y[train], X[test], y[test]


def mnist():
    (X, y), (T, u) = load("mnist"), load("mnist", parts=("test",))
    return X / 255.0, y, T / 255.0, u


def california():
    X, y = load("california")
    X, y = standardise(X), y / y.std()
    train, test = split(len(y), 16_512)
    return X[train], y[train], X[test], y[test]


def tessellated(name):
    X, y = load(name)
    X, order = unit_range(X), np.random.default_rng(0).permutation(len(y))
    n_train = 30_000 if name == "gas_turbine" else int(0.8 * len(y))
    train, test = order[:n_train], order[n_train:]
    y = (y - y[train].mean()) / y[train].std()
    return X[train], y[train], X[test], y[test]


def sixteen_thousand(name):
    """Return raw features, as a user of AutoKernel has them."""
    X, y = load(name)
    y = np.where(y == 2, 1, -1) if name == "covtype" else y / y.std()
    train, test = split(len(y), 16_000)
    return X[train], y[train], X[test[:20_000]], y[test[:20_000]]


def ensembles():
    """Return {name: (data, model, options)}."""
    from kernelfit import AutoKernelClassifier, AutoKernelRegressor

    options = {"random_state": 0, "n_jobs": -1}
    kinds = {"california": AutoKernelRegressor, "gas_turbine": AutoKernelRegressor,
             "covtype": AutoKernelClassifier}  # fmt: skip
    return {
        f"AutoKernel, {name}": (partial(sixteen_thousand, name), make, options)
        for name, make in kinds.items()
    }


def searches():
    """Return {name: (data, search, options)}."""
    from kernelfit import DANKClassifierCV, KernelRidgeRegressorCV, TKLRegressorCV

    tessellations = {"Cs": [1.0, 10.0, 100.0], "deltas": [0.1, 0.5], "cv": 3}
    factors = {"gammas": [1.0, 2.0, 4.0], "Cs": [8.0, 32.0], "cv": 3, "tol": 1e-3}
    return {
        "california, ridge search": (california, KernelRidgeRegressorCV, {}),
        "california, TKL search": (
            partial(tessellated, "california"),
            TKLRegressorCV,
            tessellations,
        ),
        "ijcnn1, DANK search": (ijcnn1, DANKClassifierCV, factors),
    }


def metrics():
    """Return {name: options}."""
    return {
        "california, widths": {},
        "california, gradients": {"method": "agop"},
        "california, gradients, full": {"method": "agop", "diagonal": False},
    }


def cases():
    """Return {name: (data, model, options)}."""
    from kernelfit import DANKClassifier, KernelRidgeRegressor, KernelSVC, KernelSVR, TKLRegressor

    covtype_options = {"C": 32.0, "gamma": 32.0}
    found = {
        "ijcnn1": (ijcnn1, KernelSVC, {"C": 32.0, "gamma": 2.0, "tol": 1e-3}),
        "ijcnn1 to 1e-6": (ijcnn1, KernelSVC, {"C": 32.0, "gamma": 2.0, "tol": 1e-6}),
        "covtype": (covtype, KernelSVC, {**covtype_options, "tol": 1e-3}),
        "covtype to 1e-6": (covtype, KernelSVC, {**covtype_options, "tol": 1e-6}),
        "DANK, ijcnn1": (ijcnn1, DANKClassifier, {"C": 32.0, "gamma": 2.0, "tol": 1e-3}),
        "DANK, covtype": (covtype, DANKClassifier, {**covtype_options, "tol": 1e-3}),
        "DANK, covtype, eta 0.01*auto": (
            covtype,
            DANKClassifier,
            {**covtype_options, "eta": "0.01*auto", "tol": 1e-3},
        ),
        "DANK, covtype to 1e-6": (covtype, DANKClassifier, {**covtype_options, "tol": 1e-6}),
        "MNIST": (mnist, KernelSVC, {"C": 10.0, "gamma": 0.02, "tol": 1e-3}),
        "california": (california, KernelSVR, {"C": 10.0, "gamma": 0.5, "tol": 1e-3}),
        "california to 1e-6": (california, KernelSVR, {"C": 10.0, "gamma": 0.5, "tol": 1e-6}),
        "california, ridge": (california, KernelRidgeRegressor, {"C": 10.0, "gamma": 0.5}),
    }
    for name in ("california", "gas_turbine"):
        options = {"C": 10.0, "epsilon": 0.1, "delta": 0.5, "tol": 1e-3}
        found[f"TKL, {name}"] = (partial(tessellated, name), TKLRegressor, options)
    for C in (1.0, 10.0):
        options = {"C": C, "gamma": 1.0, "tol": 1e-3}
        found[f"covtype as for cuML, C = {C:g}"] = (covtype_of_cuml, KernelSVC, options)
    return found


def fit(make, options, X, y):
    """Return the model and the seconds that its fit took, after one to compile."""
    import torch

    few = np.random.default_rng(0).permutation(len(y))[:3000]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make(**options).fit(X[few], y[few])
        if options.get("device") == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        model = make(**options).fit(X, y)
        if options.get("device") == "cuda":
            torch.cuda.synchronize()
        return model, time.perf_counter() - began


def recomputed_gap(model, X, y):
    """Return the relative gap of a machine with one problem, from its coefficients."""
    import torch

    from benchmarks.rivals import box, relative_gap

    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    regression = not hasattr(model, "classes_")
    p = y.astype(float) if regression else np.where(y == model.classes_[1], 1.0, -1.0)
    support = torch.as_tensor(X[model.support_], device=DEVICE)
    weight = torch.as_tensor(model.dual_coef_[0], device=DEVICE)
    f, squares_part = np.empty((2, len(y)))
    for first in range(0, len(y), 500):
        rows = torch.as_tensor(X[first : first + 500], device=DEVICE)
        squares = (rows**2).sum(1)[:, None] + (support**2).sum(1) - 2.0 * rows @ support.T
        values = torch.exp(-model.gamma_ * squares.clamp_min(0.0))
        f[first : first + 500] = (values @ weight).cpu().numpy()
        squares_part[first : first + 500] = (values**2 @ weight**2).cpu().numpy()
    surplus = 0.0
    if hasattr(model, "eta_"):  # the machine with the learned kernel F o K
        ridge = squares_part / (4.0 * model.eta_)
        f += ridge * beta
        surplus = 0.25 * beta**2 @ ridge

    class Product:  # stands for K: relative_gap only multiplies by its support columns
        def __getitem__(self, _):
            return self

        def __matmul__(self, _):
            return f

    epsilon = model.epsilon if regression else 0.0
    relative = relative_gap(Product(), p, *box(p, model.C, epsilon or None), epsilon, beta)
    objective = p @ beta - epsilon * np.abs(beta).sum() - 0.5 * beta @ f
    return relative * objective / (objective + surplus)


def measure(name):
    data, make, options = cases()[name]
    X, y, X_test, y_test = data()
    model, seconds = fit(make, {**options, "device": DEVICE}, X, y)
    gaps = np.atleast_1d(model.dual_gap_ / np.abs(model.objective_))
    machine = make.__name__ in ("KernelSVC", "KernelSVR", "DANKClassifier") and gaps.size == 1
    gap = recomputed_gap(model, X, y) if machine else gaps.max()
    began = time.perf_counter()
    score = model.score(X_test, y_test)
    return {
        "case": name,
        "rows": len(y),
        "tol": model.tol,
        "s": seconds,
        "gap": float(gap),
        "claimed gap": float(gaps.max()),
        "test": float(score),
        "support vectors": len(model.support_),
        "rounds": int(np.sum(model.n_iter_)),
        "converged": bool(np.all(model.converged_)),
        "prediction s": time.perf_counter() - began,
    }


def measure_ensemble(name):
    data, make, options = ensembles()[name]
    X, y, X_test, y_test = data()
    model, seconds = fit(make, {**options, "device": DEVICE}, X, y)
    began = time.perf_counter()
    score = model.score(X_test, y_test)
    return {
        "case": name,
        "rows": len(y),
        "s": seconds,
        "test": float(score),
        "training": model.training_,
        "members": len(model.members_),
        "gap of the mixture": float(model.certificate_["stack"]),
        "largest gap of a member": float(np.nanmax(model.certificate_["machines"])),
        "prediction s": time.perf_counter() - began,
    }


def measure_search(name):
    data, make, options = searches()[name]
    X, y, X_test, y_test = data()
    search, seconds = fit(make, {**options, "device": DEVICE}, X, y)
    return {
        "case": name,
        "rows": len(y),
        "candidates": len(search.cv_results_["params"]),
        "s": seconds,
        "validation": float(search.best_score_),
        "test": float(search.score(X_test, y_test)),
    }


def measure_metric(name):
    from kernelfit import KernelMetric

    X, y, *_ = california()
    options = {**metrics()[name], "random_state": 0}
    whole, seconds = fit(KernelMetric, {**options, "max_samples": 10_000, "device": DEVICE}, X, y)
    row = {"case": name, "points": 10_000, "s": seconds, "error": whole.error_}
    options["max_samples"] = 2000
    here, cpu_seconds = fit(KernelMetric, options, X, y)
    there, seconds = fit(KernelMetric, {**options, "device": DEVICE}, X, y)
    M, N = (metric.components_.T @ metric.components_ for metric in (here, there))
    return {
        **row,
        "2,000 points, CPU s": cpu_seconds,
        "2,000 points, GPU s": seconds,
        "difference": float(np.abs(M - N).max() / np.abs(M).max()),
    }


def ensemble_agreement(name, n):
    """Return how far predictions of the processor and of the GPU are apart."""
    data, make, options = ensembles()[name]
    X, y, X_test, _ = data()
    ours, cpu_seconds = fit(make, options, X[:n], y[:n])
    theirs, seconds = fit(make, {**options, "device": DEVICE}, X[:n], y[:n])
    predict = "predict_proba" if hasattr(ours, "classes_") else "predict"
    a, b = (getattr(model, predict)(X_test) for model in (ours, theirs))
    return {
        "case": name,
        "rows": n,
        "CPU s": cpu_seconds,
        "GPU s": seconds,
        "difference": float(np.abs(a - b).max()),
    }


def agreement(name, n):
    """Return the objectives of the two solvers on some rows."""
    data, make, options = cases()[name]
    X, y, *_ = data()
    X, y = X[:n], y[:n]
    ours, cpu_seconds = fit(make, {**options, "cache_size": 8000}, X, y)
    theirs, seconds = fit(make, {**options, "device": DEVICE}, X, y)
    a, b = float(ours.objective_), float(theirs.objective_)
    return {
        "case": name,
        "rows": n,
        "tol": options["tol"],
        "CPU s": cpu_seconds,
        "GPU s": seconds,
        "difference": abs(a - b) / max(abs(a), abs(b)),
        "CPU gap": float(ours.dual_gap_) / abs(a),
        "GPU gap": float(theirs.dual_gap_) / abs(b),
    }


def main(names=None):
    import torch

    if not torch.cuda.is_available():
        print("gpu: left out, torch finds no GPU")
        return
    gpu = torch.cuda.get_device_name()
    record = records.start("gpu", gpu=gpu, torch=torch.__version__)
    path = records.path_of("gpu")
    parts = {
        "time": (cases(), measure),
        "ensembles": (ensembles(), measure_ensemble),
        "searches": (searches(), measure_search),
        "metrics": (metrics(), measure_metric),
    }
    for part, (known, run) in parts.items():
        for name in known:
            if names is None or name in names:
                record.rows.append({"part": part, **run(name)})
                print(record.rows[-1], flush=True)
                record.save(path)
    for name, n in (("ijcnn1", 20_000), ("covtype", 20_000), ("california", 16_512),
                    ("DANK, ijcnn1", 20_000), ("DANK, covtype", 20_000)):  # fmt: skip
        if names is None:
            record.rows.append({"part": "agreement", **agreement(name, n)})
            print(record.rows[-1], flush=True)
            record.save(path)
    for name, n in (("AutoKernel, california", 4000), ("AutoKernel, covtype", 2000)):
        if names is None:
            row = {"part": "agreement of ensembles", **ensemble_agreement(name, n)}
            record.rows.append(row)
            print(row, flush=True)
            record.save(path)
    page()


def page():
    record = records.load(records.path_of("gpu"))
    parts = dict.fromkeys(row["part"] for row in record.rows)
    write(
        "gpu",
        "On a GPU",
        PAGE.format(**record.header["settings"]),
        *(table(record.rows, part) for part in parts),
        records=[record],
    )


if __name__ == "__main__":
    main(sys.argv[1:] or None)
