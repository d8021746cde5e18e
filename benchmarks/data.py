"""Real benchmark data, kept outside the project.

The folder is named by the environment variable KERNELFIT_DATA; without it, `shared/data` beside the
checkout is tried. Each set is one `<name>.npz` with arrays `X` and `y`.
"""

import os
from pathlib import Path

import numpy as np


def data_folder():
    """Return the folder with the data, or None where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("KERNELFIT_DATA", beside))
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
