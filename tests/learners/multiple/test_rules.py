"""Weights by rules, against the formulas of their papers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelfit.families.multiple.bank import from_matrix, make_bank
from kernelfit.families.multiple.weights import SimplexWeights
from kernelfit.kernels.gram import DenseGram
from kernelfit.kernels.standard import RBF, Linear, Polynomial
from kernelfit.learners.multiple.alignment import align, alignf, alignf_signed
from kernelfit.learners.multiple.easy import easy
from kernelfit.learners.multiple.proportional import folds, proportional
from kernelfit.tasks.losses import hinge, tube
from tests.reference import multiple_kernels as reference

N = 48
X = np.random.default_rng(0).standard_normal((N, 3))
TARGET = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
SIGN = np.where(TARGET > 0, 1.0, -1.0)
OTHER = np.where(X[:, 2] > 0.5, 1.0, -1.0)
# Whole matrices and factors, one of them a constant kernel, which says nothing.
MATRICES = [
    RBF(1.0)(X),
    Linear()(X[:, :1]),
    RBF(0.2)(X[:, :1]),
    Polynomial(2, 0.3, 1.0)(X),
    np.ones((N, N)),
    RBF(10.0)(X),
]
ONES = np.ones(N)
MEAN = sum(K / np.trace(K) for K in MATRICES)


def family(matrices=MATRICES):
    bank = make_bank(len(matrices[0]), map(from_matrix, matrices), np.inf)
    return SimplexWeights(bank, lambda weights: None)


def repeated(repeats):
    rows = np.repeat(np.arange(N), repeats)
    return family([K[np.ix_(rows, rows)] for K in MATRICES]), rows


@pytest.mark.parametrize("targets", [[SIGN], [TARGET], [SIGN, OTHER]])
def test_alignment_is_that_of_the_paper(targets):
    tasks = tuple(tube(t, 1.0, 0.1) for t in targets)
    Y = sum(np.outer(t, t) for t in targets)
    expected = reference.alignments(MATRICES[:4] + MATRICES[5:], Y)
    found = align(family(), tasks, ONES)
    assert found[4] < 1e-6
    assert_allclose(np.delete(found, 4), expected / expected.sum(), atol=1e-6)
    kernels = MATRICES[:4] + MATRICES[5:]
    best = reference.largest_alignment(kernels, Y)
    found = alignf(family(kernels), tasks, ONES)
    assert_allclose(found.sum(), 1.0, rtol=1e-12)
    assert_allclose(found, best, atol=2e-5)


@pytest.mark.parametrize("targets", [[SIGN], [SIGN, OTHER]])
def test_signed_alignment_is_the_projection_of_the_targets(targets):
    tasks = tuple(hinge(t, 1.0) for t in targets)
    best = reference.signed_alignment(
        MATRICES[:4] + MATRICES[5:], sum(np.outer(t, t) for t in targets)
    )
    # A constant kernel, a multiple and a sum of others: the matrix of products is singular.
    for more in ([], [3.0 * MATRICES[0]], [MATRICES[1] + 0.5 * MATRICES[3], MATRICES[5]]):
        kernels = family(MATRICES + more)
        weights = alignf_signed(kernels, tasks, ONES)
        assert weights.min() < 0.0
        assert_allclose(np.linalg.norm(weights), 1.0, rtol=1e-12)
        found = reference.centred(kernels.bank.combine(weights))
        assert_allclose(found / np.linalg.norm(found), best / np.linalg.norm(best), atol=1e-8)


@pytest.mark.parametrize(("size", "counts"), [(0.02, True), (1e-7, False)])
def test_signed_alignment_leaves_out_directions_that_rounding_decides(size, counts):
    change = size * np.outer(SIGN, SIGN)
    kernels = [MATRICES[0], MATRICES[3], MATRICES[0] + change]
    weights = alignf_signed(family(kernels), (hinge(SIGN, 1.0),), ONES)
    found = reference.centred(sum(w * K for w, K in zip(weights, kernels, strict=True)))
    best = reference.signed_alignment(kernels if counts else kernels[:2], np.outer(SIGN, SIGN))
    assert_allclose(found / np.linalg.norm(found), best / np.linalg.norm(best), atol=1e-5)


@pytest.mark.parametrize("lam", [0.01, 0.1, 0.9, 1.0])
def test_easy_is_that_of_the_paper(lam):
    found = easy(family(), (hinge(SIGN, 1.0),), ONES, lam=lam)
    assert_allclose(found, reference.easy(MATRICES, SIGN, lam), atol=1e-6)


def test_easy_of_several_tasks_is_that_of_their_sum():
    both = easy(family(), (hinge(SIGN, 1.0), hinge(OTHER, 1.0)), ONES, lam=0.1)
    alone = [easy(family(), (hinge(s, 1.0),), ONES, lam=0.1) for s in (SIGN, OTHER)]
    low, high = np.minimum(*alone), np.maximum(*alone)
    assert np.all((low - 1e-9 <= both) & (both <= high + 1e-9))


@pytest.mark.parametrize("rule", [align, alignf, alignf_signed, lambda *args: easy(*args, lam=0.2)])
def test_weights_are_repetitions(rule):
    repeats = np.random.default_rng(1).integers(1, 4, N)
    many, rows = repeated(repeats)
    weighted = rule(family(), (hinge(SIGN, 1.0),), repeats.astype(float))
    assert_allclose(rule(many, (hinge(SIGN[rows], 1.0),), np.ones(len(rows))), weighted, atol=1e-6)


def fold_numbers(p):
    """Return the fold of every row."""
    number = np.empty(N, dtype=int)
    for k, rows in enumerate(folds(p, DenseGram(MEAN), ONES)):
        number[rows] = k
    return number


def test_proportional_is_that_of_the_papers():
    fold = fold_numbers(SIGN)
    sizes = [np.bincount(fold[s]) for s in (SIGN > 0, SIGN < 0)]
    assert all(np.ptp(size) <= 1 for size in sizes)
    accuracy = reference.accuracies(MATRICES, SIGN, 2.0, fold)
    for delta in (0.0, 0.6):
        merit = np.maximum(accuracy - delta, 0)
        found = proportional(family(), (hinge(SIGN, 2.0),), ONES, classify=True, delta=delta)
        # The folds' machines meet a rough tolerance: a point at the boundary may change sides.
        assert_allclose(found, merit / merit.sum(), atol=2 / N / merit.sum())
    error = reference.squared_errors(MATRICES, TARGET, 2.0, 0.1, fold_numbers(TARGET))
    found = proportional(family(), (tube(TARGET, 2.0, 0.1),), ONES, classify=False, delta=0.0)
    merit = error.sum() - error
    assert_allclose(found, merit / merit.sum(), atol=5e-3)


@pytest.mark.parametrize("classify", [True, False])
def test_proportional_depends_on_values_alone(classify):
    def found(rows, weight):
        cost = 2.0 * weight
        if classify:
            task = hinge(SIGN[rows], cost)
        else:
            task = tube(np.round(TARGET[rows]), cost, 0.1)  # with ties
        matrices = family([K[np.ix_(rows, rows)] for K in MATRICES])
        return proportional(matrices, (task,), weight, classify=classify, delta=0.0)

    repeats = np.random.default_rng(1).integers(1, 4, N)
    weighted = found(np.arange(N), repeats.astype(float))
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(N), repeats))
    assert_allclose(found(rows, np.ones(len(rows))), weighted, rtol=1e-9)
    order = np.random.default_rng(3).permutation(N)
    assert_allclose(found(order, repeats[order].astype(float)), weighted, rtol=1e-9)


@pytest.mark.parametrize(("rows", "expected"), [([3], 1), ([3] * 5, 1), ([3, 4, 3], 2)])
def test_folds_are_as_many_as_different_rows(rows, expected):
    found = folds(np.ones(len(rows)), DenseGram(MEAN[np.ix_(rows, rows)]), np.ones(len(rows)))
    assert len(found) == expected
    assert_array_equal(np.sort(np.concatenate(found)), np.arange(len(rows)))


def test_rules_that_find_nothing_give_equal_weights():
    constant = family([np.ones((N, N)), 2 * np.ones((N, N))])
    task = (hinge(SIGN, 1.0),)
    assert_allclose(align(constant, task, ONES).sum(), 1.0)
    found = proportional(family(), task, ONES, classify=True, delta=0.999)
    assert_array_equal(found, np.full(6, 1 / 6))
