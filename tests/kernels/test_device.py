"""Kernels and Gram matrices on a device against those of the CPU core."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelfit.kernels.additive import Additive
from kernelfit.kernels.forest import LeafKernel, cooccurrence
from kernelfit.kernels.radial import Exponential, Matern, RationalQuadratic
from kernelfit.kernels.spline import Spline
from kernelfit.kernels.standard import RBF, Laplacian, Linear, Polynomial
from tests.reference.devices import devices

torch = pytest.importorskip("torch")

from kernelfit.kernels import device_gram  # noqa: E402
from kernelfit.kernels.device import (  # noqa: E402
    decision_on_device,
    device_kernel,
    locality_order,
    shared_leaves,
)
from kernelfit.kernels.device_gram import matrix_on_device, on_device  # noqa: E402
from kernelfit.kernels.device_tiles import far_apart  # noqa: E402

WIDTHS = (0.3, 0.0, 1.7, 0.4)
KERNELS = [
    Linear(),
    Polynomial(3, 0.5, 1.0),
    Polynomial(2, WIDTHS, 0.5),
    RBF(0.7),
    RBF(WIDTHS),
    Laplacian(0.4),
    Laplacian(WIDTHS),
    Exponential(0.4),
    Matern(0.5, order=1.5),
    Matern(0.5, order=2.5),
    RationalQuadratic(0.5, alpha=2.0),
    Additive(0.7),
    Additive(WIDTHS, order=3),
    Additive(0.2, order=9),  # more than there are features
    Spline(2.0),
    0.5 * RBF(0.2) + Linear() * Laplacian(0.1),
]


def points(n, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 4)) + 1.0


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_are_those_of_the_kernel(kernel, device):
    X, Y = points(30), points(20, 1)
    values = device_kernel(kernel, 4)
    A, B = (torch.as_tensor(array, device=device) for array in (X, Y))
    assert_allclose(values(A, B).cpu(), kernel(X, Y), rtol=1e-10, atol=1e-12)
    stacked = values(A.reshape(3, 10, 4), B[:10].expand(3, 10, 4)).cpu()
    assert_allclose(stacked[2], kernel(X[20:], Y[:10]), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("kernel", [RBF(0.7), RBF(40.0), Polynomial(3, 0.5, 1.0)], ids=repr)
@pytest.mark.parametrize("stored", [True, False])
def test_gram_reads_as_the_matrix(kernel, device, stored):
    X = points(500)
    gram = on_device(kernel, X, device, 1e9)
    if not stored:
        gram = type(gram)(gram.source, 1e5)
    gram.prepare()
    assert (gram.stored is not None) == stored
    K = kernel(X)[np.ix_(gram.order, gram.order)]
    rng = np.random.default_rng(0)
    index = np.stack([rng.permutation(500)[:40] for _ in range(3)])
    coef = rng.standard_normal((3, 40)) * (rng.random((3, 40)) > 0.3)
    size = np.abs(K).max()
    # The exponent of a narrow kernel has an error of some roundings of gamma |x|^2.
    single = 1e-5 if kernel != RBF(40.0) else 1e-3
    rows = torch.as_tensor(index, device=gram.device)
    blocks = gram.blocks(rows).cpu().numpy()
    products = gram.products(rows, torch.as_tensor(coef, device=gram.device)).cpu().numpy()
    for block, product, idx, c in zip(blocks, products, index, coef, strict=True):
        assert_allclose(block, K[np.ix_(idx, idx)], atol=single * size)
        assert_allclose(product, K[:, idx] @ c, atol=10 * single * size)
    beta = rng.standard_normal(500) * (rng.random(500) > 0.5)
    decision = gram.decision(torch.as_tensor(beta, device=gram.device)).cpu()
    assert_allclose(decision, K @ beta, atol=1e-11 * size)
    assert_allclose(gram.block(index[0]), K[np.ix_(index[0], index[0])], atol=1e-12 * size)
    assert_allclose(gram.diagonal().cpu(), np.diagonal(K))
    assert gram.widen()
    assert not gram.widen()
    wide = gram.products(rows, torch.as_tensor(coef, device=gram.device)).cpu().numpy()
    assert_allclose(wide[2], K[:, index[2]] @ coef[2], atol=1e-11 * size)
    assert_allclose(gram.blocks(rows)[1].cpu(), K[np.ix_(index[1], index[1])], atol=1e-11 * size)


@pytest.mark.parametrize("device", devices())
def test_tiles_far_apart_are_skipped_and_no_others(device, monkeypatch):
    monkeypatch.setattr(device_gram, "_ROW_TILE", 16)
    monkeypatch.setattr(device_gram, "_COLUMN_TILE", 8)
    skipped = []

    def noted(*args):
        skipped.append(far_apart(*args))
        return skipped[-1]

    monkeypatch.setattr(device_gram, "far_apart", noted)
    X = np.random.default_rng(1).uniform(0.0, 10.0, (300, 1))
    gram = on_device(RBF(3.0), X, device, 1e9)
    beta = np.random.default_rng(0).standard_normal(300)
    found = gram.decision(torch.as_tensor(beta[gram.order], device=gram.device)).cpu().numpy()
    assert_allclose(found, (RBF(3.0)(X) @ beta)[gram.order], atol=1e-13 * np.abs(beta).sum())
    assert 0.1 < torch.cat(skipped).to(torch.float64).mean() < 0.9


@pytest.mark.parametrize("device", devices())
def test_a_given_matrix_keeps_its_order(device):
    K = RBF(0.5)(points(60))
    gram = matrix_on_device(K, device, 1e6)
    assert_array_equal(gram.order, np.arange(60))
    assert_allclose(gram.decision(torch.ones(60, dtype=torch.float64)).cpu(), K.sum(axis=1))


def test_neighbours_stand_together():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 5, 400)
    X = rng.standard_normal((400, 3)) * 0.1 + 10.0 * label[:, None]
    order = locality_order(torch.as_tensor(X))
    assert_array_equal(np.sort(order), np.arange(400))
    assert np.count_nonzero(np.diff(label[order])) == 4  # one run a cluster


def test_order_of_equal_points():
    assert_array_equal(locality_order(torch.ones((100, 2))), np.arange(100))


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("kernel", [RBF(0.7), Polynomial(2, 0.3, 1.0)], ids=repr)
def test_decision_values(kernel, device):
    X, support = points(50), points(20, 1)
    coef = np.random.default_rng(0).standard_normal((3, 20))
    found = decision_on_device(kernel, X, support, coef, device)
    assert_allclose(found, kernel(X, support) @ coef.T, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("device", devices())
def test_shared_leaves(device):
    rng = np.random.default_rng(0)
    # Leaves of different trees have different numbers.
    A, B = (rng.integers(0, 4, (n, 7)) + 4 * np.arange(7) for n in (30, 20))
    found = shared_leaves(*(torch.as_tensor(array, device=device) for array in (A, B))).cpu()
    assert_allclose(found, cooccurrence(A, B), rtol=1e-15)


@pytest.mark.parametrize("kernel", [np.dot, RBF(0.1) * LeafKernel(None)])
def test_a_kernel_that_no_device_has(kernel):
    with pytest.raises(ValueError, match="expected a standard kernel"):
        device_kernel(kernel, 3)


def test_memory_is_planned():
    gram = on_device(RBF(1.0), points(300), "cpu", 1e5)
    gram.prepare()
    assert gram.stored is None
    with pytest.raises(MemoryError, match="GiB of memory on cpu for the kernel matrix of 300 rows"):
        gram.exact_matrix()
    with pytest.raises(MemoryError, match=r"GiB of memory on cpu to train on 300 rows, got"):
        gram.plan_blocks(300, 256)
    assert type(gram)(gram.source, 1e8).plan_blocks(100, 256) == 3
