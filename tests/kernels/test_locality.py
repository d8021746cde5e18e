"""Narrow Gaussian kernels: what is left out is nothing, and it is most of the matrix."""

from threading import get_ident

import numpy as np
import pytest
from scipy import sparse

from kernelfit.kernels import locality
from kernelfit.kernels.gram import RowGram
from kernelfit.kernels.locality import LocalRows, locality_order
from kernelfit.kernels.radial import Exponential
from kernelfit.kernels.rows import KernelRows
from kernelfit.kernels.standard import RBF, Linear

EPS = np.finfo(np.float64).eps


@pytest.fixture
def few(monkeypatch):
    """Let hundreds of rows be many, in tiles of 16."""
    monkeypatch.setattr(locality, "_LEAST_ROWS", 100)
    monkeypatch.setattr(locality, "_LEAF", 8)
    monkeypatch.setattr(locality, "_TILE", 16)


def categories(n=400, d=5, kinds=6, seed=0):
    """Return points of several kinds, far from each other, in random order."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(kinds, size=n)
    return np.hstack([rng.uniform(size=(n, d)), np.eye(kinds)[kind]])


KERNELS = [RBF(40.0), RBF(np.r_[np.full(5, 35.0), np.full(6, 60.0)])]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS)
def test_values_are_those_of_all_rows(few, kernel, dtype):
    X = categories()
    order = locality_order(kernel, X)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(X)))
    local, plain = LocalRows(kernel, X, order, dtype), KernelRows(kernel, X, dtype)
    rng = np.random.default_rng(1)
    tol = 1e-6 if dtype == np.float32 else 1e-13
    np.testing.assert_array_equal(local.diagonal(), plain.diagonal())
    for idx in (np.array([3]), rng.permutation(400)[:150], np.arange(400)):
        coef = rng.normal(size=len(idx))
        assert local.rows(idx).dtype == local.block(idx).dtype == dtype
        np.testing.assert_allclose(local.rows(idx), plain.rows(idx), atol=tol)
        np.testing.assert_allclose(local.block(idx), plain.block(idx), atol=tol)
        np.testing.assert_allclose(local.product(idx, coef), plain.product(idx, coef), atol=9 * tol)


def test_what_is_left_out_is_below_rounding(few):
    """At distances of every size: a limit that is too low would show."""
    X = np.random.default_rng(0).uniform(0.0, 80.0, size=(400, 1))
    kernel, everything = RBF(1.0), np.arange(400)
    rows = LocalRows(kernel, X, locality_order(kernel, X)).rows(everything)
    K = kernel(X)
    assert np.mean(rows == 0.0) > 0.7
    assert 1e-3 * EPS < K[rows == 0.0].max() * len(X) < EPS


def test_near_points_come_together(few):
    X = categories()
    order = locality_order(RBF(40.0), X)
    kinds = X[order, 5:].argmax(axis=1)
    assert np.count_nonzero(np.diff(kinds)) == 5  # each kind in one piece


def test_where_it_does_not_pay(few, monkeypatch):
    X = categories()
    assert locality_order(RBF(40.0), X) is not None
    assert locality_order(RBF(1.0), X) is None  # most values count
    assert locality_order(RBF(40.0), X[:99]) is None
    assert locality_order(RBF(40.0), sparse.csr_array(X)) is None
    assert locality_order(Exponential(40.0), X) is None
    assert locality_order(Linear(), X) is None
    # All points are far from each other, but no feature tells them apart.
    rng = np.random.default_rng(0)
    assert locality_order(RBF(2.0), rng.normal(size=(400, 60))) is None
    monkeypatch.setattr("kernelfit.kernels.rows._MAX_COPY", X.nbytes - 1)
    assert locality_order(RBF(40.0), X) is None


@pytest.mark.parametrize(
    "X",
    [
        np.repeat(np.array([[0.0], [9.0], [1e3], [1e6]]), 50, axis=0),
        np.geomspace(1e-100, 1e100, 200)[:, None],
        np.r_[np.zeros((100, 2)), np.full((100, 2), 1.7e308)],
    ],
)
def test_any_scale(few, X):
    X = X[np.random.default_rng(0).permutation(len(X))]
    kernel, everything = RBF(1.0), np.arange(len(X))
    with np.errstate(over="ignore"):
        order = np.arange(len(X)) if (found := locality_order(kernel, X)) is None else found
    with np.errstate(over="ignore", invalid="ignore"):
        local, plain = LocalRows(kernel, X, order), KernelRows(kernel, X)
        np.testing.assert_allclose(local.rows(everything), plain.rows(everything), atol=1e-15)


def test_widths_that_overflow_are_refused(few):
    X = categories() * 1e160
    with pytest.raises(ValueError, match="got overflow of their product in feature 0"):
        locality_order(RBF(np.r_[np.full(5, 1e308), np.full(6, 1e-308)]), X)


def test_threads_change_no_bit(few, monkeypatch):
    monkeypatch.setattr("kernelfit.kernels.rows._THREAD_ENTRIES", 8)
    X = categories()
    source = LocalRows(KERNELS[0], X, locality_order(KERNELS[0], X))
    threads, measure = set(), source.evaluator.measure
    source.evaluator.measure = lambda *args: (threads.add(get_ident()), measure(*args))[1]
    idx, found = np.arange(0, 400, 3), []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr("kernelfit.kernels.rows.blas_threads", lambda n=n_threads: n)
        found.append((source.rows(idx), source.product(idx, np.cos(idx))))
    for rows, product in found[1:]:
        np.testing.assert_array_equal(rows, found[0][0])
        np.testing.assert_array_equal(product, found[0][1])
    assert len(threads) > 1


def test_double_precision_shares_the_points(few):
    X, idx = categories(), np.arange(0, 400, 7)
    narrow = RBF(90.0)  # computed in float64 in any case
    order = locality_order(narrow, X)
    for make in (KernelRows, lambda *args: LocalRows(*args[:2], order, *args[2:])):
        source = make(narrow, X, np.float32)
        exact = source.unrounded()
        assert exact.evaluator is source.evaluator
        assert exact.rows(idx).dtype == exact.block(idx).dtype == np.float64
        np.testing.assert_allclose(exact.rows(idx), narrow(X[idx], X), atol=1e-13)
        np.testing.assert_allclose(exact.block(idx), narrow(X[idx]), atol=1e-13)
        expected = narrow(X, X[idx]).sum(axis=1)
        np.testing.assert_allclose(exact.product(idx, np.ones(len(idx))), expected, atol=1e-12)
        assert exact.unrounded() is exact
        assert source.rows(idx).dtype == np.float32
    assert KernelRows(RBF(1.0), X, np.float32).unrounded() is None


def test_gram(few):
    X = categories()
    gram = RowGram.from_kernel(RBF(40.0), X, 10 * 400 * 4)
    np.testing.assert_array_equal(np.sort(gram.order), np.arange(400))
    assert RowGram.from_kernel(RBF(1.0), X, 1e4).order is None
    idx, coef, out = np.arange(0, 400, 5), np.ones(80), np.ones(400)
    gram.accumulate(idx, coef, out)
    np.testing.assert_allclose(out, 1.0 + RBF(40.0)(X, X[idx]).sum(axis=1), atol=1e-5)
    assert not (gram._slot_of_row >= 0).any()  # computed, not kept
