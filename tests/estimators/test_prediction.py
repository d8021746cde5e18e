"""Prediction of many rows: in parts, within a memory that does not depend on their number."""

import tracemalloc

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
def test_memory_does_not_grow_with_the_rows(machine):
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
