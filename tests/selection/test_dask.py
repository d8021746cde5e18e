"""A real cluster of worker processes: the same bits, data sent once, lost workers survived."""

import os
import signal
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1

from kernelfit import (
    AutoKernelRegressor,
    DANKRegressor,
    GPKRegressorCV,
    KernelSVC,
    KernelSVCCV,
    TKLRegressorCV,
)
from kernelfit.utils.digest import digest
from kernelfit.utils.jobs import Shared, run_in_order

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("dask.distributed")
# What the cluster says of itself, of sockets that it closes late and of workers that are killed.
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
]

X, y = make_friedman1(80, 5, random_state=0)
classes = np.digitize(y, np.quantile(y, [0.3, 0.6]))
N_WORKERS = 3


@pytest.fixture(scope="module")
def cluster():
    # Otherwise copies of data that no job waits for are removed now and then.
    keep = {"distributed.scheduler.active-memory-manager.start": False}
    with warnings.catch_warnings(), dask.config.set(keep):
        warnings.simplefilter("ignore")
        options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
        with (
            distributed.LocalCluster(n_workers=N_WORKERS, **options) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


@pytest.fixture
def on_dask(cluster):
    cluster.wait_for_workers(N_WORKERS)  # those that were killed are started again
    with joblib.parallel_config(backend="dask"):
        yield cluster


CASES = {
    "search": (KernelSVCCV(gammas=[0.1, 1.0], Cs=[0.5, 20.0]), classes),
    "learned kernel": (TKLRegressorCV([1.0], [0.1, 0.5]), y),
    "pairs of classes": (KernelSVC(), classes),
    "blocks": (DANKRegressor(partition=3, random_state=0), y),
    "ensemble": (AutoKernelRegressor(members=["gaussian (standard"], random_state=0), y),
}


@pytest.mark.parametrize("name", CASES)
def test_a_cluster_gives_the_same_bits(on_dask, name):
    estimator, targets = CASES[name]
    spread = clone(estimator).fit(X, targets)
    with joblib.parallel_config(backend="sequential"):
        alone = clone(estimator).fit(X, targets)
    assert digest(spread.predict(X)) == digest(alone.predict(X))
    if name == "search":
        assert digest(spread.predict_proba(X)) == digest(alone.predict_proba(X))


@dataclass(frozen=True)
class Lethal:
    """A feature map that ends its worker in one of the calls of all workers together."""

    folder: str
    call: int

    def size(self, n_features):
        return 1 + n_features

    def features(self, X):
        folder = Path(self.folder)
        if str(os.getpid()) != (folder / "main").read_text():
            with (folder / "calls").open("a") as file:
                file.write("x")
            if len((folder / "calls").read_text()) == self.call:
                os.kill(os.getpid(), signal.SIGKILL)
        return np.column_stack([np.ones(len(X)), X])


def test_a_worker_killed_in_the_middle_changes_nothing(on_dask, tmp_path):
    (tmp_path / "main").write_text(str(os.getpid()))
    before = set(on_dask.run(os.getpid).values())
    search = GPKRegressorCV(Cs=[0.1, 1.0], feature_map=Lethal(str(tmp_path), 9), cv=8)
    spread = clone(search).fit(X, y)
    assert set(on_dask.run(os.getpid).values()) != before
    assert len((tmp_path / "calls").read_text()) > 9
    with joblib.parallel_config(backend="sequential"):
        alone = clone(search).fit(X, y)
    assert digest(spread.predict(X)) == digest(alone.predict(X))
    assert spread.best_score_ == alone.best_score_


@dataclass
class Counted:
    """Data that notes down whenever it arrives somewhere."""

    folder: str
    array: np.ndarray

    def __setstate__(self, state):
        vars(self).update(state)
        with (Path(self.folder) / "arrivals").open("a") as file:
            file.write(f"{os.getpid()}\n")


def item(counted, number):
    time.sleep(0.01)
    return os.getpid(), float(counted.array[number])


def test_data_is_sent_once_a_worker(on_dask, tmp_path):
    counted = Counted(str(tmp_path), np.random.default_rng(0).standard_normal(200_000))
    shared, workers = Shared(counted), set()
    for _ in range(3):  # the grid, its extension, the final training
        found = run_in_order(item, [(k,) for k in range(30)], shared)
        assert [value for _, value in found] == counted.array[:30].tolist()
        workers |= {pid for pid, _ in found}
    arrivals = (tmp_path / "arrivals").read_text().split()
    assert len(workers) > 1 and len(arrivals) == len(set(arrivals)) == N_WORKERS


def lose_everything(folder, array, number):
    mark = Path(folder) / f"{os.getpid()}"
    if number >= 5 and len(list(Path(folder).iterdir())) < N_WORKERS:
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return float(array[number])


def test_jobs_run_again_when_all_workers_and_the_data_are_lost(on_dask, tmp_path):
    array = np.arange(30.0)
    found = run_in_order(
        partial(lose_everything, str(tmp_path)), [(k,) for k in range(30)], (array,)
    )
    assert found == array.tolist()
    assert len(list(tmp_path.iterdir())) == N_WORKERS
