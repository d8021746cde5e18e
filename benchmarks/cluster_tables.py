"""KernelClustering beside scikit-learn's clusterings at their defaults, on public sets.

    python -m benchmarks.cluster_tables [--draws 5] wine digits       # measure these sets
    python -m benchmarks --page cluster_tables       # write the page from what was measured

At most 300 points a set, of at most 10 classes, drawn at random, several times; methods are ranked
on each draw, and the errors of mean ranks and means are those over the sets. The others get the
features that KernelClustering makes of the table, standardised where the columns differ in unit, as
none of them looks at units. Twice: once all at their defaults, where KernelClustering and HDBSCAN
choose the number of clusters; once with the number of classes given, to all that take one.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.stats import rankdata
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from benchmarks import records
from benchmarks.cluster_study import draw
from benchmarks.report import markdown, write
from kernelfit import KernelClustering

SETS = (
    "breast_cancer", "breast_cancer_diagnostic", "coil100", "coil20", "covtype", "digits",
    "fourclass", "glass", "heart", "ionosphere", "iris", "mnist", "orl", "pie", "pima", "sonar",
    "umist", "usps", "wine", "yale_b",
)  # fmt: skip
DRAWS = 5
MAX_POINTS = 300
CLEAR = 0.5  # adjusted Rand index of some method, from which on classes count as clusters
OURS = "KernelClustering"
RIVALS = {
    "KMeans": KMeans,
    "SpectralClustering": SpectralClustering,
    "HDBSCAN": HDBSCAN,
    "GaussianMixture": GaussianMixture,
    "AgglomerativeClustering": AgglomerativeClustering,
}


def contender(name, c, seed):
    """Return a clustering at its defaults, or with a number of clusters."""
    if name == OURS:
        return KernelClustering("auto" if c is None else c, random_state=seed)
    options = {} if name in ("HDBSCAN", "AgglomerativeClustering") else {"random_state": seed}
    if name == "HDBSCAN":
        options["copy"] = True  # which will be its default
    elif c is not None:
        options["n_components" if name == "GaussianMixture" else "n_clusters"] = c
    return RIVALS[name](**options)


def measure(name, n_draws):
    """Record what every contender finds on the draws that are not recorded yet."""
    path = records.path_of("cluster_tables", name)
    record = records.resume(path, "cluster_tables", set=name, max_points=MAX_POINTS)
    for seed in range(len(record.rows), n_draws):
        X, y = draw(name, seed, MAX_POINTS)
        c = len(np.unique(y))
        row = {"seed": seed, "n": len(y), "c": c}
        for given in (None, c):
            ours = contender(OURS, given, seed)
            found = {OURS: score(ours, X, y)}
            Z = ours._view(ours._schema.read(X))
            found |= {other: score(contender(other, given, seed), Z, y) for other in RIVALS}
            row["defaults" if given is None else "given"] = found
        record.rows.append(row)
        record.save(path)
        print(name, seed, {m: round(v["ari"], 2) for m, v in row["defaults"].items()}, flush=True)


def score(model, X, y):
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = model.fit_predict(X)
    seconds = time.perf_counter() - began
    return {
        "ari": adjusted_rand_score(y, labels),
        "clusters": len(np.unique(labels[labels >= 0])),  # HDBSCAN calls noise -1
        "seconds": seconds,
    }


def page():
    tables = records.load_table("cluster_tables", SETS)
    methods = [OURS, *RIVALS]
    parts = []
    for kind, title in (
        ("defaults", "all at their defaults"),
        ("given", "number of classes given"),
    ):
        draws = {
            name: np.array([[row[kind][m]["ari"] for m in methods] for row in table.rows])
            for name, table in tables.items()
        }
        means = {name: found.mean(axis=0) for name, found in draws.items()}
        ranks = [rankdata(-np.round(found, 6), axis=1).mean(axis=0) for found in draws.values()]
        rows = [
            ["mean rank", "", *_with_errors(ranks, 2)],
            ["mean", "", *_with_errors(list(means.values()), 3)],
        ]
        for name, found in means.items():
            rows.append([name, tables[name].rows[0]["c"], *(f"{value:.3f}" for value in found)])
        parts += [f"Adjusted Rand index, {title}:", markdown(["set", "classes", *methods], rows)]
    rows, near = [], []
    for name, table in tables.items():
        best = max(np.mean([row["given"][m]["ari"] for row in table.rows]) for m in methods)
        found = [[row["defaults"][m]["clusters"] for row in table.rows] for m in (OURS, "HDBSCAN")]
        c = table.rows[0]["c"]
        clear = best >= CLEAR
        if clear:
            near += [abs(k - c) <= 1 for k in found[0]]
        shown = [", ".join(map(str, ks)) for ks in found]
        rows.append([name, c, "yes" if clear else "no", *shown])
    seconds = [
        float(np.mean([row["defaults"][m]["seconds"] for t in tables.values() for row in t.rows]))
        for m in methods
    ]
    write(
        "cluster_tables",
        "KernelClustering on public sets",
        __doc__.split("measured\n\n")[1],
        *parts,
        "Number of clusters found. Classes count as clusters where some method that is given their "
        f"number has an index of {CLEAR} or more; there KernelClustering finds it within one in "
        f"{sum(near)} of {len(near)} draws.",
        markdown(["set", "classes", "are clusters", OURS, "HDBSCAN"], rows),
        "Seconds are those of the clock, of a machine that may have been busy.",
        markdown(["", *methods], [["seconds of a fit, mean", *seconds]]),
        records=tables.values(),
    )


def _with_errors(values, digits):
    """Return the mean of each column and its standard error, as text."""
    error = np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
    pairs = zip(np.mean(values, axis=0), error, strict=True)
    return [f"{mean:.{digits}f} ± {e:.{digits}f}" for mean, e in pairs]


def main(names=SETS, n_draws=DRAWS):
    for draws in range(1, n_draws + 1):  # all sets once, then again
        for name in names:
            measure(name, draws)
    page()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="set", help=", ".join(SETS))
    parser.add_argument("--draws", type=int, default=DRAWS)
    options = parser.parse_args()
    main(options.names or SETS, options.draws)
