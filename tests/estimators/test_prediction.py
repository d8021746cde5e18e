"""Prediction of many rows: in parts, also in threads."""

import tracemalloc

import joblib
import numpy as np
import pytest

import kernelfit as kf
from kernelfit.kernels.radial import RBF

MEMORY = 2**26 * 2.5  # of kernel values at a time, and a copy of them


def points(n):
    return np.random.default_rng(0).normal(size=(n, 2))


@pytest.mark.parametrize(
    "machine",
    [
        kf.KernelSVC(),
        kf.KernelSVC(multi_class="ovr", kernel="laplacian"),
        kf.KernelRidgeClassifier(kernel=RBF(1.0) * 2.0),
    ],
)
def test_kernel_values_are_computed_in_parts(machine):
    X = points(600)
    machine.fit(X, np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0]))
    many = points(300_000)
    tracemalloc.start()
    values = machine.decision_function(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    kernel_bytes = 8.0 * len(many) * len(machine.support_)
    assert peak < MEMORY < 0.7 * kernel_bytes
    np.testing.assert_allclose(values[-5:], machine.decision_function(many[-5:]), rtol=1e-9)


@pytest.mark.parametrize(
    "machine",
    [
        kf.KernelSVC(n_jobs=2),
        kf.KernelSVC(multi_class="ovr", kernel="laplacian", n_jobs=2),
        kf.TKLClassifier(n_jobs=2),
    ],
)
def test_threads_give_the_same_values(machine, monkeypatch):
    monkeypatch.setattr("kernelfit.estimators.machine._CHUNK_BYTES", 2**17)
    X, many = points(200), points(3001)
    machine.fit(X, np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0]))
    together = machine.decision_function(many)
    alone = machine.set_params(n_jobs=None).decision_function(many)
    np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-12)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        np.testing.assert_allclose(machine.decision_function(many), alone, rtol=1e-12, atol=1e-12)


def test_a_number_of_jobs_that_is_none(monkeypatch):
    monkeypatch.setattr("kernelfit.estimators.machine._CHUNK_BYTES", 2**17)
    machine = kf.KernelSVC().fit(points(60), np.arange(60) % 2).set_params(n_jobs="two")
    with pytest.raises(ValueError, match=r"expected n_jobs to be .* integer or None, got 'two'"):
        machine.predict(points(3001))


def test_overflow_in_a_thread_is_told():
    machine = kf.KernelSVC(kernel="poly", n_jobs=2).fit(points(60), np.arange(60) % 2)
    many = points(300_000)
    many[-7] = 1e300
    with pytest.raises(ValueError, match="overflow in the kernel at row 299993"):
        machine.decision_function(many)
