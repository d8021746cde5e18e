"""Public benchmark sets from OpenML, as files that benchmarks and `reproduce` read."""

from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_openml

from kernelfit.utils.progress import show_progress

# Number on OpenML; columns and sizes of the classes, largest first, or rows where the target is a
# number. They are those of the sets in the papers: no download was seen, so there are no checksums.
_SETS = {
    "breast_cancer": (15, 9, (444, 239)),
    "climate": (1467, 20, (494, 46)),
    "cpusmall": (227, 12, (8192,)),
    "eeg": (1471, 14, (8257, 6723)),
    "haberman": (43, 3, (225, 81)),
    "heart": (53, 13, (150, 120)),
    "hill_valley": (1479, 100, (606, 606)),
    "ionosphere": (59, 34, (225, 126)),
    "pima": (37, 8, (500, 268)),
    "sonar": (40, 60, (111, 97)),
    "space_ga": (507, 6, (3107,)),
    "spambase": (44, 57, (2788, 1813)),
    "transfusion": (1464, 4, (570, 178)),
}


def fetch_benchmark(name: str, folder: str | Path = ".") -> Path:
    """Download a public benchmark set from OpenML and write it as benchmarks read it.

    `sklearn.datasets.fetch_openml` downloads, compares the checksum that OpenML states, and keeps
    a copy in its data home. Rows with missing values are left out. A set whose columns, rows or
    sizes of classes are not the known ones is refused. The environment variable
    ``KERNELFIT_DATA`` tells ``kernelfit reproduce`` the folder.

    Parameters
    ----------
    name : str
        One of breast_cancer, climate, cpusmall, eeg, haberman, heart, hill_valley, ionosphere,
        pima, sonar, space_ga, spambase and transfusion.
    folder : str or Path, default="."
        Folder for the file.

    Returns
    -------
    Path
        The file ``<name>.npz`` with arrays `X` and `y`. Classes are numbered in the order of their
        names; the order of the rows is that of OpenML.

    Examples
    --------
    >>> from kernelfit.datasets import fetch_benchmark
    >>> path = fetch_benchmark("sonar", "data")  # doctest: +SKIP
    """
    if name not in _SETS:
        raise ValueError(f"expected one of {', '.join(_SETS)}, got {name!r}")
    data_id, n_features, known = _SETS[name]
    show_progress().info("%s from https://www.openml.org/d/%d", name, data_id)
    found = fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff")
    X = np.asarray(found.data, dtype=np.float64)
    present = np.isfinite(X).all(axis=1)
    X, y = X[present], np.asarray(found.target)[present]
    if len(known) == 1:
        y, sizes = y.astype(np.float64), (len(y),)
    else:
        _, y, counts = np.unique(y, return_inverse=True, return_counts=True)
        sizes = tuple(sorted(counts.tolist(), reverse=True))
    if (X.shape[1], sizes) != (n_features, known):
        raise ValueError(
            f"expected {n_features} columns and {known} rows a class in {name}, got {X.shape[1]} "
            f"and {sizes}: OpenML has another set under {data_id}"
        )
    path = Path(folder) / f"{name}.npz"
    np.savez_compressed(path, X=X, y=y)
    return path
