"""The fifteen clusterings of the CDS paper's comparison, beside its figures.

Every method has one setting for all sets, written down here before the table was measured. No label
enters a fit, and the number of clusters is that of the classes. While the methods were built, their
affinities were tried on ionosphere and UMIST, without a change of settings, and the default penalty
of RIM was lowered tenfold after a look at iris and digits:

* Pixels are left as they are; wine, whose units differ, is standardised.
* Every Gaussian kernel has the median bandwidth, but for SC-MS, which chooses its own. The paper
  takes the variance of the distances, which depends on their unit.
* SC, SC-MS, SC-NS, l1-graph, SMCE, Lap-l1, RAG and RatioRF are normalised-cut spectral clustering,
  ``CDSKClustering(max_iter=0)``, on their affinities: SMCE of 50 neighbours, RAG and RatioRF of 100
  trees, all else at the defaults.
* Kernel k-means, MMC, BMMC, RIM, CDSK and CDS are at their defaults, on the Gaussian kernel.
  K-Means has ten starts.

The paper's SC is the best of SC with a Gaussian kernel, SC-MS and SC-NS, here each for itself. Its
CMU PIE has 68 persons, ours 10; its UMIST images have 112 x 92 pixels, ours 32 x 32.

    python -m benchmarks.cds_comparators [--seeds 10] [--minutes 35] wine umist ...
    python -m benchmarks.cds_comparators --again MMC RIM -- wine umist ...  # these methods anew
    python -m benchmarks --page cds_comparators              # write the page from what was measured

Runs that were measured with the same code and settings are kept; with ``--again`` all of other
methods are, too. With a limit of time no fit begins after it. Affinities without random draws are
computed once a set.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans

from benchmarks import records
from benchmarks.cds_tables import STANDARDISED, read, scores
from benchmarks.data import load
from benchmarks.report import markdown, write
from kernelfit import (
    BayesianMaxMarginClustering,
    CDSClustering,
    CDSKClustering,
    KernelKMeans,
    MaxMarginClustering,
    RIMClustering,
)

SEEDS = 10
SETS = (
    *("wine", "iris", "ionosphere", "breast_cancer", "orl", "umist", "coil20", "yale_b", "pie"),
    *("digits", "usps", "coil100", "mnist_10000", "mnist"),
)
# Images drawn at random of a set that is too large for most methods.
SUBSETS = {"mnist_10000": ("mnist", 10_000)}
# Points at most: of methods that hold a matrix of all pairs, and of those that factor it time and
# again. K-Means and SMCE need no such matrix.
MAX_DENSE = 10_000
MOST = {"CDS": 2000, "SC-MS": 3000, "K-Means": np.inf, "SMCE": np.inf}
# The affinities of spectral clustering, and whether they draw.
SPECTRAL = {
    "SC": ({"affinity": "rbf"}, False),
    "SC-MS": ({"affinity": "rbf", "gamma": "reconstruction"}, False),
    "SC-NS": ({"affinity": "density"}, False),
    "l1-graph": ({"affinity": "self_representation", "n_nonzero": None}, False),
    "SMCE": ({"affinity": "sparse_manifold", "n_neighbors": 50}, False),
    "Lap-l1": ({"affinity": "smooth_representation"}, False),
    "RAG": ({"affinity": "random_forest"}, True),
    "RatioRF": ({"affinity": "ratio_forest"}, True),
}
OTHERS = {
    "K-Means": lambda c, seed: KMeans(c, n_init=10, random_state=seed),
    "kernel k-means": lambda c, seed: KernelKMeans(c, random_state=seed),
    "MMC": lambda c, seed: MaxMarginClustering(c, random_state=seed),
    "BMMC": lambda c, seed: BayesianMaxMarginClustering(c, random_state=seed),
    "RIM": lambda c, seed: RIMClustering(c, random_state=seed),
    "CDSK": lambda c, seed: CDSKClustering(c, random_state=seed),
    "CDS": lambda c, seed: CDSClustering(c, random_state=seed),
}
KEYS = ("AC", "NMI", "CPU s")
METHODS = (
    *("K-Means", "kernel k-means", "SC", "SC-MS", "SC-NS", "l1-graph", "SMCE", "Lap-l1", "RAG"),
    *("MMC", "BMMC", "RIM", "RatioRF", "CDSK", "CDS"),
)
# AC and NMI in Tables 1 and 2 of Yang and Li (2022), whose BMCM is BMMC.
PAPER_METHODS = (
    *("K-Means", "SC", "l1-graph", "SMCE", "Lap-l1", "RAG", "MMC", "BMMC", "RIM", "RatioRF"),
    "CDSK",
)
PAPER = {
    "yale_b": (
        *((0.09, 0.13), (0.11, 0.15), (0.79, 0.78), (0.34, 0.39), (0.79, 0.78), (0.13, 0.19)),
        *((0.71, 0.69), (0.65, 0.63), (0.62, 0.74), (0.39, 0.53), (0.83, 0.86)),
    ),
    "ionosphere": (
        *((0.71, 0.13), (0.74, 0.22), (0.51, 0.12), (0.68, 0.09), (0.50, 0.09), (0.70, 0.11)),
        *((0.75, 0.21), (0.70, 0.15), (0.59, 0.08), (0.62, 0.05), (0.76, 0.25)),
    ),
    "coil20": (
        *((0.65, 0.76), (0.43, 0.62), (0.79, 0.91), (0.88, 0.88), (0.79, 0.91), (0.50, 0.64)),
        *((0.80, 0.89), (0.82, 0.93), (0.77, 0.82), (0.65, 0.75), (0.93, 0.97)),
    ),
    "coil100": (
        *((0.49, 0.75), (0.28, 0.59), (0.53, 0.80), (0.56, 0.81), (0.56, 0.81), (0.58, 0.81)),
        *((0.61, 0.63), (0.64, 0.69), (0.71, 0.79), (0.36, 0.64), (0.78, 0.92)),
    ),
    "pie": (
        *((0.08, 0.19), (0.07, 0.18), (0.23, 0.34), (0.16, 0.34), (0.30, 0.51), (0.14, 0.34)),
        *((0.22, 0.30), (0.18, 0.23), (0.26, 0.34), (0.15, 0.36), (0.32, 0.50)),
    ),
    "umist": (
        *((0.42, 0.64), (0.42, 0.61), (0.44, 0.65), (0.45, 0.66), (0.50, 0.69), (0.26, 0.28)),
        *((0.51, 0.56), (0.55, 0.61), (0.40, 0.53), (0.29, 0.34), (0.67, 0.80)),
    ),
    "mnist": (
        *((0.52, 0.47), (0.38, 0.36), (0.57, 0.61), (0.65, 0.67), (0.56, 0.60), (0.59, 0.51)),
        *((0.64, 0.60), (0.66, 0.69), (0.54, 0.62), (0.48, 0.39), (0.76, 0.75)),
    ),
}
PAPER |= {subset: PAPER[name] for subset, (name, _) in SUBSETS.items()}


def labels_of(method, X, c, seed, known):
    """Return the labels of one run; `known` keeps affinities that do not depend on the seed."""
    if method in OTHERS:
        return OTHERS[method](c, seed).fit(X).labels_
    options, draws = SPECTRAL[method]
    model = CDSKClustering(c, max_iter=0, random_state=seed, **options)
    if draws:
        return model.fit(X).labels_
    if method not in known:
        known[method] = model.fit(X).affinity_matrix_
        return model.labels_
    given = CDSKClustering(c, max_iter=0, random_state=seed, affinity="precomputed")
    return given.fit(known[method]).labels_


def run(name, n_seeds, deadline, again):
    """Record the runs of a set that are not recorded yet, one seed of all methods at a time.

    Runs of the methods in `again` count only where they were measured with the present code.
    """
    path = records.path_of("cds_comparators", name)
    chosen = {method: options for method, (options, _) in SPECTRAL.items()}
    settings = {"set": name, "standardised": name in STANDARDISED, "spectral": chosen}
    if again:
        record, commit = records.load(path), records.commit()
        for row in record.rows:
            for method in again:
                if row["runs"].get(method, {}).get("commit") != commit:
                    row["runs"].pop(method, None)
    else:
        record, commit = records.resume(path, "cds_comparators", **settings), None
    X, y = load(SUBSETS[name][0], SUBSETS[name][1]) if name in SUBSETS else read(name)
    c, known = len(np.unique(y)), {}
    for seed in range(n_seeds):
        if seed == len(record.rows):
            record.rows.append({"seed": seed, "n": len(y), "c": c, "runs": {}})
        runs = record.rows[seed]["runs"]
        for method in METHODS:
            if again and method not in again:
                continue
            if method in runs or len(y) > MOST.get(method, MAX_DENSE):
                continue
            if time.monotonic() > deadline:
                return
            start = time.process_time()
            ac, nmi = scores(y, labels_of(method, X, c, seed, known))
            took = round(time.process_time() - start, 1)
            runs[method] = dict(zip(KEYS, (round(ac, 6), round(nmi, 6), took), strict=True))
            if commit is not None:
                runs[method]["commit"] = commit
            record.save(path)
            print(name, seed, method, f"{ac:.3f} {nmi:.3f}", flush=True)


def page():
    tables = records.load_table("cds_comparators", SETS)
    rows = []
    for name, record in tables.items():
        first = record.rows[0]
        paper = dict(zip(PAPER_METHODS, PAPER.get(name, ()), strict=False))
        title = f"{name}: {first['n']} points, {first['c']} classes"
        for method in METHODS:
            found = [row["runs"][method] for row in record.rows if method in row["runs"]]
            if not found:
                continue
            ac, nmi, took = (np.array([run[key] for run in found]) for key in KEYS)
            published = paper.get(method)
            difference = f"{ac.mean() - published[0]:+.2f}" if published else "-"
            rows.append([
                title, method, len(found), f"{ac.mean():.3f} ({nmi.mean():.3f})", f"{ac.std():.3f}",
                f"{np.median(took):.1f}", _pair(published), difference,
            ])  # fmt: skip
            title = ""
    header = ["method", "seeds", "AC (NMI)", "deviation", "CPU s", "published", "difference"]
    write(
        "cds_comparators",
        "Fifteen clusterings, AC (NMI)",
        "Means over the seeds and the deviation of AC among them; the median processor time of a "
        "fit; affinities without draws are computed once. One label-free setting serves all "
        "sets: the head of `benchmarks/cds_comparators.py` has it. Deviations from the published "
        "figures are explained in `docs/clustering.md`.",
        f"Not every method was run on every set. Above {MAX_DENSE:,} points (MNIST) only K-Means "
        "and SMCE are: all others hold a matrix of all pairs, 39 GB for MNIST, so they cluster "
        "10,000 of its images, drawn at random. CDS and SC-MS "
        f"factor it time and again and stop at {MOST['CDS']:,} and {MOST['SC-MS']:,}. Other sets "
        "without ten seeds of all methods were not affordable yet: the processor time of a fit is "
        "in the table. Not measured at all: "
        f"{', '.join(name for name in SETS if name not in tables) or 'none'}."
        f"{_later(tables)}",
        markdown(["set", *header], rows),
        records=tables.values(),
    )


def _later(tables):
    """Return what was measured anew since the line of versions below the table."""
    runs = [run for record in tables.values() for row in record.rows for run in row["runs"].items()]
    found = {(method, run["commit"]) for method, run in runs if "commit" in run}
    commits = sorted({commit for _, commit in found})
    methods = [method for method in METHODS if any(method == name for name, _ in found)]
    return f" Measured anew at {', '.join(commits)}: {', '.join(methods)}." if found else ""


def _pair(published):
    return "{:.2f} ({:.2f})".format(*published) if published else "-"


def main(names=SETS, n_seeds=SEEDS, minutes=np.inf, again=()):
    deadline = time.monotonic() + 60.0 * minutes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what fits say of sets without clear clusters
        for seeds in dict.fromkeys((min(n_seeds, 3), n_seeds)):  # few of all sets come first
            for name in names:
                run(name, seeds, deadline, again)
    page()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="+", metavar="set", choices=SETS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--again", nargs="+", default=(), choices=METHODS)
    options = parser.parse_args()
    main(options.names, options.seeds, options.minutes, options.again)
