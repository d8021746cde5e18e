"""Clustering speed: beside scikit-learn's SpectralClustering, and large sets in time and memory.

``python -m benchmarks.cds`` writes the page; ``python -m benchmarks.cds speed`` or the name of a
large set prints that part alone.
"""

import json
import resource
import subprocess
import sys
import time

from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs

from benchmarks import records
from benchmarks.data import load
from benchmarks.report import measure, table, write
from kernelfit import CDSKClustering

N_CLUSTERS = 10
LARGE = {
    "mnist": {"affinity": "nearest_neighbors"},
    "usps": {"affinity": "nearest_neighbors"},
    "blobs of 20,000, dense": {},
    "blobs of 20,000, 500 landmarks": {"n_landmarks": 500},
}


def affinities(n):
    """Yield a dense and a sparse affinity matrix of digits."""
    X, _ = load("usps", n)
    for options in ({"affinity": "rbf"}, {"affinity": "nearest_neighbors"}):
        K = CDSKClustering(N_CLUSTERS, max_iter=0, n_init=1, **options).fit(X).affinity_matrix_
        yield options["affinity"], K


def against_spectral_clustering():
    for n in (2000, 5000):
        for name, K in affinities(n):
            ours = {"affinity": "precomputed", "random_state": 0}
            models = [
                SpectralClustering(N_CLUSTERS, affinity="precomputed", random_state=0),
                CDSKClustering(N_CLUSTERS, max_iter=0, **ours),
                CDSKClustering(N_CLUSTERS, **ours),
            ]
            theirs, uniform, learned = (
                took[0] for took in measure(*(lambda m=m, K=K: m.fit(K) for m in models))
            )
            yield {
                "part": "speed", "n": n, "affinity": name, "SpectralClustering s": theirs,
                "max_iter=0 s": uniform, "CDSK s": learned, "ratio": learned / theirs,
            }  # fmt: skip


def fit_large(name):
    """Fit one large set in this process and print what it took."""
    if name.startswith("blobs"):
        X, _ = make_blobs(20_000, n_features=20, centers=10, cluster_std=4.0, random_state=0)
    else:
        X, _ = load(name, parts=("train", "test"))
    model = CDSKClustering(N_CLUSTERS, random_state=0, n_jobs=-1, **LARGE[name])
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X)
    took = {"n": len(X), "rounds": int(model.n_iter_)}
    took["wall s"] = time.perf_counter() - wall
    took["CPU s"] = time.process_time() - cpu
    took["peak GiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps(took))


def large(names):
    """Fit every set in a process of its own, whose peak memory is that of the fit."""
    for name in names:
        command = [sys.executable, "-m", "benchmarks.cds", "--fit", name]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        yield {"part": "large", "set": name, **json.loads(printed.splitlines()[-1])}


def main(parts=()):
    if parts:
        for part in parts:
            rows = against_spectral_clustering() if part == "speed" else large([part])
            print(table(list(rows)), flush=True)
        return
    record = records.start("cds", n_clusters=N_CLUSTERS, random_state=0, large=LARGE)
    record.rows = [*against_spectral_clustering(), *large(LARGE)]
    record.save(records.path_of("cds"))
    page()


def page():
    record = records.load(records.path_of("cds"))
    write(
        "cds",
        "Clustering speed",
        f"{N_CLUSTERS} clusters of USPS digits on the same affinity matrix, median of three.",
        table(record.rows, "speed"),
        "Large sets, affinity included; the data are part of the memory.",
        table(record.rows, "large"),
        records=[record],
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        fit_large(sys.argv[2])
    else:
        main(sys.argv[1:])
