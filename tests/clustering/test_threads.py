"""The same bits for any number of threads and any n_jobs."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from kernelfit import CDSKClustering

# Data where rounding decides: equal distances, clusters that overlap, more features than are summed
# one by one, and enough points for products that libraries share among threads.
SCRIPT = """
import hashlib, json, sys, warnings
import numpy as np
from kernelfit import BayesianMaxMarginClustering, CDSClustering, CDSKClustering, KernelKMeans
from kernelfit import KernelClustering, MaxMarginClustering, RIMClustering

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
grid = rng.integers(0, 3, (700, 20)).astype(float)
cloud = rng.standard_normal((1100, 80)) + 2.0 * rng.integers(0, 5, (1100, 1))
models = [
    (CDSKClustering(5), cloud),
    (CDSKClustering(5, affinity="self_tuning"), cloud),
    (CDSKClustering(5, affinity="nearest_neighbors"), grid),
    (CDSKClustering(5, affinity="nearest_neighbors", max_iter=0), cloud),
    (CDSKClustering(5, affinity="self_representation"), cloud[:600]),
    (CDSKClustering(5, n_landmarks=300, mode="relaxed"), cloud),
    (CDSKClustering(5, affinity="density"), cloud),
    (CDSKClustering(5, affinity="sparse_manifold"), grid),
    (CDSKClustering(5, affinity="smooth_representation"), cloud[:200]),
    (CDSKClustering(5, affinity="random_forest"), cloud[:300]),
    (CDSClustering(5), grid[:400]),
    (KernelKMeans(5), cloud),
    (KernelKMeans(9, n_init=2), grid),
    (KernelClustering(5), cloud[:250]),
    (KernelClustering(max_clusters=4), grid[:150]),
    (MaxMarginClustering(5), cloud[:600]),
    (MaxMarginClustering(2), cloud[:100]),
    (RIMClustering(5), cloud[:600]),
    (BayesianMaxMarginClustering(5, max_iter=10), cloud[:600]),
]
for n_jobs in json.loads(sys.argv[1]):
    for model, X in models:
        model.set_params(n_jobs=n_jobs, random_state=0).fit(X)
        new = 0.5 * (X[:99] + X[1:100])
        parts = [model.labels_, model.predict(new)]
        if hasattr(model, "transform"):
            parts += [model.weights_, model.embedding_, model.history_, model.transform(new)]
        print(*(hashlib.sha256(np.ascontiguousarray(part)).hexdigest()[:16] for part in parts))
"""
N_MODELS = 19


def run(threads, *all_n_jobs):
    """Return what a process with so many threads prints for every n_jobs."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(all_n_jobs)],
        # Threads that wait for others that have no core would take most of the time.
        env={**os.environ, **dict.fromkeys(names, str(threads)), "OMP_WAIT_POLICY": "PASSIVE"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == N_MODELS * len(all_n_jobs)
    return {
        (threads, n_jobs): lines[k * N_MODELS : (k + 1) * N_MODELS]
        for k, n_jobs in enumerate(all_n_jobs)
    }


@pytest.fixture(scope="module")
def bits():
    return run(1, 1, 2) | run(2, 1, 2, None)


@pytest.mark.parametrize(("threads", "n_jobs"), [(2, 1), (1, 2), (2, 2), (2, None)])
def test_bits_do_not_depend_on_threads(threads, n_jobs, bits):
    """Labels, weights, embeddings and predictions, in a process for every number of threads."""
    assert bits[threads, n_jobs] == bits[1, 1]


def test_neighbours_do_not_depend_on_the_number_of_threads(monkeypatch):
    """Integer data, where many points are equally far."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # else scikit-learn takes no more than the cores
    X = np.random.default_rng(0).integers(0, 3, (1500, 20)).astype(float)
    model = CDSKClustering(5, affinity="nearest_neighbors", max_iter=0, n_init=1, random_state=0)
    graphs, predicted = [], []
    for threads in (1, 2, 7):
        with threadpool_limits(threads, user_api="openmp"):
            graphs.append(model.fit(X[:1200]).affinity_matrix_)
            predicted.append(model.predict(X[1200:]))
    for graph, labels in zip(graphs, predicted, strict=True):
        assert (graph != graphs[0]).nnz == 0
        np.testing.assert_array_equal(labels, predicted[0])


def test_labels_do_not_depend_on_the_number_of_threads(monkeypatch):
    """Several starts of k-means find the same partition under other labels."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    X, _ = make_blobs(1500, centers=5, n_features=4, cluster_std=2.5, random_state=0)
    K = CDSKClustering(5, affinity="nearest_neighbors", max_iter=0).fit(X).affinity_matrix_
    for seed in range(8):
        model = CDSKClustering(5, affinity="precomputed", max_iter=0, random_state=seed)
        labels = []
        for threads in (1, 2, 7):
            with threadpool_limits(threads, user_api="openmp"):
                labels.append(model.fit(K).labels_)
        for found in labels:
            np.testing.assert_array_equal(found, labels[0])
