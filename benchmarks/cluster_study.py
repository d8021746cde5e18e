"""What a consensus of graphs gains over single ones, on paired subsamples of public sets.

    python -m benchmarks.cluster_study pie usps           # measure these sets
    python -m benchmarks --page cluster_study             # write the page from what was measured

The 24 sets were split by their names, every other one in alphabetical order, before any of this was
run: `DESIGN` to decide on, `UNTOUCHED` to measure once. A subsample has at most 10 classes and 300
points, drawn at random (400 while deciding); tables whose columns are in different units are
standardised. The number of clusters is that of the classes. No label enters a fit.

Every method is spectral clustering on its affinity, the clusters found in the embedding by a
pivoted QR factorisation and Lloyd's iteration, so that nothing is random: the seven graphs of
`KernelClustering`, and their consensus, the mean of the seven, each divided by the roots of its
degrees. "agreement" takes, of these eight partitions, that with the largest mean agreement with the
others.
"""

import argparse
import warnings
from functools import lru_cache

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from benchmarks import records
from benchmarks.data import load, standardise
from benchmarks.report import markdown, write
from kernelfit.clustering.agreement import adjusted_rand
from kernelfit.clustering.candidates import candidate_graphs
from kernelfit.clustering.matrices import multiply
from kernelfit.clustering.stability import partitions

SETS = (
    "breast_cancer", "breast_cancer_diagnostic", "coil100", "coil20", "covtype", "digits",
    "fourclass", "glass", "heart", "ionosphere", "iris", "mnist", "orl", "pie", "pima",
    "shill_bidding", "sonar", "spambase", "splice", "svmguide1", "umist", "usps", "wine", "yale_b",
)  # fmt: skip
DESIGN, UNTOUCHED = SETS[::2], SETS[1::2]
SUBSAMPLES = 20
MAX_CLASSES, MAX_POINTS = 10, 300
FRACTION = 0.8  # of a set that has fewer points
CONSENSUS = "consensus"
SCORES = {"ari": "adjusted Rand", "nmi": "NMI", "accuracy": "accuracy"}


@lru_cache(maxsize=1)
def read(name):
    """Return the points and classes of a set."""
    if name in ("iris", "digits"):
        return {"iris": load_iris, "digits": load_digits}[name](return_X_y=True)
    return load(name, parts=("train", "test"))


def draw(name, seed, max_points=MAX_POINTS):
    """Return a subsample of a set: raw points and classes."""
    X, y = read(name)
    rng = np.random.default_rng(seed)
    classes = np.unique(y)
    if len(classes) > MAX_CLASSES:
        classes = rng.choice(classes, MAX_CLASSES, replace=False)
    rows = np.flatnonzero(np.isin(y, classes))
    rows = rng.choice(rows, min(max_points, int(FRACTION * len(rows))), replace=False)
    return X[rows], y[rows]


def points(X, y):
    """Return distinct points, standardised where the columns are in different units."""
    X, first = np.unique(X, axis=0, return_index=True)
    ranges = np.ptp(X, axis=0)
    ranges = ranges[ranges > 0]
    low, middle, high = np.quantile(ranges, [0.25, 0.5, 0.75])
    same = high <= 2.0 * low and ranges.max() <= 3.0 * middle
    return (X if same else standardise(X)), y[first]


def scores(y, labels):
    table = contingency_matrix(y, labels)
    rows, columns = linear_sum_assignment(-table)
    return {
        "ari": adjusted_rand_score(y, labels),
        "nmi": normalized_mutual_info_score(y, labels),
        "accuracy": table[rows, columns].sum() / len(y),
    }


def clusters(X, c):
    """Return the labels of every method."""
    counts, found = np.ones(len(X)), {}
    for graph in candidate_graphs(len(X), 2):  # as for few columns: without subspaces
        K = graph.make(None).fit(X, counts, multiply)
        found[graph.name] = partitions(K, counts, [c]).labels[0]
    names = list(found)
    agreement = [sum(adjusted_rand(found[a], found[b], counts) for b in names) for a in names]
    return {**found, "agreement": found[names[int(np.argmax(agreement))]]}


def measure(names):
    for name in names:
        path = records.path_of("cluster_study", name)
        record = records.resume(path, "cluster_study", set=name, max_points=MAX_POINTS)
        for seed in range(len(record.rows), SUBSAMPLES):
            X, y = points(*draw(name, seed))
            found = clusters(X, len(np.unique(y)))
            found = {method: scores(y, labels) for method, labels in found.items()}
            record.rows.append({"seed": seed, "n": len(y), "scores": found})
            record.save(path)
        means = {m: np.mean([r["scores"][m]["ari"] for r in record.rows]) for m in found}
        print(name, {m: round(v, 3) for m, v in means.items()}, flush=True)


def gains(tables, names, method, other, score):
    """Return the mean difference over the sets, its standard error, and wins and losses.

    A set counts as won or lost where its paired difference is beyond two standard errors.
    """
    means, won, lost = [], 0, 0
    for name in names:
        rows = tables[name].rows
        d = np.array([r["scores"][method][score] - r["scores"][other][score] for r in rows])
        error = d.std(ddof=1) / np.sqrt(len(d))
        means.append(d.mean())
        won += d.mean() > 2.0 * error
        lost += d.mean() < -2.0 * error
    return np.mean(means), np.std(means, ddof=1) / np.sqrt(len(means)), won, lost


def page():
    tables = records.load_table("cluster_study", SETS)
    parts = []
    for title, chosen in (("Untouched sets", UNTOUCHED), ("Sets of the design", DESIGN)):
        names = [name for name in chosen if name in tables]
        if len(names) < 2:
            continue
        methods = list(tables[names[0]].rows[0]["scores"])
        rows = []
        for name in names:
            values = [
                np.mean([row["scores"][m]["ari"] for row in tables[name].rows]) for m in methods
            ]
            rows.append([name, *(f"{value:.3f}" for value in values)])
        means = np.mean([[float(cell) for cell in row[1:]] for row in rows], axis=0)
        rows.append(["mean", *(f"{value:.3f}" for value in means)])
        parts += [f"{title}: adjusted Rand index.", markdown(["set", *methods], rows)]
        rows = []
        for method in (CONSENSUS, "agreement"):
            for other in [m for m in methods if m != method]:
                cells = []
                for score in SCORES:
                    mean, error, won, lost = gains(tables, names, method, other, score)
                    cells.append(f"{mean:+.3f} ± {error:.3f} ({won}:{lost})")
                rows.append([f"{method} - {other}", *cells])
        parts += [
            f"{title}: mean paired difference over {len(names)} sets, its standard error, and on "
            "how many sets it is above (:below) zero by two standard errors.",
            markdown(["difference", *SCORES.values()], rows),
        ]
    write(
        "cluster_study",
        "A consensus of graphs beside single graphs",
        f"Means over {SUBSAMPLES} subsamples a set. {__doc__.split('measured')[-1]}",
        *parts,
        records=tables.values(),
    )


def main(names=(*UNTOUCHED, *DESIGN)):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure(names)
    page()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="set", help=", ".join(SETS))
    main(parser.parse_args().names or (*UNTOUCHED, *DESIGN))
