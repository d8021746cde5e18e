"""Real benchmark data, kept outside the project.

The folder is named by the environment variable KERNELFIT_DATA; without it, `shared/data` beside the
checkout is tried. Each set is one `<name>.npz` with arrays `X` and `y`.
"""

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs, make_classification, make_friedman1

# Rows and columns of the sets that synthetic data can stand in for, and what kind.
STAND_INS = {
    "abalone": ("targets", 4177, 8),
    "airfoil": ("targets", 1503, 5),
    "housing": ("targets", 506, 13),
    "space_ga": ("targets", 3107, 6),
    "diabetic": ("classes", 1151, 19),
    "eeg": ("classes", 14980, 14),
    "heart": ("classes", 270, 13),
    "pima": ("classes", 768, 8),
    "spambase": ("classes", 4601, 57),
    "usps": ("clusters", 7291, 256),
}


def data_folder():
    """Return the folder with the data, or None where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("KERNELFIT_DATA") or beside)
    return folder if folder.is_dir() else None


def load(name, n=None, seed=0, parts=("train",)):
    """Return X in float64 and y; with `n` a random subset of the rows.

    Sets with a given test part hold the arrays `X_test` and `y_test` too.
    """
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("expected benchmark data in the folder named by KERNELFIT_DATA")
    with np.load(folder / f"{name}.npz") as archive:
        suffixes = [{"train": "", "test": "_test"}[part] for part in parts]
        suffixes = [suffix for suffix in suffixes if f"X{suffix}" in archive]
        X = np.concatenate([archive[f"X{suffix}"] for suffix in suffixes]).astype(np.float64)
        y = np.concatenate([archive[f"y{suffix}"] for suffix in suffixes])
    if n is not None:
        rows = np.random.default_rng(seed).permutation(len(y))[:n]
        X, y = X[rows], y[rows]
    return X, y


def load_or_make(name, n=None):
    """Return a set as `load` does, or synthetic data of its size where its file is missing."""
    if (folder := data_folder()) and (folder / f"{name}.npz").exists():
        return load(name, n)
    kind, rows, columns = STAND_INS[name]
    n = rows if n is None else n
    if kind == "targets":
        return make_friedman1(n, columns, noise=1.0, random_state=0)
    if kind == "clusters":
        return make_blobs(n, columns, centers=10, cluster_std=8.0, random_state=0)
    return make_classification(n, columns, n_informative=5, flip_y=0.1, random_state=0)


def standardise(X):
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def robust_standardise(X):
    """Scale by median and quartiles and clip: for sets with gross outliers."""
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    return np.clip((X - middle) / np.where(high > low, high - low, 1.0), -5.0, 5.0)


def unit_range(X):
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)
